"""Job types: what they ask for, what they run, and what the one of the documentation computes."""

import importlib
import re
import stat
import sys
from pathlib import Path

import pytest

from jim.doors.intake import prepare
from jim.errors import BadRequest, JimError
from jim.handlers.base import BY_EVENTS, COMMON, Handler, Result, Work
from jim.handlers.parametric import Parametric
from jim.handlers.pythia_monte_carlo import PythiaMonteCarlo
from jim.request import LANGUAGES, check, read
from jim.site.file import Site
from jim.work.sizing import left_to_catalogue
from tests.support.stand_ins import World
from tools import attribute_tables

HOME = Path(__file__).parents[3]
PAGE = (HOME / "docs" / "handlers.md").read_text()
EXAMPLES = [each for each in (HOME / "examples").rglob("*.*") if each.suffix in LANGUAGES]
TYPES = (
    *("cdf_concatenation", "cdf_monte_carlo", "dzero_merge", "dzero_monte_carlo", "dzero_reconstruction"),
    *("executable", "parametric", "pythia_monte_carlo", "sam_analysis"),
)


# executable and parametric


NO_NAMES = ["", ".", "..", "a..b", ".a", "a.", "../executable", "lab/own", "Executable", "été", "a b", "a\n", "a" * 201]


@pytest.mark.parametrize("own", ["", "/nowhere"])
@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_name_of_a_job_type_is_not_looked_for(name, own):
    with pytest.raises(BadRequest, match="job_type: expected the name of a job type"):
        check({"job_type": name}, own)


@pytest.mark.parametrize("name", ["a" * 200, "lab." + "a" * 196, ".".join(100 * "a")])
def test_a_long_name_is_looked_for(name):
    with pytest.raises(BadRequest, match="job_type: unknown job type"):
        check({"job_type": name}, "/nowhere")


# the documentation


def test_the_page_names_every_job_type_attribute_and_question():
    modules = {each.stem for each in (HOME / "handlers").glob("[a-z]*.py")} - {"base"}
    assert modules == set(TYPES)
    own = [importlib.import_module(f"jim.handlers.{name}").HANDLER.attributes for name in TYPES]
    questions = [name for name in vars(Handler) if not name.startswith("_")]
    for name in {*TYPES, *COMMON, *BY_EVENTS, *questions, *(name for each in own for name in each)}:
        assert re.search(rf"`{name}[`(]", PAGE), name


def test_the_page_s_tables_are_what_the_job_types_declare():
    """Written anew where a declaration has changed: `python tools/attribute_tables.py`."""
    section = PAGE.split(attribute_tables.BEGIN)[1].split(attribute_tables.END)[0]
    assert section == attribute_tables.tables()
    assert "| `mass_min_gev` | number | 60 | least mass of the Z/γ*, in GeV; at least 20 and at most 500 |" in section
    assert "| `events` | whole number | required | events in all; at least 1 |" in section


@pytest.mark.parametrize(
    "name",
    sorted(
        str(each.relative_to(HOME / "examples"))
        for each in EXAMPLES
        if not {"catalogue", "captured", "tasks"} & {*each.parts}
    ),
)
def test_examples_are_accepted_and_documented(name):
    handler, request = check(read(HOME / "examples" / name))
    assert left_to_catalogue(request) or handler.work(request) != Work()
    assert f"`examples/{name}`" in PAGE


@pytest.fixture
def mysite(tmp_path, monkeypatch):
    """The job type of the page, saved as the page says."""
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) <= 40
    (tmp_path / "own" / "mysite").mkdir(parents=True)
    (tmp_path / "own" / "mysite" / "neutrinos.py").write_text(block)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield str(tmp_path / "own")
    for name in ("mysite.neutrinos", "mysite"):
        sys.modules.pop(name, None)


def test_the_job_type_of_the_page_adds_up(mysite, tmp_path):
    handler, request = check({"job_type": "mysite.neutrinos", "request_id": "nu-7"}, mysite)
    assert request["km"] == 735
    for n, text in enumerate(("20 50\n", "10 50\n")):
        (tmp_path / f"run.{n}").mkdir()
        (tmp_path / f"run.{n}" / "count").write_text(text)
    results = (Result(n, tmp_path / f"run.{n}", ("count",)) for n in (0, 1))
    assert handler.collect(request, results, tmp_path) == "30 of 100 neutrinos have changed, 30.0%"


@pytest.mark.parametrize("name", TYPES)
def test_every_type_answers_every_question(name, tmp_path):
    handler = importlib.import_module(f"jim.handlers.{name}").HANDLER()
    words = {"executable": "true", "argument_sets": [["1"]], "events": 5, "outputs": ["x.dat"], "queue": "q"}
    required = {key: "p14" for key, one in handler.attributes.items() if one.required} | words
    asked = {"job_type": name} | {key: value for key, value in required.items() if key in COMMON | handler.attributes}
    _, request = check(asked)
    assert handler.resources(request).queue == "q"
    assert handler.environment(request).keys() <= {"SAM_UNIVERSE"}
    assert "x.dat" in tuple(handler.outputs(request))
    handler.prepare_work_area(request, tmp_path)
    assert all(stat.S_ISREG(each.lstat().st_mode) for each in tmp_path.iterdir())


# What a job type answers wrongly


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        ("command_and_arguments", "echo hello", "expected texts of one line each, found 'echo hello'"),
        ("command_and_arguments", ("echo", 3), "expected texts of one line each, found ['echo', 3]"),
        ("command_and_arguments", ["a\nb"], r"found ['a\nb']"),
        ("command_and_arguments", ["a\0b"], r"found ['a\x00b']"),
        ("outputs", "abc", "expected texts of one line each, found 'abc'"),
        ("outputs", ["a\n* env LD_PRELOAD=/x"], "the job type's outputs: expected texts of one line each"),
        (
            "environment",
            {"A": "b\nc"},
            r"the job type's environment: expected texts of one line each, found ['A=b\nc']",
        ),
    ],
)
def test_what_a_wrapper_could_not_read_is_never_sent(tmp_path, monkeypatch, question, answer, words):
    monkeypatch.setattr(Parametric, question, lambda *_: answer)
    world = World(tmp_path, monkeypatch)
    grid = world.submit(1)
    world.until(lambda: world.finished(grid))
    assert world.batch.tasks == {}
    assert words in world.store.grid_job(grid).reason


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        ("work", lambda *_: None, "'NoneType' object has no attribute 'events'"),
        ("events_per_job", 0, "division or modulo by zero"),
        ("most_events_per_job", lambda *_: "many", "'>' not supported between instances of 'int' and 'str'"),
        ("resources", lambda *_: None, "'NoneType' object has no attribute '_replace'"),
    ],
)
def test_a_door_says_whose_answer_it_cannot_use(tmp_path, monkeypatch, question, answer, words):
    monkeypatch.setattr(PythiaMonteCarlo, question, answer)
    file = tmp_path / "request.toml"
    file.write_text('job_type = "pythia_monte_carlo"\nevents = 10\n')
    with pytest.raises(JimError, match=f"^job type pythia_monte_carlo: .*{re.escape(words)}"):
        prepare(file, Site(state=tmp_path))


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        ("command_and_arguments", ["a\nb"], "command_and_arguments: expected texts of one line each, found"),
        ("outputs", ["a\nb"], "outputs: expected texts of one line each, found"),
    ],
)
def test_what_a_wrapper_could_not_read_is_refused_at_the_door(tmp_path, monkeypatch, question, answer, words):
    from jim.doors.intake import prepare
    from jim.site.file import Site

    file = tmp_path / "r.toml"
    file.write_text('job_type = "parametric"\nexecutable = "/bin/true"\nargument_sets = [["1"]]\n')
    prepare(file, Site(tmp_path))
    monkeypatch.setattr(Parametric, question, lambda *_: answer)
    with pytest.raises(BadRequest, match=words):
        prepare(file, Site(tmp_path))


def test_what_a_job_type_says_of_a_piece_alone_is_heard_when_it_is_sent(tmp_path, monkeypatch):
    from jim.doors.intake import prepare
    from jim.site.file import Site

    file = tmp_path / "r.toml"
    file.write_text('job_type = "parametric"\nexecutable = "/bin/true"\nargument_sets = [["1"]]\n')
    monkeypatch.setattr(Parametric, "command_and_arguments", lambda *_: {}["this"])
    assert prepare(file, Site(tmp_path))
