"""Tasks in the store."""
