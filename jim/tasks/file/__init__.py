"""The file of a task: what it says, and the pools and streams that it makes."""
