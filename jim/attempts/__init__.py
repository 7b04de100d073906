"""What makes one attempt differ from another: rules for further attempts, and random seeds."""
