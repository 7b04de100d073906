"""A corpus of splitting cases, and what runs it: a translator module for each family of cases."""
