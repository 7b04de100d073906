"""The command line for people: `jim VERB …`. A verb's module is imported when the verb runs."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from jim import __commit__, __version__
from jim.cli.text import columns, say, with_local_times
from jim.doors.serving import INTERRUPTED, NOT_READ, UNEXPECTED, serve
from jim.errors import BadRequest, BadSite, BatchError, JimError, Unheard, UnknownJob, close_to, nearest


class Verb(NamedTuple):
    """One verb: the module of this folder that implements it, and its line in `--help`."""

    module: str
    help: str
    example: str


VERBS = {
    "submit": Verb("submit", "submit request files", "jim submit request.toml --watch"),
    "run": Verb("run", "run a program, print what it prints, and exit as it does", "jim run --each 'a b c' ./ok.sh"),
    "demo": Verb("demo", "see it work: from 1,000 events to a physics result", "jim demo"),
    "status": Verb("status", "list grid jobs: all unfinished ones and the last finished ones", "jim status"),
    "list": Verb("status", "list grid jobs, as `jim status` does", "jim list --failed --since 2d"),
    "watch": Verb("watch", "follow a grid job to its end", "jim watch 12"),
    "show": Verb("show", "show a grid job or a local job in detail", "jim show 12.3"),
    "explain": Verb("explain", "explain what a job waits for, by which evidence, and what is next", "jim explain 12"),
    "hosts": Verb("hosts", "list the hosts on which attempts ran, and which of them JIM avoids", "jim hosts"),
    "accounting": Verb("accounting", "add up what ended attempts have used", "jim accounting --since 30d --by vo,type"),
    "actions": Verb("actions", "list who did what: submitted, cancelled, drained the site", "jim actions --since 2d"),
    "logs": Verb("logs", "print the output of a local job", "jim logs 12.3 --attempt 1"),
    "debug": Verb("debug", "open a shell, or run the payload again, in a copy of a local job", "jim debug 12.3 --run"),
    "outputs": Verb("outputs", "show where the tar and its further files are", "jim outputs 12"),
    "xml": Verb("xml", "print a grid job as an XML document, or print the schema", "jim xml 12 > 12.xml"),
    "pages": Verb("pages", "show grid jobs in a browser, for yourself", "jim pages"),
    "cancel": Verb("wishes", "cancel grid jobs or local jobs", "jim cancel 12 13.4"),
    "retry": Verb("wishes", "try failed or killed local jobs again", "jim retry 12"),
    "redo": Verb("wishes", "do completed local jobs again: what they brought was wrong", "jim redo 12.3"),
    "edit": Verb(
        "edit",
        "change attributes of grid jobs, for local jobs not yet submitted",
        "jim edit 12 queue=long",
    ),
    "force": Verb("wishes", "declare local jobs completed or failed", "jim force 12.3 failed --reason 'bad node'"),
    "resplit": Verb(
        "resplit", "replace an ended local job by several smaller ones", "jim resplit 12.3 -p lumis_per_job=1"
    ),
    "suspend": Verb("wishes", "suspend a grid job: stop submitting, hold queued jobs", "jim suspend 12"),
    "resume": Verb("wishes", "continue a suspended grid job", "jim resume 12"),
    "remove": Verb("wishes", "remove finished grid jobs, with their tars and logs", "jim remove 12"),
    "priority": Verb(
        "priority", "set the priority of a grid job: the highest is submitted first", "jim priority 12 10"
    ),
    "publish": Verb(
        "publish", "publish a phase or an XML element about a grid job", "jim publish 12 phase merged 3 10 files"
    ),
    "split": Verb("split", "show the pieces of a request or of input files", "jim split request.toml --with LumiBased"),
    "splitters": Verb("splitters", "list the splitters, or the parameters of one", "jim splitters LumiBased"),
    "types": Verb("job_types", "list the job types, or the attributes of one", "jim types executable"),
    "recover": Verb(
        "recover", "write a request for the work that a grid job has not done", "jim recover 12 > again.json"
    ),
    "copy": Verb("copy", "write a request for the work of one local job", "jim copy 12.3 > one.json"),
    "task": Verb("tasks", "create tasks, which hand in grid jobs until all of a pool is done", "jim task status"),
    "keeper": Verb("keeper", "run the keeper, or start all keepers that are needed (--all)", "jim keeper --all"),
    "db": Verb("db", "compare what the status DB has counted with a recount", "jim db check"),
    "site": Verb("site_verbs", "set up, check or test a site", "jim site check"),
    "advertise": Verb("advertise", "describe this site, as a ClassAd or as JSON", "jim advertise --json"),
    "ce": Verb("ce", "connect JIM to an HTCondor-CE, or check the connection", "jim ce check"),
    "arc": Verb("arc", "connect JIM to an ARC CE, or check the connection", "jim arc check"),
    "gram": Verb("gram", "connect JIM to a Globus gatekeeper, or check the connection", "jim gram check"),
    "completion": Verb("completion", "print what completes this command line in a shell", "jim completion bash"),
}
READING = (
    "status",
    "list",
    "show",
    "explain",
    "logs",
    "outputs",
    "xml",
    "accounting",
    "actions",
    "hosts",
)  # verbs by which root may look into an account
HEADS = {  # before these verbs, in `jim --help`
    "submit": "submit and look:\n",
    "cancel": "\nchange grid jobs:\n",
    "split": "\nprepare requests:\n",
    "task": "\nstanding orders:\n",
    "keeper": "\nadminister a site:\n",
}
ALIASES = {"ls": "list"}  # what fingers type
# What other programs call it, where no name of a verb is close.
MEANT = {
    "list": "status",
    "ls": "status",
    "ps": "status",
    "kill": "cancel",
    "stop": "cancel",
    "rm": "remove",
    "log": "logs",
    "run": "submit",
}
NOT_YET = 6
LONGEST_NAMES = 40  # of second words, in the line of usage
EXIT_CODES = {
    0: "success; for a watched grid job: completed",
    JimError.exit_code: "failure; for a watched grid job: not completed",
    BadRequest.exit_code: "JIM cannot accept the request or the command line",
    BadSite.exit_code: "an unusable site file or place; nothing to retry, remove or force",
    UnknownJob.exit_code: "no such grid job, local job or attempt",
    BatchError.exit_code: "the batch system did not do what JIM asked",
    NOT_YET: "not available yet: the job has not started or not finished",
    UNEXPECTED: "a fault in JIM itself",
    Unheard.exit_code: "JIM could not write its output: stdout is closed or full",
    INTERRUPTED: "interrupted (Ctrl-C)",
    NOT_READ: "the reader of the output has gone",
}
GUIDE = """\
JIM runs grid jobs on this site's batch system: one request in, many local jobs, one tar out.

  jim run ./ok.sh ARG         run a program as a grid job, and print what it prints
  jim submit FILE --dry-run   what a request would become; nothing is stored
  jim submit FILE --watch     hand it in and follow it to its end
  jim status                  all grid jobs at a glance
  jim explain 12              what grid job 12 waits for, and what happens next
  jim outputs 12              where its tar lies

`jim --help` lists every verb and exit code; `jim VERB --help` has an example.
"""


# argparse looks on the disk for a translation of each of its words; there are none, and JIM speaks one language.
argparse._ = str  # type: ignore[attr-defined]


class SecondVerbs(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The second words of a verb, such as `site check`: the line that lists each also begins its own help."""

    def add_parser(self, name: str, **more: Any) -> argparse.ArgumentParser:
        """Declare a second word."""
        line = more["help"]
        return super().add_parser(name, **{"description": f"{line[0].upper()}{line[1:]}.", **more})  # type: ignore[no-any-return]


class Parser(argparse.ArgumentParser):
    """A command line parser whose errors are JIM's errors."""

    def add_subparsers(self, **more: Any) -> Any:
        """Let a verb have second words; in its help, many of them have lines of their own only."""
        self.register("action", "parsers", SecondVerbs)
        names = more.get("metavar") or ""
        return super().add_subparsers(**{**more, "metavar": names if len(names) < LONGEST_NAMES else "VERB"})

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise BadRequest(f"{message} (see `{self.prog} --help`)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Also take words after an option: argparse lets a list that may be empty end at the first option."""
        found, rest = super().parse_known_args(args, namespace)
        last = self._get_positional_actions()[-1:]
        if rest and last and last[0].nargs == argparse.ZERO_OR_MORE and not any(each.startswith("-") for each in rest):
            setattr(found, last[0].dest, [*(getattr(found, last[0].dest) or ()), *rest])
            rest = []
        if rest:
            known = [each[2:] for each in self._option_string_actions if each.startswith("--")]
            odd = next((each[2:] for each in rest if each.startswith("--")), "")
            hint = close_to(odd, known).replace("'", "'--", 1)
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def refuse_empty(self, words: Sequence[str]) -> None:
        """Refuse an empty word: a script gives it in place of a variable that is not set."""
        for before, word in pairwise(["", *words]):
            option = word[:-1] if word.startswith("--") and word.endswith("=") else before if word == "" else ""
            if option.startswith("-"):
                raise BadRequest(f"{option} is empty: give a value, or leave {option} out")
            if word == "":
                self.error("an argument is empty")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse an unknown choice, and suggest the nearest known one."""
        if action.choices is not None and value not in action.choices:
            where = f"{action.option_strings[-1].lstrip('-')} cannot be " if action.option_strings else "unknown word "
            # Of second words, those that the help names: others are there to be refused by name.
            known = [each.dest for each in getattr(action, "_choices_actions", ())] or action.choices
            meant = MEANT.get(str(value), "")
            near = f"; did you mean {meant!r}?" if meant in known else nearest(str(value), known, f"{self.prog} --help")
            raise BadRequest(f"{where}{value!r}{near}")

    def _get_formatter(self) -> argparse.HelpFormatter:
        """Return a formatter that knows the width: to ask for it, argparse would load three compressors."""
        return self.formatter_class(prog=self.prog, width=columns() - 2)  # type: ignore[call-arg]


class NotYet(JimError):
    """Something is not available yet; asking again later may succeed."""

    exit_code = NOT_YET


def main(words: Sequence[str] | None = None) -> int:
    """Run one verb, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):  # a terminal without UTF-8 gets escapes, not a traceback
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    arguments = list(sys.argv[1:] if words is None else words)
    return serve(lambda: _run(arguments), _complain)


def _run(words: list[str]) -> int:
    words = [ALIASES.get(each, each) for each in words[:1]] + words[1:]
    if not words:
        say(GUIDE)
    elif words[0] in ("-h", "--help") or words == ["help"]:
        say(_overview())
    elif words[0] == "help":
        return _run([*words[1:], "--help"])
    elif words[0] == "--version":
        say(f"jim {__version__}{f' (commit {__commit__})' if __commit__ else ''}")
    elif words[0] not in VERBS:
        near = f"; did you mean {MEANT[words[0]]!r}?" if words[0] in MEANT else nearest(words[0], VERBS, "jim --help")
        raise BadRequest(f"unknown verb {words[0]!r}{near}")
    else:
        return _run_verb(words[0], words[1:])
    return 0


def parser_of(name: str) -> Parser:
    """Return the parser of a verb's arguments; manual pages and shell completions are made from these."""
    verb = VERBS[name]
    parser = Parser(
        prog=f"jim {name}",
        description=f"{verb.help[0].upper()}{verb.help[1:]}.",
        epilog=f"example: {verb.example}",
        allow_abbrev=False,
    )
    parser.set_defaults(verb=name)
    importlib.import_module(f"jim.cli.{verb.module}").add_arguments(parser)
    if name in READING:
        parser.add_argument("--account", dest="whose", metavar="NAME", help="as root: look at this account of the site")
    return parser


def _run_verb(name: str, words: list[str]) -> int:
    parser = parser_of(name)
    module = sys.modules[f"jim.cli.{VERBS[name].module}"]
    try:
        parser.refuse_empty(words)
        arguments = parser.parse_args(words)
    except SystemExit:  # --help was printed
        return 0
    except BadRequest as error:
        if not hasattr(module, "misread"):
            raise
        return int(module.misread(words, error))
    if getattr(arguments, "whose", None):
        from jim.site.accounts import become  # most verbs are about the own account

        become(arguments.whose)
    code: int = module.run(arguments)
    return code


def _overview() -> str:
    verbs = "".join(f"{HEADS.get(name, '')}  {name:<12}{verb.help}\n" for name, verb in VERBS.items())
    codes = "".join(f"  {code:<12}{meaning}\n" for code, meaning in EXIT_CODES.items())
    return (
        f"usage: jim VERB …      a grid job is a number such as 12, a local job of it 12.3\n\n{verbs}\n"
        "Reading verbs take --json: one JSON document. `jim VERB --help` has an example.\n\n"
        f"exit codes:\n{codes}\n"
        "environment: JIM_STATE (state directory), JIM_SITE (site file), NO_COLOR\n"
    )


def _complain(message: str, error: Exception) -> None:
    if not isinstance(error, JimError | OSError):
        message = f"unexpected {message} (a fault in JIM itself, at {_place(error)}; please report it)"
    say(with_local_times(message), "jim: ", stream=sys.stderr)


def _place(error: Exception) -> str:
    """Return the place where an error was raised: the last few calls."""
    places, trace = [], error.__traceback__
    while trace:
        places.append(f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " → ".join(places[-3:])
