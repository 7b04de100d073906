"""Histories in which a state directory is put back to what it was, moved, copied, or at work twice.

What a restore costs nobody can know, and the oracle allows no more than this:

- What was handed in or wished since the backup is forgotten, where all of the state directory was put back. Where
  status.db alone was, a request must be there again, unless its answer says that it had ended; a wish may be forgotten
  if its file was taken before.
- A grid job that grew old after the backup, and is there again, has lost its directory: its local jobs may end in any
  way but completed, and people have to cancel what gathers outputs that are gone.
- Until somebody says what has happened, the store is as it was saved, and may call ended what runs since a retry.
- What a restore has told to end, for it counts no more, lives until it touches its claim the next time: a command that
  is killed does not wait for that.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from jim.admin import restoring
from jim.doors.gram import protocol
from jim.errors import BadSite, Outdated, UnknownJob
from jim.keeper import serial
from jim.keeper.keeper import Keeper
from jim.keeper.loop import FAILURES
from jim.keeper.rounds import Rounds
from jim.statusdb.store import Store
from tests.fake_batch.doors import Printed
from tests.fake_batch.engine import Phase
from tests.fake_batch.histories import KNOBS, PICKS
from tests.fake_batch.kill import Killed
from tests.fake_batch.people import ASKED, DAYS, ENOUGH, FAILED, MOST_REQUESTS, ONE_WISH, TARGETS, People
from tests.fake_batch.wishes import Wish

DATABASE = ("status.db", "status.db-wal", "status.db-shm")
LONG = 100  # rounds
SAVED_EVERY, KEPT_BACKUPS = 3, 4


@dataclass(frozen=True)
class Backup:
    """A state directory as it was, and what its doors had said until then."""

    place: Path
    ledger: int
    printed: tuple[Printed, ...]
    begun: frozenset
    perhaps: frozenset
    gone: frozenset
    left: tuple[Wish, ...]
    wished: frozenset
    aged: frozenset
    before: tuple[Backup, ...]  # of the same life


class Restores(People):
    """People, and administrators who put back, move and copy state directories."""

    def set_out(self):
        super().set_out()
        self.backups: list[Backup] = []  # the last ones
        self.own: list[Backup] = []  # those of what has led to what is here: all of the state directory was put back
        self.looks = 0
        self.others: list[tuple[Keeper, Rounds]] = []  # keepers of copies, who do not know yet
        self.copies = 0
        self.patch.setattr(restoring, "Clock", lambda: self.gateway.clock)
        self.patch.setattr(restoring, "sleep", lambda seconds: self.gateway.wait(seconds))
        self.patch.setattr(restoring, "adapter_of", lambda _: self.gateway.batch)
        self.patch.setattr(
            "jim.command.end_marked", lambda mark, id_variable: self.gateway.liar.end_marked(mark, id_variable)
        )
        self.patch.setattr(serial, "MACHINE", Path(self.place) / "machine-id")
        self.be_on_machine("machine")
        self.gateway.store.set_fact("machine", "machine")

    def be_on_machine(self, name):
        (Path(self.place) / "machine-id").write_text(f"{name}\n")

    def on(self, rounds=1, seconds=None):
        if self.gateway.stopped and self.gateway.may_be_outdated:
            self.gateway.go(rounds, self.pace if seconds is None else seconds)
        else:
            super().on(rounds, seconds)
        self.let_the_others_go_on()
        self.looks += 1
        if self.looks % SAVED_EVERY == 0 and not self.gateway.stopped:
            self.save()

    def let_the_others_go_on(self):
        """Let keepers go on whose work directory another one has taken: they end, and hand over nothing before that."""
        for other in list(self.others):
            before = len(list(self.engine.notes("handed over")))
            try:
                other[1].round()
                while other[0].workers.deliver(0):
                    pass
            except (Outdated, Killed):
                self.end_other(other)
            except FAILURES:
                pass
            assert len(list(self.engine.notes("handed over"))) == before, "a keeper goes on in another's work directory"

    def end_other(self, other):
        self.others.remove(other)
        other[0].store.close()

    # A backup, and putting it back

    def save(self):
        self.copies += 1
        place, doors, wishes = Path(self.place) / f"backup{self.copies}", self.doors, self.wishes
        shutil.copytree(self.gateway.site.state, place)
        backup = Backup(
            place,
            len(self.engine.ledger),
            tuple(doors.printed),
            *map(frozenset, (doors.begun, doors.perhaps, doors.gone)),
            tuple(wishes.left),
            frozenset(self.oracle.wished),
            frozenset(self.oracle.aged),
            tuple(self.own),
        )
        self.own = [*self.own, backup][-KEPT_BACKUPS:]
        self.backups = [*self.backups, backup][-KEPT_BACKUPS:]

    @precondition(lambda self: self.backups and not self.gateway.away)
    @rule(
        number=PICKS,
        whole=st.booleans(),
        elsewhere=st.booleans(),
        asked=st.lists(ASKED, max_size=3),
        wish=st.one_of(st.none(), ONE_WISH),
        starts=st.booleans(),
        said=st.booleans(),
        steps=st.integers(0, 60),
    )
    def put_back(self, number, whole, elsewhere, asked, wish, starts, said, steps):
        """Put the state directory back, or its status.db alone; doors and nodes go on until somebody says so."""
        whole = whole or not self.own
        choice = self.backups if whole else self.own
        self.have_back(choice[number % len(choice)], whole, elsewhere)
        for each in asked[: MOST_REQUESTS - self.requests]:  # numbers that were told before may be told again
            self.requests += 1
            self.doors.hand_in(each)
        if wish:
            self.leave(*wish)
        if starts:
            self.start_all()
        if self.gateway.stopped and said:
            self.say_restored(steps)
        self.on()

    @precondition(lambda self: not (self.gateway.away or self.gateway.stopped))
    @rule(
        failing=FAILED,
        verb=st.sampled_from(("retry", "resplit")),
        number=PICKS,
        which=TARGETS,
        knob=KNOBS,
        rounds=st.integers(1, 6),
        starts=st.booleans(),
        whole=st.booleans(),
        steps=st.integers(0, 60),
    )
    def put_back_what_was_before_a_retry(self, failing, verb, number, which, knob, rounds, starts, whole, steps):
        """Forget a retry or a resplit whose local jobs may have been handed over, and may be running."""
        self.let_all_end(failing, ENOUGH)
        if self.gateway.stopped or self.gateway.away:
            return
        self.save()
        backup = self.backups[-1]
        self.leave(verb, number, which, knob)
        self.on(rounds)
        if starts:
            self.start_all()
        if self.gateway.away:
            return
        self.have_back(backup, whole, elsewhere=False)
        if self.gateway.stopped:
            self.say_restored(steps)
        self.on()

    def have_back(self, backup, whole, elsewhere):
        gateway = self.gateway
        gateway.doubled = True
        gateway.keeper.store.close()
        self.files_back(backup, whole)
        if elsewhere:
            self.move_to_another_path()
        gateway.may_be_outdated = True
        gateway.restart()
        self.forget(backup, whole)
        self.must_have_stopped(backup)

    def files_back(self, backup, whole):
        state = self.gateway.site.state
        if whole:
            shutil.rmtree(state)
            shutil.copytree(backup.place, state)
            return
        for name in DATABASE:
            (state / name).unlink(missing_ok=True)
            if (backup.place / name).exists():
                shutil.copy2(backup.place / name, state / name)

    def forget(self, backup, whole):
        """Expect no more than what a restore can know."""
        oracle, doors = self.oracle, self.doors
        oracle.torn |= {job.place for job in self.gateway.store.grid_jobs() if job.place in oracle.removed}
        oracle.finals, oracle.known = {}, {job.id: job for job in self.gateway.store.grid_jobs()}
        if whole:
            self.own = [*backup.before, backup]
            doors.printed, doors.gone = list(backup.printed), set(backup.gone)
            doors.begun, doors.perhaps = set(backup.begun), set(backup.perhaps)
            self.wishes.left, oracle.wished = list(backup.left), set(backup.wished)
            oracle.aged = set(backup.aged)
            return
        state, there = self.gateway.site.state, set(self.gateway.grids())
        for number in {each.number for each in doors.printed} - there:
            with suppress(FileNotFoundError):
                if protocol.final_state((state / "answers" / str(number)).read_bytes()):
                    doors.gone.add(number)
        doors.gone |= oracle.aged
        waiting = "".join(each.read_text() for each in (state / "inbox").glob("wish-*"))
        told = {line.reason.partition(",")[0] for grid in there for line in oracle.lines(grid)}
        self.wishes.forgotten |= {
            each.by for each in self.wishes.left if each.by not in told and f'"{each.by}"' not in waiting
        }

    def must_have_stopped(self, backup):
        """Whatever was handed over since the backup is not known any more: no keeper may go on beside it."""
        sent = {each.mark for each in self.engine.ledger[backup.ledger :] if each.event == "handed over"}
        known = {mark for (mark,) in self.gateway.store.db.execute("SELECT mark FROM submission")}
        assert self.gateway.stopped or sent <= known, f"it goes on, and has forgotten {sent - known}"

    def say_restored(self, steps=0):
        """Say what has happened; the command may be killed, or stop for people to act, and is then given again."""
        gateway, before = self.gateway, self.told_over()
        gateway.doubled = True
        gateway.keeper.store.close()
        gateway.kill.left, gateway.kill.instead, gateway.kill.armed = steps, None, bool(steps)
        try:
            while not self.has_restored():
                pass
        finally:
            gateway.kill.left, gateway.kill.armed = 0, False
        gateway.restores += 1
        gateway.superseded |= self.told_over() - before
        gateway.may_be_outdated = False
        gateway.restart()

    def has_restored(self):
        """Give the command once, and do what it says; what has been read of a killed one counts, too."""
        told: list[str] = []
        try:
            told += restoring.restored(self.gateway.site)
        except Killed:
            return False
        except BadSite as error:
            if "cancel the batch jobs named above" not in str(error):
                raise
            return False
        finally:
            self.end_what_is_named(told)
        return True

    def end_what_is_named(self, told):
        """End the batch jobs that count no more, as people are told to where no wrapper can learn it."""
        named = {(mark, int(index)) for mark, index in re.findall(r"(jim-\w+-\d+-\d+) index (\d+)", " ".join(told))}
        for run in [run for run in self.nodes.runs if (run.task.mark, run.index) in named]:
            self.nodes.die(run)
        for task in list(self.engine.tasks.values()):
            if (task.mark, task.index) in named and task.phase is not Phase.ENDED:
                self.engine.end(task, signal=9)

    def told_over(self):
        runs = [run for run in self.nodes.runs if (run.directory / f"over.{run.index}").exists()]
        return {(run.task.mark, run.index) for run in runs}

    @precondition(lambda self: not self.gateway.away)
    @rule(steps=st.integers(0, 60))
    def say_that_it_was_restored(self, steps):
        """Say so at last, or although nothing has happened."""
        self.oracle.finals = {}
        self.say_restored(steps)
        self.on()

    # Other places

    def move_to_another_path(self):
        self.copies += 1
        new = Path(self.place) / f"elsewhere{self.copies}" / "state"
        new.parent.mkdir()
        self.gateway.site.state.rename(new)
        self.gateway.site = self.gateway.site._replace(state=new)

    @precondition(lambda self: not (self.gateway.away or self.gateway.stopped))
    @rule(machine=st.booleans())
    def move(self, machine):
        """Move the state directory, or take it to another machine: people are asked, and say so."""
        gateway = self.gateway
        gateway.keeper.store.close()
        if machine:
            self.copies += 1
            self.be_on_machine(f"machine{self.copies}")
        else:
            self.move_to_another_path()
        gateway.may_be_outdated = True
        gateway.restart()
        assert gateway.stopped, "nobody noticed that it was moved"
        gateway.keeper.store.close()
        list(restoring.moved(gateway.site))
        gateway.may_be_outdated = False
        gateway.restart()
        self.on()

    @precondition(lambda self: not (self.gateway.away or self.gateway.stopped or self.others))
    @rule(cloned=st.booleans(), steps=st.integers(0, 60))
    def copy(self, cloned, steps):
        """Go on with a copy, of which the keeper that was there knows nothing.

        A cloned machine has the same id, and the same paths: there nobody asks.
        """
        gateway = self.gateway
        gateway.doubled = True
        self.others.append((gateway.keeper, gateway.rounds))
        self.copies += 1
        new = Path(self.place) / f"copy{self.copies}" / "state"
        shutil.copytree(gateway.site.state, new)
        gateway.site = gateway.site._replace(state=new)
        gateway.keeper = replace(gateway.keeper, store=Store(new / "status.db", gateway.clock, write=True))
        if cloned:
            gateway.store.set_fact("path", str(new.resolve()))
        gateway.may_be_outdated = not cloned
        gateway.restart()
        assert cloned or gateway.stopped, "nobody noticed that it was copied"
        if not cloned:
            self.say_restored(steps)
        self.on()

    # The end

    def end(self):
        self.gateway.see_again()
        if self.gateway.stopped:
            self.say_restored()
        super().end()

    def resume(self, count):
        super().resume(count)
        if count % 40 == 30:
            torn = [job for job in self.gateway.store.grid_jobs() if job.place in self.oracle.torn]
            for job in torn:
                self.oracle.wished.add((job.id, None))
                with suppress(UnknownJob):
                    self.gateway.wish("cancel", str(job.id))
        if count == LONG and not self.gateway.store.unfinished():  # a request waits for a key that was freed
            self.oracle.on_the_way()
            self.gateway.wait(DAYS)

    def teardown(self):
        super().teardown()
        for other in list(getattr(self, "others", ())):
            self.end_other(other)
