"""Read-only web pages of the status DB."""
