"""What measures and draws the source: nothing of it is installed."""
