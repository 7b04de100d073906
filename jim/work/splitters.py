"""Finds splitters by name: JIM's own, and those of a site by their dotted names, as job types are found.

A site's splitter is a file of its directory with a class `Parameters` and a function `split`, as in
`jim/splitting/rules`. What goes wrong in it becomes an error of JIM.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jim.errors import JimError, nearest, shown
from jim.splitting import registry
from jim.splitting.errors import UnknownSplitter
from jim.splitting.files_and_jobs import Settled, SplitJob, Stream
from jim.splitting.parameters import check
from jim.splitting.subscription import Subscription
from jim.trust import use
from jim.trust.plugins import foreign, within

LONGEST_NAME = 200
NAMED = re.compile(rf"(?=.{{1,{LONGEST_NAME}}}$)[a-z]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
OF_A_SPLITTER = (re.compile(rb"^class Parameters\b", re.MULTILINE), re.compile(rb"^def split\(", re.MULTILINE))
END = object()
PATIENCE_SECONDS = 30.0  # for the next local job: a person or a gatekeeper waits at the door


def known(own: str) -> list[str]:
    """Return the names of all splitters: those of JIM, then those in the site's `own` directory."""
    names = []
    for file in sorted(Path(own).rglob("*.py")) if own else ():
        name = ".".join(file.relative_to(own).with_suffix("").parts)
        if NAMED.fullmatch(name) and _is_splitter(file):
            names.append(name)
    return [*registry.known(), *names]


def _is_splitter(file: Path) -> bool:
    text = file.read_bytes()
    return all(each.search(text) for each in OF_A_SPLITTER)


def find(name: object, own: str) -> Any:
    """Find a splitter's module. A request chooses only among files of JIM and of the site."""
    with suppress(UnknownSplitter):
        return registry.splitter_of(name)
    file = Path(own, *str(name).split(".")).with_suffix(".py")
    if not (own and NAMED.fullmatch(str(name)) and file.is_file()):
        raise UnknownSplitter(
            "splitter", name, f"unknown splitter {shown(name)}{nearest(str(name), known(own), 'jim splitters')}"
        )
    if not _is_splitter(file):
        raise UnknownSplitter(
            "splitter", name, f"{file} is no splitter: it needs a class Parameters and a function split"
        )
    use(own)
    with _guarded(f"cannot load the splitter {name!r}"):
        return importlib.import_module(str(name))


def is_own(module: Any) -> bool:
    """Tell whether a splitter is the site's."""
    return not str(module.__name__).startswith("jim.")


def name_of(module: Any) -> str:
    """Return the name by which requests know a splitter."""
    return str(module.__name__ if is_own(module) else module.NAME)


def after(module: Any) -> str:
    """Return the step of the site after which a splitter asks to run; empty: it does not ask."""
    return str(getattr(module, "AFTER", ""))


@contextmanager
def _guarded(what: str) -> Iterator[None]:
    """Turn what a splitter raises into an error of JIM, and end it at a door if it makes nothing for too long."""
    try:
        with foreign(what), within(PATIENCE_SECONDS):
            yield
    except TimeoutError as error:
        raise JimError(f"{what}: {error}, and is the site's own code: `jim split` tries it out") from error


def parameters(module: Any, given: Mapping[str, object]) -> Any:
    """Check the parameters that a request gives a splitter."""
    with _guarded(f"splitter {name_of(module)}"):
        return check(module.Parameters, given)


def jobs_of(module: Any, work: Subscription, checked: Any) -> Stream:
    """Split input files."""
    for each in _made(module, lambda: module.split(work, checked)):
        if not isinstance(each, SplitJob | Settled):
            raise JimError(f"splitter {name_of(module)} must make a SplitJob, but made {shown(each)}")
        yield each


def requests_of(module: Any, manifest: Mapping[str, Any], checked: Any) -> Iterator[Mapping[str, Any]]:
    """Split a request: each part has all attributes of the request, and perhaps further facts."""
    for each in _made(module, lambda: module.split(manifest, checked)):
        if not isinstance(each, Mapping):
            raise JimError(f"splitter {name_of(module)} must make requests, but made {shown(each)}")
        yield each


def _made(module: Any, split: Callable[[], Any]) -> Iterator[Any]:
    """Yield what a splitter makes. Those of JIM need no guard, which would cost time in each of a million jobs."""
    if not is_own(module):
        yield from split()
        return
    what = f"splitter {name_of(module)} failed"
    with _guarded(what):
        stream = iter(split())
    while True:
        with _guarded(what):
            one = next(stream, END)
        if one is END:
            return
        yield one
