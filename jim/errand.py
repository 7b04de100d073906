"""What the keeper, or a door in it, gives to a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from jim.errors import JimError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Errand(Generic[T]):
    """Something that may take long. The loop gets its result by `done`, or what it raised by `failed`."""

    key: Hashable
    work: Callable[[], T]
    done: Callable[[T], None]
    failed: Callable[[BaseException], None] | None = None  # none: the loop logs it, and the errand is tried again
    command: bool = False  # it runs a batch command
    far: bool = False  # it writes where people keep files: a file server that hangs there must hold up nothing else
    source: bool = False  # it looks at a source of a task, or runs a site's code: one that hangs holds up nothing
    grid: int = 0  # the grid job that is looked at once it has ended
    repeats: bool = False  # done, it is put off like one that failed: evidence alone tells that it was obeyed
    watches: bool = False  # it only looks, again and again: nothing is lost if the keeper ends meanwhile
    heeds: tuple[type[BaseException], ...] = (
        OSError,
        JimError,
    )  # what `failed` is told of
