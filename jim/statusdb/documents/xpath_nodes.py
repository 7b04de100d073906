"""Follows the paths of an expression from rows to rows: which tables they lead over, and how these hang together."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from jim.errors import JimError
from jim.statusdb.documents.elements import Attribute
from jim.statusdb.documents.task_elements import ALL_ELEMENTS as ELEMENTS
from jim.statusdb.documents.task_elements import TASK_ELEMENTS
from jim.statusdb.documents.xpath_tree import ANYWHERE, Call, Filter, Number, Path, Step, Tree

# What may hold what; `detail` is no row of its own.
ABOVE = {
    "site": "",
    "grid_job": "site",
    "queued": "grid_job",
    "local_job": "grid_job",
    "attempt": "local_job",
    "task": "site",
    "wave": "task",
    "item": "task",
    "task_piece": "task",
    "task_output": "task_piece",
}
NOTHING, ALWAYS = "0", "1"


class NotTranslated(JimError):
    """A part of an expression that is not in the subset."""


class Root(NamedTuple):
    """The document: of the site (some grid jobs, all, or tasks), of one grid job, of one local job, or of one task."""

    name: str
    grids: tuple[int, ...] = ()
    n: int | None = None
    tasks: tuple[int, ...] | None = None  # None: all; the document of some grid jobs has none
    lacks: tuple[str, ...] = ()  # elements that the document of the site does not have

    def below(self, at: str, *, deep: bool) -> set[str]:
        """Return the names of the elements that may be directly below, or anywhere below, an element."""
        if at == "root":
            return {self.name, *(self.below(self.name, deep=True) if deep else ())}
        held = {name for name, above in ABOVE.items() if above == at and name not in self.lacks}
        if at in ("grid_job", "local_job"):
            held.add("detail")
        if at == "detail":
            held.add("phase")
        return held | {each for name in held if deep for each in self.below(name, deep=True)}


class Nodes(NamedTuple):
    """A set of nodes on the way along a path: what they are, the tables, and how these hang together."""

    at: str
    alias: str = ""
    tables: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # to the node that a relative path begins at
    where: tuple[str, ...] = ()
    grid: str = ""  # SQL of the number of the grid job
    n: str = ""  # SQL of the numbers of local jobs that publications may have
    none: bool = False


class Walk:
    """The paths of one expression over one document."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._numbers = itertools.count(1)
        self.never: list[str] = []  # steps that lead to nothing, in words

    def boolean(self, tree: Tree, here: Nodes) -> str:
        """Return the SQL of a condition about a node."""
        raise NotImplementedError

    def walk(self, path: Path, start: Nodes) -> tuple[Nodes, str]:
        """Follow a path; return the nodes, and the name of the attribute at its end."""
        nodes, deep = Nodes("root") if path.absolute else start, False
        if path.absolute and not path.steps:
            raise NotTranslated("the root itself")
        for step in path.steps:
            if step == ANYWHERE:
                deep = True
            elif step == Step("self", "node()") and not deep:
                continue
            elif step.axis == "attribute":
                if nodes.at not in ELEMENTS and not nodes.none:
                    raise NotTranslated(f"@{step.test} of {nodes.at}")
                return nodes, self._last(step, path, deep=deep)
            else:
                nodes, deep = self._step(nodes, step, deep=deep), False
        return nodes, ""

    def _last(self, step: Step, path: Path, *, deep: bool) -> str:
        if deep or step.predicates or step is not path.steps[-1] or ":" in step.test or step.test in ("*", "node()"):
            raise NotTranslated(f"@{step.test} at this place")
        return step.test

    def _step(self, nodes: Nodes, step: Step, *, deep: bool) -> Nodes:
        name = step.test.removeprefix("jim:")
        if step.axis != "child" or name == step.test or name not in (*ABOVE, "detail", "phase"):
            raise NotTranslated(f"the step {step.test if step.axis == 'child' else f'{step.axis}::{step.test}'}")
        found = nodes if nodes.none else self._into(nodes, name, deep=deep)
        if found.none and not nodes.none:
            self.never.append(f"jim:{name} is not {'' if deep else 'directly '}below {nodes.at}")
        for predicate in () if found.none else step.predicates:
            found = self._narrowed(found, predicate)
        return found

    def _narrowed(self, nodes: Nodes, predicate: Tree) -> Nodes:
        if nodes.at in ("site", "detail"):
            raise NotTranslated(f"a predicate of {nodes.at}")
        predicate = plain(predicate)
        if isinstance(predicate, Number) or (isinstance(predicate, Call) and predicate.name == "count"):
            raise NotTranslated("a position")
        return nodes._replace(where=(*nodes.where, self.boolean(predicate, nodes)))

    def _into(self, nodes: Nodes, name: str, *, deep: bool) -> Nodes:
        """Step to elements of a name below these nodes."""
        if name not in self._root.below(nodes.at, deep=deep):
            return nodes._replace(at=name, none=True)
        if name == "site":
            return nodes._replace(at="site")
        if name in TASK_ELEMENTS:
            return self._of_task(nodes, name)
        if not nodes.grid and name != "grid_job":
            nodes = self._grid_job(nodes)
        if name == "grid_job":
            return self._grid_job(nodes)
        if name == "queued":
            return self._joined(nodes, name, (f"{{}}.grid = {nodes.grid}",), grid="{0}.grid", n=nodes.n)
        if name == "detail":
            return nodes._replace(at="detail", n=nodes.n if deep or nodes.at == "local_job" else "= -1")
        return self._rows(nodes, name)

    def _grid_job(self, nodes: Nodes) -> Nodes:
        alias = self._alias("grid_job")
        ids = ", ".join(map(str, self._root.grids))
        n = f"BETWEEN -1 AND {alias}.size - 1" if self._root.n is None else f"= {self._root.n}"
        return nodes._replace(
            at="grid_job",
            alias=alias,
            tables=(*nodes.tables, f"grid_job {alias}"),
            where=(*nodes.where, *([f"{alias}.id IN ({ids})"] if ids else [])),
            grid=f"{alias}.id",
            n=n,
        )

    def _of_task(self, nodes: Nodes, name: str) -> Nodes:
        """Step to tasks, or to what a task holds."""
        if name == "task":
            tasks = self._root.tasks
            which = () if tasks is None else (f"{{}}.id IN ({', '.join(map(str, tasks))})",)
            return self._joined(nodes, name, where=which, grid="{0}.id")
        above = nodes if nodes.grid else self._of_task(nodes, "task")
        of_piece = (f"{{}}.p {above.n}",) if name == "task_output" and above.n else ()
        n = "= {0}.p" if name == "task_piece" else above.n
        return self._joined(above, name, (f"{{}}.task = {above.grid}", *of_piece), grid="{0}.task", n=n)

    def _joined(
        self,
        nodes: Nodes,
        name: str,
        link: tuple[str, ...] = (),
        where: tuple[str, ...] = (),
        *,
        grid: str,
        n: str = "",
    ) -> Nodes:
        """Join rows to the nodes above them; in what is given, {} stands for their alias."""
        alias, element = self._alias(name), ELEMENTS[name]
        link, where = (tuple(each.format(alias) for each in those) for those in (link, where))
        if element.where:
            where = (*where, re.sub(rf"\b{element.alias}\.", f"{alias}.", element.where))
        inner = not nodes.tables  # the first step of a relative path
        return nodes._replace(
            at=name,
            alias=alias,
            tables=(*nodes.tables, f"{element.rows} {alias}"),
            links=link if inner else nodes.links,
            where=(*nodes.where, *(() if inner else link), *where),
            grid=grid.format(alias),
            n=n.format(alias),
        )

    def _rows(self, nodes: Nodes, name: str) -> Nodes:
        """Join the rows of elements to the grid job or the local job above them."""
        alias = self._alias(name)
        n = nodes.n if name == "phase" or nodes.n.startswith("=") else nodes.n.replace("-1", "0", 1)
        link = (f"{alias}.grid = {nodes.grid}", f"{alias}.n {n}")
        inner = not nodes.tables  # the first step of a relative path
        mine = f"= {alias}.n" if name == "local_job" else nodes.n
        return nodes._replace(
            at=name,
            alias=alias,
            tables=(*nodes.tables, f"{ELEMENTS[name].rows} {alias}"),
            links=link if inner else nodes.links,
            where=nodes.where if inner else (*nodes.where, *link),
            grid=f"{alias}.grid",
            n=mine,
        )

    def _alias(self, name: str) -> str:
        return f"{ELEMENTS[name].alias}{next(self._numbers)}"

    def attribute(self, nodes: Nodes, name: str) -> Attribute:
        """Return an attribute of these nodes in SQL."""
        known = ELEMENTS[nodes.at].attributes.get(name) if nodes.at in ELEMENTS else None
        if known is None and nodes.at in ELEMENTS:
            self.never.append(f"jim:{nodes.at} has no attribute {name}")
            return Attribute("''")
        if known is None or not known.known:
            raise NotTranslated(f"@{name} of {nodes.at}")
        return known._replace(sql=self._of(nodes, known.sql), as_number=self._of(nodes, known.as_number))

    def _of(self, nodes: Nodes, sql: str) -> str:
        own = ELEMENTS[nodes.at].alias
        return re.sub(rf"\b{own}\.", f"{nodes.alias}.", sql)


def plain(tree: Tree) -> Tree:
    """Return an expression without parentheses around it."""
    while isinstance(tree, Filter) and not tree.predicates and not tree.steps:
        tree = tree.of
    return tree


def inner(here: Nodes) -> Nodes:
    """Return the beginning of a relative path."""
    return here._replace(tables=(), links=(), where=())


def tables_of(nodes: Nodes) -> str:
    """Return the tables of some nodes."""
    return ", ".join(nodes.tables)


def local_jobs_of(nodes: Nodes) -> str:
    """Return the SELECT of the local jobs that some nodes belong to."""
    first = nodes.tables[0].rpartition(" ")[2]
    return f"SELECT {first}.grid, {first}.n FROM {tables_of(nodes)}"


def all_of(conditions: tuple[str, ...]) -> str:
    """Return the condition that all of these hold."""
    return " AND ".join(each for each in conditions if each != ALWAYS) or ALWAYS
