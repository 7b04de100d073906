"""What the wrapper gives to a payload, under every shell that is here."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.wrapper.worker import ABC, Site, pack, sh, until


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
    wait = 'until read -r now <"$X509_USER_PROXY" && [ "$now" = two ]; do /bin/sleep 0.02; done'
    site.jobs(*sh(f'echo "$X509_USER_PROXY" >name; cat "$X509_USER_PROXY"; {wait}; echo seen'))
    running = site.start()
    until(lambda: (site.here / "run.1" / "name").exists() and site.file("run.1/stdout"))
    hand(site, "proxy", "two\n")
    assert running.wait(30) == 0
    assert site.file("run.1/stdout") == "one\nseen\n"
    assert site.file("run.1/name") == f"{site.here}/proxy.1\n"
    assert not [name for name in names_in(site.here) if "proxy" in name]


def test_a_proxy_that_is_handed_on_no_more_stays_with_what_runs(site: Site) -> None:
    naps = site.root / "naps"
    naps.touch()
    site.fake("sleep", f"echo >>{naps}; exec $real 0.05")
    hand(site, "proxy", "one\n")
    site.jobs(*sh('until [ -e "$1" ]; do /bin/sleep 0.02; done; cat "$X509_USER_PROXY"'), "sh", str(site.root / "gate"))
    running = site.start()
    until(lambda: naps.stat().st_size)
    (site.here.parent / "proxy").unlink()
    before = naps.stat().st_size
    until(lambda: naps.stat().st_size > before + 2)
    (site.root / "gate").touch()
    assert running.wait(30) == 0
    assert site.file("run.1/stdout") == "one\n"
    assert site.file("log.1") == ""


def test_without_a_proxy_there_is_none(site: Site) -> None:
    site.jobs(*sh('echo "${X509_USER_PROXY-none}"'))
    assert site.run() == 0
    assert site.file("run.1/stdout") == "none\n"


# What a site sets


SEEN = "env | sed 's/=.*//' | grep -v '^_$\\|^PWD$\\|^OLDPWD$\\|^SHLVL$\\|^JIM_' | sort | tr '\\n' ' '"


def test_only_the_variables_that_a_site_allows(site: Site) -> None:
    hand(site, "proxy", "one\n")
    facts = ("keep HOME", "keep LC_*", "keep T*", "env A=1 2", "env n=5")
    batch = {
        "TMPDIR": "/x",
        "SECRET": "a\nTERM=b",
        "n": "7",
        "environment": "gone",
        "kept": "K",
        "BASH_FUNC_m%%": "() { :; }",
    }
    site.jobs(*sh(f'{SEEN}; printf "%s|%s|%s|%s" "$A" "$n" "$JIM_LOCAL_JOB" "$1"'), "sh", "a  b", facts=facts)
    assert site.run(LC_ALL="C", **batch) == 0
    assert site.file("run.1/stdout") == "A HOME LC_ALL PATH TMPDIR X509_USER_PROXY n 1 2|5|0|a  b"


def test_a_program_with_an_odd_name(site: Site) -> None:
    program = site.root / "A=b c"
    program.write_text("#!/bin/sh\necho odd\n")
    program.chmod(0o755)
    site.jobs(str(program), facts=("keep HOME",))
    assert site.run() == 0
    assert site.file("run.1/stdout") == "odd\n"


def test_a_set_up_is_read_in(site: Site) -> None:
    set_up = site.root / "set up.sh"
    set_up.write_text("export MODULE='root 6' n=clobbered setup=x\nset -- other words\nindex=9\n")
    site.jobs(*sh('echo "$MODULE|$1|$PWD"'), "sh", "own", facts=(f"setup {set_up}", "env setup=/evil"))
    assert site.run() == 0
    assert site.file("run.1/stdout") == f"root 6|own|{site.here}/run.1\n"
    assert (site.record()["index"], site.record()["n"]) == ("1", "0")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (("setup /no/such/file",), r"no set-up: /no/such/file cannot be read on \S+"),
        (("image /no/such.sif", "container /bin/echo"), r"no image: /no/such\.sif is not there on \S+"),
    ],
)
def test_what_a_host_lacks_is_no_fault_of_the_payload(site: Site, facts: tuple[str, ...], reason: str) -> None:
    site.jobs("/bin/true", facts=facts)
    assert site.run() == 1
    assert site.record()["code"] == "72"
    assert re.fullmatch(reason, site.record()["reason"])
    assert site.file("run.1/stdout") == ""


def test_the_payload_runs_in_the_site_s_container(site: Site) -> None:
    """Stood in for by a program that notes its words and runs what comes after the image."""
    site.fake("apptainer", 'printf "%s\\n" "$@"; while [ "$1" != docker://img ]; do shift; done; shift; exec "$@"')
    site.jobs(*sh('echo "in $1"'), "sh", "a  b", facts=("container apptainer", "container exec", "image docker://img"))
    assert site.run() == 0
    run = f"{site.here}/run.1"
    words = ["exec", "--bind", f"{site.root}/work", "--bind", run, "--pwd", run, "docker://img", "/bin/sh", "-c"]
    lines = site.file("run.1/stdout").splitlines()
    assert (lines[:10], lines[-1]) == (words, "in a  b")


@pytest.mark.parametrize("facts", [(), ("container apptainer", "image docker://img")], ids=["plain", "in a container"])
def test_the_tools_of_a_site_are_on_the_path(site: Site, facts: tuple[str, ...]) -> None:
    """Also in a container, which does not take over the PATH of the host."""
    site.fake("apptainer", 'while [ "$1" != docker://img ]; do shift; done; shift; PATH=/usr/bin:/bin; exec "$@"')
    place = pack(site)
    (place / "unpacked.x" / "tools").mkdir(parents=True)
    (place / "unpacked.x" / "tools" / "fetch").write_text('#!/bin/sh\necho "fetched $1"\n')
    (place / "unpacked.x" / "tools" / "fetch").chmod(0o500)
    (place / "ready").write_text("unpacked.x\n")
    site.jobs("fetch", "a  b", facts=facts)
    assert site.run() == 0
    assert site.file("run.1/stdout") == "fetched a  b\n"


# Scratch on the worker's own disk


def test_a_payload_works_on_the_workers_own_disk(site: Site) -> None:
    pack_members(site, ("card.txt", b"abc"))
    disk = site.root / "my disk"
    disk.mkdir()
    script = "pwd; cat card.txt input/card.txt; mkdir -p d/e; printf abc >d/e/x.dat; printf abc >'a  b.dat'; : >other"
    facts = ("scratch $DISK", "in card.txt", "out *.dat", "out a*", "out d", "out none.txt")
    site.jobs(*sh(script), facts=facts)
    assert site.run(DISK=str(disk)) == 0
    pwd, content = site.file("run.1/stdout").split("\n")
    assert Path(pwd).parent == disk
    assert content == "abcabc"
    found = {line for line in site.manifest() if not line.endswith("stdout")}
    assert found == {f"file 3 {ABC} a  b.dat", f"file 3 {ABC} d/e/x.dat", "missing none.txt"}
    assert (site.file("run.1/d/e/x.dat"), site.file("run.1/a  b.dat")) == ("abc", "abc")
    assert names_in(site.here / "run.1") == {"stdout", "stderr", "d", "a  b.dat"}
    assert names_in(disk) == set()


def test_an_output_of_two_patterns_is_brought_back_once(site: Site) -> None:
    site.jobs(*sh("printf abc >x.dat"), facts=(f"scratch {site.root}", "out *.dat", "out x.dat"))
    assert site.run() == 0
    assert site.manifest() == [f"file 3 {ABC} x.dat"]


def test_what_is_wrong_on_the_workers_own_disk_is_refused_as_ever(site: Site) -> None:
    script = "ln -s /etc/passwd link.dat; mkfifo pipe.dat; printf abc >stdout; chmod 500 .; mkdir -p x; chmod 0 x"
    site.jobs(*sh(script), facts=(f"scratch {site.root}", "out *", "limit 2"))
    before = names_in(site.root)
    site.run()
    lines = {line for line in site.manifest() if line.startswith("refused")}
    assert {"refused link link.dat", "refused special pipe.dat", "refused name stdout"} <= lines
    assert names_in(site.here / "run.1") == {"stdout", "stderr"}
    assert names_in(site.root) == before


def test_no_room_to_bring_an_output_back(site: Site) -> None:
    site.no_naps()
    site.fake("cp", "exit 1")
    site.jobs(*sh("printf abc >x.dat"), facts=(f"scratch {site.root}", "out *"))
    assert site.run() == 72
    assert site.naps() == ["4", "15", "30"]
    assert "cannot bring x.dat back (exit 72)" in site.file("log.1")
    assert not (site.here / "exit.1").exists()
    assert not [name for name in names_in(site.root) if name.startswith("jim-")]


@pytest.mark.parametrize("scratch", ["/no/such/disk", "$NOT_SET"])
def test_a_host_without_scratch(site: Site, scratch: str) -> None:
    site.jobs(*sh("echo ran"), facts=(f"scratch {scratch}",))
    assert site.run() == 1
    record = site.record()
    assert record["code"] == "72"
    assert re.fullmatch(rf"no scratch directory can be made in {re.escape(scratch)} on \S+", record["reason"])
    assert site.file("run.1/stdout") == ""


# Standard input, and a directory that the request names


def test_a_payload_reads_what_was_sent_as_its_standard_input(site: Site) -> None:
    pack_members(site, ("stdin", b"abc"))
    site.jobs(*sh("cat; pwd"), facts=("stdin stdin",))
    site.jobs(*sh("cat"), index=2)
    assert (site.run(), site.run(2)) == (0, 0)
    assert site.file("run.1/stdout") == f"abc{site.here}/run.1\n"
    assert site.file("run.2/stdout") == "abc"


def test_a_set_up_takes_nothing_of_the_standard_input(site: Site) -> None:
    pack_members(site, ("stdin", b"abc"))
    setup = site.root / "setup"
    setup.write_text("cat\n")
    site.jobs(*sh("cat"), facts=("stdin stdin", f"setup {setup}"))
    assert site.run() == 0
    assert site.file("run.1/stdout") == "abc"


def test_a_payload_works_where_the_request_says(site: Site) -> None:
    pack_members(site, ("card.txt", b"abc"))
    place = site.root / "my place"
    place.mkdir()
    (place / "there").write_text("abc")
    (place / "card.txt").write_text("another")
    script = "pwd; cat card.txt there; printf abc >x.dat; : >other; echo err >&2"
    site.jobs(*sh(script), facts=(f"directory {place}", f"scratch {site.root}", "in card.txt", "out *.dat"))
    assert site.run() == 0
    assert site.file("run.1/stdout") == f"{place}\nanotherabc"
    assert f"file 3 {ABC} x.dat" in site.manifest()
    assert names_in(site.here / "run.1") == {"stdout", "stderr", "x.dat"}
    assert names_in(place) == {"there", "card.txt", "x.dat", "other"}


def test_a_payload_may_take_its_directory_away(site: Site) -> None:
    place = site.root / "brief"
    place.mkdir()
    site.jobs(*sh('rmdir "$PWD"'), facts=(f"directory {place}",))
    assert site.run() == 0
    assert site.manifest() == []


def test_a_host_without_the_directory_of_the_request(site: Site) -> None:
    site.jobs(*sh("echo ran"), facts=("directory /no/such/place",))
    assert site.run() == 1
    record = site.record()
    assert record["code"] == "72"
    assert re.fullmatch(r"no directory: /no/such/place cannot be entered on \S+", record["reason"])
    assert site.file("run.1/stdout") == ""


def test_a_failed_payload_leaves_what_others_do_in_its_directory(site: Site) -> None:
    """Somebody else's process works in the same directory, which is no sign that it belongs to the attempt."""
    place = site.root / "shared"
    place.mkdir()
    other = subprocess.Popen(["/bin/sleep", "60"], cwd=place, start_new_session=True)
    site.jobs(*sh("exit 3"), facts=(f"directory {place}",))
    assert site.run() == 1
    assert other.poll() is None
    other.kill()
    other.wait(10)
