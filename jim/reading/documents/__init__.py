"""Documents and queries for people."""
