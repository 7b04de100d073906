"""What pyproject.toml cannot say: a source distribution has links where the checkout has them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

LINKS = ("jim/adapters", "jim/handlers", "jim/shell")


class WithLinks(sdist):
    """Make the source distribution."""

    def make_release_tree(self, base_dir: str, files: Sequence[str]) -> None:
        """Put links in place of what setuptools has copied through them."""
        super().make_release_tree(base_dir, files)
        for link in LINKS:
            copied = Path(base_dir, link)
            shutil.rmtree(copied)
            copied.symlink_to(Path(link).readlink())


# An expression in pyproject.toml is refused by the setuptools of Debian 12, and a table by those to come.
setup(cmdclass={"sdist": WithLinks}, license="Apache-2.0")
