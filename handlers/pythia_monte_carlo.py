"""Monte Carlo events of p p̄ → Z/γ* → e⁺e⁻ at the Tevatron, made by Pythia 8."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jim.errors import BadRequest
from jim.files import replace_durably
from jim.handlers.base import BY_EVENTS, Attribute, Attributes, Handler, Result
from jim.model import Job, Piece

PAYLOAD = Path(__file__).parent / "shared" / "pythia_generate.py"


class PythiaMonteCarlo(Handler):
    """Generates complete events and records the e⁺e⁻ mass of each; beside the tar lies a picture of the Z peak."""

    attributes = BY_EVENTS | {
        "mass_min_gev": Attribute(float, "least mass of the Z/γ*, in GeV", default=60.0, minimum=20, maximum=500),
        "mass_max_gev": Attribute(float, "largest mass of the Z/γ*, in GeV", default=120.0, minimum=21, maximum=1000),
    }
    cpu_seconds_per_event = 0.0035  # measured: Pythia 8.317, Xeon 2.5 GHz; 1.3 s to initialise come on top
    phases = ("initialise", "generate")

    def check(self, request: Attributes) -> None:
        """Refuse a mass window in which Pythia cannot generate."""
        low, high = request["mass_min_gev"], request["mass_max_gev"]
        if high < low + 1:
            raise BadRequest(f"{high:g} must be at least 1 GeV above mass_min_gev, {low:g}", "mass_max_gev")

    def prepare_work_area(self, request: Attributes, area: Path) -> None:
        """Send the generating script."""
        (area / PAYLOAD.name).write_bytes(PAYLOAD.read_bytes())

    def command_and_arguments(self, request: Attributes, job: Job, piece: Piece) -> Sequence[str]:
        """Generate the piece's events with the attempt's own seed."""
        numbers = (piece.events, piece.first_event, job.seed, request["mass_min_gev"], request["mass_max_gev"])
        # The keeper's own Python: where that and its pythia8mc are not, as on other nodes, this cannot run.
        return (sys.executable, f"input/{PAYLOAD.name}", *map(str, numbers))

    def outputs(self, request: Attributes) -> Iterable[str]:
        """Bring back the events and their summary."""
        return ("events.tsv", "summary.json", *super().outputs(request))

    def collect(self, request: Attributes, results: Iterator[Result], beside: Path) -> str:
        """Draw the mass of all electron pairs."""
        from jim.handlers.shared.histogram import Histogram, draw  # only the keeper draws
        from jim.handlers.shared.tables import column

        masses = Histogram.between(request["mass_min_gev"], request["mass_max_gev"])
        for mass in column("events.tsv", "mass_gev", results):
            masses.fill(mass)
        count = f"{masses.entries:,} events"
        picture = draw(masses, "p p̄ → Z/γ* → e⁺e⁻", "m(e⁺e⁻)", "GeV", ("Pythia 8, √s = 1.96 TeV", count))
        replace_durably(beside / "mass.svg", picture.encode())
        where = "has no peak" if masses.peak is None else f"peak at {masses.peak:.1f} GeV"
        return f"e+e- mass {where}, {count}, picture: mass.svg"


HANDLER = PythiaMonteCarlo
