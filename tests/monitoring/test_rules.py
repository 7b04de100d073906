"""Alert rules and dashboard, by Debian's promtool, and by its Prometheus on loopback with the numbers of a site."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from jim.reading.exposition import text_of
from jim.reading.site.metrics import DECLARED, READABLE, families, numbers_of, readable
from jim.reading.view import View
from jim.statusdb import open_store
from tests.support.documents import HOME
from tests.unit.pages.grounds import Ground, large

SHARED = HOME / "share/monitoring"
RULES, TESTS, DASHBOARD = (SHARED / name for name in ("jim.rules.yml", "jim.rules.test.yml", "jim-grafana.json"))
SECONDS = 30.0
CONFIG = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: jim
    static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""


def program(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not here: on Debian, apt-get install prometheus")
    return found


def alerts() -> list[str]:
    return re.findall(r"^ +- alert: (\w+)$", RULES.read_text(), re.MULTILINE)


def queries() -> list[str]:
    """Return what the dashboard asks, for all accounts."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"].replace("$account", ".*") for panel in panels for target in panel["targets"]]


def judged(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [program("promtool"), "test", "rules", TESTS.name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_the_rules_are_rules_and_fire_as_their_tests_say() -> None:
    command = [program("promtool"), "check", "rules", str(RULES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, f"{len(alerts())} rules found" in done.stdout) == (0, True), done.stdout + done.stderr
    done = judged(SHARED)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", alerts())
def test_the_tests_miss_each_alert_that_is_not_there_and_see_each_that_always_fires(alert: str, tmp_path: Path) -> None:
    text = RULES.read_text()
    (tmp_path / TESTS.name).write_text(TESTS.read_text())
    head, _, rest = text.partition(f"- alert: {alert}\n")
    for expression in ("vector(1) > 2", "vector(1)"):
        wrong = re.sub(r"expr: (>-\n( {10}.*\n)+|.*\n)", lambda _, to=expression: f"expr: {to}\n", rest, count=1)
        (tmp_path / RULES.name).write_text(f"{head}- alert: {alert}\n{wrong}")
        assert judged(tmp_path).returncode == 1, expression


def test_rules_and_dashboard_ask_only_for_what_there_is() -> None:
    asked = set(
        re.findall(r"\bjim_\w+", " ".join([*queries(), *re.findall(r"expr: (?:>-\n)?(.*)", RULES.read_text())]))
    )
    assert asked <= {*DECLARED, READABLE}
    assert len(asked) > 15


@contextmanager
def collected(text: str) -> Iterator[int]:
    """Answer as node_exporter would; give the port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@contextmanager
def prometheus(place: Path, port: int) -> Iterator[str]:
    """Run a Prometheus that collects from a port; give its address."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        own = free.getsockname()[1]
    (place / "prometheus.yml").write_text(CONFIG.format(rules=RULES, port=port))
    options = [f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/data"]
    with (place / "log").open("w") as log:
        command = [program("prometheus"), *options, f"--web.listen-address=127.0.0.1:{own}"]
        with subprocess.Popen(command, stderr=log, stdout=log) as process:
            try:
                yield f"http://127.0.0.1:{own}/api/v1"
            finally:
                process.terminate()


def asked(address: str, what: str, **given: str) -> Any:
    with urllib.request.urlopen(f"{address}/{what}?{urllib.parse.urlencode(given)}", timeout=SECONDS) as answer:
        return json.load(answer)["data"]


def until_collected(address: str) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if asked(address, "query", query="count(jim_unfinished)")["result"]:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError("nothing was collected")


def test_all_queries_are_answered_by_a_real_prometheus(tmp_path: Path) -> None:
    """With the numbers of a site in the middle of its life, each panel has something to show."""
    program("prometheus")
    ground = Ground(tmp_path / "state")
    large(ground, 1, 300)
    ground.beat()
    ground.site.summary.write_text(json.dumps({"trouble": "down", "failures": 3}))
    with closing(open_store(ground.site.state, ground.clock)) as store:
        by_account = {"mc": numbers_of(View(ground.site, store))}
    ground.store.close()
    with (
        collected(text_of([*families(by_account), readable(by_account, by_account)])) as port,
        prometheus(tmp_path, port) as address,
    ):
        until_collected(address)
        empty = [each for each in queries() if not asked(address, "query", query=each)["result"]]
        assert empty == [each for each in empty if "jim_tasks{" in each], "only tasks: there are none"
        end = time.monotonic() + SECONDS
        while (states := states_of_rules(address))["JimBatchSystemInTrouble"][1] != "pending":
            assert time.monotonic() < end, states
            time.sleep(0.1)
    assert {alert: health for alert, (health, _) in states.items()} == dict.fromkeys(alerts(), "ok")
    assert states["JimKeeperMissing"][1] == "inactive"


def states_of_rules(address: str) -> dict[str, tuple[str, str]]:
    """Return of each alert whether it can be judged, and whether it is about to fire."""
    (group,) = asked(address, "rules")["groups"]
    return {rule["name"]: (rule["health"], rule["state"]) for rule in group["rules"]}
