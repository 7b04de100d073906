"""Installs, checks and removes the files by which GRAM on this machine finds JIM."""

from __future__ import annotations

import os
import pwd
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from jim.admin.finding import FAILED, OK, WARNING, Finding, expected
from jim.admin.home import HOME, closed_place
from jim.admin.known_types import Declared, types
from jim.command import run
from jim.doors.gram.day_files import A_DAY, make_days
from jim.doors.gram.request import CANNOT, EVENTS_OPTION, GRAM_OWN, JOB_TYPE, USUAL_JOB_TYPE
from jim.errors import BadSite
from jim.files import replace_durably
from jim.guide import guide
from jim.handlers.base import COMMON
from jim.request.gram_names import GRAM_NAMES
from jim.request.languages import plain
from jim.site import file as site_file
from jim.site.accounts import require_of_site

TYPE = "samgrid"
SERVICE = f"jobmanager-{TYPE}"


ADAPTER = HOME / f"shell/gram/{TYPE}.pm"
# The places where GRAM looks; its packages make these directories.
PERL = Path(f"usr/share/perl5/Globus/GRAM/JobManager/{TYPE}.pm")
RVF = Path(f"usr/share/globus/globus_gram_job_manager/{TYPE}.rvf")
AVAILABLE = Path("etc/grid-services/available")
ENABLED = Path("etc/grid-services")
EVENTS = Path(f"var/lib/globus/globus-seg-{TYPE}")
EVENTS_LIBRARY = "usr/lib/*/libglobus_seg_job_manager.so"
SCRIPT = Path("usr/share/globus/globus-job-manager-script.pl")
RVF_CHECK, SUPER = "globus-rvf-check", "/usr/local/sbin:/usr/sbin:/sbin"  # these are not in the PATH of accounts
HEAD = "# Written by `jim gram register`, from what the job types declare.\n"
LINE = (
    "stderr_log,local_cred - /usr/sbin/globus-job-manager globus-job-manager"
    f" -conf /etc/globus/globus-gram-job-manager.conf -type {TYPE}\n"
)
# GRAM's attributes that it obeys as the account before JIM sees the job, or also if JIM refuses it: removed or written
# would be any file that the account can remove or write. So GRAM itself refuses them.
CLOSED = {
    "file_clean_up": "not possible here: leave files in the scratch directory, which goes with the job",
    "gass_cache": "not possible here",
    "log_pattern": "not possible here",
}
# GRAM's attributes that have the same meaning in JIM.
SHARED = {"arguments", "environment", "queue"}


# The attributes that a gatekeeper accepts


def rvf(own: str = "") -> str:
    """Return GRAM's list of accepted attributes: all attributes of job types that GRAM does not know itself."""
    known = types(own)
    declared: dict[str, Declared] = {}
    for attributes in known.values():
        declared = {**attributes} | declared
    common = {name: Declared(one.help, tuple(one.also)) for name, one in COMMON.items()}
    needless = GRAM_OWN | SHARED | {plain(name) for name in (*GRAM_NAMES, *CANNOT)}
    ours = {name: one for name, one in (common | declared).items() if plain(name) not in needless and name != "key"}
    ours |= {name: one for one in declared.values() for name in one.also}
    asked = _record(JOB_TYPE, COMMON["job_type"].help, {"Values": " ".join(known), "Default": USUAL_JOB_TYPE})
    closed = (_record(name, why, {}, when="") for name, why in CLOSED.items())
    return "\n".join([HEAD, asked, *(_record(name, one.help, {}) for name, one in ours.items()), *closed])


def _record(name: str, told: str, more: Mapping[str, str], when: str = "GLOBUS_GRAM_JOB_SUBMIT") -> str:
    help_ = told.replace('"', "'").replace("\\", "/")
    facts = {"Attribute": name, "Description": f'"{help_}"', **more, "ValidWhen": when}
    return "".join(f"{word}: {value}\n" for word, value in (facts | ({"DefaultWhen": when} if more else {})).items())


# Registering and unregistering


def register(root: Path = Path("/"), events: str = "") -> Iterator[str]:
    """Put each file where GRAM looks for it, and report it; files of others are not touched.

    With `events`, the keeper of this account writes events for job managers, which then do not poll.
    """
    for place, why in ((SCRIPT, "globus-gram-job-manager-scripts"), (ENABLED, "globus-gatekeeper")):
        if not (root / place).exists():
            raise BadSite(f"{root / place} does not exist: install the package {why}")
    _require_root(root)
    _refuse_foreign(root)
    if events:
        yield from _let_account_tell(root, events)
    yield _link(root / PERL, ADAPTER)
    replace_durably(root / RVF, rvf(site_file.load().site.handlers).encode(), 0o644)
    yield f"wrote {root / RVF}"
    service = root / AVAILABLE / SERVICE
    # The file's options belong to the site.
    if service.exists() and (not events or EVENTS_OPTION in service.read_text()):
        yield f"{service} exists already and was not changed"
    else:
        service.parent.mkdir(exist_ok=True)
        line = service.read_text() if service.exists() else LINE
        replace_durably(service, (line.rstrip() + EVENTS_OPTION * bool(events) + "\n").encode(), 0o644)
        yield f"wrote {service}"
    yield _link(root / ENABLED / SERVICE, Path("available") / SERVICE)


def _let_account_tell(root: Path, account: str) -> Iterator[str]:
    """Make the directory of events. Whoever may write there can end anybody's job, so it belongs to one account."""
    try:
        entry = pwd.getpwnam(account)
    except KeyError:
        raise BadSite(f"there is no account {account!r}") from None
    require_of_site(account)
    if not any(root.glob(EVENTS_LIBRARY)):
        raise BadSite("GRAM cannot read events yet: install the package globus-seg-job-manager")
    directory = root / EVENTS
    if directory.is_symlink():
        raise BadSite(f"{directory} is a link; move it away first")
    directory.mkdir(parents=True, exist_ok=True)
    make_days(directory, time.time())
    for place in (*directory.glob(A_DAY), directory):
        os.chown(place, entry.pw_uid, entry.pw_gid, follow_symlinks=False)
    directory.chmod(0o755)
    yield f'{directory} belongs to {account}; put into its site file, under [site]: gram_events = "{directory}"'


def _link(place: Path, target: Path) -> str:
    if place.is_symlink() and place.readlink() == target:
        return f"{place} already leads to {target}"
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    draft.symlink_to(target)
    draft.rename(place)
    return f"linked {place} to {target}"


def unregister(root: Path = Path("/")) -> Iterator[str]:
    """Remove the registered files, and report it. Running jobs continue, but nobody can poll them any more."""
    _require_root(root)
    _refuse_foreign(root)
    for place in (ENABLED / SERVICE, AVAILABLE / SERVICE, RVF, PERL):
        if os.path.lexists(root / place):
            (root / place).unlink()
            yield f"removed {root / place}"
    if (root / EVENTS).is_dir():
        for day in (root / EVENTS).glob(A_DAY):
            day.unlink()
        (root / EVENTS).rmdir()
        yield f"removed {root / EVENTS}"


def _require_root(root: Path) -> None:
    """Refuse early if this account may not write everywhere."""
    for place in (ENABLED, RVF.parent, PERL.parent):
        if (root / place).exists() and not os.access(root / place, os.W_OK):
            raise BadSite(f"this account cannot write to {root / place}; run the command as root")


def _refuse_foreign(root: Path) -> None:
    """Refuse to replace or remove files of others."""
    for place in (PERL, ENABLED / SERVICE):
        if os.path.lexists(root / place) and not (root / place).is_symlink():
            raise BadSite(f"{root / place} is not a link of JIM's; move it away first")
    for place, words in ((RVF, HEAD), (AVAILABLE / SERVICE, f"-type {TYPE}")):
        if (root / place).exists() and words not in (root / place).read_text(errors="replace"):
            raise BadSite(f"{root / place} was not written by JIM; move it away first")
    for day in (root / EVENTS).glob("*"):
        if not day.match(A_DAY):
            raise BadSite(f"JIM did not write {day}; move it away first")


# Checking


def findings(root: Path = Path("/")) -> Iterator[Finding]:
    """Tell whether a gatekeeper on this machine can submit jobs to this JIM."""
    again = "run `jim gram register` as root"
    yield expected(
        "packages",
        (root / SCRIPT).exists(),
        "GRAM's job manager is installed",
        f"install the packages that {guide('gram.md')} names",
    )
    leads = os.path.realpath(root / PERL) == os.path.realpath(ADAPTER)
    yield expected("Perl module", leads, f"{root / PERL} leads to {ADAPTER}", again)
    if leads:
        answer = run(["perl", f"-MGlobus::GRAM::JobManager::{TYPE}", "-e1"], limit=20)
        yield expected(
            "Perl",
            answer.code == 0,
            f"Perl can load the module{f': {answer.facts()}' if answer.code else ''}",
            "see Perl's message",
        )
    yield from _rvf_findings(root, again)
    enabled = os.path.lexists(root / ENABLED / SERVICE) and (root / ENABLED / SERVICE).exists()
    yield expected("service", enabled, f"{root / ENABLED / SERVICE} is there", again)
    if enabled:
        yield from _events_findings(root)
    closed = closed_place()
    yield expected(
        "accounts",
        not closed,
        f"all accounts can enter {closed or HOME}",
        "move JIM to a place where every account can read it",
    )


def _events_findings(root: Path) -> Iterator[Finding]:
    """Compare the events that job managers expect with those that the account's keeper writes."""
    directory, again = root / EVENTS, "as root: jim gram register --events ACCOUNT"
    if EVENTS_OPTION not in (root / ENABLED / SERVICE).read_text(errors="replace"):
        useless = bool(site_file.load().site.gram_events)
        what = "job managers poll" + ", so nobody reads the events that site.gram_events asks for" * useless
        yield Finding("events", WARNING if useless else OK, what, again if useless else "")
        return
    if not directory.is_dir() or directory.stat().st_mode & 0o022:
        yield Finding("events", FAILED, f"{directory} must exist, and only one account may write there", again)
        return
    try:
        owner = pwd.getpwuid(directory.stat().st_uid)
    except KeyError:
        yield Finding("events", FAILED, f"{directory} belongs to no account", again)
        return
    site = site_file.load() if os.getuid() == owner.pw_uid else site_file.load(str(_state_of(owner)))
    told = site.site.gram_events == str(directory)
    what = f"the keeper of {owner.pw_name} writes events into {directory}"
    todo = f'put into {site.file or site.state / "site.toml"}, under [site]: gram_events = "{directory}"'
    yield expected("events", told, what, f"{todo}; otherwise its jobs never end")


def _state_of(owner: pwd.struct_passwd) -> Path:
    managed = site_file.MANAGED_FILE.exists()
    return site_file.MANAGED_STATE / owner.pw_name if managed else Path(owner.pw_dir) / ".local/state/jim"


def _rvf_findings(root: Path, again: str) -> Iterator[Finding]:
    file = root / RVF
    is_there = file.exists()
    same = is_there and file.read_text() == rvf(site_file.load().site.handlers)
    yield expected("attributes", same, f"{file} lists all attributes of the job types", again)
    if is_there:
        program = shutil.which(RVF_CHECK, path=f"{os.environ.get('PATH', '')}:{SUPER}") or RVF_CHECK
        answer = run([program, str(file)], limit=20)
        if answer.code == 127:
            yield Finding("RVF", WARNING, "globus-rvf-check is missing", "install globus-gram-job-manager")
        else:
            yield expected("RVF", answer.code == 0, f"GRAM can read {file}", answer.facts())
