"""The part of the contract of a store about tasks.

tests/unit/statusdb/tasks/test_reading.py checks every store against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from jim.jobs import Journal
from jim.statusdb.asked import (
    GroupSeen,
    HostSeen,
    ItemsAsked,
    ItemSeen,
    Minute,
    OutputsAsked,
    PiecesAsked,
    PieceSeen,
    TaskFailures,
)
from jim.statusdb.task_rows import (
    WANTED,
    Brought,
    Ended,
    Group,
    Item,
    ItemState,
    KnownItem,
    NewItem,
    NewPiece,
    Output,
    Part,
    PieceRow,
    Source,
    Task,
    TaskLine,
    TaskState,
    Todo,
    Unfulfilled,
    Wave,
    WaveState,
)
from jim.statusdb.task_spec import Spec


class TaskStore(Protocol):
    """What a status DB keeps of tasks. Their pieces and items are counted in the transaction that changes them."""

    # Tasks

    times_changed: int  # how often any task was found changed

    def changed_tasks(self) -> set[int]:
        """Return the tasks that this store has changed since the last call, and perhaps others."""

    def tasks(self, *states: TaskState) -> list[Task]:
        """Return the tasks in these states, or all, in the order of their creation."""

    def task(self, number: int) -> Task | None:
        """Return one task; None if it was removed."""

    def task_named(self, name: str) -> Task:
        """Return the task with a name."""

    def any_live_task(self) -> bool:
        """Tell whether the keeper has to stay for a task."""

    def add_task(
        self,
        name: str,
        nonce: str,
        owner: str,
        spec: Spec,
        digest: str,
        throttle: Mapping[str, int],
        by: str,
    ) -> int:
        """Store a task, in place of one of this name that was not started; return its number, 0 if it is known."""

    def remove_task(self, number: int) -> None:
        """Forget a task with all its rows."""

    def set_task(self, number: int, **columns: Any) -> None:
        """Change a task; a new state is written to its journal."""

    def set_spec(self, number: int, spec: Spec) -> None:
        """Change what the task file said, as far as a person may change it later."""

    def move_places(self, old: str, new: str) -> None:
        """Note that the state directory has another path, with all that it keeps of tasks."""

    def note_task(self, number: int, what: str, reason: str = "") -> None:
        """Add a line to the journal of a task."""

    def task_journal(self, number: int, last: int = 100) -> list[TaskLine]:
        """Return the last lines of a task's journal, oldest first."""

    def add_fix(self, number: int, changes: Mapping[str, Any]) -> int:
        """Add changes of attributes for all further attempts of a task; return their number."""

    def fixes(self, number: int, upto: int | None = None) -> dict[int, dict[str, Any]]:
        """Return the fixes of a task by their numbers, up to one or all."""

    def task_counts(self, number: int, what: str, grp: str | None = None) -> dict[str, int]:
        """Count the items or pieces of a task, or of one group of it, by state; without reading them."""

    def sent_of_tasks(self) -> dict[int, int]:
        """Count the pieces of each task that are on the way."""

    def ready_above(self, priority: int) -> list[int]:
        """Return the running tasks of a higher priority with ready pieces."""

    def task_counts_by_group(self, number: int) -> Iterator[tuple[str, str, str, int]]:
        """Yield group, what is counted (items or pieces), state and count."""

    def wrong_in_tasks(self) -> dict[str, int]:
        """Count the violations of what must hold of tasks at any moment, by its name."""

    # Sources, groups and items

    def sources(self, task: int) -> list[Source]:
        """Return the sources of a task."""

    def set_source(self, task: int, k: int, **columns: Any) -> None:
        """Record what is known of a source."""

    def count_new(self, task: int, k: int, count: int) -> None:
        """Count items that a source is the first to bring."""

    def new_of_sources(self, task: int) -> dict[int, int]:
        """Count the items that each source was the first to bring."""

    def are_looked_at(self, when: Mapping[tuple[int, int], str]) -> None:
        """Record when sources (task, k) were looked at that have shown nothing new."""

    def groups(self, task: int) -> list[Group]:
        """Return the groups of a task."""

    def group(self, task: int, grp: str) -> Group | None:
        """Return one group of a task; None: nothing of it was seen."""

    def set_group(self, task: int, grp: str, **columns: Any) -> None:
        """Record what is known of a group, which may be new."""

    def make_dirty(self, task: int, grp: str, *, flush: bool = False) -> None:
        """Let a group be planned; with `flush` as if nothing more would come."""

    def is_planned(self, group: Group) -> None:
        """Record that a group was planned as it was then; it is still dirty if something has changed since."""

    def dirty_groups(self, task: int) -> list[Group]:
        """Return the groups to plan, those that came first before others."""

    def add_items(self, task: int, found: Iterable[NewItem], state: ItemState = ItemState.AVAILABLE) -> int:
        """Add items; a known name changes nothing. Return how many are new; their groups are to be planned."""

    def item_named(self, task: int, name: str) -> Item | None:
        """Return an item by its name."""

    def items(self, task: int, numbers: Iterable[int]) -> dict[int, Item]:
        """Return items by their numbers."""

    def known_items(self, task: int) -> Iterator[KnownItem]:
        """Yield all items of a task, for comparison with a listing."""

    def find_items(self, task: int, glob: str, state: str, limit: int) -> list[Item]:
        """Return the items whose names match a pattern, in the order in which they came."""

    def next_items(self, task: int, glob: str, state: str, after: int, limit: int) -> list[Item]:
        """Return the items after one of a number, whose names match a pattern."""

    def available(self, task: int, grp: str, limit: int) -> list[Item]:
        """Return the first available items of a group."""

    def late_items(self, task: int, grp: str) -> list[int]:
        """Return the items of a group that came after it was closed."""

    def oldest_available(self, task: int) -> list[tuple[str, float]]:
        """Return each group with available items, and when the oldest of them came."""

    def move_items(self, task: int, numbers: Iterable[int], now: ItemState, **columns: Any) -> None:
        """Give items another state."""

    def set_items(self, numbers: Iterable[int], **columns: Any) -> None:
        """Change facts of items that are not their states."""

    def item_is_back(self, task: int, number: int, size: int, mtime: str, record: Mapping[str, Any]) -> None:
        """Let an item that was gone be available again, as it is now."""

    # Pieces and waves

    def drop_unplanned(self, task: int) -> None:
        """Remove the pieces of a plan that did not come to its end."""

    def add_task_pieces(self, task: int, first: int, pieces: Iterable[NewPiece], turn: int = 1) -> None:
        """Store pieces that do not count before `end_plan`; those of turn 0 are released before others."""

    def end_plan(self, task: int, upto: int, acquired: Iterable[int]) -> None:
        """Let the pieces below a number count, and these items be acquired. Ranges are cut by `cut_range`."""

    def all_available(self, task: int, items: Iterable[int]) -> bool:
        """Tell whether all of these items are still available."""

    def cut_range(self, task: int, item: int, upto: int, *, wholly: bool) -> None:
        """Record how far a range of events is in pieces; one that is not wholly cut is still available."""

    def piece(self, task: int, p: int) -> PieceRow | None:
        """Return one piece of a task."""

    def ready_pieces(self, task: int, limit: int) -> list[PieceRow]:
        """Return the first pieces to release."""

    def failed_pieces(self, task: int, limit: int = -1) -> list[PieceRow]:
        """Return the failed pieces."""

    def want_again(self, task: int, numbers: Iterable[int], why: int = WANTED) -> None:
        """Record that these failed pieces are to be tried again, and why: WANTED or EATEN."""

    def failed_since(self, task: int, since: float) -> list[PieceRow]:
        """Return the pieces that have failed since a time, and were not tried again after a bad time before."""

    def are_tried_again(self, task: int, numbers: Iterable[int]) -> None:
        """Record that these pieces were tried again after a bad time."""

    def pieces_of_wave(self, task: int, w: int) -> list[PieceRow]:
        """Return the pieces that a wave has, by their local jobs."""

    def parts_of(self, task: int, p: int) -> list[Part]:
        """Return the parts of items that a piece may process."""

    def take_back(self, task: int, numbers: Iterable[int]) -> None:
        """Take back ready pieces, all that share items with one another: their items are available again."""

    def pieces_with(self, item: int) -> list[int]:
        """Return the pieces that an item is in."""

    def move_pieces(self, task: int, ended: Iterable[Ended]) -> None:
        """Give pieces other states; counts and items follow."""

    def ready_again(self, task: int, attempts: Mapping[int, int], reason: str) -> None:
        """Let sent pieces be released once more: each had so many attempts."""

    def intend_wave(self, task: int, w: int, pieces: Sequence[PieceRow], sha256: str) -> None:
        """Record that these ready pieces are to be handed in as one grid job."""

    def add_wave(self, task: int, t: int, w: int, size: int, sha256: str, pieces: str = "") -> None:
        """Record the intent to hand in a grid job of a task or, with its pieces, of a test."""

    def set_wave(self, wave: Wave, **columns: Any) -> None:
        """Change a wave."""

    def waves(self, task: int, *states: WaveState) -> list[Wave]:
        """Return the waves of a task in these states, or all, and those of its tests."""

    def wave(self, task: int, w: int) -> Wave | None:
        """Return one wave of a task."""

    def live_waves(self, task: int) -> list[Wave]:
        """Return the waves of a task that are not settled, and those of its tests."""

    def wave_of(self, grid: int) -> Wave | None:
        """Return the wave that a grid job is; None: it is not a task's."""

    def waves_behind(self) -> list[Wave]:
        """Return the waves whose grid jobs have changed since they were followed."""

    def wave_lines(self, wave: Wave) -> list[Journal]:
        """Return the lines of a wave's journal about its local jobs that are not followed yet."""

    def ended_on_creation(self, grid: int) -> list[tuple[int, str]]:
        """Return the local jobs that have failed on their creation, of which the journal has no line."""

    # Outputs

    def outputs_of(self, task: int, p: int) -> list[Output]:
        """Return what a piece brings."""

    def output(self, number: int) -> Output | None:
        """Return one output by its number."""

    def outputs_to_do(self, task: int, before: float, limit: int) -> list[Output]:
        """Return outputs with which a worker has something to do by now."""

    def next_output_due(self, task: int) -> float | None:
        """Return when a worker may have something to do with an output of a task; None: never."""

    def is_kept_elsewhere(self, task: int, p: int) -> bool:
        """Tell whether anything that a piece has brought is stored, or is in a piece of another task."""

    def outputs_in_trouble(self, task: int, limit: int) -> list[Output]:
        """Return outputs that could not be read or stored so far."""

    def any_output_to_do(self, task: int, w: int) -> bool:
        """Tell whether an output of a wave is still to be read or stored."""

    def bring(self, task: int, p: int, stream: str, files: Sequence[Brought], todo: Todo, fix: int) -> None:
        """Record the files that a piece has left for an output pool, in place of its promises; once."""

    def set_output(self, number: int, **columns: Any) -> None:
        """Change facts of an output that are not its state."""

    def is_stored(self, output: Output, place: str) -> None:
        """Record that an output has its place in a store."""

    def is_given_up(self, output: Output, why: str) -> None:
        """Record that an output will get no place in a store: its task is cancelled."""

    # Chains: outputs of a task are items of those that it feeds

    def fed_by(self, task: int) -> list[Source]:
        """Return the sources that a task fills."""

    def fed_tasks(self, tasks: Iterable[int]) -> set[int]:
        """Return the tasks that these ones feed."""

    def outputs_after(self, task: int, stream: str, above: int, limit: int) -> list[Output]:
        """Return outputs of a pool in the order in which they were promised, above a number."""

    def feed(self, source: Source, outputs: Iterable[Output]) -> None:
        """Make items of outputs that were there before a task; those that are known stay as they are."""

    def unfulfilled(self, source: Source, *, broken: bool, limit: int) -> list[Unfulfilled]:
        """Return pieces that wait for what a source has promised: what is broken, or all that is not there."""

    def unfulfilled_of_removed(self, task: int, limit: int) -> list[Unfulfilled]:
        """Return pieces that wait for what a task has promised that was removed since."""

    def promised_items(self, task: int, upstream: int, limit: int) -> list[int]:
        """Return the items in no piece that a task has only promised, or one that was removed since."""

    def any_unfulfilled(self, task: int, note: str) -> bool:
        """Tell whether promised items of a task were dropped with a note that begins so."""

    def not_kept(self, items: Iterable[int]) -> set[int]:
        """Return those of some items whose files were in the work directory, and went with their grid jobs."""

    def move_promises(self, task: int, successors: Mapping[int, Sequence[int]]) -> None:
        """Let promises of new pieces take the places of those of pieces that they replace, in the pieces that wait."""

    # What people see

    def counts_of_tasks(self, tasks: Iterable[int]) -> dict[int, dict[str, dict[str, int]]]:
        """Count the items and pieces of tasks by state."""

    def completed_since(self, tasks: Iterable[int], since: str) -> dict[int, tuple[int, int]]:
        """Count the local jobs of tasks that have completed since a time; also tell the first minute, since 1970."""

    def task_minutes(self, task: int) -> list[Minute]:
        """Count by minute how local jobs of a task ended, and how many attempts started."""

    def task_hosts(self, task: int, limit: int) -> list[HostSeen]:
        """Return the hosts with failed attempts of a task, those with the most first."""

    def task_failures(self, task: int, limit: int) -> list[TaskFailures]:
        """Count the first failed pieces of a task by reason."""

    def task_records(self, task: int, limit: int) -> Iterator[tuple[str, int]]:
        """Yield exit records of completed local jobs of a task with their events, those of the last waves first."""

    def bytes_stored(self, task: int) -> int:
        """Add up the sizes of stored outputs of a task."""

    def inputs_since(self, task: int) -> tuple[int, int]:
        """Count the items of a task that were removed, and those that have changed, since they were worked on."""

    def outputs_page(self, task: int, asked: OutputsAsked, limit: int) -> list[Output]:
        """Return the next matching outputs, by piece."""

    def task_lines(self, task: int, what: Sequence[str], last: int) -> list[TaskLine]:
        """Return the last lines of some kinds in a task's journal, oldest first."""

    def groups_page(self, task: int, after: str | None, limit: int) -> list[GroupSeen]:
        """Return the next groups of a task by name: when each was closed, and its counts."""

    def count_groups(self, task: int) -> int:
        """Count the groups of a task."""

    def items_page(self, task: int, asked: ItemsAsked, limit: int) -> list[ItemSeen]:
        """Return the next matching items, by name."""

    def count_items(self, task: int, asked: ItemsAsked, at_most: int) -> int:
        """Count matching items on all pages; stop at one more than `at_most`."""

    def pieces_page(self, task: int, asked: PiecesAsked, limit: int) -> list[PieceSeen]:
        """Return the next matching pieces, by number."""

    def count_pieces(self, task: int, asked: PiecesAsked, at_most: int) -> int:
        """Count matching pieces on all pages; stop at one more than `at_most`."""

    def items_made_of(self, outputs: Iterable[int]) -> list[Item]:
        """Return the items, of any task, that outputs have become."""

    def released_before(self, task: int, p: int) -> list[tuple[int, int, int]]:
        """Return the waves that had a piece before a pause ended them, each with its grid job and local job there."""

    def elements_of_task(self, name: str, task: int, pieces: range | None = None) -> Iterator[Sequence[Any]]:
        """Yield, in the order of documents, the elements of a task, perhaps of some pieces: keys, then attributes."""

    def parts_of_pieces(self, task: int, pieces: range) -> Iterator[Sequence[Any]]:
        """Yield the parts of items that some pieces have: piece, item, its name, and the limits of a `Part`."""

    def tasks_of(self, grids: Iterable[int]) -> dict[int, str]:
        """Return the task of each grid job that is a wave or a test of one."""
