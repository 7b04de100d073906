"""Who sent a grid job, and with which secrets, is on no page, in no document and in no address, for any role."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from jim import cli
from jim.doors import inbox
from jim.jobs import Sender
from jim.model import Piece, State, Step, Witness
from jim.pages.tokens import Role
from tests.support.sampled import sampled
from tests.unit.pages.browser import Person, addresses
from tests.unit.pages.grounds import Ground, record

DN, VO, CONTACT, TOKEN = (
    "/DC=Unmistakable/CN=Alice",
    "/vounmistakable/Role=prod",
    "https://gk.unmistakable:2119/1/2/",
    "eyJunmistakable",
)
SENT = (DN, VO, "vounmistakable", CONTACT, TOKEN)
ENVIRONMENT = {
    "GLOBUS_GRAM_JOB_CONTACT": CONTACT,
    "GLOBUS_GRAM_MYJOB_CONTACT": CONTACT,
    "X509_USER_DN": DN,
    "VOMS_FQAN": VO,
    "BEARER_TOKEN": TOKEN,
    "password": TOKEN,
    "A": "seen",
}


@pytest.fixture
def sent(ground: Ground, tmp_path: Path) -> Ground:
    """A grid job whose sender is known, which has completed one of two local jobs, and another one in the inbox."""
    for name, content in (("proxy", DN), ("token", TOKEN)):
        (tmp_path / name).write_text(content)
    files = {name: str(tmp_path / name) for name in ("proxy", "token")}
    request = {"job_type": "executable", "key": "k", "executable": "/bin/x", "environment": ENVIRONMENT, **files}
    store, sender = ground.store, Sender(DN, (VO,), CONTACT)
    store.add_grid_job(1, "k", "alice", "2026-01-31T11:00:00.000Z", request)
    store.senders.put(1, sender)
    store.set_grid_job(1, step=Step.RESOLVED, place="1")
    store.add_pieces(
        1, 0, [Piece(arguments=("x",), variables=ENVIRONMENT, attributes={"environment": ENVIRONMENT})] * 2
    )
    store.end_split(1, 2)
    mark = ground.send(1, 1, [0, 1], 50)
    told = record(mark, 1, 0, 1, "wn1", ground.now - 40, 30, 0)
    store.set_attempt(1, 1, 1, host="wn1", started="2026-01-31T11:00:00Z", verdict="completed", record=told)
    store.set_local_job(1, 0, state=State.COMPLETED)
    ground.change(1, [1], State.SUBMITTED, State.FAILED, Witness.QUEUE)
    for name in ("stdout", "stderr", "log"):
        ground.leave(1, 1, 1, name, b"hello")
    for name, content in (("proxy", DN), ("token", TOKEN)):
        (ground.site.work / "1" / name).write_text(content)
    ground.collect(1, {"1.0/x": b"x"}, {"y.txt": b"y"})
    inbox.deposit(ground.site.state, "other", {**request, "key": "other"}, sender=sender._asdict())
    return ground


def asking(person: Person, role: str) -> Any:
    _, secret = person.pages.tokens.made(role, 1)
    return lambda path: person.get(path, Authorization=f"Bearer {secret}")


@pytest.mark.parametrize("role", sampled([Role.CONTROL, Role.LOOK, Role.SEE]))
def test_no_route_tells_who_sent_a_grid_job_or_a_secret(sent: Ground, role: Role) -> None:
    person = Person(sent, logged_in=False, controls=True)
    ask = asking(person, role)
    (waiting,) = [json.loads(path.read_text())["id"] for path in (sent.site.state / "inbox").glob("request-*")]
    queries = [quote(each) for each in ("//jim:request", "//jim:grid_job[true()]", "//@*", "//text()", "//jim:piece")]
    paths = [*addresses(person), *addresses(person, n="1", number="1"), f"/jobs/{waiting}", f"/jobs/{waiting}.json"]
    paths += [f"/query{kind}?whole=yes&xpath={each}" for each in queries for kind in (".json", ".csv", ".xml", "")]
    answered = 0
    for path in paths:
        answer = ask(path)
        answered += answer.status_code == 200
        assert [each for each in SENT if each in answer.text] == [], path
        assert [each for each in SENT if each in str(answer.headers)] == [], path
    assert answered > (20 if role is Role.SEE else 50)


@pytest.mark.parametrize("word", [DN, VO, "vounmistakable", CONTACT, TOKEN, "unmistakable"])
def test_no_search_finds_a_grid_job_by_who_sent_it(sent: Ground, person: Person, word: str) -> None:
    page = person.page(f"/jobs?q={quote(word, safe='')}")
    assert page.ids() == []
    assert [each for each in page.links() if each.startswith("/jobs/1")] == []
    assert person.json(f"/jobs.json?q={quote(word, safe='')}") == {"jobs": [], "next": None, "shown_of": 0}


def test_names_of_variables_are_shown_and_others_with_their_values(sent: Ground, person: Person) -> None:
    told = person.json("/jobs/1.json")["request"]
    assert told["environment"] == {**dict.fromkeys(ENVIRONMENT, "(not shown)"), "A": "seen"}
    assert told["executable"] == "/bin/x"
    page = person.page("/jobs/1")
    assert '"BEARER_TOKEN": "(not shown)"' in page.text
    assert '"A": "seen"' in page.text


def test_what_is_exported_does_not_tell_either(sent: Ground, tmp_path: Path) -> None:
    assert cli.main(["pages", "--export", "1", str(tmp_path / "out")]) == 0
    written = [path for path in (tmp_path / "out").iterdir() if path.is_file()]
    assert len(written) > 8
    for path in written:
        assert [each for each in SENT if each in path.read_text()] == [], path


def test_an_edit_tells_the_role_see_no_attribute(sent: Ground, person: Person) -> None:
    sent.store.note(1, "edit", Witness.KEEPER, "arguments='[\"s3cr3t\"]'")
    see, look = asking(person, "see"), asking(person, "look")
    for path in ("/jobs/1", "/jobs/1.json"):
        assert ("s3cr3t" in see(path).text, "s3cr3t" in look(path).text) == (False, True), path
    assert "edit" in see("/jobs/1").text
