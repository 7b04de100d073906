"""What job types are made of beside their answers: programs sent to the worker nodes, and pictures."""
