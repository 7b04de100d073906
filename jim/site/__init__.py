"""The site file, its settings, and the state directory."""
