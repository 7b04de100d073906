"""Input packages: what may be sent along, that equal ones are one, and that none goes that is needed."""

from __future__ import annotations

import os
import shutil
import socket
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from jim import request
from jim.doors import inbox
from jim.doors.intake import prepare
from jim.errors import BadRequest
from jim.files import passes
from jim.handlers.base import Attributes, Handler
from jim.jobs import Sender
from jim.site.file import Site, make_state
from jim.site.sections import wrong
from jim.site.settings import Keep, Payload, settings
from jim.workdir import packages
from jim.workdir.packages import members, share, sweep
from jim.workdir.submission import prepare_grid_job
from tests.support.stand_ins import World

MOST = 10**9


def tree(root: Path) -> Path:
    """Make a directory as a physicist has it: a program, a library with its link, a card."""
    (root / "code" / "lib").mkdir(parents=True)
    (root / "code" / "run.sh").write_text("#!/bin/sh\n")
    (root / "code" / "run.sh").chmod(0o755)
    (root / "code" / "lib" / "libx.so.1").write_bytes(b"\x7fELF")
    (root / "code" / "lib" / "libx.so").symlink_to("libx.so.1")
    (root / "code" / "empty").mkdir()
    return root / "code"


def grid(work: Path, number: int) -> Path:
    place = work / str(number)
    place.mkdir(parents=True)
    return place


def packed(work: Path) -> list[Path]:
    return sorted((work / "packages").glob("[0-9a-f]*/package.tar"))


def test_what_is_in_a_package(tmp_path: Path) -> None:
    code, place = tree(tmp_path), grid(tmp_path / "work", 1)
    (tmp_path / "card.txt").write_text("mass 80\n")
    share(tmp_path / "work", place, members([f"{code}/", str(tmp_path / "card.txt")], MOST))
    [package] = packed(tmp_path / "work")
    with tarfile.open(package) as tar:
        found = [(each.name, oct(each.mode), each.size, each.linkname, each.mtime, each.uid) for each in tar]
    assert found == [
        ("card.txt", "0o400", 8, "", 0, 0),
        ("code", "0o700", 0, "", 0, 0),
        ("code/empty", "0o700", 0, "", 0, 0),
        ("code/lib", "0o700", 0, "", 0, 0),
        ("code/lib/libx.so", "0o700", 0, "libx.so.1", 0, 0),
        ("code/lib/libx.so.1", "0o400", 4, "", 0, 0),
        ("code/run.sh", "0o500", 10, "", 0, 0),
    ]
    assert (place / "package").resolve() == package.parent


def test_the_same_input_is_sent_once_for_three_grid_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, written = tmp_path / "work", []
    really = packages._pack

    def pack(ordered, file):
        written.append(file is not None)
        return really(ordered, file)

    monkeypatch.setattr(packages, "_pack", pack)
    for number, stamp in ((1, 1), (2, 10**9), (3, 5)):
        home = tmp_path / f"home{number}"
        code = tree(home)
        os.utime(code / "run.sh", (stamp, stamp))  # another copy, of another day
        share(work, grid(work, number), members([str(code)], MOST))
    [package] = packed(work)
    assert package.stat().st_nlink == 4
    assert written == [False, True, False, False]  # the last two were looked at, and not sent
    share(work, work / "3", members([str(code)], MOST))  # done again after a kill
    assert package.stat().st_nlink == 4


def test_grid_jobs_that_come_together_send_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, sent, together = tmp_path / "work", [], threading.Barrier(3)
    really = packages._send

    def send(place, ordered):
        sent.append(place)
        return really(place, ordered)

    monkeypatch.setattr(packages, "_send", send)
    found = members([str(tree(tmp_path))], MOST)

    def one(number: int) -> None:
        place = grid(work, number)
        together.wait(10)
        share(work, place, found)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(one, (1, 2, 3)))
    assert (len(sent), packed(work)[0].stat().st_nlink) == (1, 4)


def test_a_name_of_any_length_and_letters(tmp_path: Path) -> None:
    work = tmp_path / "work"
    deep = tmp_path / ("d" * 90) / ("e" * 90)
    deep.mkdir(parents=True)
    (deep / "é \n$(id)").write_text("x")
    os.close(os.open(os.fsencode(deep) + b"/\xff", os.O_CREAT | os.O_WRONLY))
    share(work, grid(work, 1), members([str(deep.parent)], MOST))
    with tarfile.open(packed(work)[0], errors="surrogateescape") as tar:
        names = [os.fsencode(each.name) for each in tar][2:]
    start = b"d" * 90 + b"/" + b"e" * 90 + b"/"
    assert names == [start + "é \n$(id)".encode(), start + b"\xff"]


def test_a_package_goes_with_the_last_that_needs_it(tmp_path: Path) -> None:
    work, code = tmp_path / "work", tree(tmp_path)
    for number in (1, 2):
        share(work, grid(work, number), members([str(code)], MOST))
    [package] = packed(work)
    (package.parent / "unpacked.x").mkdir()
    (work / "1" / "package.tar").unlink()
    assert sweep(work) == 0
    assert package.exists()
    (work / "2" / "package.tar").unlink()
    assert sweep(work) == 1
    assert list((work / "packages").iterdir()) == []
    share(work, work / "2", members([str(code)], MOST))  # and it is there again for who comes after
    assert packed(work) == [package]


def test_a_package_that_is_swept_before_it_is_held_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keeper sweeps when it starts, and sends what waits at the same time."""
    work, really, swept = tmp_path / "work", packages._send, []

    def send(place, ordered):
        digest = really(place, ordered)
        if len(swept) < most:
            swept.append(sweep(work))
        return digest

    monkeypatch.setattr(packages, "_send", send)
    most, found = 1, members([str(tree(tmp_path))], MOST)
    share(work, grid(work, 1), found)
    assert swept == [1]
    assert packed(work)[0].stat().st_nlink == 2
    assert (work / "1/package").resolve() == packed(work)[0].parent
    (work / "1/package.tar").unlink()
    sweep(work)
    most = 99
    with pytest.raises(OSError, match="vanishes again and again") as missing:
        share(work, grid(work, 2), found)
    assert passes(missing.value)  # so it is tried again, and no local job runs without its files


def test_what_a_kill_leaves_half_done(tmp_path: Path) -> None:
    """Half packed: swept when old. Packed and never held, or half removed: swept at once."""
    work = tmp_path / "work"
    (work / "packages").mkdir(parents=True)
    assert sweep(tmp_path / "nothing") == 0
    for name, age in ((".draft-young", 0), (".draft-old", 90_000), (".removed-abc", 0), ("abc", 0), ("def", 0)):
        (work / "packages" / name).mkdir()
        then = (work / "packages" / name).stat().st_mtime - age
        os.utime(work / "packages" / name, (then, then))
    (work / "packages" / "def" / "package.tar").write_bytes(b"")
    assert sweep(work) == 2
    assert [each.name for each in (work / "packages").iterdir()] == [".draft-young"]


def test_a_failure_while_packing_leaves_nothing(tmp_path: Path) -> None:
    code, work = tree(tmp_path), tmp_path / "work"
    found = members([str(code)], MOST)
    (code / "run.sh").unlink()
    with pytest.raises(FileNotFoundError):
        share(work, grid(work, 1), found)
    assert not (work / "packages").exists()


def bad(root: Path, what: str) -> Path:
    """Make something that must not be sent, and give the input that holds it."""
    code = tree(root)
    thing = code / "thing"
    if what == "pipe":
        os.mkfifo(thing)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(thing))
    elif what == "bomb":
        with thing.open("wb") as file:
            file.truncate(10**13)
    else:
        thing.symlink_to(what)
    return code


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("pipe", "{}/thing is a pipe; only files and directories can be sent"),
        ("socket", "{}/thing is a socket; only files and directories can be sent"),
        ("bomb", "with {}/thing they have 10,000,000,000,014 bytes, more than the 1,000,000,000"),
        ("/etc/passwd", "{}/thing is a link that leads out of {} (/etc/passwd)"),
        ("../../code/run.sh", "{}/thing is a link that leads "),
        ("lib/../../outside", "{}/thing is a link that leads out of {} (lib/../../outside)"),
        ("nowhere", "{}/thing is a link that leads nowhere (nowhere)"),
        ("thing", "{}/thing is a link that leads nowhere (thing)"),
    ],
)
def test_what_must_not_be_sent(tmp_path: Path, what: str, reason: str) -> None:
    (tmp_path / "outside").write_text("secret")
    code = bad(tmp_path, what)
    with pytest.raises(BadRequest) as caught:
        members([str(code)], MOST)
    assert str(caught.value).startswith("inputs: " + reason.replace("{}", str(code)))


def test_a_link_by_a_longer_way_out(tmp_path: Path) -> None:
    """By its words alone it seems to stay inside."""
    code = tree(tmp_path)
    (tmp_path / "x").write_text("secret")
    (code / "a" / "b").mkdir(parents=True)
    (code / "a" / "b" / "up").symlink_to("../..")
    (code / "a" / "b" / "out").symlink_to("up/../x")
    with pytest.raises(BadRequest, match="leads out of"):
        members([str(code)], MOST)


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        (["/nowhere/at/all"], "cannot read /nowhere/at/all: No such file"),
        (["/dev/null"], "/dev/null is a device"),
        (["/"], "'/': expected the path of a file or directory"),
        (["relative"], "'relative': expected the path"),
        (["/etc/passwd", "/usr/../etc/passwd"], "/etc/passwd and /usr/../etc/passwd have the same name"),
        (["/a/tools"], "/a/tools: a local job uses the name 'tools'"),
    ],
)
def test_inputs_that_cannot_be(inputs: list[str], reason: str) -> None:
    with pytest.raises(BadRequest) as caught:
        members(inputs, MOST)
    assert reason in str(caught.value)


@pytest.mark.parametrize("which", ["run.sh", "lib"])
def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str) -> None:
    code, really = tree(tmp_path), os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != which and really(path, mode))
    with pytest.raises(BadRequest, match=f"inputs: cannot read {code}/{which}: Permission denied"):
        members([str(code)], MOST)


def test_more_files_than_allowed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "MOST_FILES", 3)
    with pytest.raises(BadRequest, match="more than 3 files; pack them"):
        members([str(tree(tmp_path))], MOST)


def test_a_link_that_is_named_is_what_it_leads_to(tmp_path: Path) -> None:
    code = tree(tmp_path)
    (tmp_path / "latest").symlink_to("code/run.sh")
    [one] = members([str(tmp_path / "latest")], MOST)
    assert (one.name, one.source) == ("latest", code / "run.sh")


def test_the_door_looks_at_what_is_sent_along(tmp_path: Path) -> None:
    """From where the request file is; what cannot be sent is refused before anything is stored."""
    site, file = Site(state=tmp_path / "state"), tmp_path / "request.jdf"
    file.write_text("job_type = executable\nexecutable = /bin/true\ninputs = code card.txt\n")
    tree(tmp_path)
    with pytest.raises(BadRequest, match=f"inputs: cannot read {tmp_path}/card.txt: No such file"):
        prepare(file, site)
    file.write_text('job_type = executable\nexecutable = /bin/true\ninputs = code ""\n')
    with pytest.raises(BadRequest, match="inputs: '': expected the path"):  # not all that is beside the request
        prepare(file, site)
    file.write_text("job_type = executable\nexecutable = /bin/true\ninputs = code card.txt\n")
    (tmp_path / "card.txt").write_text("mass 80\n")
    _, checked, _ = prepare(file, site)
    assert checked["inputs"] == [str(tmp_path / "code"), str(tmp_path / "card.txt")]


def test_a_job_types_own_file_and_one_that_is_sent_along(tmp_path: Path) -> None:
    class Own(Handler):
        def prepare_work_area(self, request: Attributes, area: Path) -> None:
            (area / "card.txt").write_text("mass 90\n")

    site = Site(state=tmp_path / "state")
    make_state(site)
    (tmp_path / "card.txt").write_text("mass 80\n")
    request = {"job_type": "own", "inputs": [str(tree(tmp_path))]}
    for name in ("1", "2"):
        (site.work / name).mkdir()
    prepare_grid_job(site, site.work / "1", Own(), request)
    with tarfile.open(packed(site.work)[0]) as tar:
        assert {"card.txt", "code/run.sh"} < set(tar.getnames())
    prepare_grid_job(site, site.work / "1", Own(), {**request, "inputs": []})
    assert sweep(site.work) == 1
    with pytest.raises(BadRequest, match=r"inputs: the job type own has a file card.txt of its own"):
        prepare_grid_job(site, site.work / "2", Own(), {**request, "inputs": [str(tmp_path / "card.txt")]})


def test_what_a_site_gives_to_every_payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "fetch").write_text("#!/bin/sh\n")
    payload = Payload(("HOME", "LC_*"), "$TMPDIR", str(tools), "/setup.sh", "/img.sif", ("apptainer", "exec"))
    world = World(tmp_path, monkeypatch, payload=payload)
    grid = world.submit(1, inputs=[str(tree(tmp_path))])
    world.until(lambda: world.batch.tasks)
    lines = (world.site.work / str(grid) / "s1" / "jobs").read_text().splitlines()
    assert [line for line in lines if line.split()[1] in ("keep", "scratch", "setup", "image", "container", "in")] == [
        "* keep HOME",
        "* keep LC_*",
        "* container apptainer",
        "* container exec",
        "* scratch $TMPDIR",
        "* setup /setup.sh",
        "* image /img.sif",
        "* in code",
    ]
    with tarfile.open(packed(world.site.work)[0]) as tar:
        assert {"tools/fetch", "code/run.sh"} < set(tar.getnames())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("environment", [each]) for each in ("A=b", "", "-u", "A B", "é", "A\nB")),
        *(("scratch", each) for each in ("relative", "$lower", "$A/b", "/a\nb", "$")),
        ("setup", "setup.sh"),
        ("setup", "/a\nb"),
        ("image", "--bind=/"),
        ("container", []),
        ("tools", "/no/such"),
    ],
)
def test_settings_that_cannot_be(setting: str, value: object) -> None:
    assert wrong(settings("payload")[setting], value)


class Killed(BaseException):
    """The keeper is killed."""


@pytest.mark.parametrize("at", range(24))
def test_a_keeper_killed_at_any_call_takes_it_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    work, left = tmp_path / "work", [at]
    place, found = grid(work, 1), members([str(tree(tmp_path))], MOST)

    def dying(really):
        def call(*words, **more):
            left[0] -= 1
            if left[0] == -1:
                raise Killed
            return really(*words, **more)

        return call

    with monkeypatch.context() as patched:
        for name in ("link", "fsync", "open", "unlink", "mkdir", "symlink", "rename"):
            patched.setattr(os, name, dying(getattr(os, name)))
        patched.setattr(packages, "remove_tree", lambda _: None)  # who is killed tidies up nothing
        with suppress(Killed):
            share(work, place, found)
    share(work, place, found)
    [package] = packed(work)
    assert package.samefile(place / "package" / "package.tar")
    assert package.stat().st_nlink == 2
    with tarfile.open(package) as tar:
        assert len(tar.getnames()) == 6
    assert sweep(work) == 0
    (place / "package.tar").unlink()
    for each in (work / "packages").iterdir():
        os.utime(each, (0, 0))
    assert sweep(work) == 1
    assert list((work / "packages").iterdir()) == []


def test_a_package_ages_with_its_grid_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch, keep=Keep(finished_days=0))
    code = str(tree(tmp_path))
    first, second = (world.submit(1, key=key, inputs=[code]) for key in ("k1", "k2"))
    world.until(lambda: len(world.batch.tasks) == 2)
    [package] = packed(world.site.work)
    for id_, grid_job in ((1, first), (2, second)):
        world.batch.start(id_)
        world.batch.finish(id_)
        world.until(lambda grid_job=grid_job: world.finished(grid_job))
        assert package.exists()
        place = world.site.work / str(grid_job)
        world.until(lambda place=place: not place.exists(), seconds=3600.0)
    world.go(2, seconds=3600.0)
    assert list((world.site.work / "packages").iterdir()) == []


ANN, BEN = Sender("/CN=Ann", known=True), Sender("/CN=Ben", known=True)
CLAIMS_ANN, NOBODY = Sender("/CN=Ann"), Sender(contact="https://gatekeeper:1/2")


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (ANN, ANN, True),
        (ANN, BEN, False),
        (ANN, CLAIMS_ANN, False),  # anybody can claim to be Ann
        (CLAIMS_ANN, CLAIMS_ANN, True),
        (CLAIMS_ANN, None, False),
        (ANN, None, False),
        (None, None, True),  # the account's own grid jobs
        (NOBODY, NOBODY, False),  # a gatekeeper let somebody in, and did not say whom
        (NOBODY, None, False),
    ],
)
def test_only_grid_jobs_of_one_sender_share_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Sender | None, second: Sender | None, shared: bool
) -> None:
    """What a payload changes in its package, those of others must not find in theirs."""
    world, code = World(tmp_path, monkeypatch), str(tree(tmp_path))
    for number, sender in enumerate((first, second), 1):
        told = {"dn": sender.dn, "contact": sender.contact, "known": sender.known} if sender else {}
        checked = request.check(
            {"job_type": "executable", "executable": "/bin/true", "key": str(number), "inputs": [code]}
        )
        inbox.deposit(world.site.state, str(number), checked[1] | {"key": str(number)}, sender=told)
    world.until(lambda: len(world.batch.tasks) == 2)
    one, two = ((world.site.work / name / "package.tar").stat() for name in ("1", "2"))
    assert (one.st_ino == two.st_ino) is shared
    trees = {(world.site.work / name / "package").resolve() for name in ("1", "2")}
    assert all((each / "package.tar").is_file() for each in trees)
    assert len(trees) == (1 if shared else 2)


def test_packages_of_all_senders_are_swept_and_so_are_their_empty_directories(tmp_path: Path) -> None:
    work, found = tmp_path / "work", members([str(tree(tmp_path))], MOST)
    for number, sender in enumerate(("", "/CN=Ann", "/CN=Ann", "/CN=Ben"), 1):
        share(work, grid(work, number), found, sender)
    assert len(list((work / "packages").rglob("package.tar"))) == 3
    assert sweep(work) == 0
    for number in (1, 2, 3):
        shutil.rmtree(work / str(number))
    assert sweep(work) == 2
    assert [each.name for each in (work / "packages").rglob("package.tar")] == ["package.tar"]
    shutil.rmtree(work / "4")
    assert sweep(work) == 1
    for each in (work / "packages").iterdir():
        os.utime(each, (0, 0))
    assert sweep(work) == 0
    assert list((work / "packages").iterdir()) == []


@pytest.mark.parametrize("name", ["packages", "packages/of-me"])
def test_no_link_of_a_payload_lets_a_sweep_remove_directories_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "home/thesis").mkdir(parents=True)
    (tmp_path / "work" / name).parent.mkdir(parents=True)
    (tmp_path / "work" / name).symlink_to(tmp_path / "home")
    with suppress(OSError):
        sweep(tmp_path / "work")
    assert [each.name for each in (tmp_path / "home").iterdir()] == ["thesis"]
