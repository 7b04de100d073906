"""Reads the store for people: answers for the command line and other displays."""
