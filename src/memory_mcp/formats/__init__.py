"""Pure: parse what other programs remember, and write and parse our own export.

Text in, values out. Knows neither what is stored nor what is a secret.
"""
