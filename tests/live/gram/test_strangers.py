"""What a grid user may name, through a real gatekeeper: only what GRAM has made or fetched for the job."""

from __future__ import annotations

import shutil

import pytest

from tests.live.gram.gatekeeper import SAMGRID, until
from tests.live.site import USER


@pytest.fixture
def key(gate):
    """Put a key into the home of the account."""
    (gate.account / ".ssh").mkdir(exist_ok=True)
    file = gate.account / ".ssh/id"
    file.write_text("the-key-of-the-account\n")
    for each in (file.parent, file):
        shutil.chown(each, USER, USER)
    yield file
    shutil.rmtree(file.parent)


@pytest.mark.parametrize(
    ("rsl", "words"),
    [
        ('(inputs="{key}")', "site.inputs_below"),
        ('(inputs="{home}/.ssh")', "site.inputs_below"),
        ("(stdin={key})", "site.inputs_below"),
        ('(inputs="{state}/keys")', "site.inputs_below"),
        ("(token={key})", "GRAM itself hands over the credential"),
        ("(proxy={key})", "GRAM itself hands over the credential"),
        ("(directory={state})", "is JIM's own"),
    ],
)
def test_no_file_of_the_account_is_read_for_a_grid_user(gate, key, rsl, words):
    before = gate.jobs()
    asked = rsl.format(key=key, home=gate.account, state=gate.state)
    code, out, err = gate.run("globusrun", "-s", "-r", SAMGRID, f"&(executable=/bin/cat){asked}")
    assert words in err + out
    assert code != 0
    assert gate.jobs() == before


def test_a_variable_of_the_user_names_no_credential(gate, key):
    """GRAM puts its own variables before those of the user."""
    _, job = gate.submit(f"&(executable=/bin/true)(environment=(X509_USER_PROXY {key})(A b))")
    proxy = gate.show(job)["request"]["proxy"]
    assert proxy.endswith("/x509_user_proxy")
    assert proxy.startswith(f"{gate.account}/.globus/job/")
    until(lambda: gate.answer(job) == "GRAM_SCRIPT_JOB_STATE:8\n\n", "it is done")


@pytest.mark.parametrize(
    ("rsl", "words"),
    [
        ("(file_stage_in=({url}/etc/hostname {state}/answers/1))", "JIM's own"),
        ("(file_stage_in=({url}/etc/hostname {state}/work/new))", "JIM's own"),
        ("(file_stage_in=(file://{state}/keys/x mine))", "JIM's own"),
        ("(file_stage_in_shared=({url}/etc/hostname {state}/new))", "JIM's own"),
        ("(file_stage_out=({state}/status.db {url}/tmp/stolen))", "JIM's own"),
        ("(file_stage_out=(out file://{state}/answers/1))", "JIM's own"),
        ("(stdin=file://{state}/status.db)", "JIM's own"),
    ],
)
def test_gram_copies_no_file_of_jim_s_own(gate, rsl, words):
    before, kept = gate.jobs(), _names(gate)
    asked = rsl.format(state=gate.state, url="$(GLOBUSRUN_GASS_URL)")
    code, out, err = gate.run("globusrun", "-w", "-r", SAMGRID, f"&(executable=/bin/true){asked}")
    assert words in err + out
    assert code != 0
    assert (gate.jobs(), _names(gate)) == (before, kept)


def _names(gate):
    """Name what stays in the state directory: not what keepers have only while they live."""
    passing = ("bell", "woken", "heartbeat", "keeper.lock", "status.db-wal", "status.db-shm")
    return sorted(each.name for each in gate.state.iterdir() if each.name not in passing)


@pytest.mark.parametrize("name", ["file_clean_up", "log_pattern", "gass_cache"])
@pytest.mark.parametrize("refused", ["", "(inputs=/etc/passwd)"])
def test_gram_itself_removes_and_writes_no_file_of_jim_s_own(gate, name, refused):
    """It would do so before JIM sees the job, or also after JIM has refused it."""
    file, before = gate.state / "victim", gate.jobs()
    file.write_text("as it was")
    shutil.chown(file, USER, USER)
    code, out, err = gate.run("globusrun", "-s", "-r", SAMGRID, f"&(executable=/bin/true){refused}({name}={file})")
    assert (code != 0, file.read_text(), gate.jobs()) == (True, "as it was", before), (out, err)
    if name != "gass_cache":  # this one GRAM refuses for what is there
        assert f'Invalid RSL attribute "{name.replace("_", "")}" for submit' in err
    file.unlink()
