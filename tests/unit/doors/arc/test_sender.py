"""Who sent a job of A-REX: its own record says so, and no proxy that the sender made."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jim import run_grid_job
from jim.doors import inbox
from jim.doors.arc import request
from jim.jobs import sender_of
from jim.site import bans
from jim.site.file import Site, make_state
from tests.support.certificates import PROXY

ID, OWNER, ANN = "VaONDmKqjR", "/DC=org/DC=example/O=People/CN=José Ramón 17", "/DC=org/CN=Ann"


class Arex:
    """A control directory, and the state directory of an account."""

    def __init__(self, place: Path) -> None:
        self.control, self.session = place / "control", place / "session"
        self.control.mkdir()
        self.session.mkdir()
        self.site = Site(state=place / "state")
        make_state(self.site)

    def job(self, owner: str | None, *, proxy: bytes = b"", id_: str = ID) -> None:
        """Write what A-REX writes about a job; without an owner, nothing of its own."""
        if owner is not None:
            xml = f"<ComputingActivity>\n  <Name>a job</Name>\n  <Owner>{owner}</Owner>\n</ComputingActivity>\n"
            (self.control / f"job.{id_}.xml").write_text(xml)
        if proxy:
            (self.control / f"job.{id_}.proxy").write_bytes(proxy)
        (self.control / f"job.{id_}.grami").write_text(
            f"joboption_directory='{self.session}'\njoboption_controldir='{self.control}'\n"
            f"joboption_arg_0='/bin/true'\njoboption_gridid='{id_}'\njoboption_queue='jim'\n"
        )

    def submit(self, id_: str = ID) -> int:
        return run_grid_job.main(["--door", "arc", "submit", str(self.control / f"job.{id_}.grami")])

    def sender(self, id_: str = ID) -> dict[str, object]:
        assert self.submit(id_) == 0
        content = json.loads((self.site.state / "inbox" / inbox.request_name(id_)).read_text())
        return content.get("sender", {})


@pytest.fixture
def arex(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(run_grid_job, "wake", lambda _: None)
    monkeypatch.setattr(request, "A_REX", (os.getuid(),))  # in a test nobody is root
    return Arex(tmp_path)


def test_the_gatekeeper_names_the_sender_whatever_the_proxy_claims(arex):
    arex.job(ANN, proxy=PROXY)
    assert arex.sender() == {"dn": ANN, "fqans": [], "known": True}


def test_the_groups_of_the_senders_own_proxy_are_kept(arex):
    arex.job(OWNER, proxy=PROXY)
    sender = sender_of(arex.sender())
    assert (sender.dn, sender.known, sender.vo) == (OWNER, True, "dteam")


def test_a_name_without_a_proxy_is_known_too(arex):
    arex.job("/CN=A &lt;b&gt; &amp;amp; &quot;c&quot;")
    assert arex.sender() == {"dn": '/CN=A <b> &amp; "c"', "fqans": [], "known": True}


SPOILT = {
    "an account may have written it": lambda file, patched: patched.setattr(request, "A_REX", (os.getuid() + 1,)),
    "others may write it": lambda file, patched: file.chmod(0o666),
    "it is a link": lambda file, patched: file.symlink_to(file.rename(file.with_name("elsewhere"))),
    "it is a pipe": lambda file, patched: (file.unlink(), os.mkfifo(file)),
    "there is none": lambda file, patched: file.unlink(),
    "it names nobody": lambda file, patched: file.write_text("<ComputingActivity/>"),
    "it is empty": lambda file, patched: file.write_text(""),
    "the name has a control character": lambda file, patched: file.write_text("<Owner>/CN=A\x1b[2J</Owner>"),
    "the name has no end": lambda file, patched: file.write_text(f"<Owner>/CN={'a' * 2000}</Owner>"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_without_a_record_of_a_rex_the_name_is_what_the_proxy_claims(arex, monkeypatch, how):
    arex.job(ANN, proxy=PROXY)
    SPOILT[how](arex.control / f"job.{ID}.xml", monkeypatch)
    sender = sender_of(arex.sender())
    assert (sender.dn, sender.known) == (OWNER, False)


def test_a_text_of_the_user_names_nobody(arex):
    """A-REX escapes what users write, such as the name of a job."""
    arex.job("/CN=Eve")
    file = arex.control / f"job.{ID}.xml"
    file.write_text(file.read_text().replace("a job", "&lt;Owner&gt;/CN=Ann&lt;/Owner&gt;"))
    assert arex.sender()["dn"] == "/CN=Eve"


def test_whom_the_site_has_banned_comes_in_with_no_proxy_of_anybody_else(arex, capfdbinary):
    arex.job(ANN, proxy=PROXY)
    bans.ban(arex.site, [ANN])
    assert arex.submit() != 0
    assert f"no new grid jobs of {ANN}" in capfdbinary.readouterr().err.decode()


def test_no_proxy_that_claims_somebody_uses_up_the_limit_of_that_one(arex):
    (arex.site.state / "site.toml").write_text("[limits]\ngrid_jobs_per_dn = 1\n")
    arex.job(None, proxy=PROXY, id_="Forged")
    assert sender_of(arex.sender("Forged")).dn == OWNER
    arex.job(OWNER, proxy=PROXY)
    assert arex.submit() == 0
    arex.job(OWNER, proxy=PROXY, id_="Second")
    assert arex.submit("Second") != 0
