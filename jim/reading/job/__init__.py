"""What people may read of one grid job and its local jobs."""
