"""The pages in a real Chromium, by a real `jim pages`: see the target `browser` of the Makefile."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from jim.clock import Clock
from jim.statusdb import open_store
from tests.unit.pages.grounds import Ground, many

HOME = Path(__file__).parents[2]
# A busy machine shares a rendering for 5 s, and a live page asks every 5 s.
expect.set_options(timeout=30_000)
# It draws without a graphics card, and asks nobody but the pages.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
CALL = 'import sys; from jim.cli import main; sys.exit(main(["pages", *sys.argv[1:]]))'


class Served:
    """A state directory with its pages, served by a process of their own."""

    def __init__(self, state: Path) -> None:
        self.ground, self.state, self.port, self.words = Ground(state), state, 0, ()
        self.login: dict = {}
        self.start()

    def start(self) -> str:
        """Start the pages, on the same port as before; give the address that works once."""
        environment = {**os.environ, "JIM_STATE": str(self.state), "PYTHONPATH": str(HOME)}
        command = [sys.executable, "-P", "-s", "-c", CALL, "--port", str(self.port), *self.words]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/\S+", line):
                self.port, self.url = int(found[1]), found[0]
                return self.url
        raise AssertionError("the pages did not start")

    def again(self, site: str, *words: str) -> None:
        """Start the pages anew, with another site file and further words; nobody has to log in again."""
        (self.state / "site.toml").write_text(site)
        self.words = words
        self.stop()
        self.start()

    def stop(self) -> None:
        """Kill the pages."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def at(self, path: str) -> str:
        """Give the address of a page."""
        return f"http://127.0.0.1:{self.port}{path}"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield browser
        browser.close()


def log_in(served: Served, chromium: Browser) -> None:
    """Open the address that works once, and keep its cookie."""
    context = chromium.new_context()
    page = context.new_page()
    assert page.goto(served.url).status == 200  # type: ignore[union-attr]
    assert "token" not in page.url
    served.login = context.storage_state()
    context.close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Served]:
    """A busy account: a grid job of 10,000 with failures, others that have ended; a keeper's heart beats."""
    made = Served(tmp_path_factory.mktemp("pages") / "state")
    many(made.ground)
    end = threading.Event()

    def beat() -> None:
        with closing(open_store(made.state, Clock(), write=True)) as store:
            while not end.wait(3):
                (made.state / "heartbeat").write_text(f"{store.clock.boot_id()} {int(store.clock.boot())}\n")
                store.set_fact("seen", store.clock.utc())

    heart = threading.Thread(target=beat)
    heart.start()
    made.ground.site.summary.write_text("{}")
    log_in(made, chromium)
    yield made
    end.set()
    heart.join()
    made.stop()
    made.ground.store.close()


@pytest.fixture
def alone(tmp_path: Path, chromium: Browser) -> Iterator[Served]:
    """A state directory of a test's own."""
    made = Served(tmp_path / "state")
    made.ground.beat(ago=0)
    log_in(made, chromium)
    yield made
    made.stop()
    made.ground.store.close()


class Look:
    """How somebody looks at pages: every odd message of the browser is kept."""

    def __init__(self, chromium: Browser, served: Served, **how) -> None:
        width = how.pop("width", 1280)
        viewport = {"width": width, "height": 900}
        self.context: BrowserContext = chromium.new_context(storage_state=served.login, viewport=viewport, **how)
        self.served, self.odd, self.asked = served, [], []
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.odd.append(message.text))
        self.page.on("pageerror", lambda error: self.odd.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.odd.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def go(self, path: str, status: int = 200) -> Page:
        """Open a page."""
        answer = self.page.goto(self.served.at(path))
        assert answer is not None
        assert answer.status == status, (path, answer.status)
        return self.page


@pytest.fixture
def look(chromium: Browser) -> Iterator:
    """Open a browser window: `look(served, width=320, color_scheme="dark")`."""
    opened: list[Look] = []

    def open_one(served: Served, **how) -> Look:
        opened.append(Look(chromium, served, **how))
        return opened[-1]

    yield open_one
    for each in opened:
        each.context.close()
