"""What makes a batch system trustworthy."""
