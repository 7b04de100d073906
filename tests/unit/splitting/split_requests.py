"""Requests, split by the rules of a splitter."""

from __future__ import annotations

from jim.splitting.parameters import check
from jim.splitting.registry import splitter_of


def split(name, parameters, work):
    module = splitter_of(name)
    return list(module.split(work, check(module.Parameters, parameters)))
