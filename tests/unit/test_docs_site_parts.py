"""The parts of the site of documents that need no Sphinx, and the crawler that judges it."""

from __future__ import annotations

import importlib
import sys

import pytest

from tests.support.crawler import Crawled
from tests.support.documents import HOME, text_of

sys.path.append(str(HOME / "packaging"))  # as packaging/docs_site/conf.py does
glossary, sidebar, sources, theme, markdown_text, commands, declarations = (
    importlib.import_module(f"docs_site.{name}")
    for name in ("glossary", "sidebar", "sources", "theme", "markdown_text", "commands", "declarations")
)
sys.path.pop()


@pytest.fixture(scope="module")
def words():
    return glossary.Glossary(text_of("docs/glossary.md"))


@pytest.fixture(scope="module")
def pages():
    """The pages from the code, by their names."""
    return {each.name: each.text for module in (commands, declarations) for each in module.pages()}


def test_the_sidebar_has_every_document_once():
    pages = [each for part in sidebar.PARTS.values() for each in part.values()]
    there = {each.relative_to(HOME).with_suffix("").as_posix() for each in (HOME / "docs").rglob("*.md")}
    there |= {each.stem for each in HOME.glob("*.md")}
    assert len(pages) == len(set(pages))
    assert {each for each in pages if not each.startswith("reference/")} == there | {"changes.d/README"}


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("Local jobs of a grid job", {"Local jobs": "word-local-job", "grid job": "word-grid-job"}),
        ("two histories, a new key", {}),  # everyday words
        ("its state directory", {"state directory": "word-state-directory"}),  # and not its state
        ("state directories", {"state directories": "word-state-directory"}),
        ("a batch\nsystem", {"batch\nsystem": "word-batch-system"}),
        ("keeper.log, jim-keeper, docs/keeper, $tar", {}),
        ("It wishes.", {"wishes": "word-wish"}),
        ("the request key", {"request key": "word-key"}),
        ("the toucher", {"toucher": "word-touch"}),
    ],
)
def test_words_of_the_glossary_are_found(words, text, linked):
    assert {text[one.begin : one.end]: one.entry.anchor for one in words.uses(text)} == linked


def test_an_everyday_word_counts_where_it_is_slanted(words):
    assert [one.entry.anchor for one in words.uses("new", slanted=True)] == ["word-new"]
    assert {form for entry in words.entries for form in entry.forms} > glossary.EVERYDAY


def test_each_word_of_the_glossary_has_an_anchor_of_its_own_and_a_meaning_without_marks(words):
    anchors = [each.anchor for each in words.entries]
    assert len(anchors) == len(set(anchors)) > 60
    assert [each.meaning for each in words.entries if set("*`[") & set(each.meaning)] == []


def test_text_from_the_code_is_not_read_as_markdown():
    assert markdown_text.plain("a *b* <c> [d] | `jim x|y`") == r"a \*b\* \<c\> \[d\] \| `jim x|y`"
    assert markdown_text.table(("a",), [(r"`x|y` \| z",)]).splitlines()[-1] == r"| `x\|y` \| z |"
    assert markdown_text.block("a\n```\nb").splitlines()[0] == "````text"


def test_headings_in_code_are_none():
    found = list(markdown_text.sections_of("p", "# A `b`\n\n`one`\n\n```sh\n# no\n```\n\n## C, d\n\n    two\n"))
    assert [(each.heading, each.anchor, each.pieces) for each in found] == [
        ("A `b`", "a-b", ("one", "```sh", "# no", "```")),
        ("C, d", "c-d", ("two",)),
    ]


def test_what_links_lead_to_beside_documents_has_a_page():
    assert {"jim/run_grid_job.py", "tests/fake_batch", "examples/hello.toml", "LICENSE"} <= set(sources.linked())
    assert sources.target_of("docs/design/doors", "../../jim/x.py") == "jim/x.py"


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("reference/verbs/site", ("# `jim site`", "## site check", "../../docs/installing.md#make-the-site")),
        ("reference/verbs/submit", ("`--dry-run`", "jim submit request.toml --watch", "`jim-submit FILE`")),
        ("reference/exit-codes/6", ("not finished",)),
        ("reference/manual", ("`JIM_STATE`",)),
        (
            "reference/settings/limits.attempts",
            ("1 to 100", "[limits]\nattempts = 3", "docs/tuning.md#failed-attempts"),
        ),
        ("reference/settings/queues.NAME.wall_seconds", ("`batch.wall_seconds`",)),
        ("reference/attributes/events", ("## pythia\\_monte\\_carlo", "required")),
        ("reference/splitters/LumiBased", ("docs/images/splitting/LumiBased.svg", "`lumis_per_job`")),
        ("reference/reasons/put-back", ("Into the queue, by the batch system",)),
    ],
)
def test_a_page_says_what_the_code_declares(pages, name, pieces):
    assert [each for each in pieces if each not in pages[name]] == []


def test_every_kind_of_reason_says_something(pages):
    reasons = {name: text for name, text in pages.items() if name.startswith("reference/reasons/")}
    assert len(reasons) > 30
    assert [name for name, text in reasons.items() if len(text.split("md)\n")[1].split("\n- ")[0]) < 15] == []


def test_the_theme_asks_for_nothing_and_is_dark_by_itself(tmp_path):
    style = '@import url(/javascript/n.css);\nbody[data-theme="dark"] { --color: black; }\n'
    mended = theme.mended_style(style)
    assert "@import" not in mended
    assert "(prefers-color-scheme: dark) { body:not([data-theme='light']) { --color: black; }" in mended
    assert theme.mended_style(mended) == mended  # a theme that is whole stays so
    (tmp_path / "part.js").write_text("var Part = 1;\n")
    (tmp_path / "whole.js").write_text('import Part from "./part.js";\nuse(Part);\n')
    assert theme.mended_script(tmp_path / "whole.js") == "var Part = 1;\n\nuse(Part);\n"


def test_the_crawler_finds_what_is_wrong(tmp_path):
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html#y">b</a><a href="../out.html">o</a><a href="#z">z</a>')
    (tmp_path / "b.html").write_text('<p id="y"><p id="y"><a href="c.html">c</a><img src="https://e.org/p.png">')
    (tmp_path / "d.css").write_text("p { background: url(/p.png) } @import 'e.css';")
    found = Crawled(tmp_path)
    assert found.faults == [
        "a.html: #z has no such anchor",
        "a.html: ../out.html leads out of the site",
        "b.html: two anchors y",
        "b.html: c.html is not there",
        "b.html: asks https://e.org/p.png",
        "d.css: /p.png leads out of the site",
        "d.css: e.css is not there",
    ]
    (tmp_path / "b.html").write_text("")
    (tmp_path / "a.html").write_text('<a href="b.html">b</a>')
    assert Crawled(tmp_path).reached("a.html") == {"a.html", "b.html"}
