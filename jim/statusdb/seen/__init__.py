"""What readers ask of the store: lists, counts and records."""
