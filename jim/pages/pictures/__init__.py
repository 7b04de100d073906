"""Pictures drawn from numbers."""
