"""Whether a new memory is known already, and what becomes of the two if it is."""
