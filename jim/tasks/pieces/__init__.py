"""The pieces of a task: planned, cut, handed in as waves, tried again."""
