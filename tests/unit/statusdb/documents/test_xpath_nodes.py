"""Where the steps of a path lead."""

from __future__ import annotations

import pytest

from jim.statusdb.documents.xpath_nodes import Nodes, NotTranslated, Root, Walk
from jim.statusdb.documents.xpath_tree import Path, parsed


def walked(expression: str, root: Root) -> tuple[Nodes, str]:
    tree = parsed(expression)
    assert isinstance(tree, Path)
    return Walk(root).walk(tree, Nodes("root"))


@pytest.mark.parametrize(
    ("expression", "root", "at", "attribute", "none"),
    [
        ("//jim:local_job/@n", "site", "local_job", "n", False),
        ("/jim:site/jim:grid_job", "site", "grid_job", "", False),
        ("/jim:grid_job/jim:detail/jim:phase/@done", "grid_job", "phase", "done", False),
        ("/jim:grid_job", "site", "grid_job", "", True),
        ("//jim:grid_job", "local_job", "grid_job", "", True),
        ("/jim:local_job/jim:attempt", "local_job", "attempt", "", False),
        ("//jim:attempt/jim:local_job", "site", "local_job", "", True),
        ("//jim:local_job/jim:phase", "site", "phase", "", True),
    ],
)
def test_a_path_leads_to_elements_or_nowhere(expression: str, root: str, at: str, attribute: str, none: bool) -> None:
    nodes, name = walked(expression, Root(root, (1,), 2 if root == "local_job" else None))
    assert (nodes.at, name, nodes.none) == (at, attribute, none)


def test_tables_hang_together_below_the_wanted_grid_jobs() -> None:
    nodes, _ = walked("//jim:attempt", Root("site", (3, 4)))
    assert nodes.tables == ("grid_job g1", "attempt a2")
    assert nodes.where == ("g1.id IN (3, 4)", "a2.grid = g1.id", "a2.n BETWEEN 0 AND g1.size - 1")


@pytest.mark.parametrize("expression", ["/", "//*", "//jim:exit", "//@n", "//jim:local_job/..", "/jim:site/@name"])
def test_other_steps_are_not_followed(expression: str) -> None:
    with pytest.raises(NotTranslated):
        walked(expression, Root("site"))
