"""Payloads of a running site test."""

from __future__ import annotations

from pathlib import Path

from tests.faults.real import until


def ledger(tried):
    return list(tried.state.glob("site-test-*/work/ledger/*"))


def alive(entry):
    """Tell whether a payload lives: its shell's pid is the last word of its file in the ledger."""
    return Path(f"/proc/{entry.name.rpartition('.')[2]}").exists()


def running(tried):
    """Start a level whose time limit is a minute, and give its payloads once they run."""
    process = tried.start("roundtrip")

    def longest():  # the others end by themselves
        return [each for each in ledger(tried) if each.name.startswith("5.") and alive(each)]

    until(longest, "payloads")
    return process, longest()
