"""What requests in JDF and RSL mean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jim import request
from jim.errors import BadRequest
from jim.request import check, jdf, read, rsl

HOME = Path(__file__).parents[3]
PAGE = (HOME / "docs/requests.md").read_text()


def test_nothing_is_an_empty_request(tmp_path):
    for name, text in (("r.jdf", "# nothing\n"), ("r.rsl", "& (* nothing *)"), ("r.json", ""), ("r.jdl", "\n")):
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
        ("[ a = b; c", "JDL"),
        ('// c\n# d\n/* e */ JobName = "x"; =', "JDL"),
        ('OutputSandbox = {"a",\n"b"} ; =', "JDL"),
        ("[a]\nb = c", "TOML"),
        ("[[a]]\nb = c", "TOML"),
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
        "outputs": ["*.log", "with space*"],
        "environment": {"LANG": "C", "TITLE": "Z to ee", "notify_user": "someone"},
    }
    assert rsl.parse(relations) == {
        "job_type": "executable",
        "executable": "/bin/echo",
        "arguments": ["/store/run1/a.root", 'a "quoted" word', "or this"],
        "environment": {"LANG": "C", "TITLE": "Z to ee"},
        "wall_seconds": 600,
    }


def test_a_file_larger_than_a_request_may_be_is_refused(tmp_path):
    file = tmp_path / "large.toml"
    file.write_text("#" * 1_048_577)
    with pytest.raises(BadRequest) as error:
        request.read(file)
    assert str(error.value) == f"cannot read the request: {file} is larger than 1,048,576 bytes"


@pytest.mark.parametrize(
    ("wrong", "begin", "end"),
    [
        (
            {"argument": ["a"], "outputs": "b", "memory": 500},
            "'argument': unknown attribute; did",
            "; also wrong: outputs, 'memory'",
        ),
        ({"outputs": "b", "cores": 0}, "outputs: expected a list of texts", "; also wrong: cores"),
        ({"cores": 0, "outputs": "b"}, "cores: expected", "; also wrong: outputs"),
        (
            {f"x{n}": 1 for n in range(1000)},
            "'x0': unknown attribute",
            "; also wrong: 'x1', 'x2', 'x3', 'x4', 'x5' and more",
        ),
        ({"a\x1b[2J": 1, "b\x1b[2J": 1}, "'a\\x1b[2J': unknown", "; also wrong: 'b\\x1b[2J'"),
    ],
)
def test_all_wrong_attributes_are_told_the_first_as_written_with_its_reason(wrong, begin, end):
    with pytest.raises(BadRequest) as caught:
        check({"job_type": "executable", "executable": "/bin/true", **wrong})
    assert str(caught.value).startswith(begin)
    assert str(caught.value).endswith(end)
    assert caught.value.about == next(iter(wrong))


def test_a_missing_attribute_is_told_once_the_others_are_right():
    with pytest.raises(BadRequest) as caught:
        check({"job_type": "executable", "executabel": "/bin/true"})
    assert "did you mean 'executable'?" in str(caught.value)
    assert "also wrong" not in str(caught.value)
    assert "more; `jim types executable` lists all)" in str(caught.value)
