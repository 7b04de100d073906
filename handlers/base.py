"""The contract of a handler: questions that a job type answers.

JIM calls a handler in this order, which a handler never repeats:

    check ─> work, for its size ─> prepare_work_area (once per grid job) ─> split into pieces
      ─> per submission resources, environment, outputs; per attempt command_and_arguments
      ─> collect (beside the tar, each time that it is made)

A door asks what it needs to refuse and to size a request. The keeper asks the rest and, for the split, `work` again.
After a crash it asks again, so an answer must stay the same.

A job type is a module of this folder (or any dotted name that a site installs) with a class `HANDLER`. Most override
`attributes`, `command_and_arguments`, and a number or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jim.model import BATCH_NAME, Job, Piece, Resources

Attributes = Mapping[str, Any]  # a checked request: every value has the declared type


class Attribute(NamedTuple):
    """One attribute of a request: its kind, its possible values, and a line of help."""

    # int, float, str, bool, "list" (of str), "lists" (of lists of str), "table" (of str),
    # "records" (a list of names, or of tables of any values) or "values" (a table of any values)
    kind: type | str
    help: str
    default: Any = None
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    pattern: str = ""  # pattern that a whole text must match
    allowed: tuple[str, ...] = ()  # the only possible values of a text, if there is a list; words beside numbers
    names: str = ""  # for a text that the site's catalogue knows: "request id" or "dataset"
    also: tuple[str, ...] = ()  # further names in JDF, JDL and RSL


# Possible names of a program: an absolute path, or a name without slash that does not look like an option. A file that
# is sent along may have ./ before its name.
PROGRAM = r"/.*\S|(\./)?[^-/\s][^/]*"

# What the patterns of attributes say: people who are refused need not read regular expressions.
ORIGIN = r"[1-9]\d{0,14}(\.(0|[1-9]\d{0,7}))?"
IN_WORDS = {
    PROGRAM: "a path must begin with / or be the name of a file, perhaps with ./ before it",
    BATCH_NAME: "it may have letters, digits and _ . @ : -, and begins with a letter or a digit",
    r".*\S.*": "it must not be blank",
    r"(?=.{1,200}$).*\S.*": "it must not be blank, and has at most 200 characters",
    r"\S+": "it may have no spaces",
    r"[!-#&-~]+": "it may have no odd characters, and variables only if a splitter replaces them",
    r"\w\S*": "it may have no spaces, and begins with a letter, a digit or _",
    r"(?=.{1,200}$)[^/]*[^/.\s][^/]*": "it is the name of a file, without a directory, of at most 200 characters",
    r"/.*": "it must begin with /",
    r"/.*\S.*": "it must begin with /",
    r"[A-Za-z][\w.]*": "it may have letters, digits, _ and dots, and begins with a letter",
    ORIGIN: "it is the number of a grid job, such as 12, or the name of a local job, such as 12.3",
}

WHOLE_NODE = "node"  # in place of a number: each carrier has a node alone

# Attributes of every request.
COMMON = {
    "job_type": Attribute(str, "kind of work; `jim types` lists the job types", required=True),
    "key": Attribute(
        str, "the gatekeeper's own id of this request; the same key means the same grid job", pattern=r".*\S.*"
    ),
    "name": Attribute(
        str, "a name for people, not unique; local jobs may have their own", pattern=r"(?=.{1,200}$).*\S.*"
    ),
    "queue": Attribute(str, "the batch system's queue or partition", pattern=BATCH_NAME),
    "account": Attribute(str, "the batch system's account or project, which is charged", pattern=BATCH_NAME),
    "wall_seconds": Attribute(int, "time limit of one local job", minimum=1, maximum=10**8),
    "warn_seconds": Attribute(
        int,
        "seconds before the time limit at which the payload gets the signal TERM, to leave what the next attempt needs",
        minimum=1,
        maximum=10**8,
    ),
    "memory_mb": Attribute(int, "memory of one local job", minimum=1, maximum=10**8),
    "cores": Attribute(int, "processor cores of one local job", minimum=1, maximum=10**6),
    "disk_mb": Attribute(int, "scratch disk of one local job", minimum=1, maximum=10**9),
    "gpus": Attribute(int, "GPUs of one local job", minimum=1, maximum=10**5),
    "constraint": Attribute(
        str,
        "what a node must have, in names that the site gives: NAME or NAME=VALUE, several with commas",
        pattern=r"[!-#&-~]+",
    ),
    "licences": Attribute(
        str, "licences that one local job needs: NAME or NAME:COUNT, several with commas", pattern=r"[!-#&-~]+"
    ),
    "bundle": Attribute(
        int,
        "local jobs that one batch job runs, one after another; without it, each is a batch job",
        minimum=1,
        maximum=10_000,
    ),
    "bundle_seconds": Attribute(
        int,
        "time limit of a batch job of a bundle, at least that of one local job; without it, that of all in turn",
        minimum=1,
        maximum=10**8,
    ),
    "at_once": Attribute(
        int,
        "how many local jobs of a bundle run at the same time, each with its cores and memory; node: all that fit",
        minimum=1,
        maximum=1000,
        allowed=(WHOLE_NODE,),
    ),
    "batch_options": Attribute("list", "further words of the submit command, which the site must allow"),
    "environment": Attribute("table", "environment variables of the payload", default={}),
    "inputs": Attribute(
        "list", "files and directories to send along, by path; the payload finds them in its directory"
    ),
    "proxy": Attribute(
        str, "X.509 proxy of the payload: absolute path of a file, read again when it is renewed", pattern=r"/.*\S.*"
    ),
    "token": Attribute(
        str, "bearer token of the payload: absolute path of a file, read again when it is renewed", pattern=r"/.*\S.*"
    ),
    "test": Attribute(
        str,
        "yes: submit only one small local job as a test; its results are kept for a day",
        "no",
        allowed=("yes", "no"),
    ),
    "outputs": Attribute("list", "files to bring back: names or patterns, in the payload's directory"),
    "tar": Attribute(
        str,
        "summary: the tar has no outputs of completed local jobs; full: it has, as without this attribute",
        allowed=("full", "summary"),
    ),
    "retry": Attribute(
        "records",
        "rules for further attempts of a local job: when they fit, and what is different then",
        default=[],
    ),
    "came_from": Attribute(
        str,
        "the grid job or local job whose work it does, as `jim recover` and `jim copy` write it",
        pattern=ORIGIN,
    ),
    "keep_going": Attribute(
        bool, "true: go on submitting local jobs after the batch system has refused some of them", default=False
    ),
}

# Further attributes of a request for a number of events.
BY_EVENTS = {
    "events": Attribute(int, "events in all", required=True, minimum=1),
    "events_per_job": Attribute(int, "events per local job, instead of JIM's own sizing", minimum=1),
    "balanced": Attribute(
        bool, "true: local jobs of about equal sizes, instead of a last one with the remainder", default=False
    ),
    "cpu_seconds_per_event": Attribute(float, "CPU time of one event, in seconds", minimum=1e-9, maximum=10**8),
}

# The same if the number of events may come from the site's catalogue.
BY_REQUEST = {
    **BY_EVENTS,
    "events": BY_EVENTS["events"]._replace(
        required=False, help="events in all; default: the number that the catalogue has for the request id"
    ),
    "request_id": Attribute(
        str, "id under which the site's catalogue has the number of events", pattern=r"\S+", names="request id"
    ),
}

# Further attributes of a request that a splitter can split.
SPLITTING = {
    "splitter": Attribute(
        str,
        "splitter that cuts the work into local jobs (`jim splitters` lists them); or how many local jobs to make",
        pattern=r"[A-Za-z][\w.]*",
    ),
    "splitter_parameters": Attribute("values", "parameters of the splitter", default={}),
    "input_files": Attribute(
        "records", "files to split: for each its name, or a table; lfn is its name there", default=[]
    ),
    "dataset": Attribute(
        str,
        "dataset of the site's catalogue with the files to split; instead of input_files",
        pattern=r"\S+",
        names="dataset",
    ),
    "recovery": Attribute("values", "recovery documents, as `jim recover` writes them", default={}),
}


# Attributes of the whole grid job. If a splitter splits the request, local jobs may differ in all others.
AS_A_WHOLE = frozenset(
    {
        "job_type",
        "key",
        "test",
        "retry",
        "keep_going",
        "bundle",
        "bundle_seconds",
        "at_once",
        "came_from",
        "tar",
        "inputs",
        "proxy",
        "token",
        "stdin",
        "directory",
        *SPLITTING,
    }
)


def has_variable(value: Any) -> bool:
    """Tell whether a value is a text with a variable, which a splitter replaces for each local job."""
    return isinstance(value, str) and ("$" in value or "%" in value)  # %s: in DIRAC's own dialect


class Work(NamedTuple):
    """The work of a request: a number of events to split, or finished pieces."""

    events: int = 0
    pieces: Sequence[Piece] = ()


class Result(NamedTuple):
    """The verified outputs of one completed local job, for `collect`."""

    n: int
    directory: Path
    files: tuple[str, ...]


class Handler:
    """A job type. Every question has an answer here that suits most types."""

    attributes: Mapping[str, Attribute] = {}
    cpu_seconds_per_event: float | None = None  # of this job type, if the request does not say
    # Rule of thumb, if the request does not say it and CPU time per event and site limits are unknown.
    events_per_job: int = 250
    # Decides about failed attempts: dotted name of a function like those in jim/evidence/analysis.py.
    analyser: str = ""
    # Rules for further attempts, as a request may have them in `retry`; those of the request go before.
    retry: Sequence[Mapping[str, Any]] = ()
    phases: tuple[str, ...] = ()  # phases that the payload publishes, in order
    # Grammars of published elements by namespace: RELAX NG files beside the module.
    published: Mapping[str, str] = {}

    def check(self, request: Attributes) -> None:
        """Raise `BadRequest` for rules that the declarations cannot express."""

    def work(self, request: Attributes) -> Work:
        """Return the work; by default the events of the request, otherwise one piece."""
        if "events" in self.attributes:
            return Work(events=request["events"])
        return Work(pieces=(Piece(),))

    def prepare_work_area(self, request: Attributes, area: Path) -> None:
        """Write into `area` the files that every local job needs; it is sent once per grid job."""

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Return the command of one local job: the program and its arguments.

        JIM adds nothing. If payloads leave arguments for the next attempt, the job type puts them in their place: they
        are in `job.recovery`, which is empty in a first attempt.
        """
        raise NotImplementedError(f"{type(self).__module__} does not define a command")

    def most_events_per_job(self, request: Attributes) -> int | None:
        """Return the maximum number of events of a local job, whatever their CPU time; by default there is none."""
        return None

    def resources(self, request: Attributes) -> Resources:
        """Return the resources that one local job needs."""
        return Resources(**{name: request.get(name) for name in Resources._fields})

    def environment(self, request: Attributes) -> Mapping[str, str]:
        """Return the environment variables of the payload."""
        environment: Mapping[str, str] = request["environment"]
        return environment

    def outputs(self, request: Attributes) -> Iterable[str]:
        """Return the files to bring back, besides stdout and stderr."""
        return request.get("outputs") or ()

    def stem(self, request: Attributes, name: str) -> str:
        """Return the stem that an output gets in the tar, where JIM adds the number of the local job; empty: none.

        So hist.root of local job 17 becomes hist_STEM_0017.root: names are unique if the tar is flattened.
        """
        return ""

    def collect(self, request: Attributes, results: Iterator[Result], beside: Path) -> str:
        """Make a result of all outputs, in the directory of the tar; return a line to show."""
        return ""

    def publish(self, key: str, element: str) -> None:
        """Publish an XML element about the grid job itself, from `collect`; the last one of a key counts."""
        self.__dict__.setdefault("to_publish", {})[key] = element


def published_by(handler: Handler) -> Mapping[str, str]:
    """Return what a job type has published in `collect`, by key."""
    found: dict[str, str] = handler.__dict__.get("to_publish", {})
    return found
