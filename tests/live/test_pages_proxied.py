"""The pages behind real web servers, configured by what docs/pages.md shows."""

from __future__ import annotations

import base64
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.live.accounts import have
from tests.unit.pages.grounds import Ground

pytestmark = pytest.mark.long
HOME = Path(__file__).parents[2]
HOST = "jim.example.org"
CALL = 'import sys; from jim.cli import main; sys.exit(main(["pages", *sys.argv[1:]]))'
MODULES = ("mpm_event", "authz_core", "authz_user", "authn_core", "authn_file", "auth_basic", "headers", "proxy")
HASH = "{SHA}" + base64.b64encode(bytes.fromhex("5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8")).decode()  # "password"


def shown(begin: str) -> str:
    """Give the configuration in the documentation that begins with a word."""
    text = (HOME / "docs/pages.md").read_text()
    block = re.search(rf"(?m)^    {re.escape(begin)}.*\n(?:(?:    .*)?\n)*", text)
    assert block
    return re.sub("(?m)^    ", "", block[0]).partition("\n\n")[0]


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the web server's account can enter, with the pages of a busy account at a socket in it."""
    made = Path(tempfile.mkdtemp(prefix="jim-web-", dir="/var/tmp"))
    made.chmod(0o755)
    ground = Ground(made / "state")
    ground.add(1, 3, 60, arguments=["s3cr3t"])
    ground.beat()
    (made / "state/site.toml").write_text(f'[pages]\nhosts = ["{HOST}"]\nsee = ["carol"]\nlook = ["alice"]\n')
    (made / "users").write_text("".join(f"{name}:{HASH}\n" for name in ("alice", "carol", "eve")))
    environment = {**os.environ, "JIM_STATE": str(made / "state"), "PYTHONPATH": str(HOME)}
    command = [sys.executable, "-P", "-s", "-c", CALL, "--socket", str(made / "pages.socket")]
    pages = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert pages.stdout
    assert "answer at the socket" in pages.stdout.readline()
    shutil.chown(made / "pages.socket", group="www-data")
    yield made
    pages.kill()
    pages.communicate()
    ground.store.close()
    shutil.rmtree(made)


def nginx(place: Path, port: int) -> list[str]:
    block = shown("server {").replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    block = block.replace("/etc/nginx/jim.users", f"{place}/users").replace(
        "/run/jim-pages-alice/socket", f"{place}/pages.socket"
    )
    (place / "nginx.conf").write_text(
        f"user www-data;\npid {place}/pid;\nerror_log {place}/error.log;\ndaemon off;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{block}\n}}\n"
    )
    return ["nginx", "-p", str(place), "-c", str(place / "nginx.conf")]


def apache(place: Path, port: int) -> list[str]:
    block = shown("<VirtualHost *:443>").replace("*:443", f"127.0.0.1:{port}")
    block = block.replace("/etc/apache2/jim.users", f"{place}/users")
    block = block.replace("/run/jim-pages-alice/socket", f"{place}/pages.socket")
    modules = (*MODULES, "proxy_http")
    loaded = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in modules)
    (place / "apache.conf").write_text(
        f"ServerRoot {place}\nServerName {HOST}\nPidFile {place}/pid\nErrorLog {place}/error.log\n"
        f"User www-data\nGroup www-data\nListen 127.0.0.1:{port}\n{loaded}{block}\n"
    )
    return ["apache2", "-D", "FOREGROUND", "-f", str(place / "apache.conf")]


def asked(port: int, path: str, user: str = "", **headers: str) -> tuple[int, str]:
    """Ask the web server; return status and text."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    request.add_header("Host", HOST)
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    if user:
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:password".encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(("package", "configured"), [("nginx-light", nginx), ("apache2", apache)])
def test_the_documented_configuration_names_users_and_drops_what_browsers_claim(
    place: Path, package: str, configured
) -> None:
    have(package)
    port = free_port()
    server = subprocess.Popen(configured(place, port), stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            assert server.poll() is None, (place / "error.log").read_text()
            time.sleep(0.1)
        assert asked(port, "/jobs/1")[0] == 401, "the web server asks for a password"
        status, text = asked(port, "/jobs/1", "alice")
        assert (status, "s3cr3t" in text) == (200, True), (text, (place / "error.log").read_text())
        for claimed in ({}, {"X_Remote_User": "alice"}, {"X_Remote_Groups": "ops"}, {"x_remote_user": "alice"}):
            status, text = asked(port, "/jobs/1", "carol", **claimed)
            assert (status, "s3cr3t" in text) == (200, False), claimed
        assert asked(port, "/jobs/1", "eve", X_Remote_User="alice")[0] == 403
        status, text = asked(port, "/jobs/1.xml", "alice")
        assert (status, text.count("<jim:local_job ")) == (200, 3)
        assert asked(port, "/jobs/1.xml", "carol")[0] == 404
        style = re.search(r"/static/jim\.\w+\.css", asked(port, "/", "carol")[1])
        assert style
        assert asked(port, style[0], "carol")[0] == 200
    finally:
        server.terminate()
        server.wait(20)
