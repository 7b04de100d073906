"""Torque from version 4: PBS commands in a dialect; listings are text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jim.adapters.base import COUNT, NAME
from jim.adapters.messages import torque as messages
from jim.adapters.pbs import Pbs
from jim.model import Ids, Resources

# Only the first three of its negative numbers have the same meaning as in PBS.
REASONS = {
    -1: "could not be started",
    -2: "failed after its files were staged",
    -3: "could not be started, to be tried again",
    -10: "memory limit",
    -11: "wall time limit",
    -12: "CPU time limit",
}


class Torque(Pbs):
    """An ended job stays listed for keep_completed seconds; there is no other history."""

    name = "torque"
    index_variable = "PBS_ARRAYID"
    unclear, full = messages.UNCLEAR, messages.FULL
    transient, permanent = messages.TRANSIENT, messages.PERMANENT
    submitting: tuple[str, ...] = ("-S", "/bin/sh", "-m", "n", "-j", "oe", "-o", "/dev/null")
    listing: tuple[str, ...] = ("-t", "-f")
    ended = ()
    reasons: Mapping[int, str] = REASONS
    # Licences are a matter of its scheduler. What a node must have are properties, which have no values.
    special: Mapping[str, str] = {"gpus": COUNT, "constraint": rf"{NAME}(,{NAME}){{0,19}}"}
    whole_node = ()

    def wanted(self, asked: Resources) -> Iterator[str]:
        if asked.wall_seconds:
            yield f"walltime={asked.wall_seconds}"
        gpus, terms = self.need("gpus", asked), self.terms(asked)
        if asked.cores or gpus or terms:
            more = [f":gpus={gpus}"] * bool(gpus) + [f":{name}" for name, _ in terms]
            yield f"nodes=1:ppn={asked.cores or 1}{''.join(more)}"
        if asked.memory_mb:
            yield f"mem={asked.memory_mb}mb"
        if asked.disk_mb:
            yield f"file={asked.disk_mb}mb"

    def array(self, size: int) -> list[str]:
        return ["-r", "n", *(["-t", f"1-{size}"] if size > 1 else [])]

    def names(self, ids: Ids) -> list[str]:
        return [id_.replace("[]", f"[{index or ''}]") for id_, index in ids]

    def mark(self, name: str, index: str | None) -> str:
        """Remove the index, which Torque appends to the name of each member of an array."""
        return name.removesuffix(f"-{index}").removesuffix(f"[{index}]") if index else name


ADAPTER = Torque
