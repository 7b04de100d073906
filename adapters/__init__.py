"""What JIM knows about batch systems, one module each, found by name."""
