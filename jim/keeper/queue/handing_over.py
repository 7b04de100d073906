"""Sends a submission, in a worker: prepares its directory, then runs the batch command."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from jim.attempts.seeds import of_test
from jim.errors import BadRequest, JimError, NotStarted, Outdated, Unclear
from jim.evidence.exit_record import JobsFile
from jim.handlers.base import Handler
from jim.jobs import GridJob, LocalJob, Submission
from jim.keeper.keeper import Keeper
from jim.keeper.missing_directories import IsAway, is_removed
from jim.keeper.serial import CHOICE
from jim.model import Batch, Job, Piece, Resources
from jim.request import handler_of
from jim.site.realm import opener_of
from jim.site.settings import Payload
from jim.work.bundles import bundle_of, lanes_of, most_seconds, of_carrier, of_node
from jim.work.commands import command, payload_settings
from jim.workdir import credentials, packages
from jim.workdir.removed import WRAPPER, was_removed
from jim.workdir.submission import (
    Line,
    has_another,
    mark_sent,
    prepare_submission,
    submission_directory,
    tries_sent,
    was_never_made,
)

OF_TEST = re.compile(r"task:[^:]+:test:(\d+):\d+")  # the key of a grid job that tests a task
OF_EACH = (
    "executable",
    "arguments",
    "environment",
    "outputs",
    "name",
    "stdout",
    "stderr",
)  # not of a submission as a whole


def hand_over(
    keeper: Keeper, job: GridJob, submission: Submission, jobs: list[LocalJob], avoid: tuple[str, ...]
) -> str:
    """Prepare the submission directory, run the batch command, and return the batch id. Runs in a worker."""
    site, adapter = keeper.site, keeper.adapter
    handler = handler_of(job.job_type, site.site.handlers)
    directory = submission_directory(keeper.directory(job.id), submission.k)
    keeper.hold.reach()
    require_untried(keeper, job, submission, jobs)
    variables = {"index": adapter.index_variable, "id": adapter.id_variable, "restart": adapter.restart_variable}
    try:
        removed = is_removed(keeper, directory.parent / WRAPPER)
    except IsAway as error:
        raise NotStarted(str(error)) from error
    if removed:
        raise JimError(f"{directory.parent} was removed, and nothing of {job.id} can run without it")
    with suppress(BadRequest):  # it keeps the old credential; the journal says what is wrong with the new one
        credentials.hand_over(directory.parent, job.request, credentials.now(), opener_of(site, job.realm))
    apart = bool(job.splitter) or any(each.own for each in jobs)  # each local job has lines of its own
    lines = [Line(*_line(handler, job, each, apart=apart)) for each in jobs]
    resources = site.complete(handler.resources({**job.request, **jobs[0].own}))
    settings = _settings(keeper, job, submission)
    settings += [] if apart else payload_settings(handler, job.request)
    if submission.carriers:
        resources, more = _carried(keeper, job, submission, resources)
        settings += more
    else:
        settings += _limits(resources)
    script = prepare_submission(directory, variables, settings, lines, submission.carriers, shared=adapter.shared_work)
    options = (*site.batch.options, *(resources.batch_options or ()))
    batch_jobs = submission.carriers or submission.size
    batch = Batch(submission.mark, str(script), str(directory), batch_jobs, resources, options, avoid)
    mark_sent(directory, submission.tries + 1)
    return keeper.channel.submit(batch)


def require_untried(keeper: Keeper, job: GridJob, submission: Submission, jobs: list[LocalJob]) -> None:
    """Raise an error if a batch command may have got a submission. Runs in a worker.

    Until that is known, the stored settings stay: what is sent already is judged by those that it was sent with.
    """
    directory = submission_directory(keeper.directory(job.id), submission.k)
    _refuse_another_s(directory, submission, jobs)
    if tries_sent(directory) > submission.tries:  # more tries than those known to have done nothing
        raise Unclear("JIM was ended before the batch system's answer was recorded")


def look_for_tries(keeper: Keeper, job: GridJob, submission: Submission, jobs: list[LocalJob]) -> None:
    """Raise an error if an earlier keeper may have handed over a submission. Runs in a worker."""
    directory = submission_directory(keeper.directory(job.id), submission.k)
    if was_removed(keeper.site.work, directory) and not was_never_made(directory):
        raise Unclear(f"{directory} is not there, so nobody knows whether JIM had sent it")
    require_untried(keeper, job, submission, jobs)


def _refuse_another_s(directory: Path, submission: Submission, jobs: list[LocalJob]) -> None:
    """Stop if the directory belongs to a submission that the store has forgotten: its jobs may run."""
    own = JobsFile(submission.mark, {idx: (each.n, each.attempt) for idx, each in enumerate(jobs, 1)})
    if has_another(directory, own):
        raise Outdated(f"{directory} holds a submission that status.db does not know, as after a restore. {CHOICE}")


def _line(
    handler: Handler, job: GridJob, local: LocalJob, *, apart: bool
) -> tuple[Job, list[str], list[tuple[str, str]]]:
    piece, own = local.piece, local.own
    attempt = Job(job.id, job.key, local.n, local.attempt, local.recovery, _of_task(job, piece))
    if piece.arguments and "arguments" in own:  # of this local job, not those that all have
        piece = piece._replace(arguments=tuple(own.pop("arguments")))
    request = {**job.request, **own} if own else job.request
    return attempt, command(handler, request, attempt, piece), payload_settings(handler, request) if apart else []


def _of_task(job: GridJob, piece: Piece) -> tuple[str, int, int] | None:
    """Return what the seed of a task's local job depends on; None: the grid job is no task's."""
    if not job.is_of_task:
        return None
    variables = piece.variables
    number, test = int(variables["Piece"]), OF_TEST.fullmatch(job.key)
    if test:
        number = of_test(int(test[1]), number)
    return str(job.request["task"]["nonce"]), number, int(variables.get("AttemptsBefore", 0))


def _settings(keeper: Keeper, job: GridJob, submission: Submission) -> list[tuple[str, str]]:
    site = keeper.site
    return [
        ("mark", submission.mark),
        ("spool", "../../spool"),
        ("touch", str(site.batch.touch_seconds)),
        ("limit", str(site.limits.output_bytes)),
        *_surroundings(site.payload),
        *(("in", Path(each).name) for each in job.request.get("inputs") or ()),
        *([("stdin", packages.STDIN)] if job.request.get("stdin") else []),
        *([("directory", job.request["directory"])] if job.request.get("directory") else []),
    ]


def _limits(resources: Resources) -> list[tuple[str, str]]:
    """Return the time limit, if a wrapper is to warn of it."""
    wall, warn = resources.wall_seconds, resources.warn_seconds
    return [("wall", str(wall)), ("warn", str(warn))] if wall and warn and warn < wall else []


def _carried(
    keeper: Keeper, job: GridJob, submission: Submission, each: Resources
) -> tuple[Resources, list[tuple[str, str]]]:
    """Return what a carrier asks for, and what it has to know: who else there is, and when its time is over."""
    share = -(-submission.size // submission.carriers)
    bundle = bundle_of(job.request)
    lanes = lanes_of(bundle, share, each, keeper.site) if bundle else 1
    whole = of_carrier(each, share, lanes, most_seconds(job.request, keeper.site))
    facts = [("carriers", str(submission.carriers)), ("lanes", str(lanes))]
    if bundle and bundle.whole_node:
        whole = of_node(whole, keeper.site)
        facts += [("each_cores", str(each.cores)), ("each_mb", str(each.memory_mb))]
    if each.wall_seconds:
        warn = each.warn_seconds if each.warn_seconds and each.warn_seconds < each.wall_seconds else 0
        facts += [("wall", str(each.wall_seconds)), ("warn", str(warn)), ("carrier_wall", str(whole.wall_seconds))]
    return whole, facts


def _surroundings(payload: Payload) -> list[tuple[str, str]]:
    """Return the settings for a payload's surroundings on the worker node."""
    container = [("container", each) for each in payload.container] if payload.image else []
    one = {"scratch": payload.scratch, "setup": payload.setup, "image": payload.image}
    return [
        *(("keep", pattern) for pattern in payload.environment),
        *container,
        *((word, value) for word, value in one.items() if value),
    ]
