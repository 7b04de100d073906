"""Very many grid jobs and local jobs: how long pages take, what slow readers hold up, what a kill leaves."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from lxml import etree

from jim.clock import Clock
from jim.model import State
from jim.pages import serving
from jim.pages.serving import Serving, serve
from jim.reading.documents import queries
from jim.statusdb import file_of, open_store
from jim.statusdb.task_rows import NewItem, NewPiece, Part
from tests.unit.pages.browser import Person, grammar
from tests.unit.pages.grounds import Ground, add_task, end_server
from tests.unit.pages.many import add_finished, add_many

pytestmark = pytest.mark.torture
ROOT = Path(__file__).parents[3]
SIZE = 1_000_000
MAXIMUM = 3 << 30  # MemoryMax of the unit
# Arguments: the state directory, and how many statements are executed before the kill.
REMOVE = """
import os, sys
from pathlib import Path
from jim.clock import Clock
from jim.statusdb import open_store
store, left = open_store(Path(sys.argv[1]), Clock(), write=True), int(sys.argv[2])
job = store.grid_job(1)
def count(_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)
store.db.set_trace_callback(count)
store.removals.remove(job)
"""
OPEN = """
import sys
from pathlib import Path
from jim.clock import Clock
from jim.statusdb import open_store
open_store(Path(sys.argv[1]), Clock(), write=True).close()
"""


def begun(code: str, *words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-P", "-c", code, *map(str, words)], cwd=ROOT, env=with_jim())


def with_jim() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def cpu_of(do: Callable[[], object]) -> float:
    before = time.process_time()
    do()
    return time.process_time() - before


def test_any_page_of_100_000_grid_jobs_takes_as_long_as_the_first(ground: Ground, person: Person) -> None:
    add_finished(ground.store, 100_000)
    paths = ("/jobs", "/jobs?after=50000", "/jobs?after=60", "/jobs?failed=yes&after=500", "/jobs?sort=changed")
    person.page("/jobs")
    times = {path: min(cpu_of(lambda path=path: person.page(path)) for _ in range(3)) for path in paths}  # type: ignore[misc]
    assert max(times.values()) < 0.15, times
    assert times["/jobs?after=60"] < 2 * times["/jobs"], times
    assert len(person.page("/jobs?after=60").ids()) == 50


# Removal


def looked_at(ground: Ground) -> int:
    """Look at every page of the grid job, lists and XPath; they agree on whether the grid job is there."""
    person = Person(ground)
    paths = ("/jobs/1", "/jobs/1/7", "/jobs/1.json", "/jobs/1.xml", "/jobs/1/7/log/stdout", "/jobs/1?state=running")
    codes = {path: person.get(path).status_code for path in paths if path != "/jobs/1/7/log/stdout"}
    there = codes["/jobs/1"] == 200
    assert set(codes.values()) == {200 if there else 410}, codes
    if not there:
        with closing(open_store(ground.site.state, Clock())) as store:
            at = store.removals.at(1)
        for path in paths:
            answer = person.get(path)
            assert (answer.status_code, at in answer.text, bool(at)) == (410, True, True), path
    found = person.json(f"/query.json?xpath={quote('count(//jim:local_job)')}")["results"][0]["result"]
    assert int(found) == (person.json("/jobs/1.json")["size"] if there else 0)
    assert person.page("/jobs").ids() == (["1"] if there else [])
    for word in ("batch-0", "mark-1-0", "key-1"):
        answer = person.get(f"/jobs?q={word}")
        assert ("/jobs/1" in answer.headers.get("Location", "") or 'href="/jobs/1' in answer.text) == there, word
    return there


@pytest.mark.parametrize("size", [1000, SIZE])
def test_a_grid_job_is_there_or_removed_wherever_its_removal_is_killed(ground: Ground, size: int) -> None:
    add_many(ground.store, 1, size)
    ground.store.close()
    seen = []
    for statements in range(100) if size < SIZE else (5, 15, 100):
        removal = begun(REMOVE, ground.site.state, statements)
        removal.wait()
        seen.append(looked_at(ground))
        if removal.returncode == 0:
            break
        assert removal.returncode == -signal.SIGKILL
    assert seen == sorted(seen, reverse=True), "once it is gone, it stays so"
    assert seen[0]
    assert not seen[-1]
    ground.store = open_store(ground.site.state, ground.clock, write=True)
    assert ground.store.removals.to_finish() == [(1, "1")], "the next keeper removes its files"


# The format of before


def counts(ground: Ground) -> dict[str, int]:
    return Person(ground).json("/jobs/1.json")["counts"]  # type: ignore[no-any-return]


# Slow readers


@pytest.fixture
def served(ground: Ground) -> Iterator[Serving]:
    made = serve(ground.site)
    thread = threading.Thread(target=made.server.run)
    thread.start()
    yield made
    end_server(made, thread)


def cookie(served: Serving) -> str:
    access = served.access
    return f"{access.cookie}={access.begin(access.token)}"


def asking(served: Serving, path: str, cookie: str) -> socket.socket:
    """Ask for a page with the least room for its answer, and read nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", served.port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nCookie: {cookie}\r\n\r\n".encode())
    return client


def read_slowly(client: socket.socket, stop: threading.Event) -> None:
    while not stop.wait(1.0):
        client.recv(1)


def test_slow_readers_of_a_large_document_hold_up_nobody(ground: Ground, served: Serving) -> None:
    add_many(ground.store, 1, SIZE)
    ground.add(2, 3, 60)
    known, stop = cookie(served), threading.Event()
    slow, still = (asking(served, "/jobs/1.xml", known) for _ in range(2))
    heads = [still.recv(4096, socket.MSG_PEEK), slow.recv(1, socket.MSG_PEEK)]
    asked, reader = time.monotonic(), threading.Thread(target=read_slowly, args=(slow, stop))
    reader.start()
    wal = file_of(ground.site.state).with_name("status.db-wal")
    written = ground.store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()  # type: ignore[attr-defined]
    assert written[0] == 0, "no snapshot is open once the document is written"
    largest = 0
    for turn in range(60):  # some 100 MB in all
        with ground.store.transaction():
            numbers = range(10_000 * (turn % 10), 10_000 * (turn % 10 + 1))
            was, now = (State.RUNNING, State.SUBMITTED) if turn < 10 else (State.SUBMITTED, State.SUBMITTED)
            ground.change(1, [n for n in numbers if n % 10 == 0], was, now, "queue")  # type: ignore[arg-type]
            for n in numbers[::10]:
                ground.store.publications.publish(1, n, "load", f"<load>{'x' * 100}{turn}</load>")
        largest = max(largest, wal.stat().st_size)
        other = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
        other.request("GET", "/jobs/2", headers={"Cookie": known})
        assert other.getresponse().status == 200
        other.close()
    assert largest <= 64_000_000
    length = int(re.search(rb"Content-Length: (\d+)", heads[0])[1])  # type: ignore[index]
    time.sleep(max(0.0, serving.IDLE_SECONDS + 35 - (time.monotonic() - asked)))
    got = len(all_of(still))
    assert 0 < got < length, "the length shows that the document is incomplete"
    stop.set()
    reader.join()
    slow.close()
    for _ in range(100):  # the server learns of that when it goes on sending
        if not served.server.active_channels:
            break
        time.sleep(0.1)
    assert not served.server.active_channels


def all_of(client: socket.socket) -> bytes:
    """Read what comes until the other side closes the connection."""
    client.settimeout(20)
    found = b""
    with client:
        try:
            while part := client.recv(1 << 16):
                found += part
        except ConnectionResetError:
            pass
    return found


# Very many connections

FLOOD = """
import resource, socket, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
kept = []
for _ in range(int(sys.argv[2])):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", int(sys.argv[1])))
    kept.append(one)
print("flooded", flush=True)
time.sleep(600)
"""


def test_ten_thousand_connections_hold_up_nobody_for_long(ground: Ground, served: Serving) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 10_100:
        pytest.skip("this account may not open so many files")
    known = cookie(served)
    before = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    before.request("GET", "/", headers={"Cookie": known})
    assert before.getresponse().read()
    command = [sys.executable, "-P", "-c", FLOOD, str(served.port), "10000"]
    flood = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert flood.stdout
    assert flood.stdout.readline() == "flooded\n"
    try:
        began = time.monotonic()
        with suppress(ConnectionError):  # the one idle longest gives its place; browsers connect anew
            before.request("GET", "/", headers={"Cookie": known})
            assert before.getresponse().status == 200
        before.close()
        anew = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
        anew.request("GET", "/", headers={"Cookie": known})
        answer = anew.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
        anew.close()
        assert time.monotonic() - began < 5
    finally:
        flood.kill()
        flood.communicate()


# XPath in children


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time be no limit, so that memory is: the machine may have other things to do."""
    monkeypatch.setattr("jim.pages.routes.query.DOCUMENT_SECONDS", 600)
    monkeypatch.setattr("jim.statusdb.documents.xpath.WALL_SECONDS", 600)


def tree_of(process: psutil.Process) -> int:
    """Return the memory of a process and those that it has started."""
    total = 0
    for each in (process, *process.children(recursive=True)):
        try:
            total += each.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def test_two_children_over_large_documents_stay_below_the_maximum(
    ground: Ground, served: Serving, patient: None
) -> None:
    for number in (1, 2):
        add_many(ground.store, number, 130_000)  # 78 MB each
    known, answers, most = cookie(served), list[tuple[int, bytes]](), 0
    of_others = tree_of(psutil.Process())  # what other tests have left in this process

    def ask(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=300)
        path = f"/query.xml?grid={number}&xpath={quote('//jim:local_job[string-length(@n) = 6][@n > 129998]/@n')}"
        connection.request("GET", path, headers={"Cookie": known})
        answer = connection.getresponse()
        answers.append((answer.status, answer.read()))
        connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        most = max(most, tree_of(psutil.Process()) - of_others)
        time.sleep(0.05)
    assert [status for status, _ in answers] == [200, 200], answers
    assert all(b"129999" in body for _, body in answers)
    assert 10**9 < most < MAXIMUM


def test_a_child_without_memory_dies_and_the_page_says_so(
    ground: Ground, person: Person, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_many(ground.store, 1, 600_000)
    monkeypatch.setattr(queries, "LARGEST_WHOLE", 10**9)
    answer = person.get(f"/query?xpath={quote('//jim:local_job[string-length(@n) = 7]/@n')}&whole=yes")
    assert "it needs more than 10 s of CPU time, 600 s or 1,024 MiB of memory" in answer.text
    assert "Name fewer grid jobs" in answer.text
    assert not psutil.Process().children()
    assert person.get("/").status_code == 200


def add_task_of_many(ground: Ground, size: int) -> None:
    """Add a task of many items, ten in each piece."""
    add_task(ground, "x")
    store = ground.store
    task = store.tasks.named("mc")
    old, first = {each.id for each in store.pools.find_items(task.id, "*", "", 10)}, task.next_piece
    store.pools.add_items(
        task.id, [NewItem(f"/data/raw/file_{n:07}.raw", str(n % 100), 2_000_000_000) for n in range(size)]
    )
    items = [each.id for each in store.pools.find_items(task.id, "*", "", -1) if each.id not in old]
    tens = [items[n : n + 10] for n in range(0, size, 10)]
    with store.transaction():
        store.pieces.add(task.id, first, [NewPiece("", {}, tuple(map(Part, each))) for each in tens])
        store.pieces.end_plan(task.id, first + len(tens), items)


def peak(words: str, to: Path) -> int:
    """Run a command, and give the most memory that it has had, in bytes."""
    call = (
        "import sys; from pathlib import Path; from jim.cli import main; code = main(sys.argv[1:]); "
        "sys.stdout.flush(); print(Path('/proc/self/status').read_text(), file=sys.stderr); sys.exit(code)"
    )
    with to.open("wb") as out:
        command = [sys.executable, "-P", "-s", "-c", call, *words.split()]
        told = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, env=with_jim(), check=True)
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", told.stderr)[1])  # type: ignore[index]


def test_a_task_of_120_000_items_is_told_in_little_memory(ground: Ground, tmp_path: Path) -> None:
    add_task_of_many(ground, 120_000)
    told = tmp_path / "told"
    least = peak("task status mc", told)
    assert peak("task items mc", told) - least < 64 << 20
    assert len(told.read_bytes().splitlines()) == 120_003
    assert peak("task items mc --json", told) - least < 64 << 20
    assert len(json.loads(told.read_bytes())) == 120_002
    assert peak("task items mc --story --json", told) - least < 64 << 20
    assert told.read_bytes().count(b'    "task": "mc",\n    "item": ') == 120_002
    assert peak("xml --task mc", told) - least < 64 << 20
    grammar().assertValid(etree.parse(told))
    assert told.read_bytes().count(b"<jim:item ") == 120_002
