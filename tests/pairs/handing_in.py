"""The doors, each with a request in the words of its gatekeeper, and the end that each tells."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).parents[2]
NATIVE = ("job_type", "executable", "arguments", "environment", "inputs", "stdin", "proxy", "token", "key")


IDS = {
    "people": re.compile(r"(\d+)\n"),
    "plain": re.compile(r"GRAM_SCRIPT_JOB_ID:(\d+)\n(?s:.*)"),
    "gram": re.compile(r"GRAM_SCRIPT_JOB_ID:(\d+)\n(?s:.*)"),
    "arc": re.compile(r"\d+\.(\d+)"),
    "condor": re.compile(r"BLAHP_JOBID_PREFIXjim/\d{8}/(\d+)\n"),
}


class Answer(NamedTuple):
    """What a door has answered."""

    code: int
    out: str
    err: str
    number: int | None


class Doors:
    """The doors of a state directory, called as programs."""

    def __init__(self, here: Path, state: Path) -> None:
        self.here, self.state = here, state

    def call(self, name: str, *words: object, **variables: str) -> tuple[int, str, str]:
        """Call a program of shell/; return its exit code, stdout and stderr."""
        usual = {"PATH": "/usr/bin:/bin", "HOME": str(self.here), "LANG": "C.UTF-8"}
        environment = {**usual, "JIM_STATE": str(self.state), "JIM_PYTHON": sys.executable, **variables}
        command = [str(HOME / "shell" / name), *map(str, words)]
        done = subprocess.run(
            command, cwd=self.here, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def hand_in(self, door: str, name: str, asked: Mapping[str, Any]) -> Answer:
        """Hand a request in; `name` is that of its own directory, and for gatekeepers its key."""
        own = self.here / name
        own.mkdir(exist_ok=True)
        code, out, err = getattr(self, f"_{door}")(own, dict(asked))
        number = IDS[door].fullmatch(self._id(door, own, out))
        return Answer(code, out, err, int(number[1]) if number else None)

    def _id(self, door: str, own: Path, out: str) -> str:
        grami = own / f"job.{own.name}.grami"
        return grami.read_text().partition("joboption_jobid=")[2].partition("\n")[0] if door == "arc" else out

    def _people(self, own: Path, asked: dict[str, Any]) -> tuple[int, str, str]:
        (own / "request.json").write_text(json.dumps(asked))
        return self.call("jim", "submit", own / "request.json")

    def _plain(self, own: Path, asked: dict[str, Any]) -> tuple[int, str, str]:
        (own / "request.json").write_text(json.dumps(asked))
        return self.call("jim-submit", own / "request.json")

    def _gram(self, own: Path, asked: dict[str, Any]) -> tuple[int, str, str]:
        told = {name.replace("_", ""): of_gram(value) for name, value in asked.items() if name not in ("key", "proxy")}
        told["jimjobtype"] = told.pop("jobtype")
        told["environment"] = [[name, text] for name, text in asked["environment"].items()]
        told["environment"] += [["X509_USER_PROXY", asked["proxy"]]] if "proxy" in asked else []
        usual = {"uniqid": [own.name], "directory": [str(self.here)], "jobdir": [str(own)], "count": ["1"]}
        usual |= {"stdout": [f"{own}/out"], "stderr": [f"{own}/err"], "stdin": ["/dev/null"], "jobtype": ["multiple"]}
        (own / "description.json").write_text(json.dumps({"executable": ["/bin/true"]} | usual | told))
        return self.call("jim-submit", own / "description.json")

    def _arc(self, own: Path, asked: dict[str, Any]) -> tuple[int, str, str]:
        lines = {"directory": str(own), "controldir": str(own), "gridid": own.name}
        lines |= {"stdout": f"{own}/out", "stderr": f"{own}/err"}
        lines |= {
            f"arg_{n}": word
            for n, word in enumerate([asked.get("executable", "/bin/true"), *asked.get("arguments", ())])
        }
        ours = {f"JIM_{name.upper()}": as_text(value) for name, value in asked.items() if name not in NATIVE}
        ours |= {"JIM_JOB_TYPE": asked["job_type"]}
        ours |= {"JIM_TOKEN": bring(asked["token"], own)} if "token" in asked else {}
        variables = enumerate({**asked["environment"], **ours}.items())
        lines |= {f"env_{n}": f"{name}={text}" for n, (name, text) in variables}
        lines |= {f"inputfile_{n}": bring(path, own) for n, path in enumerate(asked.get("inputs", ()))}
        lines |= {"stdin": bring(asked["stdin"], own)} if "stdin" in asked else {}
        if "proxy" in asked:
            shutil.copy(asked["proxy"], own / f"job.{own.name}.proxy")
        told = "".join("joboption_{}='{}'\n".format(name, text.replace("'", "'\\''")) for name, text in lines.items())
        grami = own / f"job.{own.name}.grami"
        if not grami.exists():
            grami.write_text(told)
        return self.call("arc/submit-jim-job", "--config", "arc.conf", grami)

    def _condor(self, own: Path, asked: dict[str, Any]) -> tuple[int, str, str]:
        words = ["-c", asked.get("executable", "/bin/true"), "-w", own, "-o", "out", "-e", "err", "-D", own.name]
        words += ["-i", bring(asked["stdin"], own) if "stdin" in asked else os.devnull]
        variables = dict(asked["environment"])
        variables |= {"BEARER_TOKEN_FILE": bring(asked["token"], own)} if "token" in asked else {}
        words += ["-V", " ".join(f'"{name}={text}"' for name, text in variables.items())]
        words += ["-x", asked["proxy"]] if "proxy" in asked else []
        if "inputs" in asked:
            (own / "list").write_text("".join(f"{bring(path, own)}\n" for path in asked["inputs"]))
            words += ["-I", own / "list"]
        ours = {f"JIM_{name}": as_text(value) for name, value in asked.items() if name not in NATIVE}
        ours |= {"JIM_job_type": asked["job_type"]}
        quoted = ("{}='{}'\n".format(name, text.replace("'", "'\\''")) for name, text in ours.items())
        (own / "attributes").write_text("".join(quoted))
        words += ["-C", own / "attributes"]
        arguments = ('"{}"'.format(word.replace('"', '\\"')) for word in asked.get("arguments", ()))
        return self.call("condor/jim_submit.sh", *words, "--", *arguments)


def bring(path: str, own: Path) -> str:
    """Bring a file into the directory of the job, as gatekeepers do; return its name."""
    target = own / Path(path).name
    if Path(path).is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True)
    elif not target.exists():
        shutil.copy(path, target)
    return target.name


def as_text(value: Any) -> str:
    """Return a value as gatekeepers pass it: a text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def of_gram(value: Any) -> list[str]:
    """Return a value as GRAM passes it: a list of texts."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    return [as_text(value)]
