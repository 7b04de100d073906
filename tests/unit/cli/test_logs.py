"""The people's door: logs, outputs, xml, and watch, which follows them all."""

from jim.errors import Unheard
from jim.model import Piece, State, Step
from tests.support.cli_home import sent

# logs


def write_logs(home, index=1):
    place = home.site.work / "1" / "s1" / f"run.{index}"
    place.mkdir(parents=True)
    (place / "stdout").write_bytes(b"event 1\tok\n\x1b[2J\xff\xc2\x9b31m\r\nend")
    (place / "stderr").write_bytes(b"")
    return place


def test_logs_are_escaped(home):
    sent(home)
    place = write_logs(home)
    assert home.out("logs", "1.0") == (
        f"== {place}/stdout\n"
        "event 1 ok\n\\x1b[2J\\xff\\x9b31m\\r\nend\n"
        f"== {place}/stderr\n"
        "(empty)\n"
        f"== {place.parent}/log.1\n"
        "(does not exist)\n"
    )


def test_slices_are_shown(home):
    home.add(size=4)
    lines = home.out("show", "1.0-1,3").splitlines()
    assert [each.split()[:2] for each in lines[1:]] == [["1.0", "waiting"], ["1.1", "waiting"], ["1.3", "waiting"]]
    assert [each["id"] for each in home.json("show", "1.1-2")] == ["1.1", "1.2"]
    assert home.run("show", "1.2-4")[::2] == (4, "jim: there is no local job 1.4: 1 has 1.0 to 1.3\n")


def test_an_attempt_that_is_no_number_is_refused_in_plain_words(home):
    code, _, err = home.run("logs", "1.0", "--attempt", "x")
    assert (code, "argument --attempt: 'x': expected a number from 1" in err) == (2, True)


def test_logs_of_slices_are_those_of_what_was_sent(home):
    sent(home)
    place = write_logs(home)
    assert home.run("logs", "1.3")[0] == 6
    assert home.out("logs", "1.0,3") == home.out("logs", "1.0")
    (record,) = home.json("logs", "1.0,3")
    assert (record["id"], record["files"][0]["path"]) == ("1.0", str(place / "stdout"))


def test_logs_that_nobody_hears_end_at_once(home, monkeypatch):
    sent(home)
    write_logs(home)

    def unheard(text):
        said.append(text)
        raise Unheard("cannot write to stdout: stdout is closed")

    said = []
    monkeypatch.setattr("sys.stdout.write", unheard)
    monkeypatch.setattr("jim.cli.logs.say", lambda text: None)
    assert home.run("logs", "1.0")[::2] == (74, "jim: cannot write to stdout: stdout is closed\n")
    assert len(said) == 1


def test_logs_follow_no_link(home, tmp_path):
    sent(home)
    place = write_logs(home)
    (tmp_path / "secret").write_text("secret")
    (place / "stderr").unlink()
    (place / "stderr").symlink_to(tmp_path / "secret")
    out = home.out("logs", "1.0")
    assert "secret" not in out.replace(str(place), "")
    assert "stderr is a link)" in out


def test_logs_of_an_attempt(home):
    sent(home)
    assert home.run("logs", "1.0", "--attempt", "2") == (4, "", "jim: there is no attempt 2 of 1.0; it had 1\n")
    document = home.json("logs", "1.0", "--attempt", "1")
    assert document["attempt"] == 1
    assert document["files"][0] == {"path": f"{home.site.work}/1/s1/run.1/stdout", "bytes": None}


AWAY = "was removed, is not mounted, or `site.work` was another directory when 1 ran"


def test_logs_of_what_did_not_start(home):
    home.add()
    home.send(0, 1, state="confirmed", batch_id="4711")
    words = "did not start, so there are no logs; `jim explain 1` says more"
    assert home.run("logs", "1.0") == (6, "", f"jim: 1.0 {words}\n")
    assert home.run("logs", "1.0-1") == (6, "", f"jim: 1.0 and the others {words}\n")
    home.store.set_attempt(1, 1, 1, host="node7", started="2026-01-31T11:00:00.000Z")
    assert home.run("logs", "1.0")[::2] == (
        1,
        f"jim: the logs of 1.0 are not there: {home.site.work}/1 {AWAY}\n",
    )


# logs --follow


def following(home, monkeypatch, *steps):
    """Let something happen at each pause of `jim logs --follow`."""
    left = list(steps)
    monkeypatch.setattr("jim.cli.logs._follow.__defaults__", (lambda seconds: left.pop(0)(),))


def test_what_comes_is_followed_until_the_attempt_has_ended(home, monkeypatch):
    sent(home)
    place = write_logs(home)
    (place / "stdout").write_text("one")

    def more():
        (place / "stdout").write_bytes(b"one\xc3")

    def rest():
        (place / "stdout").write_bytes(b"one\xc3\xa9\x1b\ntwo\n")
        (place / "stderr").write_text("oops\n")
        home.store.set_attempt(1, 1, 1, verdict="failed", reason="exit 3")

    following(home, monkeypatch, more, rest)
    code, out, err = home.run("logs", "--follow", "1.0")
    assert (code, out) == (0, f"== {place}/stdout\noneé\\x1b\ntwo\n== {place}/stderr\noops\n")
    assert err == "jim: 1.0: attempt 1 ended: failed: exit 3\n"


def test_a_local_job_that_waits_is_waited_for(home, monkeypatch):
    home.add(size=1)
    following(home, monkeypatch, lambda: None, lambda: home.move(0, State.KILLED, reason="cancelled"))
    assert home.run("logs", "-f", "1.0") == (0, "", "jim: 1.0: killed: cancelled\n")


def test_a_grid_job_that_is_not_split_yet_is_waited_for(home, monkeypatch):
    home.add(size=0)
    home.store.set_grid_job(1, step=Step.ACCEPTED)

    def split():
        home.store.add_pieces(1, 0, [Piece()])
        home.store.end_split(1, 1)
        home.move(0, State.KILLED)

    following(home, monkeypatch, lambda: None, split)
    assert home.run("logs", "-f", "1.0") == (0, "", "jim: 1.0: killed\n")


def test_several_are_not_followed(home):
    home.add(size=2)
    assert home.run("logs", "-f", "1.0-1")[::2] == (2, "jim: --follow is for one local job, and prints no JSON\n")
