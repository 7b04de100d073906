"""Interprets facts: exit records and listings in, verdicts out. Pure: no I/O."""
