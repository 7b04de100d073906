"""Replaces variables in a manifest: `$name` and `${name}` in any text, as in DIRAC's RFC 15.

A manifest is a request, attribute by attribute. A table in it is a section. Texts outside a section name its attributes
as `$section/name`; texts inside it look in their own section first.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any

from jim.splitting.errors import InvalidManifest

Manifest = Mapping[str, Any]

LARGEST = 4 * 1024 * 1024  # limit of what variables add: a few lines could ask for gigabytes
_VARIABLE = re.compile(r"\$(?:(\$)|([\w/]+)|\{([\w/]+)\})?", re.ASCII)
_NEVER = None  # a mark for a `$` that begins no variable; no attribute has this name
_Path = str | None
_Values = dict[_Path, Any]


def expand(manifest: Manifest) -> dict[str, Any]:
    """Replace every variable by its value, also where variables depend on each other; `$$` becomes `$`.

    An attribute stays unchanged if one of its variables is unknown or depends on itself, or if a `$` begins no
    variable.
    """
    attributes = list(_attributes(manifest))
    values: _Values = dict(attributes)
    if len(values) != len(attributes):
        raise InvalidManifest(
            "manifest", manifest, "the attribute name contains a `/` and equals the name of an attribute in a section"
        )
    names = {path: list(_names(path, value, values)) for path, value in attributes if _varies(value)}
    room = LARGEST
    missing = {path: {name for name in those if name in names or name not in values} for path, those in names.items()}
    for path in _in_order(missing):
        texts = []
        for name in names[path]:
            texts.append(_text(values[name]))
            room -= len(texts[-1])
            if room < 0:
                raise InvalidManifest(
                    path, values[path], f"variables make the request longer than {LARGEST:,} characters"
                )
        values[path] = _replaced(values[path], iter(texts))
    return _rebuilt(manifest, values)


def kept(manifest: Manifest) -> Iterator[tuple[str, str | None]]:
    """Return attributes that stay as they are although a variable in them is known: path, and what prevents it.

    That is a name that no attribute has, or None: a `$` that begins no name.
    """
    values: _Values = dict(_attributes(manifest))
    for path, value in values.items():
        names = list(_names(str(path), value, values)) if _varies(value) else []
        unknown = [name for name in names if name not in values]
        if unknown and len(unknown) < len(names):
            yield str(path), unknown[0]


def _in_order(missing: dict[str, set[_Path]]) -> Iterator[str]:
    """Return attributes so that each depends only on earlier ones; leave out those that have no such place."""
    users = defaultdict(list)
    for path, those in missing.items():
        for name in those:
            users[name].append(path)
    ready = deque(path for path, those in missing.items() if not those)
    while ready:
        path = ready.popleft()
        yield path
        for user in users[path]:
            missing[user].remove(path)
            if not missing[user]:
                ready.append(user)


def _attributes(table: Manifest, section: str = "") -> Iterator[tuple[str, Any]]:
    """Return every attribute that has a value, by its path."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _attributes(value, f"{section}{name}/")
        elif value is not None:
            yield section + name, value


def _varies(value: Any) -> bool:
    return any(map(_varies, value)) if isinstance(value, list | tuple) else isinstance(value, str) and "$" in value


def _names(path: str, value: Any, values: _Values) -> Iterator[_Path]:
    """Return the paths that the variables of a text name, in order."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _names(path, each, values)
    elif isinstance(value, str) and "$" in value:
        for dollar, plain, braced in _VARIABLE.findall(value):
            name = plain or braced
            if name:
                yield next((each for each in _places(path, name) if each in values), name)
            elif not dollar:
                yield _NEVER


def _places(path: str, name: str) -> Iterator[str]:
    """Return the paths that a name may mean in an attribute: first in its own section, then in the sections around."""
    while path:
        path = path.rpartition("/")[0]
        yield f"{path}/{name}" if path else name


def _replaced(value: Any, texts: Iterator[str]) -> Any:
    if isinstance(value, list | tuple):
        return [_replaced(each, texts) for each in value]
    if isinstance(value, str) and "$" in value:
        return _VARIABLE.sub(lambda found: "$" if found[1] else next(texts), value)
    return value


def _text(value: Any) -> str:
    """Return the text that replaces a variable."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _rebuilt(table: Manifest, values: _Values, section: str = "") -> dict[str, Any]:
    return {
        name: _rebuilt(value, values, f"{section}{name}/") if isinstance(value, dict) else values.get(section + name)
        for name, value in table.items()
    }
