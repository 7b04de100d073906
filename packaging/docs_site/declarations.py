"""Pages from what the code declares: a page of each setting, attribute, splitter, and kind of reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docs_site.markdown_text import Page, block, code, facts, page, places, plain, sentence, table
from jim import model
from jim.admin.init import toml
from jim.cli.job_types import attributes, default
from jim.cli.splitters import _record as record_of
from jim.evidence.reasons import TOLD, WORDS
from jim.handlers.base import IN_WORDS
from jim.model import Kind
from jim.request import declarations, handler_of, job_types
from jim.site.sections import HELD, NAMES, QUEUES, Queue
from jim.site.settings import SECTIONS, Declared, settings_of
from jim.work.splitters import find, known

UP = "../../"
KIND_LINE = re.compile(r'^    (?:# (?P<part>.*)|[A-Z_]+ = "(?P<value>[^"]*)"(?:  # (?P<words>.*))?)$')


def pages() -> Iterator[Page]:
    """Yield all of them, each kind after the page that lists it."""
    yield from _settings()
    yield from _attributes()
    yield from _splitters()
    yield from _reasons()


# Settings


def _settings() -> Iterator[Page]:
    sections = {**SECTIONS, f"{QUEUES}.NAME": Queue}
    lists = [_section(section, kind) for section, kind in sections.items()]
    words = "A page of each setting of the site file; [Settings](../docs/settings.md) says how the file is read.\n"
    yield page("reference/settings", "All settings", words, *lists)
    for section, kind in sections.items():
        for name, declared in settings_of(kind).items():
            yield _setting(section, name, declared)


def _section(section: str, kind: type[Any]) -> str:
    about = (kind.__doc__ or "").partition("\n")[0].partition("]: ")[2]
    rows = (
        (f"[`{section}.{name}`](settings/{section}.{name}.md)", plain(declared.rule.help))
        for name, declared in settings_of(kind).items()
    )
    return f"## {section}\n\n{sentence(about)}\n\n{table(('setting', 'meaning'), rows)}"


def _setting(section: str, name: str, declared: Declared) -> Page:
    rule, whole = declared.rule, f"{section}.{name}"
    usual = toml(declared.default) if declared.default is not None else f"batch.{name}"
    least = "" if rule.least is None or rule.most is None else f"{rule.least:,} to {rule.most:,}"
    named = re.compile(rf"\[?{re.escape(section)}\]?[. ]{name}\b")
    return page(
        f"reference/settings/{whole}",
        code(whole),
        f"{sentence(rule.help)}\n",
        facts(
            [
                ("kind", NAMES[HELD[declared.kind][-1] if declared.kind != int | None else int]),
                ("default", code(usual)),
                ("range", least),
                ("or", code('"none"') if rule.may_be_none else ""),
            ]
        ),
        f"It must match this pattern:\n\n{block(rule.words)}" if rule.words else "",
        f"In the site file:\n\n{block(f'[{section}]{chr(10)}{name} = {usual}', 'toml')}"
        if declared.default is not None
        else "",
        places(named.search, UP),
        above=("All settings", "../settings.md"),
    )


# Attributes


def _attributes() -> Iterator[Page]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for job_type in sorted(job_types()):
        for one in attributes(declarations(handler_of(job_type))):
            found.setdefault(one["name"], {})[job_type] = one
    rows = (
        (f"[`{name}`](attributes/{name}.md)", _of_types(of_types), plain(next(iter(of_types.values()))["help"]))
        for name, of_types in sorted(found.items())
    )
    words = (
        "What a request may say. [Requests](../docs/requests.md) shows how, [Job types](../docs/handlers.md) by type.\n"
    )
    yield page("reference/attributes", "Attributes", words, table(("attribute", "of job types", "meaning"), rows))
    yield from (_attribute(name, of_types) for name, of_types in sorted(found.items()))


def _of_types(of_types: Mapping[str, object]) -> str:
    return "all" if len(of_types) == len(job_types()) else ", ".join(map(code, of_types))


def _attribute(name: str, of_types: Mapping[str, dict[str, Any]]) -> Page:
    different: list[tuple[dict[str, Any], list[str]]] = []
    for job_type, one in of_types.items():
        same = next((types for each, types in different if each == one), None)
        if same is None:
            different.append((one, [job_type]))
        else:
            same.append(job_type)
    parts = [part for one, types in different for part in _declaration(one, types, several=len(different) > 1)]
    named = re.compile(rf"^{name}( =.*)?$")
    above = ("Attributes", "../attributes.md")
    return page(f"reference/attributes/{name}", code(name), *parts, places(named.search, UP), above=above)


def _declaration(one: dict[str, Any], types: list[str], *, several: bool) -> Iterator[str]:
    low, high = one["minimum"], one["maximum"]
    if several:
        yield f"## {', '.join(map(plain, types))}\n"
    yield f"{sentence(one['help'])}\n"
    yield facts(
        [
            ("job types", "" if several else _of_types(dict.fromkeys(types))),
            ("kind", one["kind"]),
            ("default", "required" if one["required"] else code(default(one))),
            ("at least", f"{low:,}" if low is not None else ""),
            ("at most", f"{high:,}" if high is not None else ""),
            ("one of", ", ".join(map(code, one["allowed"]))),
            ("form", plain(IN_WORDS.get(one["pattern"], "")) or code(one["pattern"])),
            ("in JDF, JDL and RSL also", ", ".join(map(code, one["also"]))),
        ]
    )


# Splitters


def _splitters() -> Iterator[Page]:
    records = [record_of(find(name, "")) for name in known("")]
    rows = ((f"[`{one['name']}`](splitters/{one['name']}.md)", one["splits"], plain(one["rule"])) for one in records)
    words = "How work is cut into local jobs. [Splitting](../docs/splitting.md) shows how to ask for it.\n"
    yield page("reference/splitters", "Splitters", words, table(("splitter", "splits", "rule"), rows))
    yield from map(_splitter, records)


def _splitter(one: Mapping[str, Any]) -> Page:
    name = one["name"]
    named = re.compile(rf"(^|\W){re.escape(name)}(\W|$)")
    rows = (
        (code(each["name"]), plain(each["help"]), plain(each["kind"]), code(_value(each["default"])))
        for each in one["parameters"]
    )
    return page(
        f"reference/splitters/{name}",
        code(name),
        f"Splits {one['splits']}: {plain(one['rule'])}.\n",
        f"{plain(one['more'])}\n" if one["more"] else "",
        f"![How {name} splits]({UP}docs/images/splitting/{name}.svg)\n",
        f"## Parameters\n\n{table(('parameter', 'meaning', 'what it may be', 'default'), rows)}",
        places(named.search, UP),
        above=("Splitters", "../splitters.md"),
    )


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value in (None, (), "") else str(value)


# Kinds of reasons


def _reasons() -> Iterator[Page]:
    kinds = list(_kinds(Path(model.__file__).read_text()))
    rows = (
        (f"[{kind.value or 'none'}](reasons/{_file(kind)}.md)", plain(part.removeprefix("From ")), plain(words))
        for kind, part, words in kinds
    )
    words = (
        "Why a local job, an attempt or a submission is in its state: `jim explain` prints it in words; what JIM does "
        "next depends on its kind alone ([The keeper](../docs/design/keeper.md#reasons)).\n"
    )
    yield page("reference/reasons", "Kinds of reasons", words, table(("kind", "known from", "what it says"), rows))
    yield from (_reason(*each) for each in kinds)


def _kinds(source: str) -> Iterator[tuple[Kind, str, str]]:
    """Yield each kind with the comment above its group, and the one behind itself."""
    part = ""
    for line in source.partition("class Kind(StrEnum):")[2].partition("    @classmethod")[0].splitlines():
        found = KIND_LINE.match(line)
        if found and found["part"]:
            part = found["part"]
        elif found:
            yield Kind(found["value"]), part, found["words"] or ""


def _file(kind: Kind) -> str:
    return (kind.value or "none").replace(" ", "-")


def _reason(kind: Kind, part: str, words: str) -> Page:
    told = WORDS.get(kind, "")
    named = re.compile(rf"^{re.escape(kind.value or '-')}$")
    return page(
        f"reference/reasons/{_file(kind)}",
        f"Reason: {kind.value or 'none'}",
        f"{sentence(words)}\n",
        facts(
            [
                ("known from", plain(part.removeprefix("From "))),
                ("in words", code(told.replace("`", "'")) if told != TOLD else ""),
            ]
        ),
        places(named.search, UP),
        above=("Kinds of reasons", "../reasons.md"),
    )
