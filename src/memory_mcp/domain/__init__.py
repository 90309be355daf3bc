"""Values: frozen models that every other room speaks of. No I/O, no clock, no policy."""
