"""`jim site test` on the local batch system, and what it says when something is wrong."""

from __future__ import annotations

import json
import re
import time

import pytest

from jim.admin.trial import levels
from jim.admin.trial.trial_site import TrialSite

WAITS = "waits  "  # of a level that takes longer


@pytest.mark.parametrize(
    ("levels", "jobs", "checks"),
    [
        (("config", "batch", "array"), 21, 9),
        pytest.param(("config", "batch", "array", "glitch"), 34, 14, marks=pytest.mark.torture),
    ],
)
def test_a_good_site_passes_and_nothing_is_left(tried, levels, jobs, checks):
    done = tried.program(*levels)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[3:-1] if not line.startswith(WAITS)] == ["ok"] * checks
    assert lines[-1] == f"JIM SITE OK - {checks} checks, {jobs} local jobs"
    assert tried.leftovers() == []
    # What `jim advertise` tells of it.
    stored = json.loads((tried.state / "site-test.json").read_text())
    assert (stored["status"], stored["line"], stored["levels"]) == (
        "ok",
        lines[-1],
        list(levels),
    )
    assert (tried.state / "site-test.json").stat().st_mode & 0o777 == 0o640


MISSING = '[batch.commands]\nsubmit = ["/nowhere/sbatchh"]\n'


def test_it_says_beforehand_what_it_submits(tried):
    tried.write(more=f"{MISSING}[limits]\nattempts = 2\n")
    assert tried.test("batch", "--load", "3").stdout.splitlines()[:3] == [
        "submits 4 local jobs to local (batch 1, load 3), and cleans up after itself",
        "each is a batch job or a member of an array; JIM submits lost or killed ones",
        "again, up to 2 times in all (limits.attempts), so there may be more batch jobs",
    ]


def test_a_level_without_jobs_says_so(tried):
    tried.write(more=MISSING)
    assert tried.test("config").stdout.splitlines()[0] == "submits no job to local"


def test_load_is_measured(tried):
    done = tried.test("--load", "10", "--json")
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert (report["status"], report["jobs"]) == ("ok", 10)
    assert [(each["test"], each["name"], each["level"]) for each in report["checks"]] == [
        ("load", "load of 10", "ok"),
        ("load", "exactly once", "ok"),
    ]


@pytest.mark.torture
def test_outputs_codes_signals_and_the_time_limit_come_back(tried):
    done = tried.test("roundtrip")
    assert done.returncode == 0, done.stdout
    assert [re.split(r"[:;]", line)[0] for line in done.stdout.splitlines()[3:-1]] == [
        "waits    roundtrip",
        "ok       output and exit 0",
        "ok       exit 1",
        "ok       exit 137",
        "ok       signal 9",
        "ok       time limit",
    ]


# What is wrong, and what is said of it


def test_a_missing_command_is_named_and_nothing_that_needs_it_is_tried(tried):
    tried.write(more=MISSING)
    began = time.monotonic()
    done = tried.test("all", "--load", "5")
    assert (done.returncode, time.monotonic() - began < 20) == (2, True)
    assert "failed   commands: not found: /nowhere/sbatchh (submit); install " in done.stdout
    assert [line.split(":")[0] for line in done.stdout.splitlines()[4:-1]] == [
        f"skipped  {level}" for level in ("batch", "roundtrip", "array", "glitch", "load")
    ]
    assert done.stdout.splitlines()[-1].startswith("JIM SITE CRITICAL - 1 of 1 checks failed, 5 levels skipped; ")
    assert "/nowhere/sbatchh" in done.stdout.splitlines()[-1]
    assert tried.leftovers() == []


def test_the_program_behind_env_is_looked_for(tried):
    words = '["env", "-u", "HOME", "-i", "SGE_ROOT=/opt/sge", "/nowhere/qstat"]'
    tried.write(more=f"[batch.commands]\nquery = {words}\n")
    done = tried.test("config")
    assert done.returncode == 2
    assert "not found: /nowhere/qstat (query)" in done.stdout


def test_a_listing_that_fails_ends_the_test_at_once(tried):
    command = tried.write_command("echo slurm_load_jobs: no such controller >&2; exit 1")
    tried.write(more=f'[batch.commands]\nquery = ["{command}"]\n')
    began = time.monotonic()
    done = tried.test("config", "batch")
    assert (done.returncode, time.monotonic() - began < 20) == (2, True)
    listing = next(line for line in done.stdout.splitlines() if line.startswith("failed   listing: "))
    assert listing.count("slurm_load_jobs: no such controller") == 1
    assert "batch.commands.query" in listing
    assert "skipped  batch: " in done.stdout


def test_an_answer_that_tells_something_else_is_none(tried):
    page = '["/bin/echo", "<html>502</html>"]'
    tried.write(more=f"[batch.commands]\nquery = {page}\nhistory = {page}\n")
    done = tried.test("config")
    assert done.returncode == 2
    assert "ok       health: local answers" in done.stdout
    for asked, words, said in (("listing", "", "this is not a listing"), ("history", " 1", "this says nothing about")):
        (found,) = (line for line in done.stdout.splitlines() if line.startswith(f"failed   {asked}: "))
        assert f"/bin/echo '<html>502</html>'{words})" in found
        assert said in found


def history_without_a_file(tried, until):
    """Let the history be a file that does not exist, until a job has ended there."""
    said = "echo 'grep: /sge/common/accounting: No such file or directory' >&2; exit 2"
    command = tried.write_command(f"[ -e {until} ] || {{ {said}; }}; printf 'jobs 0\\nend\\n'")
    tried.write(more=f'[batch.commands]\nhistory = ["{command}"]\n')


def test_a_history_without_a_file_is_asked_again_after_the_first_job(tried, monkeypatch):
    written, submit = tried.place / "accounting", TrialSite.submit

    def submit_and_write(trial, *words, **more):
        written.touch()
        return submit(trial, *words, **more)

    history_without_a_file(tried, written)
    monkeypatch.setattr(TrialSite, "submit", submit_and_write)
    done = tried.site("test")
    warned, again = (line for line in done.stdout.splitlines() if " history: " in line)
    assert warned.startswith("warning  history: grep: /sge/common/accounting: No such file or directory")
    assert "`jim site test batch` does, and then asks again" in warned
    assert again.startswith("ok       history: the history answers")
    assert done.stdout.splitlines()[-1] == "JIM SITE OK - 6 checks, 1 local job"
    assert done.returncode == 0


def test_a_history_without_a_file_is_a_warning_as_long_as_no_job_was_run(tried):
    history_without_a_file(tried, tried.place / "accounting")
    done = tried.site("test", "config")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("JIM SITE WARNING - 1 of 5 checks gave a warning; history: grep: ")


def test_a_history_that_has_no_file_even_after_a_job_is_a_failure(tried, monkeypatch):
    monkeypatch.setattr(levels, "HISTORY_SECONDS", 0.0)
    history_without_a_file(tried, tried.place / "accounting")
    done = tried.site("test")
    assert done.returncode == 2
    (failed,) = (line for line in done.stdout.splitlines() if line.startswith("failed   history: "))
    assert "a job has ended, and 0 s later the history still has no file: grep: /sge/common/accounting: No" in failed
    assert "check that local writes this file" in failed


def test_accounts_that_cannot_be_asked_are_found_before_a_job_dies(tried):
    command = tried.write_command("echo sacct: error: Problem talking to the database >&2; exit 1")
    tried.write(more=f'[batch.commands]\nhistory = ["{command}"]\n')
    done = tried.test("config", "batch")
    assert done.returncode == 2
    (found,) = (line for line in done.stdout.splitlines() if line.startswith("failed   history: "))
    assert f"s: {command} 1)" in found
    assert "Problem talking to the database" in found
    for part in (
        "batch.commands.history",
        "the source of the history",
        "until then local jobs wait that die without an exit record",
    ):
        assert part in found
    assert "ok       listing: " in done.stdout
    assert "skipped  batch: " in done.stdout


def test_a_command_that_does_not_return_does_not_answer(tried):
    tried.write(more="[batch.commands]\nping = ['/bin/sleep', '60']\n")
    file = tried.state / "site.toml"
    file.write_text(file.read_text().replace("command_seconds = 5", "command_seconds = 2"))
    done = tried.test("config")
    assert done.returncode == 2
    health = next(line for line in done.stdout.splitlines() if line.startswith("failed   health: "))
    assert re.search(r"no output \(did not return after 2\.\d s: /bin/sleep 60\)", health)
    assert "batch.command_seconds (2 s)" in health
    assert "answers" not in health


def test_a_batch_system_that_cannot_be_set_up_has_failed(tried):
    tried.write(more='[batch.commands]\nchange = ["/bin/false"]\n')
    done = tried.test("config", "batch")
    assert done.returncode == 2
    assert "failed   config: the batch system cannot be set up: no output (exit 1 after" in done.stdout
    assert tried.leftovers() == []


def test_a_batch_system_that_refuses_is_told_with_its_own_words_once(tried):
    command = tried.write_command("echo localbatch: argument wrong >&2; exit 2")
    tried.write(f'queue = "grdi"\n[batch.commands]\nsubmit = ["{command}"]\n')
    done = tried.test("batch", "array")
    assert done.returncode == 2
    refused = next(line for line in done.stdout.splitlines() if line.startswith("failed   one job: "))
    assert "refused by the batch system" in refused
    assert refused.count("localbatch: argument wrong") == 1
    for key in ("batch.queue ('grdi')", "batch.account (not set)", "batch.options", "batch.commands.submit"):
        assert key in refused
    assert "skipped  array: skipped, because batch has failed" in done.stdout


def test_a_broken_site_file_is_neither_good_nor_bad(tried):
    (tried.state / "site.toml").write_text("[batch]\nslotz = 2\n")
    done = tried.test()
    assert done.returncode == 3
    assert done.stdout.startswith(f"JIM SITE UNKNOWN - {tried.state}/site.toml:2: batch.slotz: unknown key; did you")


def test_what_was_not_tried_has_submitted_no_job(tried):
    (tried.state / "site.toml").write_text("[batch]\nslotz = 2\n")
    report = json.loads(tried.test("all", "--load", "5", "--json").stdout)
    assert (report["status"], report["jobs"]) == ("unknown", 0)
    tried.write(more='[batch.commands]\nquery = ["/bin/false"]\n')
    report = json.loads(tried.test("all", "--load", "5", "--json").stdout)
    assert (report["status"], report["jobs"]) == ("critical", 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--load", "abc"), "argument --load: 'abc': expected a number from 1 to 100,000 (see `jim site test --help`)"),
        (("--jsn",), "unrecognized arguments: --jsn; did you mean '--json'? (see `jim site test --help`)"),
        (("load", "5"), "jim site test: unknown level 'load'; use --load N for N local jobs (known: all, array, batch"),
        (("--load", "-1"), "argument --load: '-1': expected a number from 1 to 100,000 (see `jim site test --help`)"),
        (("--lod", "4"), "unrecognized arguments: --lod; did you mean '--load'? (see `jim site test --help`)"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_no_verdict_on_the_site(tried, words, said):
    done = tried.test(*words)
    assert (done.returncode, done.stderr) == (3, "")  # for monitoring 2 is a site that has failed
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"JIM SITE UNKNOWN - {said}")


def test_nor_is_it_one_for_programs(tried):
    done = tried.test("--load", "abc", "--json")
    assert (done.returncode, done.stderr) == (3, "")
    report = json.loads(done.stdout)
    line = "JIM SITE UNKNOWN - argument --load: 'abc': expected a number from 1 to 100,000 (see `jim site test --help`)"
    assert (report["status"], report["line"], report["jobs"], report["checks"]) == ("unknown", line, 0, [])


def test_other_verbs_refuse_such_a_command_line_as_ever_and_help_is_help(tried):
    done = tried.test("--help")
    assert (done.returncode, done.stdout.splitlines()[0].split()[:4]) == (0, ["usage:", "jim", "site", "test"])
    for words, why in (
        (("check", "--jsn"), "unrecognized arguments: --jsn; did you mean '--json'? (see `jim site check --help`)"),
        ((), "required: VERB (see `jim site --help`)"),
    ):
        done = tried.site(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("jim: ")
        assert done.stderr.endswith(f"{why}\n")


@pytest.mark.parametrize(
    ("stop", "levels", "code", "said"),
    [
        (10**9, ("config", "batch"), 2, "skipped  batch: skipped, because the disks have too little room"),
        (10**9, ("batch",), 2, "failed   space: the disk of the work directory"),
        (0, ("config",), 1, "warning  space: the disk of the work directory"),
    ],
)
def test_a_site_without_room_is_told_so_and_is_not_waited_for(tried, stop, levels, code, said):
    tried.write(more=f"[disk]\nwork_warn_mb = {10**9}\nwork_stop_mb = {stop}\n")
    done = tried.test(*levels)
    assert done.returncode == code
    assert said in done.stdout
    assert "; make room there, or lower the threshold\n" in done.stdout


def test_an_unknown_level_is_refused(tried):
    done = tried.test("roundtrop")
    assert done.returncode == 3  # for monitoring 2 is a site that has failed
    assert done.stdout.startswith(
        "JIM SITE UNKNOWN - jim site test: unknown level 'roundtrop'; did you mean 'roundtrip'"
    )
