"""The list of hosts and the page of a host, and where else black holes are told."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from jim.evidence.avoiding import FACT, Avoided, to_store
from jim.evidence.hosts import BlackHole
from jim.model import Kind, Reason, State, Witness
from tests.unit.localbatch.place import until
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground, eaten, ended


@pytest.fixture
def busy(ground: Ground) -> Ground:
    ended(ground, 1, 40, 7200)
    ended(ground, 2, 10, 3600, bad=4)
    eaten(ground, 3, "wn099")
    return ground


def by_name(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["host"]: each for each in found}


def test_attempts_are_counted_by_host_the_worst_first(busy: Ground, person: Person) -> None:
    found = person.json("/hosts.json")
    names = [each["host"] for each in found["hosts"]]
    assert names[:2] == ["wn099", "wn013"], "the black hole comes before one on which as much has failed"
    assert names[2:] == [f"wn{n:03d}" for n in range(20, 29)]
    hosts = by_name(found["hosts"])
    told = {name: hosts["wn013"][name] for name in ("started", "completed", "failed", "share_failed", "black_hole")}
    assert told == {"started": 4, "completed": 0, "failed": 4, "share_failed": 1.0, "black_hole": ""}
    assert hosts["wn013"]["reasons"] == [{"words": "exit 3: no space left on /scratch", "times": 4}]
    attempts = [each for job in (1, 2, 3) for each in busy.store.attempts(job) if each.host == "wn020"]
    assert hosts["wn020"]["started"] == len(attempts)
    assert hosts["wn020"]["running"] == sum(not each.verdict for each in attempts) == 3
    assert (found["next"], found["shown_of"]) == (None, 11)


def test_a_black_hole_is_told_with_its_evidence_wherever_it_matters(busy: Ground, person: Person) -> None:
    words = "6 attempts failed in a row within 5 s, each in at most 2 s, while 20 of the last 20 elsewhere went well"
    assert by_name(person.json("/hosts.json")["hosts"])["wn099"]["black_hole"] == words
    page = person.page("/hosts")
    row = next(row for row in page.rows if "wn099" in row[0])
    assert " ".join(row[0].split()) == "wn099 black hole"
    assert words in row[-1]
    assert "6 × exit 127, as of a program that is not found" in row[-1]
    assert f"A black hole. {words}." in person.page("/hosts/wn099").text
    until(lambda: f"wn099: {words}." in person.page("/").text.replace("wn099 :", "wn099:"))
    assert person.json("/index.json")["black_holes"] == ["wn099"]
    told = next(row for row in person.page("/jobs/3").rows if "wn099" in row[-1])
    assert "black hole" in told[-1]


def test_the_first_look_at_the_overview_shows_a_black_hole(busy: Ground, person: Person) -> None:
    answer = person.pages.cache.answer
    person.pages.cache.answer = lambda name, find, *_, **more: answer(name, find, 10.0, **more)  # type: ignore[method-assign]
    assert person.page("/").all("section", **{"data-part": "holes"})


def test_black_holes_stay_the_same_when_the_wording_of_reasons_changes(busy: Ground, person: Person) -> None:
    for idx in range(1, 7):
        said = Reason(Kind.EXIT, {"code": 127}, f"anders gesagt {idx}")
        busy.store.set_attempt(3, 1, idx, reason=said)
    assert by_name(person.json("/hosts.json")["hosts"])["wn099"]["black_hole"].startswith("6 attempts failed in a row")


def test_what_someone_cancelled_is_no_fault_of_the_host(busy: Ground, person: Person) -> None:
    for idx in range(1, 7):
        busy.store.set_attempt(3, 1, idx, verdict="killed", reason=Reason(Kind.CANCELLED, {}, "cancelled"))
    host = by_name(person.json("/hosts.json")["hosts"])["wn099"]
    assert (host["failed"], host["share_failed"], host["black_hole"]) == (0, 0.0, "")


def test_a_black_hole_of_yesterday_is_no_news(busy: Ground, person: Person) -> None:
    for idx in range(1, 7):
        busy.clock.at = busy.now - 25 * 3600
        busy.store.set_attempt(3, 1, idx, verdict="failed")
    busy.clock.at = None
    assert by_name(person.json("/hosts.json")["hosts"])["wn099"]["black_hole"] == ""


def test_the_page_of_a_host_shows_its_reasons_grid_jobs_and_last_attempts(busy: Ground, person: Person) -> None:
    document = person.json("/hosts/wn013.json")
    assert document["grid_jobs"] == [{"grid": 2, "attempts": 4, "failed": 4}]
    assert [(each["grid"], each["n"], each["verdict"]) for each in document["attempts"]] == [
        (2, n, "failed") for n in (0, 1, 2, 3)
    ]
    page = person.page("/hosts/wn013")
    assert {"/jobs/2?host=wn013", "/jobs/2/0", "/hosts", "/hosts/wn013.json"} <= set(page.links())
    assert "exit 3: no space left on /scratch" in page.text
    assert person.page("/jobs/2?host=wn013").ids() == ["2.0", "2.1", "2.2", "2.3"]
    rows = list(csv.DictReader(io.StringIO(person.get("/hosts/wn013.csv").text)))
    assert [row["reason"] for row in rows] == ["exit 3: no space left on /scratch"] * 4


def test_an_attempt_that_is_tried_again_is_told_so(busy: Ground, person: Person) -> None:
    busy.store.set_attempt(3, 1, 7, verdict="elsewhere", reason=Reason(Kind.NODE, {}, "node failure"))
    busy.store.set_local_job(3, 6, state=State.WAITING, witness=Witness.ACCOUNTING)
    host = busy.store.attempts(3, n=6)[0].host
    assert "failed, tried elsewhere" in person.page(f"/hosts/{host}").text


def test_the_list_of_hosts_is_paged_in_its_own_order(busy: Ground, person: Person) -> None:
    whole = [each["host"] for each in person.json("/hosts.json")["hosts"]]
    path, found = "/hosts.json?limit=4", []
    while path:
        document = person.json(path)
        found += [each["host"] for each in document["hosts"]]
        path = document["next"]
    assert found == whole
    page = person.page("/hosts?limit=4")
    assert "11 hosts, 4 of them here" in page.text
    following = next(each for each in page.links() if each.startswith("/hosts?after="))
    assert [row[0].strip() for row in person.page(following).rows[1:]] == whole[4:8]
    assert "No further hosts" in person.page("/hosts?after=0,0,~").text


@pytest.mark.parametrize("path", ["/hosts?after=x", "/hosts?limit=1000", "/hosts?sort=name", "/hosts/wn013?limit=3"])
def test_what_is_not_known_is_refused(busy: Ground, person: Person, path: str) -> None:
    assert person.get(path).status_code == 400


def test_a_host_on_which_nothing_ran_is_not_found(busy: Ground, person: Person) -> None:
    answer = person.get("/hosts/wn500")
    assert answer.status_code == 404
    assert "no attempt is known to have run on a host &#39;wn500&#39;" in answer.text.lower()
    assert person.get("/hosts/wn500.json").json["status"] == 404


def test_no_host_is_known_before_anything_has_started(ground: Ground, person: Person) -> None:
    assert "No attempt has started on any host yet" in person.page("/hosts").text
    assert person.json("/hosts.json")["hosts"] == []
    assert person.get("/hosts.csv").text.startswith("host,black_hole,started,")


def test_what_is_not_found_out_yet_is_told_so(busy: Ground, person: Person) -> None:
    person.pages.cache.answer = lambda *_: ("", None)  # type: ignore[method-assign]
    assert "Look again in a while" in person.page("/hosts").text
    assert "Look again in a while" in person.page("/hosts/wn013").text
    assert person.get("/hosts.json").status_code == person.get("/hosts/wn013.csv").status_code == 503


def test_a_search_for_a_host_leads_to_its_page(busy: Ground, person: Person) -> None:
    assert "/hosts/wn013" in person.page("/jobs?q=wn013").links()
    assert "/hosts/wn500" not in person.page("/jobs?q=wn500").links()


@pytest.mark.parametrize("name", ["a/b", "..", "%2e", "x?y#z", "100 %", "/rooted"])
def test_a_host_of_any_name_has_a_page(ground: Ground, person: Person, name: str) -> None:
    ended(ground, 1, 2, 60)
    ground.store.set_attempt(1, 1, 1, host=name)
    link = next(row for row in person.page("/hosts").links() if row.startswith("/hosts/") and "wn" not in row)
    page = person.page(link)
    assert f"Host {name}" in page.text
    assert "/jobs/1/0" in page.links()


def test_what_jim_avoids_is_told_with_its_time(busy: Ground, person: Person) -> None:
    hole = BlackHole("wn099", 6, 1769860000.0, 1769860005.0, 2.0, 20, 20)
    those = [
        Avoided("wn099", 1769860800.0, 1769864400.0, times=1, hole=hole),
        Avoided("wn<b>", 1769860800.0, reason="its <b>disk</b>"),
    ]
    busy.store.set_fact(FACT, to_store(those))
    words = "avoided as a black hole since 2026-01-31T12:00:00Z; one attempt may try it from 2026-01-31T13:00:00Z on"
    hosts = by_name(person.json("/hosts.json")["hosts"])
    assert (hosts["wn099"]["avoided"], hosts["wn013"]["avoided"]) == (words, "")
    page = person.page("/hosts")
    first, second = (next(row for row in page.rows if name in row[0]) for name in ("wn099", "wn<b>"))
    assert " ".join(first[0].split()) == "wn099 black hole avoided"
    assert words[1:] in first[-1]
    assert "named by an administrator: its <b>disk</b>" in second[-1]
    assert "<b>" not in person.get("/hosts").text
    assert words[1:] in person.page("/hosts/wn099").text
    assert {row["host"]: row["avoided"] for row in csv.DictReader(io.StringIO(person.get("/hosts.csv").text))}[
        "wn099"
    ] == words
