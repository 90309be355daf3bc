"""What hooks run: standard library only, done before a server could have been imported."""
