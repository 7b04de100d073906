"""For all tests."""

import signal
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli_home import Home
from tests.stand_ins import World

# A background job of a shell starts with SIGINT ignored, one of nohup with SIGHUP, and so would all that the tests
# start: put them back.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser):
    """Let a site hold its own adapter to the contract: see tests/unit/test_adapters_conformance.py."""
    captured = str(Path(__file__).parent / "captured")
    parser.addoption("--adapter", action="append", default=[], help="an adapter to test: a dotted name, or a file")
    parser.addoption("--handlers", default="", help="its site's directory of packages, as in [site] handlers")
    parser.addoption("--captured", default=captured, help="directory with SYSTEM/VERSION of that adapter")


@pytest.fixture
def home(tmp_path, capsys, monkeypatch):
    """A state directory made by hand, and the people's verbs run in it."""
    with closing(Home(tmp_path / "state", capsys, monkeypatch)) as home:
        yield home


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A state directory with its keeper's rounds, driven by hand, and a batch system that stands in for one."""
    return World(tmp_path, monkeypatch)
