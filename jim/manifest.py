"""Variables in a manifest: `$name` and `${name}` in any text of it, as in DIRAC's RFC 15.

A manifest is what a request says, attribute by attribute. A table in it is a section: other texts reach its attributes
as `$section/name`, and within it its own attributes come first.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any

from jim.splitting.errors import InvalidManifest

Manifest = Mapping[str, Any]

LARGEST = 4 * 1024 * 1024  # characters put in for variables: a few lines can ask for gigabytes
_VARIABLE = re.compile(r"\$(?:(\$)|([\w/]+)|\{([\w/]+)\})?", re.ASCII)
_NEVER = "$"  # what a text waits for that has a `$` which is no variable; no attribute has this name


def expand(manifest: Manifest) -> dict[str, Any]:
    """Put in for every variable what it names, in whatever order they depend on each other; `$$` becomes `$`.

    An attribute stays as a whole as it is where a variable in it is unknown or depends on itself, or where a `$` is no
    variable.
    """
    values = dict(_attributes(manifest))
    names = {path: list(_names(path, value, values)) for path, value in values.items()}
    missing = {path: set(those) for path, those in names.items()}
    users = defaultdict(list)
    for path, those in missing.items():
        for name in those:
            users[name].append(path)
    ready = deque(path for path, those in missing.items() if not those)
    texts: dict[str, str] = {}
    size = 0
    while ready:
        path = ready.popleft()
        size += sum(len(texts[name]) for name in names[path])
        if size > LARGEST:
            raise InvalidManifest(path, values[path], f"its variables make it longer than {LARGEST:,} characters")
        values[path] = _replaced(values[path], iter(names[path]), texts)
        texts[path] = _text(values[path])
        for user in users[path]:
            missing[user].remove(path)
            if not missing[user]:
                ready.append(user)
    return _rebuilt(manifest, values)


def _attributes(table: Manifest, section: str = "") -> Iterator[tuple[str, Any]]:
    """Give every attribute that has a value, by its path."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _attributes(value, f"{section}{name}/")
        elif value is not None:
            yield section + name, value


def _names(path: str, value: Any, values: Manifest) -> Iterator[str]:
    """Give the path of what each variable names, in order."""
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
    """Give where a name may be, seen from an attribute: its own section first, then the ones around it."""
    while path:
        path = path.rpartition("/")[0]
        yield f"{path}/{name}" if path else name


def _replaced(value: Any, names: Iterator[str], texts: Mapping[str, str]) -> Any:
    if isinstance(value, list | tuple):
        return [_replaced(each, names, texts) for each in value]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: "$" if found[1] else texts[next(names)], value)
    return value


def _text(value: Any) -> str:
    """Say a value as a variable stands for it."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _rebuilt(table: Manifest, values: Manifest, section: str = "") -> dict[str, Any]:
    return {
        name: _rebuilt(value, values, f"{section}{name}/") if isinstance(value, Mapping) else values.get(section + name)
        for name, value in table.items()
    }
