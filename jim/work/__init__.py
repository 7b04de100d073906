"""Turns a request into the pieces of its local jobs."""
