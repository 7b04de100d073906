"""Messages name pages where their reader finds them."""

from pathlib import Path

import pytest

from jim.guide import guide


def test_in_a_clone_a_page_is_named_as_it_lies_there(tmp_path: Path) -> None:
    assert guide("gram.md", tmp_path / "src" / "jim") == "docs/gram.md"


@pytest.mark.parametrize("trees", ["libexec", "lib/jim"], ids=["by make install", "by a package"])
@pytest.mark.parametrize("there", [True, False], ids=["with its documents", "without documents"])
def test_where_jim_is_installed_a_page_is_named_by_its_path(tmp_path: Path, trees: str, there: bool) -> None:
    pages = tmp_path / "share" / "jim" / "docs"
    if there:
        pages.mkdir(parents=True)
    place = guide("gram.md", tmp_path / trees / "jim-0.1.0.7")
    assert place == (f"{pages}/gram.md" if there else "docs/gram.md")
