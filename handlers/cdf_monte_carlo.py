"""CDF Monte Carlo: events from the generator to the production executable."""

from __future__ import annotations

from collections.abc import Sequence

from jim.handlers.base import Attribute, Attributes
from jim.handlers.shared.sam import BY_SAM_REQUEST, SAM, WORD, OfSAM, options
from jim.model import Job, Piece


class CDFMonteCarlo(OfSAM):
    """Each local job takes its own events through all phases of mcProduction."""

    attributes = (
        BY_SAM_REQUEST
        | SAM
        | {
            "cdf_release_version": Attribute(str, "release of CDF's software", required=True, pattern=WORD),
            "tarball_dataset": Attribute(
                str, "dataset of the user's tarball: cards and programs", required=True, pattern=WORD, names="dataset"
            ),
        }
    )
    program, phases = "mcProduction", ("cdfgen", "cdfsim", "trgsim", "production")

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Return the command for the piece's events, with the attempt's own seed."""
        facts = {
            "request_id": request["request_id"],
            "release": request["cdf_release_version"],
            "tarball_dataset": request["tarball_dataset"],
            "phases": ",".join(self.phases),
            "first_event": piece.first_event,
            "events": piece.events,
            "seed": job.seed,
        }
        return (request["program"] or self.program, *options(facts), *job.recovery)


HANDLER = CDFMonteCarlo
