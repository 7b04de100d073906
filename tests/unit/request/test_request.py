"""What requests in JDF and RSL mean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jim.errors import BadRequest
from jim.request import check, gram_names, jdf, read, rsl

HOME = Path(__file__).parents[3]
PAGE = (HOME / "docs/requests.md").read_text()
TRUE = {"job_type": "executable", "executable": "true"}
J, R = "job_type = executable\nexecutable = true\n", "&(executable=true)"

SAID_IN_JDF = [
    ("", {}),
    ("\n# nothing\n\n", {}),
    ("arguments = a b  c\n", {"arguments": ["a", "b", "c"]}),
    ("arguments =\n", {"arguments": []}),
    ('arguments = "a b" c"d e"f "" """" "#"#1 x#y # z', {"arguments": ["a b", "cd ef", "", '"', "##1", "x#y"]}),
    ("arguments = it's $HOME `id` a=b \\n 'x'", {"arguments": ["it's", "$HOME", "`id`", "a=b", "\\n", "'x'"]}),
    ('arguments = a \\\n  b \\\r\n "c"\\\nd\n', {"arguments": ["a", "b", "c", "d"]}),
    ("arguments = a\r\nqueue = long\r\n", {"arguments": ["a"], "queue": "long"}),
    ("ARGUMENTS=a\nWallSeconds=60\n\tcores\t=\t2", {"arguments": ["a"], "wall_seconds": 60, "cores": 2}),
    ("key = request 13669, p14  # of D0", {"key": "request 13669, p14"}),
    ('key = "13 # 669"', {"key": "13 # 669"}),
    ("key = one \\\n two", {"key": "one two"}),
    ('environment = A=1 "B=x = y" C=', {"environment": {"A": "1", "B": "x = y", "C": ""}}),
    ("+notify_user = me and you\n+Empty =\n", {"environment": {"notify_user": "me and you", "Empty": ""}}),
    ('+A = "1"\nenvironment = a=2\n+AA = 3', {"environment": {"A": "1", "a": "2", "AA": "3"}}),
]
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


@pytest.mark.parametrize(("text", "means"), SAID_IN_JDF)
def test_jdf_says(text, means):
    assert jdf.parse(J + text) == TRUE | means


@pytest.mark.parametrize(("number", "text", "means"), [(n, *case) for n, case in enumerate(SAID_IN_RSL)])
def test_rsl_says(number, text, means):
    assert rsl.parse(R + text) == TRUE | (MEANT[number] if means is None else means)


def test_numbers_become_what_the_job_type_declares():
    means = {"job_type": "pythia_monte_carlo", "events": 1000, "mass_min_gev": 70.5, "mass_max_gev": 100.0}
    assert jdf.parse("job_type=pythia_monte_carlo\nevents=+1000\nmass_min_gev=7.05e1\nmass_max_gev=100.") == means
    assert rsl.parse("(jobType=pythia_monte_carlo)(events=1000)(massMinGeV=70.5)(massMaxGeV=100)") == means


def test_nothing_is_an_empty_request(tmp_path):
    for name, text in (("r.jdf", "# nothing\n"), ("r.rsl", "& (* nothing *)")):
        (tmp_path / name).write_text(text)
        with pytest.raises(BadRequest, match=r"r\.\w+: the request is empty"):
            read(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ('{"job_type": 3', "JSON"),
        ("&(a", "RSL"),
        ("\n (a", "RSL"),
        ("(* a *) &(a", "RSL"),
        ("+(&(a=b))", "RSL"),
        ("| (a", "RSL"),
        ('job_type = executable\nexecutable = "', "JDF"),
        ("# c\n Job_Type=executable\n=", "JDF"),
        ('job_type = "executable"\n+A = b\n=', "JDF"),
        ('job_type = "executable"\nexecutable = /bin/echo', "TOML"),
        ('job_type = "executable"\nx = [\n+1,\n', "TOML"),
        ("nonsense", "TOML"),
    ],
)
def test_the_content_tells_the_language_where_the_name_does_not(tmp_path, text, language):
    (tmp_path / "request").write_text(text)
    with pytest.raises(BadRequest, match=f"request: not {language}: "):
        read(tmp_path / "request")


def test_a_site_s_own_job_type_declares_what_its_descriptions_may_say(tmp_path):
    """The example of a D0 request that survives, in as far as a type declares it."""
    own = tmp_path / "own"
    (own / "d0sim").mkdir(parents=True)
    (own / "d0sim/mc.py").write_text(
        "from jim.handlers.base import Attribute, Handler\n"
        "class HANDLER(Handler):\n"
        "    attributes = {\n"
        "        'runjob_requestid': Attribute(int, 'the request', required=True),\n"
        "        'runjob_numevts': Attribute(int, 'events in all'),\n"
        "        'd0_release_version': Attribute(str, 'the release', allowed=('p14.07.00', 'p17.09.01')),\n"
        "    }\n"
    )
    file = tmp_path / "request.jdf"
    said = "job_type = d0sim.mc\nrunjob_requestid = 13669\nrunjob_numevts = 20000\nd0_release_version = p14.07.00\n"
    file.write_text(f"{said}+notify_user = someone\n")
    _, request = check(read(file, str(own)), str(own))
    assert (request["runjob_requestid"], request["runjob_numevts"]) == (13669, 20000)
    assert request["environment"] == {"notify_user": "someone"}
    file.write_text(said.replace("p14.07.00", "p14.07.01"))
    reason = r"line 4, column 1: d0_release_version: 'p14.07.01' is not allowed .*did you mean 'p14.07.00'\?"
    with pytest.raises(BadRequest, match=reason):
        read(file, str(own))


# The page


def test_the_page_s_descriptions_are_accepted(tmp_path):
    blocks = [
        re.sub("^ {4}", "", each, flags=re.MULTILINE) for each in re.findall(r"(?:^ {4}.*\n)+", PAGE, re.MULTILINE)
    ]
    (description,) = (each for each in blocks if each.startswith("# 100 events"))
    (relations,) = (each for each in blocks if each.startswith("&"))
    assert jdf.parse(description) == {
        "job_type": "pythia_monte_carlo",
        "events": 100,
        "mass_min_gev": 70.5,
        "outputs": ["*.log", "with space.dat"],
        "environment": {"LANG": "C", "TITLE": "Z to ee", "notify_user": "someone"},
    }
    assert rsl.parse(relations) == {
        "job_type": "executable",
        "executable": "/bin/echo",
        "arguments": ["/store/run1/a.root", 'a "quoted" word', "or this"],
        "environment": {"LANG": "C", "TITLE": "Z to ee"},
        "wall_seconds": 600,
    }


def test_the_page_names_every_word_of_gram():
    names = {*gram_names.RENAMED, *gram_names.USELESS, *gram_names.NO_JOB_TYPES, "count", "jobtype"}
    assert names <= {each.lower() for each in re.findall(r"`(\w+)`", PAGE)}
