"""Installed as Python programs are, for an account that has nothing of JIM: by pip for itself, by pipx, and by uv."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.live.accounts import ACCOUNT, said
from tests.live.site import ROOT, copy_of_the_source

ENDED = "GRAM_SCRIPT_JOB_STATE:8\n\n"
PYTHON = "/usr/bin/python3"
CERTIFICATES = "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"  # uv brings its own, which know no proxy of a site
# As a distribution's Python is installed by its owner, who may be told not to.
WAYS = {
    "pip --user": ("pip", f"pip --python {PYTHON} install --quiet --user --break-system-packages ./source"),
    "pipx": ("pipx", "pipx install --quiet ./source"),
    "uv": ("uv", f"uv tool install --quiet --python {PYTHON} ./source"),
}


@pytest.fixture
def become(account):
    """The words that run a shell line as the account, in its home, with nothing of this session."""
    home = account.pw_dir
    path = f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin"
    return ("runuser", "-u", ACCOUNT, "--", "env", "-i", f"HOME={home}", f"PATH={path}", CERTIFICATES, "sh", "-ec")


@pytest.mark.parametrize("way", ["pip --user", *(pytest.param(way, marks=pytest.mark.long) for way in ("pipx", "uv"))])
def test_what_an_account_installs_for_itself_runs_its_jobs(account, become, way):
    home = Path(account.pw_dir)
    copy_of_the_source(home / "source")
    said("chown", "-R", ACCOUNT, home / "source")
    installer, line = WAYS[way]
    said(*become, f"cd; {PYTHON} -m venv own && own/bin/pip install --quiet --upgrade {installer} && own/bin/{line}")
    shutil.rmtree(home / "source")
    shutil.copy(ROOT / "examples/hello.toml", home)
    assert said(*become, "cd; jim-submit hello.toml").startswith("GRAM_SCRIPT_JOB_ID:1\n")
    assert "1 completed" in said(*become, "jim watch 1")
    assert said(*become, "jim-poll 1") == ENDED
    assert said(*become, "jim run /bin/echo hello") == "hello\n"
    assert said(*become, "jim-cancel 1") == ENDED
    said(*become, "jim keeper --end")
    assert "failed" not in said(*become, "jim site check")
    assert said(*become, "cd; jim-submit hello.toml").startswith("GRAM_SCRIPT_JOB_ID:3\n")  # its keeper is the script's
    assert "3 completed" in said(*become, "jim watch 3")
