"""The pages that change something."""
