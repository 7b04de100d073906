"""For all tests."""

import signal
from contextlib import closing

import pytest

from tests.cli_home import Home

# A background job of a shell starts with SIGINT ignored, and so would all that the tests start: put it back.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def home(tmp_path, capsys, monkeypatch):
    """A state directory made by hand, and the people's verbs run in it."""
    with closing(Home(tmp_path / "state", capsys, monkeypatch)) as home:
        yield home
