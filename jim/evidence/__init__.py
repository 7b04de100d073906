"""What facts mean: exit records and listings in, verdicts out. Pure: no I/O."""
