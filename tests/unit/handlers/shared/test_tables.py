"""Tables that local jobs bring back."""

import pytest

from jim.errors import JimError
from jim.handlers.base import Result
from jim.handlers.shared.tables import column

# tables


def brought(directory, text, n=3):
    (directory / "t.tsv").write_text(text)
    return Result(n, directory, ("t.tsv",))


def test_a_column_is_found_by_its_name(tmp_path):
    result = brought(tmp_path, "event\tmass\n1\t90.5\n2\t91e0")  # the last line is not ended
    assert list(column("t.tsv", "mass", [result, result])) == [90.5, 91.0, 90.5, 91.0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "line 1: .*'mass'"),
        ("event\tpt\n1\t2\n", "line 1: .*'mass'"),
        ("event\tmass\n1\t90\n2\tnine\n", "line 3: .*'2.tnine"),
        ("event\tmass\n1\n", "line 2: "),
        ("event\tmass\n1\t2\t3\n", "line 2: expected 2 columns"),
        ("event\tmass\n\n", "line 2: "),
        ("event\tmass\n1\tnan\n", "line 2: "),
        ("event\tmass\n1\tinf\n", "line 2: "),
        ("event\tmass\n1\t90." + "0" * 5000 + "\n", "line 2: "),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, place):
    with pytest.raises(JimError, match=rf"^local job 3, t\.tsv, {place}"):
        list(column("t.tsv", "mass", [brought(tmp_path, text)]))


def test_a_line_that_is_no_text_is_named(tmp_path):
    (tmp_path / "t.tsv").write_bytes(b"event\tmass\n1\t\xff\xfe\n")
    with pytest.raises(JimError, match=r"local job 0, t\.tsv, line 2"):
        list(column("t.tsv", "mass", [Result(0, tmp_path, ("t.tsv",))]))


def test_a_missing_file_and_a_link_are_refused(tmp_path):
    with pytest.raises(JimError, match=r"local job 5, t\.tsv: the file is missing"):
        list(column("t.tsv", "mass", [Result(5, tmp_path, ())]))
    (tmp_path / "elsewhere").write_text("mass\n1\n")
    (tmp_path / "t.tsv").symlink_to("elsewhere")
    with pytest.raises(JimError, match="is a link"):
        list(column("t.tsv", "mass", [Result(5, tmp_path, ("t.tsv",))]))


def test_columns_are_streamed(tmp_path):
    def results():
        yield brought(tmp_path, "mass\n1\n")
        raise AssertionError("asked for the second result before the first was used")

    assert next(column("t.tsv", "mass", results())) == 1.0
