"""The names of outputs in the tar, with the stem of a job type."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import tarfile
from types import SimpleNamespace

import pytest

from jim.errors import BadRequest
from jim.handlers.base import Handler
from jim.handlers.parametric import Parametric
from jim.keeper.results import naming
from jim.keeper.results.naming import Naming
from tests.support.splitting_work import submit
from tests.unit.keeper.runs import files, started, tar_of

EIO = OSError(errno.EIO, os.strerror(errno.EIO))
UNPACK = ("tar", "-x", "--exclude=*.failed", "--exclude=*.killed", "--exclude=jim", "--transform=s,.*/,,", "-f")


class OfLab(Handler):
    """A job type that names everything after the request, but for what begins with raw."""

    def __init__(self, stem="13669"):
        self.told = stem

    def stem(self, request, name):
        if isinstance(self.told, BaseException):
            raise self.told
        return "" if name.startswith("raw") else self.told


def names(monkeypatch, handler, *outputs, n=17, size=100, wish="", request=None, own=None):
    """Name the outputs of one local job; an error instead of a handler is raised where it is looked for."""

    def handler_of(*_):
        if isinstance(handler, BaseException):
            raise handler
        return handler

    monkeypatch.setattr(naming, "handler_of", handler_of)
    job = SimpleNamespace(id=1, size=size, job_type="lab", wish=wish, request=request or {})
    local = SimpleNamespace(piece=SimpleNamespace(attributes=own or {}))
    store = SimpleNamespace(local_job=lambda grid, number: local if (grid, number) == (1, n) else None)
    return dict(Naming(job, "", store).names(n, outputs))


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("d0reco.dat", "d0reco_13669_0017.dat"),
        ("stdout", "stdout_13669_0017"),
        ("x.tar.gz", "x_13669_0017.tar.gz"),
        ("out/x.y/hist.root", "out/x.y/hist_13669_0017.root"),
        ("reco_p14.07.00", "reco_p14.07.00_13669_0017"),
        (".bashrc", ".bashrc_13669_0017"),
        ("out/.x", "out/.x_13669_0017"),
        ("é\t.dat", "é\t_13669_0017.dat"),
    ],
)
def test_the_stem_and_the_number_stand_before_the_extensions(monkeypatch, name, new):
    assert names(monkeypatch, OfLab(), name) == {name: new}


@pytest.mark.parametrize(
    ("stem", "size", "new"),
    [
        ("p14/../x y", 1, "a_p14_x_y_0017"),
        ("s" * 200, 10_000, "a_" + "s" * 100 + "_0017"),
        ("s", 10_001, "a_s_00017"),
        (7, 1, "a_7_0017"),
    ],
)
def test_a_stem_is_harmless_and_the_number_is_as_wide_as_the_largest(monkeypatch, stem, size, new):
    assert names(monkeypatch, OfLab(stem), "a", size=size) == {"a": new}


@pytest.mark.parametrize("outputs", [("raw.dat",), ("x" * 250,), ("a.dat", "a_13669_0017.dat")])
def test_a_name_stays_if_there_is_no_stem_or_the_new_one_is_too_long_or_in_use(monkeypatch, outputs):
    new = names(monkeypatch, OfLab(), *outputs)
    assert outputs[0] not in new
    assert not set(new.values()) & set(outputs)


def test_most_job_types_give_no_stem(monkeypatch):
    assert names(monkeypatch, Parametric(), "a", "b") == {}
    assert names(monkeypatch, OfLab(None), "a") == {}


@pytest.mark.parametrize("handler", [BadRequest("unknown job type", "job_type"), PermissionError(13, "no")])
def test_a_job_type_that_is_gone_takes_nothing_from_the_tar(monkeypatch, handler, caplog):
    assert names(monkeypatch, handler, "a") == {}
    assert "1: the job type gives no stem, so outputs keep their own names: " in caplog.text


@pytest.mark.parametrize("stem", [RuntimeError("x"), SystemExit(1), EIO])
def test_a_stem_that_fails_takes_nothing_from_the_tar(monkeypatch, stem, caplog):
    assert names(monkeypatch, OfLab(stem), "a", "b") == {}
    assert caplog.text.count("gives no stem") == 1


def test_a_job_type_out_of_reach_is_waited_for_until_a_cancel(monkeypatch):
    with pytest.raises(OSError, match="Input/output error"):
        names(monkeypatch, EIO, "a")
    assert names(monkeypatch, EIO, "a", wish="cancel") == {}


def test_the_tar_can_be_unpacked_into_one_directory(world, monkeypatch, tmp_path):
    """By the command of docs/files.md. What failed is left aside: it would look like a result."""
    monkeypatch.setattr(Parametric, "stem", OfLab.stem, raising=False)
    monkeypatch.setattr(Parametric, "told", "lab", raising=False)
    grid = started(world, 3)
    world.batch.finish(1, 1, **files(stdout=b"0", dat=b"zero"))
    world.batch.finish(1, 2, **files(stdout=b"1", dat=b"one"))
    world.batch.finish(1, 3, code=1, recovery="fatal", **files(stdout=b"2", dat=b"half"))
    world.until(lambda: world.finished(grid))
    tar = world.store.grid_job(grid).result["tar"]
    with tarfile.open(tar) as packed:
        told = json.load(packed.extractfile("jim/summary.json"))
        assert packed.extractfile("1.2.failed/dat").read() == b"half"
    assert told[1]["renamed"] == {"dat": "dat_lab_0001", "stdout": "stdout_lab_0001"}
    assert "renamed" not in told[2]
    place = tmp_path / "flat"
    place.mkdir()
    subprocess.run([*UNPACK, tar, "-C", place], check=True)
    content = {each.name: each.read_bytes() for each in place.iterdir() if each.name != "summary.json"}
    assert content == {
        "dat_lab_0000": b"zero",
        "dat_lab_0001": b"one",
        "stdout_lab_0000": b"0",
        "stdout_lab_0001": b"1",
    }


@pytest.mark.parametrize(
    ("request_", "own", "told"),
    [
        ({"stdout": "std.out"}, {}, {"stdout": "std.out"}),
        ({"stdout": "out_$SplitID", "stderr": "err"}, {"stdout": "out_3"}, {"stdout": "out_3", "stderr": "err"}),
        ({"stdout": "$HOME"}, {}, {"stdout": "$HOME"}),
        ({"stdout": "a.dat"}, {}, {}),  # an output has that name
        ({"stdout": "log", "stderr": "log"}, {}, {"stdout": "log"}),
        ({"stdout": None}, {}, {}),
    ],
)
def test_stdout_and_stderr_get_the_names_that_the_request_gives_them(monkeypatch, request_, own, told):
    outputs = "stdout", "stderr", "a.dat"
    assert names(monkeypatch, Handler(), *outputs, request=request_, own=own) == told
    with_stem = names(monkeypatch, OfLab(), *outputs, request=request_, own=own)
    assert {name: with_stem[name] for name in told} == told
    assert with_stem["a.dat"] == "a_13669_0017.dat"


def test_a_herd_whose_local_jobs_have_names_of_their_own_is_one_array(world):
    grid = submit(world, "Parametric", splitter_parameters={"Parameters": 2}, name="scan $SplitID", stdout="o_$SplitID")
    world.until(lambda: len(world.batch.tasks) == 2)
    assert [each.piece.attributes["name"] for each in world.store.local_jobs(grid)] == ["scan 0", "scan 1"]
    for index in (1, 2):
        world.batch.start(1, index)
        world.batch.finish(1, index, **files(stdout=b"said"))
    assert tar_of(world, grid).keys() == {"summary.json", "1.0/o_0", "1.1/o_1"}
