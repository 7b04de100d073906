"""The libraries that `make install` takes from PyPI: those that JIM needs, in versions and files that are known."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parents[2]


def _locked() -> dict[str, tuple[str, list[str]]]:
    text = (HERE / "packaging/requirements.lock").read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found = {}
    for line in lines:
        requirement = re.fullmatch(r"([\w-]+)==([\w.]+)((?:\s+--hash=sha256:[0-9a-f]{64})+)\s*", line)
        assert requirement, line
        found[requirement[1]] = requirement[2], requirement[3].split()
    return found


def test_every_library_has_one_version_and_sums() -> None:
    locked = _locked()
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    for each in [*project["dependencies"], *project["optional-dependencies"]["pages"]]:
        name, least = each.replace("_", "-").split(">=")
        version = locked[name][0]
        assert tuple(map(int, version.split(".")))[:2] >= tuple(map(int, least.split(".")))[:2], each


def test_root_installs_nothing_else() -> None:
    script = (HERE / "packaging/install.sh").read_text().replace("\\\n", " ")
    (line,) = [each for each in script.splitlines() if re.search(r"-m pip\b", each)]
    assert {"--require-hashes", "--only-binary :all:", "--requirement packaging/requirements.lock"} <= {
        *re.findall(r"--only-binary :all:|--requirement \S+|--require-hashes", line)
    }
