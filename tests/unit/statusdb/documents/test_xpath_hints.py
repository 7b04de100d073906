"""What can never match, in words."""

import pytest

from jim.statusdb.documents.xpath_hints import hints
from jim.statusdb.documents.xpath_tree import parsed


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("//jim:local_job[@n = '01']", "@n = '01' compares texts, and never holds"),
        ("//jim:local_job['01' != @n]", "@n != '01' compares texts, and always holds"),
        (
            "//jim:local_job[@updated > '2026-01-31']",
            "@updated > '2026-01-31' compares numbers, and never holds: use @updated_s",
        ),
        ("//jim:local_job[@updated > 2026]", "@updated > … compares numbers, and a time is none"),
        ("//jim:local_job['a' > @reason]", "@reason < 'a' compares numbers, and never holds"),
        ("//local_job", "local_job without a prefix finds none of JIM's elements: write jim:local_job"),
        ("//phase/@done", "phase without a prefix is the form of before"),
        ("//jim:localjob", "jim:localjob: no document has such an element; did you mean 'jim:local_job'? (/schema"),
        ("//jim:xyzzy", "jim:xyzzy: no document has such an element (/schema lists all)"),
        ("//local-job", "local-job without a prefix is no element of JIM; did you mean 'jim:local_job'?"),
        ("grid-job", "grid-job without a prefix is no element of JIM; did you mean 'jim:grid_job'?"),
        ("//jim:local_job/@status_", "@status_: no element of JIM has this attribute"),
        ("//jim:local_job[@state='fail']", "@state = 'fail' never holds: the states are completed, "),
    ],
)
def test_what_can_never_match_is_told(expression, said):
    (hint,) = hints(parsed(expression))
    assert said in hint


@pytest.mark.parametrize(
    "expression",
    [
        "//jim:local_job[@n = '1' and @n >= '100' and @updated_s > 1767225600 and @state != 'failed']/@reason",
        "//jim:exit/jim:output[@bytes > 10]",
        "//m:mine/@own",
        "//jim:local_job[@updated = '2026-01-31T12:00:00.000Z']",
        "count(//*[@*])",
        "//histogram/bin | //mine",
    ],
)
def test_nothing_is_said_of_what_may_match(expression):
    assert [hint for hint in hints(parsed(expression)) if "@own" not in hint] == []
