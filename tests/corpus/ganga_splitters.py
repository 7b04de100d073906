"""Cases of Ganga's splitters: a job in Ganga's words or its files in, what each subjob has out."""

from __future__ import annotations

from typing import Any

from jim.splitting.files_and_jobs import File
from jim.splitting.parameters import check
from jim.splitting.registry import splitter_of
from jim.splitting.subscription import Subscription
from tests.corpus.difference import Difference, same

OURS = {"exe": "executable", "args": "arguments", "env": "environment"}
APPLICATION = "application."


def takes(case: dict[str, Any]) -> bool:
    return case.get("splitter") in ("ArgSplitter", "GenericSplitter", "GangaDatasetSplitter")


def answer(case: dict[str, Any]) -> list[dict[str, Any]]:
    module = splitter_of(case["splitter"])
    p = check(module.Parameters, _in_our_words(case["params"]))
    if "base_job" not in case:
        files = tuple(File(lfn) for lfn in case["files"])
        return [{"files": [each.lfn for each in job.files]} for job in module.split(Subscription(files), p)]
    request = {OURS.get(name, name): value for name, value in case["base_job"].items()}
    jobs = module.split(request, p)
    theirs = {our: word for word, our in OURS.items()}
    return [{theirs.get(name, name): value for name, value in job.items()} for job in jobs]


def _in_our_words(params: dict[str, Any]) -> dict[str, Any]:
    ours = dict(params)
    if "attribute" in params:
        ours["attribute"] = _ours(params["attribute"])
    if "multi_attrs" in params:
        ours["multi_attrs"] = {_ours(name): values for name, values in params["multi_attrs"].items()}
    return ours


def _ours(attribute: str) -> str:
    name, dot, rest = attribute.removeprefix(APPLICATION).partition(".")
    return OURS.get(name, name) + dot + rest


def compare(case: dict[str, Any], got: list[dict[str, Any]]) -> Difference | None:
    wanted = case["expected"]["subjobs"]
    if len(wanted) != len(got):
        return Difference("number of subjobs", len(wanted), len(got))
    for n, (one, other) in enumerate(zip(wanted, got, strict=True)):
        told = {name: value for name, value in other.items() if name in one}
        if not same(one, told):
            return Difference(f"subjob {n}", one, told)
    return None
