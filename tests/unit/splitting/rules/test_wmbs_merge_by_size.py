"""WMBSMergeBySize: expected values were worked out by hand from its definition."""

import pytest

from tests.support.splitting_work import AB
from tests.unit.splitting.merges import merge_outputs, sized


def outputs(*names_and_parents, size=20, **more):
    return [sized(name, size, n + 1, parents=(parent,), **more) for n, (name, parent) in enumerate(names_and_parents)]


def test_outputs_of_a_parent_are_merged_as_a_whole_or_not_at_all():
    files = outputs(("a", "p"), ("b", "p"), ("c", "q"), ("d", "q"), ("e", "r"))
    made, _ = merge_outputs(files, [("g", "p q r", "success")], open=True)
    assert made == ["a b c d e"]
    files = outputs(("a", "p"), ("b", "q"), ("c", "q"), ("d", "q"), ("e", "q"), ("f", "q"), ("g", "q"))
    made, _ = merge_outputs(files, [("g", "p q", "success")], open=False)
    assert made == ["b c d e f g", "a"]  # six are above the maximum: alone, and whole


@pytest.mark.parametrize(
    ("producers", "made", "failed"),
    [
        ([], [], []),
        ([("1", "p", "success")], ["a"], []),
        ([("1", "p", "success"), ("1", "p", "running")], [], []),
        ([("1", "p", "success"), ("2", "p", "running")], ["a"], []),  # one whole group is enough
        ([("1", "p", "success"), ("2", "p", "failure")], [], [("failed", ["a"])]),
    ],
)
@pytest.mark.parametrize("injected", [True, False])
def test_all_that_read_a_parent_must_have_succeeded(producers, made, failed, injected):
    expected = (made if injected else [], failed)
    assert merge_outputs(outputs(("a", "p")), producers, injected=injected) == expected
    assert merge_outputs(outputs(("a", "p")), producers, open=True) == ([], [])


@pytest.mark.parametrize(
    ("ends", "made"),
    [(("success", None), ["a"]), (("success", "running"), []), (("success", "success"), ["a"]), ((None, None), [])],
)
def test_of_several_parents_those_count_that_jobs_have_read(ends, made):
    producers = [(group, parent, end) for group, parent, end in zip("12", "pq", ends, strict=True) if end]
    assert merge_outputs([sized("a", 20, parents=("p", "q"))], producers) == (made, [])


def test_outputs_are_never_merged_across_runs_or_places():
    files = [*outputs(("a", "p")), *outputs(("b", "p"), run=2), *outputs(("c", "p"), locations=AB)]
    made, _ = merge_outputs(files, [("1", "p", "success")])
    assert made == ["a", "b", "c"]
