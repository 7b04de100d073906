"""Generate p p̄ → Z/γ* → e⁺e⁻ at 1.96 TeV with Pythia 8. Runs on a worker node and needs nothing of JIM.

Every event is complete: parton showers with photon radiation, multiparton interactions, hadronisation.
The electrons are taken after their radiation, bare: a photon they have emitted is not added back.

Writes `events.tsv` (one line per event: its number, the pair's mass and transverse momentum) and then
`summary.json`; neither exists before it is complete.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess  # noqa: TID251 (this is the payload, not JIM)
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SETTINGS = (
    "Print:quiet = on",
    "Beams:idA = 2212",
    "Beams:idB = -2212",
    "Beams:eCM = 1960.",
    "WeakSingleBoson:ffbar2gmZ = on",
    "23:onMode = off",
    "23:onIfAny = 11",
    "Random:setSeed = on",
)
HEADER = "event\tmass_gev\tpt_gev\n"
FAILURES_IN_A_ROW = 100  # Pythia sometimes gives up an event; many failures in a row mean that it never succeeds
PUBLISH_SECONDS = 1.0
PUBLISH_LIMIT = 10.0


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Generate p pbar -> Z/gamma* -> e+e- events at 1.96 TeV.")
    for name in ("events", "first_event", "seed"):
        parser.add_argument(name, type=int)
    parser.add_argument("mass_min_gev", type=float, help="least mass of the Z/gamma*, before radiation, in GeV")
    parser.add_argument("mass_max_gev", type=float, help="largest mass, in GeV")
    return parser.parse_args()


def publish(phase: str, done: int, total: int, unit: str) -> None:
    """Report the progress of a phase, if `$JIM_PUBLISH` is set; a failure never stops the generation."""
    program = os.environ.get("JIM_PUBLISH")
    if not program:
        return
    words = [program, "phase", phase, str(done), str(total), unit]
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, timeout=PUBLISH_LIMIT, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"could not publish {phase} {done}/{total}: {error}\n")


def pacer(total: int) -> Callable[[int], bool]:
    """Return a function that decides when to publish: after at least a second and 5 %."""
    last = [time.monotonic(), 0.0]

    def due(done: int) -> bool:
        now = time.monotonic()
        if now - last[0] < PUBLISH_SECONDS or (done - last[1]) * 20 < total:
            return False
        last[:] = now, float(done)
        return True

    return due


def generator(asked: argparse.Namespace) -> Any:
    """Start Pythia, or end with a sentence that says why this fails."""
    try:
        import pythia8mc
    except ImportError as error:
        sys.exit(f"Pythia is missing: {sys.executable} has no module pythia8mc ({error}); pip install pythia8mc")
    pythia = pythia8mc.Pythia("", False)
    low, high = asked.mass_min_gev, asked.mass_max_gev
    ours = (f"Random:seed = {asked.seed}", f"PhaseSpace:mHatMin = {low}", f"PhaseSpace:mHatMax = {high}")
    for line in (*SETTINGS, *ours):
        if not pythia.readString(line):  # without its data files, Pythia refuses the first setting
            data = os.environ.get("PYTHIA8DATA", "not set")
            sys.exit(f"Pythia refused the setting '{line}'; are its data files there? PYTHIA8DATA is {data}")
    if not pythia.init():
        sys.exit(f"Pythia could not be initialised for {low:g} to {high:g} GeV and seed {asked.seed}")
    return pythia


def electrons(event: Any) -> tuple[Any, Any]:
    """Find the electron and the positron that the Z/γ* became, after all radiation."""
    boson = next(each for each in event if each.id() == 23).iBotCopyId()  # a new copy for each recoil
    one, other = (event[event[each].iBotCopyId()] for each in event[boson].daughterList())
    return one, other


def pairs(pythia: Any, events: int) -> Iterator[Any]:
    """Generate this many events and yield the momentum of each electron pair."""
    failures = 0
    while events:
        if pythia.next():
            one, other = electrons(pythia.event)
            yield one.p() + other.p()
            events, failures = events - 1, 0
            continue
        failures += 1
        if failures == FAILURES_IN_A_ROW:
            sys.exit(f"Pythia failed {failures} times in a row to generate an event, {events} before the end")


def generate(pythia: Any, asked: argparse.Namespace) -> None:
    """Write the events, and publish the progress."""
    due = pacer(asked.events)
    publish("generate", 0, asked.events, "events")
    with Path("events.tsv.part").open("w") as file:
        file.write(HEADER)
        for done, pair in enumerate(pairs(pythia, asked.events)):
            file.write(f"{asked.first_event + done}\t{pair.mCalc():.4f}\t{pair.pT():.4f}\n")
            if due(done + 1):
                publish("generate", done + 1, asked.events, "events")
    Path("events.tsv.part").replace("events.tsv")


def summarise(pythia: Any, asked: argparse.Namespace) -> None:
    """Write the facts that a physicist needs to use the events."""
    info = pythia.infoPython()
    facts = {
        "generator": f"Pythia {pythia.settings.parm('Pythia:versionNumber'):.3f}",
        "process": "p pbar -> Z/gamma* -> e+e-",
        "sqrt_s_gev": 1960.0,
        **vars(asked),
        "cross_section_pb": info.sigmaGen() * 1e9,
        "cross_section_error_pb": info.sigmaErr() * 1e9,
        "cpu_seconds": round(time.process_time(), 2),
    }
    Path("summary.json.part").write_text(json.dumps(facts, indent=1) + "\n")
    Path("summary.json.part").replace("summary.json")


def main() -> None:
    """Run the two phases."""
    asked = options()
    publish("initialise", 0, 1, "generators")
    pythia = generator(asked)
    publish("initialise", 1, 1, "generators")
    generate(pythia, asked)
    summarise(pythia, asked)
    publish("generate", asked.events, asked.events, "events")


if __name__ == "__main__":
    main()
