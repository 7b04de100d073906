"""A keeper opens what its site file names: the adapter, its commands, and the source of how jobs ended."""

import json
import logging
import sys

import pytest

from jim.errors import BadSite
from jim.keeper.opening import adapter_of, start_log
from jim.site.file import Batch, General, Site, read


@pytest.fixture
def write(tmp_path):
    def write_it(text):
        file = tmp_path / "site.toml"
        file.write_text(text)
        return file

    return write_it


def test_an_adapter_that_lacks_a_command_is_refused_before_it_is_used(tmp_path, monkeypatch):
    (tmp_path / "jim_half_site").mkdir()
    (tmp_path / "jim_half_site/half.py").write_text(
        "from jim.adapters.slurm import Slurm\nfrom jim.adapters.base import Adapter\n\n\n"
        "class ADAPTER(Slurm):\n    ping_command = Adapter.ping_command\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with pytest.raises(BadSite, match=r"cannot load adapter 'jim_half_site.half'.* abstract method '?ping_command"):
        adapter_of(Site(tmp_path, batch=Batch(system="jim_half_site.half")))


def test_an_unknown_history_is_refused_with_the_line_and_the_nearest(write, tmp_path):
    file = write('[batch]\nsystem = "slurm"\nhistory = "sact"\n')
    with pytest.raises(BadSite) as error:
        adapter_of(read(file, tmp_path))
    assert str(error.value).startswith(f"{file}:3: batch.history: unknown source 'sact'; did you mean 'sacct'?")


@pytest.mark.parametrize("as_json", [False, True])
def test_the_log_has_the_form_that_the_site_wants_and_a_terminal_lines_for_people(
    as_json, tmp_path, monkeypatch, capsys
):
    handlers = []
    monkeypatch.setattr(logging, "basicConfig", lambda **given: handlers.extend(given["handlers"]))
    monkeypatch.setattr(logging, "raiseExceptions", False)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    start_log(Site(tmp_path, site=General(json_log=as_json)), foreground=True)
    for each in handlers:
        each.handle(logging.LogRecord("jim.x", logging.INFO, "", 1, "%s", ("1: two\nlines",), None))
        each.close()
    (line,) = (tmp_path / "keeper.log").read_text().splitlines()
    assert capsys.readouterr().err.endswith(" INFO jim.x 1: two\\nlines\n")
    if as_json:
        assert json.loads(line)["message"] == "1: two\nlines"
    else:
        assert line.endswith(" INFO jim.x 1: two\\nlines")
