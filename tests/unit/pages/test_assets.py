"""Static files: their names, and how large they are."""

from __future__ import annotations

import re

from tests.unit.pages.browser import Person


def test_static_files_have_names_that_never_mean_another_content(person: Person) -> None:
    page = person.page("/")
    style = page.all("link", rel="stylesheet")[0]["href"]
    assert re.fullmatch(r"/static/jim\.[0-9a-f]{12}\.css", style)
    answer = person.get(style)
    assert answer.content_type == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["Cache-Control"]
    assert person.get("/").headers["Cache-Control"] == "private, no-cache"


def test_the_script_is_small(person: Person) -> None:
    scripts = [content for name, content in person.pages.static.values() if name.endswith(".js")]
    assert 0 < sum(map(len, scripts)) <= 13 * 1024  # one draws what changes, one is for the reader: zone and folds
