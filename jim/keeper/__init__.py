"""The keeper: the process that moves grid jobs on, and its moves."""
