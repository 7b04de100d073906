"""Random expressions of the subset that is translated, and random stores to ask."""

from __future__ import annotations

import random
from pathlib import Path

from jim.model import Kind, Piece, Reason, State, Step, SubmissionState, Witness
from jim.statusdb.store import Store
from tests.unit.statusdb.documented import RECORD, FixedClock

STATES = ("waiting", "submitted", "running", "failed", "completed", "killed")
REASONS = (
    "",
    "exit 139",
    "exit 3: <no> & \"such\" 'file'",
    "node failure on wn1",
    "a\0b",
    "7",
    " 12.5 ",
    "é\n",
    "lost",
)
HOSTS = ("", "wn1", "wn2", "wn013", "7")
TWELVE = (
    "//jim:local_job[@state='failed']/@n",
    "//jim:local_job[not(@reason)]/@n",
    "//jim:local_job[@state='failed' and starts-with(@reason, 'exit')]",
    "//jim:local_job[contains(@reason, 'node failure')]",
    "/jim:grid_job/jim:local_job[@n >= 100 and @n < 200]/@state",
    "//jim:local_job[count(jim:attempt) > 1]/@n",
    "//jim:local_job[jim:attempt/@host = 'wn013']/@n",
    "//jim:attempt[@host='wn013' and @verdict='failed']/@reason",
    "//jim:phase[@name='generator' and @done < @total]/@done",
    "//jim:local_job[@updated_s > 1767225600]/@n",
    "count(//jim:local_job[@state='running' or @state='completing'])",
    "/jim:site/jim:grid_job[@step != 'finished']/@id",
)
ATTRIBUTES = {
    "grid_job": ("id", "key", "type", "owner", "step", "status", "herd", "reason", "witness", "created", "updated"),
    "local_job": ("n", "state", "attempt", "witness", "reason", "reason_kind", "updated", "updated_s", "nope"),
    "attempt": ("number", "submission", "index", "host", "started", "verdict", "reason", "updated_s"),
    "phase": ("name", "done", "total", "unit", "attempt", "late", "updated", "updated_s"),
}
TEXTS = (
    *STATES,
    *REASONS[:4],
    *REASONS[5:],
    *HOSTS,
    "12",
    "01",
    "0",
    "split",
    "single",
    "generator",
    "ev",
    "exit",
    "1e1",
)


def store(place: Path, seed: int, grids: int = 3, size: int = 8) -> Store:
    """Make a store of some grid jobs, at all steps."""
    chance = random.Random(seed)
    made = Store(place / f"{seed}.db", FixedClock(), write=True)
    for number in sorted(chance.sample(range(1, 40), grids)):
        request = {
            "job_type": chance.choice(("sim", "merge")),
            "events": 5,
            "splitter": chance.choice(("", "by_events")),
        }
        made.add_grid_job(number, f"key-{number}", chance.choice(("alice", "mc")), "2026-01-31T11:00:00.000Z", request)
        made.publications.publish(
            number, -1, "sim", f'<phase name="generator" done="{chance.randrange(9)}" total="8" unit="ev"/>'
        )
        if chance.random() < 0.9:
            count = chance.randrange(size + 1)
            made.add_pieces(number, 0, [Piece(n * 5 + 1, 5) for n in range(count)])
            if chance.random() < 0.9:
                made.end_split(number, count)
                _send(made, chance, number, count)
    return made


def _send(made: Store, chance: random.Random, grid: int, count: int) -> None:
    made.set_grid_job(grid, step=Step.ACTIVE)
    for k in range(1, 4):
        waiting = [each for each in made.local_jobs(grid, (State.WAITING,)) if chance.random() < 0.6]
        if not waiting:
            continue
        made.intend(grid, k, f"jim-1-{grid}-{k}", waiting)
        made.set_submission(grid, k, state=SubmissionState.CONFIRMED, batch_id=str(k))
        for idx, each in enumerate(waiting, 1):
            _end(made, chance, grid, k, idx, each.n)
    if chance.random() < 0.3:
        made.set_grid_job(grid, step=Step.FINISHED, outcome=chance.choice(("failed", "completed")), reason="7")
    for n in range(count):
        for name in chance.sample(("generator", "sim"), chance.randrange(3)):
            done = chance.randrange(12)
            made.publications.publish(
                grid,
                n,
                f"p-{name}",
                f'<phase name="{name}" done="{done}" total="8" unit="a&amp;b"/>',
                n % 3,
                n % 4 == 1,
            )
        if chance.random() < 0.2:
            made.publications.publish(
                grid, n, "mine", '<m:a xmlns:m="urn:mine"><phase name="generator" done="1" total="2"/></m:a>'
            )


def _end(made: Store, chance: random.Random, grid: int, k: int, idx: int, n: int) -> None:
    words, host = chance.choice(REASONS), chance.choice(HOSTS)
    state = chance.choice(STATES)
    why = Reason(chance.choice((Kind.EXIT, Kind.NODE, Kind.UNKNOWN)), {}, words)
    record = RECORD if chance.random() < 0.4 else ""
    verdict = chance.choice(("", "failed", "completed", "again"))
    made.set_attempt(grid, k, idx, host=host, verdict=verdict, reason=why, record=record)
    made.set_local_job(grid, n, state=State(state), witness=chance.choice(tuple(Witness)), reason=why)


class Expressions:
    """A source of random expressions."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def one(self) -> str:
        """Make an expression."""
        path, name = self._path(0)
        ends = [f"/@{self._name(name)}"] * 3 + ([""] if name != "grid_job" else [])
        path += self.chance.choice(ends)
        return f"count({path})" if self.chance.random() < 0.15 else path

    def _path(self, depth: int) -> tuple[str, str]:
        kind = self.chance.choice(("grid_job", "local_job", "local_job", "attempt", "phase"))
        begins = {
            "grid_job": ("//jim:grid_job", "/jim:site/jim:grid_job", "/jim:grid_job", "//jim:site//jim:grid_job"),
            "local_job": ("//jim:local_job", "/jim:grid_job{}/jim:local_job", "/jim:site//jim:local_job"),
            "attempt": ("//jim:attempt", "//jim:local_job{}/jim:attempt", "/jim:grid_job{}//jim:attempt"),
            "phase": (
                *("//jim:phase", "//jim:detail/jim:phase", "//jim:local_job{}/jim:detail/jim:phase"),
                *("/jim:grid_job{}/jim:detail/jim:phase", "/jim:grid_job//jim:phase", "//jim:local_job/jim:phase"),
            ),
        }
        begin = self.chance.choice(begins[kind])
        above = "grid_job" if "grid_job{" in begin else "local_job"
        return begin.replace("{}", self._some(above, depth)) + self._some(kind, depth), kind

    def _some(self, kind: str, depth: int) -> str:
        number = self.chance.choice((0, 1, 1, 1, 2)) if depth < 2 else 0
        return "".join(f"[{self._condition(kind, depth + 1)}]" for _ in range(number))

    def _condition(self, kind: str, depth: int) -> str:
        ways = [self._compared] * 6 + [self._begins, self._begins, self._exists, self._counted]
        if depth < 3:
            ways += [self._joined, self._joined, self._not]
        return self.chance.choice(ways)(kind, depth)

    def _joined(self, kind: str, depth: int) -> str:
        word = self.chance.choice((" and ", " or "))
        return "(" + word.join(self._condition(kind, depth + 1) for _ in range(2)) + ")"

    def _not(self, kind: str, depth: int) -> str:
        return f"not({self._condition(kind, depth + 1)})"

    def _name(self, kind: str) -> str:
        return self.chance.choice(ATTRIBUTES[kind])

    def _value(self, kind: str, depth: int) -> str:
        """An attribute of the node, or of some below, or of any."""
        below = {
            "grid_job": (
                ("jim:local_job", "local_job"),
                ("jim:local_job/jim:attempt", "attempt"),
                (".//jim:phase", "phase"),
            ),
            "local_job": (("jim:attempt", "attempt"), ("jim:detail/jim:phase", "phase"), (".//jim:phase", "phase")),
        }
        if self.chance.random() < 0.6 or kind not in below:
            return f"@{self._name(kind)}"
        path, name = self.chance.choice(below[kind])
        return f"{path}{self._some(name, depth + 1)}/@{self._name(name)}"

    def _compared(self, kind: str, depth: int) -> str:
        sign = self.chance.choice(("=", "=", "=", "!=", "<", "<=", ">", ">="))
        right = self.chance.choice((self._text(), self._text(), self._number(), self._value(kind, depth)))
        both = [self._value(kind, depth), right]
        self.chance.shuffle(both)
        return f" {sign} ".join(both)

    def _text(self) -> str:
        text = self.chance.choice([each for each in TEXTS if '"' not in each])
        return f'"{text}"'

    def _number(self) -> str:
        return self.chance.choice(("0", "1", "2", "3.5", "-1", "7", "12.5", "1769860800"))

    def _begins(self, kind: str, depth: int) -> str:
        text = self.chance.choice(("exit", "", "e", "wn", "7", "no", "é", "&"))
        return f"{self.chance.choice(('starts-with', 'contains'))}({self._value(kind, depth)}, '{text}')"

    def _exists(self, kind: str, depth: int) -> str:
        value = self._value(kind, depth)
        return value.rpartition("/@")[0] if "/@" in value and self.chance.random() < 0.5 else value

    def _counted(self, kind: str, depth: int) -> str:
        path = self._exists(kind, depth) if self.chance.random() < 0.8 else self._path(2)[0]
        sign = self.chance.choice(("=", "!=", "<", "<=", ">", ">="))
        return f"count({path}) {sign} {self._number()}"
