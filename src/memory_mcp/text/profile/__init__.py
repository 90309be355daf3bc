"""What a text says about the user, and the records that it makes of the profile."""
