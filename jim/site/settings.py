"""Declares all settings of a site, in one place: kind, default, meaning and possible values."""

# Annotations are evaluated in this module: the annotations of the sections are the declarations.
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from jim.model import BATCH_NAME
from jim.site import rules
from jim.site.rules import NONE, Setting

HEADER = r"[A-Za-z][A-Za-z0-9-]{0,63}"
ADDRESS = r"((https?://[\w.:-]+)?/([\w./~-]|\{account\})*)?"


class General(NamedTuple):
    """Section [site]: names and places."""

    name: Annotated[str, Setting("name of the site, as shown to people and brokers", words=r"[\w. -]{1,64}")] = "here"
    work: Annotated[
        str,
        Setting(
            "work directory, which the worker nodes must see; empty: inside the state directory",
            wrong=rules.wrong_place,
        ),
    ] = ""
    handlers: Annotated[
        str,
        Setting(
            "directory of the site's own job types and adapters; its file mysite/pi.py has the name mysite.pi",
            wrong=rules.wrong_directory,
        ),
    ] = ""
    catalogue: Annotated[
        str, Setting("catalogue of request ids and datasets: a directory or an SQLite file", wrong=rules.wrong_file)
    ] = ""
    models: Annotated[str, Setting("directory of the site's own models of tasks", wrong=rules.wrong_directory)] = ""
    locations: Annotated[
        tuple[str, ...],
        Setting(
            "storages and sites whose input files can be read here; local jobs of other files fail; empty: any",
            wrong=rules.wrong_locations,
        ),
    ] = ()
    inputs_below: Annotated[
        tuple[str, ...],
        Setting("directories in which a gatekeeper's users may name files and outputs", wrong=rules.wrong_directories),
    ] = ()
    steps: Annotated[
        tuple[str, ...],
        Setting(
            "the site's own functions, called in turn with each request: dotted names; 'split': where it is split",
            wrong=rules.wrong_steps,
        ),
    ] = ()
    gram_events: Annotated[
        str,
        Setting(
            "directory from which job managers of GRAM read events, for one account only; empty: they poll",
            wrong=rules.wrong_place,
        ),
    ] = ""
    strict_status: Annotated[
        bool, Setting("true: a grid job with killed and no failed local jobs counts as killed, even if some completed")
    ] = False
    json_log: Annotated[bool, Setting("true: each line of keeper.log is a JSON object")] = False


class Batch(NamedTuple):
    """Section [batch]: the batch system, and how often JIM queries it."""

    system: Annotated[
        str,
        Setting(
            "the adapter: one that docs/adapters.md lists, or the dotted name of the site's own",
            words=r"[a-z]\w*(\.\w+)*",
        ),
    ] = "local"
    slots: Annotated[
        int, Setting("batch system local only: number of jobs that run at once; 0: one per processor", 0, 10_000)
    ] = 0
    query_seconds: Annotated[float, Setting("seconds between two queue queries, each about all jobs", 0.1, 3600)] = 2.0
    visible_seconds: Annotated[
        float, Setting("longest time in seconds until JIM sees a worker node's file or an accepted job", 0, 3600)
    ] = 2.0
    command_seconds: Annotated[float, Setting("time limit of one batch command, in seconds", 1, 3600)] = 60.0
    touch_seconds: Annotated[int, Setting("seconds between two touches of a running job's claim", 1, 3600)] = 60
    queue: Annotated[str, Setting("default queue, for requests that name none", words=rf"({BATCH_NAME})?")] = ""
    queues: Annotated[
        tuple[str, ...], Setting("queues that a request may name; empty: any", wrong=rules.wrong_names)
    ] = ()
    account: Annotated[str, Setting("default account, for requests that name none", words=rf"({BATCH_NAME})?")] = ""
    accounts: Annotated[
        tuple[str, ...], Setting("accounts that a request may name; empty: any", wrong=rules.wrong_names)
    ] = ()
    wall_seconds: Annotated[
        int,
        Setting(
            f'default time limit of a local job, in seconds; "{NONE}": that of the batch system',
            1,
            10**8,
            may_be_none=True,
        ),
    ] = 86_400
    most_wall_seconds: Annotated[
        int, Setting("longest time limit that a request may ask for, in seconds", 1, 10**8)
    ] = 10**8
    warn_seconds: Annotated[
        int, Setting("seconds before the time limit at which a payload gets SIGTERM; 0: none", 0, 10**8)
    ] = 0
    most_memory_mb: Annotated[int, Setting("most memory that a request may ask for, in MB", 1, 10**8)] = 10**8
    most_cores: Annotated[int, Setting("most cores that a request may ask for", 1, 10**6)] = 10**6
    options: Annotated[tuple[str, ...], Setting("extra words of the submit command", wrong=rules.wrong_list)] = ()
    allowed_options: Annotated[
        tuple[str, ...], Setting("words that requests may add to it; * stands for any letters", wrong=rules.wrong_list)
    ] = ()
    history: Annotated[
        str,
        Setting(
            "source for how jobs ended, see docs/adapters.md; empty: the batch system's default", words=r"([a-z]\w*)?"
        ),
    ] = ""
    commands: Annotated[
        Mapping[str, list[str]],
        Setting("the first words of batch commands that differ at this site", wrong=rules.wrong_commands),
    ] = {}

    @property
    def silent_seconds(self) -> int:
        """Return the seconds without a touch until a claim's holder counts as dead, if its batch job has ended."""
        return 3 * self.touch_seconds


class Payload(NamedTuple):
    """Section [payload]: what payloads find on the worker node."""

    environment: Annotated[
        tuple[str, ...],
        Setting(
            "variables of the batch job that a payload sees: names, * for any letters; empty: all",
            wrong=rules.wrong_variables,
        ),
    ] = ()
    scratch: Annotated[
        str,
        Setting(
            "directory on the worker node's own disk in which payloads work, or its $VARIABLE; empty: none",
            words=r"(/.*|\$[A-Z_][A-Z0-9_]*)?",
        ),
    ] = ""
    tools: Annotated[
        str,
        Setting(
            "directory that JIM sends with every grid job and adds to the payload's PATH", wrong=rules.wrong_directory
        ),
    ] = ""
    setup: Annotated[
        str, Setting("file on the worker nodes that a shell sources before each payload", words=r"(/.*)?")
    ] = ""
    image: Annotated[
        str, Setting("container image in which payloads run; empty: none", words=r"(/.+|[a-z]+://.+)?")
    ] = ""
    container: Annotated[
        tuple[str, ...],
        Setting("first words of the command that runs a program in the image", wrong=rules.wrong_command),
    ] = ("apptainer", "exec")


class Limits(NamedTuple):
    """Section [limits]: how much JIM accepts."""

    local_jobs: Annotated[int, Setting("most local jobs of one grid job", 1, 10_000_000)] = 1_000_000
    grid_jobs_per_dn: Annotated[
        int, Setting("most unfinished grid jobs of one DN and one account; 0: no limit", 0, 10_000_000)
    ] = 0
    queued: Annotated[int, Setting("most local jobs of one account in the batch system", 1, 10_000_000)] = 10_000
    queued_by_tasks: Annotated[int, Setting("most pieces of all tasks on the way; 0: 80% of queued", 0, 10_000_000)] = 0
    queued_per_grid_job: Annotated[int, Setting("most local jobs of a grid job in the queue", 1, 10_000_000)] = 5_000
    queued_per_dn: Annotated[
        int, Setting("most local jobs of one DN and one account in the batch system; 0: no limit", 0, 10_000_000)
    ] = 0
    per_submission: Annotated[int, Setting("most local jobs in one batch command", 1, 100_000)] = 1_000
    bundle_seconds: Annotated[int, Setting("bundle short local jobs into batch jobs of so long; 0: no", 0, 10**6)] = 0
    output_bytes: Annotated[int, Setting("size limit of one output file, in bytes", 1, 10**15)] = 10**10
    input_bytes: Annotated[
        int, Setting("size limit of everything that a request sends with its local jobs, in bytes", 0, 10**15)
    ] = 10**10
    attempts: Annotated[
        int, Setting("most attempts at a local job that was lost, vanished or was killed by the site", 1, 100)
    ] = 3
    retry: Annotated[
        tuple[Mapping[str, Any], ...],
        Setting("rules for further attempts, as requests may have them", wrong=rules.wrong_retry),
    ] = ()
    retry_delay: Annotated[
        str, Setting("pauses before the second, third … attempt; the last one repeats", wrong=rules.wrong_delay)
    ] = "PT10S,PT1M,PT10M"
    most_attempts: Annotated[
        int, Setting("most attempts at a local job in all, also by rules that say how many times", 1, 1000)
    ] = 10
    stuck_seconds: Annotated[
        float,
        Setting(
            "seconds after which JIM gives up a local job that can never start, as the batch system says", 0, 10**8
        ),
    ] = 3600.0
    unasked_seconds: Annotated[
        float, Setting("seconds without a status call by HTCondor-CE until JIM cancels its job; 0: never", 0, 10**8)
    ] = 0.0
    analyser: Annotated[
        str, Setting("the site's own function for failed attempts: a dotted name", words=r"([a-z]\w*(\.\w+)+)?")
    ] = ""


class Sizing(NamedTuple):
    """Section [sizing]: how long a local job should take."""

    recommended_cpu_seconds: Annotated[int, Setting("CPU seconds for a local job; 0: by its job type", 0, 10**8)] = 0
    most_cpu_seconds: Annotated[int, Setting("longest CPU time of a local job, in seconds; 0: no limit", 0, 10**8)] = 0
    learn: Annotated[bool, Setting("size local jobs by what completed ones of the same kind have used")] = False


class Keep(NamedTuple):
    """Section [keep]: how long JIM keeps finished grid jobs."""

    finished_days: Annotated[
        float, Setting("days to keep rows, directory and tar of a finished grid job", 0, 36_500)
    ] = 30.0
    identity_days: Annotated[float, Setting("days to keep who sent a finished grid job", 0, 36_500)] = 36_500.0
    accounting_days: Annotated[float, Setting("days to keep the accounting; 0: write none", 0, 36_500)] = 400.0
    idle_seconds: Annotated[float, Setting("seconds without work after which a keeper ends", 0, 86_400)] = 60.0

    def seconds(self, *, test: bool) -> float:
        """Return how long JIM keeps a finished grid job: a test at most a day."""
        return min(self.finished_days, 1.0 if test else self.finished_days) * 86_400


class Disk(NamedTuple):
    """Section [disk]: how much room the disks must have, in MB."""

    state_warn_mb: Annotated[
        int, Setting("room on the disk of the state directory, in MB, below which JIM warns", 0, 10**9)
    ] = 2000
    state_stop_mb: Annotated[
        int, Setting("room there below which JIM takes no new grid jobs and sends nothing", 0, 10**9)
    ] = 100
    work_warn_mb: Annotated[
        int, Setting("room on the disk of the work directory, in MB, below which JIM warns", 0, 10**9)
    ] = 2000
    work_stop_mb: Annotated[
        int, Setting("room there below which JIM takes no new grid jobs and sends nothing", 0, 10**9)
    ] = 200


class Pages(NamedTuple):
    """Section [pages]: `jim pages --socket`, behind a web server that knows its users."""

    hosts: Annotated[tuple[str, ...], Setting("names of the web server", wrong=rules.wrong_list)] = ()
    see: Annotated[
        tuple[str, ...], Setting("users, and groups as @NAME, who may see states", wrong=rules.wrong_list)
    ] = ()
    look: Annotated[tuple[str, ...], Setting("those who may also see requests and logs", wrong=rules.wrong_list)] = ()
    control: Annotated[
        tuple[str, ...], Setting("those who may also cancel, retry and so on", wrong=rules.wrong_list)
    ] = ()
    controls: Annotated[bool, Setting("true: the pages can also cancel, retry and so on")] = False
    user_header: Annotated[str, Setting("header that names the user", words=HEADER)] = "X-Remote-User"
    groups_header: Annotated[str, Setting("header that names the user's groups", words=HEADER)] = "X-Remote-Groups"
    proxy_secret: Annotated[str, Setting("file with the web server's secret, for control", wrong=rules.wrong_file)] = ""
    account_url: Annotated[str, Setting("address of the pages of an {account}, for `--site`", words=ADDRESS)] = ""


SECTIONS: dict[str, type[Any]] = {
    "site": General,
    "batch": Batch,
    "payload": Payload,
    "limits": Limits,
    "sizing": Sizing,
    "keep": Keep,
    "disk": Disk,
    "pages": Pages,
}


class Declared(NamedTuple):
    """One setting, as its section declares it."""

    kind: Any
    default: Any
    rule: Setting


def settings(section: str) -> dict[str, Declared]:
    """Return the settings of a section."""
    return settings_of(SECTIONS[section])


def settings_of(kind: type[Any]) -> dict[str, Declared]:
    """Return the settings that a section of this kind has."""
    return {
        name: Declared(each.__origin__, kind._field_defaults[name], each.__metadata__[0])
        for name, each in kind.__annotations__.items()
    }
