"""Choosing who tells how jobs ended; and what an adapter declares."""

from __future__ import annotations

import pytest

from jim.adapters.base import Adapter, source
from jim.adapters.sge import Sge
from jim.adapters.slurm import Slurm
from jim.errors import BadSite
from tests.support import conformance
from tests.unit.adapters.history.chosen import by_name


@pytest.mark.parametrize("adapter", conformance.adapters(), ids=lambda adapter: adapter.name)
def test_the_default_is_asked_by_the_words_of_the_adapter(adapter):
    if names := getattr(adapter, "histories", ()):
        assert type(adapter.history) is source(names[0])
        assert adapter.commands["history"] == adapter.history.words


def test_the_name_counts_and_not_the_program():
    adapter = by_name("slurm", "squeue", ["/opt/site/sacct"])
    assert type(adapter.history) is source("squeue")
    assert adapter.history_command(["1"])[0] == "/opt/site/sacct"


def test_a_site_s_own_adapter_keeps_its_words():
    class Own(Sge):
        commands = Sge.commands | {"history": ("/opt/sge/qacct", "-x")}

    own = Own()
    own.choose_history("qacct")
    assert own.history_command(["1"])[-2:] == ["/opt/sge/qacct", "-x"]


def test_a_site_s_own_adapter_may_tell_ends_itself():
    class Own(Slurm):
        def history_command(self, ids):
            return ["own", *ids]

        def parse_history(self, answer):
            return {("1", 1): answer}

    own = Own({}, "/area")
    assert own.history_command(["1"]) == ["own", "1"]
    assert own.parse_history("said") == {("1", 1): "said"}


def test_an_unknown_source_is_refused_with_the_known_ones():
    with pytest.raises(
        BadSite, match=r"unknown source 'sact'; did you mean 'sacct'\? \(known: jobcomp, sacct, squeue\)"
    ):
        Slurm().choose_history("sact")


def test_an_adapter_with_one_source_needs_no_name():
    (local,) = (each for each in conformance.adapters() if each.name == "local")
    with pytest.raises(BadSite, match="this adapter has only one"):
        local.choose_history("local")


def test_the_contract_itself_declares_nothing():
    """A site's own adapter that lacks a command is refused as it is loaded."""
    assert {"ping_command", "find_command", "history_command", "parse_submit"} <= Adapter.__abstractmethods__
    assert Slurm.__abstractmethods__ == frozenset()
