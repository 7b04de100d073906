"""Batch systems: one module each, found by name."""
