"""The lists of grid jobs and local jobs, as pages and as JSON and CSV."""

from __future__ import annotations

import csv
import io
import re
import time
from urllib.parse import quote

import pytest

from jim.clock import age_seconds
from jim.model import State, Step
from tests.unit.pages.browser import Page, Person
from tests.unit.pages.grounds import Ground, ended, large


@pytest.fixture
def busy(ground: Ground) -> Ground:
    ended(ground, 1, 4, 7200)
    ended(ground, 2, 5, 3600, bad=2, job_type="executable")
    large(ground, 3, 120)
    ground.add(4, 3, 60, owner="alice")
    return ground


def test_grid_jobs_stand_newest_first_with_what_became_of_them(busy: Ground, person: Person) -> None:
    page = person.page("/jobs")
    assert page.ids() == ["4", "3", "2", "1"]
    second = next(row for row in page.rows if row and row[0].strip() == "2")
    assert [" ".join(cell.split()) for cell in second][1:6] == ["–", "executable", "alice", "failed", "finished"]
    assert "failed: 2 of 5, 3 completed" in second[6]
    assert re.fullmatch(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d took \d+ (min|h)", " ".join(second[7].split()))
    assert second[9].strip() == "2 of 5 local jobs failed: exit 3: no space left on /scratch"
    assert "4 grid jobs, newest first" in page.text


def test_names_are_for_who_may_see_requests(ground: Ground, person: Person) -> None:
    ground.add(1, 2, 60, executable="/home/mc/bin/scan.py")
    _, secret = person.pages.tokens.made("see", 1)
    for path in ("/jobs", "/", "/jobs.csv"):
        assert "scan.py" in person.get(path).text
        assert "scan.py" not in person.get(path, Authorization=f"Bearer {secret}").text
    assert person.page("/jobs?q=scan.py").ids() == ["1"]
    assert [job["id"] for job in person.json("/jobs.json?q=scan.py")["jobs"]] == [1]
    assert 'id="job-1"' not in person.get("/jobs?q=scan.py", Authorization=f"Bearer {secret}").text
    assert person.get("/jobs.json?q=scan.py", Authorization=f"Bearer {secret}").json["jobs"] == []


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("failed=yes", [3, 2]),
        ("status=failed", [2]),
        ("status=completed&status=failed", [2, 1]),
        ("status=submitted", [4, 3]),
        ("step=active", [3]),
        ("type=executable&type=dzero_merge", [2, 1]),
        ("owner=alice", [4, 2, 1]),
        ("owner=alice&failed=yes", [2]),
        ("q=SPACE left", [2]),
        ("q=req-00003", [3]),
        ("q=4", [4]),
        ("q=100%25", []),
        ("since=90m", [4]),
        ("until=90m", [3, 2, 1]),
        ("herd=split", []),
        ("sort=changed", [4, 2, 1, 3]),
    ],
)
def test_a_filter_shows_the_same_rows_on_the_page_and_in_json(
    busy: Ground, person: Person, query: str, numbers: list[int]
) -> None:
    document = person.json(f"/jobs.json?{query}")
    if query.startswith(
        ("since", "until")
    ):  # grid job 3 was made hours ago, and 1 and 2 half an hour before they ended
        numbers = [job["id"] for job in document["jobs"]]
        assert {4} <= set(numbers) if "since" in query else 4 not in numbers
    assert [job["id"] for job in document["jobs"]] == numbers
    assert (document["next"], document["shown_of"]) == (None, len(numbers))
    assert person.page(f"/jobs?{query}").ids() == [str(number) for number in numbers]


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati"])
def test_times_are_utc_wherever_the_pages_run(
    ground: Ground, person: Person, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    ground.add(1, 1, 7200)
    ground.add(2, 1, 60)
    told = person.page("/jobs/1").all("time", datetime=ground.store.grid_job(1).created)
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert person.page("/jobs?since=90m").ids() == ["2"]
        assert person.page("/jobs?until=90m").ids() == ["1"]
        assert person.page(f"/jobs?until={ground.store.grid_job(2).created}").ids() == ["1"]
        assert person.page("/jobs/1").all("time", datetime=ground.store.grid_job(1).created) == told
        answer = person.get("/jobs")
        seen = Page(answer.text).all("time", **{"data-clock": "batch"})[0]["datetime"]
        assert 0 <= age_seconds(seen, answer.headers["JIM-Now"]) < 60
    finally:
        monkeypatch.undo()
        time.tzset()


def test_pages_of_a_list_leave_nothing_out_while_rows_move(busy: Ground, person: Person) -> None:
    first = person.json("/jobs.json?limit=2")
    assert first["next"] == "/jobs.json?after=3&limit=2"
    assert "/jobs?after=3&limit=2" in person.page("/jobs?limit=2").links()
    assert [job["id"] for job in first["jobs"]] == [4, 3]
    ended(busy, 5, 1, 10)  # comes in meanwhile
    busy.store.set_grid_job(1, reason="moved")
    second = person.json(first["next"])
    assert [job["id"] for job in second["jobs"]] == [2, 1]
    assert (first["shown_of"], second["next"]) == (4, None)


def test_what_is_not_known_is_refused_with_what_is(busy: Ground, person: Person) -> None:
    for path, words in (
        ("/jobs?colour=red", "unknown filter 'colour'"),
        ("/jobs?status=faild", "did you mean 'failed'?"),
        ("/jobs?limit=1000", "rows on a page, 1 to 200"),
        ("/jobs?since=yesterday", "2026-01-31"),
        ("/jobs?since=2026-02-31", "not a time"),
        ("/jobs?sort=id&sort=changed", "sort can be given once"),
        ("/jobs/3?state=broken", "state cannot be 'broken'"),
        ("/jobs/3?n=4-1", "the first number of a range is the smaller one"),
    ):
        answer = person.get(path)
        assert answer.status_code == 400, path
        assert words.lower() in Page(answer.text).text.lower(), path
    assert "(known: after, failed, herd," in person.get("/jobs?colour=red").text


def test_what_only_lies_in_the_inbox_is_listed(ground: Ground, person: Person) -> None:
    request = '{"id": 9, "key": "k", "owner": "eve", "created": "2026-01-31T11:00:00.000Z", "request": '
    (ground.site.state / "inbox" / "request-6b").write_text(request + '{"job_type": "executable", "key": "k"}}')
    assert person.page("/jobs").ids() == ["9"]
    assert person.json("/jobs.json")["jobs"][0]["step"] == "accepted"
    page = person.page("/jobs/9")
    assert "Grid job 9 executable" in page.text
    assert "the keeper still has to size it" in page.text


def test_an_empty_state_directory_says_what_to_do(ground: Ground, person: Person) -> None:
    assert "jim submit FILE" in person.page("/jobs").text
    assert person.json("/jobs.json") == {"jobs": [], "next": None, "shown_of": 0}


def test_a_list_of_grid_jobs_as_csv(busy: Ground, person: Person) -> None:
    busy.store.set_grid_job(4, reason="=1+1")
    answer = person.get("/jobs.csv?owner=alice")
    assert answer.content_type == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="jobs.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["id"], row["size"], row["failed"]) for row in rows] == [
        ("4", "3", "0"),
        ("2", "5", "2"),
        ("1", "4", "0"),
    ]
    assert rows[0]["reason"] == "'=1+1"


def test_the_list_comes_as_what_the_asker_accepts(busy: Ground, person: Person) -> None:
    for accepted, kind in (
        ("application/json", "application/json"),
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
    ):
        assert person.get("/jobs", Accept=accepted).content_type == kind


# Local jobs


def test_local_jobs_are_narrowed_by_filters(busy: Ground, person: Person) -> None:
    store = busy.store
    failed = [n for n, state in _states(busy) if state is State.FAILED]
    assert person.json("/jobs/3.json?state=failed&limit=200")["shown_of"] == len(failed)
    assert person.page("/jobs/3?state=failed&limit=200").ids() == [f"3.{n}" for n in failed]
    on_host = [each.n for each in store.attempts(3) if each.host == "wn013"]
    assert [each["id"] for each in person.json("/jobs/3.json?host=wn013&limit=200")["local_jobs"]] == [
        f"3.{n}" for n in sorted(on_host)
    ]
    some = person.json("/jobs/3.json?reason=node failure on *&limit=200")["local_jobs"]
    assert {each["reason"].partition(" on ")[0] for each in some} == {"node failure"}
    assert person.page("/jobs/3?n=5-7,9").ids() == ["3.5", "3.6", "3.7", "3.9"]
    assert person.json("/jobs/3.json?n=5-7&state=failed")["shown_of"] == len({5, 6, 7} & set(failed))


def _states(ground: Ground) -> list[tuple[int, State]]:
    return [(each.n, each.state) for each in ground.store.local_jobs(3)]


@pytest.mark.parametrize("host", ["a\x00b", "", "wn 1", "ünï", "a,b", "'\"--"])
def test_a_host_of_any_name_finds_what_ran_there_and_nothing_else(ground: Ground, person: Person, host: str) -> None:
    ground.add(1, 2, 60)
    ground.send(1, 1, [0, 1], 50)
    ground.store.set_attempt(1, 1, 1, host=host or "other", started="2026-01-31T11:00:00Z")
    found = person.page(f"/jobs/1?host={quote(host or chr(0))}").ids()
    assert found == (["1.0"] if host else [])


def test_what_waits_is_told_apart_by_who_lets_it_go_on(ground: Ground, person: Person) -> None:
    ground.add(1, 4, 60)
    ground.store.set_local_job(1, 2, due=float("inf"), reason="held for a look")
    assert person.page("/jobs/1?wait=person").ids() == ["1.2"]
    assert person.page("/jobs/1?wait=keeper").ids() == ["1.0", "1.1", "1.3"]
    assert person.page("/jobs/1?wait=queue").ids() == []
    assert person.get("/jobs/1?wait=queue&wait=person").status_code == 400


def test_a_reason_with_signs_of_a_pattern_finds_itself(ground: Ground, person: Person) -> None:
    ground.add(1, 3, 60)
    for n, words in enumerate(("a[b]c?", "abc1", "a%_c")):
        ground.store.set_local_job(1, n, reason=words)
        assert person.page(f"/jobs/1?reason={words.replace('%', '%25')}").ids() == [f"1.{n}"]


def test_a_search_finds_a_batch_job_a_mark_and_a_host(busy: Ground, person: Person) -> None:
    for word, where in (
        ("9002", "/jobs/2?submission=1"),
        ("jim-3f9a07c2-2-1", "/jobs/2?submission=1"),
        ("wn013", "/jobs/2?host=wn013"),
        ("2.4", "/jobs/2/4"),
        (" 2.04 ", "/jobs/2/4"),
    ):
        assert where in person.page(f"/jobs?q={word}").links()
    assert person.page("/jobs/2?submission=1").ids() == [f"2.{n}" for n in range(5)]
    assert person.page("/jobs?q=nothing-of-that-name").ids() == []
    for word in ("2.5", "9.0", "2.-1", "2.4.1", "999999999999999.99999999", "٢.4"):
        assert [each for each in person.page(f"/jobs?q={word}").links() if each.startswith("/jobs/")] == [], word


def test_a_step_of_a_grid_job_is_told(busy: Ground, person: Person) -> None:
    assert person.page("/jobs/3").all("li", **{"aria-current": "step"})
    assert busy.store.grid_job(3).step is Step.ACTIVE
