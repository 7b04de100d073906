"""Site files and reasons of site tests."""

from __future__ import annotations

from pathlib import Path

from jim.model import Kind, Reason
from jim.site.file import Batch, Site

SITE = Site(
    Path("/state/site-test-x"),
    batch=Batch(queue="grdi", options=("--qos=x",), command_seconds=5.0, visible_seconds=90.0),
)


def change(tried, was, now):
    """Have another word in the site file."""
    file = tried.state / "site.toml"
    assert was in file.read_text()
    file.write_text(file.read_text().replace(was, now))


def said(words, kind=Kind.UNCLEAR, cause=None):
    """Give a reason with what a batch command has said."""
    return Reason(kind, {"code": 1, "said": words} | ({"cause": cause} if cause else {}), "not to be read")
