"""Whatever anybody wrote: on no page and in no mirror does it run, and nothing of it is lost silently."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from jim.evidence.exit_record import read_exit_record
from jim.model import Piece, State, Step, SubmissionState, Witness
from jim.pages.export import export
from jim.pages.shown import visible
from tests.unit.pages.browser import Page, Person, addresses
from tests.unit.pages.grounds import Ground, add_task, record

STRINGS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]>&lt;b&gt;",
    "{{7*7}}{% x %}",
    "\u202eevil\u2066",
    "nul\x00bel\x07",
    "=HYPERLINK(1)",
    "'--; DROP TABLE grid_job",
    "../../../etc/passwd",
)
EVIL = " ".join(STRINGS)
SHOWN = EVIL.replace("\u202e", "⟨U+202E⟩").replace("\u2066", "⟨U+2066⟩").replace("\x00", "⟨U+0000⟩")
SHOWN = SHOWN.replace("\x07", "⟨U+0007⟩")
UNQUOTED = EVIL.replace("'", "").replace("\x00", "").replace("\x07", "")
NAMED = EVIL.replace("\x00", "").replace("\x07", "")  # in addresses, which have no control characters
PAGES = (
    *("/", "/jobs", "/jobs?owner={}", "/jobs?q={}", "/jobs/1", "/jobs/1?reason={}", "/jobs/1?host={}"),
    *(
        "/jobs/1/0",
        "/jobs/1/1",
        "/hosts",
        "/hosts/{}",
        "/site",
        "/tasks",
        "/tasks?q={}",
        "/tasks/mc",
        "/tasks/mc/items",
    ),
    *("/tasks/mc/items?name={}", "/tasks/mc/items?group={}", "/tasks/mc/groups", "/tasks/mc/pieces", "/tasks/mc/0"),
    "/tasks/mc/pieces?reason={}",
)


@pytest.fixture
def evil(ground: Ground) -> Ground:
    """A grid job in which every text that may be anything is evil."""
    request = {"job_type": "executable", "key": EVIL, "executable": EVIL, "arguments": [EVIL], EVIL: EVIL}
    ground.store.add_grid_job(1, EVIL, EVIL, "2026-01-31T11:00:00.000Z", request)
    ground.store.set_grid_job(1, step=Step.RESOLVED, why=EVIL, reason=EVIL, place="1")
    piece = Piece(arguments=(EVIL,), files=(EVIL,), variables={EVIL: EVIL}, attributes={EVIL: EVIL}, mask={"x": EVIL})
    ground.store.add_pieces(1, 0, [piece, piece, piece])
    ground.store.end_split(1, 3)
    ground.store.intend(1, 1, "jim-cafe-1-1", [ground.store.local_job(1, n) for n in (0, 1)])
    ground.store.set_submission(1, 1, state=SubmissionState.CONFIRMED, batch_id=EVIL, reason=EVIL)
    ground.store.set_grid_job(1, step=Step.ACTIVE)
    told = record("jim-cafe-1-1", 2, 1, 1, "wn1", ground.now, 60, 0)
    evil_name = NAMED.replace("../../../", "")
    told = told.replace("end\n", f"file 5 {'0' * 64} {evil_name}\nend\n")
    assert read_exit_record(told).files[0].name == evil_name
    for idx, n in ((1, 0), (2, 1)):
        ground.store.set_attempt(1, 1, idx, host=NAMED, started="2026-01-31T11:00:00Z", reason=EVIL)
        ground.leave(1, 1, idx, "stdout", EVIL.encode() + b"\xff\xed\xa0\x80")
        ground.leave(1, 1, idx, "stderr", b"x" * 1_000_000)
        xml = f'<x:y xmlns:x="urn:x" a="{_escaped(EVIL)}">{_escaped(EVIL)}</x:y>'
        ground.store.publications.publish(1, n, "evil", xml)
    ground.store.set_attempt(1, 1, 1, verdict="failed")
    ground.store.set_attempt(1, 1, 2, verdict="completed", record=told)
    ground.store.set_local_job(1, 0, state=State.FAILED, witness=Witness.QUEUE, reason=EVIL)
    add_task(ground, EVIL)
    check = {"name": EVIL, "level": "failed", "said": EVIL, "todo": EVIL}
    for file in (ground.site.checked, ground.site.tested):
        file.write_text(json.dumps({"at": "2026-01-31T11:00:00.000Z", "line": EVIL, "checks": [check]}))
    ground.store.set_local_job(1, 1, state=State.COMPLETED, witness=Witness.QUEUE, reason=EVIL)
    return ground


def _escaped(text: str) -> str:
    bare = "".join(each for each in text if each not in "\x00\x07")
    return bare.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace(">", "&gt;")


ALLOWED = {"a", "abbr", "article", "b", "body", "button", "caption", "code", "dd", "defs", "details", "div", "dl", "dt"}
ALLOWED |= {
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "head",
    "header",
    "html",
    "input",
    "label",
    "li",
    "line",
    "text",
    "datalist",
}
ALLOWED |= {"link", "main", "meta", "nav", "ol", "option", "p", "path", "pattern", "pre", "rect", "script", "section"}
ALLOWED |= {
    "select",
    "span",
    "strong",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "time",
    "title",
    "tr",
    "ul",
}


def require_inert(page: Page) -> None:
    """Let nothing be on a page that only those could have put there whose texts it shows."""
    assert {tag for tag, _ in page.elements} <= ALLOWED
    scripts = [each["src"].partition(".")[0] for each in page.all("script")]
    live = [] if "<h1>Query" in page.html else ["/static/jim"]  # that page is not live
    assert scripts == [*live, "/static/reader"]
    for tag, attributes in page.elements:
        names = {name for name in attributes if name.startswith("on") or name == "style"}
        assert names == set(), (tag, attributes)
        for name in ("href", "src", "action"):
            where = attributes.get(name)
            assert where is None or re.match(r"/(?!/)|\?|#", where), (tag, where)
    assert "49" not in page.text.replace("<", "").partition("evil")[0][-3:]
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page.html)


@pytest.mark.parametrize("path", [*PAGES, "/jobs/1/0/log/stdout", "/jobs/1/0/log/stderr"])
def test_hostile_strings_are_text(evil: Ground, person: Person, path: str) -> None:
    page = person.page(path.format(quote(NAMED if path.startswith("/hosts/") else EVIL)))
    require_inert(page)
    if "log/stderr" not in path:
        shown = page.text.replace("\u2066", "")
        assert "<script>alert(1)</script>" in shown
        assert "{{7*7}}{% x %}" in shown
        assert "⟨U+202E⟩evil⟨U+2066⟩" in shown


def test_a_line_of_a_megabyte_is_cut_into_parts(evil: Ground, person: Person) -> None:
    page = person.page("/jobs/1/0/log/stderr")
    assert "Bytes 934,464 to 1,000,000 of 1,000,000" in page.text
    assert "x" * 65_536 in page.text
    assert "x" * 65_537 not in page.text


def test_hostile_strings_in_errors_are_text(evil: Ground, person: Person) -> None:
    for path in ("/jobs?status={}", "/jobs?{}=1", "/jobs/1/0/log/{}", "/jobs/1/{}", "/jobs/1/1/output/{}", "/{}"):
        answer = person.get(path.format(quote(EVIL, safe="")))
        assert answer.status_code in (400, 404), path
        page = Page(answer.text)
        assert not page.all("img") + page.all("b"), path
        assert not page.all("script"), path


def test_json_gives_the_strings_back(evil: Ground, person: Person) -> None:
    document = person.json("/jobs/1.json")
    assert (document["key"], document["owner"], document["request"][EVIL]) == (EVIL, EVIL, EVIL)
    local = person.json("/jobs/1/0.json")
    assert (local["reason"], local["piece"]["arguments"], local["attempts"][0]["host"]) == (EVIL, [EVIL], NAMED)
    assert person.json("/jobs.json")["jobs"][0]["owner"] == EVIL
    assert person.json("/index.json")["in_trouble"][0]["key"] == EVIL
    assert person.get("/jobs/1.json").text.isascii()
    assert person.json("/site.json")["checked"]["checks"][0]["said"] == EVIL
    hosts = person.json("/hosts.json")["hosts"]
    assert [(each["host"], each["reasons"][0]["words"]) for each in hosts] == [(NAMED, EVIL)]
    host = person.json(f"/hosts/{quote(NAMED, safe='')}.json")
    assert (host["host"], host["attempts"][0]["reason"]) == (NAMED, EVIL)


def test_csv_gives_the_strings_back_and_holds_no_formula(evil: Ground, person: Person) -> None:
    evil.store.set_grid_job(1, reason=EVIL[EVIL.index("=") :])
    rows = list(csv.DictReader(io.StringIO(person.get("/jobs.csv").text)))
    assert rows[0]["owner"] == EVIL
    assert rows[0]["reason"].removeprefix("'") == EVIL[EVIL.index("=") :]
    rows = list(csv.DictReader(io.StringIO(person.get("/jobs/1.csv").text)))
    assert [row["reason"] for row in rows] == [EVIL, EVIL, ""]
    assert all(not cell.startswith(tuple("=+-@\t")) for row in rows for cell in row.values())
    evil.store.set_attempt(1, 1, 1, host=EVIL[EVIL.index("=") :])
    rows = list(csv.DictReader(io.StringIO(person.get("/hosts.csv").text)))
    assert [row["host"].removeprefix("'") for row in rows] == [EVIL[EVIL.index("=") :], NAMED]
    assert rows[0]["host"][0] == "'"


def test_xml_gives_the_strings_back(evil: Ground, person: Person) -> None:
    kept = EVIL.replace("\x00", "\ufffd").replace("\x07", "\ufffd")
    root = ElementTree.fromstring(person.get("/jobs/1.xml").data)
    assert root.attrib["owner"] == kept
    local = ElementTree.fromstring(person.get("/jobs/1/0.xml").data)
    assert local.attrib["reason"] == kept


def test_an_output_of_an_odd_name_is_a_download(evil: Ground, person: Person) -> None:
    name = read_exit_record(evil.store.attempts(1, n=1)[0].record).files[0].name
    evil.leave(1, 1, 2, name.replace("/", "_"), b"12345")  # a name with a directory in it: below is where it lies
    path = evil.site.work / "1/s1/run.2" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"12345")
    answer = person.get(f"/jobs/1/1/output/{quote(name)}")
    assert (answer.status_code, answer.data) == (200, b"12345")
    assert answer.content_type == "application/octet-stream"
    assert re.fullmatch(r"attachment; filename\*=UTF-8''[\w.%-]+", answer.headers["Content-Disposition"])


def test_lone_surrogates_are_shown_by_number(ground: Ground, person: Person) -> None:
    assert visible("a\udcffb\u200b\n\tc") == "a⟨U+DCFF⟩b⟨U+200B⟩\n\tc"
    ground.add(1, 1, 60)
    ground.store.set_local_job(1, 0, reason="bad \udcff name")
    assert "bad \\udcff name" in person.page("/jobs/1").text
    assert person.get("/jobs?q=%ed%a0%80").status_code == 200
    assert json.loads(person.get("/jobs/1/0.json").text)["reason"] == "bad \\udcff name"


def test_no_route_lets_anything_run(evil: Ground, person: Person) -> None:
    """The list of routes is taken from the application; a route that gives no content needs a reason."""
    name = NAMED.replace("/", "_")
    evil.collect(1, {NAMED: b"x"}, {name: b"<script>", f"{name}.svg": b"<svg onload='alert(1)'/>"})
    evil.store.publications.publish(
        1, 0, "phase-sim", f'<phase name="{_escaped(EVIL)}" done="1" total="2" unit="{_escaped(EVIL)}"/>'
    )
    query, refused = quote(f"//jim:local_job[@reason != '{UNQUOTED}']/@reason"), set()
    more = (f"/query?xpath={query}", f"/query?whole=yes&xpath={query}{quote('[true()]')}", f"/query.csv?xpath={query}")
    more += (f"/query.json?xpath={query}", f"/query.xml?xpath={query}", f"/jobs/1/result/beside/{quote(name, safe='')}")
    output = read_exit_record(evil.store.attempts(1, n=1)[0].record).files[0].name
    evil.leave(1, 1, 2, output, b"12345")
    for path in (*addresses(person, host=quote(NAMED, safe="")), *more, f"/jobs/1/1/output/{quote(output)}"):
        answer = person.get(path)
        kind = answer.content_type.partition(";")[0]
        if answer.status_code != 200:
            refused.add((path, answer.status_code))
            assert not Page(answer.text).all("img") + Page(answer.text).all("script"), path
        elif kind == "text/html":
            require_inert(Page(answer.text))
        elif kind in ("application/json", "application/xml", "text/csv"):
            parse = {"application/json": json.loads, "text/csv": csv.reader}.get(kind, ElementTree.fromstring)
            assert parse(answer.text), path
        elif kind == "text/plain":
            assert "script" not in answer.text, path
        else:
            assert kind in ("application/octet-stream", "application/relax-ng+xml"), (path, kind)
            assert answer.headers["Content-Disposition"].startswith("attachment"), path
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
    assert {path for path, _ in refused if "stdout" not in path} == {"/query.json", "/query.csv", "/query.xml"}
    assert {path for path, _ in refused} - {"/query.json", "/query.csv", "/query.xml"} == {
        *("/jobs/1/0/output/stdout", "/jobs/1/result/beside/stdout", "/jobs/1/result/picture/stdout"),
        *("/schema/stdout.rng", "/static/stdout"),
    }


def test_what_is_exported_is_inert_too(evil: Ground, tmp_path: Path) -> None:
    found = export(1, tmp_path / "out")
    assert len(found) > 8
    for path in (tmp_path / "out").iterdir():
        assert re.fullmatch(r"[\w.-]+", path.name, re.ASCII), path
        if path.suffix == ".html":
            page = Page(path.read_text())
            assert {tag for tag, _ in page.elements} <= ALLOWED - {"script", "form"}, path
            for where in [each.get("href") for each in page.all("a")]:
                assert where is None or re.fullmatch(r"#[\w-]+|[\w.-]+", where), (path, where)
    assert "⟨U+202E⟩evil" in (tmp_path / "out/index.html").read_text()


def test_nothing_is_marked_as_safe_but_pictures_made_of_numbers() -> None:
    home = Path(__file__).parents[3] / "jim/pages"
    assert [path.name for path in home.rglob("*.html") if re.search(r"\|\s*safe|autoescape", path.read_text())] == []
    marked = [path.name for path in home.rglob("*.py") if "Markup" in path.read_text()]
    assert marked == ["svg.py"]
    html = "".join(path.read_text() for path in home.rglob("*.html"))
    assert not re.search(r"\sstyle=|\son[a-z]+=|javascript:", html)
