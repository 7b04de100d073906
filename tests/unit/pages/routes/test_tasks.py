"""The list of tasks and the page of a task, of tasks that a keeper driven by hand has worked on."""

from __future__ import annotations

import csv
import io
import json
import re
from urllib.parse import quote

import pytest
from lxml import etree

from jim import cli
from jim.pages.tokens import Role
from jim.statusdb.documents.xml import schema
from jim.statusdb.task_rows import NewItem, TaskState
from jim.tasks.effects import TaskVerb
from tests.unit.pages.browser import Page, Person
from tests.unit.pages.routes.conftest import MC
from tests.unit.tasks.chain import Chain
from tests.unit.tasks.ground import SH, Ground, a_list


def test_tasks_stand_newest_first_as_the_command_line_has_them(world: Ground, reader: Person, capsys) -> None:
    world.create(MC)
    world.ask(TaskVerb.START, "mc", untested=True)
    world.until(lambda: world.batch.tasks)
    world.create(MC.replace('"mc"', '"other"'), "other.toml")
    told = reader.json("/tasks.json")
    assert cli.main(["task", "status", "--json"]) == 0
    assert {each["name"]: each for each in told["tasks"]} == {
        each["name"]: each for each in json.loads(capsys.readouterr().out)
    }
    assert ([each["name"] for each in told["tasks"]], told["shown_of"], told["next"]) == (["other", "mc"], 2, None)
    page = reader.page("/tasks")
    mc = next(row for row in page.rows if row[0].strip() == "mc")
    assert [" ".join(cell.split()) for cell in mc][:6] == [
        *("mc", "running", "2 campaigns", "0 of 4 completed", "4 (4 queued)", "1,000 of 2,000, growing"),
    ]
    assert "/tasks/mc" in page.links()
    assert "Campaigns acquired 2" in reader.page("/tasks/mc").text, "items that are events"
    rows = list(csv.DictReader(io.StringIO(reader.get("/tasks.csv").text)))
    assert [(row["name"], row["state"], row["pieces sent"]) for row in rows] == [
        ("other", "configured", "0"),
        ("mc", "running", "4"),
    ]


def test_the_first_page_names_a_task_in_place_of_its_grid_jobs(world: Ground, reader: Person) -> None:
    world.create(MC)
    world.ask(TaskVerb.START, "mc", untested=True)
    world.until(lambda: world.batch.tasks)
    newest = reader.get("/").text.partition("Newest grid jobs")[2].partition("</section>")[0]
    assert "All grid jobs are those of tasks" in newest
    assert "/jobs/1" not in newest
    number = world.submit(1, key="another")
    newest = reader.get("/").text.partition("Newest grid jobs")[2].partition("</section>")[0]
    assert f"/jobs/{number}" in newest
    assert "Without those of tasks." in newest


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["c", "b", "a"]),
        ("state=running", ["a"]),
        ("state=configured&state=running", ["c", "b", "a"]),
        ("sort=name", ["a", "b", "c"]),
        ("sort=changed", ["a", "c", "b"]),
        ("q=EVENTS ten", ["c", "b", "a"]),
        ("q=c", ["c"]),
        ("failed=yes", []),
        ("open=no", ["a"]),
        ("open=yes", ["c", "b"]),
    ],
)
def test_filters_and_orders_show_the_same_rows_on_the_page_and_in_json_page_by_page(
    world: Ground, reader: Person, query: str, names: list[str]
) -> None:
    for name in "abc":
        world.create(MC.replace('"mc"', f'"{name}"').replace("ten events", f"ten events {name * 3}"), f"{name}.toml")
        world.clock.now += 1
    world.ask(TaskVerb.START, "a", untested=True)
    world.go(3)
    assert [each["name"] for each in reader.json(f"/tasks.json?{query}")["tasks"]] == names
    assert [row[0].strip() for row in reader.page(f"/tasks?{query}").rows if row[0].strip() in "abc"] == names
    found, where = [], f"/tasks.json?{query}&limit=1"
    while where:
        told = reader.json(where)
        found += [each["name"] for each in told["tasks"]]
        where = told["next"]
    assert found == names


def test_each_page_of_a_task_shows_what_the_command_line_shows(failing: Ground, reader: Person, capsys) -> None:
    for words, path in (
        ("show files", "/tasks/files"),
        ("explain files", "/tasks/files/explain"),
        ("show files/0", "/tasks/files/0"),
        ("explain files/1", "/tasks/files/1/explain"),
    ):
        assert cli.main(["task", *words.split(), "--json"]) == 0
        assert reader.json(f"{path}.json") == json.loads(capsys.readouterr().out)
    page = reader.page("/tasks/files")
    text = page.text
    assert "2 of 3 completed" in text
    assert "exit 3" in text
    assert "as in files/0" in text
    groups = [
        [" ".join(cell.split()) for cell in row] for row in page.rows if len(row) == 4 and row[0].strip() in ("1", "2")
    ]
    assert [row[:3] for row in groups] == [
        ["1", "1 completed, 2 failed", "1 completed, 1 failed"],
        ["2", "2 completed", "1 completed"],
    ]


def test_from_a_reason_to_the_log_of_a_piece(failing: Ground, reader: Person) -> None:
    where = next(link for link in reader.page("/tasks/files").links() if "reason=" in link)
    page = reader.page(where)
    row = next(row for row in page.rows if row[0].strip() == "files/0")
    assert [" ".join(cell.split()) for cell in row][1:5] == ["failed", "1", "1", "1.0 stderr"]
    assert {"/tasks/files/0", "/jobs/1/0", "/jobs/1/0/log/stderr"} <= {*page.links()}
    piece = reader.page("/tasks/files/0")
    assert [row[:2] for row in piece.rows if row[0].startswith("run")] == [
        ["run1_a", "all of it"],
        ["run1_b", "all of it"],
    ]
    assert {"/jobs/1/0", "/jobs/1/0/log/stdout"} <= {*piece.links()}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["run1_a", "run1_b", "run1_c", "run2_a", "run2_b"]),
        ("state=failed", ["run1_a", "run1_b"]),
        ("state=completed&group=1", ["run1_c"]),
        ("group=2", ["run2_a", "run2_b"]),
        ("name=*_a", ["run1_a", "run2_a"]),
        ("name=[!x]*", []),
        ("piece=1", ["run1_c"]),
        ("state=late", []),
    ],
)
def test_items_are_listed_by_name(failing: Ground, reader: Person, query: str, names: list[str]) -> None:
    told = reader.json(f"/tasks/files/items.json?{query}")
    assert ([each["name"] for each in told["items"]], told["shown_of"]) == (names, len(names))
    rows = [row[0].strip() for row in reader.page(f"/tasks/files/items?{query}").rows]
    assert [name for name in rows if name.startswith("run")] == names
    found, where = [], f"/tasks/files/items.json?{query}&limit=1"
    while where:
        page = reader.json(where)
        found += [each["name"] for each in page["items"]]
        where = page["next"]
    assert found == names


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        *(("", [0, 1, 2]), ("state=failed", [0]), ("state=completed", [1, 2]), ("group=1", [0, 1])),
        *(("wave=1", [0, 1, 2]), ("wave=2", []), ("after=0", [1, 2]), ("reason=exit *", [0])),
        ("reason=exit 3&state=completed", []),
    ],
)
def test_pieces_are_listed_by_number(failing: Ground, reader: Person, query: str, numbers: list[int]) -> None:
    told = reader.json(f"/tasks/files/pieces.json?{query}")
    assert [each["piece"] for each in told["pieces"]] == numbers
    rows = [row[0].strip() for row in reader.page(f"/tasks/files/pieces?{query}").rows[1:]]
    assert rows == [f"files/{number}" for number in numbers]


def test_the_page_of_an_item_tells_its_story_as_the_command_line_does(chained: Chain, capsys, monkeypatch) -> None:
    chained.chain()
    chained.finish()
    reader = Person(chained)  # type: ignore[arg-type]
    number = chained.store.pools.item_named(chained.task("reco").id, "gen/7").id
    assert cli.main(["task", "items", "reco", "gen/7", "--story", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert reader.json(f"/tasks/reco/items/{number}.json")["story"] == told["steps"]
    page = reader.page(f"/tasks/reco/items/{number}")
    rows = [" ".join(row[0].split()) for row in page.rows[1:]]
    assert rows == ["item gen/7", "piece reco/1", "output reco/1", "piece merge/0", "output all/0"]
    merged = chained.store.pools.item_named(chained.task("merge").id, "reco/1").id
    assert {"/tasks/reco/1", "/jobs/2/1", "/tasks/merge/0", "/jobs/3/0", f"/tasks/merge/items/{merged}"} <= {
        *page.links()
    }
    assert f"{chained.stores['merge']}/merge-0000000-all.dat" in page.text
    monkeypatch.setattr("jim.pages.routes.task_parts.STEPS_SHOWN", 2)
    short = reader.page(f"/tasks/reco/items/{number}")
    assert "Only the first 2 steps are here" in short.text
    assert len(short.rows) == 3


def test_tasks_are_xml_documents_that_can_be_asked(failing: Ground, reader: Person) -> None:
    whole = etree.fromstring(reader.get("/tasks.xml").data)
    assert [each.get("name") for each in whole.findall("{urn:jim:status:1}task")] == ["files"]
    one = etree.fromstring(reader.get("/tasks/files.xml").data)
    assert etree.RelaxNG(etree.fromstring(schema())).validate(one)
    assert reader.get("/tasks/nothing.xml").status_code == 404
    assert {"/tasks.xml"} <= {*reader.page("/tasks").links()}
    assert {"/tasks/files.xml"} <= {*reader.page("/tasks/files").links()}
    expression = "//jim:task_piece[@state='failed']/@reason"
    for where in ("", "&task=files", "&task=*"):
        page = reader.page(f"/query?xpath={quote(expression)}{where}")
        assert [[cell.strip() for cell in row] for row in page.rows[1:]] == [["files/0", "exit 3"]]
        assert "/tasks/files/0" in page.links()
    told = reader.json(f"/query.json?xpath={quote(expression)}&task=files")
    assert (told["tasks"], told["items"], told["grid_jobs"]) == (1, 5, 0)
    assert reader.get("/query?xpath=//jim:item&task=Nothing").status_code == 400
    assert reader.get("/query?xpath=//jim:item&task=nothing").status_code == 404
    assert reader.get("/query?xpath=//jim:item&task=files&grid=1").status_code == 400


def test_waves_are_folded_into_tasks_until_somebody_asks_for_them(failing: Ground, reader: Person) -> None:
    page = reader.page("/jobs")
    assert page.ids() == []
    assert next(row for row in page.rows if row[0].strip() == "files")
    unfolded = next(link for link in page.links() if "waves=yes" in link)
    assert reader.page(unfolded).ids() == ["1"]
    assert reader.page("/jobs?task=files").ids() == ["1"]
    assert reader.page("/jobs?type=executable").ids() == ["1"], "whoever looks for grid jobs finds those of tasks, too"
    assert [each["id"] for each in reader.json("/jobs.json")["jobs"]] == [1]
    assert reader.get("/jobs?task=nothing").status_code == 404
    assert "/tasks/files" in reader.page("/jobs/1").links()


def test_what_is_not_there_is_not_found(failing: Ground, reader: Person) -> None:
    for path in ("/tasks/nothing", "/tasks/nothing.json", "/tasks/files/3", "/tasks/nothing/items", "/tasks/nothing/0"):
        assert reader.get(path).status_code == 404, path
    assert reader.get("/tasks?state=runing").status_code == 400
    assert reader.get("/tasks?after=x").status_code == 400


LIVE = (
    "/",
    "/tasks",
    "/tasks/files",
    "/tasks/files/0",
    "/tasks/files/items",
    "/tasks/files/pieces",
    "/tasks/files/items/1",
)


def test_a_poll_of_tasks_with_nothing_new_renders_nothing(failing: Ground, reader: Person, monkeypatch) -> None:
    reader.within_a_minute()
    at = [1000.0]
    monkeypatch.setattr(reader.pages.marks, "clock", lambda: at[0])
    for path in LIVE:
        reader.get(path)  # what a thread finds out is found out
    at[0] += 10
    tags = {path: reader.get(path).headers["ETag"] for path in LIVE}
    store = failing.store
    task = store.tasks.named("files").id
    with monkeypatch.context() as unable:
        unable.setattr(type(reader.pages), "html", None)
        for again in range(2):
            at[0] += 10
            assert {reader.get(path, If_None_Match=tags[path]).status_code for path in LIVE} == {304}, again
            store.pools.set_source(task, 0, looked="2026-01-01T00:00:00.000Z")  # it was looked at, with nothing new
    changes = (
        lambda: store.tasks.note(task, "something"),
        lambda: store.tasks.change(task, priority=7),
        lambda: store.pools.set_source(task, 0, reason="away"),
        lambda: store.pieces.want_again(task, [0]) or store.waves.change(store.waves.all(task)[0], reason="odd"),
        lambda: store.pools.add_items(task, [NewItem("run9_x", "9")]),
    )
    for number, change in enumerate(changes):
        before = reader.pages.marks.of(None).mark
        change()
        at[0] += 10
        assert reader.pages.marks.of(None).mark != before, number
    assert reader.get("/tasks/files", If_None_Match=tags["/tasks/files"]).status_code == 200


@pytest.mark.parametrize(
    ("where", "name", "rows"),
    [
        *(("/tasks", "name", 1), ("/jobs", "id", 1), ("/tasks/files/groups", "group", 2)),
        *(("/tasks/files/items", "name", 5), ("/tasks/files/pieces", "piece", 3)),
    ],
)
def test_csv_names_its_next_page(failing: Ground, reader: Person, where: str, name: str, rows: int) -> None:
    found, at = [], f"{where}.csv?limit=1"
    while at:
        answer = reader.get(at)
        found += [row[name] for row in csv.DictReader(io.StringIO(answer.text))]
        link = answer.headers.get("Link", "")
        at = re.fullmatch(r'<(.*)>; rel="next"', link)[1] if link else ""  # type: ignore[index]
    assert len(set(found)) == len(found) >= rows


def test_the_first_page_tells_of_tasks_and_of_those_that_want_somebody(failing: Ground, reader: Person) -> None:
    assert "0 tasks" not in reader.page("/").text
    assert reader.json("/index.json")["tasks"] == {"counts": {"running": 1}, "with_failures": 1, "wanting": []}
    page = reader.page("/")
    assert {"/tasks?state=running", "/tasks?failed=yes"} <= set(page.links())
    assert "In trouble" not in page.text, "the task tells of its grid jobs"
    task = failing.task("files")
    failing.store.tasks.change(task.id, state="paused", reason="by itself: 20 in a row: exit <3>")
    told = reader.json("/index.json")["tasks"]
    assert told == {
        "counts": {"paused": 1},
        "with_failures": 1,
        "wanting": [{"name": "files", "why": "by itself: 20 in a row: exit <3>", "more": ""}],
    }
    assert "by itself: 20 in a row: exit <3>" in reader.page("/").text
    failing.store.tasks.change(task.id, state="finished", outcome="with failures", reason="")
    (wanting,) = reader.json("/index.json")["tasks"]["wanting"]
    assert wanting["why"] == "finished with failures: 1 piece failed"
    assert "1 task wants somebody" in reader.page("/").text


def test_a_piece_shows_its_attempts_and_what_it_took(failing: Ground, reader: Person) -> None:
    (attempt,) = [row for row in reader.page("/tasks/files/0").rows if row[0].strip() == "1.0"]
    assert [" ".join(cell.split()) for cell in attempt][1:4] == ["1", "failed", "node1"]
    assert "after 1 s" in " ".join(reader.page("/tasks/files/1").text.split())


def test_a_store_that_is_away_is_told_alike_everywhere_but_to_the_role_see(world, reader, capsys, tmp_path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    text = MC.replace("{ job_type", '{ outputs = ["*.dat"], job_type')
    world.brings = lambda _: {"a.dat": b"a"}
    world.start(f'{text}output = [ {{ name = "gen", files = "*.dat", store = "{store}" }} ]\n', "mc")
    world.until(lambda: len(world.batch.tasks) == 4)
    store.rmdir()
    world.until(lambda: world.work() or len(world.store.outputs.in_trouble(1, 9)) == 4)
    why = f"output gen of piece mc/0 is not stored: {store}: No such file or directory"
    for words in ("status", "status mc", "show mc", "explain mc"):
        assert cli.main(["task", *words.split()]) == 0
        assert why in capsys.readouterr().out, words
        assert cli.main(["task", *words.split(), "--json"]) == 0
        assert why in capsys.readouterr().out, words
    paths = ("/tasks", "/tasks.json", "/tasks.csv", "/tasks/mc", "/tasks/mc.json", "/jobs")
    for path in paths:
        page = reader.get(path)
        text = page.text if path.endswith(("csv", "json")) else Page(page.text).text
        assert why.removeprefix("output") in text, path
    assert reader.json("/tasks.json")["tasks"][0]["reason"] == reader.json("/tasks/mc.json")["reason"] == why
    _, secret = reader.pages.tokens.made(Role.SEE, 1)
    stranger = Person(world, logged_in=False)  # type: ignore[arg-type]
    stranger.pages.tokens = reader.pages.tokens
    for path in paths:
        answer = stranger.get(path, Authorization=f"Bearer {secret}")
        assert (answer.status_code, str(store) in answer.text) == (200, False), path
    store.mkdir()
    world.until(lambda: world.task("mc").state is TaskState.FINISHED, seconds=30.0)
    assert reader.json("/tasks/mc.json")["reason"] == ""


def test_a_source_that_is_away_is_no_secret_but_its_place_is(world, reader, tmp_path) -> None:
    names = a_list(tmp_path, "a", closed=False)
    world.start(f'[[task]]\nname = "t"\n{SH}\nsource = [ {{ list = "{names}" }} ]\n')
    world.go(3)
    names.unlink()
    world.until(lambda: world.store.pools.sources(1)[0].reason != "")
    away = f"list {names} cannot be looked at: "
    assert reader.json("/tasks/t.json")["reason"].startswith(away)
    assert away.strip() in Page(reader.get("/tasks").text).text
    _, secret = reader.pages.tokens.made(Role.SEE, 1)
    stranger = Person(world, logged_in=False)  # type: ignore[arg-type]
    stranger.pages.tokens = reader.pages.tokens
    for path in ("/tasks", "/tasks.json", "/tasks.csv", "/tasks/t", "/tasks/t.json", "/jobs"):
        answer = stranger.get(path, Authorization=f"Bearer {secret}")
        assert (answer.status_code, str(names) in answer.text) == (200, False), path


@pytest.mark.parametrize("path", ["/tasks/no", "/tasks/mc/99", "/tasks/mc/items/1", "/tasks/mc/items/99"])
def test_what_is_not_there_below_tasks_speaks_of_tasks(world: Ground, reader: Person, path: str) -> None:
    world.create(MC)
    reader.pages.removed_at = lambda _: "2026-01-31"  # type: ignore[attr-defined]
    answer = reader.get(path)
    assert answer.status_code == 404
    assert "A task stays until somebody removes it" in Page(answer.text).text
    assert "Grid jobs" not in Page(answer.text).text.replace("Grid jobs", "", 1)  # the menu has one
