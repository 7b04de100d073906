"""jim pages --export: one grid job as files, whose links lead to each other and nowhere else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from jim import cli
from jim.model import Reason, State, Witness
from tests.unit.pages.browser import Page
from tests.unit.pages.grounds import Ground, ended


def test_a_grid_job_is_written_as_files(ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended(ground, 1, 5, 60, bad=2)
    ground.store.set_local_job(1, 1, reason=Reason(words="<script>"), witness=Witness.QUEUE)
    for n in range(2):
        ground.leave(1, 1, n + 1, "stderr", b"no space\n")
    assert cli.main(["pages", "--export", "1", str(tmp_path / "out")]) == 0
    out = tmp_path / "out"
    assert re.fullmatch(r"\d+ files in .*/out; index.html is the first page\n", capsys.readouterr().out)
    names = {path.name for path in out.iterdir()}
    assert {"index.html", "failed.html", "1.json", "1.xml", "explain.json", *(f"{n}.html" for n in range(5))} <= names
    assert {"0-1-stderr.html", "1-1-stderr.html"} <= names
    assert not {name for name in names if name.endswith(".js")}
    for name in sorted(name for name in names if name.endswith(".html")):
        page = Page((out / name).read_text())
        assert not page.all("script") + page.all("form"), name
        for tag, attributes in page.elements:
            for where in (attributes.get("href"), attributes.get("src")):
                assert where is None or where.startswith("#") or where in names, (name, tag, where)
    assert "no space" in (out / "0-1-stderr.html").read_text()
    assert "0-1-stderr.html" in Page((out / "0.html").read_text()).links()
    assert {f"{n}.html" for n in range(5)} <= set(Page((out / "index.html").read_text()).links())
    assert json.loads((out / "1.json").read_text())["counts"] == {State.COMPLETED.value: 3, State.FAILED.value: 2}


def test_what_is_there_is_not_written_over(ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended(ground, 1, 1, 60)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("x")
    assert cli.main(["pages", "--export", "1", str(tmp_path / "out")]) == 2
    assert "not an empty directory" in capsys.readouterr().err
    assert cli.main(["pages", "--export", "7", str(tmp_path / "other")]) == 4
    assert not (tmp_path / "other").exists()


def test_without_its_libraries_jim_pages_says_what_to_install(
    ground: Ground, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "waitress.server", None)
    monkeypatch.delitem(sys.modules, "jim.pages.serving", raising=False)
    assert cli.main(["pages"]) == 3
    pip = f"{sys.prefix}/bin/pip install flask jinja2 waitress"
    assert capsys.readouterr().err.rstrip().endswith(f"has no waitress.server: run {pip}"), (
        "of Debian it would get none"
    )
    monkeypatch.setattr("sys.prefix", sys.base_prefix)
    assert cli.main(["pages"]) == 3
    told = capsys.readouterr().err
    assert ": on Debian, apt-get install python3-flask python3-jinja2 " in told
    assert "; elsewhere, run python3 -m venv " in told
    assert told.endswith(" lxml psutil tenacity rich flask jinja2 waitress\n")


def test_a_port_that_is_taken_is_told(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["pages", "--port", str(port)]) == 2
    assert f"port {port} cannot be used: Address already in use" in capsys.readouterr().err
    assert cli.main(["pages", "--port", "70000"]) == 2
