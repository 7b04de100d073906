"""Finding where JIM looks into sentences of its own: what they say is for people; policies read kinds and facts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SENTENCES = {"reason", "why", "trouble", "error", "sentence", "story", "message"}  # what may hold one
PARTS = SENTENCES | {"words"}  # of a reason or a refusal
READ = {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "splitlines", "find", "index", "count"}
READ |= {"rfind", "removeprefix", "removesuffix", "replace", "strip"}
MATCHED = {"search", "match", "fullmatch", "findall", "finditer", "sub", "subn"}
# Adapters read what batch systems say, and the batch system of JIM's own is a program by itself.
HOME = Path(__file__).parents[2]
ELSEWHERE = ("jim/adapters/", "jim/handlers/", "jim/localbatch/")
# What is no sentence of JIM's own, or is read for no policy.
JUSTIFIED = {
    "jim/admin/trial/trial_site.py: NUMBERS.sub('', reason)": "equal reasons are shown once; their numbers differ",
    "jim/errors.py: 'int_max_str_digits' in str(error)": "a sentence of Python's",
    "jim/evidence/exit_record.py: self.reason.startswith(LACKING)": "the format of the exit record",
    "jim/evidence/transitions.py: re.search(f'(?!(?<=\\\\d)\\\\d){re.escape(words)}(?!(?<=\\\\d)\\\\d)', reason, "
    "re.IGNORECASE)": "a person's search: `jim retry --reason`",
    "jim/request/toml.py: str(error).replace('at end of document', end)": "a sentence of Python's",
    "jim/request/toml.py: INVALID.fullmatch(error)": "likewise",
    "jim/statusdb/documents/xml.py: 'namespace prefix' in str(error)": "a sentence of libxml2's",
    "jim/cli/tasks/watching.py: seen.reason not in usual": "what stands in the line already is not said again",
    "jim/pages/admission.py: task.reason in hidden": "what a role may not see is named by its own words",
    "jim/site/sections.py: re.fullmatch(rule.words, value)": "a pattern, called words",
}


def is_sentence(node: ast.AST) -> bool:
    """Tell whether an expression may be a sentence of JIM's own."""
    if isinstance(node, ast.Name):
        return node.id in SENTENCES
    if isinstance(node, ast.Attribute):
        return node.attr in PARTS
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
        return any(is_sentence(each) for each in node.args)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # error.lower(), and the like
        return node.func.attr in ("lower", "upper", "casefold") and is_sentence(node.func.value)
    if isinstance(node, ast.JoinedStr):
        return any(is_sentence(each.value) for each in node.values if isinstance(each, ast.FormattedValue))
    return isinstance(node, ast.NamedExpr) and is_sentence(node.value)


def is_parsed(node: ast.AST) -> bool:
    """Tell whether an expression looks into such a sentence."""
    if isinstance(node, ast.Compare):
        return _is_compared(node)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr in MATCHED:
        return any(is_sentence(each) for each in [*node.args, *(each.value for each in node.keywords)])
    return node.func.attr in READ and bool(node.args) and is_sentence(node.func.value)


def _is_compared(node: ast.Compare) -> bool:
    """Tell whether a sentence is searched for words, or held against some."""
    sides = [node.left, *node.comparators]
    for operator, left, right in zip(node.ops, sides, node.comparators, strict=False):
        if isinstance(operator, ast.In | ast.NotIn) and (is_sentence(right) or is_sentence(left)):
            return True
        if isinstance(operator, ast.Eq | ast.NotEq) and any(map(is_sentence, (left, right))):
            return any(isinstance(each, ast.Constant | ast.JoinedStr) for each in (left, right))
    return False


@cache
def candidates() -> tuple[str, ...]:
    """Give the places where a sentence may be parsed."""
    return tuple(_candidates())


def _candidates() -> Iterator[str]:
    for path in sorted((HOME / "jim").rglob("*.py")):
        file = str(path.relative_to(HOME))
        if not file.startswith(ELSEWHERE):
            nodes = ast.walk(ast.parse(path.read_text()))
            yield from (f"{file}: {ast.unparse(node)}" for node in nodes if is_parsed(node))


def places() -> list[str]:
    """Give the places where a sentence of JIM's own is parsed."""
    return [each for each in candidates() if each not in JUSTIFIED]
