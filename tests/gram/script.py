"""What GRAM's script does with our Perl module, without GRAM: stand-ins for what the module inherits."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

from jim.files import replace
from jim.model import Step

HOME = Path(__file__).parents[2]
STUBS = HOME / "tests/globus_stubs"
MODULE = HOME / "shell/gram/samgrid.pm"
PENDING = "GRAM_SCRIPT_JOB_STATE:1\n\n"
DONE, FAILED = b"GRAM_SCRIPT_JOB_STATE:8\n\n", b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:why\nGRAM_SCRIPT_ERROR:17\n\n"


def description(directory, /, **more):
    """Write what GRAM tells of a job that runs /bin/echo."""
    usual = {
        "uniqid": ["173.72"],
        "executable": ["/bin/echo"],
        "arguments": ["hello"],
        "directory": [str(directory)],
        "jobdir": [str(directory)],
        "stdout": [str(directory / "out")],
        "stderr": [str(directory / "err")],
        "stdin": ["/dev/null"],
        "count": ["1"],
        "jobtype": ["multiple"],
        "jimjobtype": ["executable"],
        "environment": [["PATH", "/sbin"], ["HOME", "/root"], ["A", "b c"]],
    }
    return {name: value for name, value in (usual | more).items() if value is not None}


def call(place, *methods, module=MODULE, variables=None, **more):
    """Call methods of the Perl module as GRAM's script does; give what it prints."""
    home = str(place.directory)  # GRAM's default
    environment = {"PATH": "/usr/bin:/bin", "JIM_STATE": str(place.state), "JIM_PYTHON": sys.executable, "HOME": home}
    done = subprocess.run(
        ["perl", f"-I{STUBS}", str(STUBS / "call.pl"), str(module), *methods],
        input=json.dumps(description(place.directory, **more)),
        env=environment | (variables or {}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def beat(place):
    """Let the keeper's heart beat, which holds no keeper here."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    replace(place.state / "heartbeat", f"{boot} {Path('/proc/uptime').read_text().split('.')[0]}\n".encode())


OF_ONE = {"7.0/stdout": b"out", "7.0/stderr": b"err", "7.0/result.dat": b"42"}


def ended(place, answer, size=1, members=OF_ONE, **request):
    """Store a grid job that has ended, with a tar."""
    place.store.add_grid_job(7, "k", "me", place.store.clock.utc(), {"job_type": "executable"} | request)
    tar = place.directory / "7.tar"
    with tarfile.open(tar, "w") as packed:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    place.store.set_grid_job(7, step=Step.FINISHED, size=size, result={"tar": str(tar)})
    (place.state / "answers/7").write_bytes(answer)
    return tar.read_bytes()


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}
