"""The site of documents, as `make docs` makes it: each link leads somewhere, and the same source gives equal bytes."""

from __future__ import annotations

import fcntl
import filecmp
import os
import re
import shutil
import subprocess
from pathlib import Path

import lxml.html
import pytest

from jim.cli import EXIT_CODES, VERBS
from jim.model import Kind
from jim.request import declarations, handler_of, job_types
from jim.site.settings import SECTIONS, settings
from jim.splitting.registry import known
from tests.support.crawler import Crawled

HOME = Path(__file__).parents[2]
NOT_SOURCE = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")


def made(source, place, **variables):
    """Make the site of a source; without Sphinx, say what to install, and skip."""
    command = ["make", "-s", "-C", source, "docs", f"DOCS={place}"]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("JIM_", "PYTHON"))}
    done = subprocess.run(command, env={**known, **variables}, capture_output=True, text=True, timeout=600, check=False)
    if "has no Sphinx" in done.stderr:
        pytest.skip(done.stderr.splitlines()[0])
    assert (done.returncode, done.stderr) == (0, "")
    return place / "html"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, made once for all processes that run tests."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    place = shared / "docs"
    with (shared / "docs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return place / "html" if (place / "html/index.html").exists() else made(HOME, place)


@pytest.fixture(scope="module")
def crawled(site):
    return Crawled(site)


def test_every_link_leads_to_a_file_and_an_anchor_of_the_site(crawled):
    assert crawled.faults == []
    assert crawled.followed > 10_000
    assert all(each.startswith("https://") for each in crawled.outside), crawled.outside


def test_every_page_can_be_reached_from_the_front_page(crawled):
    pages = {file.relative_to(crawled.place).as_posix() for file in crawled.sheets}
    assert pages - crawled.reached("index.html") == {"search.html"}  # a form leads there


def test_what_the_code_declares_has_a_page_each(site):
    attributes = {each for name in job_types() for each in declarations(handler_of(name))}
    wanted = {
        "verbs": set(VERBS),
        "settings": {f"{section}.{name}" for section in SECTIONS for name in settings(section)},
        "attributes": attributes,
        "splitters": set(known()),
        "exit-codes": {str(each) for each in EXIT_CODES},
        "reasons": {each.value.replace(" ", "-") or "none" for each in Kind},
    }
    for folder, names in wanted.items():
        found = {each.name.removesuffix(".html") for each in (site / "reference" / folder).iterdir()}
        extra = {"queues.NAME.wall_seconds", "queues.NAME.most_memory_mb"} if folder == "settings" else set()
        assert found == names | extra, folder


def test_a_word_of_the_glossary_is_linked_once_and_never_in_a_heading_or_code(site):
    page = (site / "docs/installing.html").read_text()
    linked = re.findall(r'class="word [^>]*#(word-[\w-]+)"', page)
    assert {"word-account", "word-site-file", "word-keeper"} <= set(linked)
    assert len(linked) == len(set(linked))
    for file in site.rglob("*.html"):
        for part in re.findall(r"<h\d>.*?</h\d>|<pre>.*?</pre>|<code.*?</code>", file.read_text(), re.DOTALL):
            assert 'class="word' not in part, file


def test_a_setting_a_splitter_and_a_verb_lead_to_their_pages_at_their_first_use(site):
    for page, name in (
        ("tuning", "settings/limits.attempts"),
        ("splitting", "splitters/LumiBased"),
        ("installing", "verbs/site"),
    ):
        assert (site / f"docs/{page}.html").read_text().count(
            f'"name reference internal" href="../reference/{name}.'
        ) == 1


def test_a_page_is_found_by_its_words(site):
    index = (site / "searchindex.js").read_text()
    assert '"reference/settings/batch.wall_seconds"' in index
    assert '"docs/tuning"' in index


@pytest.mark.parametrize("name", ["README", *(f"docs/{each.stem}" for each in sorted((HOME / "docs").glob("*.md")))])
def test_what_is_pasted_from_the_site_is_what_the_document_says(site, name):
    """No quote is made curly, no dash long, and nothing is lost."""
    pasted = {
        line.strip()
        for block in lxml.html.parse(site / f"{name}.html").iterfind(".//pre")
        for line in block.text_content().splitlines()
    }
    code = re.findall(
        r"^(?: {4}| {7})(?=[a-z])(.*)$", re.sub(r"```.*?```", "", (HOME / f"{name}.md").read_text(), flags=re.S), re.M
    )
    assert [each for each in code if each.strip() not in pasted] == []


@pytest.mark.torture
def test_the_same_source_gives_the_same_bytes_elsewhere(site, tmp_path):
    source = tmp_path / "elsewhere"
    shutil.copytree(HOME, source, symlinks=True, ignore=NOT_SOURCE)
    other = made(source, tmp_path / "other", TZ="Asia/Tokyo", LANG="C", HOME=str(tmp_path), SOURCE_DATE_EPOCH="1")
    files = sorted(str(each.relative_to(site)) for each in site.rglob("*") if each.is_file())
    assert sorted(str(each.relative_to(other)) for each in other.rglob("*") if each.is_file()) == files
    assert filecmp.cmpfiles(site, other, files, shallow=False)[1:] == ([], [])
    assert [each for each in files if str(HOME).encode() in (site / each).read_bytes()] == []
