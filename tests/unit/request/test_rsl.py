"""Requests in RSL."""

from __future__ import annotations

import time

import pytest

from jim import request
from jim.errors import BadRequest
from jim.request import rsl

TRUE = {"job_type": "executable", "executable": "true"}
J, R = "job_type = executable\nexecutable = true\n", "&(executable=true)"

SAID_IN_RSL = [
    ("", {}),
    (" (* a * comment ) *)\n(* another *)", {}),
    ("(arguments=a b  c)", {"arguments": ["a", "b", "c"]}),
    ("(arguments=)", {"arguments": []}),
    ("""(arguments="a ""b"" c" 'it''s' "" '"' "'")""", {"arguments": ['a "b" c', "it's", "", '"', "'"]}),
    ("(arguments=^%100%%%)", {"arguments": ["100%"]}),
    ('(arguments="(* no comment *)" "$(NO)" "a#b")', {"arguments": ["(* no comment *)", "$(NO)", "a#b"]}),
    ("(arguments=*.dat -x --y a,b;c\\ https://h:1/x)", None),
    ("(arguments=a#b c # d 'e'\"f\"g)", {"arguments": ["ab", "cd", "efg"]}),
    ("(arguments=a(* gap *)b)", {"arguments": ["a", "b"]}),
    ("(ARGUMENTS=a)(max_wall_time=10)(Max_Memory=200)", {"arguments": ["a"], "wall_seconds": 600, "memory_mb": 200}),
    ("(maxTime=1)(project=hep)(queue='long')", {"wall_seconds": 60, "account": "hep", "queue": "long"}),
    ("(wallSeconds=90)(cores=2)", {"wall_seconds": 90, "cores": 2}),
    ('(environment=(A 1)(B "x y")("C" $(Z z)))', {"environment": {"A": "1", "B": "x y", "C": "z"}}),
    ("(rsl_substitution=(A a)(B $(A)/b))(RSLSUBSTITUTION=(C $(B)#c))(arguments=$(C) $(A)$(B))", None),
    ("(rsl_substitution=(A 'x y'))(arguments=$(A) $(A no) $(B $(A)) $( A ))", {"arguments": ["x y"] * 4}),
    ("(environment=(A 1)(* note *)(B 2) (* (C 3) *))", {"environment": {"A": "1", "B": "2"}}),
    ("(arguments=a (*) *) )", {"arguments": ["a"]}),
    ("(jobType=single)(count=4)", {"cores": 4}),
    ("(jobType=multiple)(count=1)", {}),
    ("(count=3)(arguments=x)", {"job_type": "parametric", "argument_sets": [[], [], []], "arguments": ["x"]}),
    ("(argument_sets=(1 '2')())(jobType=parametric)", {"job_type": "parametric", "argument_sets": [["1", "2"], []]}),
]
MEANT = {  # where the case is too long for one line
    7: {"arguments": ["*.dat", "-x", "--y", "a,b;c\\", "https://h:1/x"]},
    14: {"arguments": ["a/bc", "aa/b"]},
}


@pytest.mark.parametrize(("number", "text", "means"), [(n, *case) for n, case in enumerate(SAID_IN_RSL)])
def test_values_in_rsl_mean_this(number, text, means):
    assert rsl.parse(R + text) == TRUE | (MEANT[number] if means is None else means)


# The page


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("(arguments=" + "a " * 10_000 + "$(NOPE) b)", "column 20034: 'NOPE': no rsl_substitution before"),
        ("(rsl_substitution=(A " + "x" * 1000 + "))(arguments=" + "$(A) " * 10_000 + ")", "more than 1,048,576 char"),
        ("(arguments=" + "a#" * 25_000 + ")", "column 50032: expected a text, found '\\)'"),
        ("(arguments=" + "a#" * 25_000 + "^^)", "column 50032: this quote is never closed"),
    ],
)
def test_a_long_request_in_rsl_is_refused_in_a_moment(tmp_path, written, reason):
    file = tmp_path / "long.rsl"
    file.write_text("&(executable=/bin/a)" + written)
    began = time.process_time()
    with pytest.raises(BadRequest, match=reason):
        request.read(file)
    assert time.process_time() - began < 5, "each of its texts looks at all that follow"
