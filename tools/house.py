"""Figures of the house: how many rooms there are, what they know of each other, how large they are.

make figures
"""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from jim.keeper.keeper import Keeper
from tests.support import own_sentences
from tests.unit import test_house as house

ROOT = Path(__file__).resolve().parents[1]
MAY_KNOW_SQLITE = ("jim/statusdb/", "jim/localbatch/", "jim/database.py")
SYSTEMS = dict.fromkeys(("slurm", "sge", "lsf", "condor", "pbs"), 140)
SYSTEMS |= {"torque": 60, "pbs_wrappers": 60, "condor_transfer": 60}  # dialects
BESIDE = ("history", "listings", "messages")  # what adapters have beside them
# Modules without behaviour of their own, and the reason why a test of their name could not fail.
NOTHING_TO_TEST = {
    "jim/doors/keeping.py": "protocols: what the keeper offers to doors",
    "jim/splitting/errors.py": "exceptions, each with its word",
    "jim/statusdb/list_filters.py": "values that lists ask for and get; test_hosts.py has the one sum among them",
}
TALKING = ("jim.idealizer.", "jim.keeper.", "jim.admin.")
OPENED = "import sys, jim.run_grid_job; jim.run_grid_job.door_of();"
LOADED = f"{OPENED} print(sum(each.partition('.')[0] == 'jim' for each in sys.modules))"


def code_lines(file: str) -> int:
    """Count lines that are neither blank, comment nor docstring."""
    return len(house.code_lines(file))


def circles() -> list[set[str]]:
    """Find modules that import each other, by whatever way; deferred imports and those for types count, too."""
    names = house.NAMES
    reach = {
        name: {each.module for each in house.imports(file)} & names.keys() - {name} for name, file in names.items()
    }
    for middle in reach:
        for name, found in reach.items():
            if middle in found:
                reach[name] = found | reach[middle]
    return [{name} | {each for each in found if name in reach[each]} for name, found in reach.items() if name in found]


def runners() -> dict[str, str]:
    """Return the names by which modules that talk with a batch system know what runs commands, each with its module."""
    return {
        f"{name}.{each.asname or each.name}": name
        for name, file in house.NAMES.items()
        if name.startswith(TALKING)
        for node in house.nodes_of(file)
        if isinstance(node, ast.ImportFrom) and node.module in ("jim", "jim.command")
        for each in node.names
        if node.module == "jim.command" or each.name == "command"
    }


def faked(tests: Path) -> set[str]:
    """Find the modules that tests patch to fake a batch command: a name in one, or the programs of the channel."""
    found, known = set(), runners()
    texts = (path.read_text() for path in sorted(tests.rglob("*.py")))
    for told in (ast.parse(text) for text in texts if "setattr" in text or "Programs" in text):
        modules = {
            each.asname or each.name: f"{node.module}.{each.name}"
            for node in ast.walk(told)
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }
        for node in ast.walk(told):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setattr":
                found.add(known.get(_patched(node, modules), ""))
            elif isinstance(node, ast.FunctionDef) and node.name == "programs" and "Programs" in ast.unparse(node):
                found.add("jim.idealizer.channel")
    return found - {""}


def _patched(call: ast.Call, modules: dict[str, str]) -> str:
    """Name what a call of `setattr` patches: `"jim.a.b"`, or `b, "name"` where a test has imported b."""
    place, *name = (ast.unparse(each).strip("'\"") for each in call.args[:2])
    return place if isinstance(call.args[0], ast.Constant) else ".".join((modules.get(place, ""), *name))


def tested() -> tuple[int, int]:
    """Count the modules with behaviour, and those of them that have a test module of their name and place."""
    doing = [file for file in house.FILES if does(file)]
    return sum((ROOT / test_of(file)).is_file() for file in doing), len(doing)


def does(file: str) -> bool:
    """Tell whether a module has behaviour of its own."""
    defines = any(isinstance(node, ast.FunctionDef) for node in house.nodes_of(file))
    return defines and file not in NOTHING_TO_TEST


def test_of(file: str) -> str:
    """Name the test module of a module: jim/keeper/attempts/ending.py has tests/unit/keeper/attempts/test_ending.py."""
    place = Path(file.removeprefix("jim/"))
    named = place.parent.name if place.name == "__init__.py" else place.stem.strip("_")
    return str(Path("tests/unit") / place.parent / f"test_{named}.py")


def figures() -> Iterator[tuple[str, object, object]]:
    """Return each figure with its bound."""
    flat = [each for each in (ROOT / "jim").glob("*.py") if each.name != "__init__.py"]
    yield "modules flat in jim/", len(flat), "≤ 10"
    yield "modules in import circles", len(set().union(*circles())), 0
    yield "fields of the keeper's shared object", len(dataclasses.fields(Keeper)), "≤ 10"
    knowing = [file for file in house.importers("sqlite3") if not file.startswith(MAY_KNOW_SQLITE)]
    yield "modules that know sqlite3 outside statusdb/, localbatch/ and the ground", len(knowing), 0
    yield "places where a sentence of JIM's own is parsed", len(own_sentences.places()), 0
    yield "modules that a test patches to fake a batch command", len(faked(ROOT / "tests")), 2
    having, doing = tested()
    yield "modules with a test module of their name and place", f"{having} of {doing}", "all"
    for system, most in SYSTEMS.items():
        yield f"code lines of adapters/{system}.py", code_lines(f"adapters/{system}.py"), f"≤ {most}"
    for room in BESIDE:
        files = sorted((ROOT / "adapters" / room).glob("[a-z]*.py"))
        lengths = [code_lines(str(each.relative_to(ROOT))) for each in files]
        yield (
            f"code lines of adapters/{room}/, {len(files)} modules: all / largest",
            f"{sum(lengths)} / {max(lengths)}",
            "",
        )
    began = time.perf_counter()
    loaded = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True)
    yield "jim modules that the submit door loads", int(loaded.stdout), "≤ 19"
    yield "  Python and these, ms", round((time.perf_counter() - began) * 1000), ""
    lengths = house.lengths().values()
    told = f"{median(lengths):g} / {quantiles(lengths, n=10)[-1]:g} / {max(lengths)}"
    yield "lines of a function: median / 90 % / longest", told, "6 / 15 / 38"


def main() -> int:
    """Print the table."""
    print("| figure | now | bound |\n|---|---:|---:|")
    for name, value, bound in figures():
        print(f"| {name} | {value} | {bound} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
