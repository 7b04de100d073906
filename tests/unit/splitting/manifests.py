"""Manifests, split by their parameters."""

from __future__ import annotations

from typing import Any

from jim.splitting.parameters import check
from jim.splitting.rules import parametric, parametric_jdl


def values(**options: Any) -> list[str]:
    p = check(parametric.Parameters, options)
    jobs = list(parametric.split({"Executable": "e", **options}, p))
    assert all(job.keys() == {"Executable", "Parameter"} for job in jobs)
    return [job["Parameter"] for job in jobs]


def jobs(most: int = 20, **options: Any) -> list[dict[str, Any]]:
    return list(parametric_jdl.split(options, parametric_jdl.Parameters(most)))
