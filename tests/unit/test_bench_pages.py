"""How the figures of the pages are measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import pages


class Said(pages.Served):
    """Pages that answer at once, and note what is done with them."""

    def __init__(self, state: Path) -> None:
        self.state, self.said = state, list[str]()

    @contextmanager
    def keeper(self, *more: str) -> Iterator[None]:
        self.said.append("keeper")
        yield
        self.said.append("no keeper")

    def forget(self) -> None:
        super().forget()
        self.said.append("cold")

    def viewer(self) -> pages.Viewer:
        return self  # type: ignore[return-value]

    def get(self, path: str, *, again: bool = False) -> tuple[int, float, bytes]:
        self.said.append(path)
        return 200, 0.001, b"page"


def test_figures_are_measured_with_a_keeper_at_work_and_a_cold_page_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    dropped = []
    monkeypatch.setattr(os, "posix_fadvise", lambda file, *_: dropped.append(Path(f"/proc/self/fd/{file}").readlink()))
    files = [tmp_path / name for name in ("status.db", "status.db-wal", "status.db-shm")]
    for file in files:
        file.touch()
    served = Said(tmp_path)
    figures = list(pages._of(served, 30, 5, 2))
    assert set(dropped) == set(files)
    assert (served.said[0], served.said[-1]) == ("keeper", "no keeper")
    assert served.said.count("keeper") == 1
    # Lists, grid jobs, local jobs, 4 searches, a document; overview and large grid job, each once before and twice.
    assert served.said.count("cold") == 3 + 4 + 1 + 3 + 3
    assert served.said[1] == "cold"
    assert len(figures) > 10
