"""The status DB that people browse: web pages that only read."""
