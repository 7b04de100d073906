"""Opens a state directory for its keeper: site, store, adapter, log."""

from __future__ import annotations

import importlib
import json
import logging
import logging.handlers
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from jim.adapters.base import Adapter
from jim.clock import Clock
from jim.command import run
from jim.errors import BadSite, JimError
from jim.files import read_regular
from jim.files.own_files import OwnFiles
from jim.idealizer.channel import Channel
from jim.keeper import clock_jumps, serial
from jim.keeper.keeper import Keeper
from jim.keeper.looks import Looks
from jim.keeper.open_doors import OpenDoors
from jim.keeper.serial import Hold
from jim.keeper.workers import Workers
from jim.log_lines import FORM, JsonLine, OneLine
from jim.model import KEEPER_ENDS
from jim.request import handler_of, job_types
from jim.site import file as site_file
from jim.site.file import Site, make_state
from jim.statusdb import open_store
from jim.statusdb.store import Store

log = logging.getLogger(__name__)
ENV_WITH_VALUE = ("-u", "--unset", "-C", "--chdir")
LOG_BYTES, LOG_FILES = 10_000_000, 5
LONGEST_SUMMARY = 64 * 1024 * 1024


def site_of(state: Path) -> Site:
    """Return the settings of the state directory at this path."""
    return site_file.load(str(state.resolve()))


def open_keeper(site: Site, own_files: OwnFiles | None = None) -> Keeper:
    """Open a state directory as its keeper."""
    make_state(site)
    clock = Clock()
    adapter = adapter_of(site)
    store = open_store(site.state, clock, write=True)
    hold = hold_of(site, store)
    set_up = adapter.set_up_command(site.batch.slots)
    if set_up:
        answer = run(set_up, limit=site.batch.command_seconds)
        if answer.code != 0:
            raise BadSite(f"the batch system cannot be set up: {answer.facts()}")
    clock_jumps.resume(store, clock)
    channel = Channel(adapter, site.batch.command_seconds, clock)
    channel.starts.waits.extend(published_waits(site.summary))
    return Keeper(site, store, channel, Workers(clock, own_files), hold, OpenDoors(site.site.handlers), Looks(clock))


def load_job_types() -> None:
    """Load JIM's own job types, so that none can be missing later."""
    for each in job_types():
        handler_of(each)


def hold_of(site: Site, store: Store) -> Hold:
    """Take the work directory, if it is ours and this state directory knows everything that was done in it."""
    instances = serial.instances_of(site.state)
    serial.refuse_outdated(site, store, instances)
    serial.own_work(site, instances, used=serial.is_used(site, store))
    store.set_fact(serial.WORKED_IN, str(site.work))
    hold = Hold(site, instances, store.clock)
    hold.take(store, serial.serials(site, store), serial.home(site))
    return hold


def published_waits(summary: Path) -> list[int]:
    """Return the waiting times of the last starts that an earlier keeper has published."""
    try:
        return [int(each) for each in json.loads(read_regular(summary, LONGEST_SUMMARY)).get("waits", ())]
    except (OSError, JimError, ValueError, TypeError, AttributeError, RecursionError):
        return []  # there is none, or another hand wrote it: the times begin anew


def adapter_of(site: Site) -> Adapter:
    """Return the adapter of the batch system: a module of `jim.adapters`, or the site's own by dotted name."""
    system = site.batch.system
    site_file.check_system(site)
    try:
        module = importlib.import_module(system if "." in system else f"jim.adapters.{system}")
        adapter: Adapter = module.ADAPTER(site.batch.commands, str(site.state / "batch"))
    except (ImportError, AttributeError, TypeError) as error:
        raise BadSite(f"{site_file.place_of(site, 'system')}cannot load adapter {system!r}: {error}") from error
    if site.batch.history:
        try:
            adapter.choose_history(site.batch.history)
        except BadSite as error:
            raise BadSite(f"{site_file.place_of(site, 'history')}{error}") from error
    return adapter


def behind_env(words: Sequence[str]) -> Iterator[int]:
    """Yield the positions of programs that `env` starts; such a program may be `env` again."""
    at = 0
    while words[at].rpartition("/")[2] == "env":
        at += 1
        while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
            at += 2 if words[at] in ENV_WITH_VALUE else 1
        if at >= len(words):
            return
        yield at


def start_log(site: Site, *, foreground: bool) -> None:
    """Log into the state directory, as the site wants it, and in the foreground also to stderr, for people."""
    handlers: list[logging.Handler] = [
        logging.handlers.RotatingFileHandler(
            site.state / "keeper.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES, delay=True
        )
    ]
    if foreground:
        handlers.append(logging.StreamHandler(sys.stderr))
    form = JsonLine() if site.site.json_log else OneLine(FORM)
    logging.raiseExceptions = False  # a full disk must not stop work that needs no log
    for each, its in zip(handlers, (form, OneLine(FORM)), strict=False):
        each.setFormatter(its)
    logging.basicConfig(level=logging.INFO, handlers=handlers)
    sys.excepthook = _last_words


def _last_words(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log the error that ends a keeper: nobody sees its stderr."""
    if isinstance(error, JimError):
        log.critical("%s%s", KEEPER_ENDS, error)
    elif isinstance(error, OSError):  # of the machine, not of JIM
        log.critical("%s%s: %s; `jim site check` tells more", KEEPER_ENDS, type(error).__name__, error)
    else:
        log.critical("the keeper ends", exc_info=(kind, error, trace))
