"""What `make demo` does when the grid job has ended: it shows the pages to whoever sits at the terminal."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
TOLD = "The pages are at\n\n    http://127.0.0.1:4711/?token=f00d\n\n    ssh -L 4711:127.0.0.1:4711 me@here\n"
JIM = f"""#!/bin/sh
case $1 in
submit) [ "$2" = --dry-run ] || echo 7 ;;
watch) echo 7 ;;
pages) trap 'echo ended >pages.ended; exit' TERM
    echo '{TOLD}'
    while :; do sleep 0.05; done ;;
esac
"""


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """The demo, in a tree in which `jim` only says what it would say."""
    (tmp_path / "shell").mkdir()
    shutil.copy(HOME / "shell/jim-demo", tmp_path / "shell/jim-demo")
    (tmp_path / "shell/jim").write_text(JIM)
    (tmp_path / "shell/jim").chmod(0o755)
    return tmp_path / "shell/jim-demo"


def test_a_site_of_this_machine_does_not_matter_and_a_refusal_is_told(demo: Path) -> None:
    """Where a site had a work directory for its accounts, the demo ended without a word."""
    (demo.parent / "jim").write_text("#!/bin/sh\n[ -e $JIM_STATE/site.toml ] && echo refused >&2; exit 3\n")
    environment = {name: value for name, value in os.environ.items() if name != "JIM_STATE"}
    for _ in range(2):
        done = subprocess.run([demo], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (3, "refused")


def test_without_a_terminal_it_prints_the_command_and_ends(demo: Path) -> None:
    done = subprocess.run(
        [demo], cwd=demo.parents[1], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.splitlines()[-1].split("#")[0].strip().endswith("shell/jim pages")
    assert "http://" not in done.stdout
    assert not (demo.parents[1] / "pages.ended").exists()


def test_at_a_terminal_it_prints_the_page_of_the_grid_job_until_enter(demo: Path) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(demo.parents[1])
        os.execv(demo, [str(demo)])
    said = b""
    while b"me@here" not in said:
        said += os.read(terminal, 4096)
    assert b"http://127.0.0.1:4711/jobs/7?token=f00d" in said
    assert os.waitpid(pid, os.WNOHANG) == (0, 0), "it waits"
    os.write(terminal, b"\n")
    with suppress(OSError):  # the terminal has gone
        while os.read(terminal, 4096):
            pass
    assert os.waitpid(pid, 0)[1] == 0
    os.close(terminal)
    assert (demo.parents[1] / "pages.ended").read_text() == "ended\n"
