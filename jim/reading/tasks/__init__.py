"""What people may read of tasks."""
