"""jim demo: one grid job from its request to a physics result, on the local batch system."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec

from jim.command import become
from jim.errors import BadSite
from jim.guide import SHELL
from jim.site.libraries import how_to_install

GENERATOR = "pythia8mc"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim demo`: it has none."""


def run(arguments: argparse.Namespace) -> int:
    """Become the demo."""
    if find_spec(GENERATOR) is None:
        raise BadSite(f"the demo needs the generator Pythia, which is missing: {how_to_install([GENERATOR])}")
    os.environ["JIM_PYTHON"] = sys.executable
    become(str(SHELL / "jim-demo"), ())
