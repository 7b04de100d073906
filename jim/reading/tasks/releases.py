"""Explains why pieces that are ready are not released."""

from __future__ import annotations

from jim.reading.before_submission import Wait
from jim.reading.quantities import span
from jim.reading.tasks.promises import STORED
from jim.reading.view import View
from jim.statusdb.task_rows import Task
from jim.tasks.release_room import Room, first_of_others
from jim.tasks.throttle_row import in_words
from jim.tasks.unsettled_waves import MOST_WAVES, is_crowded


def why_not_released(view: View, task: Task, what: str, room: Room, queued: int) -> Wait:
    """Tell why pieces are not released that `what` names, and when they will be."""
    return _slowed(what, room, queued) or _held_up(view, task, what, room) or _next_wave(view, task, what)


def _slowed(what: str, room: Room, queued: int) -> Wait | None:
    """Tell that the throttle of a task releases no more of what is ready."""
    limits, next_ = room.row.limits, "they are released as others end; `jim task throttle` changes it"
    if not limits.at_once:
        return Wait(f"{what}; throttle: at_once = 0", "`jim task throttle` changes it", STORED)
    if room.row.throttle.probes:
        every = span(limits.probe_seconds)
        next_ = f"one piece, new or tried again, goes every {every}, and more once they end well"
        return Wait(f"{what}; most attempts fail: {in_words(room.row)}", next_, STORED)
    if not room.places:
        return None
    if room.sent >= room.row.allowance:
        return Wait(f"{what}; throttle: {in_words(room.row)}", next_, STORED)
    if queued >= limits.queued:
        return Wait(f"{what}; throttle: queued = {limits.queued:,}", next_.replace("end", "start", 1), STORED)
    return None


def _held_up(view: View, task: Task, what: str, room: Room) -> Wait | None:
    """Tell what else keeps ready pieces from being released: other tasks, or the first pieces of this one."""
    if not room.places:
        next_ = "they are released as pieces of any task end"
        return Wait(f"{what}; all tasks together may have no more on the way (limits)", next_, STORED)
    if room.alone == 0:
        next_ = "they are released once these have passed as a test does; else the task pauses by itself"
        return Wait(f"{what}; its first pieces go alone", next_, STORED)
    if first := first_of_others(view, task):
        next_ = f"they are released once {first} has none to release, or may release none"
        return Wait(f"{what}; {first} has a higher priority, and pieces to release", next_, STORED)
    return None


def _next_wave(view: View, task: Task, what: str) -> Wait:
    """Tell when pieces are released that the throttle allows."""
    if is_crowded(view.store, task):
        next_ = "they are released once one of them has ended, or has at most 5 % of its local jobs left"
        return Wait(f"{what}; {MOST_WAVES} of its waves have not ended", next_, STORED)
    every = span(task.spec.release.every_seconds)
    return Wait(what, f"the next wave is at the latest {every} after the last one", STORED)
