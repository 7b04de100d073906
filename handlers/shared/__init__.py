"""Shared parts of job types: programs for worker nodes, readers of results, and pictures."""
