"""Variables in manifests."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jim.splitting.errors import InvalidManifest
from jim.work.variables import LARGEST, expand, kept


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$n", "7"),
        ("${n}", "7"),
        ("$n$n", "77"),
        ("${n}th", "7th"),
        ("$nth", "$nth"),
        ("run_$n.out", "run_7.out"),
        ("run-${n}-$word", "run-7-hi"),
        ("$unknown", "$unknown"),
        ("$n $unknown", "$n $unknown"),
        ("$$", "$"),
        ("$$n", "$n"),
        ("$$$n", "$7"),
        ("$n costs 5 $$", "7 costs 5 $"),
        ("$n costs 5 $", "$n costs 5 $"),
        ("$n ${}", "$n ${}"),
        ("$n ${n", "$n ${n"),
        ("$n $(n)", "$n $(n)"),
        ("$n {n}", "7 {n}"),
        ("$n-$é", "$n-$é"),
        ("$né", "7é"),
        ("$N", "$N"),
        ("$5", "$5"),
        ("$n $$ $unknown", "$n $$ $unknown"),
        ("", ""),
        ("\n$n\n", "\n7\n"),
    ],
)
def test_each_variable_in_a_text_gets_its_value(text, expanded):
    assert expand({"n": "7", "word": "hi", "text": text})["text"] == expanded


def test_chains_resolve_in_any_order():
    manifest = {"c": "$b!", "a": "1", "b": "$a$a", "d": "$c$a"}
    assert expand(manifest) == {"c": "11!", "a": "1", "b": "11", "d": "11!1"}


def test_cycles_and_what_hangs_on_them_stay():
    manifest = {"a": "$b", "b": "$c", "c": "$a", "own": "$own", "d": "$a $e", "e": "1"}
    assert expand(manifest) == manifest


def test_what_stands_for_a_dollar_is_not_looked_at_again():
    assert expand({"a": "$$b", "b": "1", "c": "$a"}) == {"a": "$b", "b": "1", "c": "$b"}


def test_lists_are_expanded_inside_and_as_a_whole():
    manifest = {"n": "7", "all": ["out_$n", "err_$n", 3], "part": ["out_$n", "$unknown"], "deep": [["$n"], []]}
    assert expand(manifest) == {
        "n": "7",
        "all": ["out_7", "err_7", 3],
        "part": ["out_$n", "$unknown"],
        "deep": [["7"], []],
    }


def test_what_is_no_text_stays_and_can_be_named():
    manifest = {"int": 5, "float": 0.5, "flag": True, "none": None, "list": ["a", 1], "empty": []}
    texts = {f"of_{name}": f"<${name}>" for name in manifest}
    assert expand(manifest | texts) == manifest | {
        "of_int": "<5>",
        "of_float": "<0.5>",
        "of_flag": "<true>",
        "of_none": "<$none>",
        "of_list": "<a, 1>",
        "of_empty": "<>",
    }


def test_a_text_looks_in_its_own_section_first():
    manifest = {
        "n": "7",
        "inner": "$box/a $box/deep/c",
        "box": {"a": "<$n>", "b": "$a", "deep": {"c": "$a$n$box/b"}, "PATH": "/x:$PATH", "n": "8"},
        "whole": "$box",
    }
    assert expand(manifest) == {
        "n": "7",
        "inner": "<8> <8>8<8>",
        "box": {"a": "<8>", "b": "<8>", "deep": {"c": "<8>8<8>"}, "PATH": "/x:$PATH", "n": "8"},
        "whole": "$box",
    }


def test_odd_names_of_attributes():
    assert expand({"$": "1", "": "2", "a": "$ $b", "b": "3"}) == {"$": "1", "": "2", "a": "$ $b", "b": "3"}
    assert expand({"x/y": "1", "a": "$x/y"}) == {"x/y": "1", "a": "1"}
    with pytest.raises(InvalidManifest, match="equals the name of an attribute in a section"):
        expand({"x/y": "1", "x": {"y": "2"}})


def test_the_manifest_itself_is_not_changed():
    manifest = {"n": "7", "list": ["$n"], "box": {"a": "$n"}}
    expand(manifest)
    assert manifest == {"n": "7", "list": ["$n"], "box": {"a": "$n"}}


def test_a_few_lines_do_not_become_gigabytes():
    doubling = {"a0": "x" * 100} | {f"a{k + 1}": f"$a{k}$a{k}" for k in range(60)}
    with pytest.raises(InvalidManifest, match=r"^a\d+: variables make the request longer than 4,194,304 characters"):
        expand(doubling)
    with pytest.raises(InvalidManifest):
        expand({"big": "x" * 100_000, "text": "$big" * 100})
    assert len(expand({"big": "x" * (LARGEST // 4), "text": "$big" * 4})["text"]) == LARGEST


def test_a_long_chain_takes_no_hours():
    """Looked through again and again, each time for the next link, these would take minutes."""
    manifest = {f"a{k}": f"$a{k + 1}" for k in range(20_000)} | {"a20000": "end"}
    start = time.process_time()
    assert set(expand(manifest).values()) == {"end"}
    assert time.process_time() - start < 10


class Template(string.Template):
    idpattern = r"[A-Za-z0-9_/]+"


def again_and_again(manifest: dict[str, str]) -> dict[str, str]:
    """Expand as the words say: replace what can be replaced, until nothing changes."""
    done = {name: text for name, text in manifest.items() if "$" not in text}
    left = {name: Template(text) for name, text in manifest.items() if "$" in text}
    while True:
        now = {}
        for name, template in left.items():
            try:
                now[name] = template.substitute(done)
            except (KeyError, ValueError):
                continue
        if not now:
            return {name: done.get(name, text) for name, text in manifest.items()}
        done |= now
        left = {name: template for name, template in left.items() if name not in now}


TEXTS = st.lists(
    st.sampled_from(["$a", "${b}", "$c", "$d_", "${e}x", "$$", "$", "{", "}", "x", " ", "-", "$zz"]), max_size=4
)


@given(st.dictionaries(st.sampled_from("abcdefgh"), TEXTS.map("".join)))
@example({"a": "$$", "b": "$a"})
def test_it_is_replacing_until_nothing_changes(manifest):
    assert expand(manifest) == again_and_again(manifest)


@given(st.dictionaries(st.sampled_from("abcdefgh"), TEXTS.map("".join)), st.randoms())
def test_the_order_of_attributes_does_not_matter(manifest, random):
    names = list(manifest)
    random.shuffle(names)
    assert expand({name: manifest[name] for name in names}) == expand(manifest)


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("$a $b", "b"),
        ("$a costs 3 $", None),
        ("$ of $a", None),
        ("$a $$b", ()),
        ("$b", ()),
        ("a $", ()),
        ("none", ()),
        (["$a", "x$b"], "b"),
        ({"x": "$a$c"}, "c"),
    ],
)
def test_an_attribute_that_keeps_a_known_variable_is_told_with_the_reason(text, culprit):
    path = "t/x" if isinstance(text, dict) else "t"
    assert list(kept({"t": text, "a": "1"})) == ([] if culprit == () else [(path, culprit)])
