"""Checks a request that is stored already and is to be changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.handlers.base import Handler
from jim.request import check


def check_again(stored: Mapping[str, Any], changed: dict[str, Any], own: str = "") -> tuple[Handler, dict[str, Any]]:
    """Check a changed request; it may have the files that the catalogue has added to the stored one."""
    return check(changed, own, looked_up=is_looked_up(stored))


def is_looked_up(stored: Mapping[str, Any]) -> bool:
    """Tell whether a stored request has the files of its dataset: only the catalogue gives it both."""
    return bool(stored.get("dataset") and stored.get("input_files"))
