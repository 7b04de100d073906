"""The page of a local job tells each attempt with its evidence, and why it waits."""

from __future__ import annotations

from jim.model import State, Witness
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground, ended


def test_a_local_job_tells_each_attempt_with_its_evidence(ground: Ground, person: Person) -> None:
    ended(ground, 1, 2, 60, bad=1)
    page = person.page("/jobs/1/0")
    for words in (
        "Local job 1.0 dzero_merge",
        "by exit record",
        "exit 3: no space left on /scratch",
        "Host wn013",
        "Batch id 9001",
        "Submission s1, index 1",
        "Exit 3",
        "Ran 6 min 40 s",
        "CPU 6 min 16 s, 94 %",
        "Memory 1,500 MB or more",
        "events 1–250",
        "submitted → failed",
    ):
        assert words in page.text, words
    assert "/jobs/1/1" in page.links()
    assert "no logs" in page.text
    ground.leave(1, 1, 1, "stderr", b"x")
    assert "/jobs/1/0/log/stderr?attempt=1" in person.page("/jobs/1/0").links()


def test_attempts_that_a_rule_allows_beyond_the_usual_ones_are_told(ground: Ground, person: Person) -> None:
    ground.add(1, 1, 60)
    ground.send(1, 1, [0], 50)
    ground.store.set_local_job(1, 0, spent=6)
    assert "Attempts 1, 6 spent: a rule allows more than 3" in person.page("/jobs/1/0").text
    ground.store.set_local_job(1, 0, spent=2)
    assert "Attempts 1, 2 of 3 spent" in person.page("/jobs/1/0").text


def test_a_waiting_local_job_tells_why(ground: Ground, person: Person) -> None:
    ground.add(1, 2, 60)
    page = person.page("/jobs/1/1")
    assert "It has not been sent yet." in page.text
    assert person.get("/jobs/1/2").status_code == 404
    assert person.get("/jobs/1/00").status_code in (200, 404)
    ground.store.set_local_job(1, 1, state=State.FAILED, witness=Witness.USER, reason="x" * 2000)
    long = person.page("/jobs/1/1")
    assert long.all("details", **{"class": "cut"}), "the whole is one click away"
    assert "x" * 2000 in long.text


def test_the_page_is_small_however_often_it_was_tried_and_whatever_it_published(ground: Ground, person: Person) -> None:
    ground.add(1, 1, 6000)
    for k in range(1, 101):
        ground.send(1, k, [0], 5000 - k)
        ground.store.set_attempt(
            1, k, 1, host=f"wn{k}", started="2026-01-31T11:00:00Z", verdict="again", reason="x" * 999
        )
        ground.store.set_local_job(1, 0, state=State.WAITING)
    for n in range(60):
        ground.store.publications.publish(1, 0, f"k{n}", f"<a>{'<b/>' * 3000}</a>")
    page = person.page("/jobs/1/0")
    assert page.all("article") == [{"class": "attempt", "aria-label": f"Attempt {n}"} for n in range(100, 80, -1)]
    assert "80 earlier attempts: see the JSON document" in page.text
    assert len(page.html) < 250_000
    assert len(page.elements) < 2500
    assert "There is too much to show here" in page.text
    assert len(person.json("/jobs/1/0.json")["attempts"]) == 100
    assert person.get("/jobs/1/0.xml").text.count("<b/>") == 60 * 3000


def test_the_last_lines_of_the_latest_attempt_are_shown_with_it(ground: Ground, person: Person) -> None:
    ended(ground, 1, 2, 60, bad=1)
    ground.leave(1, 1, 1, "stdout", b"".join(b"event %d\n" % n for n in range(400)) + b"\xff<b>end</b>\n\n")
    ground.leave(1, 1, 1, "stderr", b"")
    page = person.page("/jobs/1/0")
    assert "stdout ends with event 396 event 397 event 398 event 399 \\xff<b>end</b>" in page.text
    assert "event 395" not in page.text
    assert "stderr ends with" not in page.text
    ground.leave(1, 1, 1, "stderr", b"x" * 5000)
    assert f"stderr ends with …{'x' * 2000} " in person.page("/jobs/1/0").text
    (ground.site.work / "1/s1/run.1/stdout").unlink()
    (ground.site.work / "1/s1/run.1/stdout").symlink_to("/etc/passwd")
    assert "stdout ends with" not in person.page("/jobs/1/0").text
