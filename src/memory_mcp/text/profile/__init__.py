"""Finds what a text says about the user, and plans the records of the profile."""
