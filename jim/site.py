"""The site file: every setting with its default in one place, read once, checked at once."""

from __future__ import annotations

import os
import pwd
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from jim.errors import BadSite, nearest
from jim.model import Resources

MANAGED_FILE = Path("/etc/jim/site.toml")
MANAGED_STATE = Path("/var/lib/jim")
# The environment variables that JIM reads; gatekeepers pass neither.
STATE_VARIABLE = "JIM_STATE"
SITE_VARIABLE = "JIM_SITE"
NETWORK_FILE_SYSTEMS = re.compile(r"nfs\d?|cifs|smb\w*|lustre|gpfs|beegfs|ceph|afs|glusterfs|9p|fuse\.\w+")


def setting(default: Any, help_: str, *, least: float | None = None, most: float | None = None, words: str = "") -> Any:
    """Declare one setting: its default, what it means, and what it may be."""
    return field(default=default, metadata={"help": help_, "least": least, "most": most, "words": words})


@dataclass(frozen=True, slots=True)
class General:
    """Who and where."""

    name: str = setting("here", "the site's name, as people and brokers know it", words=r"[\w. -]{1,64}")
    work: str = setting("", "directory that the worker nodes see; empty: inside the state directory")
    handlers: str = setting("", "directory of the site's own job types; mysite/pi.py there is job type mysite.pi")


@dataclass(frozen=True, slots=True)
class Batch:
    """The batch system and how often it is asked."""

    system: str = setting("local", "the adapter: local, or a dotted name of the site's own", words=r"[a-z][\w.]*")
    slots: int = setting(0, "local batch only: jobs at once; 0: one per processor", least=0, most=10_000)
    query_seconds: float = setting(2.0, "how often the batch system is asked about all jobs", least=0.1, most=3600)
    visible_seconds: float = setting(2.0, "how late a file of a worker node may be seen here", least=0, most=3600)
    command_seconds: float = setting(60.0, "limit of one batch command", least=1, most=3600)
    touch_seconds: int = setting(60, "how often a running job touches its claim", least=1, most=3600)
    queue: str = setting("", "queue of requests that name none", words=r"([A-Za-z0-9][\w.@:-]*)?")
    wall_seconds: int = setting(86_400, "time limit of requests that name none", least=1, most=10**8)
    most_wall_seconds: int = setting(10**8, "no request may ask for more", least=1, most=10**8)
    most_memory_mb: int = setting(10**8, "no request may ask for more", least=1, most=10**8)
    commands: dict[str, list[str]] = field(
        default_factory=dict, metadata={"help": "the first words of a batch command, where the site's differ"}
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """How much JIM takes on."""

    local_jobs: int = setting(1_000_000, "local jobs of one grid job", least=1, most=10_000_000)
    queued: int = setting(10_000, "local jobs in the batch system, all together", least=1, most=10_000_000)
    queued_per_grid_job: int = setting(
        5_000, "local jobs of one grid job in the batch system", least=1, most=10_000_000
    )
    per_submission: int = setting(1_000, "local jobs of one batch command", least=1, most=100_000)
    output_bytes: int = setting(10**10, "one output file", least=1, most=10**15)
    attempts: int = setting(
        3, "tries of a local job that was lost, vanished or was killed by the site", least=1, most=100
    )


@dataclass(frozen=True, slots=True)
class Sizing:
    """How long a local job should take."""

    recommended_cpu_seconds: int = setting(
        0, "CPU time a local job should take; 0: the job type's rule", least=0, most=10**8
    )
    most_cpu_seconds: int = setting(0, "CPU time a local job may take at most; 0: no limit", least=0, most=10**8)


@dataclass(frozen=True, slots=True)
class Keep:
    """How long what is finished is kept."""

    finished_days: float = setting(30.0, "rows, directories and tars of finished grid jobs", least=0, most=36_500)
    idle_seconds: float = setting(60.0, "how long a keeper without work stays", least=0, most=86_400)


@dataclass(frozen=True, slots=True)
class Site:
    """Everything JIM knows of its site, and where its own files are."""

    state: Path
    file: Path | None = None
    managed: bool = False
    site: General = field(default_factory=General)
    batch: Batch = field(default_factory=Batch)
    limits: Limits = field(default_factory=Limits)
    sizing: Sizing = field(default_factory=Sizing)
    keep: Keep = field(default_factory=Keep)

    @property
    def work(self) -> Path:
        """The directory that worker nodes see, this account's part of it."""
        if not self.site.work:
            return self.state / "work"
        return Path(self.site.work) / self.state.name

    def complete(self, asked: Resources) -> Resources:
        """Fill in what a request leaves to the site."""
        return replace(
            asked,
            queue=asked.queue or self.batch.queue or None,
            wall_seconds=asked.wall_seconds or self.batch.wall_seconds,
        )

    @property
    def summary(self) -> Path:
        """Where the keeper publishes what anyone of the group may read."""
        published = self.state.parent / ".published"
        return published / self.state.name / "summary.json" if self.managed else self.state / "summary.json"


SECTIONS: dict[str, type] = {"site": General, "batch": Batch, "limits": Limits, "sizing": Sizing, "keep": Keep}
KINDS = {"int": (int,), "float": (int, float), "str": (str,), "dict[str, list[str]]": (dict,)}


def load(state: str = "") -> Site:
    """Find this account's site file and state directory, and read the settings."""
    state = state or os.environ.get(STATE_VARIABLE, "")
    named = os.environ.get(SITE_VARIABLE)
    place = Path(state).resolve() if state else _managed_state() if MANAGED_FILE.exists() else own_state()
    if MANAGED_FILE.exists() and place.parent == MANAGED_STATE:
        return read(Path(named or MANAGED_FILE), place, managed=True)
    if named:
        return read(Path(named).absolute(), place)
    for file in (place / "site.toml", MANAGED_FILE):
        if file.exists():
            return read(file, place)
    return Site(state=place)


def read(file: Path, state: Path, *, managed: bool = False) -> Site:
    """Read a site file whole; anything odd in it fails with its place and what was expected."""
    try:
        text = file.read_text()
        tables = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSite(f"{file}: {error}") from error
    sections: dict[str, Any] = {}
    for name, table in tables.items():
        if name not in SECTIONS:
            raise BadSite(f"{file}:{_line(text, name, '')}: unknown section [{name}]{nearest(name, SECTIONS)}")
        if not isinstance(table, dict):
            raise BadSite(f"{file}:{_line(text, '', name)}: {name} must be a section: write [{name}]")
        sections[name] = SECTIONS[name](**dict(_checked(file, text, name, table)))
    return Site(state=state, file=file, managed=managed, **sections)


def _checked(file: Path, text: str, section: str, table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    known = {each.name: each for each in fields(SECTIONS[section])}
    for key, value in table.items():
        where = f"{file}:{_line(text, section, key)}: {section}.{key}"
        if key not in known:
            raise BadSite(f"{where}: unknown key{nearest(key, known)}")
        each = known[key]
        if isinstance(value, bool) or not isinstance(value, KINDS[str(each.type)]):
            raise BadSite(f"{where}: expected {each.type}, found {value!r}")
        wrong = _impossible(value, each.metadata)
        if wrong:
            raise BadSite(f"{where}: {wrong}, found {value!r} ({each.metadata['help']})")
        yield key, value


def _impossible(value: Any, rule: Any) -> str:
    if isinstance(value, dict):
        plain = all(
            isinstance(words, list) and words and all(isinstance(w, str) for w in words) for words in value.values()
        )
        return "" if plain else "expected lists of words"
    if isinstance(value, str):
        return "" if not rule.get("words") or re.fullmatch(rule["words"], value) else f"must match {rule['words']}"
    if not rule["least"] <= value <= rule["most"]:  # also refuses nan
        return f"must be between {rule['least']:,} and {rule['most']:,}"
    return ""


def _line(text: str, section: str, key: str) -> int:
    """Find the line of a key; tomllib does not tell it."""
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\s*\[\s*([\w.\"-]+)\s*\]", line)
        if head:
            current = head[1].strip('"')
            if key and current == f"{section}.{key}":
                return number
        found = not key if head else current == section and re.match(rf"\s*\"?{re.escape(key)}\"?\s*[=.]", line)
        if current == section and found:
            return number
    return 1


def _managed_state() -> Path:
    try:
        return MANAGED_STATE / pwd.getpwuid(os.getuid()).pw_name
    except KeyError as error:
        raise BadSite(f"uid {os.getuid()} is no account of this machine; set {STATE_VARIABLE}") from error


def check_system(site: Site) -> None:
    """Refuse a batch system that no adapter is there for, without importing one."""
    known = [each.stem for each in (Path(__file__).parent / "adapters").glob("[a-z]*.py") if each.stem != "base"]
    system = site.batch.system
    if "." not in system and system not in known:
        raise BadSite(f"[batch] system: unknown batch system {system!r}{nearest(system, known)}")


def _remedy(site: Site) -> str:
    if site.managed:
        return f"ask root for: jim site init --account {site.state.name}"
    return f"set {STATE_VARIABLE} to a directory that can be written"


def own_state() -> Path:
    """Name the state directory of a person who has set nothing."""
    home = os.environ.get("XDG_STATE_HOME")
    if home and Path(home).is_absolute():
        return Path(home) / "jim"
    return Path(os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir) / ".local/state/jim"


def file_system_of(path: Path, mounts: str | None = None) -> str:
    """Name the type of file system a directory lies on."""
    if mounts is None:
        mounts = Path("/proc/self/mounts").read_text()
    best, kind = "", "?"
    place = str(path.resolve())
    for line in mounts.splitlines():
        _, where, type_, *_ = line.split(" ")
        where = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), where)
        if (place == where or place.startswith(where.rstrip("/") + "/")) and len(where) >= len(best):
            best, kind = where, type_
    return kind


def make_state(site: Site, mounts: str | None = None) -> None:
    """Make the state directory and what belongs in it; refuse a place that cannot keep a promise."""
    kind = file_system_of(site.state, mounts)
    if NETWORK_FILE_SYSTEMS.fullmatch(kind):
        raise BadSite(
            f"{site.state} lies on a network file system ({kind}): locks and the database need a local disk. "
            f"Set {STATE_VARIABLE} to a directory on one; only [site] work belongs on shared disk"
        )
    try:
        for place in (site.state, site.state / "inbox", site.state / "keys", site.state / "answers"):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in (site.work, site.work / "spool", site.work / "rejected"):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadSite(f"cannot make the state directory: {error}; {_remedy(site)}") from error
    if site.state.stat().st_mode & 0o077:
        site.state.chmod(0o700)
