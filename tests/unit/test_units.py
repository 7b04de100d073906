"""The units of systemd: what they start, and how much they may."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = Path(__file__).parents[2] / "share/systemd"
# The most that `systemd-analyze security` may say of each, from 0 to 10.
EXPOSURE = {
    "jim-pages@.service": 3.0,
    "jim-pages-site@.service": 3.0,
    "jim-keepers.service": 3.0,
    "jim-keeper@.service": 5.0,
}


def _settings(unit: str) -> dict[str, str]:
    lines = (UNITS / unit).read_text().replace("\\\n", "").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}


def test_every_service_has_its_limit() -> None:
    assert {each.name for each in UNITS.glob("*.service")} == EXPOSURE.keys()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not on this machine")
@pytest.mark.parametrize("unit", EXPOSURE)
def test_a_service_is_exposed_no_more_than_it_must_be(unit: str) -> None:
    told = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNITS / unit)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    exposure = re.search(r"exposure level for .*: (\d+\.\d)", told.stdout)
    assert exposure, told.stderr
    assert float(exposure[1]) < EXPOSURE[unit]


@pytest.mark.parametrize("unit", EXPOSURE)
def test_no_service_gains_rights(unit: str) -> None:
    """This holds on machines without systemd-analyze, too."""
    settings = _settings(unit)
    assert settings["NoNewPrivileges"] == "yes"
    assert settings["CapabilityBoundingSet"] == ("CAP_SYS_ADMIN" if unit == "jim-keepers.service" else "")
    assert settings.get("User", "root") == ("root" if unit == "jim-keepers.service" else "%i")


def test_a_keeper_keeps_what_it_needs() -> None:
    """Batch commands and file servers, /tmp with proxies of users, homes for outputs, and 32-bit payloads."""
    settings = _settings("jim-keeper@.service")
    for name in ("PrivateTmp", "ProtectHome", "PrivateNetwork", "PrivateDevices", "PrivateUsers", "RestrictNamespaces"):
        assert name not in settings
    assert settings["ProtectSystem"] == "full"
    assert "SystemCallArchitectures" not in settings
    assert "MemoryDenyWriteExecute" not in settings
    assert {"AF_UNIX", "AF_INET", "AF_INET6"} <= {*settings["RestrictAddressFamilies"].split()}


def test_what_would_forbid_set_uid_commands_is_undone_by_the_drop_in() -> None:
    """With `User=`, systemd 252 lets each of these imply `NoNewPrivileges`."""
    undone = _settings("set-uid-commands.conf")
    implying = {"ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "ProtectClock"}
    implying |= {"RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID"}
    implying |= {"LockPersonality", "MemoryDenyWriteExecute", "PrivateDevices", "SystemCallArchitectures"}
    implying |= {"SystemCallFilter", "NoNewPrivileges", "CapabilityBoundingSet"}
    used = _settings("jim-keeper@.service").keys() & implying
    assert {name for name in used if undone.get(name) not in ("no", "", "~")} == set()


def test_root_starts_one_instance_for_each_account_and_nothing_for_other_names(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("mc", "cms-prod", "a.b_1", "-x", "two words", "$(touch evil)", ".published"):
        (site / name).mkdir(parents=True)
    stub = tmp_path / "systemctl"
    stub.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\n')
    stub.chmod(0o755)
    words = re.fullmatch(r"/bin/sh -c '(.*)'", _settings("jim-keepers.service")["ExecStart"])
    assert words
    script = words[1].replace("$$", "$")  # as systemd reads it
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["/bin/sh", "-c", script], cwd=site, env=environment, check=True, timeout=30)
    assert sorted((tmp_path / "calls").read_text().splitlines()) == [
        f"start --no-block jim-keeper@{name}.service" for name in ("a.b_1", "cms-prod", "mc")
    ]
