"""The programs that gatekeepers call, as pip makes them: each becomes the script of its name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jim.command import become
from jim.guide import SHELL


def main() -> None:
    """Become the script, which takes this Python."""
    os.environ.setdefault("JIM_PYTHON", sys.executable)
    become(str(SHELL / Path(sys.argv[0]).name), sys.argv[1:])
