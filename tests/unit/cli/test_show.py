"""The people's door: status, show, its phases."""

import json
import sys

import pytest

from jim.cli.text import say_json, say_json_in_parts, say_json_list
from jim.jobs import Sender
from jim.model import Piece, State, Step, Verb, Witness
from jim.statusdb.store import Store
from tests.support.cli_home import EVIL, EVIL_SHOWN, RECORD_NAMES, sent

# status


def test_status_show_and_explain_tell_why_local_jobs_failed(home):
    home.add(size=7)
    for n, reason in enumerate(["exit 3", "signal 9", "exit 3", EVIL, "lost", "exit 3"]):
        home.move(n, State.FAILED, reason=reason)
    told = f"exit 3 (3), signal 9 (1), {EVIL_SHOWN} (1), 1 more"
    assert home.out("status", "1").splitlines()[1].endswith(f"  {told}")
    assert f"\nreason       {told}\n" in home.out("show", "1")
    assert f"* 6 local jobs have failed: {told}\n" in home.out("explain", "1")
    home.finish("failed", f"6 of 7 local jobs failed: {EVIL}")  # as the keeper then puts it
    assert home.out("status", "1").splitlines()[1].endswith(f"  6 of 7 local jobs failed: {EVIL_SHOWN}")
    assert f"\nreason       6 of 7 local jobs failed: {EVIL_SHOWN}\n" in home.out("show", "1")
    assert f"* finished as failed: 6 of 7 local jobs failed: {EVIL_SHOWN}\n" in home.out("explain", "1")


def test_colours_only_on_a_terminal(home, monkeypatch):
    home.beat()
    home.add()
    home.finish("failed")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;31mfailed" in home.out("status")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in home.out("status")


# show


def test_a_grid_job_is_found_by_its_key_or_its_contact_and_shows_who_sent_it(home):
    home.add()
    contact, dn = "https://gk.example:2119/16/5/", "/O=Test/CN=\x1b[31mA"
    home.store.senders.put(1, Sender(dn, ("/dteam/Role=NULL/Capability=NULL",), contact))
    for name in (contact, "key-1"):
        said = home.out("show", name)
        assert "\nsent by      /O=Test/CN=\\x1b[31mA (claimed by the proxy)\n" in said
        assert "\nVO           dteam, /dteam/Role=NULL/Capability=NULL (claimed by the proxy)\n" in said
        assert f"\ncontact      {contact}\n" in said
    told = json.loads(home.out("show", "key-1", "--json"))["sender"]
    fqans = ["/dteam/Role=NULL/Capability=NULL"]
    assert told == {"dn": dn, "vo": "dteam", "fqans": fqans, "contact": contact, "claimed": True}


def test_a_wish_is_told_once(home):
    home.add(size=2)
    home.store.set_grid_job(1, wish=Verb.CANCEL)
    assert "\nstatus       submitted (cancel requested; waiting: 2 of 2; step split)\n" in home.out("show", "1")
    home.store.set_grid_job(1, wish=Verb.RESUME)
    assert "\nstatus       submitted (waiting: 2 of 2; step split, resume requested)\n" in home.out("show", "1")


def test_a_grid_job_is_shown_in_detail(home):
    sent(home)
    assert home.out("show", "1") == (
        "grid job     1, executable, of alice\n"
        "key          key-1\n"
        "status       submitted (running: 1 of 4, 1 held, 1 failed; step split)\n"
        "local jobs   1 failed, 1 held, 1 running, 1 waiting\n"
        "reason       exit 3\n"
        "created      2026-01-31 11:00:00 UTC\n"
        "seen         2026-01-31 12:00:00 UTC (0 s ago) by keeper\n"
        "size         4 local jobs of 250 events: events_per_job of the request\n"
        "asked        job_type = 'executable'\n"
        "phase        generate 117 of 250 events, 3 have not begun (1,000 events planned in all)\n"
        "\n"
        "id   state    attempt  piece             witness      changed  reason\n"
        "1.0  running  1        events 1–250      claim        0 s ago\n"
        f"1.1  held     1        events 251–500    queue        0 s ago  {EVIL_SHOWN}\n"
        "1.2  failed   1        events 501–750    exit record  0 s ago  exit 3\n"
        "1.3  waiting  0        events 751–1,000               0 s ago\n"
        "\n"
        "submission  local jobs  state      batch job  mark          changed  reason\n"
        "1           3           confirmed  4711       jim-cafe-1-1  0 s ago\n"
        "\n"
        "at                       change               witness  reason\n"
        "2026-01-31 12:00:00 UTC  accepted             user\n"
        "2026-01-31 12:00:00 UTC  accepted → resolved  keeper\n"
        "2026-01-31 12:00:00 UTC  resolved → split     keeper\n"
    )


def test_show_long_arguments_by_their_beginning_and_their_end(home):
    home.add(size=0)
    common = "run -first 0123456789 0123456789 0123456789 0123456789"  # 54 characters
    home.store.set_grid_job(1, step=Step.RESOLVED)
    home.store.add_pieces(1, 0, [Piece(arguments=(common, "--x", last)) for last in ("1", "22")])
    home.store.end_split(1, 2)
    shown = home.out("show", "1")
    assert f"1.0  waiting  0        {common} --x 1 " in shown  # 60 characters: as many as there may be
    assert "1.1  waiting  0        run -first 0123456789 0123456 … 0123456789 0123456789 --x 22 " in shown
    assert f"\npiece        {common} --x 22\n" in home.out("show", "1.1")


def test_show_tells_what_was_done_to_a_grid_job_as_a_whole(home):
    """What people changed of it, and which proxy was renewed, stands in no local job's journal."""
    sent(home)
    home.store.note(1, "edit", Witness.KEEPER, f"queue=short → queue={EVIL}")
    home.store.note(1, "late exit record", Witness.EXIT_RECORD, n=2)
    assert home.out("show", "1").endswith(
        f"\n2026-01-31 12:00:00 UTC  edit                 keeper   queue=short → queue={EVIL_SHOWN}\n"
    )
    lines = [(each["now"], each["n"], each["reason"]) for each in home.json("show", "1")["journal"]]
    assert lines == [
        ("accepted", None, ""),
        ("resolved", None, ""),
        ("split", None, ""),
        ("edit", None, f"queue=short → queue={EVIL}"),
    ]


def test_show_a_local_job(home):
    sent(home)
    home.later("2026-01-31T12:00:10.000Z")
    assert home.out("show", "1.2") == (
        "local job    1.2, executable, of alice\n"
        "state        failed\n"
        "reason       exit 3\n"
        "created      2026-01-31 11:00:00 UTC\n"
        "seen         2026-01-31 12:00:00 UTC (0 s ago) by exit record\n"
        "changed      2026-01-31 12:00:00 UTC by exit record\n"
        "piece        events 501–750\n"
        "attempts     0 of 3 spent\n"
        "\n"
        "attempt  submission   host  started                  ended                    CPU s  memory  exit  verdict"
        "  reason\n"
        "1        s1, index 3        2026-01-31 11:00:00 UTC  2026-01-31 11:00:05 UTC  4.2            3     failed "
        "  exit 3\n"
        "\n"
        "at                       change                witness      reason\n"
        "2026-01-31 12:00:00 UTC  waiting → submitting  keeper\n"
        "2026-01-31 12:00:00 UTC  submitting → failed   exit record  exit 3\n"
    )


def test_people_are_told_their_own_time(home, zone):
    """A zone may have summer time: the name stands beside each time, and JSON has what is stored."""
    zone("CET-1CEST,M3.5.0,M10.5.0/3")
    home.add(size=0)
    home.later("2026-07-01T10:00:00.500Z")
    home.store.note(1, "edit", Witness.KEEPER)
    shown = home.out("show", "1")
    assert "\ncreated      2026-01-31 12:00:00 CET\n" in shown
    assert "\n2026-07-01 12:00:00 CEST  edit " in shown
    assert home.json("show", "1")["created"] == "2026-01-31T11:00:00.000Z"


def test_show_of_many_begins_with_what_failed(home):
    home.beat()
    home.add(size=60)
    home.move(59, State.FAILED)
    lines = home.out("show", "1").splitlines()
    assert [line.split()[0] for line in lines if line.startswith("1.")] == [f"1.{n}" for n in [*range(49), 59]]
    assert "… and 10 waiting (--all shows them)" in lines
    assert sum(line.startswith("1.") for line in home.out("show", "1", "--all").splitlines()) == 60


def shown(home, *words):
    """Give the local jobs that `jim show 1` lists, and the line that counts the others."""
    lines = home.out("show", "1", *words).splitlines()
    rest = [line for line in lines if line.startswith("… and ")]
    return [line.split()[0] for line in lines if line.startswith("1.")], "".join(rest)


def test_show_the_local_jobs_that_one_asks_for_by_number_and_state(home):
    home.beat()
    home.add(size=60)
    for n in (7, 58, 59):
        home.move(n, State.FAILED)
    home.move(8, State.HELD)
    assert shown(home, "--state", "failed") == (["1.7", "1.58", "1.59"], "")
    assert shown(home, "--state", "failed", "--limit", "1") == (
        *(["1.7"], "… and 2 failed (--from and --limit show others)"),
    )
    assert shown(home, "--state", "failed", "--state", "held", "--from", "8", "--all") == (["1.8", "1.58", "1.59"], "")
    assert shown(home, "--from", "55") == (
        *([f"1.{n}" for n in range(55, 60)], "… and 53 waiting, 1 failed, 1 held (--from and --limit show others)"),
    )
    assert shown(home, "--from", "1000000", "--limit", "1")[0] == []
    asked = home.json("show", "1", "--from", "58", "--limit", "5")["local_jobs"]
    assert [each["id"] for each in asked] == ["1.58", "1.59"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--state", "runing"], "state cannot be 'runing'; did you mean 'running'? (known: "),
        (["--from", "-1"], "argument --from: '-1': expected a number from 0"),
        (["--from", "1.5"], "argument --from: '1.5': expected a number from 0"),
        (["--limit", "0"], "argument --limit: '0': expected a number from 1"),
    ],
)
def test_show_refuses_a_state_or_a_number_that_does_not_exist(home, words, told):
    code, out, error = home.run("show", "1", *words)
    assert (code, out) == (2, "")
    assert told in error


def test_show_of_very_many_reads_them_in_parts_and_writes_each_before_the_next_part(home, monkeypatch):
    """A hundred thousand took 421 MB."""
    home.add(size=25)
    monkeypatch.setattr("jim.reading.view.PART", 10)
    read, written = [], []
    monkeypatch.setattr(Store, "local_jobs", spying(Store.local_jobs, lambda given: read.append(len(given))))
    monkeypatch.setattr("jim.cli.text.json.dumps", spying(json.dumps, lambda text: written.append((len(read), text))))
    documents = home.json("show", "1", "--all")["local_jobs"]
    assert [each["id"] for each in documents] == [f"1.{n}" for n in range(25)]
    assert read == [10, 10, 5]
    parts = [part for part, text in written if '"id": "1.' in text]
    assert parts == [1] * 10 + [2] * 10 + [3] * 5


def spying(call, look):
    """Give a function that does the same, and shows what it gave."""

    def spied(*given, **more):
        result = call(*given, **more)
        look(result)
        return result

    return spied


def test_what_is_printed_in_parts_is_the_same_document(capsys):
    document = {"a": [], "b\n": {"c": [1, {"d": None}]}, "e": [{"f": "x\ny"}, "g"], "h": []}
    say_json(document)
    whole = capsys.readouterr().out
    say_json_in_parts(document | {"e": iter(document["e"]), "h": iter(())})
    assert capsys.readouterr().out == whole


@pytest.mark.parametrize("items", [[], [1], [{"a": [1, {}]}, "x\ny", []]])
def test_a_list_that_is_printed_item_by_item_is_the_same_document(capsys, items):
    say_json(items)
    whole = capsys.readouterr().out
    say_json_list(iter(items))
    assert capsys.readouterr().out == whole


def test_a_grid_job_is_shown_as_one_json_document(home):
    sent(home)
    document = home.json("show", "1")
    assert list(document)[: len(RECORD_NAMES)] == RECORD_NAMES
    assert [each["id"] for each in document["local_jobs"]] == ["1.0", "1.1", "1.2", "1.3"]
    assert document["local_jobs"][1]["reason"] == EVIL
    assert list(document["local_jobs"][0]) == RECORD_NAMES
    assert document["phases"] == [
        {"name": "generate", "done": 117, "total": 250, "unit": "events", "local_jobs": 1}
        | {"not_begun": 3, "planned": 1000, "updated": "2026-01-31T12:00:00.000Z", "attempt": 0, "late": False},
    ]
    assert document["submissions"][0]["batch_id"] == "4711"
    assert "\x1b" not in home.out("show", "1", "--json")


def test_show_a_local_job_as_json(home):
    sent(home)
    document = home.json("show", "1.2")
    assert list(document)[: len(RECORD_NAMES)] == RECORD_NAMES
    assert (document["id"], document["status"], document["counts"]) == ("1.2", "failed", {"failed": 1})
    assert document["piece"] == {"first_event": 501, "events": 250, "arguments": []}
    assert document["attempts"][0]["record"]["code"] == 3
    assert [line["now"] for line in document["journal"]] == ["submitting", "failed"]


# phases


@pytest.mark.parametrize("trouble", ["raise OSError('stale file handle')", "raise RuntimeError('no licence')"])
def test_a_job_type_that_cannot_be_loaded_hides_nothing_of_its_grid_jobs(home, tmp_path, monkeypatch, trouble):
    (tmp_path / "own/crmine").mkdir(parents=True)
    (tmp_path / "own/crmine/gone.py").write_text(f"{trouble}\nHANDLER = 1\n")
    (home.site.state / "site.toml").write_text(f'[site]\nhandlers = "{tmp_path}/own"\n')
    monkeypatch.setattr(sys, "path", [*sys.path])
    home.add(job_type="crmine.gone", size=2)
    assert [line.split()[0] for line in home.out("show", "1").splitlines() if line.startswith("1.")] == ["1.0", "1.1"]


def test_show_says_what_further_attempts_ask_for_instead_of_the_request(home):
    sent(home)
    home.store.set_local_job(1, 2, changed={"memory_mb": 225})
    home.store.set_submission(1, 1, asked={"memory_mb": 150})
    said = home.out("show", "1.2")
    assert "\nasks for     memory_mb = 225\n" in said
    assert "  asked for 150 MB  3     failed " in said


@pytest.mark.parametrize(
    ("count", "told"),
    [(1, "retry = [{'when': 'exit 0', 'times': 2}]"), (30, "retry = 30 records")],
)
def test_rules_are_told_unless_there_are_many(home, count, told):
    home.add(retry=[{"when": f"exit {number}", "times": 2} for number in range(count)])
    assert f"asked        {told}\n" in home.out("show", "1")


def test_more_attempts_than_usual_are_told_as_such(home):
    home.add()
    home.store.set_local_job(1, 0, spent=6)
    assert "attempts     6 spent: a rule allows more than 3\n" in home.out("show", "1.0")


def test_publications_that_were_refused_or_came_too_late_are_counted(home):
    home.add()
    assert "published" not in home.out("show", "1.0")
    home.store.publications.count_refused(1, 0, refused=2)
    home.store.publications.count_refused(1, 0, dropped=1)
    assert "published    2 refused, 1 dropped\n" in home.out("show", "1.0")


def carried(home):
    """Let local job 0 run in carrier 2, and local job 1 wait for any."""
    home.add()
    home.store.intend(1, 1, "jim-cafe-1-1", home.store.local_jobs(1), carriers=2)
    home.store.set_submission(1, 1, state="confirmed", batch_id="77")
    home.store.set_attempt(1, 1, 1, started="2026-01-31T12:00:00.000Z", host="wn1", carrier=2)
    home.move(0, State.RUNNING, Witness.CLAIM)
    home.move(1, State.SUBMITTED, Witness.SUBMISSION)


def test_an_attempt_in_a_carrier_names_it(home):
    carried(home)
    assert "s1, index 1, carrier 2  wn1" in home.out("show", "1.0")
    assert 'index="1" carrier="2" host="wn1"' in home.out("xml", "1")
    assert home.out("xml", "1").count("carrier=") == 1
    assert "* in the queue" not in home.out("explain", "1.0")
    assert ", carrier 2 of batch job 77" in home.out("explain", "1.0")
    waits = home.out("explain", "1.1")
    assert "* waits for its turn in any of the 2 carriers of batch job 77\n" in waits
    assert "next:     it starts when one has room: a carrier is a batch job that runs several local jobs;" in waits


def test_local_jobs_that_wait_for_a_carrier_do_not_all_wait_in_the_queue(home):
    carried(home)
    told = home.out("explain", "1")
    assert "* 1 local job waits in the batch system's queue, or for its turn in one of 2 carriers\n" in told
    assert "each starts when a carrier has room: a carrier is a batch job that runs several local jobs;" in told
    assert "1           4, in 2 carriers  confirmed  77" in home.out("show", "1")
