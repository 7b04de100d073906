"""jim xml."""

import io

import pytest
from lxml import etree

# xml


def test_a_document_is_printed_byte_for_byte(home, monkeypatch):
    home.add()
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written))
    assert home.run("xml", "1")[0] == 0
    assert b'id="1"' in written.getvalue()
    assert home.run("xml", "--schema")[0] == 0
    assert b"http://relaxng.org/ns/structure/1.0" in written.getvalue()


def test_an_expression_prints_a_result_a_line(home):
    home.add()
    assert home.out("xml", "1", "--xpath", "2 * 21") == "42\n"
    assert home.out("xml", "1", "--xpath", "//jim:local_job[@state='waiting']/@n") == "0\n1\n2\n3\n"
    assert "//jim:local_job[@state='failed']/@n" in " ".join(home.out("xml", "--help").split())
    for expression in ("][", "//*[", "//local:job[1]"):
        code, out, err = home.run("xml", "1", "--xpath", expression)
        assert (code, out, err.startswith(f"jim: XPath {expression!r}: ")) == (2, "", True)


@pytest.mark.parametrize("words", [("1", "--xpath", ""), ("1", "--xpath", " "), ("--schema", "--xpath", "//a")])
def test_an_expression_that_is_none_is_refused(home, words):
    home.add()
    assert home.run("xml", *words)[:2] == (2, "")


def test_the_site_and_a_local_job_are_documents_of_their_own(home, monkeypatch):
    home.add(size=2)
    home.add(2, size=1)
    schema = etree.RelaxNG(etree.fromstring(home.out("xml", "--schema").encode()))
    for words, name, grid_jobs in ((("--all",), "site", 2), (("2",), "grid_job", 1), (("1.1",), "local_job", 0)):
        written = io.BytesIO()
        with monkeypatch.context() as patched:
            patched.setattr("sys.stdout", io.TextIOWrapper(written))
            assert home.run("xml", *words)[0] == 0
            root = etree.fromstring(written.getvalue())
        schema.assertValid(root)
        assert root.tag == f"{{urn:jim:status:1}}{name}"
        assert len(root.xpath("descendant-or-self::j:grid_job", namespaces={"j": "urn:jim:status:1"})) == grid_jobs


def test_an_expression_is_asked_of_all_documents(home):
    home.add(size=2)
    home.add(2, size=1)
    every = "/jim:grid_job/jim:local_job/@n"
    assert home.out("xml", "--all", "--xpath", every) == "0\n1\n0\n"
    assert home.out("xml", "2", "--xpath", every) == "0\n"
    assert home.out("xml", "--all", "--xpath", "count(//jim:size)") == "2\n"
    assert home.out("xml", "1.1", "--xpath", "/jim:local_job/@n") == "1\n"


def test_the_way_of_an_answer_is_told_first(home):
    home.add(size=2)
    home.add(2, size=1)
    assert home.out("xml", "--all", "--xpath", "//jim:local_job/@n", "--explain") == (
        "translated: JIM asks the status DB, over 2 documents with 3 local jobs\n"
    )
    told = home.out("xml", "1", "--xpath", "//local_job[@updated > '2026']", "--explain")
    assert told.startswith(
        "whole: JIM writes the XML and evaluates the expression, over 1 document with 2 local jobs; "
    )
    assert "the step local_job is not translated" in told
    assert "write jim:local_job" in told
    assert home.run("xml", "1", "--explain")[:2] == (2, "")
    assert home.run("xml", "1", "--all")[:2] == (2, "")


def test_what_can_never_match_is_told_beside_the_results(home):
    home.add(size=2)
    code, out, err = home.run("xml", "1", "--xpath", "count(//local_job)")
    assert (code, out) == (0, "0\n")
    assert err == "jim: warning: local_job without a prefix finds none of JIM's elements: write jim:local_job\n"
    assert home.out("xml", "1", "--xpath", "count(//jim:local_job)") == "2\n"


def test_no_document_is_written_on_a_disk_that_is_nearly_full(home, monkeypatch):
    home.add()
    monkeypatch.setattr("jim.reading.documents.xml_documents.LEAST_FREE", 10**18)
    code, out, err = home.run("xml", "--all")
    assert (code, out) == (1, "")
    assert "nearly full" in err


def test_a_prefix_that_nobody_knows_is_refused_with_what_to_write(home):
    home.add()
    code, out, error = home.run("xml", "1", "--xpath", "//j:local_job")
    assert (code, out) == (2, "")
    assert error == (
        "jim: XPath '//j:local_job': Undefined namespace prefix; the only prefix is jim, so write "
        "*[local-name() = 'NAME'] for an element of another namespace\n"
    )
