"""What comes in: requests and wishes."""
