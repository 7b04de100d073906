"""What a submit script was called with: captured calls of HTCondor 23.9, and what people may make of them."""

import time

import pytest

from jim.doors.condor.arguments import assignments, environment, quoted, read
from jim.errors import BadRequest, JimError

# As blahpd of HTCondor 23.9.6 called the script; the lists in files are ours.
CALL = [
    *("-r", "no", "-c", "/w/hello.sh", "-T", "/tmp/condor_g_scratch.0x55bc.21734", "-i", "/dev/null", "-o", "out.1"),
    *("-e", "err.1", "-w", "/w", "-q", "short"),
    *("-D", "home_bl_127.0.0.1_19718_127-0-0-1.localdomain_1.0_1795403893", "-A", "atlas", "-t", "3600", "-m", "500"),
    *("-V", '"A=x y" "X=7"', "--", '"one"', '"two words"', '"its"'),
]


def call(tmp_path, *words):
    (tmp_path / "call").write_bytes(b"".join(f"{word}\0".encode() for word in (len(words), "/spool", *words)))
    return read(tmp_path / "call")


def test_a_call_of_htcondor(tmp_path):
    found = call(tmp_path, *CALL)
    assert (found.c, found.w, found.q, found.t, found.m, found.n) == ("/w/hello.sh", "/w", "short", "3600", "500", "")
    assert found.arguments == ("one", "two words", "its")
    assert found.environment == {"A": "x y", "X": "7"}
    assert (found.inputs, found.outputs, found.requirements, found.spool) == ((), (), {}, "/spool")


@pytest.mark.parametrize("length", [0, 1, 2, 30, -1])
def test_a_call_whose_writer_was_killed_is_no_call(tmp_path, length):
    """Half of a call would be another job."""
    whole = b"".join(f"{word}\0".encode() for word in (len(CALL), "/spool", *CALL))
    (tmp_path / "call").write_bytes(whole[:length])
    with pytest.raises(JimError, match="arrived in part"):
        read(tmp_path / "call")


def test_lists_in_files(tmp_path):
    for name, text in (
        ("in", "/w/a\n/w/b c\n"),
        ("out", "result\nsub/x\n"),
        ("remap", "\nother\n"),
        ("more", "JIM_job_type='x'\n"),
    ):
        (tmp_path / name).write_text(text)
    words = ("-I", f"{tmp_path}/in", "-O", f"{tmp_path}/out", "-C", f"{tmp_path}/more")
    found = call(tmp_path, "-c", "/bin/true", *words)
    assert found.inputs == ("/w/a", "/w/b c")
    assert found.outputs == (("result", "result"), ("sub/x", "sub/x"))
    assert found.requirements == {"JIM_job_type": "x"}
    assert call(tmp_path, *words, "-R", f"{tmp_path}/remap").outputs == (("result", "result"), ("sub/x", "other"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ('"one" "two words"', ["one", "two words"]),
        (r'"a\"b" "g\&h" "i\(j\)" "k;l" "m*n"', ['a"b', "g&h", "i(j)", "k;l", "m*n"]),  # captured
        (r'"a\b" "e\ f" "c\d"', [r"a\b", r"e\ f", r"c\d"]),  # captured
        ('""', [""]),
        ('a\\b c"d x&y', ["a\\b", 'c"d', "x&y"]),  # captured: the old syntax
        ('"line1\nline2"', ["line1\nline2"]),
    ],
)
def test_words_of_a_list(text, words):
    assert quoted(text) == words


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("A=1;B=x y", "", {"A": "1", "B": "x y"}),
        ("", r'"A=1" "B=p\&q;r" "C="', {"A": "1", "B": "p&q;r", "C": ""}),
        ("A=x=y", "", {"A": "x=y"}),
    ],
)
def test_variables_in_both_syntaxes(old, new, found):
    assert environment(old, new) == found


def test_a_variable_without_a_value_is_refused():
    with pytest.raises(BadRequest, match="environment: 'A': expected NAME=VALUE"):
        environment("A", "")


def test_the_file_of_c_is_read_and_nothing_in_it_is_run(tmp_path):
    file = tmp_path / "c"
    file.write_text(
        "Walltime='7200'\nfoo='\"bar baz\"'\nMem_Min='5'\nq='it'\\''s'\nx=$(touch ran)\ny='1'\nz='two\nlines'\n"
    )
    assert assignments(str(file)) == {
        "Walltime": "7200",
        "foo": "bar baz",
        "Mem_Min": "5",
        "q": "it's",
        "y": "1",
        "z": "two\nlines",
    }
    assert not (tmp_path / "ran").exists()


def test_blank_lines_of_a_value_are_kept(tmp_path):
    (tmp_path / "c").write_text("a='1\n\n\n2\n'\n\nb=''\n")
    assert assignments(str(tmp_path / "c")) == {"a": "1\n\n\n2\n", "b": ""}


def test_only_what_begins_a_line_is_an_assignment(tmp_path):
    (tmp_path / "c").write_text("a='1; c='2'\n; c='3'\nd='5\n; c='\nx='never ended\n")
    assert assignments(str(tmp_path / "c")) == {"a": "1; c=", "d": "5\n; c="}


@pytest.mark.parametrize("part", ["a", "a=", "a='", "'\\''", "a='\\''\n", "a='\n"])
def test_a_file_of_c_is_read_in_a_time_that_grows_with_its_length(tmp_path, part):
    (tmp_path / "c").write_text(part * 500_000)
    began = time.process_time()
    assignments(str(tmp_path / "c"))
    assert time.process_time() - began < 5


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(BadRequest, match="the options of blahpd cannot be read: option -Y not recognized"):
        call(tmp_path, "-Y")
    with pytest.raises(BadRequest, match="cannot read /nowhere/list, a list of blahpd's: No such file"):
        call(tmp_path, "-I", "/nowhere/list")
