"""The values that the store keeps."""

from __future__ import annotations

import pytest

from jim.jobs import HELD, NOT_SHOWN, public
from jim.model import State


@pytest.mark.parametrize(
    ("request_", "test"),
    [
        ({"job_type": "executable", "test": "yes"}, True),
        ({"job_type": "executable", "test": None}, False),
        # The words are there, but not as the attribute.
        ({"job_type": "executable", "environment": {"A": '"test": "yes"'}}, False),
    ],
)
def test_a_grid_job_is_a_test_by_its_attribute_alone(home, request_, test):
    home.add(**request_)
    assert home.store.grid_job(1).is_test is test


def test_a_local_job_that_jim_holds_waits_without_a_due_time(home):
    home.add()
    waiting = home.store.local_job(1, 0)
    assert not waiting.held
    assert waiting._replace(due=HELD).held
    assert not waiting._replace(due=HELD, state=State.SUBMITTED).held


@pytest.mark.parametrize(
    "name",
    [
        *("GLOBUS_GRAM_JOB_CONTACT", "X509_USER_DN", "BEARER_TOKEN", "VOMS_FQANS", "OSG_VO", "db_password", "USER_DN"),
        *("MY_SECRET", "Credential", "http_proxy", "GRID_GLOBAL_JOBURL"),
    ],
)
def test_of_a_private_variable_only_the_name_is_shown(name):
    assert public({name: "x", "deep": {name: "x"}}) == {name: NOT_SHOWN, "deep": {name: NOT_SHOWN}}
    assert public({name: ""}) == {name: ""}


@pytest.mark.parametrize("name", ["PATH", "VOLUME", "DNA", "OUTPUT", "N_EVENTS", "LD_LIBRARY_PATH"])
def test_other_variables_are_shown(name):
    assert public({name: "x"}) == {name: "x"}


def test_an_attribute_that_is_no_table_is_shown(home):
    home.add(proxy="/tmp/x509up_u1", environment={"X509_USER_PROXY": "/tmp/p"})
    shown = home.store.grid_job(1).public_request
    assert (shown["proxy"], shown["environment"]) == ("/tmp/x509up_u1", {"X509_USER_PROXY": NOT_SHOWN})
