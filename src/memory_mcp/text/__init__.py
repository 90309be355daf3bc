"""Pure: what a caller hands in becomes a record, or is refused with a reason."""
