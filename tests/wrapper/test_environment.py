"""The wrapper under every shell, with variables that change what shells and commands do."""

import os
from pathlib import Path

import pytest

from tests.wrapper.worker import Site, left, sh

# All that the wrapper starts or calls, but [, which cannot be the name of an exported function.
COMMANDS = """
awk cat cd chmod cmp command cp date dd echo env find grep head kill ln ls mawk mkdir mv od printf pwd read rm rmdir sed
setsid sh sha256sum sleep sort stat tar test touch tr true umask uname wait wc
"""
STOLEN = {f"BASH_FUNC_{name}%%": f"() {{ builtin echo {name} >>$STOLEN; }}" for name in COMMANDS.split()}
ODD = {
    "functions": STOLEN,
    "GLOBIGNORE": {"GLOBIGNORE": "*"},
    "CDPATH": {"CDPATH": "{place}"},
    "IFS": {"IFS": "/.1"},
    "a file that a shell reads first": {"BASH_ENV": "{place}/first", "ENV": "{place}/first"},
    "options of bash": {"SHELLOPTS": "errexit:nounset:noclobber", "BASHOPTS": "failglob:nocasematch"},
    "options of commands": {"GREP_OPTIONS": "-v", "TAR_OPTIONS": "--list", "POSIXLY_CORRECT": "1", "AWKPATH": "/"},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_the_record_is_the_same_whatever_a_batch_system_exports(
    site: Site, tmp_path: Path, odd: dict[str, str]
) -> None:
    """A failed payload, so that its processes are looked for; with outputs in a directory, so that they are listed."""
    place, stolen = tmp_path / "elsewhere", tmp_path / "stolen"
    (place / "run.1").mkdir(parents=True)
    (place / "first").write_text(f"echo first >>{stolen}\nexit 9\n")
    site.path = f"{site.path}:{os.defpath}"  # for what payloads call
    site.jobs(*sh("mkdir d; echo hello >d/x.txt; sleep 94 & exit 3"), facts=("out d/*.txt",))
    given = {name: value.replace("{place}", str(place)) for name, value in odd.items()}
    assert site.run(STOLEN=str(stolen), **given) == 1
    assert not stolen.exists() or stolen.read_text() == ""
    assert site.record()["code"] == "3"
    assert [line.split()[-1] for line in site.manifest()] == ["d/x.txt"]
    assert not left(site), "what it has left was found"
