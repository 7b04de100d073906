"""JIM: a gateway from grid gatekeepers to batch systems."""

from pathlib import Path as _Path

__version__ = "0.2.0"
__commit__ = ""  # of a release, which writes it

# Three folders of the checkout are part of JIM by symbolic links. Git on Windows writes a small file for each.
for _link in (_Path(__path__[0], each) for each in ("adapters", "handlers", "shell")):
    if not _link.is_dir():
        raise ImportError(f"{_link} is not a symbolic link: clone JIM again with `git clone -c core.symlinks=true`")
