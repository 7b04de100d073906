"""The program of a request that its own account hands in: where it lies beside the request, it is sent along."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jim.errors import BadRequest
from jim.handlers.base import PROGRAM, Handler, has_variable
from jim.request import handler_of
from jim.site.file import Site
from jim.trust import ROOT


def with_program(attributes: Mapping[str, Any], own: str, here: Path) -> dict[str, Any]:
    """Add the program to the inputs if it lies in this directory, and a worker node would find no other one."""
    try:
        if not _runs_programs(handler_of(attributes.get("job_type"), own)):
            return dict(attributes)
    except BadRequest:  # the check of the request says it
        return dict(attributes)
    program, inputs = attributes.get("executable"), attributes.get("inputs") or []
    name = program.removeprefix("./") if isinstance(program, str) else ""
    if not _is_file_name(name) or not isinstance(inputs, list) or _sent(attributes):
        return dict(attributes)
    if not is_regular(here / name) or (name == program and is_on_path(name)):
        return dict(attributes)
    if name == program:
        require_own(here / name)
    return {**attributes, "inputs": [*inputs, name]}


def require_own(path: Path) -> None:
    """Refuse a program that somebody else may have put where JIM looks for a bare name: in /tmp anybody can."""
    owners = {path.lstat().st_uid, path.stat().st_uid} - {ROOT, os.geteuid()}
    if owners and path.parent.stat().st_mode & stat.S_IWOTH:
        raise BadRequest(
            f"{path} belongs to another account, and everybody can write to its directory: "
            f"name it ./{path.name} if you trust it",
            "executable",
        )


def require_program(handler: Handler, checked: Mapping[str, Any], site: Site) -> None:
    """Refuse a program that may not be executed, or that local jobs on this machine could not find."""
    if not _runs_programs(handler):
        return
    sent = _sent(checked)
    if sent and is_regular(Path(sent)) and not os.access(sent, os.X_OK):
        raise BadRequest(f"{sent} cannot be executed; `chmod +x` allows it", "executable")
    if site.batch.system == "local" and (name := missing_program(handler, checked, site)):
        raise BadRequest(
            f"{name} lies neither beside the request nor in a directory of PATH: name the file in inputs to send it "
            "along, or give an absolute path",
            "executable",
        )


def missing_program(handler: Handler, checked: Mapping[str, Any], site: Site) -> str:
    """Return the name of a program that is not sent along, and that this machine does not find."""
    name, payload = checked.get("executable") or "", site.payload
    if payload.tools or payload.setup or payload.image or not _runs_programs(handler):
        return ""
    known = not _is_file_name(name) or _sent(checked) or is_on_path(name)
    return "" if known else name


def _runs_programs(handler: Handler) -> bool:
    """Tell whether a job type runs what a request names; SAMGrid's types only accept the word."""
    declared = handler.attributes.get("executable")
    return declared is not None and declared.pattern == PROGRAM


def _is_file_name(name: str) -> bool:
    return bool(name) and "/" not in name and not has_variable(name)


def _sent(attributes: Mapping[str, Any]) -> str:
    """Return the path of the program among the inputs."""
    name = attributes["executable"].removeprefix("./")
    return next((each for each in attributes.get("inputs") or () if str(each).rpartition("/")[2] == name), "")


def is_regular(path: Path) -> bool:
    """Tell whether there is a regular file, or a link to one."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):  # a name with a NUL
        return False


def is_on_path(name: str) -> bool:
    """Tell whether this machine finds a program by its name."""
    # `shutil.which` would do, and takes longer to load than all of this.
    places = [Path(each, name) for each in os.get_exec_path() if each]
    return any(is_regular(each) and os.access(each, os.X_OK) for each in places)
