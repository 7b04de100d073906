"""Checks the values that local jobs have of their own, as those of a request are checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jim.handlers.base import AS_A_WHOLE, COMMON, SPLITTING, Attribute, Attributes, Handler
from jim.request.languages import meant
from jim.request.values import value_of
from jim.splitting.errors import SplitError
from jim.splitting.numbers import TEXT

# Attributes that decided the split, and attributes that identify a grid job.
CUT_BY = frozenset({*SPLITTING, "events", "events_per_job", "balanced", "cpu_seconds_per_event", "test"})
KNOWN_BY = frozenset({"job_type", "key"})


def may_differ(handler: Handler) -> dict[str, Attribute]:
    """Return the attributes that local jobs of a job type may have of their own."""
    declared = COMMON | dict(handler.attributes)
    return {name: one for name, one in declared.items() if name not in AS_A_WHOLE}


def checked(
    own: Attributes, declared: Mapping[str, Attribute], handler: Handler, request: Attributes
) -> dict[str, Any]:
    """Check the own values of a local job of this request; the job type looks at all but arguments alone."""
    values = {name: _value(name, value, declared[name]) for name, value in own.items()}
    if values.keys() - {"arguments"}:
        handler.check({**request, **values})
    return values


def _value(name: str, value: Any, declared: Attribute) -> Any:
    """Check a local job's own value. Variables and splitters have texts only, so a text may stand for a number."""
    text = _as_texts(value)
    return value_of(name, meant(name, text, declared) if isinstance(text, str) else text, declared)


def _as_texts(value: Any) -> Any:
    """Turn numbers into texts, for arguments and environment variables."""
    if isinstance(value, list | tuple):
        return [_as_texts(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _as_texts(each) for name, each in value.items()}
    return text_of(value) if type(value) in (int, float, bool) else value


def text_of(value: Any) -> str:
    """Return a value as a text: a list with commas."""
    if isinstance(value, list | tuple):
        return ",".join(map(text_of, value))
    return str(value).lower() if isinstance(value, bool) else str(TEXT.of(value, "value", SplitError))
