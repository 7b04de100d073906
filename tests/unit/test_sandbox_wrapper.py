"""What the wrapper gives to a payload, under every shell that is here."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from tests.unit.test_local_job import ABC, Site, applets, pack, sh, site, until

__all__ = ["applets", "site"]  # fixtures


def names_in(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


def pack_members(site: Site, *entries: tuple[str, str | bytes]) -> Path:
    """Put a package of files, and of links where the content is a text, where a grid job finds it."""
    place = pack(site)
    with tarfile.open(place / "package.tar", "w") as tar:
        for name, content in entries:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
            member.size = 0 if isinstance(content, str) else len(content)
            tar.addfile(member, io.BytesIO(content if isinstance(content, bytes) else b""))
    return place


def test_what_is_sent_along_lies_in_the_payloads_directory(site: Site) -> None:
    pack_members(site, ("card.txt", b"abc"), ("-n", b"n"), ("my code/run", b"abc"), ("other", b""))
    facts = ("in card.txt", "in -n", "in my code", "out *")
    site.jobs(*sh("cat ./card.txt ./-n 'my code/run'; ls -A; rm ./-n; printf abc >./-n"), facts=facts)
    assert site.run() == 0
    assert site.file("run.1/stdout").split("\n", 1)[0] == "abcnabc-n"
    assert set(site.file("run.1/stdout")[7:].split("\n")[:-1]) == {
        *("-n", "card.txt", "input", "my code", "stderr", "stdout")
    }
    # Not among the outputs, unless the payload has put something else in its place.
    assert [line for line in site.manifest() if "std" not in line] == [f"file 3 {ABC} -n"]


def test_a_hostile_package_leads_nowhere(site: Site) -> None:
    """JIM packs no such thing; whoever does must not write outside."""
    before = names_in(site.root)
    pack_members(
        site, ("../../../../evil", b"x"), ("out", "../../../.."), ("out/evil", b"x"), (f"{site.root}/evil", b"x")
    )
    site.jobs("/bin/true")
    assert site.run() in (0, 72)
    assert names_in(site.root) - before <= {"data.txt"}
    assert not list(site.root.rglob("evil")) or all("unpacked." in str(each) for each in site.root.rglob("evil"))


CREDENTIAL = 'cat "$X509_USER_PROXY"; cat "$BEARER_TOKEN_FILE"; stat -c %a "$X509_USER_PROXY"'


def hand(site: Site, kind: str, content: str) -> None:
    """Put a credential where the keeper does, as it does."""
    new = site.here.parent / f".{kind}.new"
    new.write_text(content)
    new.chmod(0o600)
    new.rename(site.here.parent / kind)


def test_a_proxy_and_a_token(site: Site) -> None:
    hand(site, "proxy", "one\n")
    hand(site, "token", "two\n")
    site.jobs(*sh(CREDENTIAL), facts=("out *",))
    assert site.run(X509_USER_PROXY="/of/the/batch/job") == 0
    assert site.file("run.1/stdout") == "one\ntwo\n600\n"
    assert [line.split()[-1] for line in site.manifest()] == ["stdout"]
    assert not [name for name in names_in(site.here) if "proxy" in name or "token" in name]


def test_a_proxy_renewed_while_the_payload_runs(site: Site) -> None:
    site.fake("sleep", "exec $real 0.05")
    hand(site, "proxy", "one\n")
    wait = 'until [ "$(cat "$X509_USER_PROXY")" = two ]; do :; done'
    site.jobs(*sh(f'echo "$X509_USER_PROXY" >name; cat "$X509_USER_PROXY"; {wait}; echo seen'))
    running = site.start()
    until(lambda: (site.here / "run.1" / "name").exists() and site.file("run.1/stdout"))
    hand(site, "proxy", "two\n")
    assert running.wait(30) == 0
    assert site.file("run.1/stdout") == "one\nseen\n"
    assert site.file("run.1/name") == f"{site.here}/proxy.1\n"
    assert not [name for name in names_in(site.here) if "proxy" in name]


def test_without_a_proxy_there_is_none(site: Site) -> None:
    site.jobs(*sh('echo "${X509_USER_PROXY-none}"'))
    assert site.run() == 0
    assert site.file("run.1/stdout") == "none\n"
