"""The work directory, which the keeper and the worker nodes share."""
