"""Which libraries JIM needs, and how to get them."""

import sys

from jim.site.libraries import how_to_install
from tests.unit.shell.place import HOME


def test_without_a_python_of_its_own_jim_says_how_to_make_one(monkeypatch):
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    place = HOME / ".venv"
    assert how_to_install(["lxml"]) == (f"python3 -m venv {place} && {place}/bin/pip install lxml psutil tenacity rich")
