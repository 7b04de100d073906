"""jim status: a list of grid jobs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence

from jim.cli.every_account import documents_of_all_accounts, of_all_accounts
from jim.cli.table import table
from jim.cli.text import plain, say, say_json, with_local_times
from jim.errors import BadRequest, nearest
from jim.jobs import GridJob
from jim.model import Step, without_command
from jim.reading import before
from jim.reading.filters import Filters, add_filters, from_arguments, read
from jim.reading.job.names import age, names_of, took
from jim.reading.lists import GRID_JOBS, Page, grid_jobs, records
from jim.reading.quantities import ago
from jim.reading.throttle import Throttle
from jim.reading.view import View, add_json, look
from jim.site import file as site_file
from jim.site.drain import in_words
from jim.statusdb.task_rows import Task

FINISHED_SHOWN, MOST_TYPES = 20, 100
FILTERS = tuple(GRID_JOBS)
ALL_ACCOUNTS = "this is about root alone: `jim status --all` lists the grid jobs of every account"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim status`."""
    help_ = (
        f"a grid job, or any of its local jobs; default: all unfinished ones, and the last {FINISHED_SHOWN} "
        "finished ones"
    )
    parser.add_argument("ids", metavar="G", nargs="*", help=help_)
    parser.add_argument("--all", action="store_true", help="as root of a site of several accounts: of each")
    parser.add_argument("--waves", action="store_true", help="also the grid jobs of tasks, one by one")
    parser.add_argument("--live", action="store_true", help="one screen, painted again and again: q quits, s sorts")
    add_filters(parser, GRID_JOBS, *FILTERS)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each grid job."""
    asked = from_arguments(GRID_JOBS, arguments, *FILTERS)
    if arguments.live or arguments.all:
        return _live(arguments, asked) if arguments.live else _of_all_accounts(arguments)
    view = look()
    if arguments.ids and asked.given:
        raise BadRequest("status takes either grid jobs or filters")
    every = not (asked.given or arguments.ids)
    folded = view.store.tasks.all() if every and not (arguments.waves or arguments.json) else []
    page = grid_jobs(view, asked, names=True) if asked.given else _last_finished(view, folded) if every else None
    jobs = page.rows[::-1] if page else _named(view, arguments.ids)  # the newest stands beside the prompt
    jobs = _with_unfinished(view, jobs, folded) if every else jobs
    if arguments.json:
        say_json(records(view, jobs, names_of(view, jobs)))
        return 0
    if jobs:
        names = {grid: plain(name) for grid, name in names_of(view, jobs).items()}
        named, throttle = any(names.values()), Throttle(view)
        head = ("id", *(["name"] if named else []), "type", "status", "local jobs", "age", "took", "reason")
        rows = (_row(view, job, throttle, [names.get(job.id, "")] if named else []) for job in jobs)
        table(head, rows, ("took", "age", "type"))
    elif not folded:
        hint = "" if _is_root_of_all(view) else f"; {before.first_step(view.site, '`jim submit FILE` submits one')}"
        say(_no_match(view, asked) if asked.given else f"no grid jobs yet in {view.site.state}{hint}")
    if folded:
        _say_tasks(view, folded, after=bool(jobs))
    _warn(view, jobs, folded)
    if page and page.after:
        what = "finished grid jobs" if every else "grid jobs"
        say(f"\n{len(page.rows)} of {page.shown_of} {what}; --after {page.after} shows the older ones")
    return 0


def _live(arguments: argparse.Namespace, filters: Filters) -> int:
    """Show all of it on one screen."""
    if arguments.ids or filters.given or arguments.all or arguments.json or arguments.waves:
        raise BadRequest("--live shows all of one account: it takes no grid jobs, and no other option than --account")
    site = site_file.load()
    if site.managed and os.geteuid() == 0:
        raise BadRequest("root has no grid jobs here: say `jim status --live --account NAME`, or `jim status --all`")
    from jim.cli import live  # a list needs no terminal

    return live.run()


def _no_match(view: View, asked: Filters) -> str:
    """Say that no grid job fits, and which job type no grid job has: it may be a typing error."""
    types, _ = view.store.seen.choices(MOST_TYPES)
    odd = next((each for each in asked.of("type") if each not in types), "")
    return f"no grid job fits: there is none of type {odd!r}{nearest(odd, types)}" if odd else "no grid job fits"


def _say_tasks(view: View, tasks: Sequence[Task], *, after: bool) -> None:
    """Print a line for each task instead of its grid jobs."""
    from jim.cli.tasks.looking import HEAD, SPARE, row  # most sites have none
    from jim.reading.tasks.task import seen

    if after:
        say()
    table(HEAD, map(row, seen(view, tasks)), SPARE)


def _named(view: View, ids: list[str]) -> list[GridJob]:
    return [view.grid_job(number) for number in dict.fromkeys(map(view.herd, ids))]


def _last_finished(view: View, folded: Sequence[Task]) -> Page[GridJob]:
    """Return the last finished grid jobs; the many of tasks, which have lines of their own, push no other out."""
    asked = read(GRID_JOBS, [("step", Step.FINISHED.value), ("limit", str(FINISHED_SHOWN))])
    return grid_jobs(view, asked, names=True, folded=bool(folded))


def _with_unfinished(view: View, finished: Sequence[GridJob], folded: Sequence[Task]) -> list[GridJob]:
    unfinished = [job for job in view.unfinished() if not (folded and job.is_of_task)]
    jobs = {job.id: job for job in [*unfinished, *finished]}
    return [jobs[number] for number in sorted(jobs)]


def _of_all_accounts(arguments: argparse.Namespace) -> int:
    """Print the grid jobs of each account."""
    if arguments.ids:
        raise BadRequest("--all takes no grid jobs: say `jim status --account NAME G`")
    if arguments.json:
        records, code = documents_of_all_accounts(lambda found: [dict(each) for each in found], "status", "--json")
        say_json([{**record, "account": name} for name, mine in records.items() for record in mine])
        return code
    answers, code = of_all_accounts("status")
    for name, answer in answers.items():
        mine = answer.replace(f"\n{ALL_ACCOUNTS}\n", "")
        say(f"== {name}\n{mine}")
    return code


def _row(view: View, job: GridJob, throttle: Throttle, name: Sequence[str]) -> tuple[object, ...]:
    delay = "" if job.step is Step.FINISHED else throttle.delays(job)
    why = "; ".join(filter(None, (without_command(view.why(job)), delay)))
    times = age(view, job), took(job)
    return job.id, *name, job.job_type, view.status(job), view.progress(job), *times, why


def _is_root_of_all(view: View) -> bool:
    """Tell whether this is root on a site of several accounts, where root has no grid jobs."""
    return view.site.managed and os.geteuid() == 0


def _delays(view: View) -> Iterator[str]:
    """Yield what delays all grid jobs."""
    for _, words in view.shortages():
        yield words
    if words := view.unwritten():
        yield f"JIM cannot write what its submissions need: {plain(words)}"
    if words := view.published.trouble.words:
        yield f"the batch system does not answer: {plain(words)}"


def _warn(view: View, jobs: Sequence[GridJob], tasks: Sequence[Task]) -> None:
    """Print how old and how complete the list is, what delays all of it, and whether the site is drained."""
    ages = [view.age(max(view.seen(), job.updated)) for job in jobs if job.step is not Step.FINISHED]
    if ages:
        say(f"\nseen {ago(max(ages))}")
        heart = view.heart()
        if not heart.at_work:
            say(heart.missing())
        else:
            for words in _delays(view):
                say(words)
    elif missing := view.without_keeper(tasks):
        say(f"\n{missing}")
    if _is_root_of_all(view):
        say(f"\n{ALL_ACCOUNTS}")
    if drained := in_words(view.site):
        say(f"\n{with_local_times(drained)}")
    if (own := before.own_before(view.site)) and (words := before.told(own, always=not jobs)):
        say(f"\n{words}")
