"""Decides what a verb does to a task: the same decisions for the command line and for the keeper."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from jim.statusdb.task_rows import Task, TaskState


class TaskVerb(StrEnum):
    """The wishes for tasks."""

    CREATE = "create"
    TEST = "test"
    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    THROTTLE = "throttle"
    CANCEL = "cancel"
    REMOVE = "remove"


OVER = (TaskState.CANCELLING, TaskState.CANCELLED)
OLDER = "the status DB is older than its requests"


def refusal(task: Task, verb: str, content: Mapping[str, Any], sent: int) -> str:
    """Return why a verb changes nothing; empty: it does. `sent` is how many pieces are on the way."""
    name, state = task.name, task.state
    if task.reason == OLDER and verb in (TaskVerb.RESUME, TaskVerb.START):
        return f"{name}: {OLDER}; only 'jim task cancel {name}' is possible"
    if verb == TaskVerb.REMOVE:
        return _too_early_to_remove(task, sent)
    if state in OVER:
        return f"{name} is {state.value}"
    needed = {
        TaskVerb.START: (TaskState.CONFIGURED, TaskState.READY),
        TaskVerb.TEST: (TaskState.CONFIGURED, TaskState.READY),
        TaskVerb.PAUSE: (TaskState.RUNNING, TaskState.PAUSED),
        TaskVerb.RESUME: (TaskState.PAUSED,),
    }
    if verb in needed and state not in needed[TaskVerb(verb)]:
        return f"{name} is {state.value}"
    if verb == TaskVerb.START and task.tested != task.spec["to_test"] and not content.get("untested"):
        return f"{name} has not been tested as it is now; 'jim task test {name}', or start --untested"
    return ""


def _too_early_to_remove(task: Task, sent: int) -> str:
    if sent:
        return f"{task.name} has {sent:,} pieces on the way; cancel it first"
    if task.state in (TaskState.FINISHED, TaskState.CANCELLED, TaskState.CONFIGURED, TaskState.READY):
        return ""
    return f"{task.name} is {task.state.value}; cancel it first"
