"""Grid jobs, their submissions and attempts in the store."""
