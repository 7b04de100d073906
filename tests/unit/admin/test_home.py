"""Where this JIM lies, and what `site check` says of another one on the search path."""

from __future__ import annotations

from pathlib import Path

import pytest

from jim.admin.finding import OK, WARNING
from jim.admin.home import HOME, others


def door(place: Path, home: object) -> str:
    """Put a door there, as `make install` does; return its directory."""
    place.mkdir(exist_ok=True)
    (place / "jim").write_text(f'#!/bin/sh\nexec "{home}/shell/jim" "$@"\n')
    (place / "jim").chmod(0o755)
    return str(place)


def test_its_home_has_the_doors() -> None:
    assert (HOME / "shell/jim-poll").is_file()


@pytest.mark.parametrize("first", ["other", "own"])
def test_another_jim_is_told_whichever_comes_first(tmp_path: Path, first: str) -> None:
    own, other = door(tmp_path / "own", HOME), door(tmp_path / "other", "/usr/lib/jim/jim")
    found = others(f"{other}:{own}" if first == "other" else f"{own}::{other}")
    assert found.level == WARNING
    assert f"this JIM lies in {HOME}, and {other}/jim leads to /usr/lib/jim/jim:" in found.said
    assert "Move to the package" in found.todo


def test_a_directory_that_is_on_the_search_path_twice_is_told_once(tmp_path: Path) -> None:
    """Debian's /bin is /usr/bin."""
    other = door(tmp_path / "bin", "/usr/lib/jim/jim")
    (tmp_path / "also").symlink_to(other)
    found = others(f"{other}:{tmp_path}/also")
    assert f"this JIM lies in {HOME}, and {other}/jim leads to /usr/lib/jim/jim: `jim` is the first" in found.said


def test_alone_or_beside_other_programs_of_its_name_it_is_well(tmp_path: Path) -> None:
    own = door(tmp_path / "own", HOME)
    odd = door(tmp_path / "odd", "x")
    Path(odd, "jim").write_bytes(b"\xff\x00 no door")
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed/jim").mkdir()
    assert others(f"{own}:{odd}:{tmp_path}/closed:/nosuch").level == OK
