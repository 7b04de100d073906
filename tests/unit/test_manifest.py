"""Variables in manifests, and the herd that a manifest with a splitter becomes."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jim.splitting.errors import InvalidManifest, SplitError, TooManyJobs, UnknownSplitter
from jim.work.herd import MOST_JOBS, herd
from jim.work.variables import LARGEST, expand


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
def test_one_text(text, expanded):
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


def test_sections():
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
    with pytest.raises(InvalidManifest, match="is also one of a section"):
        expand({"x/y": "1", "x": {"y": "2"}})


def test_the_manifest_itself_is_not_changed():
    manifest = {"n": "7", "list": ["$n"], "box": {"a": "$n"}}
    expand(manifest)
    assert manifest == {"n": "7", "list": ["$n"], "box": {"a": "$n"}}


def test_a_few_lines_do_not_become_gigabytes():
    doubling = {"a0": "x" * 100} | {f"a{k + 1}": f"$a{k}$a{k}" for k in range(60)}
    with pytest.raises(InvalidManifest, match=r"^a\d+: variables make it longer than 4,194,304 characters"):
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


# The herd


def ids(jobs):
    return [job["SplitID"] for job in jobs]


def test_without_a_splitter_a_manifest_is_as_it_is():
    assert list(herd({"Executable": "e", "Arguments": "$SplitID"}, 41)) == [
        {"Executable": "e", "Arguments": "$SplitID"}
    ]
    assert list(herd({"Executable": "e", "Splitter": ""}, 41)) == [{"Executable": "e", "Splitter": ""}]


def test_each_job_has_its_own():
    manifest = {
        "Arguments": "$Parameter of $SplitSourceJob:$SplitID",
        "Parameters": ["a", "b"],
        "Splitter": "Parametric",
    }
    assert list(herd(manifest, 41)) == [
        {"Arguments": "a of 41:0", "Parameter": "a", "SplitID": "0", "SplitSourceJob": "41"},
        {"Arguments": "b of 41:1", "Parameter": "b", "SplitID": "1", "SplitSourceJob": "41"},
    ]


@pytest.mark.parametrize(
    ("count", "first", "last"), [(1, "0", "0"), (9, "0", "8"), (10, "00", "09"), (100, "000", "099")]
)
def test_the_width_of_an_id_is_that_of_the_number_of_jobs(count, first, last):
    found = ids(herd({"Parameters": count, "Splitter": "Parametric"}, 1))
    assert (len(found), found[0], found[-1]) == (count, first, last)


def test_the_limit_is_inclusive_and_met_before_anything_is_made():
    manifest = {"Parameters": 101, "Splitter": "Parametric"}
    assert MOST_JOBS == 100
    with pytest.raises(TooManyJobs, match="Splitter: more than 100 jobs would come of this manifest"):
        next(herd(manifest, 1))
    assert len(list(herd(manifest, 1, most=101))) == 101


def test_no_job_is_an_error():
    with pytest.raises(SplitError, match="no job comes of this manifest"):
        list(herd({"Parameters": [], "Splitter": "Parametric"}, 1))


def test_an_unknown_splitter():
    with pytest.raises(UnknownSplitter, match="unknown splitter 'Parametrik'; did you mean 'Parametric'"):
        list(herd({"Splitter": "Parametrik"}, 1))
    with pytest.raises(UnknownSplitter, match="InputDataBySE, Parametric"):
        list(herd({"Splitter": "LumiBased"}, 1))
    with pytest.raises(UnknownSplitter):
        list(herd({"Splitter": ["Parametric"]}, 1))


def test_variables_are_expanded_twice():
    """As in the peer: what `$$` left of a variable is one, the second time."""
    manifest = {"a": "$$SplitID", "b": "$$$$SplitID", "Parameters": ["x", "y"], "Splitter": "Parametric"}
    first, second = herd(manifest, 1)
    assert (first["a"], second["a"], first["b"]) == ("0", "1", "$SplitID")


def test_input_data_by_storage():
    manifest = {
        "InputData": ["/a/1", "/a/0", "/b/0"],
        "Arguments": "$InputData at $SplitterChosenSE",
        "SplitterMaxFilesPerJob": "2",
        "Splitter": "InputDataBySE",
    }
    replicas = {"/a/0": ["A"], "/a/1": ["A"], "/b/0": ["B"]}
    common = {"SplitterMaxFilesPerJob": "2", "SplitSourceJob": "5"}
    assert list(herd(manifest, 5, replicas)) == [
        {
            **common,
            "InputData": "/a/0,/a/1",
            "Arguments": "/a/0,/a/1 at A",
            "SplitterChosenSE": "A",
            "SplitID": "0",
        },
        {**common, "InputData": "/b/0", "Arguments": "/b/0 at B", "SplitterChosenSE": "B", "SplitID": "1"},
    ]


def test_input_data_as_one_text():
    manifest = {"InputData": "/a/0, /a/1,, /a/0", "Splitter": "InputDataBySE"}
    assert [job["InputData"] for job in herd(manifest, 5, {"/a/0": ["A"], "/a/1": ["A"]})] == ["/a/0", "/a/1"]


@pytest.mark.parametrize("given", [{}, {"InputData": []}, {"InputData": " , "}])
def test_no_input_data(given):
    with pytest.raises(SplitError, match="there is no input data to split") as error:
        list(herd({"Splitter": "InputDataBySE", **given}, 5))
    assert error.value.kind == "split-error"


def test_a_file_that_is_nowhere_is_not_lost_silently():
    manifest = {"InputData": ["/a/0", "/a/1"], "Splitter": "InputDataBySE"}
    with pytest.raises(SplitError, match="no storage is known to hold /a/1"):
        list(herd(manifest, 5, {"/a/0": ["A"]}))


@pytest.mark.parametrize("given", [5, {"a": 1}, [5], "a\nb"])
def test_what_is_no_input_data(given):
    with pytest.raises(SplitError, match="InputData: expected a list of texts, found"):
        list(herd({"InputData": given, "Splitter": "InputDataBySE"}, 5))
