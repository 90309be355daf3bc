"""Decides whether two statements are the same fact, and makes one text of those that are."""
