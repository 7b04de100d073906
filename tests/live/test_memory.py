"""A payload that runs out of memory on a real Slurm whose jobs have cgroups of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

HOME = Path(__file__).parents[2]
# Another Slurm beside the lab's, whose munge it uses: ports, node and files are its own.
CONF = """\
ClusterName=jimmemory
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=26817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation={place}/state
SlurmctldPidFile={place}/ctld.pid
SlurmctldLogFile={place}/ctld.log
SlurmdPidFile={place}/d.pid
SlurmdLogFile={place}/d.log
SlurmdSpoolDir={place}/spool
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MailProg=/bin/true
ReturnToService=2
Licenses=matlab:4
NodeName=jimmemory1 NodeHostname={host} NodeAddr=127.0.0.1 Port=27101 CPUs={cpus} RealMemory=2000 Feature=el9
PartitionName=main Nodes=jimmemory1 Default=YES MaxTime=INFINITE State=UP
"""
CGROUPS = "CgroupPlugin=autodetect\nIgnoreSystemd=yes\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n"
PROGRAMS = {"submit": "sbatch", "cancel": "scancel", "change": "scontrol", "ping": "scontrol"}
PROGRAMS |= dict.fromkeys(("query", "find", "history"), "squeue")
HOLD = "import sys, time; held = b'x' * (int(sys.argv[1]) << 20); time.sleep(1)"


@pytest.fixture
def slurm(lab, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Run a Slurm that keeps jobs to their memory, and give the environment of its commands."""
    lab("slurm")
    conf = tmp_path / "slurm.conf"
    host = os.uname().nodename.partition(".")[0]
    conf.write_text(CONF.format(host=host, place=tmp_path, cpus=os.cpu_count()))
    (tmp_path / "cgroup.conf").write_text(CGROUPS)
    (tmp_path / "state").mkdir()
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": str(conf)}
    for daemon in (["slurmctld", "-f", conf], ["slurmd", "-N", "jimmemory1", "-f", conf]):
        subprocess.run(daemon, env=environment, check=True, timeout=30)
    until(lambda: "idle" in said(environment, "sinfo", "-h", "-o", "%T"))
    yield environment
    for name in ("d.pid", "ctld.pid"):
        with suppress(OSError, ValueError):
            os.kill(int((tmp_path / name).read_text()), signal.SIGTERM)
    until(lambda: not (tmp_path / "d.pid").exists() and not (tmp_path / "ctld.pid").exists())
    left = sorted(Path("/sys/fs/cgroup").glob("**/slurm_jimmemory1/**/"), key=lambda each: -len(each.parts))
    for each in left:
        with suppress(OSError):
            each.rmdir()


def until(condition, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this never came true"
        time.sleep(0.1)


def said(environment: dict[str, str], *command: str) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False).stdout


def test_a_payload_that_the_kernel_ends_for_want_of_memory_gets_more(slurm: dict[str, str], tmp_path: Path) -> None:
    state = tmp_path / "jim"
    state.mkdir(mode=0o700)
    commands = [f'{each} = ["env", "SLURM_CONF={slurm["SLURM_CONF"]}", "{name}"]' for each, name in PROGRAMS.items()]
    (state / "site.toml").write_text("\n".join(['[batch]\nsystem = "slurm"\n[batch.commands]', *commands, ""]))
    asked = {"executable": sys.executable, "arguments": ["-I", "-S", "-c", HOLD], "argument_sets": [["20"], ["110"]]}
    rule = {"when": "memory", "change": {"memory_mb": "*2"}, "delay": "PT0S"}
    request = {"job_type": "parametric", "memory_mb": 64, "constraint": "el9", "licences": "matlab:1", "retry": [rule]}
    (tmp_path / "hold.json").write_text(json.dumps(request | asked))
    environment = slurm | {"JIM_STATE": str(state), "JIM_PYTHON": sys.executable, "HOME": str(tmp_path)}
    jim = str(HOME / "shell/jim")
    subprocess.run([jim, "submit", str(tmp_path / "hold.json"), "--watch"], env=environment, timeout=180, check=True)
    small, large = (json.loads(said(environment, jim, "show", f"1.{n}", "--json")) for n in (0, 1))
    (only,) = small["attempts"]
    assert not only["record"]["sampled"]
    assert 20 < only["record"]["peak_mb"] < 40
    killed, enough = large["attempts"]
    assert killed["reason"].startswith("out of memory: the kernel has ended 1 of its processes (signal 9)")
    assert (killed["asked"]["memory_mb"], enough["asked"]["memory_mb"]) == (64, 128)
    assert (killed["record"]["kills"], killed["record"]["sampled"]) == (1, False)
    assert 110 < enough["record"]["peak_mb"] <= 128
