"""The same key with a different request is refused, at each door; what is of one submission alone is not compared."""

from __future__ import annotations

import json
import shutil

import pytest

from jim import run_grid_job
from jim.doors import inbox
from jim.doors.gram.request import apart
from jim.errors import BadRequest
from tests.gram.script import HOME, call, description
from tests.support.certificates import PROXY

ASKED = 'job_type = "executable"\nexecutable = "/bin/echo"\narguments = ["a"]\nkey = "mine"\n'


def handed_in(place):
    """Name the requests that lie in the inbox, and their answers."""
    answers = sorted(path.name for path in (place.state / "answers").iterdir())
    return answers, [name for name in place.left()[1] if not name.startswith(".")]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            'environment = { A = "1" }\n',
            "environment: {'A': '1'}, but grid job 1, which has the key 'mine', was submitted",
        ),
        ("wall_seconds = 60\ncores = 2\n", "wall_seconds: 60, but grid job 1, which has the key 'mine', was submitted"),
    ],
)
def test_the_same_key_with_a_different_request_is_refused(place, more, said):
    assert place.door("jim-submit", str(place.request(ASKED)))[0] == 0
    left = handed_in(place)
    code, out, err = place.door("jim-submit", str(place.request(ASKED + more)))
    assert code == 2
    assert out.startswith(f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{said}")
    assert out.endswith("GRAM_SCRIPT_ERROR:48\n\n")
    assert err.startswith(f"jim-submit: {said}")
    code, out, err = place.door("jim", "submit", str(place.directory / "request.toml"))
    assert (code, out) == (2, "")
    assert err.startswith(f"jim: {said}")
    assert handed_in(place) == left


def test_the_first_attribute_that_differs_is_named_though_others_do(place):
    place.door("jim-submit", str(place.request(ASKED)))
    other = 'job_type = "pythia_monte_carlo"\nevents = 500\ncores = 2\nkey = "mine"\n'
    code, _, err = place.door("jim-submit", str(place.request(other)))
    assert (code, err.partition(",")[0]) == (2, "jim-submit: job_type: 'pythia_monte_carlo'")


def test_a_repeated_submission_is_the_same(place):
    """Also from another directory: what it sends along lies beside it."""
    place.request(f'{ASKED}inputs = ["a.dat"]\n')
    (place.directory / "a.dat").write_text("a")
    (place.directory / "other").mkdir()
    for name in ("request.toml", "a.dat"):
        shutil.copy(place.directory / name, place.directory / "other")
    for file in ("request.toml", "request.toml", "other/request.toml"):
        assert place.door("jim-submit", file)[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")
    assert place.door("jim", "submit", "other/request.toml")[:2] == (0, "1\n")
    (place.directory / "b.dat").write_text("a")
    place.request(f'{ASKED}inputs = ["b.dat"]\n')
    assert place.door("jim-submit", "request.toml")[0] == 2


def test_what_is_taken_is_compared_as_what_lies_in_the_inbox(place):
    assert place.door("jim-submit", str(place.request(ASKED)))[0] == 0
    (file,) = (place.state / "inbox").glob("request-*")
    inbox.keep(file, json.loads(file.read_bytes()))
    assert place.door("jim-submit", "request.toml")[:2] == (0, "GRAM_SCRIPT_JOB_ID:1\nGRAM_SCRIPT_JOB_STATE:32\n\n")
    assert place.door("jim-submit", str(place.request(ASKED.replace('"a"', '"b"'))))[0] == 2


def test_what_an_edit_changed_later_is_not_compared(world, monkeypatch):
    asked = {"queue": "short"}
    assert world.submit(1, apart={}, **asked) == 1
    world.until(lambda: world.store.counts(1))
    inbox.wish(world.site.state, "edit", "1", changes={"queue": "long"})
    world.store.set_grid_job(1, request=json.dumps({**world.store.grid_job(1).request, "queue": "long"}))
    assert world.submit(1, apart={}, **asked) == 1
    with pytest.raises(BadRequest, match=r"^queue: 'long', but grid job 1"):
        world.submit(1, apart={}, queue="long")


def test_a_renewed_credential_is_not_compared(place, monkeypatch):
    monkeypatch.setenv("JIM_STATE", str(place.state))
    for name in ("one", "two"):
        (place.directory / name).write_text("a.token")
        file = place.request(f'{ASKED}token = "{place.directory / name}"\n')
        assert run_grid_job.submit(file) == 1


def test_a_key_of_the_version_before_is_not_compared(place):
    place.door("jim-submit", str(place.request(ASKED)))
    (file,) = (place.state / "inbox").glob("request-*")
    content = json.loads(file.read_bytes())
    del content["apart"]
    file.write_text(json.dumps(content))
    code, out, _ = place.door("jim-submit", str(place.request(ASKED + "cores = 2\n")))
    assert (code, out.partition("\n")[0]) == (0, "GRAM_SCRIPT_JOB_ID:1")


def test_of_two_different_requests_at_the_same_moment_one_is_refused(world, monkeypatch):
    link, left = inbox.os.link, [True]

    def late(source, target):
        while left:
            left.pop()
            assert world.submit(1, apart={}, queue="long") == 2
            world.go(1)
        link(source, target)

    monkeypatch.setattr("jim.doors.inbox.os.link", late)
    with pytest.raises(BadRequest, match=r"^queue: 'short', but grid job 2"):
        world.submit(1, apart={}, queue="short")
    world.go(1)
    assert [(job.id, job.request["queue"]) for job in world.store.grid_jobs()] == [(2, "long")]


# Behind GRAM


def of_a_job_manager(place, run, **more):
    """Give what a job manager tells that was started for the n-th time: contacts and directories are its own."""
    jobdir, scratch = (place.directory / f"{name}-{run}" for name in ("job", "gram_scratch"))
    for each in (jobdir, scratch):
        each.mkdir(exist_ok=True)
    contact = f"https://host:{40_000 + run}/16/5/"
    environment = [["GLOBUS_GRAM_JOB_CONTACT", contact], ["SCRATCH_DIRECTORY", str(scratch)], ["A", "b c"]]
    environment += [["GLOBUS_REMOTE_IO_URL", f"{jobdir}/remote_io_url"], ["HOME", "/root"]]
    cached = place.directory / f".globus/.gass_cache/local/md5/{run}a/data"
    cached.parent.mkdir(parents=True, exist_ok=True)
    cached.write_text("#!/bin/sh\n")
    told = {
        "jobdir": [str(jobdir)],
        "scratchdir": [str(place.directory)],
        "directory": [str(scratch)],
        "executable": [str(cached)],
    }
    told |= {"remoteiourl": [contact], "stdout": [str(jobdir / "out")], "stderr": [str(jobdir / "err")]}
    return told | {"environment": environment, "arguments": [f"--in={scratch}/a", "x"]} | more


def test_the_contact_and_the_owner_of_the_proxy_are_kept_with_the_request(place):
    proxy = place.directory / "proxy"
    proxy.write_bytes(PROXY)
    told = of_a_job_manager(place, 1)
    told["environment"].append(["X509_USER_PROXY", str(proxy)])
    assert "GRAM_SCRIPT_JOB_ID:1\n" in call(place, "submit", **told)
    (file,) = [*(place.state / "inbox").glob("request-*"), *(place.state / "keys").glob("request-*")][:1]
    assert json.loads(file.read_text())["sender"] == {
        "contact": "https://host:40001/16/5/",
        "dn": "/DC=org/DC=example/O=People/CN=José Ramón 17",
        "fqans": ["/dteam/prod/Role=production/Capability=NULL", "/dteam/Role=NULL/Capability=NULL"],
    }


@pytest.mark.parametrize("method", ["submit"])
def test_a_job_manager_that_was_killed_and_restarted_finds_its_grid_job(place, method):
    """By `(restart=)`, too: GRAM's own id stays, all that tells how it is reached is new."""
    for run in (1, 1, 2):
        said = call(place, method, **of_a_job_manager(place, run, restart=["https://host:40001/16/5/"] * (run > 1)))
        assert "GRAM_SCRIPT_JOB_ID:1\n" in said
    said = call(place, method, **of_a_job_manager(place, 3, arguments=["y"]))
    assert "arguments: ['y'], but grid job 1, which has the key '173.72', was submitted with" in said
    assert "GRAM_SCRIPT_ERROR:48\n" in said
    said = call(place, method, **of_a_job_manager(place, 3, maxwalltime=["5"]))
    assert "wall_seconds: 300, but grid job 1" in said


def test_what_a_description_leaves_out():
    told = description(
        HOME / "d",
        scratchdir=["/s"],
        environment=[["SCRATCH_DIRECTORY", "/s/gram_1"], ["GLOBUS_X", "1"], ["A", "2"], ["SCRATCH_DIRECTORY", "/u"]],
    )
    left_out = apart(told)
    assert left_out["environment"] == ["GLOBUS_X", "SCRATCH_DIRECTORY", "SCRATCH_DIRECTORY"]
    assert set(left_out["places"]) == {str(HOME / "d"), "/s/gram_1"}


def test_what_is_refused_does_not_take_the_place_of_what_gram_waits_for(place, monkeypatch):
    (place.state / "site.toml").write_text(f'[site]\ngram_events = "{place.directory}"\n')
    monkeypatch.setenv("JIM_STATE", str(place.state))
    file = place.directory / "description.json"
    file.write_text(json.dumps(of_a_job_manager(place, 1) | {"uniqid": ["173.72"]}))
    assert run_grid_job.submit(file) == 1
    kept = place.state / "gram/new" / inbox.request_name("173.72")
    was = kept.read_bytes()
    file.write_text(json.dumps(of_a_job_manager(place, 2, arguments=["y"]) | {"uniqid": ["173.72"]}))
    with pytest.raises(BadRequest):
        run_grid_job.submit(file)
    assert kept.read_bytes() == was
