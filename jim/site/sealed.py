"""What root has banned, so that doors of every account can ask for a name that they know, and nobody can read a list.

Each ban stands under a digest of its name, and what root said of it is legible only to who knows the name. Names can be
guessed: this keeps a list from strangers, and no secret from somebody who asks about one sender.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jim.files import read_regular

LONGEST, SALT = 8 * 1024 * 1024, 16


def seal(told: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of the file for what was told of each name."""
    salt = os.urandom(SALT)
    sealed = {_digest(salt, name): _crypted(salt, name, json.dumps(each).encode()).hex() for name, each in told.items()}
    return {"salt": salt.hex(), "sealed": sealed}


def told_of(file: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return what was told of those of these names that are in the file."""
    content = json.loads(read_regular(file, LONGEST))
    salt, sealed = bytes.fromhex(content["salt"]), dict(content["sealed"])
    found = {name: sealed.get(_digest(salt, name)) for name in names}
    return {
        name: json.loads(_crypted(salt, name, bytes.fromhex(each))) for name, each in found.items() if each is not None
    }


def _digest(salt: bytes, name: str) -> str:
    return hashlib.sha256(salt + b" of " + name.encode(errors="backslashreplace")).hexdigest()


def _crypted(salt: bytes, name: str, text: bytes) -> bytes:
    """Make a text illegible, or legible again."""
    key = hashlib.shake_256(salt + b" about " + name.encode(errors="backslashreplace")).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, key, strict=True))
