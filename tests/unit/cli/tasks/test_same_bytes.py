"""What programs read of a rich task file: its stored form, its checksums, JSON and XML, byte by byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.site.file import General
from jim.statusdb.documents.task_writing import task_element
from jim.tasks.file import reading as task_file
from jim.tasks.file import sent_along
from tests.unit.tasks.ground import Ground

RICH = Path(__file__).parent / "rich"


@pytest.fixture
def ground(tmp_path, monkeypatch):
    """A keeper driven by hand, with all that the rich task file names; the command line sees the same."""
    datasets = tmp_path / "catalogue/datasets"
    datasets.mkdir(parents=True)
    (datasets / "raw.json").write_text('{"files": [{"lfn": "/d/1", "size": 7}], "open": true}')
    (tmp_path / "site.toml").write_text(f'[site]\ncatalogue = "{tmp_path}/catalogue"\n')
    made = Ground(tmp_path, monkeypatch, site=General(catalogue=str(tmp_path / "catalogue")))
    monkeypatch.setenv("JIM_SITE", str(tmp_path / "site.toml"))
    monkeypatch.setenv("JIM_STATE", str(made.site.state))
    monkeypatch.setattr("jim.reading.view.Clock", lambda: made.clock)
    monkeypatch.setattr("jim.cli.tasks.create.TAKEN_SECONDS", 0)
    monkeypatch.setattr("jim.keeper.waking.wake", lambda _state: None)
    monkeypatch.setattr("jim.keeper.waking.require_keeper", lambda _state: None)
    for name in ("store", "watched"):
        (tmp_path / name).mkdir()
    for name, text in {"in.txt": "in", "check.sh": "#!/bin/sh\n", "names.txt": "/l/1\n/l/2\n/l/3\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "check.sh").chmod(0o755)
    for name in ("1_a.dat", "1_b.dat", "2_a.dat", "END.1"):
        (tmp_path / "watched" / name).write_text(name)
    return made


def plain(text: str, ground) -> str:
    """Return a text without what differs from run to run."""
    text = text.replace(str(ground.place), "/PLACE").replace(inbox.account(), "OWNER")
    text = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", text)
    text = re.sub(r"\b[0-9a-f]{16}\b", "NONCE", text)
    text = re.sub(r'(?<==")1\d{9}\.\d+', "TIME", text)
    return re.sub(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z?", "TIME", text)


def same(name: str, text: str, ground) -> None:
    assert plain(text, ground) == (RICH / name).read_text()


def create(ground) -> None:
    ground.create((RICH / "tasks.toml").read_text())


def test_the_stored_form_is_the_same(ground):
    create(ground)
    same("specs.txt", "".join(f"{each.spec_text}\n" for each in ground.store.tasks.all()), ground)
    ground.ask("test", "gen", pieces=1)
    same("spec-changed.txt", f"{ground.task('gen').spec_text}\n", ground)


def test_checksums_are_the_same(ground, tmp_path):
    """No path of the directory of this test is in what is summed up."""
    text = (RICH / "tasks.toml").read_text().replace("./check.sh", "/bin/true")
    for name, place in {"store": "/tmp", "watched": "/usr", "names.txt": "/etc/passwd"}.items():
        text = text.replace(f'"{name}"', f'"{place}"')
    specs = task_file.read(ground.write(text), ground.site)
    told = [f"{sent_along.digest(each)} {sent_along.digest(each, tested=True)}\n" for each in specs]
    assert "".join(told) == (RICH / "digests.txt").read_text()


@pytest.mark.parametrize("name", ["gen", "use", "bare", "gen/0", "use/0"])
def test_json_and_xml_are_the_same(ground, jim, name):
    create(ground)
    ground.ask("start", "gen", untested=True)
    ground.ask("start", "use", untested=True)
    ground.brings = lambda words: {f"{n}.raw": b"12" for n in "ab"} | {f"{n}.raw.json": b'{"events": 3}' for n in "ab"}
    ground.go(10)
    ground.work()
    ground.go(10)
    ground.begin()
    ground.go(1)
    file = name.replace("/", "-")
    same(f"show-{file}.json", jim("show", name, "--json")[1], ground)
    same(f"explain-{file}.json", jim("explain", name, "--json")[1], ground)
    if "/" not in name:
        same(f"{file}.xml", "".join(task_element(ground.store, ground.task(name))), ground)


def test_what_lists_and_checks_print_is_the_same(ground, jim):
    create(ground)
    same("status.json", jim("status", "--json")[1], ground)
    same("status.txt", jim("status")[1], ground)
    same("created.txt", jim("create", ground.place / "tasks.toml")[1], ground)
    same("checked.json", jim("check", ground.place / "tasks.toml", "--json")[1], ground)
    same("checked.txt", "".join(jim("check", name)[1] for name in ("gen", "use", "bare")), ground)
