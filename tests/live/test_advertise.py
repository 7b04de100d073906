"""The ad of a site, read by HTCondor's own parser."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from jim.admin import advertise
from jim.cli.advertise import classad
from jim.site.file import Site
from tests.support.cli_home import EVIL, EVIL_SHOWN, SetClock

pytestmark = pytest.mark.long

TEXTS = [
    "",
    "plain",
    'say "no"',
    "back\\slash",
    "ends in \\",
    'ends in "',
    '\\"',
    '\\\\"',
    "\\n",
    "$(HOME)",
    "Straße",
    "x = 1",
]
TESTED = {"at": "2026-01-31T11:00:00.000Z", "status": "warning", "line": 'JIM SITE WARNING - "odd"'}


@pytest.fixture(scope="module")
def classad2():
    """HTCondor's module; it is there for `make live` alone, and other runs look at this file, too."""
    return importlib.import_module("classad2")


def parsed(classad2, offered):
    ad = classad2.parseOne("\n".join(classad(offered)), classad2.ParserType.Old)
    return {name: ad.eval(name) for name in ad}


def test_a_whole_ad_is_what_was_meant(classad2):
    offered = advertise.offer(Site(state=Path("/nowhere")), SetClock()) | {"queues": ["short", "long"]}
    ad = parsed(classad2, offered | {"site_test": TESTED})
    assert (ad["MyType"], ad["Name"], ad["BatchSystem"]) == ("JimSite", f"here@{offered['host']}", "local")
    assert (ad["MostCores"], ad["LocalJobsRunning"], ad["At"]) == (1_000_000, 0, 1769860800)
    assert (ad["SiteTestStatus"], ad["SiteTestLine"]) == ("warning", 'JIM SITE WARNING - "odd"')
    assert classad2.ExprTree('stringListMember("long", Queues)').eval(classad2.ClassAd(ad)) is True
    assert len(ad) == len(list(classad(offered | {"site_test": TESTED})))
    assert "SiteTestStatus" not in parsed(classad2, offered)


def test_requirements_choose_sites_by_what_a_job_asks_for(classad2):
    """A job that asks for nothing may come; a drained site takes no job."""
    offered = advertise.offer(Site(state=Path("/nowhere")), SetClock())
    offered |= {"job_types": ["executable", "parametric"], "most_wall_seconds": 3600, "free_slots": 7}

    def takes(job: str, **changed: object) -> bool:
        site = classad2.parseOne("\n".join(classad(offered | changed)), classad2.ParserType.Old)
        return bool(classad2.ClassAd(f"[{job}; Requirements = true]").symmetricMatch(site))

    assert takes("a = 1")
    assert takes('JIM_job_type = "parametric"; JIM_wall_seconds = 3600')
    assert not takes('JIM_job_type = "other"')
    assert not takes("JIM_wall_seconds = 3601")
    assert not takes("a = 1", drained="since today")


@pytest.mark.parametrize(
    ("text", "read"), [*((each, each) for each in TEXTS), ("two\nlines", "two\\nlines"), (EVIL, EVIL_SHOWN)]
)
def test_a_text_is_read_as_it_was_written(classad2, text, read):
    ad = parsed(classad2, {"site": "s", "host": "h", "trouble": text, "unread": 1})
    assert (ad["Trouble"], ad["Unread"]) == (read, 1)
