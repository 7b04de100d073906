"""The source that is a list: a file with a name in each line, or the JSON of one file; `closed` closes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jim.errors import JimError
from jim.files import read_regular, resolved
from jim.splitting.errors import SplitError
from jim.splitting.files_and_jobs import File
from jim.statusdb.task_rows import NewItem
from jim.statusdb.task_spec import SourceSpec
from jim.tasks.sources import Found, group_of

LARGEST = 64_000_000
CLOSED = "closed"
NESTED = "it nests too deeply"
NOT_TEXT = "\ufffd"  # what stands in place of bytes that are no UTF-8
NO_VARIABLES: Mapping[str, str] = {}


def look(source: SourceSpec) -> Found:
    """Read the lines of a list that a newline ends: the last line may still be written."""
    content = read_regular(resolved(Path(source.list)), LARGEST)
    lines = content[: content.rfind(b"\n") + 1].decode(errors="replace").split("\n")
    return found_in(lines, source.group, source.list)


def found_in(lines: Iterable[str], group: str, what: str) -> Found:
    """Return the items of lines; refuse all of them if one makes no sense."""
    found = Found()
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if NOT_TEXT in line:
            raise JimError(f"{what}, line {number}: no UTF-8")
        if not text or text.startswith("#"):
            continue
        if text == CLOSED:
            found.closed = True
            continue
        if not text.isprintable():
            raise JimError(f"{what}, line {number} holds characters that cannot be printed")
        item = _item(text, f"{what}, line {number}")
        grp = group_of(group, item.name)
        if grp is not None:  # names outside of every group are not for this task
            found.new.append(item._replace(grp=grp))
    return found


def _item(text: str, place: str) -> NewItem:
    if not text.startswith("{"):
        return NewItem(text)
    try:
        told = json.loads(text)
        variables = told.pop("variables", {})
        record = File.from_record(told).to_record()
    except json.JSONDecodeError as error:
        raise JimError(f"{place}, column {error.colno}: no JSON: {error.msg}") from error
    except RecursionError as error:
        raise JimError(f"{place}: {NESTED}") from error
    except (ValueError, SplitError) as error:
        raise JimError(f"{place}: {error}") from error
    if not isinstance(variables, dict) or not all(isinstance(each, str) for each in variables.values()):
        raise JimError(f"{place}: variables: expected a table of texts")
    return item_of(record, variables)


def item_of(record: Mapping[str, Any], variables: Mapping[str, str] = NO_VARIABLES) -> NewItem:
    """Return a file as an item; what is not known of it takes no room."""
    kept = {key: value for key, value in record.items() if key != "lfn" and value not in (0, [], {}, "")}
    more = {"variables": dict(variables)} if variables else {}
    return NewItem(str(record["lfn"]), size=int(record["size"]), record=kept | more)
