"""What `make` and root take from PyPI: what pyproject.toml names and what that needs, in files that are known."""

from __future__ import annotations

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
spec = spec_from_file_location("requirements", HERE / "packaging/requirements.py")
assert spec
assert spec.loader
lock = module_from_spec(spec)
spec.loader.exec_module(lock)

PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
PARTS = ["core", *(name for name in PROJECT["optional-dependencies"] if name != "dev")]


def test_every_library_has_one_version_and_sums() -> None:
    content = [line for line in (HERE / "packaging/constraints.txt").read_text().splitlines() if line[0] != "#"]
    assert "\n".join(content) + "\n" == "".join(each.lines for each in lock.pinned().values())
    for each in lock.pinned().values():
        assert re.fullmatch(r"[\w-]+==[\w.]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n    # via .+\n", each.lines), each


def test_versions_are_those_that_pyproject_wants() -> None:
    known = lock.pinned()
    for each in [
        *PROJECT["dependencies"],
        *(one for part in PARTS[1:] for one in PROJECT["optional-dependencies"][part]),
    ]:
        _, sign, least = re.split(r"(>=|==|$)", each, maxsplit=1)
        version = known[lock.named(each)].lines.partition("==")[2].split()[0]
        if sign:
            assert [*map(int, version.split("."))] >= [*map(int, least.split("."))], each


def test_a_part_brings_what_it_needs_and_no_more() -> None:
    def names(*parts: str) -> set[str]:
        return {lock.named(each) for each in lock.requirements(list(parts))}

    assert names("core") == {"lxml", "psutil", "tenacity", "rich", "markdown-it-py", "mdurl", "pygments"}
    assert {"flask", "jinja2", "markupsafe", "werkzeug"} < names("pages")
    assert names(*PARTS) == set(lock.pinned()), "the rest is needed by nothing"


def test_what_is_not_known_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\ndependencies = ["lxml>=4", "no.such_Thing>=1"]\noptional-dependencies = {}\n')
    monkeypatch.setattr(lock, "PROJECT", project)
    with pytest.raises(SystemExit, match=r"^no-such-thing: not in .*/constraints.txt, whose head says how to renew it"):
        lock.requirements(["core"])


@pytest.mark.parametrize(("script", "part"), [("Makefile", "$(1)"), ("packaging/install.sh", "core pages")])
def test_pip_gets_these_and_nothing_else(script: str, part: str) -> None:
    text = (HERE / script).read_text().replace("\\\n", " ")
    assert f"packaging/requirements.py {part} >" in text
    for line in re.findall(r".*\bpip (?:--\S+ )*install\b.*", text):
        assert "--require-hashes" in line
        assert "--requirement" in line
    assert script == "Makefile" or "--only-binary :all:" in text
