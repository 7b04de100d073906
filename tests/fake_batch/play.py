"""Playing histories: `python -m tests.fake_batch.play MACHINE DIALECT SEED [COUNT]` plays those of a seed again."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.stateful import get_state_machine_test

from tests.fake_batch import carriers, histories, people, restores

BLOCK = 200  # histories of one seed
WHOLE = (Phase.generate, Phase.shrink)


def play(machine: str, dialect: str, number: int, count: int = BLOCK, phases: tuple[Phase, ...] = WHOLE) -> None:
    """Play so many histories of one seed, or raise with the shortest that fails."""
    room = next(each for each in (histories, people, restores, carriers) if hasattr(each, machine))
    played = getattr(room, machine)
    named = type(machine, (played,), {"name": dialect})
    how = settings(
        max_examples=count,
        stateful_step_count=getattr(played, "steps", histories.STEPS),
        phases=phases,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.MonkeyPatch.context() as patch:
        # Hypothesis likes numbers that it finds in what is loaded: one seed would be other histories in every process.
        patch.setattr(HypothesisProvider, "_maybe_draw_constant", lambda *_, **__: None)
        try:
            seed(number)(get_state_machine_test(named, settings=how))()
        except Exception as error:
            error.add_note(f"Again: python -m tests.fake_batch.play {machine} {dialect} {number} {count}")
            raise


if __name__ == "__main__":
    machine, dialect, *numbers = sys.argv[1:]
    play(machine, dialect, *map(int, numbers))
    print("all is well")
