"""Rules for further attempts, as they are written."""

from __future__ import annotations

import time

import pytest

from jim.attempts.rules import delays, read
from jim.errors import BadRequest

SIMPLE = {"when": "memory", "change": {"memory_mb": "*1.5"}}


def test_a_rule_is_read():
    first, second = read([SIMPLE, {"when": "exit 3", "times": 5, "delay": "PT1M,PT15M,PT1H"}])
    assert (first.case, first.change, first.times, first.delay) == ("memory", {"memory_mb": "*1.5"}, None, ())
    assert (second.case, second.number, second.times, second.delay) == ("exit", 3, 5, (60.0, 900.0, 3600.0))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", ()),
        ("PT10S", (10,)),
        ("PT1H30M", (5400,)),
        ("30s, 2m,1h, 1d", (30, 120, 3600, 86_400)),
        ("PT0S", (0,)),
    ],
)
def test_pauses(text, seconds):
    assert delays(text) == seconds


@pytest.mark.parametrize("text", ["soon", "PT", "P", "1", "PT1M;PT2M", "-1s", "99999d", 5, "1s," * 30])
def test_what_is_no_pause_is_refused(text):
    with pytest.raises(BadRequest, match=r"retry: delay: expected pauses such as PT1M,PT15M,PT1H, found "):
        delays(text)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"when": "sometimes"},
            r"retry: when: expected memory, time limit, exit N, signal N, lost, or words 'PATTERN'",
        ),
        ({"when": "exit"}, "when: expected memory"),
        ({"when": "exit -1"}, "when: expected memory"),
        ({"when": 3}, "when: expected memory"),
        ({"if": "memory"}, "a rule has no 'if'"),
        ({"when": "exit 3-9"}, "when: 'exit 3-9': later: this version of JIM does not have rules for a range of exit"),
        ({"when": "outputs"}, "when: 'outputs': later: this version of JIM does not have rules for missing outputs"),
        ({"elsewhere": True}, "elsewhere: later: this version of JIM does not have rules that choose other hosts"),
        ({"hold": True}, "hold: later: "),
        ({"give_up": True}, "give_up: later: "),
        ({"only_tell": True}, "only_tell: later: "),
        ({"change": {"arguments": ["-v"]}}, "arguments: later: this version of JIM does not have rules that add arg"),
        ({"change": {"memory": "*2"}}, "change: a rule cannot change 'memory'; did you mean 'memory_mb'"),
        ({"change": {"memory_mb": "*1"}}, r'change: memory_mb: expected a number, "\*1.5" or "\+500", found'),
        ({"change": {"memory_mb": "2 GB"}}, "change: memory_mb: expected a number"),
        ({"change": {"memory_mb": True}}, "change: memory_mb: expected a number"),
        ({"change": {"memory_mb": 0}}, "change: memory_mb: expected a number"),
        ({"change": ["memory_mb"]}, "change: expected a table"),
        ({"change": {"queue": 3}}, "change: queue: expected the name of a queue"),
        ({"times": 0}, "times: expected 1 to 100, found 0"),
        ({"times": "3"}, "times: expected 1 to 100"),
        ({"when": "words '('"}, r"when: words: '\(' is no pattern"),
        ({"when": "words '(a+)+$'"}, "when: words: expected a simple pattern"),
        ({"when": "words 'a*a*a*a*b'"}, "when: words: expected a simple pattern"),
        ({"when": "words '" + ".?" * 20 + "b'"}, "when: words: expected a simple pattern"),
        ({"when": "words '" + "(a|a)" * 10 + "b'"}, "when: words: expected a simple pattern"),
        ({"when": "words 'a?.*.*.*b'"}, "when: words: expected a simple pattern"),
        ({"when": r"words '(a)\1'"}, "when: words: expected a simple pattern"),
        ({"when": "words '(?=a)'"}, "when: words: expected a simple pattern"),
        ({"when": f"words '{'a' * 101}'"}, "when: words: expected a simple pattern"),
    ],
)
def test_what_is_no_rule_is_refused(change, told):
    with pytest.raises(BadRequest, match=told):
        read([{**SIMPLE, **change}])


def test_too_many_rules_are_refused():
    with pytest.raises(BadRequest, match="retry: expected at most 20 rules, found 21"):
        read([SIMPLE] * 21)


@pytest.mark.parametrize("pattern", ["a.*b.*c.*d", "[*+]{3}", r"node \w+ failed", "(?i)Disk quota", "(?:x|y) full"])
def test_a_pattern_that_is_let_through_is_soon_searched(pattern):
    (rule,) = read([{"when": f"words '{pattern}'"}])
    began = time.process_time()
    assert rule.pattern is not None
    assert rule.pattern.search("abc" * 100) is None
    assert time.process_time() - began < 0.5


def test_what_is_no_table_is_refused():
    with pytest.raises(BadRequest, match="retry: expected a list of tables, found 'memory' in it"):
        read(["memory"])
