"""From a request to the pieces of its local jobs."""
