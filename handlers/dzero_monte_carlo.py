"""D0 Monte Carlo: events from the generator to d0reco, by mc_runjob or by D0Runjob."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from jim.handlers.base import Attribute, Attributes
from jim.handlers.shared.sam import BY_SAM_REQUEST, SAM, WORD, OfSAM, options
from jim.model import Job, Piece

EVENTS_PER_FILE = 250


class DzeroMonteCarlo(OfSAM):
    """Each local job takes its own events through all phases. A file of a phase holds at most 250 events."""

    attributes = (
        BY_SAM_REQUEST
        | SAM
        | {
            "d0_release_version": Attribute(str, "release of D0's software", required=True, pattern=WORD),
            "jobfiles_dataset": Attribute(
                str, "dataset of the release, the cards and mc_runjob", required=True, pattern=WORD, names="dataset"
            ),
            "minbias_dataset": Attribute(str, "minimum-bias events that d0sim adds", pattern=WORD, names="dataset"),
            "runjob": Attribute(
                str,
                "program that runs the phases: mc_runjob with a command line, d0runjob (from 2007 on) with an ini file",
                default="mc_runjob",
                allowed=("mc_runjob", "d0runjob"),
            ),
            "files_per_phase": Attribute(
                str,
                "one: a local job has at most the events of one file; several: as many as its CPU time allows",
                default="one",
                allowed=("one", "several"),
            ),
        }
    )
    events_per_job = EVENTS_PER_FILE
    phases = ("generator", "d0gstar", "d0sim", "d0reco")

    def most_events_per_job(self, request: Attributes) -> int | None:
        """Allow more events than a file holds only if a phase may write several files."""
        return EVENTS_PER_FILE if request["files_per_phase"] == "one" else None

    def prepare_work_area(self, request: Attributes, area: Path) -> None:
        """Write D0Runjob's workflow: all that is the same in every local job."""
        if request["runjob"] == "d0runjob":
            lines = [f"{name} = {value}\n" for name, value in self._workflow(request).items() if value is not None]
            (area / "d0runjob.ini").write_text(f"[workflow]\n{''.join(lines)}")

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Return the command for the piece's events, with the attempt's own seed."""
        own = options({"first_event": piece.first_event, "events": piece.events, "seed": job.seed})
        by_ini = request["runjob"] == "d0runjob"
        workflow = ["input/d0runjob.ini"] if by_ini else options(self._workflow(request))
        return (request["program"] or request["runjob"], *workflow, *own, *job.recovery)

    def _workflow(self, request: Attributes) -> Mapping[str, object]:
        return {
            "request_id": request["request_id"],
            "release": request["d0_release_version"],
            "jobfiles_dataset": request["jobfiles_dataset"],
            "minbias_dataset": request["minbias_dataset"],
            "phases": ",".join(self.phases),
            "events_per_file": EVENTS_PER_FILE,
        }


HANDLER = DzeroMonteCarlo
