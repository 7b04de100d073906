"""Every adapter keeps the contract of adapters/base.py. A new one needs captures, and no test.

docs/adapters.md, "Captured outputs", says what they are.

A site's own is held to it by

    .venv/bin/python -m pytest tests/unit/test_adapters_conformance.py \
        --adapter mysite.batch --handlers DIRECTORY --captured DIRECTORY

where the name may also be a file; then the former directory is the one that has the file's.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

import pytest

from jim.errors import BadSite, BatchError, Refused, Unclear
from jim.model import Answer, Batch, Resources, State
from tests.support import conformance

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
AT_MOST = pytest.mark.parametrize("most", [60, pytest.param(1500, marks=pytest.mark.torture)])  # of each answer
ROWS = 20_000
SHELL = re.compile(r"(?:.*/)?\w*sh")


def pytest_generate_tests(metafunc):
    option = metafunc.config.getoption
    captured = Path(option("captured"))
    adapters = conformance.adapters(*option("adapter"), handlers=option("handlers"))
    captures = [each for adapter in adapters for each in conformance.captures(adapter, captured)]
    if "adapter" in metafunc.fixturenames:
        metafunc.parametrize("adapter", adapters, ids=lambda adapter: adapter.name)
    for name, wanted in {
        "capture": lambda capture: capture.expected is not None,
        "good": lambda capture: capture.kind in ("submit", *conformance.LISTINGS) and is_good(capture),
        "listing": lambda capture: capture.kind in ("list", "find") and is_good(capture),
    }.items():
        if name in metafunc.fixturenames:
            chosen = [each for each in captures if wanted(each)]
            metafunc.parametrize(name, chosen, ids=lambda each: f"{each.adapter.name}-{each.version.name}-{each.name}")


def is_good(capture):
    return capture.answer.out and shown(capture.parse, capture.answer) is not None


@pytest.fixture
def captured(request):
    return Path(request.config.getoption("captured"))


def answer(out="", err="", code=0):
    return Answer(("words",), code, out, err, 0.1)


def batch(size=3, options=(), **asked):
    return Batch(LIVE_MARK, "/w/12/s1/job.sh", "/w/12/s1", size, Resources(**asked), options)


ASKED = {"queue": "q", "wall_seconds": 61, "memory_mb": 5, "account": "a", "cores": 2, "disk_mb": 7}
SPECIAL = {"gpus": (1, 2), "constraint": ("ib", "gpfs"), "licences": ("matlab:2", "idl")}
# The wrapper warns, and JIM itself puts the words of a request beside those of the site.
BY_OTHERS = {"warn_seconds", "batch_options"}
OTHER = Batch("jim-1-2-3", "/x/9.sh", "/x", 3, Resources("r", 122, 6, account="b", cores=3, disk_mb=8))


def commands(adapter, submitted=None, ids=(("12", 1), ("12", 2), ("13", 0))):
    """Build every command there is."""
    submitted = submitted or batch(**ASKED)
    return [
        adapter.submit_command(submitted),
        adapter.query_command(),
        adapter.history_command([id_ for id_, _ in ids]),
        adapter.find_command(submitted.mark),
        adapter.cancel_command(list(ids)),
        *filter(None, (adapter.change_command(verb, list(ids)) for verb in ("hold", "release", "suspend", "resume"))),
        adapter.ping_command(),
    ]


def shown(parse, asked):
    """Parse, or give None where the answer is refused; anything else that is raised is a crash."""
    try:
        return parse(asked)
    except BatchError:
        return None


# What was captured, and what it means


def test_there_is_what_an_adapter_is_held_to(adapter, captured):
    lacks = conformance.lacks(adapter, captured)
    if lacks:
        pytest.fail("\n".join(lacks), pytrace=False)


def test_a_capture_means_what_is_written_beside_it(capture):
    expected = capture.expected
    if "raises" in expected:
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


@AT_MOST
def test_an_answer_cut_anywhere_shows_nothing_but_the_truth(good, captured, most):
    """At best it is refused. Some batch systems' listings have no end of their own: there it may show less."""
    text, whole = good.answer.out, shown(good.parse, good.answer)
    framed = next(told for version, told in conformance.sidecars(good.adapter, captured) if version == good.version)
    may_be_blank = conformance.says_nothing(good.adapter, captured)
    for length in range(len(text) - 1, -1, -max(1, len(text) // most)):
        part = shown(good.parse, answer(text[:length], good.answer.err, good.answer.code))
        if isinstance(whole, str):
            assert part in (None, whole)
        elif part and whole is not None:
            assert part.items() <= whole.items()
        cut = text[length:].strip() and (text[:length].strip() or not may_be_blank)
        if good.kind in ("list", "find") and framed.get("framed") and cut:
            assert part is None


def spoilt(text, most):
    """Spoil one line in turn, of so many: the second half is gone, or all of it, or its end."""
    lines = re.findall(r".*\n|.+", text)
    for at in range(len(lines) - 1, -1, -max(1, len(lines) // most)):
        line, bare = lines[at], lines[at].rstrip("\n")
        for instead in (f"{bare[: len(bare) // 2]}\n", "???\n", bare):
            yield line, instead, "".join([*lines[:at], instead, *lines[at + 1 :]])


def without_texts(seen):
    return seen._replace(mark="", reason="")


@AT_MOST
def test_a_spoilt_line_inside_is_seen_and_costs_no_job(listing, most):
    """Only that a name or a reason was cut, nobody can see; the line may also be one that does not matter."""
    whole = listing.parse(listing.answer)
    for line, instead, text in spoilt(listing.answer.out, most):
        part = shown(listing.parse, listing.answer._replace(out=text))
        if part is not None:
            where = f"{instead!r} for {line!r}"
            assert part.keys() == whole.keys(), where
            otherwise = [key for key in whole if part[key] != whole[key]]
            assert len(otherwise) <= 1, where
            assert all(without_texts(part[key]) == without_texts(whole[key]) for key in otherwise), where


def test_a_banner_changes_nothing(good):
    whole = shown(good.parse, good.answer)
    assert shown(good.parse, good.answer._replace(out=BANNER + good.answer.out)) in (None, whole)


def raised(parse, asked):
    """Parse, and give what that raises, if anything."""
    try:
        parse(asked)
    except BatchError as error:
        return error
    return None


def is_unclear(parse, asked):
    return isinstance(raised(parse, asked), Unclear)


def test_noise_is_no_answer(adapter):
    parsers = (adapter.parse_submit, adapter.parse_query, adapter.parse_find)
    said = [(parse.__name__, noise) for parse in parsers for noise in NOISE]
    assert [each for each in said if not is_unclear(getattr(adapter, each[0]), answer(each[1]))] == []
    assert [
        noise for noise in NOISE if shown(adapter.parse_history, answer(noise))
    ] == []  # asked for ends: none is none


def test_no_word_at_all_is_no_answer(adapter, captured):
    """Unless this batch system says nothing where there is nothing, as is to be captured then."""
    assert is_unclear(adapter.parse_submit, answer())
    for parse in (adapter.parse_query, adapter.parse_find):
        if conformance.says_nothing(adapter, captured):
            assert parse(answer()) == {}
        else:
            assert is_unclear(parse, answer())


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


def test_no_other_failure_is_taken_for_a_job_that_is_gone(adapter, captured):
    """A cancel that failed so would count as done, and the job would run on."""
    told = [each for each in conformance.captures(adapter, captured) if each.expected and "raises" in each.expected]
    failed = [each for each in told if each.answer.code != 0]
    assert [each.name for each in failed if not raised(each.adapter.parse_cancel, each.answer)] == []


def test_a_command_that_was_not_there_did_nothing(adapter):
    for parse in (adapter.parse_submit, adapter.parse_query, adapter.parse_history, adapter.parse_cancel):
        with pytest.raises(BatchError) as error:
            parse(answer("", "cannot start: [Errno 2] No such file or directory: 'words'", 127))
        assert type(error.value) is BatchError


def test_an_unknown_word_is_no_end(listing):
    whole = shown(listing.parse, listing.answer)
    for word in {seen.word for seen in (whole or {}).values() if seen.word}:
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "LEVITATING", listing.answer.out)
        part = shown(listing.parse, answer(text))
        if part is None:
            continue
        assert part.keys() == whole.keys()  # a job that is left out would seem to have left the queue
        assert all(part[key].state is State.UNKNOWN for key in part if part[key].word == "LEVITATING")
        assert all(whole[key].state.final for key in part.keys() & whole.keys() if part[key].state.final)


def test_a_listing_is_read_at_fifty_thousand_jobs_a_second(adapter, captured):
    for _, expected in conformance.sidecars(adapter, captured):
        if "huge" in expected:
            rows = "".join(expected["huge"]["row"] % (100 + at // 1000, at % 1000 + 1) for at in range(ROWS))
            text = answer(expected["huge"]["head"] + rows + expected["huge"]["tail"])
            found = []
            assert any(
                in_time(lambda text=text, found=found: found.append(adapter.parse_query(text))) for _ in range(20)
            )
            assert len(found[0]) >= ROWS


def in_time(task):
    """Tell whether it takes no longer than it may; how slow this machine is only matters where it does."""
    spent = took(task)
    return spent < 0.4 or spent < 0.4 * slower()


def slower():
    """Tell how much slower this machine is than ours was, where the sum took 0.0375 s; others may use it, too."""
    return max(1, took(lambda: sum(range(2_500_000))) / 0.0375)


def took(task):
    """Measure CPU time."""
    began = time.process_time()
    task()
    return time.process_time() - began


# What jobs are told


@pytest.mark.parametrize(("name", "what"), [("index_variable", "array index"), ("id_variable", "batch id")])
def test_the_variables_of_a_job_are_named(adapter, name, what):
    """Every submission reads both."""
    told = is_variable(getattr(adapter, name, ""))
    assert told, f'write {name} = "…", the environment variable in which a job of {adapter.name} finds its {what}'


def test_a_restart_variable_is_one(adapter):
    named = adapter.restart_variable
    assert not named or is_variable(named), (
        f"restart_variable: {named!r} is no name; where there is none: write nothing"
    )


def is_variable(name):
    return bool(re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII))


# What commands are


def test_commands_are_lists_of_words(adapter):
    for command in commands(adapter):
        assert isinstance(command, list)
        assert command
        assert all(isinstance(word, str) and not re.search(r"[\n\0]", word) for word in command)


def read_by_shells(command):
    """Give the texts that shells are to run: what follows their -c."""
    for shell in (at for at, word in enumerate(command) if SHELL.fullmatch(word)):
        options = list(takewhile(lambda word: word[:1] in "-+", command[shell + 1 :]))
        if any(re.fullmatch(r"-\w*c\w*", word) for word in options):
            yield "".join(command[shell + 1 + len(options) :][:1])


def test_no_word_of_a_request_is_in_a_text_that_a_shell_reads(adapter, captured):
    """A fixed script is fine that takes them as its arguments: it is the same for every request."""
    for adapted in {repr(each.commands): each for each in (adapter, *as_sites_have_it(adapter, captured))}.values():
        others = commands(adapted, OTHER, (("77", 3), ("77", 4), ("88", 0)))
        for command, other in zip(commands(adapted), others, strict=True):
            assert list(read_by_shells(command)) == list(read_by_shells(other)), "pass words as arguments of the script"


def as_sites_have_it(adapter, captured):
    return [each.adapter for each in conformance.captures(adapter, captured)]


def test_a_site_may_replace_the_first_words_of_each(adapter):
    own = {name: ["/opt/site/bin/own", name] for name in adapter.commands}
    replaced = type(adapter)(own, "/area")
    built = [*commands(replaced), *replaced.capacity_commands().values()]
    used = [{name for name, words in own.items() if conformance.has(command, words)} for command in built]
    assert all(used), built[used.index(set())]
    assert set().union(*used) == set(own)
    with pytest.raises(BadSite, match="unknown command 'submitt'"):
        type(adapter)({"submitt": ["x"]}, "/area")


@pytest.mark.parametrize("size", [1, 3])
def test_own_restart_is_off_and_a_site_s_words_do_not_turn_it_on(adapter, captured, size):
    size = min(size, adapter.array_limit)
    command = adapter.submit_command(batch(size, options=("--its", "own words")))
    at = command.index("--its")
    assert command[at + 1] == "own words"
    for _, expected in conformance.sidecars(adapter, captured):
        words = expected.get("submit_words", [])
        words = expected.get("array_words", words) if size > 1 else words
        off = [] if size > 1 and expected.get("arrays_restart") else [expected.get("restart_off", [])]
        for each in (*off, *words):
            assert conformance.has(command[at + 2 :], each), each


@pytest.mark.parametrize("resource", [each for each in Resources._fields if each not in BY_OTHERS | SPECIAL.keys()])
def test_what_a_job_needs_is_asked_for(adapter, captured, resource):
    """Unless the batch system has no word for it."""
    needs = {}, {resource: ASKED[resource]}, {resource: getattr(OTHER.resources, resource)}
    asked = {tuple(adapter.submit_command(batch(**each))) for each in needs}
    sidecars = conformance.sidecars(adapter, captured)
    wordless = any(resource in expected.get("no_word_for", ()) for _, expected in sidecars)
    assert len(asked) == (1 if wordless else 3), f'ask for it, or write no_word_for = ["{resource}"]'


@pytest.mark.parametrize("resource", SPECIAL)
def test_what_a_request_may_want_in_particular_has_words(adapter, resource):
    """Or the adapter does not say that it can: then requests are refused."""
    needs = [{}, *({resource: value} for value in SPECIAL[resource])]
    if resource in adapter.special:
        assert len({tuple(adapter.submit_command(batch(**each))) for each in needs}) == 3
        assert all(re.fullmatch(adapter.special[resource], str(value), re.ASCII) for value in SPECIAL[resource])
        return
    for each in needs[1:]:
        with suppress(Refused):
            assert adapter.submit_command(batch(**each)) == adapter.submit_command(batch())


@pytest.mark.parametrize(
    "value", ["-evil", "a b", "a'b", 'a"b', "a;b", "a$b", "a`b", "a\nb", "a)||(true", "a\\b", "a/b", ""]
)
def test_nothing_is_passed_on_that_a_line_or_an_expression_reads_otherwise(adapter, value):
    for name, pattern in adapter.special.items():
        fits = re.fullmatch(pattern, value, re.ASCII)
        assert not fits or (adapter.name == "slurm" and name == "constraint" and not re.search(r"[\s'\"$`;\\/]", value))
        if not fits:
            with pytest.raises(Refused):
                adapter.submit_command(batch(**{name: value}))


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
    cancel, history = adapter.cancel_command(ids), adapter.history_command([id_ for id_, _ in ids])
    for command in (cancel, history):
        assert max(map(len, command)) < 100_000
        assert sum(map(len, command)) < 1_000_000
    assert names_all(cancel, ids)
    assert names_all(history, ids) or history == adapter.history_command(["12"])  # or it is a listing of all


def test_a_cancel_tells_jobs_of_an_array_apart(adapter, captured):
    """Index 0 is all of them."""
    arrays = [each for each in conformance.captures(adapter, captured) if each.name.startswith("submit-array")]
    for id_ in (each.expected["id"] for each in arrays if "id" in (each.expected or {})):
        asked = [[(id_, 1)], [(id_, 2)], [(id_, 0)], [(id_, 1), (id_, 2)]]
        assert len({tuple(adapter.cancel_command(ids)) for ids in asked}) == len(asked), asked


@pytest.mark.parametrize(("verb", "undone_by"), [("hold", "release"), ("suspend", "resume")])
def test_a_change_can_be_undone(adapter, verb, undone_by):
    """And by another command; or users may neither."""
    change, back = (adapter.change_command(each, [("12", 1)]) for each in (verb, undone_by))
    assert (change is None) is (back is None)
    assert change is None or change != back


def names_all(command, ids):
    words = "\n".join(command)
    return all(id_ in words for id_, _ in ids)


def test_a_mark_comes_back_whole_from_a_listing(adapter):
    assert len(LIVE_MARK) <= adapter.name_length
    assert any(LIVE_MARK in word for word in adapter.submit_command(batch()))
    assert adapter.array_limit >= 1
