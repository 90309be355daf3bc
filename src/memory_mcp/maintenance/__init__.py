"""Checking and mending: the doctor, the proof of recall, the vectors."""
