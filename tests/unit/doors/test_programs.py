"""The programs that pip makes of the doors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from jim.command import run
from jim.guide import SHELL

NAMED = "import sys; sys.argv[0] = sys.argv.pop(1); from jim.doors.programs import main; main()"


@pytest.mark.parametrize("name", ["jim-submit", "jim-poll", "jim-cancel"])
def test_each_becomes_the_script_of_its_name(name: str) -> None:
    by_pip = run((sys.executable, "-P", "-c", NAMED, f"/usr/bin/{name}", "--help"), limit=60)
    script = run((str(SHELL / name), "--help"), limit=60)
    assert (by_pip.code, by_pip.out, by_pip.err) == (script.code, script.out, script.err)
    assert by_pip.out.startswith(f"usage: {name} ")


def test_the_script_takes_this_python_unless_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from jim.doors import programs

    became: list[object] = []
    monkeypatch.setattr(programs, "become", lambda *words: became.append((os.environ["JIM_PYTHON"], *words)))
    monkeypatch.setattr(sys, "argv", ["/somewhere/jim-poll", "1"])
    monkeypatch.delenv("JIM_PYTHON", raising=False)
    programs.main()
    monkeypatch.setenv("JIM_PYTHON", "/opt/python")
    programs.main()
    assert became == [(each, str(SHELL / "jim-poll"), ["1"]) for each in (sys.executable, "/opt/python")]
    assert Path(SHELL / "jim-poll").is_file()
