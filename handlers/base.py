"""The contract of a handler: the small questions that a job type answers.

The order of things is JIM's and stands in `run_grid_job.py`; a handler never repeats it:

    check ─> work, for its size ─> prepare_work_area (once per grid job) ─> split into pieces
          ─> per submission resources, environment, outputs; per attempt command_and_arguments
          ─> collect (beside the tar, each time that is made)

A door asks what it needs to refuse and to size. The keeper asks for the rest and, to split, for `work` again; after a
crash it asks anew, so an answer must stay the same.

A job type is a module of this folder (or any dotted name a site installs) with a class `HANDLER`.
Most override `attributes`, `command_and_arguments`, and a number or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jim.model import BATCH_NAME, Job, Piece, Resources

Attributes = Mapping[str, Any]  # a checked request: every value has the declared type


class Attribute(NamedTuple):
    """One attribute of a request: what it may be, and a line of help."""

    # int, float, str, bool, "list" (of str), "lists" (of lists of str), "table" (of str),
    # "records" (a list of tables of any values) or "values" (a table of any values)
    kind: type | str
    help: str
    default: Any = None
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    pattern: str = ""  # what a str must match as a whole
    allowed: tuple[str, ...] = ()  # the only values of a str, where it must be one of these
    names: str = ""  # what a str names in the site's catalogue: "request id" or "dataset"
    also: tuple[str, ...] = ()  # further names of it in JDF and RSL


# What a program may be called: an absolute path, or a name without slash that does not look like an option.
PROGRAM = r"/.*\S|[^-/\s][^/]*"

# What every request may say.
COMMON = {
    "job_type": Attribute(str, "kind of work; `jim types` lists the job types", required=True),
    "key": Attribute(
        str, "the gatekeeper's own id of this request; the same key is the same grid job", pattern=r".*\S.*"
    ),
    "queue": Attribute(str, "the batch system's queue or partition", pattern=BATCH_NAME),
    "account": Attribute(str, "the batch system's account or project, which is charged", pattern=BATCH_NAME),
    "wall_seconds": Attribute(int, "time limit of one local job", minimum=1, maximum=10**8),
    "memory_mb": Attribute(int, "memory of one local job", minimum=1, maximum=10**8),
    "cores": Attribute(int, "processor cores of one local job", minimum=1, maximum=10**6),
    "disk_mb": Attribute(int, "scratch disk of one local job", minimum=1, maximum=10**9),
    "environment": Attribute("table", "environment variables of the payload", default={}),
    "inputs": Attribute(
        "list", "files and directories to send along, by their paths; the payload finds them in its directory"
    ),
    "proxy": Attribute(
        str, "X.509 proxy of the payload: absolute path of a file, read again when it is renewed", pattern=r"/.*\S.*"
    ),
    "token": Attribute(
        str, "bearer token of the payload: absolute path of a file, read again when it is renewed", pattern=r"/.*\S.*"
    ),
    "test": Attribute(
        str,
        "yes: submit only one small local job, as a test; its results are kept for a day",
        "no",
        allowed=("yes", "no"),
    ),
    "outputs": Attribute("list", "files to bring back: names or patterns, in the payload's directory"),
    "keep_going": Attribute(
        bool, "go on submitting local jobs after the batch system has refused some of them", default=False
    ),
}

# What a request for a number of events may say besides.
BY_EVENTS = {
    "events": Attribute(int, "events in all", required=True, minimum=1),
    "events_per_job": Attribute(int, "events per local job, instead of JIM's own sizing", minimum=1),
    "balanced": Attribute(
        bool, "local jobs of about equal sizes, instead of a last one with the remainder", default=False
    ),
    "cpu_seconds_per_event": Attribute(float, "CPU time of one event, in seconds", minimum=1e-9, maximum=10**8),
}

# The same where the number of events may be left to the site's catalogue.
BY_REQUEST = {
    **BY_EVENTS,
    "events": BY_EVENTS["events"]._replace(
        required=False, help="events in all; default: the number that the catalogue has for the request id"
    ),
    "request_id": Attribute(
        str, "id under which the site's catalogue has the number of events", pattern=r"\S+", names="request id"
    ),
}

# What a request may say besides where it can be split by a splitter.
SPLITTING = {
    "splitter": Attribute(
        str, "splitter that cuts the work into local jobs; `jim splitters` lists them", pattern=r"[A-Za-z][\w.]*"
    ),
    "splitter_parameters": Attribute("values", "parameters of the splitter", default={}),
    "input_files": Attribute("records", "files to split: a table for each input file; lfn is its name", default=[]),
    "dataset": Attribute(
        str,
        "dataset of the site's catalogue whose files are to be split; instead of input_files",
        pattern=r"\S+",
        names="dataset",
    ),
    "recovery": Attribute("values", "recovery documents, as `jim recover` writes them", default={}),
}


# What a grid job has as a whole. Everything else may be of a local job's own where a splitter splits the request.
AS_A_WHOLE = frozenset({"job_type", "key", "test", "keep_going", "inputs", "proxy", "token", *SPLITTING})


def has_variable(value: Any) -> bool:
    """Tell whether a value is a text in which a splitter may put something, for each local job."""
    return isinstance(value, str) and ("$" in value or "%" in value)  # %s: in DIRAC's own dialect


class Work(NamedTuple):
    """What there is to do: a number of events to cut, or pieces already cut."""

    events: int = 0
    pieces: Sequence[Piece] = ()


class Result(NamedTuple):
    """One completed local job's verified outputs, as `collect` sees them."""

    n: int
    directory: Path
    files: tuple[str, ...]


class Handler:
    """A job type. Every question has an answer here that suits most types."""

    attributes: Mapping[str, Attribute] = {}
    cpu_seconds_per_event: float | None = None  # of this type, where the request does not say
    events_per_job: int = 250  # rule of thumb, unless the request says it, or CPU per event and the site's limits do
    analyser: str = ""  # what decides on failed attempts: dotted name of a function, as in jim/evidence/analysis.py
    phases: tuple[str, ...] = ()  # what the payload publishes, in order

    def check(self, request: Attributes) -> None:
        """Raise `BadRequest` for what the declarations cannot express."""

    def work(self, request: Attributes) -> Work:
        """Say what there is to do; by default the events the request asks for, else one piece."""
        if "events" in self.attributes:
            return Work(events=request["events"])
        return Work(pieces=(Piece(),))

    def prepare_work_area(self, request: Attributes, area: Path) -> None:
        """Put into `area` what every local job needs; it is sent once per grid job."""

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Say what one local job runs: the program and its arguments.

        Nothing is added to it. A job type whose payload leaves arguments for its next attempt puts them where
        they belong: they are in `job.recovery`, which is empty in a first attempt.
        """
        raise NotImplementedError(f"{type(self).__module__} does not say what to run")

    def most_events_per_job(self, request: Attributes) -> int | None:
        """Say how many events a local job may have at most, whatever they take; by default any number."""
        return None

    def resources(self, request: Attributes) -> Resources:
        """Say what one local job needs of the batch system."""
        return Resources(**{name: request.get(name) for name in Resources._fields})

    def environment(self, request: Attributes) -> Mapping[str, str]:
        """Say which environment variables the payload gets."""
        environment: Mapping[str, str] = request["environment"]
        return environment

    def outputs(self, request: Attributes) -> Iterable[str]:
        """Say which files to bring back, beside stdout and stderr."""
        return request.get("outputs") or ()

    def collect(self, request: Attributes, results: Iterator[Result], beside: Path) -> str:
        """Make something of all outputs, in the directory of the tar; return a line to show."""
        return ""
