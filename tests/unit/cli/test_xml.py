"""jim xml."""

import io

import pytest

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
    for expression in ("][", "//*[", "//local:job"):
        code, out, err = home.run("xml", "1", "--xpath", expression)
        assert (code, out, err.startswith(f"jim: XPath {expression!r}: ")) == (2, "", True)


@pytest.mark.parametrize("words", [("1", "--xpath", ""), ("1", "--xpath", " "), ("--schema", "--xpath", "//a")])
def test_an_expression_that_is_none_is_refused(home, words):
    home.add()
    assert home.run("xml", *words)[:2] == (2, "")
