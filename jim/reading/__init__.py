"""What people are told of the store."""
