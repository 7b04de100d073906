"""Sources for how jobs ended; `batch.history` in the site file names the module."""
