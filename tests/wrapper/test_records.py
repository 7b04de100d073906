"""The wrapper under every shell: what it runs, and what it writes of it."""

import json
import os
import re
import shutil
import subprocess
import time
from datetime import datetime

import pytest

from jim.model import Job
from jim.workdir.claims import trace
from jim.workdir.submission import PROGRAMS, Line, prepare_submission
from tests.wrapper.worker import ABC, HELLO, HOST, MARK, NOTHING, SHELL, TIME, Site, python, sh


def test_exit_record_line_by_line(site: Site) -> None:
    site.jobs(*sh("echo hello; printf abc >events.dat"), index=7, facts=("out *.dat",))
    assert site.run(7, JIM_BATCH_ID="4711", JIM_RESTART="0") == 0
    claim = site.file("claim.7").splitlines()
    nonce = claim[0].removeprefix("nonce ")
    assert re.fullmatch(r"[0-9a-f-]{32,36}", nonce)
    assert claim[1:-1] == [f"host {HOST}", f"pid {site.started[0].pid}", "batch 4711", "restart 0"]
    text = site.file("exit.7")
    assert claim[-1] in text.splitlines()  # started
    assert re.sub(r"cpu 0\.\d\d\nup [01]\n", "cpu CPU\nup 0\n", re.sub(TIME, "TIME", text)).splitlines() == [
        "jim-exit 1",
        f"mark {MARK}",
        "index 7",
        f"nonce {nonce}",
        "n 6",
        "attempt 2",
        f"host {HOST}",
        "batch 4711",
        "started TIME",
        "ended TIME",
        "cpu CPU",
        "up 0",
        "code 0",
        "signal -",
        "reason -",
        "recovery -",
        f"file 0 {NOTHING} stderr",
        f"file 3 {ABC} events.dat",
        f"file 6 {HELLO} stdout",
        "end",
    ]
    assert (site.spool / f"{MARK}.7.start").read_text() == site.file("claim.7")
    assert (site.spool / f"{MARK}.7.exit").read_text() == text
    assert sorted(path.name for path in site.spool.iterdir()) == [f"{MARK}.7.exit", f"{MARK}.7.start"]
    assert site.file("log.7") == ""


@pytest.mark.parametrize("cannot", ["exit 2", "exec /no/such/mawk"], ids=["tell the time", "start"])
def test_a_node_on_which_the_quick_command_does_not_work(site: Site, cannot: str) -> None:
    site.fake("mawk", cannot)
    site.jobs(*sh("echo hello"), index=11)
    assert site.run(11) == 0
    assert re.fullmatch(TIME, site.record(11)["started"])
    assert site.manifest(11) == [f"file 6 {HELLO} stdout"]


def test_times_are_utc(site: Site) -> None:
    site.jobs("/bin/true")
    before = int(time.time())
    assert site.run(TZ="Asia/Kathmandu") == 0
    started = datetime.fromisoformat(site.record()["started"]).timestamp()
    assert before <= started <= time.time()


@pytest.mark.parametrize(
    ("argv", "code", "by_signal", "exits"),
    [
        (("/bin/true",), "0", "-", 0),
        (sh("exit 3"), "3", "-", 1),
        (sh("exit 128"), "128", "-", 1),
        (sh("exit 200"), "200", "-", 1),
        (("/no/such/program",), "127", "-", 1),
        (("no-such-program",), "127", "-", 1),
        (("/etc/passwd",), "126", "-", 1),
        (sh("kill -s KILL $$"), "-", "9", 1),
        (sh("kill -s SEGV $$"), "-", "11", 1),
    ],
)
def test_exit_code_or_signal_of_the_payload_is_recorded(
    site: Site, argv: tuple[str, ...], code: str, by_signal: str, exits: int
) -> None:
    site.jobs(*argv)
    assert site.run() == exits
    record = site.record()
    assert (record["code"], record["signal"], record["reason"]) == (code, by_signal, "-")


def test_cpu_is_the_payloads(site: Site) -> None:
    burn = "import sys, time; [0 for _ in iter(time.process_time, 0) if time.process_time() > 0.1 and sys.exit()]"
    site.jobs(*python(burn))
    assert site.run() == 0
    assert 0.08 <= float(site.record()["cpu"]) < 3


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("printf 'recoverable --more 2\\nsecond\\n' >R", "recoverable --more 2"),
        ("printf 'success' >R", "success"),
        ("printf 'fatal\\t\\033[1m no\\r\\n' >R", "fatal[1m no"),
        ("head -c 8000 /dev/zero | tr '\\0' x >R; echo >>R", "x" * 8000),
        ("head -c 8001 /dev/zero | tr '\\0' x >R", "fatal (its first line is longer than 8000 bytes)"),
        ("head -c 5000000 /dev/zero | tr '\\0' x >R", "fatal (its first line is longer than 8000 bytes)"),
        (": >R", "-"),
        ("ln -s /etc/passwd R", "-"),
        ("mkfifo R", "-"),
        ("mkdir R", "-"),
    ],
)
def test_the_first_line_of_the_recovery_file_is_recorded(site: Site, script: str, line: str) -> None:
    site.jobs(*sh(script.replace("R", '"$JIM_RECOVERY"')))
    assert site.run() == 0
    assert site.record()["recovery"] == line


def test_arguments_arrive_as_they_were(site: Site) -> None:
    odd = ["", " lead", "trail ", " ", "a  b", "$HOME", "`id`", "$(id)", "*", "/*", "?", "~", '"', "'", "\\n", "\\"]
    odd += ["-n", "--", "é", "a\tb", "1 arg x", "* arg y", "%s", "!x", "#", "&", ";", "a=b", "{a,b}", "\r", "\x01"]
    show = "import json, sys; print(json.dumps(sys.argv[1:]))"
    site.jobs(*python(show), *odd, b"\xff")
    assert site.run() == 0
    assert json.loads(site.file("run.1/stdout")) == [*odd, "\udcff"]


def test_the_payload_s_environment_has_these_variables(site: Site) -> None:
    show = "import json, os; print(json.dumps([dict(os.environ), os.getcwd(), os.read(0, 1) == b'']))"
    wanted = {"PATH": "/wanted", "A": " b  c ", "E": "", "IFS": "1", "Q": "$HOME `id` *", "n": "mine", "nl": "mine"}
    refused = ("env a-b=1", "env =1", "env noequals")
    site.jobs(*python(show), facts=(*(f"env {name}={value}" for name, value in wanted.items()), *refused))
    assert site.run(LC_ALL="C.UTF-8", CDPATH="/", JIM_INPUT="/old", KEPT="x") == 0
    environment, directory, at_end = json.loads(site.file("run.1/stdout"))
    assert {name: environment[name] for name in wanted} == wanted
    assert {name: value for name, value in environment.items() if name.startswith("JIM_")} == {
        "JIM_GRID_JOB": "12",
        "JIM_LOCAL_JOB": "0",
        "JIM_ATTEMPT": "2",
        "JIM_SEED": "417330291",
        "JIM_INPUT": "",
        "JIM_RECOVERY": str(site.here / "recovery.1"),
        "JIM_PUBLISH": str(site.here.parent / "jim-publish"),
        "JIM_SPOOL": f"{site.here}/../../spool",
        "JIM_MARK": MARK,
        "JIM_INDEX": "1",
    }
    assert (environment["LC_ALL"], environment["KEPT"], "a-b" in environment) == ("C.UTF-8", "x", False)
    assert directory == str(site.here / "run.1")
    assert at_end


def test_locale_and_umask_are_left_alone(site: Site) -> None:
    site.jobs(*sh("echo ${LC_ALL-unset} >facts; umask >>facts"))
    before = os.umask(0o027)
    try:
        assert site.run() == 0
    finally:
        os.umask(before)
    assert re.fullmatch(r"unset\n0?027\n", site.file("run.1/facts"))


def test_publication_reaches_the_spool(site: Site) -> None:
    site.jobs(*sh('"$JIM_PUBLISH" phase gen 117 250'))
    assert site.run() == 0
    assert (site.spool / f"{MARK}.1.pub.phase-gen").read_text() == "phase gen 117 250 events\n"


def test_the_script_of_a_submission_reads_the_wrapper_in(site: Site) -> None:
    """Under another name and from anywhere, as batch systems copy it; the directory has a name that shells misread."""
    here = site.here.parent / "a 'b' $c" / "s 2"
    here.parent.mkdir()
    for name in PROGRAMS:
        shutil.copy(SHELL / name, here.parent)
    settings = [("mark", MARK), ("spool", "../../../spool")]
    lines = [
        Line(Job(12, "key", n, 1), ["/bin/sh", "-c", 'echo "$JIM_LOCAL_JOB $JIM_PUBLISH"; exit 3']) for n in (0, 1)
    ]
    variables = {"index": "TASK", "id": "BATCH", "restart": "AGAIN"}
    copied = site.root / "script"
    shutil.copy(prepare_submission(here, variables, settings, lines), copied)
    environment = {"PATH": site.path, "TASK": "2", "BATCH": "4711", "AGAIN": "1"}
    done = subprocess.run([*site.shell, str(copied)], cwd="/", env=environment, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert (here / "run.2" / "stdout").read_text() == f"1 {here.parent}/jim-publish\n"
    assert "code 3\n" in (here / "exit.2").read_text()
    assert {"batch 4711", "restart 1"} <= set((here / "claim.2").read_text().splitlines())


@pytest.mark.parametrize(("locale", "seen"), [("C", "unset"), ("C.UTF-8", "C.UTF-8"), (None, "unset")])
def test_the_locale_of_the_batch_command_is_not_the_payload_s(site: Site, locale: str | None, seen: str) -> None:
    """JIM's commands speak C; what handed their environment on to the job would make the site's LANG void."""
    lines = [Line(Job(12, "key", 0, 1), ["/bin/sh", "-c", "echo ${LC_ALL-unset} $LANG ${PYTHONPATH-unset}"])]
    variables = {"index": "TASK", "id": "BATCH", "restart": ""}
    script = prepare_submission(site.here, variables, [("mark", MARK)], lines)
    environment = {"PATH": site.path, "TASK": "1", "LANG": "de_DE.UTF-8", "PYTHONPATH": "/ours"}
    environment |= {"LC_ALL": locale} if locale else {}
    subprocess.run([*site.shell, str(script)], cwd="/", env=environment, stdin=subprocess.DEVNULL, check=True)
    assert site.file("run.1/stdout") == f"{seen} de_DE.UTF-8 unset\n"


def test_a_relative_directory_is_not_looked_for_elsewhere(site: Site) -> None:
    decoy = site.root / "decoy" / "s1"
    decoy.mkdir(parents=True)
    site.jobs("/bin/true")
    environment = {"PATH": site.path, "CDPATH": str(decoy.parent)}
    subprocess.run(
        [*site.shell, str(site.here.parent / "local-job"), "s1", "1"], cwd=site.here.parent, env=environment, check=True
    )
    assert site.record()["code"] == "0"
    assert not list(decoy.iterdir())


@pytest.mark.parametrize("index", [1, 11, 111])
def test_only_its_own_lines_count(site: Site, index: int) -> None:
    for one in (1, 11, 111):
        site.jobs("/bin/echo", str(one), index=one)
    assert site.run(index) == 0
    assert site.file(f"run.{index}/stdout") == f"{index}\n"


def test_a_name_that_is_not_in_utf_8_is_refused_and_told(site: Site) -> None:
    site.jobs(*sh("printf abc >\"$(printf 'caf\\351.dat')\""), facts=("out *.dat",))
    assert site.run() == 0
    record = trace(site.here, 1).exit_record
    assert record
    assert record.refused == ("name caf\ufffd.dat (not in UTF-8)",)
    assert [each.name for each in record.files] == ["stderr", "stdout"]


FAILS = 'mkdir "$root/failed" 2>/dev/null && exit 1'


@pytest.mark.parametrize(("script", "code"), [(":", 0), ("exit 3", 3)])
def test_an_end_that_cannot_be_written_down_at_once_is_not_told_as_another(site: Site, script: str, code: int) -> None:
    """As on a full disk, on which something is removed while who writes waits; the next commands fail there, too."""
    awaited = f'[ -e "{site.root}/napped" ] && rmdir "{site.here}"/code.1.* 2>/dev/null; : >"{site.root}/napped"'
    site.fake("sleep", f'{awaited}; exec $real "$@"')
    site.fake("dd", f'root={site.root}; {FAILS}; exec $real "$@"')
    full = f"until [ -e {site.root}/napped ]; do :; done; for c in ../c.*; do mkdir ../code.1.${{c#../c.}}; done"
    site.jobs(*sh(f"{full}; {script}"))
    assert site.run() == (1 if code else 0)
    assert site.record()["code"] == str(code)
    assert "cannot write how the payload has ended" in site.file("log.1")


def test_an_end_that_cannot_be_read_at_once_is_not_told_as_that_of_who_writes_the_record(site: Site) -> None:
    """The payload's parent has become that, and fails."""
    aside = f'mv code.1.* "{site.root}/aside/"'
    (site.root / "aside").mkdir()
    site.fake("dd", f'root={site.root}; mkdir "$root/failed" 2>/dev/null && {{ {aside}; exit 1; }}; exec $real "$@"')
    site.fake("sleep", f'mv "{site.root}"/aside/* "{site.here}/" 2>/dev/null; exec $real "$@"')
    site.jobs("/bin/true")
    assert site.run() == 0
    assert (site.record()["code"], site.record()["signal"]) == ("0", "-")


def test_no_two_functions_of_the_wrapper_have_one_name() -> None:
    """Its files are read one after the other: the last one of a name would be called by all."""
    names = [
        name
        for file in ("local-job", "local-job-watch", "local-job-outputs")
        for name in re.findall(r"^(\w+)\(\)", (SHELL / file).read_text(), re.MULTILINE)
    ]
    assert {name for name in names if names.count(name) > 1} == set()
    assert len(names) > 80
