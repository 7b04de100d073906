"""Tools of an administrator: set up, check, test, restore and advertise a site."""
