"""The splitters: each module has one rule and its parameters."""
