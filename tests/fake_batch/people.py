"""Histories in which people use every verb, doors meet, what is finished grows old, and the work directory is away."""

from __future__ import annotations

import hashlib
import os
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from jim.doors import inbox
from jim.keeper.results import aging
from jim.model import Step
from tests.fake_batch.doors import BEFORE_A_WISH, POINTS, Asked, Doors
from tests.fake_batch.engine import Phase
from tests.fake_batch.gateway import KEPT_DAYS
from tests.fake_batch.histories import KNOBS, PICKS, Troubles
from tests.fake_batch.kill import Killed
from tests.fake_batch.wishes import VERBS, WHOLE, Wishes, more_of

MOST_REQUESTS = 6
DAYS = KEPT_DAYS * 86_400 + 60
TARGETS = st.one_of(st.just(""), st.integers(0, 5).map(".{}".format), st.sampled_from((".0-1", ".1-3", ".0,2")))
FAILING = ((), (), (0,), (1,), (0, 1), (2, 3), (0, 1, 2), (0, 1, 2, 3, 4))  # which local jobs
FAILED, ENOUGH = st.integers(0, len(FAILING) - 1), 6  # rounds in which a grid job ends on a good day
TAKEN = -1  # when a wish has been taken in, and its file is still there
DOOM = st.one_of(st.just(0), st.just(TAKEN), st.integers(1, 30))  # when the keeper is killed; 0: it is not
ONE_WISH = st.tuples(st.sampled_from((*VERBS, "retry", "resplit")), PICKS, TARGETS, KNOBS)
ASKED = st.builds(Asked, st.sampled_from(("key1", "key2", "key3")), st.integers(1, 4), st.booleans())


class People(Troubles):
    """Troubles, and people who do whatever they can."""

    steps = 40

    def set_out(self):
        super().set_out()
        self.doors, self.wishes = Doors(self.gateway, self.patch), Wishes(self.oracle)
        self.drawn = 0
        self.patch.setattr(os, "urandom", self.urandom)  # what is named by it sorts the same in each replay
        self.patch.setattr(inbox, "Clock", lambda: self.gateway.clock)
        self.doomed_removal, self.doomed_taking = 0, False
        self.patch.setattr(aging.Aging, "_remove", self.before(aging.Aging._remove, self.doom_the_removal))
        self.patch.setattr(inbox, "taken", self.before(inbox.taken, self.die_before_a_file_is_gone))

    def before(self, call, first):
        def doing(*arguments):
            first()
            call(*arguments)

        return doing

    def doom_the_removal(self):
        if self.doomed_removal:
            self.gateway.kill.left, self.doomed_removal = self.doomed_removal, 0

    def die_before_a_file_is_gone(self):
        if self.doomed_taking:
            self.doomed_taking = False
            raise Killed

    def doomed_at(self, doom):
        self.doomed_taking = doom == TAKEN
        self.gateway.kill.left = max(0, doom)

    def urandom(self, size):
        self.drawn += 1
        return hashlib.sha256(b"%d" % self.drawn).digest()[:size]

    def hand_in(self, pieces):
        self.requests += 1
        self.doors.hand_in(Asked(f"key{self.requests}", pieces, by_files=pieces % 2 == 1))

    # What comes to its end

    @rule(failing=FAILED, rounds=st.integers(1, 6))
    def let_all_end(self, failing, rounds):
        """Let whatever waits run to its end, as on a good day; of the payloads some fail."""
        for _ in range(0 if self.nodes.away else rounds):
            for task in list(self.engine.tasks.values()):
                if task.phase is Phase.PENDING:
                    self.start_one(task)
            for run in list(self.nodes.runs):
                self.nodes.finish(run, int(int(run.facts["n"]) in FAILING[failing]))
            self.on(1, 20.0)

    @rule(failing=FAILED, one=ONE_WISH, other=ONE_WISH, doomed=DOOM)
    def wish_of_what_has_ended(self, failing, one, other, doomed):
        self.let_all_end(failing, ENOUGH)
        self.leave(*one)
        self.leave(*other)
        self.doomed_at(doomed)
        self.let_all_end(failing, 1)

    # Wishes

    @rule(wish=ONE_WISH, doomed=DOOM)
    def wish(self, wish, doomed):
        self.leave(*wish)
        self.doomed_at(doomed)
        self.on()

    @rule(one=ONE_WISH, other=ONE_WISH, same=st.booleans(), held_up=st.booleans(), doomed=DOOM)
    def wish_twice(self, one, other, same, held_up, doomed):
        """Leave two wishes before the keeper looks, perhaps for the same, perhaps in the same turn."""
        if same:
            other = (other[0], *one[1:3], other[3])
        if held_up:
            self.doors.held_up(BEFORE_A_WISH, partial(self.leave, *other), partial(self.leave, *one))
        else:
            self.leave(*one)
            self.leave(*other)
        self.doomed_at(doomed)
        self.on()

    def leave(self, verb, number, which, knob):
        grids = self.gateway.grids()
        if not grids:
            return
        if verb == "cancel":
            self.nodes.warned = bool(knob % 2)
        if verb in ("cancel", *WHOLE):
            self.nodes.end_what_is_stopped_for_ever()
        if verb == "resplit":
            grids = [job.id for job in self.gateway.store.grid_jobs() if job.splitter] or grids
        grid = grids[number % len(grids)]
        if verb in WHOLE:
            which = ""
        elif (verb == "force" and not which) or (verb == "resplit" and not which[1:].isdigit()):
            which = ".0"
        self.wishes.leave(verb, f"{grid}{which}", more_of(verb, knob))

    # Troubles' own verbs, as wishes that are remembered

    def cancel(self, number, n, warned):
        pass

    def change(self, number, verb):
        pass

    # Doors

    @precondition(lambda self: self.requests < MOST_REQUESTS)
    @rule(
        asked=ASKED,
        others=st.lists(ASKED, max_size=2),
        alike=st.booleans(),
        point=st.sampled_from(POINTS),
        goes=st.booleans(),
    )
    def meet_at_the_door(self, asked, others, alike, point, goes):
        """Let one door be held up while others hand in the same key, and perhaps the keeper takes what they left."""
        self.requests += 1
        others = [asked if alike else each._replace(key=asked.key) for each in others]
        self.doors.held_up(point, partial(self._others, others, goes), partial(self.doors.hand_in, asked))
        self.on()

    def _others(self, others, goes):
        for each in others:
            self.doors.hand_in(each)
        if goes:
            self.gateway.go(1)

    @precondition(lambda self: self.requests < MOST_REQUESTS)
    @rule(asked=ASKED, steps=st.integers(1, 12))
    def kill_a_door(self, asked, steps):
        self.requests += 1
        self.doors.hand_in(asked, steps)
        self.on()

    # Age

    @rule(
        failing=st.one_of(st.none(), FAILED),
        doomed=st.integers(0, 12),
        wish=st.one_of(st.none(), ONE_WISH),
        later=st.booleans(),
        asked=st.one_of(st.none(), ASKED),
    )
    def grow_old(self, failing, doomed, wish, later, asked):
        """Let what is finished be over; someone may wish something of it, or hand its key in, at any moment of that."""
        if failing is not None:
            self.let_all_end(failing, ENOUGH)
        self.see_the_last_of()
        self.gateway.wait(DAYS)
        old = [job.key for job in self.gateway.store.grid_jobs(Step.FINISHED)]
        if wish and not later:
            self.leave(*wish)
        self.doomed_removal = doomed
        self.on()
        if wish and later:
            self.leave(*wish)
        if asked and self.requests < MOST_REQUESTS:
            self.requests += 1
            self.doors.hand_in(asked._replace(key=old[0]) if old else asked)
        self.doomed_removal = 0
        self.on()

    def see_the_last_of(self):
        """Check what is about to be removed, as long as it can be seen."""
        if self.gateway.away or self.gateway.stopped:
            return
        for job in self.gateway.store.grid_jobs(Step.FINISHED):
            self.oracle.one_in_the_end(job.id, self.oracle.happened())

    # The work directory

    @precondition(lambda self: not self.gateway.away)
    @rule(empty=st.booleans(), nodes=st.booleans(), steps=st.integers(0, 30))
    def lose_sight(self, empty, nodes, steps):
        """Let the work directory be away, from now on or in the middle of a round."""
        lose = partial(self.gateway.lose_sight, empty=empty, nodes=nodes)
        if steps:
            self.gateway.kill.left, self.gateway.kill.instead = steps, lose
        else:
            lose()
        self.on()

    @precondition(lambda self: self.gateway.away)
    @rule(rounds=st.integers(1, 3))
    def see_again(self, rounds):
        self.gateway.see_again()
        self.on(rounds)

    @rule(steps=st.integers(1, 25))
    def doom_the_opening(self, steps):
        self.gateway.restart(steps)
        self.on()

    # The end

    def end(self):
        self.gateway.see_again()
        super().end()

    def check(self):
        self.doors.gone |= self.oracle.aged
        self.doors.in_the_end()
        self.wishes.about(*self.gateway.grids())
