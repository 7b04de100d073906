"""The people's door: logs, outputs, xml, and watch, which follows them all."""

import io

import pytest

from jim.cli import watch
from jim.errors import Unheard
from jim.model import State, Witness
from tests.cli_home import EVIL, EVIL_SHOWN, PHASE, RECORD_NAMES, sent

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
    assert home.run("show", "1.2-4")[::2] == (4, "jim: there is no local job 1.4: 1 has 0 … 3\n")


def test_any_member_finds_its_herd(home):
    home.add(size=4)
    assert [each["id"] for each in home.json("status", "1.3", "1.0-1", "1")] == [1]
    assert home.out("xml", "1.3") == home.out("xml", "1")
    home.finish()
    assert home.out("watch", "1.3").startswith("1 finished (4 waiting)\n")


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


def test_logs_of_what_did_not_start(home):
    home.add()
    home.send(0, 1, state="confirmed", batch_id="4711")
    words = "did not start, so there are no logs; `jim explain 1` says more"
    assert home.run("logs", "1.0") == (6, "", f"jim: 1.0 {words}\n")
    assert home.run("logs", "1.0-1") == (6, "", f"jim: 1.0 and the others {words}\n")
    home.store.set_attempt(1, 1, 1, host="node7", started="2026-01-31T11:00:00.000Z")
    assert home.run("logs", "1.0")[::2] == (
        1,
        "jim: the logs of 1.0 no longer exist: their directory was removed\n",
    )


# outputs


def test_outputs(home, tmp_path):
    home.add()
    tar = tmp_path / "1.tar"
    tar.touch()
    result = {"tar": str(tar), "bytes": 5_500_000, "local_jobs": 4, "beside": ["mass.svg"]}
    home.finish("completed", **result, line=f"peak at 91.2 GeV {EVIL}")
    assert home.out("outputs", "1") == (
        f"tar          {tar} (5.5 MB, outputs of 4 of 4 local jobs)\n"
        f"beside it    {tmp_path}/mass.svg\n"
        f"result       peak at 91.2 GeV {EVIL_SHOWN}\n"
    )
    document = home.json("outputs", "1")
    assert document["result"]["bytes"] == 5_500_000
    assert document["beside"] == [f"{tmp_path}/mass.svg"]
    tar.unlink()
    lost = f"jim: {tar} does not exist: it was removed, or the work directory is not mounted\n"
    assert home.run("outputs", "1") == (1, "", lost)
    assert home.run("outputs", "1", "--json") == (1, "", lost)


def test_no_outputs(home):
    home.add()
    home.finish("failed", "cannot be split: x")
    assert home.run("outputs", "1") == (1, "", "jim: 1 has no outputs: failed: cannot be split: x\n")


# xml


def test_xml(home, monkeypatch):
    home.add()
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written))
    assert home.run("xml", "1")[0] == 0
    assert b'id="1"' in written.getvalue()
    assert home.run("xml", "--schema")[0] == 0
    assert b"http://relaxng.org/ns/structure/1.0" in written.getvalue()


def test_xpath(home):
    home.add()
    assert home.out("xml", "1", "--xpath", "2 * 21") == "42\n"
    assert home.out("xml", "1", "--xpath", "//jim:local_job[@state='waiting']/@n") == "0\n1\n2\n3\n"
    assert "//jim:local_job[@state='failed']/@n" in " ".join(home.out("xml", "--help").split())
    for expression in ("][", "//*[", "//local:job"):
        code, out, err = home.run("xml", "1", "--xpath", expression)
        assert (code, out, err.startswith(f"jim: XPath {expression!r}: ")) == (2, "", True)


@pytest.mark.parametrize("words", [("1", "--xpath", ""), ("1", "--xpath", " "), ("--schema", "--xpath", "//a")])
def test_an_expression_that_is_none_is_refused(home, words):
    home.add()
    assert home.run("xml", *words)[:2] == (2, "")


# watch


def steps(home, *moves):
    """Give a pause that makes the next move instead of waiting."""
    left = list(moves)

    def pause(seconds):
        left.pop(0)()

    return pause


def test_watch_prints_a_line_for_each_change(home):
    home.beat()
    home.add(size=2)
    code = watch.follow(
        1,
        pause=steps(
            home,
            lambda: home.move(0, State.RUNNING, Witness.CLAIM),
            lambda: None,
            lambda: home.store.publish(1, 0, "g", PHASE.format("g", 1, 2, "events")),  # too soon for a line of its own
            lambda: home.move(1, State.FAILED, Witness.CLAIM),
            lambda: home.finish("failed", f"1 of 2 {EVIL}", tar="/w/1.tar", bytes=10, local_jobs=1, line=""),
        ),
    )
    assert code == 1
    assert home.capsys.readouterr().out == (
        "1 split (2 waiting)\n"
        "1 split (1 running, 1 waiting)\n"
        "1 split (1 failed, 1 running) | g 1 of 2 events\n"
        f"1 finished (1 failed, 1 running): 1 of 2 {EVIL_SHOWN} | g 1 of 2 events\n"
        f"1 failed: 1 of 2 {EVIL_SHOWN}\n"
        "tar          /w/1.tar (10 bytes, outputs of 1 of 2 local jobs)\n"
    )
    assert home.woken == []


def test_watch_of_what_completed(home):
    home.add(size=0)
    home.finish()
    assert home.run("watch", "1")[:2] == (0, "1 finished\n1 completed\n")


def test_watch_gives_the_record_in_the_end_and_nothing_before(home):
    home.add()
    home.finish()
    record = home.json("watch", "1")
    assert (list(record), record["id"], record["step"]) == (RECORD_NAMES, 1, "finished")
    assert home.json("status", "1") == [record]


def test_watch_wakes_the_keeper_that_is_missing(home, monkeypatch):
    home.add(size=0)
    ticks = iter(range(0, 1000, 6))
    monkeypatch.setattr("time.monotonic", lambda: next(ticks))
    watch.follow(1, pause=steps(home, lambda: None, lambda: None, home.finish), quiet=True)
    assert set(home.woken) == {home.site.state}


def test_bars_on_a_terminal(home, monkeypatch):
    home.beat()
    home.add(size=2)
    home.store.publish(1, 0, "generate", PHASE.format("generate", 117, 250, "events"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    assert watch.follow(1, pause=steps(home, home.finish)) == 0
    out = home.capsys.readouterr().out
    assert "1 local job" in out
    assert "0/2" in out
    assert "117/250" in out
    assert out.endswith("1 completed\n")
