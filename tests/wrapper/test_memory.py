"""The wrapper under every shell: how much memory it says that a payload has used, and how it knows."""

import sys

import pytest

from tests.wrapper.worker import Site, pack, sh

# By version: what /proc/self/cgroup says, the directory, and the files that tell.
VERSIONS = {
    "v2": ("0::/slice/job", "slice/job", "memory.peak", "memory.events"),
    "v1": (
        "5:cpu:/x\n4:memory:/slice/job\n0::/",
        "memory/slice/job",
        "memory.max_usage_in_bytes",
        "memory.oom_control",
    ),
}
MB = 1024 * 1024


class Cage:
    """A cgroup in a directory of the test, which the wrapper of a site takes for the kernel's."""

    def __init__(self, site: Site, version: str = "v2", *others: int) -> None:
        told, place, peak, kills = VERSIONS[version]
        root = site.root / "cgroups"
        self.place = root / place
        self.place.mkdir(parents=True)
        (root / "told").write_text(f"{told}\n")
        self.peak, self.kills = self.place / peak, self.place / kills
        self.peak.write_text(f"{5 * MB}\n")
        self.kills.write_text("oom 0\noom_kill 2\n")
        watch = site.here.parent / "local-job-watch"
        text = watch.read_text()
        assert "/sys/fs/cgroup" in text
        watch.write_text(text.replace("/sys/fs/cgroup", str(root)).replace("/proc/self/cgroup", str(root / "told")))
        # It begins with the wrapper, which has just claimed.
        pids = " ".join(["$PPID", *map(str, others)])
        site.fake("ln", f"printf '%s\\n' {pids} >{self.place}/cgroup.procs; exec $real \"$@\"")


def peak_of(site: Site, script: str) -> str | None:
    site.jobs(*sh(script))
    site.run()
    return site.record().get("peak")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_peak_of_a_cgroup_of_its_own_is_told(site: Site, version: str) -> None:
    cage = Cage(site, version)
    assert peak_of(site, f"echo {300 * MB + 1} >{cage.peak}; echo out") == f"{300 * 1024} cgroup"
    assert "kills" not in site.record()


def test_a_payload_that_leaves_nothing_has_its_peak_told_too(site: Site) -> None:
    cage = Cage(site)
    assert peak_of(site, f"echo {7 * MB} >{cage.peak}") == f"{7 * 1024} cgroup"


def test_kills_for_want_of_memory_since_the_claim_are_told(site: Site) -> None:
    cage = Cage(site)
    peak_of(site, f"printf 'oom 9\\noom_kill 3\\noom_group_kill 0\\n' >{cage.kills}; kill -KILL $$")
    record = site.record()
    assert (record["signal"], record["kills"]) == ("9", "1")


def test_a_peak_that_has_not_risen_is_of_the_time_before(site: Site) -> None:
    Cage(site)
    assert peak_of(site, ":") is None


def test_a_cgroup_with_a_process_of_another_session_is_not_the_job_s_own(site: Site) -> None:
    cage = Cage(site, "v2", 1)
    assert peak_of(site, f"echo {300 * MB} >{cage.peak}") is None


def test_a_cgroup_with_a_process_of_another_namespace_is_not_the_job_s_own(site: Site) -> None:
    cage = Cage(site, "v2", 0)  # as which the kernel shows it
    assert peak_of(site, f"echo {300 * MB} >{cage.peak}") is None


def test_a_cgroup_with_another_below_it_is_not_the_job_s_own(site: Site) -> None:
    cage = Cage(site)
    (cage.place / "other").mkdir()
    assert peak_of(site, f"echo {300 * MB} >{cage.peak}") is None


def test_a_cgroup_without_the_wrapper_is_another_namespace_s(site: Site) -> None:
    cage = Cage(site)
    site.fake("ln", f': >{cage.place}/cgroup.procs; exec $real "$@"')
    assert peak_of(site, f"echo {300 * MB} >{cage.peak}") is None


@pytest.mark.parametrize("told", ["", "max", "-1", "1 2"])
def test_what_is_no_number_is_no_peak(site: Site, told: str) -> None:
    cage = Cage(site)
    assert peak_of(site, f"echo '{told}' >{cage.peak}") is None
    assert site.record()["code"] == "0"


# A child and its parent hold 40 MB each, until the toucher has seen both.
TWO = f"""
import glob, os, time
child = os.fork()
held = b"x" * {40 * MB}
while child and not any(int((open(each).read() + " 0").split()[0]) > {80 * 1024} for each in glob.glob("../peak.*")):
    time.sleep(0.02)
if child:
    os.kill(child, 9)
time.sleep(0 if child else 99)
"""


def test_without_a_cgroup_the_toucher_adds_up_what_the_processes_use(slow_site: Site) -> None:
    site = slow_site
    script = site.root / "two.py"
    script.write_text(TWO)
    site.jobs(sys.executable, "-I", "-S", str(script), facts=("touch 0.1",))
    assert site.run() == 0
    kilobytes, how = site.record()["peak"].split()
    assert how == "sampled"
    assert 80 * 1024 < int(kilobytes) < 140 * 1024  # an interpreter itself takes about ten


def test_a_payload_shorter_than_a_touch_has_no_peak(site: Site) -> None:
    assert peak_of(site, "echo out") is None


def test_a_payload_with_a_package_has_its_peak_told_too(site: Site) -> None:
    """Then the wrapper has read its third file before the payload began."""
    pack(site)
    cage = Cage(site)
    assert peak_of(site, f"echo {7 * MB} >{cage.peak}") == f"{7 * 1024} cgroup"
