"""The site's own code, loaded before a keeper needs it."""

from __future__ import annotations

import pytest

from jim.admin.code import load_all
from jim.errors import JimError
from jim.site.file import General, Limits, Site

JOB_TYPE = """
from jim.handlers.base import Handler

class Pi(Handler):
    analyser = "codesite.rules.retry"

HANDLER = Pi
"""


@pytest.fixture
def site(tmp_path):
    own = tmp_path / "own/codesite"
    own.mkdir(parents=True)
    (own / "pi.py").write_text(JOB_TYPE)
    (own / "rules.py").write_text("def retry(failed): ...\ndef careful(failed): ...\ndef tax(request): ...\n")
    general = General(handlers=str(tmp_path / "own"), steps=("codesite.rules.tax",))
    return Site(tmp_path, site=general, limits=Limits(analyser="codesite.rules.careful"))


def test_job_types_with_their_analysers_and_all_functions_of_the_site_file_are_loaded(site):
    types, functions = load_all(site)
    assert types == ["codesite.pi"]
    assert functions == ["codesite.rules.careful", "codesite.rules.retry", "codesite.rules.tax"]


def test_a_function_that_does_not_exist_is_named(site):
    wrong = site._replace(limits=Limits(analyser="codesite.rules.none"))
    with pytest.raises(JimError, match=r"cannot load analyser 'codesite.rules.none'"):
        load_all(wrong)


@pytest.mark.parametrize("text", ["@decorated\nclas Parameters:\n    pass\n", "def split(work, p)", "x = 1\0"])
def test_a_file_that_python_cannot_read_is_named_also_if_nobody_can_tell_what_it_was_to_be(site, text):
    file = site.state / "own/codesite/nights.py"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(JimError, match=r"cannot read codesite/nights\.py: (SyntaxError|ValueError): "):
        load_all(site)
