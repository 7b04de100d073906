"""jim demo, for whom has no clone."""

from __future__ import annotations

import os
import sys

import pytest

from jim.cli import demo, main
from jim.guide import SHELL


def test_it_becomes_the_demo_with_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[object] = []
    monkeypatch.setenv("JIM_PYTHON", "")
    monkeypatch.setattr(demo, "find_spec", lambda name: name)
    monkeypatch.setattr(demo, "become", lambda *words: became.append((*words, os.environ["JIM_PYTHON"])))
    main(["demo"])
    assert became == [(str(SHELL / "jim-demo"), (), sys.executable)]


def test_without_its_generator_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    assert main(["demo"]) == 3
    assert "the generator Pythia, which is missing: " in capsys.readouterr().err
    assert "pythia8mc" in demo.how_to_install([demo.GENERATOR])
