"""jim status --live."""

import time

import pytest

from jim.cli.live import LOOK_SECONDS, SHARE, Live, _look
from jim.cli.terminal import USUAL
from jim.errors import Away
from jim.model import Step
from jim.reading.site.at_a_glance import ORDERS
from tests.support.cli_home import EVIL
from tests.support.pseudo_terminal import OnTerminal, call


class Stub:
    """A screen that is told which keys are pressed, and what was painted."""

    encoding = "utf-8"

    def __init__(self, *keys):
        self.keys, self.painted, self.waits = list(keys), [], []

    def size(self):
        return USUAL

    def paint(self, lines, size):
        self.painted.append(lines)

    def wait(self, seconds):
        self.waits.append(seconds)
        return self.keys.pop(0)


def live(screen, cpu=time.process_time, *, coloured=False):
    Live(screen, coloured=coloured, cpu=cpu).show()
    return screen


def test_it_is_painted_anew_until_q_and_s_changes_the_order(home):
    for number in (1, 2):
        home.add(number, size=number)
    orders = list(ORDERS)
    screen = live(Stub(None, "s", "?", "s", *["s"] * (len(orders) - 2), "q"))
    feet = [painted[-1] for painted in screen.painted]
    assert feet == [f"q quits  s sorts: {order}" for order in (orders[0], orders[0], *orders[1:], orders[0])]


def test_a_screen_of_another_size_is_painted_without_a_look(home, monkeypatch):
    looks = []
    monkeypatch.setattr("jim.cli.live._look", lambda *asked: looks.append(asked) or _look(*asked))
    screen = live(Stub("", "", "q"))
    assert (len(looks), len(screen.painted)) == (1, 3)


def test_looks_take_at_most_a_share_of_a_core(home):
    """However long a look takes: the next one waits fifty times as long."""
    ticks = iter([0.0, 0.001, 10.0, 10.5, 20.0, 22.0])
    screen = live(Stub(None, None, "q"), lambda: next(ticks))
    assert screen.waits == pytest.approx([LOOK_SECONDS, 0.5 / SHARE, 2.0 / SHARE], abs=1)
    assert SHARE == 0.02


def test_keys_do_not_bring_the_next_look_nearer(home, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    screen = live(Stub("?", "?", None, "q"), lambda: 0.0)
    assert screen.waits[:3] == [1.0, 0.0, 0.0]


def test_what_cannot_be_read_now_is_shown_as_it_was(home, monkeypatch):
    home.add(1, size=3)
    answers = iter([None, Away("the status DB is away \x1b[2J"), None])

    def looks(*asked):
        if error := next(answers):
            raise error
        return _look(*asked)

    monkeypatch.setattr("jim.cli.live._look", looks)
    screen = live(Stub(None, None, "q"))
    problem = "shown is what was so before: the status DB is away \\x1b[2J"
    assert [problem in painted for painted in screen.painted] == [False, True, False]
    assert all(any("waiting: 3 of 3" in line for line in painted) for painted in screen.painted)


def test_colours_are_left_out_where_nobody_wants_them(home):
    home.add(1)
    assert any("\x1b[" in line for line in live(Stub("q"), coloured=True).painted[0])
    assert not any("\x1b" in line for line in live(Stub("q")).painted[0])


@pytest.mark.parametrize("more", [["1"], ["--json"], ["--failed"], ["--all"], ["--waves"]])
def test_it_shows_all_and_takes_nothing_else(home, more):
    code, out, err = home.run("status", "--live", *more)
    assert (code, out) == (2, "")
    assert err.startswith("jim: --live shows all of one account")


def test_where_nothing_can_be_painted_it_says_so(home, monkeypatch):
    code, out, err = home.run("status", "--live")
    assert (code, out) == (2, "")
    assert err.startswith("jim: --live paints a terminal again and again, and stdout is none: say `jim status`")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert home.run("status", "--live")[0] == 2


def test_root_of_a_site_of_several_accounts_names_one(home, monkeypatch):
    monkeypatch.setattr("jim.cli.status.site_file.load", lambda: home.site._replace(managed=True))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    code, _, err = home.run("status", "--live")
    assert (code, "`jim status --live --account NAME`" in err) == (2, True)


def test_on_a_real_terminal(home):
    home.beat()
    home.add(1, name=EVIL)
    home.add(2, name="fit")
    home.store.set_grid_job(2, step=Step.SPLIT)
    home.store.close()
    more = {"JIM_STATE": str(home.site.state), "NO_COLOR": "1"}
    with OnTerminal(call("status", "--live"), more=more) as program:
        program.until("s sorts: newest first")
        first = str(program.picture).splitlines()
        assert first[0].startswith("JIM at here")
        head = next(n for n, line in enumerate(first) if line.startswith("ID"))
        assert first[head].split() == ["ID", "NAME", "AGE", "LOCAL", "JOBS"]
        assert "fit" in first[head + 1]
        assert r"\x1b[2Jgone\.." in first[head + 2]
        assert first[23] == "q quits  s sorts: newest first"
        text = program._read(lambda: program.written.count("\x1b[1;1H") > 1)  # the time has changed, and little else
        assert len(text) < 300
        program.press("s")
        program.until("s sorts: most failed first")
        program.press("q")
        assert program.ended() == 0
        assert program.is_as_before()
        assert not program.picture.coloured
