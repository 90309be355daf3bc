"""Pure: the formats of memories outside: what is read of other programs, what is written of ours.

Text in, values out. This room does not know what is stored, nor what is a secret.
"""
