"""Asks a job type for what a wrapper reads of a local job, line by line."""

from __future__ import annotations

from collections.abc import Iterable

from jim.errors import BadRequest, JimError, shown
from jim.handlers.base import Attributes, Handler
from jim.model import Job, Piece
from jim.trust.plugins import foreign
from jim.work.sizing import Size


class NotOneLine(JimError):
    """An answer of a job type that no wrapper can read."""


def lines(question: str, answer: Iterable[str]) -> list[str]:
    """Return a handler's answer as a list of texts, of one line each, as wrappers read them; refuse any other."""
    texts = list(answer)
    fit = all(isinstance(each, str) and "\n" not in each and "\0" not in each for each in texts)
    if isinstance(answer, str) or not fit:
        found = answer if isinstance(answer, str) else texts
        raise NotOneLine(f"the job type's {question}: expected texts of one line each, found {shown(found)}")
    return texts


def command(handler: Handler, request: Attributes, attempt: Job, piece: Piece) -> list[str]:
    """Return the program of a local job and its arguments."""
    # a handler places recovery arguments itself
    return lines("command_and_arguments", handler.command_and_arguments(request, attempt, piece))


def payload_settings(handler: Handler, request: Attributes) -> list[tuple[str, str]]:
    """Return the settings for a payload's outputs and environment."""
    return [
        *(("out", pattern) for pattern in lines("outputs", handler.outputs(request))),
        *(("env", each) for each in lines("environment", map("=".join, handler.environment(request).items()))),
    ]


def try_first(handler: Handler, request: Attributes, size: Size) -> None:
    """Refuse a request if no wrapper could read what the job type says of its first local job.

    What else a job type may find wrong with a piece, the keeper hears when it sends that.
    """
    try:
        with foreign(f"job type {request['job_type']}"):
            piece = Piece(1, size.events_per_job) if size.events else next(iter(handler.work(request).pieces), Piece())
            command(handler, request, Job(1, str(request["key"] or ""), 0, 1), piece)
            payload_settings(handler, request)
    except NotOneLine as error:
        raise BadRequest(str(error)) from error
    except (JimError, OSError):
        return
