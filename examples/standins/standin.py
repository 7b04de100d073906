"""What the stand-in programs of this folder do; README tells how to use them. It needs nothing but Python.

A file holds a line of fixed length for each event, its number first. Beside each, NAME.json says what SAM is told.
"""

import configparser
import json
import os
import signal
import sys
import time
from pathlib import Path

# Bytes of an event: invented, and much smaller than the real ones.
BYTES = {"generator": 40, "d0gstar": 160, "d0sim": 120, "d0reco": 80}
BYTES |= {"cdfgen": 40, "cdfsim": 160, "trgsim": 120, "production": 80, "merged": 80}
SEGFAULT = 128 + signal.SIGSEGV


def options(words):
    """Read --name=value and plain words; `skip_event` may be said often."""
    said, plain = {"skip_event": []}, []
    for word in words:
        name, is_given, value = word.removeprefix("--").partition("=")
        if not (word.startswith("--") and is_given):
            plain.append(word)
        elif name == "skip_event":
            said[name].append(int(value))
        else:
            said[name] = value
    return said, plain


def publish(phase, done, total):
    """Tell JIM how far a phase is; outside of JIM there is nobody to tell."""
    program = os.environ.get("JIM_PUBLISH")
    if program:
        words = [program, "phase", phase, str(done), str(total), "events"]
        os.spawnv(os.P_WAIT, program, words)  # noqa: S606 - a list of words needs no shell


def trouble(phase):
    """Return the events at which a phase is to fail, and how."""
    wanted = (each.split(":") for each in os.environ.get("STANDIN_TROUBLE", "").split())
    return {int(event): how for which, event, how in wanted if which == phase}


def write(phase, name, events, facts):
    """Write a file of a phase, event by event; return how it ended, as a shell says it."""
    fatal = trouble(phase)
    pause = float(os.environ.get("STANDIN_SECONDS_PER_EVENT", "0"))
    with Path(name).open("w") as file:
        for event in events:
            if event in fatal:
                file.flush()
                os.kill(os.getpid(), signal.SIGSEGV) if fatal[event] == "segfault" else os._exit(int(fatal[event]))
            file.write(f"{event:9d} {phase}".ljust(BYTES[phase] - 1, ".") + "\n")
            time.sleep(pause)
    about = {"file_name": name, "file_size": Path(name).stat().st_size, "event_count": len(events), **facts}
    Path(f"{name}.json").write_text(json.dumps(about) + "\n")


def run(phase, name, events, facts):
    """Write a file in a process of its own, which may die; then say at which event, and leave that for the next try."""
    child = os.fork()
    if child == 0:
        write(phase, name, events, facts)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0:
        return
    done = Path(name).read_text().count("\n")
    sys.stderr.write(f"{phase}: {'segmentation fault' if code < 0 else f'exit {code}'} at event {events[done]}\n")
    if code < 0 and "JIM_RECOVERY" in os.environ:
        skip = " ".join(f"--skip_event={each}" for each in [*facts["skipped"], events[done]])
        Path(os.environ["JIM_RECOVERY"]).write_text(f"recoverable {skip}\n")
    sys.exit(SEGFAULT if code < 0 else code)


def wait_for_gate():
    """Let whoever tries things out have time to look."""
    gate = os.environ.get("STANDIN_GATE")
    while gate and not Path(gate).exists():
        time.sleep(0.02)


def read(name):
    """Return the events of an input file, which a SAM station would have delivered; some lie beside this program."""
    places = os.environ.get("SAM_STORAGE", "."), Path(__file__).with_name("storage")
    file = next((place for place in (Path(each, name) for each in places) if place.is_file()), Path(places[0], name))
    if not file.is_file():
        sys.exit(f"{file} was not delivered")
    return [int(line[:9]) for line in file.read_text().splitlines()]


def generate(said):
    """Take events through all phases."""
    first, count = int(said["first_event"]), int(said["events"])
    each = int(said.get("events_per_file", count))
    skipped = said["skip_event"]
    stem = f"{said['release']}_{said['request_id']}"
    parents = {}
    for phase in said["phases"].split(","):
        publish(phase, 0, count)
        for start in range(first, first + count, each):
            events = [e for e in range(start, min(start + each, first + count)) if e not in skipped]
            name = f"{phase}_{stem}_{start:08d}"
            facts = {"first_event": start, "parents": parents.get(start, []), "seed": said["seed"], "skipped": skipped}
            run(phase, name, events, facts)
            parents[start] = [name]
        publish(phase, count, count)
        wait_for_gate()


def reconstruct(said, names):
    """Make a file of each."""
    for name in names:
        events = [event for event in read(name) if event not in said["skip_event"]]
        publish("d0reco", 0, len(events))
        stem = Path(name).name
        run("d0reco", f"d0reco_{stem}", events, {"first_event": events[0], "parents": [name], "skipped": []})
        publish("d0reco", len(events), len(events))


def merge(said, names):
    """Make one file of all."""
    events = [event for name in names for event in read(name)]
    publish("merged", 0, len(events))
    run("merged", said["output"], events, {"first_event": min(events), "parents": names, "skipped": []})
    publish("merged", len(events), len(events))


def main(what, *words):
    """Be one of the programs."""
    said, plain = options(words)
    if what == "d0runjob":
        ini = configparser.ConfigParser(interpolation=None)
        ini.read(plain)
        said = {**ini["workflow"], **said}
    if what in ("mc_runjob", "d0runjob", "mcProduction"):
        generate(said)
    else:
        (reconstruct if what == "d0reco" else merge)(said, plain)


if __name__ == "__main__":
    main(*sys.argv[1:])
