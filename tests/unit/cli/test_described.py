"""Manual pages and completions, made from the parsers of the verbs, and asked for by their readers."""

import subprocess
import sys
from pathlib import Path

import pytest

from jim.cli import VERBS
from jim.cli.completion import SHELLS

JIM = "from jim.cli import main; main()"
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    python, search = (sys.executable, "-P", "-s"), {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    subprocess.run([*python, ROOT / "packaging/man.py", place], env=search, check=True, timeout=60)
    for shell in SHELLS:
        with (place / shell).open("w") as file:
            subprocess.run([*python, "-c", JIM, "completion", shell], env=search, stdout=file, check=True, timeout=60)
    return place


def completed(made, *words):
    """Let bash complete the last word of a command line."""
    script = '. "$0"; COMP_WORDS=(jim "$@"); COMP_CWORD=$#; _jim; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", script, made / "bash", *words], cwd=made, capture_output=True, text=True, check=True, timeout=20
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["res"], ["resplit", "resume"]),
        (["help", "adv"], ["advertise"]),
        (["submit", "--d"], ["--dry-run"]),
        (["submit", "jim-sub"], ["jim-submit.1"]),
        (["submit", "--key", "jim-sub"], []),
        (["force", "12.3", "f"], ["failed"]),
        (["show", "12", "--state", "ki"], ["killed"]),
        (["list", "--status", "su"], ["submitted", "suspended"]),
        (["cancel", "--herd", "s"], ["single", "split"]),
        (["site", "dr"], ["drain"]),
        (["site", "drain", "--r"], ["--reason"]),
        (["nonsense", ""], []),
    ],
)
def test_bash_completes(made, words, expected):
    assert completed(made, *words) == expected


def test_every_verb_has_a_page_and_each_option_its_words(made):
    assert {each.stem for each in made.glob("*.1")} == {"jim", *(f"jim-{verb}" for verb in VERBS)}
    page = (made / "jim-submit.1").read_text()
    assert ".B \\-\\-dry\\-run\nshow what JIM would make of the request; store nothing\n" in page
    assert ".B jim\\-submit FILE\n" in page
    assert '.SH "THE VERB drain"\n' in (made / "jim-site.1").read_text()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told_every_verb(made, shell):
    text = (made / shell).read_text()
    for verb in VERBS:
        assert f"'{verb}:" in text or f" -a {verb} -d " in text, verb


def test_zsh_shows_no_message_instead_of_completing_an_option(made):
    """As it does for the space that stands for "anything" in a specification."""
    text = (made / "zsh").read_text()
    assert "'*:G|G.n:()'" in text
    assert ": '" not in text
