"""An adapter as a site has it that chooses its history by name, and what was captured of that."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from jim.model import Answer

CAPTURED = Path(__file__).parents[3] / "captured"


def by_name(system, name, words=()):
    """Choose a source, with the site's own words for its command, if any."""
    adapter = import_module(f"jim.adapters.{system}").ADAPTER({"history": list(words)} if words else {}, "/area")
    adapter.choose_history(name)
    return adapter


def captured(folder, name, code=0):
    """Give an answer that lies among the captures."""
    out, err = (CAPTURED / folder / f"{name}{ending}" for ending in (".txt", ".stderr.txt"))
    return Answer(("words",), code, *(each.read_text() if each.exists() else "" for each in (out, err)), 0.1)


def words(folder, name, code=0, *, adapter):
    """Read a captured history: the batch system's own word for each end."""
    return {f"{id_}.{n}": seen.word for (id_, n), seen in adapter.parse_history(captured(folder, name, code)).items()}
