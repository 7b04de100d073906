"""The architecture as a test: which way imports point, who owns what, and how large a room may be."""

from __future__ import annotations

import ast
import graphlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

HOME = Path(__file__).parents[2]
LARGEST_MODULE, LONGEST_FUNCTION = 250, 38
READ_BY_KEY, MOST_READ_BY_KEY = re.compile(r"spec\[|spec\.get"), 30
# It is sent to the worker nodes and runs there by itself: a payload, no part of JIM's processes.
PAYLOAD = "handlers/shared/pythia_generate.py"
FILES = sorted(
    str(path.relative_to(HOME))
    for folder in ("jim", "adapters", "handlers")
    for path in (HOME / folder).rglob("*.py")
    if not path.is_relative_to(HOME / "jim/adapters") and not path.is_relative_to(HOME / "jim/handlers")
)


class Import(NamedTuple):
    """One imported module; `loaded`: when its importer is loaded, not in a function or for types only."""

    module: str
    loaded: bool


@cache
def text_of(file: str) -> str:
    return (HOME / file).read_text()


@cache
def tree_of(file: str) -> ast.Module:
    return ast.parse(text_of(file))


@cache
def nodes_of(file: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(file)))


def name_of(file: str) -> str:
    """Give the name under which a file imports."""
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name.startswith("jim") else f"jim.{name}"


NAMES = {name_of(file): file for file in FILES}


@cache
def imports(file: str) -> tuple[Import, ...]:
    return tuple(_imports(tree_of(file), loaded=True))


def _imports(node: ast.AST, *, loaded: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, ast.Import):
            yield from (Import(each.name, loaded) for each in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert not child.level, "imports are absolute"
            inner = [f"{child.module}.{each.name}" for each in child.names]
            yield from (Import(each if each in NAMES else str(child.module), loaded) for each in inner)
        for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        yield from _imports(child, loaded=loaded and not for_types and not isinstance(child, ast.FunctionDef))


def ours(file: str) -> set[str]:
    """Name the modules of JIM that a file imports, wherever in it."""
    return {each.module for each in imports(file) if each.module.partition(".")[0] == "jim"}


def importers(module: str) -> set[str]:
    """Name the files that import a module, or something in it."""
    return {file for file in FILES if any(f"{each.module}.".startswith(f"{module}.") for each in imports(file))}


MOST_FLOORS = {"keeper": 10, "tasks": 7, "statusdb": 12}


@pytest.mark.parametrize("room", MOST_FLOORS)
def test_a_room_has_few_floors(room: str) -> None:
    """A module stands one floor above the highest one in its room that it imports."""

    @cache
    def floor(module: str) -> int:
        below = {each.module for each in imports(NAMES[module])} & NAMES.keys() - {module}
        return 1 + max((floor(each) for each in below if each.startswith(f"jim.{room}.")), default=0)

    assert max(floor(module) for module in NAMES if module.startswith(f"jim.{room}.")) <= MOST_FLOORS[room]


def test_the_files_are_found() -> None:
    assert len(FILES) > 50
    assert {"jim/run_grid_job.py", "adapters/base.py", PAYLOAD} <= set(FILES)


# Which way imports point. The first pattern that fits a file says what it may import of JIM; each file has one.

GROUND = {
    f"jim.{name}"
    for name in (
        "model",
        "jobs",
        "errors",
        "guide",
        "errand",
        "clock",
        "log_lines",
        "trust",
        "files",
        "database",
        "command",
        "attempts",
    )
}
WORK = {"jim.work", "jim.request", "jim.splitting", "jim.site", "jim.handlers.base"}
WORKDIR = {"jim.workdir", "jim.evidence", "jim.site", "jim.handlers.base"}
STATUSDB = {"jim.statusdb", "jim.evidence"}
IDEALIZER = {"jim.idealizer", "jim.adapters"}
DOORS = {"jim.doors"} | WORK | WORKDIR | STATUSDB
TASKS = (
    {"jim.tasks", "jim.doors.inbox", "jim.doors.intake", "jim.workdir.submission", "jim.workdir.verified"}
    | WORK
    | STATUSDB
)
KEEPER = {"jim.keeper"} | DOORS | IDEALIZER | TASKS
READING = (
    {
        "jim.reading",
        "jim.doors.inbox",
        "jim.doors.target",
        "jim.doors.untaken_files",
        "jim.work",
        "jim.request",
        "jim.tasks.file.wish_checks",
        "jim.tasks.pieces.wave_wishes",
        "jim.tasks.throttle_row",
        "jim.tasks.unsettled_waves",
        "jim.tasks.release_room",
        "jim.tasks.effects",
        "jim.tasks.file.streams",
    }
    | STATUSDB
    | WORKDIR
)

MAY_IMPORT = [
    ("jim/__init__.py", set()),
    ("jim/model.py", {"jim.attempts.seeds"}),
    ("jim/errors.py", {"jim.model"}),
    ("jim/clock.py", set()),
    ("jim/guide.py", set()),
    ("jim/log_lines.py", {"jim.errors"}),
    ("jim/errand.py", {"jim.errors"}),
    ("jim/jobs.py", {"jim.model"}),
    ("jim/command.py", {"jim.model", "jim.errors"}),
    ("jim/database.py", {"jim.errors", "jim.files", "jim.guide"}),
    ("jim/files/*", {"jim.errors", "jim.files"}),
    ("jim/trust/*", {"jim.errors", "jim.trust"}),
    ("jim/attempts/*", {"jim.errors"}),
    ("adapters/*", {"jim.errors", "jim.model", "jim.adapters"}),
    (PAYLOAD, set()),
    ("handlers/*", {"jim.errors", "jim.model", "jim.files", "jim.handlers"}),
    ("jim/localbatch/*", {"jim.errors", "jim.clock", "jim.database", "jim.files", "jim.localbatch", "jim.command"}),
    ("jim/site/*", GROUND | {"jim.site"}),
    ("jim/splitting/*", {"jim.errors", "jim.model", "jim.handlers.base", "jim.splitting"}),
    (
        "jim/request/*",
        {
            "jim.errors",
            "jim.files",
            "jim.trust",
            "jim.attempts.rules",
            "jim.handlers.base",
            "jim.request",
        },
    ),
    ("jim/work/*", GROUND | WORK),
    ("jim/evidence/*", GROUND | {"jim.evidence"}),
    ("jim/workdir/*", GROUND | WORKDIR),
    ("jim/statusdb/*", GROUND | STATUSDB),
    ("jim/idealizer/*", GROUND | IDEALIZER),
    ("jim/doors/*", GROUND | DOORS),
    ("jim/tasks/*", GROUND | TASKS),
    ("jim/keeper/*", GROUND | KEEPER),
    ("jim/reading/*", GROUND | READING),
    ("jim/pages/*", GROUND | READING | {"jim.pages"}),
    ("jim/run_grid_job.py", GROUND | {"jim.keeper", "jim.tasks", "jim.doors", "jim.site", "jim.run_grid_job"}),
    ("jim/admin/*", GROUND | KEEPER | READING | {"jim.admin", "jim.run_grid_job"}),
    ("jim/cli/*", {"jim"}),
]


def beyond(file: str) -> set[str]:
    """Name what a file imports of JIM and may not; of a file that has no line, its own name."""
    allowed = next((allowed for pattern, allowed in MAY_IMPORT if fnmatch(file, pattern)), None)
    if allowed is None:
        return {file}
    found = ours(file) - {"jim"}  # its version
    return {each for each in found if not any(f"{each}.".startswith(f"{room}.") for room in allowed)}


def test_imports_point_one_way() -> None:
    assert {file: beyond(file) for file in FILES if beyond(file)} == {}


# The shelves of the large rooms, from the ground up: a shelf may import what stands before it. What lies in the room
# itself is its ground, or its top, which the last entry names: it may import every shelf, and no shelf imports it.
SHELVES = {
    "keeper": ("attempts", "queue", "results", "inbox", {"main", "loop", "rounds"}),
    "tasks": ("sources", "file", "pool", "pieces", "results", {"moves", "wishes"}),
    "statusdb": ("grid", "seen", "tasks", "documents", {"store"}),
    "reading": ("job", "site", "tasks", "documents", set()),
}
FULLEST = 18
# Rules of splitters, verbs and routes stand beside each other: none of them imports another.
EXCUSED_AS_FULL = {"jim/splitting/rules", "jim/cli"}


def shelf_of(module: str, room: str) -> int:
    """Number the place of a module: 0 is the ground of its room, then come its shelves, and last its top."""
    *shelves, top = SHELVES[room]
    place = module.removeprefix(f"jim.{room}").strip(".").split(".")[0]
    return shelves.index(place) + 1 if place in shelves else len(shelves) + 1 if place in top else 0


@pytest.mark.parametrize("room", SHELVES)
def test_a_shelf_stands_on_those_before_it(room: str) -> None:
    wrong = {
        f"{file} imports {each}"
        for name, file in NAMES.items()
        for each in ours(file)
        if name.startswith(f"jim.{room}.") and f"{each}.".startswith(f"jim.{room}.")
        if each != "jim.statusdb.store"  # what is asked of a whole store names it
        if shelf_of(each, room) > shelf_of(name, room)
    }
    assert wrong == set()


def test_no_folder_is_too_full() -> None:
    folders = Counter(str(Path(file).parent) for file in FILES if not file.endswith("__init__.py"))
    full = {folder: count for folder, count in folders.items() if count > FULLEST}
    assert full.keys() == EXCUSED_AS_FULL


def test_every_line_of_the_table_is_needed() -> None:
    assert {pattern for pattern, _ in MAY_IMPORT if not any(fnmatch(file, pattern) for file in FILES)} == set()


def test_nobody_imports_a_door() -> None:
    """The people's door is nobody's; a grid job's life is made to go by it, by a keeper, and by the site test."""
    outside = {file for file in importers("jim.cli") if not file.startswith("jim/cli/")}
    assert outside == set()
    life = {file for file in importers("jim.run_grid_job") if not file.startswith("jim/cli/")}
    assert life == {"jim/run_grid_job.py", "jim/admin/trial/trial_site.py"}


# Where GRAM is known: its door, what puts it there, and the language of requests that is GRAM's own.
KNOWS_GRAM = ("jim/doors/gram/", "jim/admin/gram_service.py", "jim/cli/gram.py", "jim/request/")
MENTIONS_GRAM = {
    "jim/doors/contract.py": 1,  # the name of the default door
    "jim/site/settings.py": 2,  # the setting that the door of GRAM reads
    "jim/cli/__init__.py": 1,  # the verb that puts JIM behind GRAM
}
GRAM = re.compile(r"(?<![a-z])gram(?![a-z])|globus", re.IGNORECASE)


def test_a_door_is_known_by_its_contract() -> None:
    """A second one is a folder, and no change elsewhere."""
    others = [file for file in FILES if not file.startswith(KNOWS_GRAM)]
    mentions = {file: sum(bool(GRAM.search(line)) for line in text_of(file).splitlines()) for file in others}
    assert {file: lines for file, lines in mentions.items() if lines} == MENTIONS_GRAM
    importing = {file for file in importers("jim.doors.gram") if not file.startswith("jim/doors/gram/")}
    assert importing == {"jim/admin/gram_service.py"}


# Where HTCondor-CE is known. The adapter of HTCondor knows a pool, and nothing of a CE.
KNOWS_CE = ("jim/doors/condor/", "jim/admin/ce_", "jim/cli/ce.py")
MENTIONS_CE = {"jim/cli/__init__.py": 1, "jim/site/settings.py": 1}  # the verb, and the setting that the door reads
CE = re.compile(r"HTCondor-CE|blahpd", re.IGNORECASE)


def test_htcondor_ce_is_known_in_one_folder_and_its_scripts_and_both_are_small() -> None:
    others = [file for file in FILES if not file.startswith(KNOWS_CE)]
    mentions = {file: sum(bool(CE.search(line)) for line in text_of(file).splitlines()) for file in others}
    assert {file: lines for file, lines in mentions.items() if lines} == MENTIONS_CE
    assert {file for file in importers("jim.doors.condor") if not file.startswith("jim/doors/condor/")} == {
        "jim/admin/ce_service.py"
    }
    assert sum(len(code_lines(file)) for file in FILES if file.startswith("jim/doors/condor/")) <= 400
    assert sum(len(file.read_text().splitlines()) for file in (HOME / "shell/condor").iterdir()) <= 400


KNOWS_ARC = ("jim/doors/arc/", "jim/admin/arc_", "jim/cli/arc.py")
MENTIONS_ARC = {"jim/cli/__init__.py": 1}  # the verb
ARC = re.compile(r"ARC CE|A-REX")


def test_arc_is_known_in_one_folder_and_its_scripts_and_both_are_small() -> None:
    others = [file for file in FILES if not file.startswith(KNOWS_ARC)]
    mentions = {file: sum(bool(ARC.search(line)) for line in text_of(file).splitlines()) for file in others}
    assert {file: lines for file, lines in mentions.items() if lines} == MENTIONS_ARC
    importing = {file for file in importers("jim.doors.arc") if not file.startswith("jim/doors/arc/")}
    assert importing == {"jim/admin/arc_information.py", "jim/admin/arc_service.py"}
    assert sum(len(code_lines(file)) for file in FILES if file.startswith("jim/doors/arc/")) <= 450
    assert sum(len(file.read_text().splitlines()) for file in (HOME / "shell/arc").iterdir()) <= 400


def test_nothing_is_imported_from_a_test_module() -> None:
    """What several of them need has a module of its own in their room."""
    from_tests = re.compile(r"^(?:from|import) tests\S*\.test_", re.MULTILINE)
    assert [each.name for each in (HOME / "tests").rglob("*.py") if from_tests.search(each.read_text())] == []


def test_the_keeper_knows_no_step() -> None:
    assert importers("jim.keeper.loop") == {"jim/keeper/main.py"}


def test_adapters_and_the_local_batch_system_meet_only_at_a_command_line() -> None:
    assert {file for file in importers("jim.localbatch") if not file.startswith("jim/localbatch/")} == set()
    # The first imports it by its name, the others for types.
    by_name = {"jim/keeper/opening.py", "jim/keeper/keeper.py", "jim/idealizer/channel.py", "jim/admin/advertise.py"}
    assert {file for file in importers("jim.adapters") if not file.startswith("adapters/")} == by_name


def test_no_two_rooms_need_each_other_to_be_loaded() -> None:
    graph = {name: {each.module for each in imports(file)} - {name} for name, file in NAMES.items()}
    graph = {name: needed & graph.keys() for name, needed in graph.items()}
    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises at a circle
    assert set(order) == set(NAMES)


def test_a_splitter_is_a_rule_and_nothing_else() -> None:
    """It needs no other one, and has no way to the world, the clock or chance."""
    world = {"os", "io", "sys", "time", "datetime", "random", "pathlib", "logging", "threading", "sqlite3", "socket"}
    assert {file for file in importers("jim.splitting.rules") if file.startswith("jim/splitting/")} == set()
    for file in (file for file in FILES if file.startswith("jim/splitting/") and file != "jim/splitting/registry.py"):
        assert {each.module for each in imports(file)} & world == set(), file


# Who owns what


@pytest.mark.parametrize(
    ("module", "owners"),
    [
        ("subprocess", {"jim/command.py", PAYLOAD}),
        ("multiprocessing", set()),
        ("pty", set()),
        ("tenacity", {"jim/idealizer/retry.py"}),
        ("lxml", {"jim/statusdb/documents/xml.py"}),
        ("psutil", {"jim/localbatch/processes.py"}),
    ],
)
def test_one_room_owns_it(module: str, owners: set[str]) -> None:
    assert importers(module) == owners


KNOWS_SQLITE = ("jim/database.py", "jim/statusdb/", "jim/localbatch/")
SQL = re.compile(
    r"\s*(?:SELECT\b.*\bFROM|INSERT\b.*\bINTO|UPDATE\b.*\bSET|DELETE FROM|PRAGMA|BEGIN|SAVEPOINT)\b", re.DOTALL
)


def reaches_into_a_database(file: str) -> Iterator[str]:
    """Name the places where a file uses SQLite itself."""
    for node in nodes_of(file):
        if isinstance(node, ast.Attribute) and node.attr == "db":
            yield f"{file}:{node.lineno}: .db"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value):
            yield f"{file}:{node.lineno}: {node.value!r}"


def test_a_store_is_known_by_its_methods() -> None:
    """Another database may be in its place: nobody else knows SQLite, its statements, or the module that has them."""
    others = [file for file in FILES if not file.startswith(KNOWS_SQLITE)]
    assert {file for file in importers("sqlite3") if not file.startswith(KNOWS_SQLITE)} == set()
    own = {f"jim.statusdb.{name}" for name in ("submissions", "connected", "rows")}
    assert {file: ours(file) & own for file in others if ours(file) & own} == {}
    foreign = ("jim/work/catalogue.py", "jim/doors/arc/delegations.py")  # databases of the site and of a gatekeeper
    assert {file for file in importers("jim.database") if file in others} == set(foreign)
    found = {place for file in others for place in reaches_into_a_database(file)}
    assert {place for place in found if not place.startswith(foreign)} == set()
    assert list(reaches_into_a_database("jim/statusdb/connected.py")), "nothing is found at all"


def test_the_spec_of_a_task_is_read_by_attributes() -> None:
    """It is a value of jim/statusdb/task_spec.py; only what TOML says is read by key, until it is checked."""
    by_key = {file: len(READ_BY_KEY.findall(text_of(file))) for file in FILES}
    assert sum(by_key.values()) <= MOST_READ_BY_KEY, {file: count for file, count in by_key.items() if count}


def test_only_the_people_s_door_is_rich() -> None:
    assert importers("rich")
    assert all(file.startswith("jim/cli/") for file in importers("rich"))


def test_only_the_pages_are_a_web_application() -> None:
    """Whoever installs JIM without what the pages need has everything else."""
    for module in ("flask", "jinja2", "werkzeug", "markupsafe", "waitress"):
        assert importers(module), module
        assert {file for file in importers(module) if not file.startswith("jim/pages/")} == set()
    assert {file for file in importers("jim.pages") if not file.startswith("jim/pages/")} == {"jim/cli/pages.py"}
    assert {
        each for each in imports("jim/cli/pages.py") if each.module.startswith("jim.pages") and each.loaded
    } == set()


def test_two_import_roots_are_banned() -> None:
    assert importers("adapters") == importers("handlers") == set()


STARTS = ("os.system", "os.popen", "os.fork", "os.forkpty", "os.exec", "os.spawn", "os.posix_spawn")


@cache
def calls(file: str) -> tuple[tuple[str, str, frozenset[str | None]], ...]:
    """Give each call in a file: where it stands, what it calls, and the keywords."""
    nodes = [node for node in nodes_of(file) if isinstance(node, ast.Call)]
    return tuple(
        (f"{file}:{node.lineno}", ast.unparse(node.func), frozenset(each.arg for each in node.keywords))
        for node in nodes
    )


def test_no_shell_and_no_other_way_to_start_a_process() -> None:
    assert [place for file in FILES for place, _, keywords in calls(file) if "shell" in keywords] == []
    others = [file for file in FILES if file != "jim/command.py"]
    assert [(place, name) for file in others for place, name, _ in calls(file) if name.startswith(STARTS)] == []


def _catches_all(handler: ast.ExceptHandler) -> bool:
    names = ast.unparse(handler.type) if handler.type else "BaseException"
    return bool({"Exception", "BaseException"} & set(names.strip("()").split(", ")))


def test_errors_become_exit_codes_in_one_place() -> None:
    """In others, errors in a forked process, what a site's own code raises, and faults become errors of JIM's.

    In that place also warnings, of what fails once a request is durable.
    """
    all_nodes = ((file, node) for file in FILES for node in nodes_of(file))
    catchers = [file for file, node in all_nodes if isinstance(node, ast.ExceptHandler) and _catches_all(node)]
    place = ["jim/doors/serving.py"] * 2
    assert catchers == ["jim/command.py", *place, "jim/errors.py", "jim/trust/plugins.py"]


def test_library_code_neither_prints_nor_exits() -> None:
    """Those that are programs of their own, or speak to people, may."""
    speak = {PAYLOAD, "jim/localbatch/__main__.py", "jim/run_grid_job.py"}
    silent = [file for file in FILES if not file.startswith("jim/cli/") and file not in speak]
    said = [(place, name) for file in silent for place, name, _ in calls(file)]
    assert [(place, name) for place, name in said if name in ("print", "sys.exit", "exit", "quit")] == []


# The links


def test_there_are_three_links_and_never_a_fourth() -> None:
    links = {str(path.relative_to(HOME)): str(path.readlink()) for path in _all_of("jim") if path.is_symlink()}
    assert links == {"jim/adapters": "../adapters", "jim/handlers": "../handlers", "jim/shell": "../shell"}
    others = [path for folder in ("adapters", "handlers", "shell", "docs", "examples") for path in _all_of(folder)]
    assert [path for path in others if path.is_symlink()] == []


def _all_of(folder: str) -> list[Path]:
    return [path for path in (HOME / folder).rglob("*") if "__pycache__" not in path.parts]


# Small on purpose


@cache
def code_lines(file: str) -> frozenset[int]:
    """Number the lines that are neither blank, nor comment, nor docstring."""
    numbered = enumerate(text_of(file).splitlines(), 1)
    lines = {n for n, line in numbered if line.strip() and not line.lstrip().startswith("#")}
    for node in nodes_of(file):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node) is not None
        ):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return frozenset(lines)


def test_a_module_is_small() -> None:
    sizes = {file: len(code_lines(file)) for file in FILES}
    assert {file: size for file, size in sizes.items() if size > LARGEST_MODULE} == {}


@cache
def lengths() -> Mapping[str, int]:
    """Give the lines of each function, with its signature and docstring."""
    return {
        f"{file}:{node.lineno}: {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for file in FILES
        for node in nodes_of(file)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_a_function_is_short() -> None:
    assert {name: lines for name, lines in lengths().items() if lines > LONGEST_FUNCTION} == {}


def test_most_functions_fit_on_a_hand() -> None:
    lines = sorted(lengths().values())
    assert (lines[len(lines) // 2], lines[len(lines) * 9 // 10]) <= (6, 15)


# A name says what thing a value is: a row, a record, words. These say how it got there. Their numbers only fall.
VAGUE = {"told": 163, "found": 529, "said": 90, "asked": 180, "known": 134, "those": 64}


def test_names_that_say_nothing_become_fewer() -> None:
    bound = Counter(
        node.arg if isinstance(node, ast.arg) else node.id
        for file in FILES
        for node in nodes_of(file)
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )
    assert {name: bound[name] for name, most in VAGUE.items() if bound[name] > most} == {}


def test_the_linter_is_asked_for_the_rest() -> None:
    settings = tomllib.loads(text_of("pyproject.toml"))["tool"]
    lint = settings["ruff"]["lint"]
    assert lint["mccabe"]["max-complexity"] <= 8
    assert {"C90", "D", "ANN", "TID", "BLE"} <= set(lint["select"])
    assert not {"C90", "C901", "BLE", "BLE001", "D103"} & set(lint["ignore"])
    assert set(lint["flake8-tidy-imports"]["banned-api"]) == {
        *("adapters", "handlers", "subprocess", "tenacity", "lxml", "psutil")
    }
    assert settings["mypy"]["strict"]


def test_every_module_says_what_it_is() -> None:
    assert [file for file in FILES if text_of(file).strip() and not ast.get_docstring(tree_of(file))] == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python 3.11.2, which Debian 12 has, takes `(?:…)*+` for something else than what later ones do (gh-106052)."""
    group = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")
    assert [(file, each) for file in FILES for each in strings_of(file) if group.search(each)] == []


def strings_of(file: str) -> Iterator[str]:
    return (each.value for each in nodes_of(file) if isinstance(each, ast.Constant) and type(each.value) is str)
