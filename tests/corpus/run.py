"""Run every case of a corpus directory; the last line counts the required ones. Exit 1 if one of them failed.

A translator is a module beside this one with three functions: `takes(case)` says whether a case is of its family,
`answer(case)` has JIM do the work, and `compare(case, answer)` gives the first difference, or None. It may have a
fourth, `informational(case)`, where the case itself does not say so.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by `python -P`, which leaves it out

from jim.splitting.errors import SplitError
from tests.corpus.difference import Difference

HERE = Path(__file__).resolve().parent
SCHEMA = "jim-splitting-corpus/1"


@dataclass(frozen=True)
class Verdict:
    """What became of one case."""

    file: str
    name: str
    required: bool
    difference: Difference | None


def cases(directory: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give every case of a directory with its file's name."""
    for file in sorted(directory.glob("*.json")):
        try:
            corpus = json.loads(file.read_text())
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error
        if not isinstance(corpus, dict) or corpus.get("schema") != SCHEMA or not isinstance(corpus.get("cases"), list):
            raise ValueError(f"{file}: no cases, or its schema is not {SCHEMA!r}")
        for n, case in enumerate(corpus["cases"]):
            name = case.get("name") if isinstance(case, dict) else None
            if not name:
                raise ValueError(f"{file}: case number {n} has no name")
            yield file.name, case


def translators() -> list[Any]:
    """Load all translators."""
    names = sorted(each.stem for each in HERE.glob("[a-z]*.py"))
    modules = [importlib.import_module(f"tests.corpus.{name}") for name in names if name != "run"]
    return [module for module in modules if hasattr(module, "takes")]


def judge(file: str, case: dict[str, Any], known: Sequence[Any]) -> Verdict:
    """Run one case."""
    translator = next((each for each in known if each.takes(case)), None)
    informational = case.get("conformance") == "informational"
    if translator is None:
        difference: Difference | None = Difference("translator", "one that takes this case", "none does")
    else:
        informational = informational or getattr(translator, "informational", lambda _: False)(case)
        difference = _differs(case, translator)
    return Verdict(file, case["name"], not informational, difference)


def _differs(case: dict[str, Any], translator: Any) -> Difference | None:
    wanted = None
    try:
        if "files" in case and case["files"] is None:
            # The splitter refuses null as it refuses a bad parameter, so a case that expects a refusal would pass.
            raise ValueError("files is null: no translator can read this case")
        wanted = (case.get("expected_error") or {}).get("kind")
        answer = translator.answer(case)
        difference: Difference | None = Difference("error", wanted, "none")
        return difference if wanted else translator.compare(case, answer)
    except SplitError as error:
        return None if error.kind == wanted else Difference("error", wanted, f"{error.kind}: {error}")
    except Exception as error:  # the next case has its turn all the same
        return Difference("error", wanted, f"{type(error).__name__}: {error}")


def run(directory: Path) -> list[Verdict]:
    """Run all cases of a directory."""
    known = translators()
    return [judge(file, case, known) for file, case in cases(directory)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, tell what differs, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, nargs="?", default=HERE / "splitting", help="default: %(default)s")
    directory = parser.parse_args(arguments).directory
    try:
        verdicts = run(directory)
    except (OSError, ValueError) as error:
        print(f"cannot read the corpus: {error}", file=sys.stderr)
        return 2
    if not verdicts:
        print(f"{directory} holds no case", file=sys.stderr)
        return 2
    for each in verdicts:
        if each.difference:
            print(f"{'FAILED' if each.required else 'differs'} {each.file} {each.name}: {each.difference}")
    informational = [each for each in verdicts if not each.required]
    if informational:
        same = sum(not each.difference for each in informational)
        print(f"{len(informational)} informational cases: {same} as the peer does it, {len(informational) - same} not")
    required = [each for each in verdicts if each.required]
    failed = sum(bool(each.difference) for each in required)
    print(f"{len(required) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
