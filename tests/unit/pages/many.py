"""Very large stores, written by a few statements: through the keeper's methods, each would take minutes."""

from __future__ import annotations

from jim.model import State, Step, SubmissionState
from jim.statusdb.store import Store

CREATED = "2026-01-31T11:00:00.000Z"
ENDED, LIVE = State.COMPLETED.value, State.RUNNING.value
NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {} - 1) "
LOCAL_JOBS = (
    "INSERT INTO local_job (grid, n, state, piece, attempt, submission, updated, witness) "
    "SELECT {grid}, n, iif(n % 10, '{ended}', '{live}'), '[' || (250 * n + 1) || ',250]', 1, n / 1000 + 1, "
    "'{created}', 'exit record' FROM numbers"
)
SUBMISSIONS = (
    "INSERT INTO submission (grid, k, mark, size, state, batch_id, updated) SELECT {grid}, n / 1000 + 1, "
    "'mark-{grid}-' || (n / 1000), 1000, '{confirmed}', 'batch-' || (n / 1000), '{created}' FROM numbers "
    "WHERE n % 1000 = 0"
)
ATTEMPTS = (
    "INSERT INTO attempt (grid, k, idx, n, attempt, host, started, verdict, updated) SELECT {grid}, n / 1000 + 1, "
    "n % 1000 + 1, n, 1, 'wn' || (n % 211), '{created}', iif(n % 10, '{ended}', ''), '{created}' FROM numbers"
)
DETAILS = (
    "INSERT INTO detail (grid, n, name, content, updated, attempt) SELECT {grid}, n, 'phase-sim', "
    '\'<phase name="sim" done="\' || (n % 250) || \'" total="250" unit="events"/>\', \'{created}\', 1 FROM numbers'
)
JOURNAL = (
    "INSERT INTO journal (at, grid, n, attempt, was, now, witness) SELECT '{created}', {grid}, n, 1, '{live}', "
    "'{ended}', 'exit record' FROM numbers WHERE n % 10"
)
OVER = (
    "INSERT INTO grid_job (id, key, job_type, owner, step, size, outcome, created, updated, place) "
    "SELECT n + 1, 'key-' || (n + 1), 'type' || (n % 7), 'user' || (n % 5), '{finished}', 0, iif(n % 9, 'completed', "
    "'failed'), '{created}', '{created}', n + 1 FROM numbers"
)


def add_many(store: Store, grid: int, size: int) -> None:
    """Add a grid job of which nine in ten have completed, and the others run."""
    store.add_grid_job(grid, f"key-{grid}", "mc", CREATED, {"job_type": "executable", "key": f"key-{grid}"})
    words = {
        "grid": grid,
        "ended": ENDED,
        "live": LIVE,
        "created": CREATED,
        "confirmed": SubmissionState.CONFIRMED.value,
    }
    with store.transaction():
        for sql in (LOCAL_JOBS, SUBMISSIONS, ATTEMPTS, DETAILS, JOURNAL):
            store.db.execute((NUMBERS + sql.format(**words)).replace("{}", str(size)))  # type: ignore[attr-defined]
        store.set_grid_job(grid, step=Step.ACTIVE, size=size, submissions=-(-size // 1000), place=str(grid), started=1)
    store.derived.make_anew()


def add_local_jobs(store: Store, grid: int, size: int) -> None:
    """Add a grid job of very many local jobs, of whose attempts nothing is known."""
    store.add_grid_job(grid, f"key-{grid}", "mc", CREATED, {"job_type": "executable", "key": f"key-{grid}"})
    sql = NUMBERS.format(size) + LOCAL_JOBS.format(grid=grid, ended=ENDED, live=LIVE, created=CREATED)
    with store.transaction():
        store.db.execute(sql)  # type: ignore[attr-defined]
        store.set_grid_job(grid, step=Step.ACTIVE, size=size, place=str(grid), started=1)
    store.derived.make_anew()


def add_finished(store: Store, count: int) -> None:
    """Add grid jobs that have finished."""
    sql = NUMBERS + OVER.format(finished=Step.FINISHED.value, created=CREATED)
    with store.transaction():
        store.db.execute(sql.replace("{}", str(count)))  # type: ignore[attr-defined]
