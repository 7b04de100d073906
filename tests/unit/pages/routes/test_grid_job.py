"""/jobs/G and /jobs/G/n: what stands on them in odd cases."""

from __future__ import annotations

import fcntl
import os
import re

import pytest
from lxml import etree

from jim.model import Kind, Reason, State, Step
from jim.statusdb.documents.xml import schema
from tests.unit.pages.browser import Page, Person
from tests.unit.pages.grounds import PHASE, Ground, ended, large


def test_a_grid_job_of_every_size(ground: Ground, person: Person) -> None:
    ground.add(1, 1, 60)
    ground.store.add_grid_job(2, "two", "eve", ground.clock.utc(), {"job_type": "executable", "key": "two"})
    ground.store.add_grid_job(3, "three", "eve", ground.clock.utc(), {"job_type": "executable", "key": "three"})
    ground.store.set_grid_job(3, step=Step.FINISHED, outcome="failed", reason="no such file: x.root")
    ground.store.add_grid_job(4, "four", "eve", ground.clock.utc(), {"job_type": "executable", "key": "four"})
    ground.store.set_grid_job(4, step=Step.RESOLVED)
    ground.store.end_split(4, 0)
    one = person.page("/jobs/1")
    assert one.ids() == ["1.0"]
    assert one.all("svg", **{"class": "map c25"})[0]["data-count"] == "1"
    for path, words in (
        ("/jobs/2", "the keeper still has to size it"),
        ("/jobs/3", "finished as failed: no such file: x.root"),
        ("/jobs/4", "It is not split yet."),
    ):
        page = person.page(path)
        assert words.lower() in page.text.lower()
        assert not page.all("svg", **{"data-first": "0"}), path
        assert page.ids() == []
        assert person.json(f"{path}.json")["local_jobs"] == []
        assert person.get(f"{path}.csv").status_code == 200
        assert person.get(f"{path}.xml").status_code == 200


def test_a_grid_job_that_was_removed_is_gone(ground: Ground, person: Person) -> None:
    ground.add(1, 1, 60)
    ground.store.removals.remove(ground.store.grid_job(1))
    for path in ("/jobs/1", "/jobs/1/0", "/jobs/1.json", "/jobs/1.xml", "/jobs/1/0/log/stdout"):
        answer = person.get(path)
        assert (answer.status_code, f"was removed {ground.store.removals.at(1)}" in answer.text) == (410, True), path
    ground.store.removals.files_are_gone(1)
    assert person.get("/jobs/1").status_code == 410
    assert person.page("/jobs").ids() == []
    assert person.get("/jobs/2").status_code == 404


def test_reasons_that_are_all_different_are_few_groups_and_others(ground: Ground, person: Person) -> None:
    ground.add(1, 3000, 60)
    letters = "abcdefghijklmnopqrst"
    with ground.store.transaction():
        for n in range(2900):
            word = "".join(letters[int(each) % 20] for each in f"{n:04d}")
            why = f"lost {word}" if n % 2 else f"lost on wn{n}"
            ground.store.set_local_job(1, n, state=State.FAILED, reason=Reason(Kind.LOST, {}, why))
    page = person.page("/jobs/1")
    groups = [[cell.strip() for cell in row] for row in page.rows if len(row) == 2 and "ocal jobs" not in row[0]]
    assert groups[0] == ["1,450", "lost on * in 1,450 wordings; * is what differs"]
    assert groups[-1] == [f"{2900 - 1450 - 19:,}", "others"]
    assert len(groups) == 21


def test_hosts_in_reasons_are_grouped_and_each_is_reached(ground: Ground, person: Person) -> None:
    large(ground, 1, 600)
    page = person.page("/jobs/1")
    assert "node failure on * in 8 wordings; * is what differs" in page.text
    link = next(each for each in page.links() if each.startswith("?reason=node"))
    failed = person.page(f"/jobs/1{link}&limit=200")
    assert len(failed.ids()) == 8
    host = next(each for each in page.links() if each.startswith("?host=wn014"))
    assert set(person.page(f"/jobs/1{host}").ids()) <= {f"1.{n}" for n in range(600)}


@pytest.mark.parametrize(
    ("done", "total", "words", "width"),
    [
        (117, 250, "117 of 250 events", "46.80"),
        (300, 250, "300 of 250 events more than all", "100.00"),
        (0, 0, "0 of 0 events", "0.00"),
        (999_999_999_999_999, 999_999_999_999_999, "999,999,999,999,999 of 999,999,999,999,999 events", "100.00"),
    ],
)
def test_odd_phases_are_shown_as_they_are(
    ground: Ground, person: Person, done: int, total: int, words: str, width: str
) -> None:
    ground.add(1, 3, 60)
    xml = f'<phase name="generate" done="{done}" total="{total}" unit="events"/>'
    ground.store.publications.publish(1, 0, "generate", xml)
    for path in ("/jobs/1", "/jobs/1/0"):
        page = person.page(path)
        assert words in page.text, path
        assert page.all("rect", **{"class": "done"})[0]["width"] == width
    assert "1 begun, 2 have not" in person.page("/jobs/1").text
    ground.store.publications.publish(1, 0, "generate", xml.replace(f'done="{done}"', 'done="0"'))
    assert f"0 of {total:,} events" in person.page("/jobs/1").text, "it may go back"


def test_phases_of_an_old_attempt_count_on_no_page_and_are_told_with_their_attempt(
    ground: Ground, person: Person
) -> None:
    ground.add(1, 2, 60)
    ground.send(1, 1, [0, 1], 50)
    for n, done in ((0, 100), (1, 250)):
        ground.store.publications.publish(1, n, "phase-sim", PHASE.format("sim", done, 250, "events"), 1)
    assert "350 of 500 events" in person.page("/jobs/1").text
    ground.store.set_local_job(1, 1, state=State.WAITING, reason="exit 3")
    for sent_again in (False, True):
        if sent_again:
            ground.send(1, 2, [1], 40)
        page = person.page("/jobs/1")
        assert "100 of 250 events" in page.text
        assert "350" not in page.text
        assert [each["done"] for each in person.json("/jobs/1.json")["phases"]] == [100]
        assert "250 of 250 events , said" in person.page("/jobs/1/1").text
    assert "by attempt 1, which is not the latest" in person.page("/jobs/1/1").text
    ground.store.publications.publish(1, 1, "phase-sim", PHASE.format("sim", 3, 250, "events"), 2)
    assert "103 of 500 events" in person.page("/jobs/1").text
    root = etree.fromstring(person.get("/jobs/1.xml").data)
    told = [(each.get("done"), each.get("attempt")) for each in root.iter("{urn:jim:status:1}phase")]
    assert told == [("100", "1"), ("3", "2")]


def test_a_keeper_that_is_stopped_is_told_with_its_pid_and_what_to_do(ground: Ground, person: Person) -> None:
    ground.add(1, 1, 60)
    ground.beat(ago=30)
    lock = os.open(ground.site.state / "keeper.lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        page = person.page("/jobs/1")
    finally:
        os.close(lock)
    assert f"keeper holds the lock (pid {os.getpid()}), but has not updated its heartbeat for 3" in page.text
    assert f"kill -CONT {os.getpid()}" in page.text
    assert person.get("/healthz").status_code == 503


def test_documents_follow_the_schema(ground: Ground, person: Person) -> None:
    large(ground, 1, 100)
    grammar = etree.RelaxNG(etree.fromstring(schema()))
    for path in ("/jobs/1.xml", "/jobs/1/0.xml", "/jobs/1/99.xml"):
        grammar.assertValid(etree.fromstring(person.get(path).data))


def test_without_completions_there_are_no_quartiles_and_no_end(ground: Ground, person: Person) -> None:
    ground.add(1, 5, 60)
    ground.send(1, 1, range(5), 50)
    page = person.page("/jobs/1")
    assert not page.all("section", **{"data-part": "pace"})
    ended(ground, 2, 5, 60)
    assert "run time 400 | 400 | 400 s" in person.page("/jobs/2").text.replace("400 400 400", "400 | 400 | 400")
    memory = "memory 1,500 1,500 1,500 MB 5 of 5 sampled, which may be less than the peak"
    assert memory in person.page("/jobs/2").text
    assert "Quartiles of 5 completed attempts" in person.page("/jobs/2").text
    assert "Ends about" not in person.page("/jobs/2").text


def test_the_slowest_local_job_and_exactly_the_failed_ones_are_linked(ground: Ground, person: Person) -> None:
    ended(ground, 2, 5, 60, bad=2)
    page = person.page("/jobs/2")
    assert "Slowest that have ended: 2.0 6 min 40 s" in page.text
    assert '<a href="/jobs/2/0">2.0</a> 6 min 40 s' in page.html
    assert '<a href="?state=failed">show 2 failed</a>' in page.html


def test_the_page_of_a_very_large_request_is_small(ground: Ground, person: Person) -> None:
    ground.add(1, 2, 60, inputs=[f"/pnfs/run{n:08d}.raw" for n in range(50_000)])
    page = person.page("/jobs/1")
    assert len(page.html) < 60_000
    assert "All of it is in the JSON document." in page.text
    assert len(person.json("/jobs/1.json")["request"]["inputs"]) == 50_000


def test_every_page_says_of_when_it_is_and_who_said_so(ground: Ground, person: Person) -> None:
    ended(ground, 1, 2, 60)
    for path in ("/", "/jobs", "/jobs/1", "/jobs/1/0"):
        page = person.page(path)
        assert len(page.all("h1")) == 1, path
        assert f"as of {page.all('time')[0]['datetime'][11:19]} UTC" in page.text
        assert page.all("time", **{"data-clock": "keeper"})
        assert page.all("time", **{"data-clock": "batch"})
        for each in page.all("time"):
            assert each.get("datetime", "2026").endswith(("Z", "2026")), (path, each)


def test_links_lead_somewhere(ground: Ground, person: Person) -> None:
    """Each link of each page, and of those they lead to, is answered."""
    ended(ground, 1, 3, 60, bad=1)
    ground.leave(1, 1, 1, "stderr", b"x" * 100_000)
    ground.collect(1, {"1.1/x": b"x"}, {"y.txt": b"y"})
    left, seen = ["/"], set[str]()
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = person.get(path)
        assert answer.status_code == 200, path
        if answer.content_type.startswith("text/html"):
            base = path.partition("?")[0]
            links = [each for each in Page(answer.text).links() if not each.startswith("#")]
            left += [f"{base}{each}" if each.startswith("?") else each for each in links]
    assert {"/jobs", "/jobs/1/0/log/stderr?attempt=1&from=0", "/jobs/1/result/tar", "/jobs/1/2.xml"} <= seen
    assert 40 < len(seen) < 400


def test_what_was_asked_for_stands_first_on_the_page_of_a_grid_job(ground: Ground, person: Person) -> None:
    ended(ground, 1, 3, 60, bad=1)

    def titles(path: str) -> list[str]:
        return re.findall(r"<h2[^>]*>([^<]*)</h2>", person.page(path).html)

    assert titles("/jobs/1")[0] == "End"
    assert titles("/jobs/1")[-1] == "Local jobs"
    for path in ("/jobs/1?state=failed", "/jobs/1?after=1", "/jobs/1?n=0-1"):
        assert titles(path)[:3] == ["Map", "Local jobs", "End"], path
    assert titles("/jobs/1?limit=200") == titles("/jobs/1")
    assert "/jobs/1?state=failed" in person.page("/jobs/1?state=failed").links(), "a link to them"
