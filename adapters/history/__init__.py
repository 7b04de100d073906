"""Sources that tell how jobs ended, one module each: its name is what `batch.history` in the site file says."""
