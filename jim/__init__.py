"""JIM: a gateway from grid gatekeepers to batch systems."""

__version__ = "0.1.0"
