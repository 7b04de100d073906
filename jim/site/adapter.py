"""What the adapter of a site's batch system says of itself, for those who may not import adapters."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from jim.site.file import Site, check_system


def special_of(site: Site) -> Mapping[str, str]:
    """Return what the batch system can be asked for in particular, each with the pattern of its values."""
    found: Mapping[str, str] = _said_by_adapter(site, "special", {})
    return found


def sees_work(site: Site) -> bool:
    """Tell whether worker nodes of the batch system see the work directory."""
    return bool(_said_by_adapter(site, "shared_work", True))


def words_for_node(site: Site) -> tuple[str, ...]:
    """Return the words of the submit command for a whole node; empty: the batch system has none."""
    words: tuple[str, ...] = _said_by_adapter(site, "whole_node", ())
    return words


def _said_by_adapter(site: Site, name: str, otherwise: object) -> Any:
    check_system(site)
    system = site.batch.system if "." in site.batch.system else f"jim.adapters.{site.batch.system}"
    return getattr(importlib.import_module(system).ADAPTER, name, otherwise)
