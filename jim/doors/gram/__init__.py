"""The door of Globus GRAM."""
