"""Libraries in C that stand between a program and the system, for tests that preload them."""

import shutil
import subprocess
from pathlib import Path

import pytest


def compiled(source: Path, into: Path) -> Path:
    """Compile a library into a directory; without a compiler, skip the test that needs it."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler (gcc), and this test preloads a library that it compiles")
    library = into / f"{source.stem}.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True, timeout=180)
    return library
