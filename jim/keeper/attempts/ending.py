"""Gives up started attempts that seem dead, so that a wrapper which lives after all ends itself.

First the store records the verdict that the attempt is to get. Then the keeper puts `over.I`, with the nonce of the
claim, into the submission directory. A wrapper that wakes up looks for `over.I` before it touches its claim again. The
attempt gets its verdict only if nothing has touched the claim since the decision. Each step may be repeated after a
restart; no step is ever undone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from jim.errand import Errand
from jim.errors import JimError
from jim.evidence.exit_record import is_forged
from jim.evidence.verdict import Verdict
from jim.jobs import Attempt, Key
from jim.keeper.attempts import arrivals, judging
from jim.keeper.keeper import Keeper
from jim.keeper.missing_directories import is_removed
from jim.model import Kind, Reason, State, Witness
from jim.workdir.claims import put_over, record_text, trace
from jim.workdir.removed import remake, was_remade
from jim.workdir.submission import submission_directory

log = logging.getLogger(__name__)
AT_ONCE = 500
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Last:
    """The result of a last look at an attempt."""

    key: Key
    record: str = ""  # its exit record
    ended: bool = False  # its claim was not touched since it was given up, or its wrapper reports that it is gone
    error: str = ""  # why `over.I` could not be written, or its claim not read


def end(keeper: Keeper) -> None:
    """End attempts that were given up."""
    if not keeper.workers.ready("over"):
        return
    attempts = keeper.store.given_up()[:AT_ONCE]
    if attempts:
        keeper.workers.start(Errand("over", partial(_last_looks, keeper, attempts), partial(_ended, keeper)))
    keeper.workers.wait("over", LOOK_SECONDS)


def _last_looks(keeper: Keeper, attempts: Sequence[Attempt]) -> list[Last]:
    """Write `over.I` for each attempt and look at its traces once more. Runs in a worker."""
    return [_last_look(keeper, each, json.loads(each.over)["touched"]) for each in attempts]


def _last_look(keeper: Keeper, attempt: Attempt, touched: float) -> Last:
    key = attempt.grid, attempt.k, attempt.idx
    directory = submission_directory(keeper.directory(attempt.grid), attempt.k)
    try:
        if is_removed(keeper, directory):
            remake(directory)
        left, removed = trace(directory, attempt.idx), was_remade(directory)
        if left.claim is None and keeper.adapter.shared_work and not removed:
            raise JimError(f"its claim cannot be found in {directory}")
        nonce = left.claim.nonce if left.claim else "-"
        put_over(directory, attempt.idx, nonce, f"attempt {attempt.attempt} was given up")
        left = trace(directory, attempt.idx)
        record = ""
        own = left.exit_record and left.exit_record.attempt == attempt.attempt
        if left.exit_record and own and not is_forged(left.exit_record, arrivals.nonce_of(attempt), left.claim):
            record = record_text(directory, attempt.idx)
    except (OSError, JimError) as error:
        return Last(key, error=str(error))
    # In the place of a removed directory, no claim is left that could be touched.
    return Last(key, record, left.gone or removed or (left.touched == touched and not left.unreadable))


def _ended(keeper: Keeper, looks: Sequence[Last]) -> None:
    with keeper.store.transaction():
        for each in looks:
            attempt = keeper.store.attempt(*each.key)
            if attempt is None or attempt.verdict:
                continue
            if each.error and keeper.workers.pace(("over", each.key)):
                log.warning("%d: submission %d, index %d cannot be given up just now: %s", *each.key, each.error)
            if each.record:
                arrivals.ended(keeper, each.key, each.record)
            elif each.ended:
                judging.record(keeper, each.key, _verdict(json.loads(attempt.over)["verdict"]))


def _verdict(told: dict[str, Any]) -> Verdict:
    # A verdict that an older version stored has words only.
    reason = Reason(Kind(told.get("kind", "")), told.get("facts", {}), told["reason"])
    return Verdict(
        State(told["state"]),
        reason,
        Witness(told["witness"]),
        told["again"],
        told["spent"],
        tuple(told.get("recovery", ())),
    )
