"""The documents of the status DB, and their schema."""

import io
import re
from contextlib import closing
from types import SimpleNamespace

import pytest
from lxml import etree

from jim.clock import Clock
from jim.errors import UnknownJob
from jim.model import State, Step, Witness
from jim.statusdb.documents import writing
from jim.statusdb.documents.writing import document, of_local_job, write
from jim.statusdb.documents.xml import NAMESPACE, fragment, schema
from jim.statusdb.published import OF_ALL
from jim.statusdb.store import Store
from tests.unit.statusdb.by_hand import add
from tests.unit.statusdb.documented import NOON, NOON_S, RECORD, SUM, FixedClock, stored

NAMES = {"jim": NAMESPACE}
AT_NOON = {"updated": NOON, "updated_s": NOON_S}


@pytest.fixture
def store(tmp_path):
    with closing(stored(tmp_path)) as store:
        yield store


def parsed(content: bytes) -> etree._Element:
    root = etree.fromstring(content)
    grammar = etree.RelaxNG(etree.fromstring(schema()))
    grammar.assertValid(root)
    return root


# Documents


def test_a_document_shows_the_record_of_its_grid_job(store):
    store.set_fact("seen", "2026-01-31T12:00:00.000Z")
    root = parsed(document(store, 12))
    assert root.tag == f"{{{NAMESPACE}}}grid_job"
    assert dict(root.attrib) == {
        "id": "12",
        "key": "gk-1",
        "type": "executable",
        "owner": "mc",
        "step": "active",
        "status": "submitted",
        "herd": "single",
        "MasterJobId": "12",
        "JobSplitType": "Single",
        "witness": "keeper",
        "seen": NOON,
        "age_s": "0.0",
        "created": "2026-01-31T11:00:00.000Z",
        "updated": NOON,
        "updated_s": NOON_S,
    }
    assert dict(root.find("jim:counts", NAMES).attrib) == {"running": "1", "waiting": "1"}
    size = root.find("jim:size", NAMES)
    assert dict(size.attrib) == {"local_jobs": "2", "events_per_job": "250"}
    assert size.text == "250 < 1,000 events"


def test_a_document_shows_the_request(store):
    request = parsed(document(store, 12)).find("jim:request", NAMES)
    shown = {each.get("name"): each for each in request}
    assert shown["events"].text == "500"
    assert shown["queue"].text is None
    assert [each.text for each in shown["outputs"]] == ["*.dat", "log"]
    assert [(each.get("name"), each.text) for each in shown["environment"]] == [("MODE", "fast & loose")]
    assert [[word.text for word in value] for value in shown["arguments"]] == [["a", "b"], []]


def test_a_document_says_true_and_false_as_xml_does(store):
    store.add_grid_job(13, "key-13", "alice", NOON, {"job_type": "executable", "key": "key-13", "keep_going": True})
    shown = {each.get("name"): each.text for each in parsed(document(store, 13)).find("jim:request", NAMES)}
    assert shown["keep_going"] == "true"


def test_a_document_ends_its_last_line(store):
    assert document(store, 12).endswith(b"</jim:grid_job>\n")


def test_a_document_shows_every_local_job_and_its_attempts(store):
    first, second = parsed(document(store, 12)).findall("jim:local_job", NAMES)
    assert dict(first.attrib) == {"n": "0", "state": "running", "attempt": "2", "witness": "claim", **AT_NOON}
    assert dict(first.find("jim:piece", NAMES).attrib) == {"first_event": "1", "events": "250"}
    assert second.get("state") == "waiting"
    assert [each.text for each in second.iterfind("jim:piece/jim:argument", NAMES)] == ["-x", "<y>"]
    ended, live = first.findall("jim:attempt", NAMES)
    assert dict(ended.attrib) == {
        "number": "1",
        "submission": "1",
        "index": "1",
        "host": "node7",
        "started": NOON,
        "verdict": "again",
        "reason": "exit 3",
        **AT_NOON,
    }
    assert live.get("number") == "2"
    assert live.get("verdict") is None


def test_a_document_shows_exit_records(store):
    (told,) = parsed(document(store, 12)).iterfind(".//jim:exit", NAMES)
    assert dict(told.attrib) == {
        "started": "2026-01-31T12:00:00Z",
        "ended": "2026-01-31T12:00:05Z",
        "code": "3",
        "cpu_seconds": "4.20",
    }
    (output,) = told.findall("jim:output", NAMES)
    assert dict(output.attrib) == {"name": "events.dat", "bytes": "1048576", "sha256": SUM}
    assert [each.text for each in told.findall("jim:refused", NAMES)] == ["link escape.dat"]


@pytest.mark.parametrize(
    ("was", "now", "shown"),
    [
        ("cpu 4.20", "cpu nan", []),
        ("cpu 4.20", "cpu 1e300", []),
        ("cpu 4.20", "cpu -1", []),
        ("\nend", "", []),
    ],
)
def test_an_odd_exit_record_does_not_spoil_a_document(store, was, now, shown):
    store.set_attempt(12, 1, 1, record=RECORD.replace(was, now))
    told = parsed(document(store, 12)).iterfind(".//jim:exit", NAMES)
    assert [each.get("cpu_seconds") for each in told] == shown


def test_a_document_holds_what_was_published_in_any_namespace(store):
    store.publications.publish(12, 0, "phase-sim", fragment("phase sim 3 250 events"))
    store.publications.publish(
        12, 0, "mine", fragment('<m:a xmlns:m="urn:mine" xmlns="urn:other" b="1"><c>é</c><!-- x --></m:a>')
    )
    store.publications.publish(12, OF_ALL, "note", fragment("<note>of all</note>"))
    root = parsed(document(store, 12))
    assert root.xpath("string(jim:detail/note)", namespaces=NAMES) == "of all"
    assert root.xpath("string(jim:local_job[@n=0]/jim:detail/phase/@done)", namespaces=NAMES) == "3"
    assert root.xpath("string(//m:a[@b=1]/o:c)", namespaces={"m": "urn:mine", "o": "urn:other"}) == "é"
    assert len(root.xpath("jim:local_job[@n=1]/jim:detail", namespaces=NAMES)) == 1


def test_a_document_of_a_local_job_is_its_part_of_the_whole(store):
    whole, part = document(store, 12).decode(), of_local_job(store, 12, 0).decode()
    assert parsed(part.encode()).get("n") == "0"
    assert part.partition("\n")[2].replace(f' xmlns:jim="{NAMESPACE}"', "") in whole
    with pytest.raises(UnknownJob, match=r"no local job 12\.2"):
        of_local_job(store, 12, 2)


# Each line is one that no wrapper writes today: all are read, by the slower way or by the faster one.
@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("", ""),
        ("reason -", "reason killed by signal 9 of <someone>"),
        ("code 3", "code -"),
        ("signal -", "signal 9"),
        ("index 1\n", "index 01\n"),
        ("started 2026-01-31", "started 2026-02-31"),
        ("events.dat", "a/b c.dat"),
        ("events.dat", "../x"),
        ("events.dat", "é.dat"),
        ("code 3\n", "further word\ncode 3\n"),
        ("recovery -\n", "recovery -\npeak 1025 cgroup\n"),
        ("recovery -\n", "recovery -\npeak 1025 sampled\nkills 1\n"),
        ("recovery -\n", "recovery -\npeak 1025 guessed\n"),
    ],
)
def test_both_ways_to_read_an_exit_record_write_the_same(monkeypatch, was, now):
    record = RECORD.replace("refused link escape.dat\n", "").replace(was, now)
    quick = writing.attempt("", record)
    monkeypatch.setattr(writing, "_USUAL", re.compile("none"))
    assert writing.attempt("", record) == quick
    assert ("<jim:exit" in quick) == (was not in ("started 2026-01-31",) and now != "../x" and "guessed" not in now)


@pytest.mark.parametrize(("how", "more"), [("cgroup", ""), ("sampled", ' memory_sampled="1"')])
def test_an_exit_has_the_most_memory_that_was_in_use(how, more):
    told = writing.attempt("", RECORD.replace("recovery -\n", f"recovery -\npeak 3000000 {how}\n"))
    assert f' memory_mb_peak="2930"{more}' in told


def test_text_that_xml_cannot_carry_is_replaced(store):
    store.set_grid_job(12, reason="a\0b\x1b[2Jc\ufffe")
    store.set_local_job(12, 1, state=State.FAILED, witness=Witness.QUEUE, reason='lost "&<\r\n\t>')
    root = parsed(document(store, 12))
    assert root.get("reason") == "a\ufffdb\ufffd[2Jc\ufffd"
    assert root.findall("jim:local_job", NAMES)[1].get("reason") == 'lost "&<\r\n\t>'


def test_a_lone_surrogate_in_a_request_is_replaced(store):
    store.add_grid_job(13, "gk-2", "mc", NOON, {"job_type": "executable", "program": "a\udcffb"})
    root = parsed(document(store, 13))
    assert [each.text for each in root.iterfind("jim:request/jim:attribute", NAMES)] == ["executable", "a\ufffdb"]


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("state", [state for state in State if state is not State.UNKNOWN])
def test_documents_are_valid_at_every_step_and_state(store, step, state):
    store.set_local_job(12, 0, state=state, witness=Witness.QUEUE, reason="why")
    store.set_attempt(12, 2, 1, verdict=state.value)
    outcome = "failed" if step is Step.FINISHED else ""
    result = {"tar": "/w/12/result/12.tar", "bytes": 10, "beside": ["a.png"], "line": ""}
    store.set_grid_job(12, step=step, outcome=outcome, result=result)
    root = parsed(document(store, 12))
    assert root.findall("jim:local_job", NAMES)[0].get("state") == state.value
    assert root.get("step") == step.value


@pytest.mark.parametrize("witness", Witness)
def test_the_schema_knows_every_witness(store, witness):
    store.set_local_job(12, 0, witness=witness)
    parsed(document(store, 12))


def test_the_schema_refuses_what_is_not_published_into_detail(store):
    grammar = etree.RelaxNG(etree.fromstring(schema()))
    content = document(store, 12).decode()
    for was, now in (
        ("</jim:piece>", "</jim:piece><x/>"),
        ('state="running"', 'state="runing"'),
        ("<jim:detail/>", "<jim:detail><jim:local_job/></jim:detail>"),
        ("<jim:detail/>", ""),
        (' n="0"', ""),
    ):
        assert was in content
        assert not grammar.validate(etree.fromstring(content.replace(was, now).encode())), now


def test_an_unknown_grid_job_has_no_document(store):
    with pytest.raises(UnknownJob, match="no grid job 99"):
        document(store, 99)


def test_a_document_shows_one_moment(store, tmp_path):
    class Meddling(io.BytesIO):
        """The keeper goes on while the document is written."""

        def write(self, content):
            store.set_local_job(12, 1, state=State.RUNNING, witness=Witness.CLAIM)
            return super().write(content)

    reader, out = Store(tmp_path / "status.db", FixedClock()), Meddling()
    write(reader, 12, out)
    root = parsed(out.getvalue())
    assert dict(root.find("jim:counts", NAMES).attrib) == {"running": "1", "waiting": "1"}
    assert [each.get("state") for each in root.iterfind("jim:local_job", NAMES)] == ["running", "waiting"]
    assert store.local_job(12, 1).state is State.RUNNING
    reader.close()


# What is published, by attempt


def test_phases_of_jims_namespace_and_of_none_are_the_same(store):
    store.publications.publish(12, 0, "phase-sim", fragment("phase sim 3 250 events"), 2)
    store.publications.publish(12, 0, "mine", fragment("<mine/>"), 2)
    store.publications.publish(12, 1, "phase-sim", fragment("phase sim 9 250 events"), 0)
    root = parsed(document(store, 12))
    numbers = [("3", "250"), ("9", "250")]
    for path in ("//jim:phase", "//phase"):
        assert [(each.get("done"), each.get("total")) for each in root.xpath(path, namespaces=NAMES)] == numbers


def test_a_phase_has_its_attempt_its_time_and_whether_it_is_late(store):
    store.publications.publish(12, 0, "phase-sim", fragment("phase sim 3 250 events"), 1, True)
    (phase,) = parsed(document(store, 12)).iterfind(".//jim:phase", NAMES)
    facts = {"name": "sim", "done": "3", "total": "250", "unit": "events", "attempt": "1", "late": "1"}
    assert dict(phase.attrib) == facts | {"updated": NOON, "updated_s": NOON_S}


def test_what_was_refused_and_dropped_is_counted_in_detail(store):
    store.publications.count_refused(12, 0, refused=1)
    store.publications.count_refused(12, 0, refused=2, dropped=5)
    first, second = parsed(document(store, 12)).iterfind("jim:local_job/jim:detail", NAMES)
    assert (dict(first.attrib), dict(second.attrib)) == ({"refused": "3", "dropped": "5"}, {})


def test_what_differs_from_its_grammar_is_marked_with_the_words_of_the_parser(store):
    store.publications.publish(12, 0, "mine", "<mine/>", 2, False, "Expecting element a")
    store.publications.publish(12, 0, "new", "<new/>", 2, False, "?")
    mine, new = parsed(document(store, 12)).find("jim:local_job/jim:detail", NAMES)
    assert dict(mine.attrib) == {f"{{{NAMESPACE}}}valid": "no", f"{{{NAMESPACE}}}words": "Expecting element a"}
    assert dict(new.attrib) == {}


def test_a_mark_is_readable_whatever_prefixes_an_element_declares(store):
    store.publications.publish(12, 0, "mine", '<jim:a xmlns:jim="urn:x" xmlns:jim0="urn:y"/>', 2, False, "no <b>")
    (mine,) = parsed(document(store, 12)).find("jim:local_job/jim:detail", NAMES)
    assert (mine.tag, mine.get(f"{{{NAMESPACE}}}words")) == ("{urn:x}a", "no <b>")


@pytest.mark.parametrize("of_site", [False, True])
def test_a_document_is_written_in_parts_and_never_held_whole(tmp_path, monkeypatch, of_site):
    """As most of a million local jobs would be, in the process that serves all pages."""
    monkeypatch.setattr(writing, "AT_ONCE", 10)
    with closing(Store(tmp_path / "status.db", Clock(), write=True)) as store:
        add(store, 1, 60)
        made, real = [], writing.local_jobs
        monkeypatch.setattr(writing, "local_jobs", lambda *more: made.append(more) or real(*more))
        out = SimpleNamespace(write=lambda content: held.append((len(made), content.count(b"<jim:local_job "))))
        held = []
        if of_site:
            writing.write_site(store, {"site": {}}, [1], out, strict=False)
        else:
            writing.write(store, 1, out)
    assert [count for count in held if count[1]] == [(part, 10) for part in range(1, 7)]
