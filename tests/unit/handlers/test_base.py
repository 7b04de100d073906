"""Job types: what they ask for, what they run, and what the one of the documentation computes."""

import importlib
import re
import stat
import sys
from pathlib import Path

import pytest

from bench import attribute_tables
from jim.doors.intake import prepare
from jim.errors import BadRequest, JimError
from jim.handlers.base import BY_EVENTS, COMMON, Handler, Result, Work
from jim.handlers.parametric import Parametric
from jim.handlers.pythia_monte_carlo import PythiaMonteCarlo
from jim.handlers.shared.histogram import Histogram, draw
from jim.handlers.shared.tables import column
from jim.model import Job, Piece
from jim.request import LANGUAGES, check, read
from jim.site.file import Site
from jim.work.sizing import left_to_catalogue
from tests.stand_ins import World

HOME = Path(__file__).parents[3]
PAGE = (HOME / "docs" / "handlers.md").read_text()
EXAMPLES = [each for each in (HOME / "examples").rglob("*.*") if each.suffix in LANGUAGES]
JOB = Job(grid_job=12, key="k", n=0, attempt=1)
TYPES = (
    *("cdf_concatenation", "cdf_monte_carlo", "dzero_merge", "dzero_monte_carlo", "dzero_reconstruction"),
    *("executable", "parametric", "pythia_monte_carlo", "sam_analysis"),
)


def checked(**attributes):
    return check(attributes)


# executable and parametric


def test_executable_is_one_piece_with_its_arguments():
    handler, request = checked(job_type="executable", executable="/bin/echo", arguments=["a b", "", "-n"])
    (piece,) = handler.work(request).pieces
    assert piece == Piece(arguments=("a b", "", "-n"))
    assert tuple(handler.command_and_arguments(request, JOB, piece)) == ("/bin/echo", "a b", "", "-n")


def test_executable_needs_no_arguments_and_takes_those_of_an_earlier_attempt():
    handler, request = checked(job_type="executable", executable="true")
    (piece,) = handler.work(request).pieces
    again = Job(12, "k", 0, 2, recovery=("--from", "7"))
    assert tuple(handler.command_and_arguments(request, again, piece)) == ("true", "--from", "7")


@pytest.mark.parametrize("program", ["/bin/sh", "sh", "/opt/my program/run", "g++", "/opt/été", "x-y", "..."])
def test_programs_that_are_possible(program):
    assert checked(job_type="executable", executable=program)[1]["executable"] == program


@pytest.mark.parametrize(
    "program",
    [
        "",
        "-n",
        "--help",
        "./run",
        "bin/run",
        "../run",
        "/",
        "-/bin/sh",
        "/bin/sh\n",
        "s\th",
        "/bin/\x7f",
        "/bin/\x9b1m",
        "/a\u2028b",
        "a\u2028b",
        "a\x85b",
    ],
)
@pytest.mark.parametrize("job_type", ["executable", "parametric"])
def test_programs_that_are_refused(job_type, program):
    with pytest.raises(BadRequest, match="executable"):
        checked(job_type=job_type, executable=program, argument_sets=[[]])


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


def test_parametric_is_one_piece_for_each_set():
    handler, request = checked(
        job_type="parametric", executable="seq", arguments=["1"], argument_sets=[["2", "9"], [], ["3"]]
    )
    pieces = handler.work(request).pieces
    assert [piece.arguments for piece in pieces] == [("1", "2", "9"), ("1",), ("1", "3")]
    assert tuple(handler.command_and_arguments(request, JOB, pieces[0])) == ("seq", "1", "2", "9")


def test_parametric_without_sets_is_refused():
    with pytest.raises(BadRequest, match="at least one"):
        checked(job_type="parametric", executable="seq", argument_sets=[])
    with pytest.raises(BadRequest, match="argument_sets: missing"):
        checked(job_type="parametric", executable="seq")


# tables


def brought(directory, text, n=3):
    (directory / "t.tsv").write_text(text)
    return Result(n, directory, ("t.tsv",))


def test_a_column_is_found_by_its_name(tmp_path):
    result = brought(tmp_path, "event\tmass\n1\t90.5\n2\t91e0")  # the last line is not ended
    assert list(column("t.tsv", "mass", [result, result])) == [90.5, 91.0, 90.5, 91.0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "line 1: .*'mass'"),
        ("event\tpt\n1\t2\n", "line 1: .*'mass'"),
        ("event\tmass\n1\t90\n2\tnine\n", "line 3: .*'2.tnine"),
        ("event\tmass\n1\n", "line 2: "),
        ("event\tmass\n1\t2\t3\n", "line 2: expected 2 columns"),
        ("event\tmass\n\n", "line 2: "),
        ("event\tmass\n1\tnan\n", "line 2: "),
        ("event\tmass\n1\tinf\n", "line 2: "),
        ("event\tmass\n1\t90." + "0" * 5000 + "\n", "line 2: "),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, place):
    with pytest.raises(JimError, match=rf"^local job 3, t\.tsv, {place}"):
        list(column("t.tsv", "mass", [brought(tmp_path, text)]))


def test_a_line_that_is_no_text_is_named(tmp_path):
    (tmp_path / "t.tsv").write_bytes(b"event\tmass\n1\t\xff\xfe\n")
    with pytest.raises(JimError, match=r"local job 0, t\.tsv, line 2"):
        list(column("t.tsv", "mass", [Result(0, tmp_path, ("t.tsv",))]))


def test_a_missing_file_and_a_link_are_refused(tmp_path):
    with pytest.raises(JimError, match=r"local job 5, t\.tsv: the file is missing"):
        list(column("t.tsv", "mass", [Result(5, tmp_path, ())]))
    (tmp_path / "elsewhere").write_text("mass\n1\n")
    (tmp_path / "t.tsv").symlink_to("elsewhere")
    with pytest.raises(JimError, match="is a link"):
        list(column("t.tsv", "mass", [Result(5, tmp_path, ("t.tsv",))]))


def test_columns_are_streamed(tmp_path):
    def results():
        yield brought(tmp_path, "mass\n1\n")
        raise AssertionError("asked for the second result before the first was used")

    assert next(column("t.tsv", "mass", results())) == 1.0


# histograms


@pytest.mark.parametrize(
    ("low", "high", "width", "bins"),
    [(60, 120, 2, 30), (40, 140, 5, 20), (100, 437.5, 10, 34), (20, 21, 0.05, 20), (0, 40, 1, 40), (0, 41, 2, 21)],
)
def test_bins_are_round_and_few(low, high, width, bins):
    histogram = Histogram.between(low, high)
    assert histogram.bins == bins
    assert histogram.width == pytest.approx(width)


def test_values_are_counted_where_they_belong():
    histogram = Histogram(0, 4, 4)
    for value in (-0.1, 0, 0.99, 1, 2.5, 2.5, 3.999999, 4, 1000):
        histogram.fill(value)
    assert histogram.counts == [2, 1, 2, 1]
    assert (histogram.entries, histogram.outside) == (9, 3)


def test_the_peak_is_where_the_values_crowd():
    histogram = Histogram(0, 20, 20)
    for value in (10.4, 10.6, 10.8, 9.6, 11.6, 2.5, 17.5):
        histogram.fill(value)
    assert histogram.peak == pytest.approx(10.6)  # the mean of the first five: (10.4+10.6+10.8+9.6+11.6)/5


def test_nothing_has_no_peak_and_can_be_drawn():
    histogram = Histogram(0, 4, 4)
    histogram.fill(5)
    assert histogram.peak is None
    picture = draw(histogram, "t", "m", "GeV", ["n"])
    assert "peak" not in picture
    assert ">1 outside the range<" in picture


def test_a_picture_escapes_its_words():
    picture = draw(Histogram(0, 1, 1), "<script>&", 'm"', "<b>", ["</svg>"])
    assert "<script" not in picture
    assert "<b>" not in picture
    assert picture.count("</svg>") == 1
    assert "&lt;script&gt;&amp;" in picture


# the documentation


def test_the_page_names_every_job_type_attribute_and_question():
    modules = {each.stem for each in (HOME / "handlers").glob("[a-z]*.py")} - {"base"}
    assert modules == set(TYPES)
    own = [importlib.import_module(f"jim.handlers.{name}").HANDLER.attributes for name in TYPES]
    questions = [name for name in vars(Handler) if not name.startswith("_")]
    for name in {*TYPES, *COMMON, *BY_EVENTS, *questions, *(name for each in own for name in each)}:
        assert re.search(rf"`{name}[`(]", PAGE), name


def test_the_page_s_tables_are_what_the_job_types_declare():
    """Written anew where a declaration has changed: `python bench/attribute_tables.py`."""
    section = PAGE.split(attribute_tables.BEGIN)[1].split(attribute_tables.END)[0]
    assert section == attribute_tables.tables()
    assert "| `mass_min_gev` | number | 60 | least mass of the Z/γ*, in GeV; at least 20 and at most 500 |" in section
    assert "| `events` | whole number | required | events in all; at least 1 |" in section


@pytest.mark.parametrize(
    "name",
    sorted(
        str(each.relative_to(HOME / "examples")) for each in EXAMPLES if not {"catalogue", "captured"} & {*each.parts}
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
