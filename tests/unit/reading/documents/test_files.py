"""A file below a directory is opened without following any link, and never a pipe."""

import os
from pathlib import Path

import pytest

from jim.reading.documents.files import Gone, open_below


def test_a_file_is_opened_with_its_size(tmp_path):
    (tmp_path / "run.1").mkdir()
    (tmp_path / "run.1/stdout").write_bytes(b"hello")
    found = open_below(tmp_path, tmp_path / "run.1/stdout")
    with found.file as file:
        assert (file.read(), found.size) == (b"hello", 5)


@pytest.mark.parametrize("link", ["run.1", "run.1/stdout"])
def test_a_link_anywhere_on_the_way_is_refused(tmp_path, link):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/stdout").write_text("secret")
    (tmp_path / "run.1").symlink_to("other") if link == "run.1" else (tmp_path / "run.1").mkdir()
    if link == "run.1/stdout":
        (tmp_path / link).symlink_to("../other/stdout")
    with pytest.raises(OSError, match=link.rpartition("/")[2]):
        open_below(tmp_path, tmp_path / "run.1/stdout")


def test_a_pipe_does_not_hold_up_its_reader(tmp_path):
    os.mkfifo(tmp_path / "stdout")
    with pytest.raises(Gone, match="stdout is no regular file"):
        open_below(tmp_path, tmp_path / "stdout")


def test_no_descriptor_is_left_after_a_refusal(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").symlink_to("nowhere")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(OSError):
            open_below(tmp_path, tmp_path / "a/b")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
