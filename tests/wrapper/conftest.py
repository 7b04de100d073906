"""A worker node for each shell that is here."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wrapper.worker import SHELLS, Site


@pytest.fixture(scope="session")
def applets(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a PATH on which every command is busybox's."""
    where = tmp_path_factory.mktemp("applets")
    subprocess.run([shutil.which("busybox") or "", "--install", "-s", str(where)], check=True)
    return str(where)


# The shells of most worker nodes, dash and bash; under busybox by `make torture`.
@pytest.fixture(
    params=[pytest.param(each, marks=[pytest.mark.torture] * (each == "busybox")) for each in sorted(SHELLS)]
)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    yield from made(request, tmp_path)


# What takes seconds: under the one shell that a worker node has in any case, and under the others by `make torture`.
@pytest.fixture(params=[each if each == "sh" else pytest.param(each, marks=pytest.mark.torture) for each in SHELLS])
def slow_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    yield from made(request, tmp_path)


def made(request: pytest.FixtureRequest, place: Path) -> Iterator[Site]:
    path = request.getfixturevalue("applets") if request.param == "busybox" else os.defpath + ":/usr/bin:/bin"
    site = Site(place, SHELLS[request.param], path)
    yield site
    site.end()
