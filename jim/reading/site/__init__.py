"""What people may read of a site and its accounts."""
