"""What an administrator does: set up, check, try and advertise a site."""
