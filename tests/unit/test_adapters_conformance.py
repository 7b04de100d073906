"""Every adapter keeps the contract of adapters/base.py. A new one needs captures, and no test: see conformance.py.

A site's own is held to it by

    pytest tests/unit/test_adapters_conformance.py --adapter mysite.batch --captured DIRECTORY

where the name may also be a file.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from jim.errors import BadSite, BatchError, Refused, Unclear
from jim.model import Answer, Batch, Resources, State
from tests.unit import conformance

LIVE_MARK = "jim-3f9a07c2-1234567-1234"  # as long as marks become
BANNER = "\nWelcome to node7.\n*** Maintenance on Monday: 1 2 3 ***\n\n"
NOISE = [
    "<?xml version='1.0'?><html/>\n",
    "Segmentation fault\n",
    "\x00\ufffd\x1b[31m???",
    "<html><body>502 Bad Gateway</body></html>\n",
    "12",
    "null\n",
    "}\n",
]
CUTS_AT_MOST = 1500


def pytest_generate_tests(metafunc):
    captured = Path(metafunc.config.getoption("captured"))
    adapters = conformance.adapters(*metafunc.config.getoption("adapter"))
    captures = [each for adapter in adapters for each in conformance.captures(adapter, captured)]
    if "adapter" in metafunc.fixturenames:
        metafunc.parametrize("adapter", adapters, ids=lambda adapter: adapter.name)
    for name, wanted in {
        "capture": lambda _: True,
        "good": lambda capture: capture.kind in ("submit", "list", "history", "find") and is_good(capture),
        "listing": lambda capture: capture.kind in ("list", "find") and is_good(capture),
    }.items():
        if name in metafunc.fixturenames:
            chosen = [each for each in captures if wanted(each)]
            metafunc.parametrize(name, chosen, ids=lambda each: f"{each.adapter.name}-{each.version.name}-{each.name}")


def is_good(capture):
    return capture.answer.code == 0 and capture.answer.out and shown(capture.parse, capture.answer) is not None


@pytest.fixture
def captured(request):
    return Path(request.config.getoption("captured"))


def answer(out="", err="", code=0):
    return Answer(("words",), code, out, err, 0.1)


def batch(size=3, options=(), **asked):
    return Batch(LIVE_MARK, "/w/12/s1/job.sh", "/w/12/s1", size, Resources(**asked), options)


def commands(adapter):
    """Build every command there is."""
    ids = [("12", 1), ("12", 2), ("13", 0)]
    asked = {"queue": "q", "wall_seconds": 61, "memory_mb": 5, "account": "a", "cores": 2, "disk_mb": 7}
    return [
        adapter.submit_command(batch(**asked)),
        adapter.query_command(),
        adapter.history_command(["12", "13"]),
        adapter.find_command(LIVE_MARK),
        adapter.cancel_command(ids),
        *filter(None, (adapter.change_command(verb, ids) for verb in ("hold", "release", "suspend", "resume"))),
        adapter.ping_command(),
    ]


def shown(parse, asked):
    """Parse, or give None where the answer is refused; anything else that is raised is a crash."""
    try:
        return parse(asked)
    except BatchError:
        return None


# What was captured, and what it means


def test_there_are_captures_of_every_kind(adapter, captured):
    kinds = {each.kind for each in conformance.captures(adapter, captured)}
    assert {"submit", "list", "history", "cancel"} <= kinds


def test_what_is_expected_was_captured(adapter, captured):
    names = {(each.version, each.name) for each in conformance.captures(adapter, captured)}
    for version, expected in conformance.sidecars(adapter, captured):
        told = {name for name, table in expected.items() if isinstance(table, dict) and name != "huge"}
        assert {name for where, name in names if where == version} >= told
        assert not expected or {name for where, name in names if where == version} <= told


def test_a_capture_means_what_is_written_beside_it(capture):
    expected = capture.expected
    if expected is None:
        shown(capture.parse, capture.answer)
    elif "raises" in expected:
        with pytest.raises(BatchError) as error:
            capture.parse(capture.answer)
        assert type(error.value) is conformance.ERRORS[expected["raises"]]
    else:
        found = capture.parse(capture.answer)
        if "id" in expected:
            assert found == expected["id"]
        if "jobs" in expected:
            seen = conformance.observed(expected.get("seen", {}))
            assert {key: found.get(key) for key in seen} == seen
            assert len(found) == expected["jobs"]


def test_a_ping_is_judged_by_its_exit_code_alone(adapter, captured):
    pings = [each for each in conformance.captures(adapter, captured) if each.kind == "ping" and each.expected]
    assert all((each.answer.code == 0) is ("raises" not in each.expected) for each in pings)


# What no answer may do


def test_an_answer_cut_anywhere_shows_nothing_but_the_truth(good, captured):
    """At best it is refused. Some batch systems' listings have no end of their own: there it may show less."""
    text, whole = good.answer.out, shown(good.parse, good.answer)
    framed = next(told for version, told in conformance.sidecars(good.adapter, captured) if version == good.version)
    step = max(1, len(text) // CUTS_AT_MOST)
    for length in range(0, len(text), step):
        part = shown(good.parse, answer(text[:length]))
        if isinstance(whole, str):
            assert part in (None, whole)
        elif part and whole is not None:
            assert part.items() <= whole.items()
        if good.kind in ("list", "find") and framed.get("framed") and text[length:].strip():
            assert part is None


def test_a_banner_changes_nothing(good):
    whole = shown(good.parse, good.answer)
    assert shown(good.parse, answer(BANNER + good.answer.out)) in (None, whole)


def is_unclear(parse, asked):
    try:
        parse(asked)
    except BatchError as error:
        return isinstance(error, Unclear)
    return False


def test_noise_is_no_answer(adapter):
    parsers = (adapter.parse_submit, adapter.parse_query, adapter.parse_find)
    said = [(parse.__name__, noise) for parse in parsers for noise in NOISE]
    assert [each for each in said if not is_unclear(getattr(adapter, each[0]), answer(each[1]))] == []
    assert [
        noise for noise in NOISE if shown(adapter.parse_history, answer(noise))
    ] == []  # asked for ends: none is none


def test_a_command_that_failed_in_unknown_words_leaves_all_open(good):
    """Whatever it may have printed before. So does one whose messages are in another language."""
    ends = [(code, err) for code in (None, -9, 1, 2, 137) for err in ("", "Fehler: Verbindungsaufbau abgelehnt\n")]
    if good.kind == "history":
        ends.remove((1, ""))  # grep's way of saying that there is nothing
    assert [end for end in ends if not is_unclear(good.parse, answer(good.answer.out, end[1], end[0]))] == []


def test_a_command_that_had_no_end_is_unclear_whatever_it_said(adapter, captured):
    for capture in conformance.captures(adapter, captured):
        said = capture.answer
        if capture.kind != "ping" and not adapter.says(adapter.gone, said.err + said.out):
            assert is_unclear(capture.parse, answer(said.out, said.err, None)), capture.name
            assert is_unclear(capture.parse, answer(said.out, said.err, -15)), capture.name


def test_a_command_that_was_not_there_did_nothing(adapter):
    for parse in (adapter.parse_submit, adapter.parse_query, adapter.parse_history, adapter.parse_cancel):
        with pytest.raises(BatchError) as error:
            parse(answer("", "cannot start: [Errno 2] No such file or directory: 'words'", 127))
        assert type(error.value) is BatchError


def test_an_unknown_word_is_no_end(listing):
    whole = shown(listing.parse, listing.answer)
    for word in {seen.word for seen in (whole or {}).values() if seen.word}:
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "LEVITATING", listing.answer.out)
        part = shown(listing.parse, answer(text)) or {}
        assert all(part[key].state is State.UNKNOWN for key in part if part[key].word == "LEVITATING")
        assert all(whole[key].state.final for key in part.keys() & whole.keys() if part[key].state.final)


def test_a_listing_is_read_at_fifty_thousand_jobs_a_second(adapter, captured):
    for _, expected in conformance.sidecars(adapter, captured):
        if "huge" in expected:
            rows = "".join(expected["huge"]["row"] % (100 + at // 1000, at % 1000 + 1) for at in range(20_000))
            text = answer(expected["huge"]["head"] + rows + expected["huge"]["tail"])
            slower = max(1, took(lambda: sum(range(2_500_000))) / 0.0375)
            assert took(lambda text=text: adapter.parse_query(text)) < 0.4 * slower


def took(task):
    """Measure CPU time. A machine that others use, too, is slower than ours was: the sum takes 0.0375 s here."""
    began = time.process_time()
    task()
    return time.process_time() - began


# What commands are


def test_commands_are_lists_of_words(adapter):
    for command in commands(adapter):
        assert isinstance(command, list)
        assert command
        assert all(isinstance(word, str) and not re.search(r"[\n\0]", word) for word in command)


def test_no_command_is_a_shell_line(adapter):
    for command in commands(adapter):
        shells = [at for at, word in enumerate(command[:-1]) if re.fullmatch(r"(.*/)?\w*sh", word)]
        assert not any(command[at + 1].startswith("-") and "c" in command[at + 1] for at in shells)


def test_a_site_may_replace_the_first_words_of_each(adapter):
    own = {name: ["/opt/site/bin/own", name] for name in adapter.commands}
    begun = [command[:2] for command in commands(type(adapter)(own, "/area"))]
    assert sorted({name for _, name in begun}) == sorted(own)
    assert {program for program, _ in begun} == {"/opt/site/bin/own"}
    with pytest.raises(BadSite, match="unknown command 'submitt'"):
        type(adapter)({"submitt": ["x"]}, "/area")


def test_own_restart_is_off_and_a_site_s_words_do_not_turn_it_on(adapter, captured):
    command = adapter.submit_command(batch(options=("--its", "own words")))
    at = command.index("--its")
    assert command[at + 1] == "own words"
    for _, expected in conformance.sidecars(adapter, captured):
        words = expected.get("submit_words", [])
        assert all(word in command[at + 2 :] for word in words)


@pytest.mark.parametrize("name", ["queue", "account"])
def test_no_value_becomes_an_option(adapter, name):
    for value in ("-evil", "--evil=1", "a b", "a\nb", "a\0b"):
        with suppress(Refused):
            command = adapter.submit_command(batch(**{name: value}))
            assert not any(word.startswith(value) for word in command if value.startswith("-"))
            assert not any(re.search(r"[\n\0]", word) for word in command)


def test_a_thousand_jobs_fit_into_a_command(adapter):
    """The kernel limits a word to 128 KiB, and all of them together to 2 MiB at least."""
    ids = [(str(10**9 + n), n) for n in range(1, 1001)]
    for command in (adapter.cancel_command(ids), adapter.history_command([id_ for id_, _ in ids])):
        assert max(map(len, command)) < 100_000
        assert sum(map(len, command)) < 1_000_000
        assert all(any(id_ in word for word in command) for id_, _ in ids[:3])


def test_marks_survive(adapter):
    assert len(LIVE_MARK) <= adapter.name_length
    assert any(LIVE_MARK in word for word in adapter.submit_command(batch()))
    assert adapter.array_limit >= 1
