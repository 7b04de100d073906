"""The splitters: a module for each, which is its rule and its parameters, and nothing else."""
