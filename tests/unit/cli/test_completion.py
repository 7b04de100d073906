"""jim completion: what people put into the files that their shell reads."""

from __future__ import annotations

import subprocess

import pytest

from jim.cli import main
from jim.cli.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_it_is_printed_as_it_is_installed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == SHELLS[shell]()


def test_bash_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    script = capsys.readouterr().out + "complete -p jim\n"
    done = subprocess.run(["bash", "-eu", "-c", script], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "complete -F _jim jim\n"


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "'tcsh'" in capsys.readouterr().err
