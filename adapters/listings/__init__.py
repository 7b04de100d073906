"""Readers for listings that several adapters use: text in, facts of each job out."""
