"""What JIM knows about job types, one module each, found by name."""
