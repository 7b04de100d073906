"""What doors share whose gatekeeper has a language of its own for jobs, and passes what JIM needs as texts."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from jim.doors.contract import Door, Places
from jim.errors import BadRequest
from jim.site.realm import Realm

JOB = "job"  # the only attribute of a request, before the door turns it into attributes
FILES = {"inputs", "stdin", "proxy", "token"}  # attributes that name files
STREAMS = {"stdout", "stderr"}
OURS = "JIM_"  # begins the names of variables that are attributes of JIM


class OwnLanguage(Door):
    """A door all of whose requests are in the language of its gatekeeper.

    The module `request` of the door's folder reads them: `read`, `attributes_of`, `places_of`, `realm_of`, and
    `CALLED`, the gatekeeper's names of attributes. It is loaded only for a submission.
    """

    def _language(self) -> Any:
        return importlib.import_module(f"{type(self).__module__}.request")

    def read(self, file: Path, own: str) -> dict[str, Any]:
        """Read the job."""
        return {JOB: self._language().read(file)}

    def reads(self, asked: Mapping[str, Any]) -> bool:
        """Tell that every request is in this door's language."""
        return True

    def attributes(self, asked: Mapping[str, Any], own: str) -> dict[str, Any]:
        """Turn the job into attributes."""
        attributes: dict[str, Any] = self._language().attributes_of(asked[JOB], own)
        return attributes

    @contextmanager
    def in_its_words(self, asked: Mapping[str, Any]) -> Iterator[None]:
        """Make refusals raised inside use the gatekeeper's names."""
        try:
            yield
        except BadRequest as error:
            called = self._language().CALLED
            if error.about not in called:
                raise
            name = called[error.about]
            raise BadRequest(error.words, name, told=f"{name} ({error.told})") from error

    def places(self, asked: Mapping[str, Any]) -> Places:
        """Return the places of outputs in the directory of the job."""
        places: Places = self._language().places_of(asked[JOB])
        return places

    def realm(self, asked: Mapping[str, Any]) -> Realm:
        """Return the files that the gatekeeper has made for the job."""
        realm: Realm = self._language().realm_of(asked[JOB])
        return realm


def of_jim(variables: Mapping[str, str]) -> dict[str, str]:
    """Return those of these texts that are attributes of JIM, by the names of attributes."""
    return {name[len(OURS) :].lower(): text for name, text in variables.items() if name.upper().startswith(OURS)}


def with_texts(attributes: dict[str, Any], told: Mapping[str, str], own: str, directory: str) -> dict[str, Any]:
    """Add attributes that the gatekeeper passes as texts, each as the kind that the job type declares.

    Names of files are relative to the directory of the job.
    By the gatekeeper's own key of a job JIM tells repeats from other jobs, so no user chooses it.
    """
    if not told:  # most jobs are one program, and need none of that module
        return attributes
    from jim.request.texts import attributes_of

    found = attributes_of(told, attributes["job_type"], own)
    if "key" in found:
        raise BadRequest("the gatekeeper names each job itself; leave this out", "key")
    if streams := sorted(STREAMS & found.keys()):
        raise BadRequest("the gatekeeper itself names the place of this; use its own attribute", streams[0])
    for name in FILES & found.keys():
        paths = found[name]
        in_directory = partial(os.path.join, directory)
        found[name] = [*map(in_directory, paths)] if isinstance(paths, list) else in_directory(paths)
    return attributes | found


def literally(name: str) -> str:
    """Return the pattern that only this name matches: a gatekeeper names outputs, and JIM takes patterns."""
    return re.sub(r"[*?[]", r"[\g<0>]", name)


def whole(text: str, name: str) -> int:
    """Return a whole number, 0 if there is none; `name` is the gatekeeper's."""
    if text and not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise BadRequest(f"expected a whole number, found {text[:80]!r}", name)
    return int(text or 0)
