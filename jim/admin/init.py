"""Makes a site: its commented site file, and the directories of an account on a managed site."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jim.errors import BadSite
from jim.files import replace_durably, sync_directory
from jim.files.durable import file_system_of, is_network
from jim.site import file as site_file
from jim.site.file import OWN, STATE_VARIABLE, refuse_network
from jim.site.rules import Setting
from jim.site.sections import QUEUES, Queue
from jim.site.settings import SECTIONS, settings, settings_of
from jim.statusdb import file_of
from jim.trust import ROOT

# The command that shows that a batch system is on this machine.
BATCH_COMMANDS = {"sbatch": "Slurm", "qsub": "PBS or Grid Engine", "condor_submit": "HTCondor", "bsub": "LSF"}
NETWORK_VISIBLE_SECONDS = 90.0  # files from another node may become visible so late
Key = tuple[str, str]  # section and key
NOT_MADE = "NOT made: "  # begins a line about what somebody else has to make


@dataclass(frozen=True, slots=True)
class Found:
    """Facts about this machine: settings to write, and remarks for people."""

    values: Mapping[Key, Any]
    remarks: Mapping[Key, str]


def look_around(state: Path, work: str = "", mounts: str | None = None) -> Found:
    """Find values for the site file; refuse a place that cannot hold a state directory."""
    refuse_network(state, mounts)
    seen = [f"{name} ({command})" for command, name in BATCH_COMMANDS.items() if shutil.which(command)]
    values: dict[Key, Any] = {("site", "name"): _host_name(), ("batch", "system"): "local"}
    remarks = {
        ("site", "work"): f"The state directory, {toml(str(state))}, is on {file_system_of(state, mounts)}.",
        ("batch", "slots"): f"This machine has {os.cpu_count() or 1} processors.",
        ("batch", "system"): f"Also found: {', '.join(seen) or 'no other batch system'}.",
    }
    if work:
        kind = file_system_of(Path(work), mounts)
        values["site", "work"] = work
        remarks["site", "work"] += f" The work directory is on {kind}."
        if is_network(kind):
            values["batch", "visible_seconds"] = NETWORK_VISIBLE_SECONDS
    return Found(values, remarks)


def _host_name() -> str:
    name = re.sub(r"[^\w. -]", "-", socket.gethostname(), flags=re.ASCII)[:64]
    return name or "here"


def site_text(found: Found) -> str:
    """Return the text of a site file: every setting with its meaning. Defaults are comments, found values are set."""
    head = [
        "# The site file of JIM. A line that is commented out shows the default.",
        "# `jim site check` proves that these settings work.",
    ]
    return "\n".join([*head, *(line for name in SECTIONS for line in _section(name, found)), *_queue(), ""])


def _section(name: str, found: Found) -> Iterator[str]:
    about = (SECTIONS[name].__doc__ or "").splitlines()[0]
    yield from ("", f"# {about}", f"[{name}]")
    for key, declared in settings(name).items():
        yield from ("", f"# {sentence(declared.rule)}")
        if remark := found.remarks.get((name, key)):
            yield f"# {remark}"
        value = found.values.get((name, key), declared.default)
        yield f"{'' if (name, key) in found.values else '# '}{key} = {toml(value)}"


def _queue() -> Iterator[str]:
    """Return the settings of a queue as comments: there may be any number of such sections."""
    yield from ("", f"# {Queue.__doc__}", f"# [{QUEUES}.NAME]")
    usual = settings("batch")
    for key, declared in settings_of(Queue).items():
        yield from ("", f"# {sentence(declared.rule)}", f"# {key} = {toml(usual[key].default)}")


def sentence(rule: Setting) -> str:
    """Return the meaning of a setting and its possible values."""
    bounds = "" if rule.least is None else f" ({rule.least:,} to {rule.most:,})"
    return f"{rule.help[:1].upper()}{rule.help[1:]}{bounds}."


def toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml(key)} = {toml(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value) + '"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:_}" if isinstance(value, int) else repr(value)


def write_site_file(file: Path, text: str, state: Path, mode: int) -> None:
    """Write a new site file after JIM has read its text successfully; never change an existing file."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if not file.parent.is_dir():
            file.parent.mkdir(parents=True)
            file.parent.chmod(0o755 if mode & 0o004 else 0o700)
        replace_durably(draft, text.encode(errors="surrogateescape"))
        site_file.read(draft, state)
        draft.chmod(mode)
        os.link(draft, file)
    except OSError as error:
        if os.path.lexists(file):
            raise BadSite(f"{file} exists already and was not changed; move it away to get a new one") from error
        raise BadSite(f"cannot write {file}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            draft.unlink()
    sync_directory(file.parent)


def own_state() -> Path:
    """Return a person's state directory; a managed site has only those of its accounts."""
    named = os.environ.get(STATE_VARIABLE)
    if named is None and site_file.MANAGED_FILE.exists():
        raise BadSite(
            f"this machine is managed: its settings are in {site_file.MANAGED_FILE}. To have settings of "
            f"your own, set {STATE_VARIABLE} to a directory of your own"
        )
    return Path(named).absolute() if named else site_file.own_state()


# Accounts of a managed site


def account_of(name: str) -> pwd.struct_passwd:
    """Return an account of this machine; refuse one that cannot have a directory of its name."""
    try:
        account = pwd.getpwnam(name)
    except (KeyError, ValueError) as error:
        raise BadSite(f"there is no account {name!r} on this machine: make it first (useradd -m {name})") from error
    if account.pw_uid == ROOT:
        raise BadSite(f"{name} is root, as whom no grid job may run: name an account to which a gatekeeper maps users")
    if not re.fullmatch(r"[A-Za-z_][\w.-]*\$?", account.pw_name, re.ASCII):
        raise BadSite(f"the account name {account.pw_name!r} is not usable as a directory name")
    return account


def make_account(name: str, mounts: str | None = None) -> Iterator[str]:
    """Make the directories of an account on a managed site, and report them; repeating this changes nothing.

    Everything lies in directories that only root can write, so no account can disturb another.
    """
    account = account_of(name)
    refuse_network(place := site_file.MANAGED_STATE, mounts)
    try:
        for directory in (place, place / ".by-uid", place / ".published", place / ".turns"):
            _make_for_all(directory)
        _make_turn(place / ".turns" / name, account)
        (place / ".published" / "turn").unlink(missing_ok=True)  # an older version let anyone write to it
        yield from _make_own(place / name, account, 0o700)
        yield from _make_own(place / ".published" / name, account, 0o750)
        yield from _link(place / ".by-uid" / str(account.pw_uid), Path("..") / name)
        yield from _make_work(place / name, account)
        yield from _own_before(account)
    except OSError as error:
        raise BadSite(f"cannot make the directories of {name}: {error}; run this command as root") from error


def _own_before(account: pwd.struct_passwd) -> Iterator[str]:
    """Say where the account finds what it had handed in before: its commands look at the new place from now on."""
    own = Path(account.pw_dir) / OWN
    with suppress(OSError):
        if file_of(own).lstat().st_uid == account.pw_uid:
            yield (
                f"what {account.pw_name} handed in before is in {own}, and its keeper goes on with it; as "
                f"{account.pw_name}, `{STATE_VARIABLE}={own} jim status` shows it"
            )


def _make_for_all(directory: Path) -> None:
    """Make a directory that everyone can read and only its maker can write."""
    if not directory.is_dir():
        directory.mkdir(parents=True)
        directory.chmod(0o755)
    about = directory.lstat()
    if about.st_uid == 0 != os.geteuid():
        raise BadSite(f"{directory} belongs to root: run this command as root")
    if directory.is_symlink() or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        raise BadSite(f"{directory} must belong to root, and only root may write to it: run chmod 755 on it")


def _make_turn(file: Path, account: pwd.struct_passwd) -> None:
    """Make the file whose time tells other accounts of this account's last query; its content is never read."""
    with suppress(FileExistsError):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        try:
            os.fchown(descriptor, account.pw_uid, account.pw_gid)
            os.fchmod(descriptor, 0o644)
        finally:
            os.close(descriptor)


def _make_own(directory: Path, account: pwd.struct_passwd, mode: int) -> Iterator[str]:
    """Make a directory that belongs to an account; refuse anything else in its place."""
    if not os.path.lexists(directory):
        directory.mkdir(mode=0o700)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            os.fchown(descriptor, account.pw_uid, account.pw_gid)
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        yield f"made {directory} for {account.pw_name}"
    if directory.is_symlink() or not directory.is_dir() or directory.lstat().st_uid != account.pw_uid:
        raise BadSite(f"{directory} is not a directory of {account.pw_name}; move it away, then run this command again")


def _link(link: Path, target: Path) -> Iterator[str]:
    if not os.path.lexists(link):
        link.symlink_to(target)
        yield f"linked {link} to {target}"
    if not link.is_symlink() or link.readlink() != target:
        raise BadSite(
            f"{link} does not lead to {target}: does another account have this uid now? Remove the link to continue"
        )


def _make_work(state: Path, account: pwd.struct_passwd) -> Iterator[str]:
    """Make the account's part of a shared work directory; root may not be allowed to write there."""
    if not site_file.MANAGED_FILE.exists():
        return
    site = site_file.read(site_file.MANAGED_FILE, state, managed=True)
    if site.site.work and not site.work.exists():
        try:
            yield from _make_own(site.work, account, 0o700)
        except OSError as error:
            yield f"{NOT_MADE}{site.work} ({error.strerror}); make it yourself, for {account.pw_name}, mode 700"
