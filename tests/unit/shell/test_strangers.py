"""What a stranger may name at a gatekeeper's door: nothing but what the gatekeeper itself has made for the job."""

from __future__ import annotations

import json
import os

import pytest

from tests.gram.script import call as gram
from tests.support.certificates import PROXY

KEY = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJim\n-----END PRIVATE KEY-----\n"


@pytest.fixture
def home(place):
    """Put a key into the account's home, and what belongs to other grid jobs into JIM's own directories."""
    for each in (".ssh", "state/work/5", "state/answers", "state/keys"):
        (place.directory / each).mkdir(parents=True, exist_ok=True)
    for each in (".ssh/id", "state/work/5/token", "state/pages.key"):
        (place.directory / each).write_text("t0ken\n" if each.endswith("token") else KEY)
    (place.state / "work/5/proxy").write_bytes(PROXY)
    (place.directory / "mine.pem").write_bytes(PROXY)
    return place


def nothing_taken(place):
    return place.left() == ([], [])


# HTCondor-CE


@pytest.fixture
def iwd(home):
    """Return a directory of the schedd's spool, with the files of a job."""
    made = home.directory / "spool/12/0/cluster12.proc0.subproc0"
    made.mkdir(parents=True)
    (made / "token").write_text("abc.def\n")
    (made / "data").write_text("data")
    (made / "x509up").write_bytes(PROXY)
    (made / "leak").symlink_to(home.directory / ".ssh/id")
    (made / "up").symlink_to("../../../..")
    os.link(home.state / "work/5/token", made / "linked")
    return made


def condor(place, iwd, *words, inputs=(), outputs=(), remaps=(), spool="spool"):
    for letter, names in (("I", inputs), ("O", outputs), ("R", remaps)):
        if names:
            (place.directory / f"list-{letter}").write_text("".join(f"{name}\n" for name in names))
            words = (*words, f"-{letter}", str(place.directory / f"list-{letter}"))
    options = ("-c", "/bin/echo", "-w", str(iwd), "-D", "home_bl_1", "-i", "/dev/null", *words)
    return place.door("condor/jim_submit.sh", *options, HOME="/nowhere", jim_spool=f"{place.directory / spool}")


def test_what_the_schedd_has_spooled_is_the_sender_s(home, iwd):
    words = ("-o", "out", "-e", "err", "-x", f"{iwd}/x509up", "-V", f'"BEARER_TOKEN_FILE={iwd}/token"')
    code, _, err = condor(home, iwd, *words, inputs=["data"], outputs=["sub/result"])
    assert code == 0, err
    (file,) = (home.state / "inbox").glob("request-*")
    assert json.loads(json.loads(file.read_text())["realm"]) == {"below": [str(iwd)], "files": []}


@pytest.mark.parametrize(
    "words",
    [
        ("-V", '"BEARER_TOKEN_FILE={home}/.ssh/id"'),
        ("-V", '"BEARER_TOKEN_FILE={home}/state/work/5/token"'),
        ("-V", '"BEARER_TOKEN_FILE={iwd}/linked"'),
        ("-V", '"BEARER_TOKEN_FILE={iwd}/leak"'),
        ("-V", '"JIM_TOKEN=/etc/jim/pages.secret"'),
        ("-V", '"JIM_TOKEN={home}/.ssh/id"'),
        ("-V", '"JIM_STDIN={home}/.ssh/id"'),
        ("-V", '"JIM_STDIN={iwd}/leak"'),
        ("-V", '"JIM_PROXY={home}/state/work/5/proxy"'),
        ("-V", '"JIM_INPUTS={home}/.ssh"'),
        ("-x", "{home}/state/work/5/proxy"),
        ("-x", "{home}/mine.pem"),
        ("-i", "{home}/.ssh/id"),
        ("-i", "up/.ssh/id"),
        ("-i", "../../../../.ssh/id"),
    ],
)
def test_no_word_of_a_job_of_the_ce_names_another_file(home, iwd, words):
    code, out, err = condor(home, iwd, *(each.format(home=home.directory, iwd=iwd) for each in words))
    assert (code, out) == (2, "")
    assert "site.inputs_below" in err
    assert nothing_taken(home)


@pytest.mark.parametrize(
    "name", [".ssh/id", ".ssh", "state/pages.key", "state/keys", "state/work/5", "state/status.db"]
)
def test_no_list_of_inputs_names_another_file(home, iwd, name):
    code, _, err = condor(home, iwd, inputs=["data", str(home.directory / name)])
    assert (code, "site.inputs_below" in err, nothing_taken(home)) == (2, True, True)


def test_a_link_among_the_inputs_leads_nowhere_else(home, iwd):
    for name in ("leak", "up", "up/.ssh/id"):
        code, _, err = condor(home, iwd, inputs=[name])
        assert (code, "site.inputs_below" in err, nothing_taken(home)) == (2, True, True)


@pytest.mark.parametrize(
    "words",
    [
        {"o": "{home}/state/answers/5"},
        {"e": "{home}/state/answers/5"},
        {"o": "../../../../state/answers/5"},
        {"o": "."},
        {"e": ".."},
        {"remaps": ".."},
        {"remaps": "{home}/state/site-OVERWRITTEN"},
        {"remaps": "up/state/site-OVERWRITTEN/../x"},
    ],
)
def test_no_output_goes_elsewhere(home, iwd, words):
    told = {name: text.format(home=home.directory) for name, text in words.items()}
    lists = {"outputs": ["result"], "remaps": [told.pop("remaps")]} if "remaps" in told else {}
    code, _, err = condor(home, iwd, *(word for name, path in told.items() for word in (f"-{name}", path)), **lists)
    if "up/" in str(lists):  # that is below the directory by its name; the keeper follows no link when it writes
        assert code == 0
        return
    assert (code, "outputs go into" in err, nothing_taken(home)) == (2, True, True)


@pytest.mark.parametrize("iwd", ["home", "spool", "spool/12", "spool/12/0/other", "spool/cluster1.proc0.subproc0/x"])
def test_a_directory_that_no_schedd_has_made_for_a_job_gives_nothing(home, iwd):
    place = home.directory / iwd
    place.mkdir(parents=True, exist_ok=True)
    (place / "data").write_text("data")
    code, _, err = condor(home, place, inputs=["data"])
    assert (code, "may name no files of this machine, as none were spooled" in err, nothing_taken(home)) == (
        2,
        True,
        True,
    )
    assert "condor_submit -spool" in err  # what the user can do
    code, _, err = condor(home, place, "-o", "out")
    assert (code, "Iwd" in err, nothing_taken(home)) == (2, True, True)
    assert condor(home, place, "-o", "/dev/null")[0] == 0


def test_a_link_of_the_name_of_a_spooled_directory_gives_nothing(home):
    (home.directory / "spool").mkdir()
    link = home.directory / "spool/cluster1.proc0.subproc0"
    link.symlink_to(home.directory / ".ssh")
    assert condor(home, link, inputs=["id"])[0] == 2
    assert condor(home, f"{home.directory}/spool/../.ssh/../spool/cluster1.proc0.subproc0", inputs=["id"])[0] == 2


def test_a_ce_whose_scripts_know_no_spool_gives_nothing(home, iwd):
    code, _, err = condor(home, iwd, inputs=["data"], spool="none")
    assert (code, "may name no files" in err) == (2, True)


# ARC


def arc(place, *lines):
    control, session = place.directory / "control", place.directory / "session"
    for each in (control, session):
        each.mkdir(exist_ok=True)
    (control / "job.1.proxy").write_bytes(PROXY)
    (session / "data").write_text("data")
    (session / "leak").unlink(missing_ok=True)
    (session / "leak").symlink_to(place.directory / ".ssh/id")
    text = f"joboption_directory='{session}'\njoboption_controldir='{control}'\njoboption_gridid='1'\n"
    text += f"joboption_arg_0='/bin/true'\njoboption_stdout='{session}/out'\n"
    (control / "job.1.grami").write_text(text + "".join(f"joboption_{line}\n" for line in lines))
    return place.door("arc/submit-jim-job", "--config", "x", str(control / "job.1.grami"), HOME="/nowhere")


def test_the_session_directory_and_the_delegated_proxy_are_the_sender_s(home):
    code, _, err = arc(home, "inputfile_0='/data'", "stdin='data'")
    assert code == 0, err
    (file,) = (home.state / "inbox").glob("request-*")
    assert json.loads(json.loads(file.read_text())["realm"]) == {
        "below": [f"{home.directory}/session"],
        "files": [f"{home.directory}/control/job.1.proxy"],
    }


@pytest.mark.parametrize(
    "line",
    [
        "env_0='JIM_PROXY={home}/mine.pem'",
        "env_0='JIM_TOKEN={home}/state/work/5/token'",
        "env_0='JIM_INPUTS={home}/.ssh'",
        "env_0='JIM_STDIN={home}/.ssh/id'",
        "inputfile_0='/leak'",
        "stdin='../.ssh/id'",
        "stdin='leak'",
    ],
)
def test_no_line_of_a_job_of_arc_names_another_file(home, line):
    code, _, err = arc(home, line.format(home=home.directory))
    assert (code, "site.inputs_below" in err, nothing_taken(home)) == (2, True, True)


@pytest.mark.parametrize(
    "line", ["stderr='{home}/state/answers/5'", "outputfile_0='/../state/answers/5'", "outputfile_0='/../x.tar'"]
)
def test_no_output_of_a_job_of_arc_goes_elsewhere(home, line):
    code, out, _ = arc(home, line.format(home=home.directory))
    assert (code, out, nothing_taken(home)) == (2, "", True)


# GRAM


def test_what_gram_has_fetched_is_the_sender_s(home):
    (home.directory / "jobdir").mkdir()
    (home.directory / "jobdir/x509_user_proxy").write_bytes(PROXY)
    (home.directory / "staged").write_text("data")
    own = f"{home.directory}/jobdir/x509_user_proxy"
    environment = [["X509_USER_PROXY", own], ["X509_USER_PROXY", f"{home.directory}/mine.pem"]]
    (home.directory / "jobdir/jim-staged-in").write_text('"staged"\n')
    said = gram(home, "submit", environment=environment, jobdir=[str(home.directory / "jobdir")])
    assert said.startswith("GRAM_SCRIPT_JOB_ID:"), said
    (file,) = (home.state / "inbox").glob("request-*")
    content = json.loads(file.read_text())
    assert (content["request"]["proxy"], content["request"]["inputs"]) == (own, [f"{home.directory}/staged"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inputs", [".ssh"]),
        ("inputs", ["state/work/5/token"]),
        ("inputs", ["state"]),
        ("stdin", [".ssh/id"]),
        ("stdin", ["state/pages.key"]),
    ],
)
def test_no_attribute_of_rsl_names_another_file(home, name, value):
    (home.directory / "jobdir").mkdir()
    paths = [str(home.directory / each) for each in value]
    said = gram(home, "submit", jobdir=[str(home.directory / "jobdir")], **{name: paths})
    assert "site.inputs_below" in said
    assert "GRAM_SCRIPT_ERROR:48" in said
    assert nothing_taken(home)


def test_nobody_but_gram_says_what_gram_has_staged_in(home):
    (home.directory / "jobdir").mkdir()
    staged = [str(home.directory / ".ssh/id")]
    said = gram(home, "submit", jobdir=[str(home.directory / "jobdir")], jimstagedin=staged)
    assert said.startswith("GRAM_SCRIPT_JOB_ID:"), said
    (file,) = (home.state / "inbox").glob("request-*")
    assert ".ssh" not in file.read_text()


@pytest.mark.parametrize(("name", "path"), [("proxy", "mine.pem"), ("token", "state/work/5/token")])
def test_only_gram_itself_names_a_credential(home, name, path):
    said = gram(home, "submit", **{name: [str(home.directory / path)]})
    assert f"{name}: GRAM itself hands over the credential of the job" in said
    assert nothing_taken(home)


def test_a_program_of_rsl_does_not_run_in_a_directory_of_jim_s_own(home):
    said = gram(home, "submit", directory=[str(home.state / "work/5")])
    assert "is JIM's own, and no place for a job" in said
    assert nothing_taken(home)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_stream_of_rsl_never_becomes_a_file_of_jim_s_own(home, stream):
    """An empty claim would keep a local job of somebody else from its start."""
    claim = home.state / "work/5/claim.1"
    said = gram(home, "submit", **{stream: [str(claim)]})
    assert f"{stream}: {claim} is JIM's own, and no place for a job" in said
    assert nothing_taken(home)
    assert not claim.exists()


OF_GRAM = [
    ("filestagein", ["https://x/a", "{state}/answers/5"]),
    ("filestagein", ["https://x/a", "{state}/new"]),
    ("filestagein", ["https://x/a", "{home}/mine/../state/work/5/claim.1"]),
    ("filestagein", ["https://x/a", "{home}/linked/pages.key"]),
    ("filestagein", ["https://x/a", "state/status.db"]),
    ("filestagein", ["file://{state}/pages.key", "mine"]),
    ("filestagein", ["FILE:{state}/pages.key", "mine"]),
    ("filestagein", ["file://localhost{state}/pages.key", "mine"]),
    ("filestagein", ["file:///{state}/pages.key", "mine"]),
    ("filestagein", ["file://{home}/%73tate/pages.key", "mine"]),
    ("filestagein", ["file://{state}/", "mine/"]),
    ("filestagein", ["file://{state}", "mine"]),
    ("filestagein", ["{state}/pages.key", "mine"]),
    ("filestagein", ["file://{home}/second", "mine"]),
    ("filestageinshared", ["https://x/a", "{state}/work/5"]),
    ("filestageinshared", ["file://{state}/pages.key", "mine"]),
    ("filestageout", ["{state}/pages.key", "https://x/a"]),
    ("filestageout", ["file:{state}/pages.key", "https://x/a"]),
    ("filestageout", ["file://{state}/pages.key", "https://x/a"]),
    ("filestageout", ["out", "file://{state}/answers/5"]),
    ("filestreamout", ["out", "file://{state}/answers/5"]),
    ("environment", ["GLOBUS_GASS_CACHE_DEFAULT", "{state}/cache"]),
    ("executable", "file://{state}/pages.key"),
    ("stdin", "file://{state}/pages.key"),
]


@pytest.mark.parametrize(("name", "value"), OF_GRAM)
@pytest.mark.parametrize("method", ["stage_in", "submit"])
def test_gram_itself_copies_no_file_of_jim_s_own(home, method, name, value):
    """GRAM stages as the account: it can read, replace and link whatever JIM keeps."""
    (home.directory / "linked").symlink_to(home.state)
    (home.directory / "second").hardlink_to(home.state / "pages.key")
    (home.directory / "mine").mkdir()
    (home.directory / "jobdir").mkdir()
    texts = [
        text.format(home=home.directory, state=home.state) for text in ([value] if isinstance(value, str) else value)
    ]
    named = texts if isinstance(value, str) else [texts]
    said = gram(home, method, jobdir=[str(home.directory / "jobdir")], **{name: named})
    assert "JIM's own" in said
    assert "GRAM_SCRIPT_ERROR:48" in said
    assert nothing_taken(home)


@pytest.mark.parametrize(
    "pair",
    [
        ["file://{home}/*/pages.key", "a"],
        ["file://{home}/stat?/pages.key", "a"],
        ["file:///proc/self/cwd/state/pages.key", "a"],
        ["file:////proc/self/cwd/state/pages.key", "a"],
        ["/dev/fd/3", "a"],
    ],
)
def test_no_pattern_of_rsl_finds_a_file_of_jim_s_own(home, pair):
    (home.directory / "jobdir").mkdir()
    named = [[text.format(home=home.directory) for text in pair]]
    said = gram(home, "stage_in", jobdir=[str(home.directory / "jobdir")], filestagein=named)
    assert "file_stage_in: " in said
    assert "must be the name of one file" in said
    assert "GRAM_SCRIPT_ERROR:48" in said


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("filestagein", ["https://x/a", "{home}/data"]),
        ("filestagein", ["https://x/a?b=[1]", "data"]),
        ("filestagein", ["file://{home}/staged", "data"]),
        ("filestagein", ["gsiftp://x/~/a", "nowhere/data"]),
        ("filestageinshared", ["https://x/a", "{home}/jobdir/data"]),
        ("filestageout", ["out", "https://x/a"]),
        ("filestageout", ["{home}/staged", "https://x/a"]),
    ],
)
def test_gram_copies_what_is_not_jim_s(home, name, pair):
    (home.directory / "jobdir").mkdir()
    (home.directory / "staged").write_text("data")
    named = [[text.format(home=home.directory) for text in pair]]
    assert gram(home, "stage_in", jobdir=[str(home.directory / "jobdir")], **{name: named}) == "\n"


@pytest.mark.parametrize("name", ["../../state/work/5/result/5.tar", "../x", "a/../../5.tar"])
def test_no_output_of_rsl_has_a_name_that_leads_elsewhere(home, name):
    said = gram(home, "submit", filestageout=[[name, "https://x/r"]])
    assert "file_stage_out: " in said
    assert "must be a name inside the directory of the job" in said
    assert nothing_taken(home)


# The account itself


def test_a_token_is_one_word_whoever_names_it(home):
    file = home.request(f'job_type = "executable"\nexecutable = "/bin/true"\ntoken = "{home.directory}/.ssh/id"\n')
    code, _, err = home.door("jim", "submit", str(file))
    assert (code, "is no token: expected one line of printable letters without blanks" in err) == (2, True)
    for text in ("a b\n", "a\nb\n", "ä\n", "a\0b"):
        (home.directory / "token").write_text(text)
        home.request(f'job_type = "executable"\nexecutable = "/bin/true"\ntoken = "{home.directory}/token"\n')
        assert home.door("jim", "submit", str(file))[0] == 2
    (home.directory / "token").write_text("eyJ0.eyJl-_.x~+/=\n")
    assert home.door("jim", "submit", str(file))[0] == 0


def test_the_account_itself_names_any_file(home):
    text = 'job_type = "executable"\nexecutable = "/bin/true"\n'
    file = home.request(f'{text}inputs = ["{home.directory}/.ssh/id"]\nproxy = "{home.directory}/mine.pem"\n')
    assert home.door("jim", "submit", str(file))[0] == 0
