"""The request of a task is checked as its grid jobs will have it."""

from __future__ import annotations

import pytest

from jim.errors import BadRequest, JimError
from jim.site.file import Site
from jim.statusdb import task_spec
from jim.statusdb.task_spec import Release, SourceSpec, Spec, Split
from jim.tasks.file import requests

RELEASE = Release(at_once=5, first=5, probe_seconds=600, queued=5, every_seconds=60)
TRUE = {"job_type": "executable", "executable": "/bin/true"}


@pytest.fixture
def site(tmp_path):
    return Site(state=tmp_path)


def spec(tmp_path, request):
    sources = (SourceSpec("events"),)
    return Spec("t", str(tmp_path / "t.toml"), request, sources, Split(), task_spec.Test(), RELEASE, 3, "", to_test="")


def test_neither_splitter_nor_input_files_of_the_check_are_left(tmp_path, site):
    handler, found = requests.checked(spec(tmp_path, TRUE), site)
    assert (type(handler).__name__, found["executable"]) == ("Executable", "/bin/true")
    assert (found.get("splitter"), found.get("input_files")) == (None, [])


def test_the_request_of_the_task_itself_stays_as_it_was(tmp_path, site):
    request = {**TRUE, "arguments": ["a"]}
    _, found = requests.checked(spec(tmp_path, request), site)
    found["arguments"].append("b")
    assert request["arguments"] == ["a"]


def test_what_no_request_may_say_no_task_may_say(tmp_path, site):
    with pytest.raises(BadRequest, match="colour"):
        requests.checked(spec(tmp_path, {**TRUE, "colour": "red"}), site)


def test_a_file_that_is_not_there_is_refused_before_any_grid_job(tmp_path, site):
    missing = {"job_type": "executable", "executable": "/nowhere/run", "inputs": ["gone.txt"]}
    assert requests.checked(spec(tmp_path, missing), site)
    with pytest.raises(JimError, match=r"gone\.txt"):
        requests.sample(spec(tmp_path, missing), site)


def test_a_site_s_limits_count_for_each_grid_job_of_the_task(tmp_path, site):
    small = site._replace(batch=site.batch._replace(most_cores=2))
    with pytest.raises(BadRequest, match="cores"):
        requests.checked(spec(tmp_path, {**TRUE, "cores": 3}), small)
