"""Finds splitters: each is a module of `jim/splitting/rules`, found by its name and imported when it is used.

The module has the class `Parameters` and the function `split`, which turns a subscription and parameters into a stream
of jobs. The function is pure.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jim.errors import nearest, shown
from jim.splitting.errors import UnknownSplitter
from jim.splitting.files_and_jobs import Stream
from jim.splitting.parameters import check
from jim.splitting.subscription import Subscription

RULES = Path(__file__).parent / "rules"


def known() -> list[str]:
    """Return the names of all splitters."""
    return sorted(module.NAME for module in map(_module, _stems()))


def _stems() -> list[str]:
    return [each.stem for each in RULES.glob("[a-z]*.py")]


def _module(stem: str) -> Any:
    return importlib.import_module(f"jim.splitting.rules.{stem}")


def splitter_of(name: object) -> Any:
    """Find a splitter's module: `EventBased` is `event_based`."""
    if isinstance(name, str):
        wanted = name.replace(".", "").lower()
        for stem in _stems():
            if stem.replace("_", "") == wanted:
                return _module(stem)
    raise UnknownSplitter(
        "splitter", name, f"unknown splitter {shown(name)}{nearest(str(name), known(), 'jim splitters')}"
    )


def split(name: object, parameters: Mapping[str, object], work: Subscription) -> Stream:
    """Check the parameters, then split."""
    module = splitter_of(name)
    stream: Stream = module.split(work, check(module.Parameters, parameters))
    return stream


def splits_requests(module: Any) -> bool:
    """Tell whether a splitter turns a request into requests; the others turn input files into jobs."""
    return getattr(module, "SPLITS_REQUESTS", False)
