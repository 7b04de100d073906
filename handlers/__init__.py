"""Job types: one module each, found by name."""
