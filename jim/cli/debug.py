"""jim debug: a shell, or one more run, in a copy of what the worker node has of a local job."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path

from jim.cli.arguments import whole_number
from jim.cli.logs import attempt_of, show_file
from jim.cli.text import facts, plain, say
from jim.command import attend
from jim.errors import BadRequest, JimError
from jim.evidence.verdict import of_exit_record
from jim.jobs import Attempt, GridJob, LocalJob
from jim.model import MARK_VARIABLE, State
from jim.reading.view import View, look
from jim.workdir.claims import trace
from jim.workdir.copying import LEFT, Copy, copied
from jim.workdir.removed import was_remade, was_removed
from jim.workdir.submission import submission_directory

# The wrapper runs this in place of the payload. What the attempt has left is put beside what every attempt finds.
SHELL = """
left=$1 PS1=$2
export PS1
for file in "$left"/* "$left"/.[!.]*; do
    name=${file##*/}
    if [ -e "$name" ] || [ -L "$name" ]; then
        case $name in stdout | stderr) cat "$file" >"$name" ;; esac
    else
        [ ! -e "$file" ] || cp -RP "$file" .
    fi
done
heeding= # Ctrl-C, to which a payload is deaf
! env --default-signal=INT,QUIT true 2>/dev/null || heeding='env --default-signal=INT,QUIT'
shell='sh -i'
! command -v bash >/dev/null || shell='bash --norc --noprofile -i'
$heeding $shell </dev/tty >/dev/tty 2>&1
exit 0
"""
OWN = "JIM_"  # beginning of the variables of doors, which no payload has
NOT_PASSED = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", MARK_VARIABLE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim debug`."""
    parser.add_argument("target", metavar="G.n", help="a local job that was submitted")
    parser.add_argument(
        "--attempt", metavar="K", type=whole_number(1), help="the number of an attempt; default: the latest"
    )
    parser.add_argument("--run", action="store_true", help="run the payload once, instead of a shell, and show the end")
    parser.add_argument(
        "--in", dest="place", metavar="DIR", type=Path, help="the directory for the copy; default: a temporary one"
    )


def run(arguments: argparse.Namespace) -> int:
    """Make the copy, and let the wrapper run a shell or the payload in it."""
    if not arguments.run and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadRequest("a shell needs a terminal; `--run` runs the payload once")
    view = look()
    job, members = view.members(arguments.target)
    if len(members) != 1:
        raise BadRequest(f"`jim debug` needs one local job, for example {job.id}.0")
    attempt = attempt_of(view, members[0], arguments.attempt, "there is nothing to copy")
    try:
        copy = _copied(view, job, members[0], attempt, arguments)
    except OSError as error:
        raise JimError(f"the copy cannot be made: {error.filename}: {error.strerror}") from error
    _tell(members[0], attempt, copy, once=arguments.run)
    view.store.close()
    sys.stdout.flush()
    code = attend(copy.call(), env=_environment(), alone=arguments.run)
    if not arguments.run:
        facts([("copy", f"{copy.place}; it stays until `rm -r` removes it")])
        return 0
    return _ended(copy, code)


def _copied(view: View, job: GridJob, local: LocalJob, attempt: Attempt, arguments: argparse.Namespace) -> Copy:
    directory = submission_directory(view.directory(job.id), attempt.k)
    if was_removed(view.site.work, directory) or was_remade(directory):
        raise JimError(f"{directory} no longer exists: it was removed")
    name = f"{job.id}.{local.n}"
    if arguments.place:
        place = arguments.place.absolute()
        place.mkdir(mode=0o700)
    else:
        place = Path(tempfile.mkdtemp(prefix=f"jim-debug-{name}-"))
    if arguments.run:
        return copied(directory, attempt.idx, place)
    script = place / "shell"
    script.write_text(SHELL)
    return copied(directory, attempt.idx, place, ("/bin/sh", str(script), str(place / LEFT), f"{name} $ "))


def _tell(local: LocalJob, attempt: Attempt, copy: Copy, *, once: bool) -> None:
    facts(
        [
            ("local job", f"{local.grid}.{local.n}, attempt {attempt.attempt}: {attempt.verdict or 'no verdict yet'}"),
            ("reason", plain(attempt.reason)),
            ("command", plain(shlex.join(copy.command))),
            ("copy", plain(copy.place)),
            *(("not copied", plain(each)) for each in copy.missing),
        ]
    )
    what = "Ctrl-C ends it" if once else "`exit` ends the shell"
    say(f"JIM neither sees nor keeps what happens in the copy; what the program does elsewhere, it does. {what}.")
    say()


def _environment() -> dict[str, str]:
    """Return the environment of whoever calls, as a batch job would have it."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_PASSED and not name.startswith(OWN)}
    return kept | {"JIM_BATCH_ID": "", "JIM_RESTART": ""}


def _ended(copy: Copy, code: int) -> int:
    record = trace(copy.directory, copy.index).exit_record
    for path in (copy.run / "stdout", copy.run / "stderr", copy.directory / f"log.{copy.index}"):
        show_file(path)
    if record is None:
        raise JimError(f"the wrapper ended with {code} and left no exit record: its log, above, says why")
    verdict = of_exit_record(record, cancelled=False)
    good = verdict.state is State.COMPLETING
    say()
    facts(
        [
            ("end", "completed" if good else str(verdict.reason)),
            ("copy", f"{copy.place}; it stays until `rm -r` removes it"),
        ]
    )
    return 0 if good else 1
