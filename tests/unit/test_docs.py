"""What is told is so: every link, path, target, verb and option exists, and the README's commands work as written."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib import import_module
from math import sin
from pathlib import Path
from xml.etree import ElementTree

import pytest

from jim import __version__, cli
from jim.localbatch.__main__ import parser as localbatch_parser
from jim.request import check, read
from jim.site import file as site_file
from jim.site.file import Site
from jim.site.rules import COMMANDS
from jim.splitting.parameters import declared
from jim.splitting.registry import known, splitter_of
from jim.tasks.file import reading as task_file
from jim.tasks.file.unknown_variables import hints
from tests.support.documents import HOME, blocks, code, indented, text_of
from tools import splitting_pictures

PAGES = [
    "README.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "CHANGELOG.md",
    *(str(path.relative_to(HOME)) for path in sorted((HOME / "docs").rglob("*.md"))),
]
FOLDERS = "jim|docs|tests|shell|adapters|handlers|examples|share|bench|tools"
INVENTED = {"handlers/neutrinos.py"}  # what readers are told to make themselves
JOB_TYPES = {path.stem for path in (HOME / "handlers").glob("[a-z]*.py")} - {"base"}


# Links and paths


def slugs(page: str) -> set[str]:
    """Name the headings of a page as links do."""
    titles = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, heading = target.partition("#")
        if target.startswith("https://"):
            continue
        there = ((HOME / page).parent / path).resolve() if path else HOME / page
        assert there.is_relative_to(HOME), target
        assert there.exists(), target
        if heading:
            assert heading in slugs(str(there.relative_to(HOME))), target


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page: str) -> None:
    for piece in code(page):
        for path in re.findall(rf"(?<![\w/.-])(?:/opt/jim/)?((?:{FOLDERS})/[\w./*-]*)", piece):
            known = path in INVENTED or list(HOME.glob(path.rstrip("./")))
            assert known, f"{page}: {path} is not there"


@pytest.mark.parametrize("page", PAGES)
def test_what_is_pasted_with_further_lines_asks_nothing(page: str) -> None:
    """A question would take the next of these lines for its answer, or end a script."""
    installs = re.findall(
        r"^ *(?:sudo )?apt(?:-get)? install (?!-y ).*(?:\\\n.*)*\n *(?!sudo )[a-z]+ ", text_of(page), re.M
    )
    assert installs == []


def test_the_pictures_are_well_formed_and_say_what_they_show() -> None:
    for picture in (HOME / "docs/images").glob("*.svg"):
        root = ElementTree.fromstring(picture.read_text())
        assert root.find("{http://www.w3.org/2000/svg}desc") is not None
        assert any(f"images/{picture.name}" in text_of(page) for page in PAGES)


def test_screenshots_are_shown_and_of_modest_size() -> None:
    taken = [each for each in (HOME / "docs/images").glob("*.*") if each.suffix != ".svg"]
    script = text_of("tests/browser/screenshots.py")  # its library is only there for browser tests
    assert {each.name for each in taken} == {*re.findall(r'"([\w-]+\.png)": ', script)}
    for picture in taken:
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert picture.stat().st_size < 250_000
        assert any(f"images/{picture.name}" in text_of(page) for page in PAGES)


def test_the_picture_of_the_way_names_its_stations() -> None:
    root = ElementTree.fromstring((HOME / "docs/images/way-of-a-grid-job.svg").read_text())
    words = {"".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"gatekeeper", "door", "inbox", "keeper", "batch system", "wrapper", "tar"} <= words


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "docs/glossary.md")]
)
def test_every_page_leads_to_the_glossary(page: str) -> None:
    assert any("glossary.md)" in part for part in text_of(page).split("\n## ")[:2])


def test_the_glossary_is_in_order() -> None:
    words = [cells[0] for cells in rows("docs/glossary.md", "| word | meaning | more")]
    assert len(words) > 50
    assert words == sorted(words, key=str.lower)


def test_every_splitter_is_told_with_all_it_takes_and_drawn_as_it_is() -> None:
    told = text_of("docs/splitting.md")
    assert set(splitting_pictures.EXAMPLES) == set(known())
    files = {path.name for path in splitting_pictures.PLACE.iterdir()}
    assert files == {f"{name}.svg" for name in known()}
    for name in known():
        section = told.split(f"#### {name}\n")[1].split("\n#")[0]
        assert f"![{name}](images/splitting/{name}.svg)" in section
        shared = told.split("## The splitters")[0] + told.split("### Events and lumis")[1].split("####")[0]
        for one in declared(splitter_of(name).Parameters).values():
            rows = [line for line in (section + shared).splitlines() if line.startswith(f"| `{one.name}` |")]
            assert any(row.endswith(f" | {one.kind.what} | {one.help} |") for row in rows), f"{name}: {one.name}"
        # Drawn anew where the rule, or the example, has changed: `python tools/splitting_pictures.py`.
        assert (splitting_pictures.PLACE / f"{name}.svg").read_text() == splitting_pictures.picture(name)


def rows(page: str, heading: str) -> Iterator[list[str]]:
    """Give the cells of the table that starts like this."""
    for line in text_of(page).split(heading)[1].split("\n\n")[0].splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_readme_sums_up_the_faults_that_were_measured() -> None:
    measured = list(rows("docs/glitches.md", "| what was done | local jobs"))
    assert f"In {len(measured)} faults of 50 local jobs each" in text_of("README.md")
    assert {row[1] for row in measured} == {"50"}
    assert {cell for row in measured for cell in row[2:]} == {"0"}  # lost, twice, done twice, wrong end


# Commands


@pytest.mark.parametrize("page", PAGES)
def test_targets_exist(page: str) -> None:
    targets = set(re.findall(r"^([\w-]+):.*##", (HOME / "Makefile").read_text(), re.MULTILINE))
    for piece in code(page):
        for name in re.findall(r"^\s*make ([\w-]+)", piece):
            assert name in targets, f"{page}: make {name}"


@cache
def options_of(words: tuple[str, ...]) -> frozenset[str]:
    """Ask a verb for its options."""
    said = io.StringIO()
    with redirect_stdout(said), suppress(SystemExit):
        cli.main([*words, "--help"])
    return frozenset(re.findall(r"(?<![\w-])--?[a-z][\w-]*", said.getvalue()))


def calls(page: str) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Give the calls of `jim` on a page: the verb, of some its own verb too, and what follows."""
    for piece in code(page):
        found = re.match(
            r"(?:\S+=\S+ )*(?:sudo -u \S+ )?(?:/opt/jim/|\./)?(?:shell/)?jim( .*)?$", piece.strip().partition(" | ")[0]
        )
        words = (found[1] or "").split() if found else []
        if words[:1] in (["site"], ["ce"], ["gram"], ["db"], ["task"]) and len(words) > 1:
            yield tuple(words[:2]), words[2:]
        elif words and re.fullmatch(r"[a-z]+", words[0]):
            yield (words[0],), words[1:]


@pytest.mark.parametrize("page", PAGES)
def test_verbs_and_options_exist(page: str) -> None:
    for verb, rest in calls(page):
        assert verb[0] in (*cli.VERBS, "help"), f"{page}: jim {verb[0]}"
        assert verb[0] == "help" or "--help" in options_of(verb), f"{page}: jim {' '.join(verb)}"
        told = {word.partition("=")[0] for word in rest if word.startswith("-")}
        assert told <= options_of(verb), f"{page}: jim {' '.join(verb)}"


@pytest.mark.parametrize("page", PAGES)
def test_calls_of_the_local_batch_system_are_possible(page: str) -> None:
    for piece in code(page):
        for words in re.findall(r"-m jim\.localbatch (--area .*)", piece):
            assert localbatch_parser().parse_args(words.split())


def test_the_calls_are_found() -> None:
    """The tests above look at something."""
    assert (("submit",), ["examples/hello.toml", "--watch"]) in list(calls("README.md"))
    assert (("site", "init"), ["--account", "mc", "--account", "cms"]) in list(calls("docs/installing.md"))
    assert {"make demo", "make test"} <= set(code("README.md"))
    assert any("-m jim.localbatch --area" in piece for piece in code("docs/tuning.md"))


def test_the_verbs_examples_are_as_they_are_told() -> None:
    """`jim VERB --help` and the guide show calls that their own verb takes."""
    examples = [verb.example for verb in cli.VERBS.values()] + re.findall(r"^  (jim .*?)(?:  |$)", cli.GUIDE, re.M)
    for example in examples:
        words = example.partition(">")[0].split()
        verb = tuple(words[1:3]) if words[1] in ("site", "db") else (words[1],)
        assert {word for word in words if word.startswith("-")} <= options_of(verb), example


# The README's commands, run as written


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A state directory; when it is gone, its keeper and its local batch system end."""
    state = tmp_path / "state"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JIM_")}
    yield {**kept, "JIM_STATE": str(state), "JIM_PYTHON": sys.executable}
    shutil.rmtree(state, ignore_errors=True)  # what they still write meanwhile does not matter


def test_the_readme_s_own_commands_work(newcomer: dict[str, str]) -> None:
    lines = [line for block in blocks("README.md", "sh") for line in block.splitlines() if not line.startswith("make ")]
    assert len(lines) >= 5
    said = {}
    for line in lines:
        done = subprocess.run(
            ["/bin/sh", "-c", line], cwd=HOME, env=newcomer, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{line}: {done.stderr}{done.stdout}"
        assert "Traceback" not in done.stderr, line
        said[line] = done.stdout
    followed = said["shell/jim submit examples/hello.toml --watch"].splitlines()
    assert (followed[0], followed[-2]) == ("2", "2 completed")
    assert followed[-1].startswith("tar ")
    assert "hello, grid\n" in said["shell/jim logs 2.0"]
    assert said["shell/jim run examples/hello.sh grid"] == f"hello, grid, from {os.uname().nodename}\n"


def test_the_demo_ends_as_told() -> None:
    """The captured words are those that programs still say."""
    (told,) = blocks("README.md", "text")
    demo = (HOME / "shell/jim-demo").read_text()
    assert told.startswith("Handed in as grid job 1:\n")
    assert "Handed in as grid job $job:" in demo
    events = tomllib.loads((HOME / "examples/z_to_ee.toml").read_text())
    assert f"generate {events['events']:,} of {events['events']:,} events" in told
    number = events["events"] // events["events_per_job"]
    assert f"finished (completed: {number} of {number})" in told


# The job type of docs/handlers.md, installed, handed in and brought home as written


def test_the_new_job_type_goes_all_the_way(newcomer: dict[str, str], tmp_path: Path) -> None:
    (module,) = blocks("docs/handlers.md", "python")
    settings, request, tried, handing_in, told = (
        block
        for block in indented("docs/handlers.md")
        if re.match(r"\[site\]|job_type|job type  |jim submit|1 completed", block)
    )
    assert len(module.splitlines()) <= 40
    assert "`/opt/site/mysite/neutrinos.py`" in text_of("docs/handlers.md")
    assert handing_in == "jim submit neutrinos.jdf --watch\n"
    home, state = tmp_path / "opt/site", Path(newcomer["JIM_STATE"])
    (home / "mysite").mkdir(parents=True)
    (home / "mysite/neutrinos.py").write_text(module)
    state.mkdir(mode=0o700)
    (state / "site.toml").write_text(settings.replace("/opt/site", str(home)))
    (tmp_path / "neutrinos.jdf").write_text(request)

    def say(*words: str) -> str:
        command = [HOME / "shell" / words[0], *words[1:]]
        done = subprocess.run(
            command, cwd=tmp_path, env=newcomer, capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done.stdout

    assert say("jim", "submit", "neutrinos.jdf", "--dry-run").startswith(tried)
    # The page shows the people's door; a gatekeeper's is taken here, and must do the same.
    assert say("jim-submit", "neutrinos.jdf").startswith("GRAM_SCRIPT_JOB_ID:1\n")
    *_, ended, tar, result = say("jim", "watch", "1").splitlines()
    assert say("jim-poll", "1") == "GRAM_SCRIPT_JOB_STATE:8\n\n"
    assert "shoot 200,000 of 200,000 events" in say("jim", "show", "1")
    files = ("neutrinos", "count", "stdout", "stderr")
    with tarfile.open(state / "work/1/result/1.tar") as brought:
        names = {each for each in brought.getnames() if not each.startswith("jim/")}
        assert names == {"summary.json"} | {f"1.{n}/{name}" for n in range(4) for name in files}
        shot = [brought.extractfile(f"1.{n}/neutrinos").read().split(b"\n")[:-1] for n in range(4)]  # type: ignore[union-attr]
    assert [int(line.split()[0]) for lines in shot for line in lines] == list(range(1, 200_001))
    changed = [sum(line.endswith(b" 1") for line in lines) for lines in shot]
    assert len(set(changed)) > 1  # no two with the same seed
    # Two flavours, 2.5e-3 eV^2, full mixing, over energies from 1 to 10 GeV; three standard deviations of 200,000.
    expected = sum(sin(1.267 * 2.5e-3 * 810 / (1 + 9 * (n + 0.5) / 9000)) ** 2 for n in range(9000)) / 9000
    assert abs(sum(changed) / 200_000 - expected) < 0.004
    share = f"{sum(changed) / 2000:.1f}%"
    assert result == f"result       {sum(changed):,} of 200,000 neutrinos have changed, {share}"
    as_told = [re.sub(r"/\S+/work|[0-9.]+ [kM]B|[0-9,.]+(?= of 200|%)", "…", line) for line in told.splitlines()]
    assert as_told == [
        re.sub(r"/\S+/work|[0-9.]+ [kM]B|[0-9,.]+(?= of 200|%)", "…", line) for line in (ended, tar, result)
    ]


# Examples, and what is said to exist


@pytest.mark.parametrize("file", sorted(path.name for path in (HOME / "examples").glob("*.*") if path.suffix != ".sh"))
def test_examples_are_accepted(file: str) -> None:
    assert check(read(HOME / "examples" / file))


def test_requests_in_pages_are_accepted(tmp_path: Path) -> None:
    requests = [block for page in PAGES for block in blocks(page, "toml")]
    assert requests
    for number, block in enumerate(requests):
        file = tmp_path / f"{number}.toml"
        file.write_text(block)
        assert task_file.read(file, Site(tmp_path)) if "[[task]]" in block else check(read(file))


def test_all_variables_of_tasks_in_pages_are_known(tmp_path: Path) -> None:
    pages = [block for page in PAGES for block in blocks(page, "toml") if "[[task]]" in block]
    files = [tmp_path / f"{number}.toml" for number in range(len(pages))]
    for file, block in zip(files, pages, strict=True):
        file.write_text(block)
    site = Site(tmp_path)
    assert len(files) > 5
    for file in files:
        assert [each for spec in task_file.read(file, site) for each in hints(spec, site)] == [], file


def test_the_readme_s_request_is_the_example() -> None:
    (told,) = blocks("README.md", "toml")
    assert tomllib.loads(told) == tomllib.loads((HOME / "examples/hello.toml").read_text())


def test_settings_in_pages_are_accepted(tmp_path: Path) -> None:
    settings = [block for page in PAGES for block in indented(page) if block.startswith("[")]
    assert len(settings) >= 2
    for number, block in enumerate(settings):
        file = tmp_path / f"{number}.toml"
        file.write_text(re.sub('"/opt/(site|jim)"', f'"{tmp_path}"', block))  # it must be there
        assert site_file.read(file, tmp_path)


def test_the_beginning_of_a_model_is_as_it_is_told() -> None:
    (block,) = [each for each in indented("docs/tasks.md") if "[model]" in each]
    assert tomllib.loads(block)["model"] == tomllib.loads(text_of("jim/models/d0-reprocess.toml"))["model"]


@pytest.mark.parametrize("page", ["README.md", "docs/handlers.md"])
def test_the_table_of_job_types_is_complete(page: str) -> None:
    table = text_of(page).split("| job type | what it does |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == JOB_TYPES


def rows_of_commands() -> dict[str, set[str]]:
    """Return the adapters that docs/adapters.md says to have a command, by the name of the command."""
    table = text_of("docs/adapters.md").split("| name | what JIM does")[1].split("\n\n")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    told = {
        name: set(re.findall(r"`(\w+)`", last)) for first, _, last in rows for name in re.findall(r"`(\w+)`", first)
    }
    return {name: adapters or {"all"} for name, adapters in told.items()}


def test_every_batch_command_is_told_with_the_adapters_that_have_it():
    stems = sorted(path.stem for path in (HOME / "jim/adapters").glob("[a-z]*.py") if path.stem != "base")
    have = {each: set(import_module(f"jim.adapters.{each}").ADAPTER({}, "").commands) for each in stems}
    of_each = {name: {each for each in have if name in have[each]} for name in COMMANDS}
    assert rows_of_commands() == {
        name: {"all"} if len(those) == len(have) else those for name, those in of_each.items()
    }


def test_the_table_of_batch_systems_is_complete() -> None:
    there = {path.stem for path in (HOME / "adapters").glob("[a-z]*.py")} - {"base"}
    table = text_of("docs/adapters.md").split("| `batch.system` |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == there


def test_the_version_is_told() -> None:
    assert f"version {__version__}" in text_of("README.md")
    assert __version__ in text_of("CHANGELOG.md")


KINDS_OF_CHANGE = ("security", "changed", "added", "fixed", "removed")


def test_a_change_since_the_last_version_is_a_file_of_its_own_with_its_kind() -> None:
    """Lines that everybody adds to the changelog collide, and nobody reads 500 of them."""
    assert len(text_of("CHANGELOG.md").splitlines()) <= 100
    changes = [each for each in (HOME / "changes.d").iterdir() if each.name != "README.md"]
    assert [
        each.name for each in changes if not each.name.endswith(tuple(f".{kind}.md" for kind in KINDS_OF_CHANGE))
    ] == []


def test_the_rooms_are_told() -> None:
    """Each module and package right below `jim/` has its place in the table of rooms, on a map of few lines."""
    told = text_of("docs/architecture.md")
    assert len(told.splitlines()) <= 220
    for path in (HOME / "jim").glob("[a-z]*"):
        name = f"jim/{path.name}" if path.suffix or path.is_symlink() else f"jim/{path.name}/"
        assert f"`{name}`" in told or path.name == "py.typed", f"{name} is in no row"


# The splitter and the step of docs/splitting.md, as written


def test_the_site_s_splitter_and_step_of_the_page_work(newcomer: dict[str, str], tmp_path: Path) -> None:
    step, module = blocks("docs/splitting.md", "python")
    (request,) = (block for block in indented("docs/splitting.md") if "mysite.nights" in block and "job_type" in block)
    own, state = tmp_path / "own", Path(newcomer["JIM_STATE"])
    (own / "mysite").mkdir(parents=True)
    (own / "mysite/steps.py").write_text(step)
    (own / "mysite/nights.py").write_text(module)
    state.mkdir(mode=0o700)
    (state / "site.toml").write_text(f'[site]\nhandlers = "{own}"\nsteps = ["mysite.steps.sane"]\n')
    (tmp_path / "nights.toml").write_text(request)

    def say(*words: str) -> str:
        command = [HOME / "shell/jim", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=newcomer, capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done.stdout

    (listed,) = (line for line in say("splitters").splitlines() if line.startswith("mysite.nights "))
    assert listed.endswith("  One night in a job: the files /store/NIGHT/NAME, at most so many in a job")
    assert "files_per_job  100" in say("splitters", "mysite.nights")
    pieces = json.loads(say("split", "nights.toml", "--json"))
    assert [each["arguments"] for each in pieces] == [["n1:", "/store/n1/a,/store/n1/b"], ["n2:", "/store/n2/c"]]
    assert "mysite.nights" in say("site", "check")
