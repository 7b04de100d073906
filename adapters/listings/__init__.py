"""Reading what several adapters have listed: text in, facts of each job out."""
