"""A site with some of the features: its state directory, its keeper, and what became of what was handed in."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jim.files import read_regular
from tests.pairs import features
from tests.pairs.covering import Row
from tests.pairs.handing_in import HOME, Answer, Doors
from tests.support.certificates import PROXY

STEPS = '''"""The steps of the site."""


def same(request):
    return request


def add(request):
    return request | {"environment": (request["environment"] or {}) | {"OF_STEPS": "added"}}


def each(request):
    kind = "split" if request.get("splitter") else "whole"
    return request | {"environment": (request["environment"] or {}) | {"OF_EACH": kind}}
'''
COUNTING = '''"""Count events."""

from jim.handlers.base import BY_REQUEST, Handler


class Counting(Handler):
    attributes = BY_REQUEST

    def command_and_arguments(self, request, job, piece):
        last = piece.first_event + piece.events - 1
        return (request["environment"]["HERE"] + "/payload.sh", str(piece.first_event), str(last), *job.recovery)


HANDLER = Counting
'''
NIGHTS = '''"""One night in a job."""

from dataclasses import dataclass
from itertools import groupby

from jim.splitting.files_and_jobs import SplitJob


@dataclass(frozen=True)
class Parameters:
    pass


def night(file):
    return file.lfn.split("/")[2]


def split(work, p):
    for number, (name, files) in enumerate(groupby(sorted(work.to_read, key=night), night)):
        yield SplitJob(number, None, tuple(files), baggage={"Night": name})
'''
CONTAINER = """#!/bin/sh
# Stands in for apptainer: "exec", options, the image, and a command.
shift
while [ "$1" != "$0.image" ]; do shift; done
shift
export INSIDE=yes
exec "$@"
"""
IN_STEPS = {
    "none": [],
    "same": ["pairsite.steps.same"],
    "add": ["pairsite.steps.add"],
    "around": ["pairsite.steps.add", "split", "pairsite.steps.each"],
}
FINAL = re.compile(rb"GRAM_SCRIPT_JOB_STATE:8\n|GRAM_SCRIPT_ERROR:|ended |0\[.*;JobStatus=4;")
LONGEST = 200  # seconds for all that was handed in


class Scene:
    """A site, and what was handed in."""

    def __init__(self, here: Path, site: Row) -> None:
        self.here, self.site, self.state = here, site, here / "state"
        self.doors = Doors(here, self.state)
        self.again: list[tuple[Row, Answer, Answer]] = []
        self.early: list[str] = []
        self.handed: list[tuple[Row, str, Answer]] = []
        self._furnish()
        self.state.mkdir(mode=0o700)
        (self.state / "site.toml").write_text(self._settings())
        if site["avoid"] == "other":
            assert self.doors.call("jim", "site", "avoid", "wn099", "--reason", "its disk is broken")[0] == 0

    def _furnish(self) -> None:
        here = self.here
        for name in (
            "own/pairsite",
            "tools",
            "scratch",
            "directory",
            "more",
            "catalogue/datasets",
            "catalogue/requests",
        ):
            (here / name).mkdir(parents=True)
        for name, text in (("steps", STEPS), ("counting", COUNTING), ("nights", NIGHTS)):
            (here / f"own/pairsite/{name}.py").write_text(text)
        for name, text in (("tools/pairs-tool", "#!/bin/sh\necho tool\n"), ("container", CONTAINER)):
            (here / name).write_text(text)
            (here / name).chmod(0o755)
        (here / "payload.sh").write_bytes((Path(__file__).parent / "payload.sh").read_bytes())
        (here / "payload.sh").chmod(0o755)
        (here / "setup.sh").write_text("OF_SETUP=yes\nexport OF_SETUP\n")
        (here / "catalogue/datasets/raw-1.json").write_text(json.dumps({"files": features.FILES}))
        (here / "catalogue/requests/r25.toml").write_text("events = 25\n")
        texts = {"container.image": "", "ledger": "", "one.txt": "one\n", "more/two.txt": "two\n", "read.txt": "read\n"}
        for name, text in texts.items():
            (here / name).write_text(text)
        for name, content in (("proxy", PROXY), ("token", b"a.b.c\n")):
            (here / name).write_bytes(content)
            (here / name).chmod(0o600)

    def _settings(self) -> str:
        here, has = self.here, {name: level for name, level in self.site.items() if level not in ("no", "none")}
        settings: dict[str, dict[str, Any]] = {
            "site": {
                "handlers": f"{here}/own",
                "catalogue": f"{here}/catalogue",
                "inputs_below": [str(here)],
                "steps": IN_STEPS[self.site["steps"]],
            },
            "batch": {"slots": 8, "query_seconds": 0.5} | ({"warn_seconds": 20} if "site_warns" in has else {}),
            "payload": {},
            "limits": {"attempts": 5, "retry_delay": "PT0S"}
            | ({"per_submission": 2, "queued_per_grid_job": 3} if self.site["submissions"] == "small" else {}),
            "sizing": {"learn": "learning" in has, "recommended_cpu_seconds": 1000},
            "keep": {"idle_seconds": 600},
        }
        payload = settings["payload"]
        payload |= (
            {"image": f"{here}/container.image", "container": [f"{here}/container", "exec"]}
            if "container" in has
            else {}
        )
        payload |= {"scratch": f"{here}/scratch"} if "scratch" in has else {}
        payload |= {"setup": f"{here}/setup.sh"} if "setup" in has else {}
        payload |= {"environment": ["LANG"]} if self.site["variables"] == "few" else {}
        payload |= {"tools": f"{here}/tools"} if "tools" in has else {}
        return "".join(
            f"[{section}]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
            for section, values in settings.items()
        )

    def __enter__(self) -> Scene:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.here), "JIM_STATE": str(self.state)}
        with (self.here / "keeper.err").open("wb") as err:
            self.keeper = subprocess.Popen(
                [HOME / "shell/jim", "keeper"],
                env=environment | {"JIM_PYTHON": sys.executable},
                stdin=subprocess.DEVNULL,
                stdout=err,
                stderr=err,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self.keeper.poll() is None:
            self.keeper.terminate()
        self.keeper.wait(30)
        with suppress(OSError, ValueError):
            os.kill(int((self.state / "batch/daemon.pid").read_text()), signal.SIGTERM)

    def asked(self, row: Row, name: str) -> dict[str, Any]:
        """Return the attributes of the request of a row; its files are those of this site."""
        asked = features.request(row, str(self.here)) | {"key": name}
        asked |= {each: f"{self.here}/{each}" for each in ("proxy", "token", "directory") if row[each] == "yes"}
        asked |= {"inputs": [f"{self.here}/one.txt", f"{self.here}/more"]} if row["inputs"] == "yes" else {}
        asked |= {"stdin": f"{self.here}/read.txt"} if row["stdin"] == "yes" else {}
        return asked

    def hand_in(self, row: Row, name: str) -> None:
        """Hand in the request of a row, perhaps twice, and leave a wish."""
        row = self.site | row
        asked = self.asked(row, name)
        answer = self.doors.hand_in(row["door"], name, asked)
        if answer.number and row["repeat"] == "yes":
            again = self.doors.hand_in(row["door"], name, asked)
            self.early += [f"a repeat: {again}\n    {self.doors_of(row)}"] * (again.number != answer.number)
        if answer.number:
            self._wish(row, answer.number)
        self.handed.append((row, name, answer))

    def _wish(self, row: Row, number: int) -> None:
        words = {
            "none": [],
            "priority": [("priority", number, "7")],
            "suspend": [("suspend", number), ("resume", number)],
            "edit": [("edit", number, "cores=1")],
        }
        for each in words[row["wish"]]:
            code, _, err = self.doors.call("jim", *each)
            late = "already sent" in err or "has ended" in err
            self.early += [f"{each}: {err}    {self.doors_of(row)}"] * (code != 0 and not late)

    def hand_in_again(self) -> None:
        """Hand in what the people's verbs make of the grid jobs that have ended: the work of their first local job."""
        for row, name, answer in [each for each in self.handed if each[2].number and each[0]["after"] != "none"]:
            target = f"{answer.number}.0" if row["after"] == "copy" else answer.number
            code, out, err = self.doors.call("jim", row["after"], target)
            if code or "Traceback" in err:
                self.early.append(f"jim {row['after']} {target}: {err}    {self.doors_of(row)}")
                continue
            again = self.doors.hand_in("people", f"again-{name}", json.loads(out))
            self.again.append((row, answer, again))

    def await_ends(self) -> None:
        """Wait until the answer of each grid job is final."""
        every = [*(answer for _, _, answer in self.handed), *(again for _, _, again in self.again)]
        pending = [answer.number for answer in every if answer.number]
        end = time.monotonic() + LONGEST
        while pending and time.monotonic() < end and self.keeper.poll() is None:
            pending = [each for each in pending if not FINAL.search(self.answer(each))]
            time.sleep(0.1)

    def answer(self, number: int) -> bytes:
        """Return the answer of polls."""
        return read_regular(self.state / f"answers/{number}", 10_000)

    def faults(self) -> list[str]:
        """Return all that is not as it must be."""
        lines = [line.split("\t") for line in (self.here / "ledger").read_text().splitlines()]
        every = self.early + [
            f"{fault}\n    {self.doors_of(row)}, grid job {answer.number}"
            for row, name, answer in self.handed
            for fault in self._faults_of(row, name, answer, [line for line in lines if line[1] == str(answer.number)])
        ]
        every += [
            f"{row['after']} of {answer.number}: {fault}\n    {self.doors_of(row)}, grid job {again.number}"
            for row, answer, again in self.again
            for fault in self._faults_of_again(row, again, [line for line in lines if line[1] == str(again.number)])
        ]
        log = (self.state / "keeper.log").read_text() if (self.state / "keeper.log").exists() else ""
        every += ["the keeper has ended"] if self.keeper.poll() is not None else []
        every += [f"keeper.log: {log[log.index('Traceback') - 300 :][:3000]}"] if "Traceback" in log else []
        return every

    def doors_of(self, row: Row) -> str:
        """Return the features of a row that are not the first ones."""
        factors = features.FACTORS | features.OF_SITES
        return " ".join(f"{name}={level}" for name, level in row.items() if level != factors[name][0])

    def _faults_of(self, row: Row, name: str, answer: Answer, lines: Sequence[Sequence[str]]) -> list[str]:
        if "Traceback" in answer.err or answer.code == 70:
            return [f"the door is broken: {answer}"]
        if answer.number is None:
            return [f"refused: {answer}"]
        if not FINAL.search(told := self.answer(answer.number)):
            return [f"never ended: {told!r}"]
        faults = [*ledger_faults(row, lines)]
        code, good = 5 if len(features.pieces(row)) == 1 else 1, row["end"] == "good"
        expected = {
            "arc": b"ended 0 " if good else b"ended %d " % code,
            "condor": b"JobStatus=4;ExitCode=%d;" % (0 if good else code),
        }.get(row["door"], b"GRAM_SCRIPT_JOB_STATE:8" if good else b"GRAM_SCRIPT_ERROR:17")
        faults += [] if expected in told else [f"the poll tells {told!r}, not {expected!r}"]
        return faults + self._tar_faults(row, answer.number) + self._place_faults(row, name, answer.number)

    def _faults_of_again(self, row: Row, again: Answer, lines: Sequence[Sequence[str]]) -> list[str]:
        if again.number is None:
            return [f"refused: {again}"]
        if not FINAL.search(told := self.answer(again.number)):
            return [f"never ended: {told!r}"]
        return ledger_faults(row, lines, features.pieces_again(row))

    def _place_faults(self, row: Row, name: str, number: int) -> list[str]:
        """Return what is wrong with stdout and stderr, where gatekeepers take them from."""
        if row["door"] not in features.GATEKEEPERS:
            return []
        own, pieces, attempt = self.here / name, features.pieces(row), len(features.first_ends(row)) + 1
        said = (
            self.doors.call("jim-deliver", number, own / "description.json") if row["door"] == "gram" else (0, "", "")
        )
        if said[0] or "cannot deliver" in said[1]:
            return [f"not delivered: {said}"]
        out = "".join(f"piece {piece}\n" for piece in pieces).encode()
        expected = {"out": out, "err": b"attempt %d\n" % attempt * len(pieces)}
        runs = row["work"] not in features.NO_PROGRAM
        # One program leaves its streams, several runs likewise where nothing else takes the place of stdout.
        as_tar = not runs or (len(pieces) > 1 and {"condor": True, "gram": row["outputs"] != "none"}.get(row["door"]))
        if as_tar:
            tar = (self.state / f"work/{number}/result/{number}.tar").read_bytes()
            expected = {"out": tar} if row["door"] != "arc" else {}
        found = {each: (own / each).read_bytes() if (own / each).exists() else None for each in expected}
        return [f"in its place: {str(found)[:500]}\n    not {str(expected)[:500]}"] if found != expected else []

    def _tar_faults(self, row: Row, number: int) -> list[str]:
        try:
            with tarfile.open(self.state / f"work/{number}/result/{number}.tar") as tar:
                found = {name: tar.extractfile(name).read() for name in tar.getnames() if not name.startswith("jim/")}  # type: ignore[union-attr]
        except (OSError, tarfile.TarError) as error:
            return [f"no tar: {error}"]
        attempt = len(features.first_ends(row)) + 1
        expected = {}
        for n, piece in enumerate(features.pieces(row)):
            failed = n == 0 and row["end"] == "fails"
            fetched = row["door"] in features.GATEKEEPERS and row["work"] not in features.NO_PROGRAM
            if row["tar"] == "summary" and not failed and not fetched:
                continue
            for name in features.left_by(row, failed):
                content = f"{attempt} {name}\n"
                content = f"piece {piece}\n" if name in ("stdout", "said") else content
                content = f"attempt {attempt}\n" if name in ("stderr", "complained") else content
                expected[f"{number}.{n}{'.failed' if failed else ''}/{name}"] = content.encode()
        found.pop("summary.json", None)
        return [] if found == expected else [f"the tar has {found}\n    not {expected}"]


def ledger_faults(row: Row, lines: Sequence[Sequence[str]], of: Sequence[str] = ()) -> list[str]:
    """Return what the payloads have written down and should not, or the other way round."""
    pieces, last = of or features.pieces(row), len(features.first_ends(row)) + 1
    begun = Counter((int(n), int(attempt), piece) for verb, _, n, attempt, piece, _ in lines if verb == "begun")
    done = Counter((int(n), int(attempt), piece) for verb, _, n, attempt, piece, _ in lines if verb == "done")
    must_begin = Counter((n, k, piece) for n, piece in enumerate(pieces) for k in range(1, last + 1))
    must_end = Counter((n, last, piece) for n, piece in enumerate(pieces) if n or row["end"] == "good")
    faults = [f"begun: {sorted(begun.items())}\n    not {sorted(must_begin)}"] if begun != must_begin else []
    faults += [f"done: {sorted(done.items())}\n    not {sorted(must_end)}"] if done != must_end else []
    must_see = {} if of else features.seen_by(row)
    for *_, attempt, _, seen in lines:
        sees = dict(re.findall(r"(\w+)=(.*?)(?= \w+=|$)", seen))
        sees["proxy"] = sees.get("proxy", "").partition(" ")[0]
        differ = {name: sees.get(name) for name, text in must_see.items() if sees.get(name) != text}
        if int(attempt) == last and differ:
            faults.append(f"seen: {differ}")
    return [*dict.fromkeys(faults)]
