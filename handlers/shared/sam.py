"""Shared parts of SAMGrid's job types: attributes of its job description files, and work on files of SAM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jim.handlers.base import BY_REQUEST, PROGRAM, SPLITTING, Attribute, Attributes, Handler
from jim.model import Job, Piece

WORD = r"\w\S*"  # never an option

SAM = {
    "program": Attribute(str, "the program, if it is not the usual one on the worker's PATH", pattern=PROGRAM),
    "sam_experiment": Attribute(str, "the experiment that owns the SAM database", pattern=WORD),
    "sam_universe": Attribute(str, "SAM's database", default="prd", allowed=("prd", "int", "dev")),
    "station_name": Attribute(str, "the SAM station that delivers the files", pattern=WORD),
    "group": Attribute(str, "the group whose SAM account is charged", pattern=WORD),
    "executable": Attribute(str, "required by SAMGrid's client; JIM does not run it"),
    "instances": Attribute(int, "number of runs, as in SAMGrid's client; always 1", default=1, minimum=1, maximum=1),
    "check_consistency": Attribute(
        str, "accepted from SAMGrid's client; JIM always checks", default="true", allowed=("true", "false")
    ),
}
# Also under SAMGrid's names.
BY_SAM_REQUEST = BY_REQUEST | {
    "events": BY_REQUEST["events"]._replace(also=("runjob_numevts",)),
    "request_id": BY_REQUEST["request_id"]._replace(required=True, pattern=WORD, also=("runjob_requestid",)),
}
TOLD = {"sam_experiment": "SAM_EXPERIMENT", "sam_universe": "SAM_UNIVERSE", "station_name": "SAM_STATION"}
TOLD |= {"group": "SAM_GROUP"}


def split_by(splitter: str) -> dict[str, Attribute]:
    """Declare the dataset to split, and the default splitter."""
    return SPLITTING | {"splitter": SPLITTING["splitter"]._replace(default=splitter)}


def options(facts: Mapping[str, object]) -> list[str]:
    """Return facts as words of a command; leave out those that are None."""
    return [f"--{name}={value}" for name, value in facts.items() if value is not None]


class OfSAM(Handler):
    """A job type that runs one program of its experiment."""

    program = ""  # the usual program

    def environment(self, request: Attributes) -> Mapping[str, str]:
        """Set the variables of SAM's own client, which name the SAM system."""
        told = {variable: request[name] for name, variable in TOLD.items() if request[name]}
        return {**told, **super().environment(request)}

    def outputs(self, request: Attributes) -> Iterable[str]:
        """Return the outputs of each phase, and their metadata files."""
        return (*(f"{phase}_*" for phase in self.phases), *super().outputs(request))

    def stem(self, request: Attributes, name: str) -> str:
        """Name outputs after the request or the dataset; the programs name the files of phases by themselves."""
        if name.startswith(tuple(f"{phase}_" for phase in self.phases)):
            return ""
        return str(request.get("request_id") or request.get("dataset") or request["job_type"])


class OverFiles(OfSAM):
    """A job type that makes new files from the files of a dataset."""

    release = ""  # the attribute that names the release

    def facts(self, request: Attributes, job: Job) -> Mapping[str, object]:
        """Return the facts that the program gets besides its input files."""
        return {"release": request[self.release]}

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Return the program with the names of its files; arguments that an earlier attempt left come first."""
        facts = options(self.facts(request, job))
        return (request["program"] or self.program, *facts, *job.recovery, *piece.files)


class Merging(OverFiles):
    """A job type that makes one large file of small ones."""

    phases = ("merged",)

    def facts(self, request: Attributes, job: Job) -> Mapping[str, object]:
        """Return the name of the new file: the same in every attempt, different in every local job."""
        return {**super().facts(request, job), "output": f"merged_{job.grid_job}.{job.n}"}
