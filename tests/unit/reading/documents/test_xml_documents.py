"""Documents in files without a name."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jim.errors import JimError
from jim.reading.documents.xml_documents import Of, TooLarge, unnamed, write, written
from jim.reading.view import View
from jim.site.file import Site
from tests.unit.statusdb.documented import stored


@pytest.fixture
def view(tmp_path: Path) -> Iterator[View]:
    with closing(stored(tmp_path)) as made:
        yield View(Site(state=tmp_path), made)


@pytest.mark.parametrize(("of", "name"), [(Of(), "site"), (Of((12,)), "grid_job"), (Of((12,), 1), "local_job")])
def test_a_document_is_in_a_file_that_nobody_else_can_open(view: View, of: Of, name: str) -> None:
    whole = io.BytesIO()
    write(view, of, whole)
    with written(view, of) as file:
        assert os.fstat(file.fileno()).st_nlink == 0
        assert file.tell() == len(whole.getvalue())
        file.seek(0)
        assert file.read().splitlines()[1].startswith(f"<jim:{name} ".encode())


def test_no_file_becomes_larger_than_wanted() -> None:
    with unnamed(lambda out: out.write(b"x" * 10), 10) as file:
        assert file.tell() == 10
    with pytest.raises(TooLarge, match="more than 10 bytes"):
        unnamed(lambda out: out.write(b"x" * 11), 10)


def test_a_disk_that_is_filled_meanwhile_ends_the_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(out: io.BytesIO) -> None:
        monkeypatch.setattr("jim.reading.documents.xml_documents.LEAST_FREE", 10**18)
        monkeypatch.setattr("jim.reading.documents.xml_documents.LOOK_BYTES", 0)
        out.write(b"x" * (33 << 20))

    with pytest.raises(JimError, match="nearly full"):
        unnamed(fill)
