"""What lies in the work directory, which keeper and worker nodes share."""
