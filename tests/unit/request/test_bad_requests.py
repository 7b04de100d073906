"""Descriptions that are broken or mean harm: refused with line and column, without a traceback, nothing stored."""

from __future__ import annotations

import json
import re
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jim import run_grid_job
from jim.errors import BadRequest
from jim.request import check, jdf, jdl, read, rsl
from tests.corpus.bad_requests import DOUBLING, JDF, JDL, RSL

LANGUAGES = {"jdf": (jdf, JDF), "jdl": (jdl, JDL), "rsl": (rsl, RSL)}
CASES = [(language, *case) for language, (_, cases) in LANGUAGES.items() for case in cases]
JSON_OR_TOML = [
    ("json", "{", "line 1 column 2"),
    ("json", "[]", "expected an object"),
    ("json", "{'a': 1}", "line 1 column 2"),
    ("json", '{"a": 1,}', "line 1 column "),
    ("json", '{"job_type": "executable"\n"executable": "a"}', "line 2 column 1"),
    ("json", '{"job_type": "executable", "executable": NaN}', "NaN is not a number in JSON"),
    ("json", '{"job_type": "a", "job_type": "b"}', "'job_type' is given twice"),
    ("json", '{"job_type": null}', "expected the name of a job type, found null"),
    ("json", '{"a": ' + "[" * 100_000, "nested too deeply"),
    ("json", '{"job_type": "executable", "executable": "\\ud800"}', "contains the character '\\ud800'"),
    ("json", '{"job_type": "executable", "executable": "a", "cores": true}', "expected a whole number, found true"),
    (
        "json",
        '{"job_type": "executable", "executable": "a", "cores": ' + "9" * 5000 + "}",
        "not JSON: a number has more than 4,300 digits",
    ),
    ("toml", 'job_type = "executable"\ncores = ' + "9" * 5000, "not TOML: a number has more than 4,300 digits"),
    (
        "json",
        '{"job_type": "executable", "executable": "a", "arguments": ["a", null, true]}',
        "found ['a', null, true]",
    ),
    ("jdf", "job_type = executable\nexecutable = a\ncores = " + "9" * 19, "has more than 18 digits"),
    ("rsl", "&(executable=a)(maxWallTime=99999999999999999999)", "has more than 18 digits"),
    ("toml", '\ufeffjob_type = "executable"\ncores = 1', "executable: missing"),
    ("json", '\ufeff{"job_type": "executable"}', "executable: missing"),
    ("jdf", "\ufeffjob_type = executable", "executable: missing"),
    ("jdl", '\ufeffJobName = "a";', "executable: missing"),
    ("rsl", "\ufeff&(jobType=executable)", "executable: missing"),
    ("toml", "job_type = executable # no quotes\n= 3", "line 1, column 12"),
    ("toml", 'job_type = "executable', "line 1, column 23"),
    ("toml", 'job_type = "a"\njob_type = "b"', "line 2, column 15"),
    ("toml", '[job_type]\na = "b"', "expected the name of a job type"),
    ("toml", 'job_type = "executable"\nexecutable = 1979-05-27', "expected a text"),
    ("toml", 'job_type = "executable"\nexecutable = "a"\nenvironment = { A = 1 }', "expected a table of texts"),
    ("toml", "\x00", "line 1, column 1"),
    ("toml", "", "the request is empty"),
]


def test_a_request_in_another_encoding_has_its_place(tmp_path):
    file = tmp_path / "request.jdf"
    file.write_bytes("job_type = executable\nexecutable = /bin/café\n".encode("latin-1"))
    with pytest.raises(BadRequest, match=r"not a text file \(line 2, column 22, after '.*/bin/caf', is not UTF-8\)"):
        read(file)


@pytest.fixture
def refusal(tmp_path, monkeypatch, capsys):
    """Hand a text in by a gatekeeper's door; give the reason, once sure that nothing was stored."""
    state = tmp_path / "state"
    monkeypatch.setenv("JIM_STATE", str(state))
    monkeypatch.setattr(run_grid_job, "wake", lambda _: pytest.fail("it was taken in"))

    def hand_in(language, text):
        file = tmp_path / f"request.{language}"
        file.write_text(text, newline="")
        code = run_grid_job.main(["submit", str(file)])
        out, err = capsys.readouterr()
        assert code == BadRequest.exit_code, err
        assert out.endswith("\n\n")
        assert "GRAM_SCRIPT_ERROR" in out
        assert not state.exists()
        assert err.startswith("jim-submit: ")
        return err

    return hand_in


A = 'job_type = "executable"\nexecutable = "a"\n'


def place_of(marked):
    before = marked.partition("§")[0]
    return f"line {len(before.split(chr(10)))}, column {len(before.split(chr(10))[-1]) + 1}: "


def test_the_corpus_is_large():
    assert len(CASES) + len(JSON_OR_TOML) >= 300
    assert len({(language, text) for language, text, _ in CASES}) == len(CASES)


@pytest.mark.parametrize(("language", "marked", "words"), CASES, ids=range(len(CASES)))
def test_it_is_refused_at_its_place(refusal, language, marked, words):
    reason = refusal(language, marked.replace("§", ""))
    assert words.replace("\\", "") in reason.replace("\\", ""), reason[:500]
    if "§" in marked:
        assert place_of(marked) in reason, reason[:500]


@pytest.mark.parametrize(("language", "text", "words"), JSON_OR_TOML, ids=range(len(JSON_OR_TOML)))
def test_so_is_json_and_toml(refusal, language, text, words):
    assert words.replace("\\", "") in refusal(language, text).replace("\\", "")


@pytest.mark.parametrize(
    ("language", "marked", "words"),
    [
        ("toml", '# executabel\njob_type = "executable"\n  §executabel = "a"', "'executabel': unknown attribute"),
        ("toml", 'job_type = "executable"\n§"executable" = 3', "executable: expected a text"),
        ("toml", '\ufeffjob_type = "executable"\nexecutable = "a"\n§cores=0', "cores: expected at least 1"),
        (
            "toml",
            'job_type="executable"\nexecutable="a"\n§environment={ LD_PRELOAD = "b" }',
            "environment: a request may not set LD_PRELOAD",
        ),
        ("toml", 'job_type="executable"\nexecutable="a"\n§inputs=["/none"]', "inputs: cannot read /none: No such file"),
        ("json", '{"job_type": "executable", "executable": "a",\n §"nice": 1,"cores" : "x"}', "'nice': unknown"),
        ("json", '{§"job_type": "executables"}', "job_type: unknown job type"),
        ("json", '{"job_type": "a",\n "b": [],\n  §"job_type" : "b"}', "'job_type' is given twice"),
        ("jdf", "job_type = executable\nexecutable = a\n§INPUTS = /none", "inputs: cannot read /none: No such file"),
        ("rsl", "&(job_type=executable)(executable=a)\n(§inputs=/none)", "inputs: cannot read /none: No such file"),
        ("toml", A + "§wall-seconds = 3", "'wall-seconds': unknown attribute"),
        ("toml", A + '§"wall seconds" = 3', "'wall seconds': unknown attribute"),
        ("toml", A + '[§environment]\nA = "b"\nLD_PRELOAD = "b"', "environment: a request may not set LD_PRELOAD"),
        ("toml", A + "[ §environment ]\nA = 3", "environment: expected a table of texts"),
        ("toml", A + '§environment.A = "a\\nb"', "must be one line: write the text into a file"),
        ("toml", A + "[§tool.x]\na = 3", "'tool': unknown attribute"),
        ("toml", A + "[[§inputfiles]]\nlfn = 'a'", "'inputfiles': unknown attribute"),
        ("toml", A + "splitter = 'FileBased'\n[[§input_files]]\nlfn = '/a'\nevnts = 3", "file '/a'.evnts: unknown"),
        ("toml", A + "splitter = 'FileBased'\n[[§input_files]]\nevents = 3", "files[0].lfn: missing"),
        ("toml", A + "outputs = [\n]\n§__ = 3", "'__': unknown attribute"),
        ("json", '{"job_type": "executable", "executable": "a",\n §"wall-s.econds": 1}', "'wall-s.econds': unknown"),
        ("json", '{"job_type": "executable", "executable": "a",\n §"wall.*": 1}', "'wall.*': unknown attribute"),
    ],
)
def test_what_is_not_possible_is_told_with_its_place(refusal, language, marked, words):
    reason = refusal(language, marked.replace("§", ""))
    assert words in reason
    assert place_of(marked).removesuffix(": ") in reason


def test_variables_that_double_themselves_are_refused_before_they_fill_the_memory(refusal):
    text = f"&(rsl_substitution={DOUBLING})(executable=$(A59))"
    # A18 and all before it took 2**20 - 4 characters; the next one would be 2**19.
    there = place_of(text.replace("(A19 $(A18)", "(A19 §$(A18)"))
    assert f"{there}the variables add more than 1,048,576 characters" in refusal("rsl", text)


def test_a_reason_does_not_carry_the_request_along(refusal):
    for language, (_, cases) in LANGUAGES.items():
        for marked, _ in cases:
            if len(marked) > 5000:
                assert len(refusal(language, marked.replace("§", ""))) < 1500


# Whatever comes: attributes, or a refusal with its place

BITS = {
    "jdf": [
        "job_type = executable\n",
        "executable = true\n",
        "arguments = ",
        "+A = ",
        "\n",
        "\\\n",
        '"',
        '""',
        "#",
        " ",
    ],
    "jdl": [
        "[",
        "]",
        'Executable = "true";',
        "Arguments = ",
        "Parameters = 3;",
        "Splitter = Parametric;",
        "InputData = ",
        "OutputSandbox = ",
        "{",
        "}",
        ",",
        ";",
        '"a"',
        '"',
        "\\",
        "//",
        "/*",
        "*/",
        "#",
        "\n",
    ],
    "rsl": [
        "&",
        "(executable=true)",
        "(arguments=",
        "(",
        ")",
        "=",
        "#",
        "$(A)",
        "$(",
        '"',
        "'",
        "^%",
        "(*",
        "*)",
        "+",
        "|",
        ">",
        "\n",
        "(rsl_substitution=(A b))",
        "(environment=(A b))",
        "(count=2)",
        "(jobType=single)",
    ],
}
JUNK = st.text(alphabet=string.printable + "é\u2028\xa0\x00\x1b\ufeff", max_size=8)
NO_PLACE = ("job_type: missing", "executable: missing", "argument_sets: missing", "events: missing")


@pytest.mark.parametrize("language", LANGUAGES)
@settings(derandomize=True, deadline=None, max_examples=80)
@given(data=st.data())
def test_nothing_but_attributes_or_a_refusal_comes_of_it(language, data):
    pieces = data.draw(st.lists(st.one_of(st.sampled_from(BITS[language]), JUNK), max_size=12))
    try:
        request = LANGUAGES[language][0].parse("".join(pieces))
    except (BadRequest, ValueError) as error:
        reason = str(error)
    else:
        reason = ""
        assert request == {} or check(request)
    assert reason.startswith(("line ", *NO_PLACE)) or not reason


NEVER = re.compile(r"(?!)")
WORDS = {
    "jdf": ["a", "b#", "#c", '"d e"', '"""f"', 'g"h"', " ", "  ", "\t", "\\\n", "\\", "="],
    "rsl": [
        "a",
        "'b c'",
        '"d""e"',
        "^%f%",
        "$(A)",
        "$(B g)",
        "'$(A)'",
        "$(A)k ",
        "#",
        " ",
        "  ",
        "\n",
        "(",
        ")",
        "(h i)",
        "(* j *)",
        "*",
    ],
}
ROWS = {
    "jdf": ["job_type=executable\nexecutable=x\narguments = {}\n"],
    "rsl": ["&(rsl_substitution=(A z))(arguments={})", "&(rsl_substitution=(A z)(B {}))(x=$(B))", "&(x={})(y = z)"],
}
AT_ONCE = {jdf: ("PLAIN", "ITEMS"), rsl: ("ITEMS", "ROW", "LISTS", "VARIABLE", "RELATION", "PAIR")}


def outcome_of(language, text):
    try:
        reader = jdf.parse if language == "jdf" else lambda text: rsl._Reader(text).request()
        return reader(text)
    except (BadRequest, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("language", WORDS)
@settings(derandomize=True, deadline=None, max_examples=80)
@given(data=st.data())
def test_what_is_read_in_rows_is_what_is_read_word_by_word(language, data):
    words = "".join(data.draw(st.lists(st.sampled_from(WORDS[language]), max_size=10)))
    text = data.draw(st.sampled_from(ROWS[language])).format(words)
    at_once = outcome_of(language, text)
    with pytest.MonkeyPatch.context() as patch:
        for module, names in AT_ONCE.items():
            for name in names:
                patch.setattr(module, name, NEVER)
        assert outcome_of(language, text) == at_once


# There and back

TEXTS = st.text(alphabet=string.printable.rstrip("\t\n\r\v\f") + "é\xa0ßД中\u200b\ufeff\U0001f52d", max_size=20)
NAMES = st.text(alphabet=string.ascii_letters + string.digits + "_", max_size=8).map("X{}".format)
REQUESTS = st.fixed_dictionaries(
    {"job_type": st.just("executable"), "executable": st.sampled_from(["/bin/echo", "a program", "/opt/'x'", "#1"])},
    optional={
        "arguments": st.lists(TEXTS, max_size=6),
        "outputs": st.lists(st.sampled_from(["*.dat", "a b", "x#y", 'q"q']), max_size=3),
        "environment": st.dictionaries(NAMES, TEXTS, max_size=4),
        "wall_seconds": st.integers(1, 10**8),
        "cores": st.integers(1, 10**6),
        "queue": st.sampled_from(["long", "q@host.example.org", "a:b-c"]),
    },
)


def quoted(text, quote='"'):
    return quote + str(text).replace(quote, quote * 2) + quote


def as_jdf(request):
    for name, value in request.items():
        if isinstance(value, dict):
            value = [f"{variable}={text}" for variable, text in value.items()]
        yield f"{name} = {' '.join(map(quoted, value)) if isinstance(value, list) else quoted(value)}\n"


def as_jdl(request):
    def in_quotes(text):
        return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'

    for name, value in request.items():
        if isinstance(value, dict):
            said = "[" + "".join(f"{variable} = {in_quotes(text)};" for variable, text in value.items()) + "]"
        elif isinstance(value, list):
            said = "{" + ", ".join(map(in_quotes, value)) + "}"
        else:
            said = in_quotes(value)
        yield f"{name} = {said};\n"


def as_rsl(request, quote):
    yield "&"
    for name, value in request.items():
        if isinstance(value, dict):
            said = "".join(f"({variable} {quoted(text, quote)})" for variable, text in value.items())
        else:
            said = " ".join(quoted(each, quote) for each in (value if isinstance(value, list) else [value]))
        yield f"({name}={said})"


@settings(derandomize=True, deadline=None)
@given(REQUESTS)
@example(
    {"job_type": "executable", "executable": "true", "arguments": ['"', "'", "", " ", "\\", "a=b", "$(A)", "(* *)"]}
)
def test_good_requests_come_through_as_they_are(request):
    assert jdf.parse("".join(as_jdf(request))) == request
    assert jdl.parse("".join(as_jdl(request))) == request
    assert rsl.parse("".join(as_rsl(request, '"'))) == request
    assert rsl.parse("".join(as_rsl(request, "'"))) == request
    assert check(request)


def test_all_languages_say_the_same(tmp_path):
    request = {"job_type": "executable", "executable": "/bin/echo", "arguments": ["a b", "c"], "cores": 2}
    texts = {
        "json": json.dumps(request),
        "toml": 'job_type = "executable"\nexecutable = "/bin/echo"\narguments = ["a b", "c"]\ncores = 2\n',
        "jdf": "".join(as_jdf(request)),
        "jdl": "".join(as_jdl(request)),
        "rsl": "".join(as_rsl(request, '"')),
    }
    for language, text in texts.items():
        (tmp_path / f"r.{language}").write_text(text)
        assert read(tmp_path / f"r.{language}") == request
