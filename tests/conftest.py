"""For all tests."""

import gc
import os
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings

from jim.admin import gram_service
from jim.site import file as site_file
from tests.support.cli_home import Home
from tests.support.stand_ins import World
from tests.unit.shell.place import Place

# A background job of a shell starts with SIGINT ignored, one of nohup with SIGHUP, and so would all that the tests
# start: put them back.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# On a busy machine any example takes longer now and then: that says nothing about what is tested. Of examples that
# chance chooses, a few dozen are tried.
settings.register_profile("any time", deadline=None, max_examples=30)
settings.load_profile("any time")

MEMORY = Path("/dev/shm")
ROOM = 1 << 30


def is_good_for_tests(place):
    """Tell whether there is room for what the tests write, and their programs may be started there."""
    if not os.access(place, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC


COMPILED = {"shim", "fork_fails", "fork_counts", "list_fails", "open_fails"}  # fixtures that need a C compiler


# Whole lives, again and again: kills and full disks, wrappers in every way, batch systems that lie, daemons, installs,
# and long scenes of tasks. They take two thirds of the time of all tests, so `make test` leaves them to `make more`.
MORE = (
    *("tests/faults/", "tests/wrapper/", "tests/fake_batch/", "tests/upgrade/", "tests/monitoring/"),
    *(f"tests/unit/test_{what}.py" for what in ("install", "distributions", "docs_site", "docs_site_parts", "release")),
    "tests/unit/test_trees.py",
    *("tests/unit/test_bench", "tests/unit/test_conformance.py", "tests/unit/admin/trial/"),
    *(f"tests/unit/tasks/test_{scene}.py" for scene in ("scenarios", "chains", "arrival", "black_holes", "masks")),
    *(
        f"tests/unit/tasks/test_{scene}.py"
        for scene in ("histories", "replaced_promises", "outputs", "unexpected_errors")
    ),
    *("tests/unit/tasks/test_odd_names.py", "tests/unit/tasks/pool/test_closing.py"),
    "tests/unit/cli/test_described.py",
    *(f"tests/unit/cli/tasks/test_{what}.py" for what in ("page", "same_bytes", "verbs")),
    *("tests/unit/localbatch/test_daemon.py", "tests/unit/localbatch/test_run.py"),
    *("tests/unit/handlers/shared/test_pythia_generate.py", "tests/unit/handlers/test_dzero_monte_carlo.py"),
    *("tests/unit/doors/test_identity.py", "tests/unit/doors/test_generations.py"),
    *("tests/unit/doors/arc/test_scanning.py", "tests/unit/keeper/attempts/test_ending.py"),
    *("tests/unit/keeper/queue/test_avoiding.py", "tests/unit/keeper/queue/test_looking_up.py"),
    *("tests/unit/keeper/test_serial.py", "tests/unit/statusdb/test_store_errors.py"),
    *(f"tests/unit/shell/test_{what}.py" for what in ("strangers", "taken_already", "cancel_and_poll")),
    *("tests/unit/pages/routes/test_tasks.py", "tests/unit/pages/routes/test_task_control.py"),
    *(f"tests/unit/pages/test_{what}.py" for what in ("private", "truth", "hostile")),
    *("tests/unit/test_reused_ids.py", "tests/unit/keeper/results/test_outputs_of_failed.py"),
    *("tests/unit/tasks/test_chain_histories.py", "tests/unit/splitting/test_every_splitter.py"),
    *("tests/unit/shell/test_condor.py", "tests/unit/cli/tasks/test_story.py"),
    *("tests/unit/cli/test_live.py", "tests/unit/cli/test_terminal.py"),
)


def pytest_ignore_collect(collection_path, config):
    """Leave out the files of the other part: each process that runs tests would read all of them."""
    part, name = config.getoption("--part"), str(collection_path.relative_to(Path(__file__).parents[1]))
    if not part or collection_path.is_dir() or not collection_path.name.startswith("test_"):
        return None
    return None if name.startswith(MORE) == (part == "more") else True


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """Mark what is skipped where there is no compiler, so that it can be run elsewhere."""
    for item in items:
        if COMPILED.intersection(item.fixturenames):
            item.add_marker(pytest.mark.compiled)


# What is collected stays: to look for garbage in it, again and again, takes a third of the time of collecting it.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


# JIM waits until a disk has what it stores, thousands of times in all tests: that takes more than what they show.
if is_good_for_tests(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_configure(config):
    """Refuse a machine with a site: all that the tests start would obey its site file."""
    if config.getoption("--part") and site_file.MANAGED_FILE.exists():
        words = "is there, and each JIM that the tests start would obey it: run them on a machine without a site"
        pytest.exit(f"{site_file.MANAGED_FILE} {words}", returncode=2)


def pytest_addoption(parser):
    """Choose a part; let a site hold its own adapter to the contract: see tests/unit/test_adapters_conformance.py."""
    parser.addoption(
        "--part", choices=("quick", "more"), help="the part of the tests that `make test` or `make more` runs"
    )
    captured = str(Path(__file__).parent / "captured")
    parser.addoption("--adapter", action="append", default=[], help="an adapter to test: a dotted name, or a file")
    parser.addoption("--handlers", default="", help="its site's directory of packages, as in [site] handlers")
    parser.addoption("--captured", default=captured, help="directory with SYSTEM/VERSION of that adapter")


@pytest.fixture
def home(tmp_path, capsys, monkeypatch):
    """A state directory made by hand, and the people's verbs run in it."""
    with closing(Home(tmp_path / "state", capsys, monkeypatch)) as home:
        yield home


@pytest.fixture
def zone(monkeypatch):
    """Set the time zone of this process, as the C library writes it; UTC comes back afterwards."""

    def set_zone(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield set_zone
    set_zone("UTC")


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A state directory with its keeper's rounds, driven by hand, and a batch system that stands in for one."""
    return World(tmp_path, monkeypatch)


@pytest.fixture
def place(tmp_path):
    """A state directory, and the doors that gatekeepers call, as programs of their own."""
    with closing(Place(tmp_path)) as place:
        yield place


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Make the directories of GRAM's packages, below another root."""
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    root = tmp_path / "root"
    for each in (gram_service.PERL, gram_service.RVF, gram_service.AVAILABLE / "x", gram_service.SCRIPT):
        (root / each).parent.mkdir(parents=True, exist_ok=True)
    (root / gram_service.SCRIPT).touch()
    return root


@pytest.fixture
def out_of_reach(monkeypatch):
    """Let a function fail as when a file server is away; return what ends that."""

    def arrange(module, name, number, fits=lambda *_: True):
        real, away = getattr(module, name), [True]

        def fails(*arguments):
            if away and fits(*arguments):
                raise OSError(number, "that")
            return real(*arguments)

        monkeypatch.setattr(module, name, fails)
        return away.clear

    return arrange
