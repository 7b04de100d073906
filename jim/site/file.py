"""Reads and checks the site file; finds and makes the state directory."""

from __future__ import annotations

import errno
import importlib
import os
import pwd
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jim.errors import BadSite, in_words, nearest
from jim.files import resolved
from jim.model import Resources
from jim.site import whose
from jim.site.sections import OR_NEWER, QUEUES, Queue, begun_twice, checked, line_of, queues_in
from jim.site.settings import SECTIONS, Batch, Disk, General, Keep, Limits, Pages, Payload, Sizing, settings
from jim.trust import Untrusted, settings_in, use

OWN = ".local/state/jim"  # in a home directory
MANAGED_FILE = Path("/etc/jim/site.toml")
MANAGED_STATE = Path("/var/lib/jim")
# The environment variables that JIM reads; a gatekeeper passes neither of them.
STATE_VARIABLE = whose.STATE_VARIABLE
SITE_VARIABLE = "JIM_SITE"


class Site(NamedTuple):
    """The settings of a site, and the places of JIM's own files."""

    state: Path
    file: Path | None = None
    managed: bool = False
    site: General = General()
    batch: Batch = Batch()
    payload: Payload = Payload()
    limits: Limits = Limits()
    sizing: Sizing = Sizing()
    keep: Keep = Keep()
    disk: Disk = Disk()
    pages: Pages = Pages()
    queues: Mapping[str, Queue] = {}

    @property
    def work(self) -> Path:
        """The work directory, which worker nodes see: the part for this account."""
        if not self.site.work:
            return self.state / "work"
        return Path(self.site.work) / self.state.name

    def complete(self, asked: Resources) -> Resources:
        """Fill in attributes that the request leaves to the site."""
        wall = asked.wall_seconds or self.usual_seconds(asked.queue)
        known = isinstance(wall, int) and self.batch.warn_seconds < wall  # as a text, it has a variable
        usual = self.batch.warn_seconds if known else 0
        return asked._replace(
            queue=asked.queue or self.batch.queue or None,
            account=asked.account or self.batch.account or None,
            wall_seconds=wall,
            warn_seconds=asked.warn_seconds or usual or None,
        )

    def usual_seconds(self, queue: str | None) -> int | None:
        """Return the default time limit in a queue; None leaves it to the batch system."""
        own = self._queue(queue).wall_seconds
        return (self.batch.wall_seconds if own is None else own) or None

    def most_memory_mb(self, queue: str | None) -> int:
        """Return the most memory that a request for a queue may ask for."""
        return self._queue(queue).most_memory_mb or self.batch.most_memory_mb

    def _queue(self, queue: str | None) -> Queue:
        return self.queues.get(queue or self.batch.queue, Queue())

    @property
    def summary(self) -> Path:
        """The file in which the keeper publishes what the whole group may read."""
        return self._published / self.state.name / "summary.json" if self.managed else self.state / "summary.json"

    @property
    def tested(self) -> Path:
        """The file with the result of the last site test, for the same readers."""
        return self.summary.with_name("site-test.json")

    @property
    def checked(self) -> Path:
        """The file with the result of the last site check, for the same readers."""
        return self.summary.with_name("site-check.json")

    @property
    def turn_file(self) -> Path | None:
        """This account's file among those by which accounts of a managed site take turns to query the batch system."""
        return self.state.parent / ".turns" / self.state.name if self.managed else None

    @property
    def drain(self) -> Path:
        """The file that says that the site takes no new grid jobs; root makes that of a managed site."""
        return self.state.parent / ".drain" if self.managed else self.state / "drain"

    @property
    def bans(self) -> Path:
        """The file that says whose new grid jobs the site refuses; root makes that of a managed site."""
        return self.state.parent / ".bans" if self.managed else self.state / "bans"

    @property
    def avoid(self) -> Path:
        """The file that says which hosts to avoid, or to use again; root makes that of a managed site."""
        return self.state.parent / ".avoid" if self.managed else self.state / "avoid"

    @property
    def acts(self) -> Path:
        """The log of what administrators did in this state directory."""
        return self.state / "acts.jsonl"

    @property
    def shared_acts(self) -> Path:
        """The log of what root did for all accounts of a managed site; elsewhere it is the same log."""
        return self.state.parent / ".acts.jsonl" if self.managed else self.acts

    @property
    def _published(self) -> Path:
        return self.state.parent / ".published"


def load(state: str = "") -> Site:
    """Find this account's site file and state directory, and read the settings."""
    site = unread(state)
    return read(site.file, site.state, managed=site.managed) if site.file else site


def unread(state: str = "") -> Site:
    """Find this account's site file and state directory, and read no settings: the file may be wrong."""
    state = state or os.environ.get(STATE_VARIABLE, "")
    named = os.environ.get(SITE_VARIABLE)
    place = _named_state(state) if state else _managed_state() if MANAGED_FILE.exists() else own_state()
    whose.refuse_unusable(place)
    if MANAGED_FILE.exists() and place.parent == MANAGED_STATE:
        return Site(place, Path(named or MANAGED_FILE), managed=True)
    if named:
        return Site(place, Path(named).absolute())
    return Site(place, next((file for file in (place / "site.toml", MANAGED_FILE) if file.exists()), None))


def read(file: Path, state: Path, *, managed: bool = False) -> Site:
    """Read a whole site file; refuse anything unknown, with its place and the expected value."""
    try:
        content = settings_in(file, *_owners(state, managed=managed))
    except Untrusted as error:
        raise BadSite(f"JIM does not obey the site file {error.filename}: {error.strerror}") from error
    except OSError as error:
        closed = managed and isinstance(error, PermissionError)
        todo = f"; all accounts must be able to read it: run chmod a+r {file}" if closed else ""
        raise BadSite(f"cannot read the site file {file}: {in_words(error)}{todo}") from error
    text, tables = _parsed(file, content)
    sections = {name: _section(file, text, name, table) for name, table in tables.items()}
    site = Site(state=state, file=file, managed=managed, **sections)
    if "wall_seconds" not in tables.get("batch", {}):  # a default must not exceed its limit
        usual = min(site.batch.wall_seconds, site.batch.most_wall_seconds)
        site = site._replace(batch=site.batch._replace(wall_seconds=usual))
    for section, key, problem in _contradictions(site, tables):
        raise BadSite(f"{file}:{line_of(text, section, key)}: {section}.{key}: {problem}")
    return site


def _parsed(file: Path, content: bytes) -> tuple[str, dict[str, Any]]:
    """Return the text of a site file, and its sections."""
    text = ""
    try:
        text = content.decode().removeprefix("\ufeff")  # a mark that some editors begin with
        return text, tomllib.loads(text)
    except RecursionError as error:
        raise BadSite(f"{file}: nested too deeply") from error
    except ValueError as error:
        line = re.search(r"\bline (\d+)", in_words(error))  # a sentence of Python's
        if line and (twice := begun_twice(text, int(line[1]))):
            raise BadSite(f"{file}:{line[1]}: {twice}") from error
        raise BadSite(f"{file}: {in_words(error)}") from error


def _owners(state: Path, *, managed: bool) -> set[int]:
    """Return who else than root may own a site file: whoever obeys it, and the account of the state directory."""
    with suppress(OSError):  # it is not there yet
        return {os.geteuid()} if managed else {os.geteuid(), state.stat().st_uid}
    return {os.geteuid()}


def _section(file: Path, text: str, name: str, table: Any) -> Any:
    if name not in SECTIONS and name != QUEUES:
        near = nearest(name, (*SECTIONS, QUEUES))
        raise BadSite(f"{file}:{line_of(text, name, '')}: unknown section [{name}]{near}{OR_NEWER}")
    if not isinstance(table, dict):
        raise BadSite(f"{file}:{line_of(text, '', name)}: {name} must be a section: write [{name}]")
    if name == QUEUES:
        return dict(queues_in(file, text, table))
    return SECTIONS[name](**dict(checked(file, text, name, table, settings(name))))


def _contradictions(site: Site, tables: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Return settings that are each valid but contradict each other; of two, one that is in the file."""
    for name, default, allowed in (
        ("queue", site.batch.queue, site.batch.queues),
        ("account", site.batch.account, site.batch.accounts),
    ):
        if default and allowed and default not in allowed:
            yield "batch", name, f"{default!r} is not in batch.{name}s{nearest(default, allowed)}"
    for name in ("state", "work"):
        warn, stop = getattr(site.disk, f"{name}_warn_mb"), getattr(site.disk, f"{name}_stop_mb")
        if warn < stop and f"{name}_warn_mb" in tables["disk"]:
            yield "disk", f"{name}_warn_mb", f"{warn:,} is less than disk.{name}_stop_mb, {stop:,}"
        elif warn < stop:
            what = f"disk.{name}_warn_mb, which is {warn:,} where nothing is set: set that, too"
            yield "disk", f"{name}_stop_mb", f"{stop:,} is more than {what}"
    for section, name, value, most in (
        ("batch", "wall_seconds", site.batch.wall_seconds, site.batch.most_wall_seconds),
        ("sizing", "recommended_cpu_seconds", site.sizing.recommended_cpu_seconds, site.sizing.most_cpu_seconds),
        *(
            (f"{QUEUES}.{name}", "wall_seconds", each.wall_seconds or 0, site.batch.most_wall_seconds)
            for name, each in site.queues.items()
        ),
    ):
        if most and value > most:
            limit = f"{'batch' if section.startswith(QUEUES) else section}.most_{name.removeprefix('recommended_')}"
            yield section, name, f"{value:,} is more than {limit}, {most:,}"


def _named_state(state: str) -> Path:
    try:
        return resolved(Path(state))
    except OSError as error:
        loops = error.errno == errno.ELOOP
        why = "it is a link that leads back to itself" if loops else in_words(error)
        raise BadSite(f"{STATE_VARIABLE}: cannot use {state}: {why}; name another directory") from error


def _managed_state() -> Path:
    return MANAGED_STATE / _known_account().pw_name


def _known_account() -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(os.getuid())
    except KeyError as error:  # it may have been removed
        raise BadSite(f"this machine has no account with uid {os.getuid()}; set {STATE_VARIABLE}") from error


def check_system(site: Site) -> None:
    """Refuse an unknown batch system. Only a site's own adapter must be imported to be checked."""
    system, own, adapters = site.batch.system, site.site.handlers, Path(__file__).parents[1] / "adapters"
    if "." not in system:
        if system == "base" or not (adapters / f"{system}.py").is_file():
            known = {each.stem for each in adapters.glob("[a-z]*.py")} - {"base"}
            raise BadSite(f"{place_of(site, 'system')}unknown batch system {system!r}{nearest(system, known)}")
        return
    use(own)
    try:
        importlib.import_module(system).ADAPTER  # noqa: B018 - that it is there
    except (ImportError, AttributeError, SyntaxError) as error:
        raise BadSite(f"{place_of(site, 'system')}cannot load the adapter {system!r}: {error}") from error


def place_of(site: Site, key: str) -> str:
    """Return the place of a setting in section [batch], as the beginning of a refusal."""
    try:
        text = site.file.read_text(errors="replace") if site.file else ""
    except OSError:  # JIM could read the file a moment ago
        text = ""
    return f"{site.file}:{line_of(text, 'batch', key)}: batch.{key}: " if text else f"batch.{key}: "


def remedy(site: Site) -> str:
    """Return what helps an account that cannot make its state directory."""
    root = f"ask root to run: jim site init --account {site.state.name if site.managed else whose.name_of(os.getuid())}"
    own = f"set {STATE_VARIABLE} to a directory that you can write to"
    homeless = f"; for an account without a home directory, {root}" if site.state == own_state() else ""
    return f"{root}; or, for a site of your own, {own}" if site.managed else own + homeless


def own_state() -> Path:
    """Return the state directory of a person who has set none."""
    home = os.environ.get("XDG_STATE_HOME")
    if home and Path(home).is_absolute():
        return Path(home) / "jim"
    return Path(os.environ.get("HOME") or _known_account().pw_dir) / OWN


def refuse_network(state: Path, mounts: str | None = None) -> None:
    """Refuse a state directory on a network file system."""
    from jim.files.durable import file_system_of, is_network  # a door looks at a state directory that is there

    kind = file_system_of(state, mounts)
    if is_network(kind):
        raise BadSite(
            f"{state} lies on a network file system ({kind}), but locks and the database need a local "
            f"disk. Set {STATE_VARIABLE} to a directory on a local disk; only [site] work belongs on "
            "shared disk"
        )


def _remedy_of_work(site: Site) -> str:
    """Say who can give an account a part of the work directory, or a work directory of its own."""
    if not site.site.work or site.managed:
        return remedy(site)
    if site.file != MANAGED_FILE:
        return f"correct [site] work in {site.file}"
    return f"{MANAGED_FILE} names it, as {site.state} has no site file: `jim site init` makes one there"


def make_state(site: Site, mounts: str | None = None) -> None:
    """Make the state directory and its contents; refuse a place on which JIM cannot keep its promise."""
    whose.require_own(site.state)
    refuse_network(site.state, mounts)
    if site.site.work and not Path(site.site.work).is_dir():
        raise BadSite(f"[site] work: the directory {site.site.work} does not exist: mount it, or make it if it is new")
    try:
        for place in (site.state, site.state / "inbox", site.state / "keys", site.state / "answers"):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadSite(f"cannot make the state directory: {error}; {remedy(site)}") from error
    try:
        for place in (site.work, site.work / "spool", site.work / "rejected"):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadSite(f"cannot make the work directory: {error}; {_remedy_of_work(site)}") from error
    if site.state.stat().st_mode & 0o077:
        site.state.chmod(0o700)
