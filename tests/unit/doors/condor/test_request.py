"""From the call of a submit script to the attributes of a request, and to places of outputs."""

import pytest

from jim import request
from jim.doors.condor import DOOR
from jim.doors.condor.arguments import Called
from jim.doors.condor.request import attributes_of, places_of
from jim.errors import BadRequest

KEY = "127.0.0.1_19718_x_1.0_1795403893"


def called(*, arguments=(), environment=None, inputs=(), outputs=(), requirements=None, **options):
    options = {
        "c": "/bin/echo",
        "w": "/w",
        "o": "out.1",
        "e": "err.1",
        "i": "/dev/null",
        "D": f"home_bl_{KEY}",
    } | options
    outputs = tuple((name, name) if isinstance(name, str) else name for name in outputs)
    return Called(options, tuple(arguments), environment or {}, tuple(inputs), outputs, requirements or {})


def test_one_program():
    call = called(
        arguments=["a b"], environment={"A": "1"}, outputs=["result"], q="short", A="atlas", t="3600", m="500", n="4"
    )
    assert attributes_of(call, "") == {
        "job_type": "executable",
        "key": KEY,
        "executable": "/bin/echo",
        "arguments": ["a b"],
        "environment": {"A": "1"},
        "outputs": ["result"],
        "queue": "short",
        "account": "atlas",
        "wall_seconds": 3600,
        "memory_mb": 500,
        "cores": 4,
    }


def test_the_memory_that_htcondor_asks_for_by_itself_is_no_limit():
    assert "memory_mb" not in attributes_of(called(m="1"), "")
    assert attributes_of(called(m="64"), "")["memory_mb"] == 64


@pytest.mark.parametrize("program", ["hello.sh", "/w/hello.sh", "./hello.sh"])
def test_a_program_in_the_directory_of_the_job_is_sent_along(program):
    call = called(c=program, inputs=["/w/data", "/w/hello.sh"], i="in.txt")
    found = attributes_of(call, "")
    assert (found["executable"], found["inputs"], found["stdin"]) == (
        "./hello.sh",
        ["/w/data", "/w/hello.sh"],
        "/w/in.txt",
    )


def test_credentials_are_handed_over_as_files_and_payloads_get_variables_of_jim_s_own():
    call = called(x="/spool/x509", environment={"X509_USER_PROXY": "/a", "BEARER_TOKEN_FILE": "/spool/t", "B": "1"})
    found = attributes_of(call, "")
    assert (found["proxy"], found["token"], found["environment"]) == ("/spool/x509", "/spool/t", {"B": "1"})


def test_variables_of_the_machine_that_submits_are_not_the_payload_s():
    """As with `getenv = true`."""
    theirs = {
        "PATH": "/x",
        "LD_PRELOAD": "/x",
        "HOME": "/h",
        "SHELL": "/s",
        "USER": "u",
        "PWD": "/p",
    }
    assert attributes_of(called(environment={**theirs, "A": "1"}), "")["environment"] == {"A": "1"}


@pytest.mark.parametrize(
    ("environment", "requirements"),
    [
        ({"JIM_JOB_TYPE": "pythia_monte_carlo", "JIM_EVENTS": "20000", "JIM_MASS_MIN_GEV": "70.5"}, {}),
        ({}, {"JIM_job_type": "pythia_monte_carlo", "JIM_events": "20000", "JIM_mass_min_gev": "70.5", "Cmd": "x"}),
        (
            {"JIM_JOB_TYPE": "executable"},
            {"JIM_job_type": "pythia_monte_carlo", "JIM_Events": "20000", "JIM_massmingev": "70.5"},
        ),
    ],
    ids=["environment", "attributes", "both: attributes count"],
)
def test_a_request_that_is_split(environment, requirements):
    call = called(environment=environment, requirements=requirements, c="/bin/true", arguments=["x"])
    assert attributes_of(call, "") == {
        "job_type": "pythia_monte_carlo",
        "key": KEY,
        "events": 20000,
        "mass_min_gev": 70.5,
    }


def test_files_go_to_local_jobs_of_any_job_type():
    split = {"JIM_job_type": "pythia_monte_carlo", "JIM_events": "20"}
    found = attributes_of(called(requirements=split, c="/w/dummy", inputs=["/w/cards", "b"]), "")
    assert found["inputs"] == ["/w/cards", "/w/b"]
    with pytest.raises(BadRequest, match="'stdin': unknown attribute"):
        request.check(attributes_of(called(requirements=split, i="in.txt"), ""))


def test_the_places_of_streams_have_htcondor_s_own_names():
    with pytest.raises(BadRequest, match="stdout: the gatekeeper itself names the place of this"):
        attributes_of(called(requirements={"JIM_stdout": "said"}), "")


def test_lists_and_tables_are_texts_too():
    texts = {"JIM_job_type": "parametric", "JIM_argument_sets": '[["a"], ["b c"]]', "JIM_outputs": "*.dat, log"}
    found = attributes_of(called(requirements=texts, outputs=["results.tar"]), "")
    assert (found["argument_sets"], found["outputs"]) == ([["a"], ["b c"]], ["*.dat", "log"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"h": "2"}, "HostNumber: '2': a local job cannot have that here; leave it out"),
        ({"z": "yes"}, "WholeNodes: 'yes'"),
        ({"g": "1"}, "request_gpus: '1'"),
        ({"a": "--qos=x"}, "BatchExtraSubmitArgs: '--qos=x'"),
        ({"t": "soon"}, "batch_runtime (wall_seconds): expected a whole number, found 'soon'"),
        ({"m": "1.5"}, "request_memory (memory_mb): expected a whole number"),
    ],
)
def test_what_jim_cannot_do_is_refused_in_htcondor_s_words(options, words):
    with pytest.raises(BadRequest) as error, DOOR("condor").in_its_words({}):
        attributes_of(called(**options), "")
    assert str(error.value).startswith(words)


def test_whoever_wrote_a_number_which_htcondor_drops_is_told_to_write_it_in_quotes():
    """The refusal said that the events are missing, which stand in the submit description."""
    with pytest.raises(BadRequest) as error, DOOR("condor").in_its_words({}):
        request.check({"job_type": "pythia_monte_carlo"})
    hint = "HTCondor drops numbers: write the value of +JIM_events in quotes"
    assert str(error.value) == f"events: missing (events in all); {hint}"


def test_refusals_of_jim_s_own_have_the_names_of_a_submit_description():
    with (
        pytest.raises(BadRequest, match=r"transfer_output_files.*'/etc/x' must be a name"),
        DOOR("condor").in_its_words({}),
    ):
        request.check(attributes_of(called(outputs=["/etc/x"]), ""))


@pytest.mark.parametrize(
    ("asked", "tar"),
    [
        ({}, "/w/out.1"),
        ({"outputs": ["mass.svg", "all.tar"]}, "/w/all.tar"),
        ({"outputs": [("all.tar", "/x/z.tar")]}, "/x/z.tar"),
        ({"o": "/dev/null"}, None),
    ],
)
def test_places(asked, tar):
    found = places_of(called(**asked))
    assert (found["directory"], found.get("tar")) == ("/w", tar)
    assert found["progress"] == ("/w/jim.status" if asked.get("o") else "/w/out.1.status")
    names = [name for name, _ in called(**asked).outputs]
    assert list(found["files"]) == [*names, "stdout", "stderr"]


def test_another_client_of_blahpd_has_a_key_of_its_own():
    assert attributes_of(called(D="", j="42.0"), "")["key"] == "42.0"


@pytest.mark.parametrize("told", [{"environment": {"JIM_KEY": "k"}}, {"requirements": {"JIM_key": "k"}}])
def test_nobody_but_htcondor_gives_a_job_its_key(told):
    """With another key, its repeats would be other jobs, and other jobs its repeats."""
    with pytest.raises(BadRequest, match=r"^key: the gatekeeper names each job itself; leave this out$"):
        attributes_of(called(**told), "")


def test_a_job_without_a_key_is_refused():
    """Handed in once more, it would be a second job."""
    with pytest.raises(BadRequest, match=r"^JobDirectory: blahpd names neither this nor ClientJobId, "):
        attributes_of(called(D=""), "")


def test_what_htcondor_names_is_no_pattern():
    assert attributes_of(called(outputs=["a[1].dat", "b*", "sub"]), "")["outputs"] == ["a[[]1].dat", "b[*]", "sub"]
