"""Reads what wrappers write: claims and exit records, `word value` lines. Every line is checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from jim.errors import JimError

LAST_LINE = "end\n"
LONGEST_RECORD = 16 * 1024 * 1024
LONGEST_HOST, LONGEST_REFUSED = 255, 4500  # characters; a path of the kernel has 4,096 bytes at the most
MOST_LINES = 500_000  # a list of 16 MB has 220,000 outputs at the most
LONGEST_LINE = 64 * 1024  # no name is that long; a hole in a sparse file is, and takes no room but in memory
# First words of `reason` for something that the node lacks, and of `refused` for a file that could not be read.
LACKING, FAILING = ("no scratch directory ", "no set-up: ", "no image: ", "no directory: "), "failing "
ADVICE = SUCCESS, RECOVERABLE, HOLD, FATAL = "success", "recoverable", "hold", "fatal"


class Claim(NamedTuple):
    """The process that may run an attempt. A keeper's claim is a fence: that attempt never starts."""

    nonce: str
    host: str
    batch: str
    fence: bool
    started: str = ""  # by the node's clock
    carrier: int = 0  # the batch job of its submission; 0: it is one of its own


class Output(NamedTuple):
    """One file of the list of outputs."""

    size: int
    sha256: str
    name: str


class ExitRecord(NamedTuple):
    """How a payload ended, as its wrapper saw it."""

    mark: str
    index: int  # type: ignore[assignment]
    n: int
    attempt: int
    nonce: str
    host: str
    batch: str
    started: str
    ended: str
    cpu: float
    code: int | None
    signal: int | None
    reason: str  # why the wrapper ended the payload, or empty
    recovery: str  # the recovery file's first line, or empty
    files: tuple[Output, ...]
    refused: tuple[str, ...]  # outputs that are missing or were not taken, with the reason first

    peak_mb: int | None = None  # most memory that was seen in use; None: it was not measured
    sampled: bool = False  # that is the most that was seen from time to time, not the most there was
    kills: int = 0  # of its processes, by the kernel for want of memory; known only where the job has its own cgroup
    warned: int | None = None  # so many seconds before its time limit, by the wrapper itself
    carrier: int = 0  # the batch job of its submission; 0: it is one of its own
    up: float | None = None  # duration by the time since the node's start, which nobody can set

    seen: float | None = None  # longer it cannot have run, as its keeper saw; None: what it reports can be true
    cores: int = 1  # that it was sent with, where `seen` is known

    @property
    def seconds(self) -> float:
        """Return how long the payload ran, at most as long as can be."""
        return self.reported if self.seen is None else min(self.reported, self.seen)

    @property
    def reported(self) -> float:
        """Return how long the payload ran, as it is reported; an older wrapper reports only its node's clock.

        It never took less than no time: a clock that was set back, or a forger, would take away what others are booked.
        """
        if self.up is not None:
            return self.up
        seconds = (datetime.fromisoformat(self.ended) - datetime.fromisoformat(self.started)).total_seconds()
        return max(0.0, seconds)

    @property
    def advice(self) -> str:
        """Return the first word of the recovery file, if JIM knows it."""
        word = self.recovery.split(" ", 1)[0]
        return word if word in ADVICE else ""

    @property
    def claim(self) -> Claim:
        """Return the claim of the process that wrote it, as far as it tells of that."""
        return Claim(self.nonce, self.host, self.batch, fence=False, carrier=self.carrier)

    @property
    def lacking(self) -> bool:
        """Tell whether the node lacked something that the site promises."""
        return self.reason.startswith(LACKING)

    @property
    def warned_in_time(self) -> bool:
        """Tell whether the wrapper has warned the payload of its time limit."""
        return self.warned is not None

    @property
    def failing(self) -> bool:
        """Tell whether an output could not be read although it may be."""
        return any(each.startswith(FAILING) for each in self.refused)


class JobsFile(NamedTuple):
    """The contents of the file `jobs` in a submission directory: its owner, and the attempts by index."""

    mark: str
    attempts: Mapping[int, tuple[int, int]]  # by index: n, attempt
    carriers: int = 0  # batch jobs that run them; 0: each attempt is one of its own


def read_jobs(text: str) -> JobsFile:
    """Read the facts in `jobs` that distinguish submissions."""
    mark, carriers, numbers = "", "0", dict[str, dict[str, str]]()
    for line in text.split("\n"):
        index, word, value = (*line.split(" ", 2), "", "")[:3]
        if (index, word) == ("*", "mark"):
            mark = value
        elif (index, word) == ("*", "carriers"):
            carriers = value
        elif word in ("n", "attempt"):
            numbers.setdefault(index, {})[word] = value
    try:
        attempts = {int(idx): (int(facts["n"]), int(facts["attempt"])) for idx, facts in numbers.items()}
        return JobsFile(mark, attempts, int(carriers))
    except (KeyError, ValueError) as error:
        raise JimError(f"the file jobs of a submission has a wrong or missing line: {error}") from error


def read_claim(text: str) -> Claim:
    """Read a claim; refuse a truncated one, which has no nonce."""
    facts = dict(line.partition(" ")[::2] for line in text.splitlines())
    if not facts.get("nonce"):
        raise JimError("a claim without a nonce")
    started = ""
    with suppress(ValueError):
        started = _time(facts.get("started", ""))
    return Claim(
        facts["nonce"],
        facts.get("host", "")[:LONGEST_HOST],
        facts.get("batch", "").strip("-"),
        "fence" in facts,
        started,
        _carrier(facts),
    )


def _carrier(facts: Mapping[str, str]) -> int:
    found = facts.get("carrier", "")
    return int(found) if re.fullmatch("[0-9]{1,9}", found) else 0


def is_forged(record: ExitRecord, nonce: str, claim: Claim | None) -> bool:
    """Tell whether a record is of another process than the one that won the claim of its attempt.

    `nonce` is that of the start that was taken in; empty: none was. A wrapper whose claim somebody has removed may have
    left the claim to a second one, so the claim of now is as good. Where either is not known, no record is refused: it
    may be the only one.
    """
    if not nonce or claim is None or not claim.nonce or claim.fence:
        return False
    return record.nonce not in (nonce, claim.nonce)


def is_whole(text: str) -> bool:
    """Tell whether an exit record has its first and its last line."""
    return text.startswith("jim-exit 1\n") and text.endswith("\nend\n")


def read_exit_record(text: str) -> ExitRecord:
    """Read an exit record; refuse an incomplete one."""
    if not is_whole(text):
        raise JimError("the exit record is incomplete")
    if text.count("\n") > MOST_LINES:  # eight million, each of one letter, would take seconds
        raise JimError(f"the exit record has more than {MOST_LINES:,} lines")
    facts, files, refused = _facts_and_outputs(text.split("\n")[1:-2])
    try:
        return ExitRecord(
            mark=facts["mark"],
            index=_count(facts["index"]),
            n=_count(facts["n"]),
            attempt=_count(facts["attempt"]),
            nonce=facts["nonce"],
            host=facts["host"][:LONGEST_HOST],
            batch=facts["batch"].strip("-"),
            started=_time(facts["started"]),
            ended=_time(facts["ended"]),
            cpu=_seconds(facts["cpu"]),
            code=_number(facts["code"]),
            signal=_number(facts["signal"]),
            reason=_words(facts["reason"]),
            recovery=_words(facts["recovery"]),
            files=tuple(files),
            refused=tuple(refused),
            up=_seconds(facts["up"]) if "up" in facts else None,
            **_peak(facts.get("peak", "")),
            kills=_count(facts.get("kills", "0")),
            warned=_number(facts.get("warned", "-")),
            carrier=_carrier(facts),
            **_seen(facts.get("seen", "")),
        )
    except (KeyError, ValueError) as error:
        raise JimError(f"the exit record has a wrong or missing line: {error}") from error


def _facts_and_outputs(lines: Sequence[str]) -> tuple[dict[str, str], list[Output], list[str]]:
    """Return the facts by their words, the outputs that were taken, and those that were not."""
    facts: dict[str, str] = {}
    files, refused = [], []
    for line in lines:
        if len(line) > LONGEST_LINE:
            raise JimError(f"the exit record has a line of {len(line):,} characters")
        word, _, value = line.partition(" ")
        if word == "file" and "\ufffd" in value:
            refused.append(f"name {value.split(' ', 2)[-1]} (not in UTF-8)")
        elif word == "file":
            files.append(_output(value))
        elif word in ("refused", "missing"):
            refused.append((value if word == "refused" else f"missing {value}")[:LONGEST_REFUSED])
        else:
            facts[word] = value
    return facts, files, refused


def _output(value: str) -> Output:
    found = re.fullmatch(r"([0-9]{1,18}) ([0-9a-f]{64}) ([^\0]+)", value)  # no file has a name with a zero byte
    if not found or found[3].startswith("/") or ".." in found[3].split("/"):
        raise JimError(f"the exit record has a wrong file line: {value[:200]!r}")
    return Output(int(found[1]), found[2], found[3])


def _number(value: str) -> int | None:
    return None if value == "-" else _count(value)


def _count(value: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", value):
        raise ValueError(f"{value[:40]!r} is not a whole number")
    return int(value)


def _seconds(value: str) -> float:
    if not re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value):
        raise ValueError(f"{value[:40]!r} is not a number of seconds")
    return float(value)


def _peak(value: str) -> dict[str, Any]:
    """Read the most memory in use, in kB, and how that was seen; an older wrapper says nothing of it."""
    if not value:
        return {}
    found = re.fullmatch(r"(\d{1,15}) (cgroup|sampled)", value)
    if not found:
        raise ValueError(f"{value[:40]!r} is no peak of memory")
    return {"peak_mb": megabytes(int(found[1])), "sampled": found[2] == "sampled"}


# A keeper that takes in a record whose times cannot be true adds what it saw itself. Whoever reads the record from the
# store, then reads bounded times. A payload that writes such a line itself gets it removed.
_SEEN_LINES = re.compile(r"^seen .*\n", re.MULTILINE)
_SEEN = re.compile(r"^seen (\d{1,12}(?:\.\d{1,9})?) (\d{1,9})$", re.MULTILINE)


def with_seen(text: str, seconds: float, cores: int) -> str:
    """Return an exit record with the longest time that its payload can have run, and the cores it was sent with."""
    return f"{without_seen(text)[: -len(LAST_LINE)]}seen {seconds:.2f} {cores}\n{LAST_LINE}"


def without_seen(text: str) -> str:
    """Return an exit record without such a line."""
    return _SEEN_LINES.sub("", text) if "\nseen " in text else text


def _seen(value: str) -> dict[str, Any]:
    found = _SEEN.fullmatch(f"seen {value}")
    return {"seen": float(found[1]), "cores": int(found[2])} if found else {}


def megabytes(kilobytes: int) -> int:
    """Return how many MB hold so many kB."""
    return -(-kilobytes // 1024)


def _words(value: str) -> str:
    return "" if value == "-" else "".join(c for c in value if c.isprintable())[:1000]


def _time(value: str) -> str:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value):
        raise ValueError(f"{value[:40]!r} is not a time")
    datetime.fromisoformat(value)  # raises an error for a day that does not exist
    return value


_NONCE = re.compile(r"[0-9a-f-]{1,36}")


def kept_nonce(nonce: str) -> str:
    """Return a nonce as the store keeps it; empty if no wrapper has drawn it."""
    return nonce if _NONCE.fullmatch(nonce) else ""


_CPU = re.compile(r"^cpu (\d{1,12}(?:\.\d{1,9})?)$", re.MULTILINE)
_UP = re.compile(r"^up (\d{1,12}(?:\.\d+)?)$", re.MULTILINE)


def times_of(record: str) -> tuple[float, float] | None:
    """Return the run time and CPU time in an exit record, the run time at most as long as can be.

    Most records have a line for each, and to read the whole record takes long.
    """
    cpu, up = _CPU.findall(record), _UP.findall(record)
    if cpu and up:
        seen = _SEEN.search(record) if "\nseen " in record else None
        wall = float(up[-1])  # of several lines with one word, the last one counts
        return min(wall, float(seen[1])) if seen else wall, float(cpu[-1])
    try:
        whole = read_exit_record(record)
    except JimError:
        return None
    return whole.seconds, whole.cpu
