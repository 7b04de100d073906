"""Behind GRAM, without GRAM: the Perl module with stand-ins for what it inherits, descriptions, results, services."""

import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from jim import gram_service, inbox
from jim.cli import main
from jim.clock import Clock
from jim.errors import BadRequest, BadSite, JimError
from jim.files import replace
from jim.gram_events import expect, file_of, tell
from jim.gram_request import attributes_of
from jim.gram_results import deliver
from jim.house import House, Workers
from jim.model import State, Step
from jim.request import check
from jim.run_grid_job import Rounds
from jim.settings import General, Limits
from jim.site import Site
from tests.stand_ins import World
from tests.unit.test_doors import Place

HOME = Path(__file__).parents[2]
STUBS = HOME / "tests/globus_stubs"
MODULE = HOME / "shell/gram/samgrid.pm"
PENDING = "GRAM_SCRIPT_JOB_STATE:1\n\n"
DONE, FAILED = b"GRAM_SCRIPT_JOB_STATE:8\n\n", b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:why\nGRAM_SCRIPT_ERROR:17\n\n"


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.close()


def description(directory, **more):
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
    environment = {"PATH": "/usr/bin:/bin", "JIM_STATE": str(place.state), "JIM_PYTHON": sys.executable}
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


# The Perl module


def test_the_same_job_is_the_same_grid_job(place):
    once = "GRAM_SCRIPT_JOB_ID:1\nGRAM_SCRIPT_JOB_STATE:1\n\n"
    assert call(place, "submit", "submit") == once + once
    assert [path.read_bytes() for path in (place.directory / "out", place.directory / "err")] == [b"", b""]
    (path,) = (place.state / "inbox").glob("request-*")
    request = json.loads(path.read_text())["request"]
    assert request["key"] == "173.72"
    assert (request["executable"], request["arguments"], request["environment"]) == (
        "/bin/echo",
        ["hello"],
        {"A": "b c"},
    )


def test_a_refusal_tells_its_reason_and_leaves_no_file(place):
    said = call(place, "submit", queue=["a b"])
    assert said.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:queue: 'a b' is not possible")
    assert said.endswith("\nGRAM_SCRIPT_ERROR:48\n\n")
    assert not (place.directory / "out").exists()
    assert not list((place.state / "inbox").glob("request-*"))


@pytest.mark.parametrize("name", ["uniqid", "executable"])
def test_a_description_cut_short_is_refused(place, name):
    reason = f"{name}: missing; no value of a description may hold an empty line"
    said = call(place, "submit", **{name: None})
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:48\n\n"


def test_the_rest_of_a_command_cut_short_is_not_taken_for_the_next(place):
    script = (
        f"require '{MODULE}';"
        "$job = bless {}, 'Globus::GRAM::JobDescription';"
        "Globus::GRAM::JobManager::samgrid->new($job)->submit(); print <>"
    )
    rest = "empty line'],\n\n  'count' => ['1'],\n    };\n\npoll\n"
    done = subprocess.run(
        ["perl", f"-I{STUBS}", "-e", script], input=rest, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("poll\n", "")


def test_the_names_of_what_is_staged_in_are_kept_for_the_submission(place):
    module = doors(place, jim_submit=f"cat $1 >{place.directory}/described; echo GRAM_SCRIPT_JOB_ID:1")
    pairs = {"filestagein": [["https://x/a", "it's a"]], "filestageinshared": [["https://x/b", "/b"]]}
    assert call(place, "stage_in", "stage_in", module=module, **pairs) == "\n\n"
    call(place, "submit", module=module)
    told = json.loads((place.directory / "described").read_text())
    assert told["jimstagedin"] == ["it's a", "/b", "it's a", "/b"]
    assert call(place, "stage_in", module=module, jobdir=["/nowhere"]) == "GRAM_SCRIPT_ERROR:135\n\n"


def test_a_stream_that_cannot_be_made(place):
    said = call(place, "submit", stdout=["/nowhere/out"])
    reason = "stdout: cannot write /nowhere/out: No such file or directory"
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:73\n\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"GRAM_SCRIPT_JOB_STATE:32\n\n", PENDING),
        (b"GRAM_SCRIPT_JOB_STATE:2\n\n", "GRAM_SCRIPT_JOB_STATE:2\n\n"),
        (b"GRAM_SCRIPT_JOB_STATE:77x\nGRAM_SCRIPT_FOO:1\n<html>\n", "\n"),
        (b"", "\n"),
    ],
)
def test_a_poll_hands_on_protocol_and_nothing_else(place, answer, said):
    place.add(7, answer=answer)
    beat(place)
    assert call(place, "poll", jobid=["7"]) == said


def test_a_poll_finds_a_job_by_its_key(place):
    inbox.deposit(place.state, "173.72", {})
    beat(place)
    assert call(place, "poll") == PENDING


def test_nothing_is_known_of_a_job_and_nobody_dies(place):
    methods = ("poll", "cancel", "signal", "poll")
    assert call(place, *methods, uniqid=None, signal=["2"], variables={"JIM_STATE": "/nowhere"}) == "\n" * 4


def test_signals_become_verbs(place):
    module = doors(place, jim=f'echo "$*" >>{place.directory}/verbs; [ "$4" != high ]')
    place.add(7, answer=b"GRAM_SCRIPT_JOB_STATE:16\n\n")
    for number, text, said in (
        ("2", "-", "GRAM_SCRIPT_JOB_STATE:16\n"),
        ("3", "-", ""),
        ("4", "-5", ""),
        ("4", "high", "GRAM_SCRIPT_ERROR:107\n"),
        ("9", "-", "GRAM_SCRIPT_ERROR:27\n"),
    ):
        assert call(place, "signal", module=module, signal=[number], signalarg=[text], jobid=["7"]) == said + "\n"
    assert (place.directory / "verbs").read_text() == "suspend 7\nresume 7\npriority -- 7 -5\npriority -- 7 high\n"


def test_cancel_waits_for_the_end(place):
    place.add(7, answer=b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:cancelled\nGRAM_SCRIPT_ERROR:8\n\n")
    assert call(place, "cancel", jobid=["7"]) == "GRAM_SCRIPT_JOB_STATE:4\n\n"


def test_a_cancel_that_comes_too_late_lets_the_poll_deliver(place):
    place.add(7, answer=DONE)
    assert call(place, "cancel", jobid=["7"]) == "\n"


def doors(place, **scripts):
    """Make doors that print what a test wants, and the module beside them."""
    shell = place.directory / "shell"
    (shell / "gram").mkdir(parents=True)
    for name, text in scripts.items():
        file = shell / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    return Path(shutil.copy(MODULE, shell / "gram"))


def test_a_door_gets_neither_commands_nor_answers(place):
    module = doors(place, jim_submit="cat; echo noise >&2; echo '<html>'; echo GRAM_SCRIPT_EXIT_CODE:3")
    said = call(place, "submit", module=module)
    reason = "JIM did not answer in time; hand the job in again"
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:3\n\n"


def test_a_jim_that_was_moved_away(place):
    module = doors(place)
    said = call(place, "submit", module=module)
    reason = f"{module.parents[1]}/jim-submit cannot be started"
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:3\n\n"
    assert not (place.directory / "out").exists()


def test_a_jim_that_was_upgraded_is_found_by_the_name_that_stays(place):
    module, name = doors(place), place.directory / "jim"
    name.symlink_to(module.parents[2])
    link = place.directory / "samgrid.pm"
    link.symlink_to(name / "shell/gram/samgrid.pm")
    assert f":{name}/shell/jim-submit cannot be started\n" in call(place, "submit", module=link)


def test_what_was_handed_in_counts_whatever_became_of_the_door(place):
    module = doors(place, jim_submit="kill -KILL $$")
    inbox.deposit(place.state, "173.72", {})
    assert call(place, "submit", module=module) == "GRAM_SCRIPT_JOB_ID:1\nGRAM_SCRIPT_JOB_STATE:1\n\n"


@pytest.mark.parametrize("fails", ["", "1"])
def test_what_a_failed_job_wrote_is_sent_before_its_reason(place, fails):
    module = doors(place, jim_deliver=f"printf '{FAILED.decode()}'")
    place.add(7, answer=FAILED)
    said = call(place, "poll", module=module, jobid=["7"], variables={"STAGE_OUT_FAILS": fails})
    reason = "why; what it wrote could not be sent" if fails else "why"
    assert said == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{reason}\nGRAM_SCRIPT_ERROR:17\n\n"


# Descriptions


def request_of(**more):
    return check(attributes_of(description(Path("/d"), **more)))[1]


def test_a_description_becomes_a_request():
    asked = request_of(
        project=["cms"], maxwalltime=["5"], maxmemory=["200"], cores=["2"], executable=["bin/run"], outputs=["a", "b"]
    )
    wanted = {"account": "cms", "wall_seconds": 300, "memory_mb": 200, "cores": 2, "executable": "/d/bin/run"}
    assert {name: asked[name] for name in wanted} == wanted
    assert asked["outputs"] == ["a", "b"]


def test_a_count_is_so_many_runs_or_processors():
    asked = request_of(count=["3"])
    assert (asked["job_type"], asked["arguments"], asked["argument_sets"]) == ("parametric", ["hello"], [[], [], []])
    assert request_of(count=["3"], jobtype=["single"])["cores"] == 3
    with pytest.raises(BadRequest, match="count: 3: expected 1, for this job type says itself how many"):
        request_of(count=["3"], jimjobtype=["pythia_monte_carlo"])
    with pytest.raises(BadRequest, match=r"expected NAME\.tar"):
        request_of(count=["3"], filestageout=[["result.dat", "https://x/r"]])


def test_one_thing_is_said_by_one_name():
    assert request_of(maxtime=["2"])["wall_seconds"] == 120
    with pytest.raises(BadRequest, match="max_time: given beside max_wall_time, which says the same"):
        request_of(maxtime=["2"], maxwalltime=["2"])
    with pytest.raises(BadRequest, match="wall_seconds: given beside max_time, which says the same"):
        request_of(maxtime=["2"], wallseconds=["120"])


def test_what_is_to_be_staged_out_is_brought_back():
    pairs = [["result.dat", "https://x/r"], ["all.tar", "https://x/t"], ["/etc/motd", "https://x/m"]]
    assert request_of(filestageout=pairs)["outputs"] == ["result.dat"]


def test_what_was_staged_in_is_sent_along():
    told = description(Path("/d"), jimstagedin=["a.dat", "/abs/b", "a.dat"])
    assert attributes_of(told)["inputs"] == ["/d/a.dat", "/abs/b"]


def test_what_RSL_cannot_write_is_JSON(place):
    asked = request_of(splitter=["LumiBased"], splitterparameters=['{"lumis_per_job": 2}'])
    assert asked["splitter_parameters"] == {"lumis_per_job": 2}
    sets = request_of(jimjobtype=["parametric"], argumentsets=[["a", "b"], ["c"]])
    assert sets["argument_sets"] == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("count", ["0"], "count: expected 1 to 100,000, found '0'"),
        ("count", ["many"], "count: expected 1 to 100,000, found 'many'"),
        ("jobtype", ["mpi"], "job_type: 'mpi'"),
        ("stdin", ["/etc/passwd"], "stdin: "),
        ("maxcputime", ["3"], "max_cpu_time: '3': not possible here; say max_wall_time"),
        ("maxwalltime", ["soon"], "max_wall_time: expected a whole number, found 'soon'"),
        ("maxwalltime", ["0"], "wall_seconds: expected at least 1"),
        ("cores", ["2_0"], "cores: expected a whole number, found '2_0'"),
        ("events", ["3"], "'events': unknown attribute"),
        ("queue", ["a", "b"], "queue: expected one value"),
        ("environment", [["LD_PRELOAD", "x"]], "environment: LD_PRELOAD may not be set"),
        ("environment", [["A"]], "environment: expected a table of texts"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(name, value, words):
    with pytest.raises(BadRequest) as refused:
        request_of(**{name: value})
    assert words in str(refused.value)


# Results


def ended(place, answer, size=1, job_type="executable"):
    """Store a grid job that has ended, with a tar."""
    place.store.add_grid_job(7, "k", "me", place.store.clock.utc(), {"job_type": job_type})
    tar = place.directory / "7.tar"
    with tarfile.open(tar, "w") as packed:
        for name, content in (("stdout", b"out"), ("stderr", b"err"), ("result.dat", b"42")):
            member = tarfile.TarInfo(f"7.0/{name}")
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    place.store.set_grid_job(7, step=Step.FINISHED, size=size, result={"tar": str(tar)})
    (place.state / "answers/7").write_bytes(answer)
    return tar.read_bytes()


def test_a_single_program_s_own_files_come_back(place):
    tar = ended(place, DONE)
    pairs = [["result.dat", "https://x/r"], ["all.tar", "https://x/t"], ["missing", "https://x/m"]]
    for _ in range(2):
        assert deliver(place.state, 7, description(place.directory, filestageout=pairs)) == DONE
        contents = [(place.directory / name).read_bytes() for name in ("out", "err", "result.dat", "all.tar")]
        assert contents == [b"out", b"err", b"42", tar]


def test_of_many_the_tar_comes_back(place):
    tar = ended(place, FAILED, size=3)
    assert deliver(place.state, 7, description(place.directory)) == FAILED
    assert (place.directory / "out").read_bytes() == tar


def test_what_cannot_be_delivered_is_told(place):
    ended(place, DONE)
    said = deliver(place.state, 7, description(place.directory, stdout=["/nowhere/out"]))
    reason = b"the results cannot be delivered: No such file or directory: /nowhere/out"
    assert said == b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:%s\nGRAM_SCRIPT_ERROR:155\n\n" % reason


def test_a_full_disk_is_waited_for(place):
    ended(place, DONE)
    assert deliver(place.state, 7, description(place.directory, stdout=["/dev/full"])) == b"\n"


# The service


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Make the directories of GRAM's packages, below another root."""
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    root = tmp_path / "root"
    for each in (gram_service.PERL, gram_service.RVF, gram_service.AVAILABLE / "x", gram_service.SCRIPT):
        (root / each).parent.mkdir(parents=True, exist_ok=True)
    (root / gram_service.SCRIPT).touch()
    return root


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_it_is_registered_and_nothing_is_left_of_it(root):
    before = files(root)
    list(gram_service.register(root))
    again = list(gram_service.register(root))
    assert any("as it is" in line for line in again)
    assert os.path.realpath(root / gram_service.PERL) == str(MODULE)
    assert (root / "etc/grid-services/jobmanager-samgrid").read_text().endswith("-type samgrid\n")
    assert stat.S_IMODE((root / gram_service.RVF).stat().st_mode) == 0o644
    levels = {each.name: each.level for each in gram_service.findings(root)}
    assert {name for name, level in levels.items() if level == "failed"} <= {"accounts", "Perl", "RVF"}
    assert len(list(gram_service.unregister(root))) == 4
    assert files(root) == before
    assert {each.name for each in gram_service.findings(root) if each.level == "failed"} >= {"service", "attributes"}


def test_what_is_somebody_else_s_is_left_alone(root):
    (root / gram_service.RVF).write_text("Attribute: theirs\n")
    before = files(root)
    for verb in (gram_service.register, gram_service.unregister):
        with pytest.raises(BadSite, match="was not written by JIM"):
            list(verb(root))
    assert files(root) == before


def test_without_GRAM_nothing_is_registered(tmp_path):
    with pytest.raises(JimError, match="install the package globus-gram-job-manager-scripts"):
        list(gram_service.register(tmp_path))


def test_what_GRAM_lets_through_is_what_job_types_declare():
    text = gram_service.rvf()
    names = [line.split(": ")[1] for line in text.splitlines() if line.startswith("Attribute: ")]
    assert len(names) == len(set(names))
    assert {"jim_job_type", "events", "argument_sets", "mass_min_gev", "splitter", "cores"} <= set(names)
    assert not {"job_type", "executable", "arguments", "environment", "queue", "key"} & set(names)
    (values,) = (line.split()[1:] for line in text.splitlines() if line.startswith("Values: "))
    assert {"executable", "parametric", "pythia_monte_carlo"} <= set(values)


# Events


@pytest.fixture
def telling(place):
    """A keeper's house whose site lets it tell GRAM how jobs are, in a directory that is there."""
    events = place.directory / "events"
    events.mkdir()
    house = House(
        site=Site(place.state, site=General(gram_events=str(events))),
        store=place.store,
        adapter=None,
        clock=Clock(),
        workers=Workers(1),
        health=None,
        instance="0",
    )
    yield house
    house.workers.stop()


def told(house):
    """Give today's events without their times, which must be now."""
    file = file_of(Path(house.site.site.gram_events), time.time())
    lines = [line.split(";") for line in file.read_text().splitlines()]
    assert all(each[0] == "1" and abs(int(each[1]) - time.time()) < 60 for each in lines)
    return [";".join(each[2:]) for each in lines]


def handed_in(house, place, answer):
    """Let GRAM hand in job 7, as a door does."""
    file = place.directory / "jim-description"
    file.write_text(json.dumps(description(place.directory)))
    expect(house.site.state, Path(house.site.site.gram_events), "173.72", file)
    replace(house.site.state / "keys" / inbox.request_name("173.72"), b'{"id": 7, "key": "173.72"}')
    (house.site.state / "answers/7").write_bytes(answer)


def finish(house):
    tell(house)
    while not house.workers.idle():
        house.workers.deliver(20)


def test_each_state_is_told_once_and_the_last_after_the_results(telling, place):
    handed_in(telling, place, b"GRAM_SCRIPT_JOB_STATE:32\n\n")
    for number in (32, 1, 1, 2, 16, 2, 2):
        (place.state / "answers/7").write_bytes(b"GRAM_SCRIPT_JOB_STATE:%d\n\n" % number)
        tell(telling)
    assert told(telling) == ["7;1;0", "7;2;0", "7;2;0"]
    ended(place, DONE)
    place.store.set_grid_job(7, outcome="completed")
    finish(telling)
    assert told(telling)[3:] == ["7;8;0"]
    assert (place.directory / "out").read_bytes() == b"out"
    assert not list((place.state / "gram").iterdir())
    finish(telling)
    assert len(told(telling)) == 4


@pytest.mark.parametrize(
    ("answer", "outcome", "event"),
    [
        (FAILED, "failed", "7;8;1"),
        (b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:cancelled\nGRAM_SCRIPT_ERROR:8\n\n", "killed", "7;4;0"),
    ],
)
def test_what_did_not_end_well_is_told(telling, place, answer, outcome, event):
    handed_in(telling, place, answer)
    ended(place, answer, size=3)
    place.store.set_grid_job(7, outcome=outcome)
    finish(telling)
    assert told(telling) == [event]


def test_days_are_made_ahead_and_old_ones_removed(telling):
    events = Path(telling.site.site.gram_events)
    (events / "20010101").touch()
    (events / "notes").touch()
    tell(telling)
    names = sorted(each.name for each in events.iterdir())
    day = 86_400
    assert names[0] == time.strftime("%Y%m%d", time.gmtime())
    assert {file_of(events, time.time() + day).name, "notes"} < set(names)
    assert stat.S_IMODE((events / names[0]).stat().st_mode) == 0o644


def test_a_keeper_stays_and_is_started_for_what_is_not_told_yet(telling, place, monkeypatch, capsys):
    handed_in(telling, place, b"GRAM_SCRIPT_JOB_STATE:2\n\n")
    tell(telling)
    assert not Rounds(telling).idle()
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    monkeypatch.setattr("jim.cli.keeper.runs", lambda _: False)
    monkeypatch.setenv("JIM_STATE", str(place.state))
    assert main(["keeper", "--all"]) == 0
    assert started == [place.state]
    (place.state / "answers/7").unlink()
    tell(telling)
    assert Rounds(telling).idle()
    assert main(["keeper", "--all"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_a_job_whose_time_was_over_is_forgotten(telling, place):
    handed_in(telling, place, DONE)
    (place.state / "answers/7").unlink()
    tell(telling)
    assert not list((place.state / "gram").iterdir())
    assert not telling.gram_jobs


def test_events_that_cannot_be_told_stop_nothing(telling, place):
    handed_in(telling, place, PENDING.encode())
    directory = Path(telling.site.site.gram_events)
    directory.rmdir()
    tell(telling)
    directory.mkdir()
    tell(telling)
    assert told(telling) == ["7;1;0"]


def test_a_job_that_could_not_be_told_of_is_refused(place):
    (place.state / "site.toml").write_text('[site]\ngram_events = "/nowhere"\n')
    said = call(place, "submit")
    assert said.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:site.gram_events: cannot write into /nowhere")
    assert said.endswith("\nGRAM_SCRIPT_ERROR:3\n\n")
    assert not list((place.state / "inbox").glob("request-*"))


def test_events_are_set_up_and_taken_away(root):
    before = files(root)
    with pytest.raises(BadSite, match="install the package globus-seg-job-manager"):
        list(gram_service.register(root, "root"))
    assert files(root) == before
    library = root / "usr/lib/x/libglobus_seg_job_manager.so"
    library.parent.mkdir(parents=True)
    library.touch()
    list(gram_service.register(root))
    list(gram_service.register(root, "root"))
    line = (root / "etc/grid-services/jobmanager-samgrid").read_text()
    assert line.endswith("-type samgrid -seg-module samgrid\n")
    assert gram_service.ADAPTER.parent.is_dir()
    (found,) = (each for each in gram_service.findings(root) if each.name == "events")
    assert (found.level, "gram_events = " in found.todo) == ("failed", True)
    list(gram_service.unregister(root))
    assert files(root) == before | {str(library.relative_to(root))}


def test_who_was_told_by_events_hears_the_reason_last(place):
    place.add(7, answer=FAILED)
    said = call(place, "stage_out", jobid=["7"])
    assert said == f"{FAILED.decode()}"
    place.add(7, answer=DONE)
    assert call(place, "stage_out", jobid=["7"]) == "GRAM_SCRIPT_STAGED_OUT:a b\n\n"


# Priorities


def test_the_highest_priority_is_sent_first(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, limits=Limits(queued=2))
    blocking = world.submit(2, key="blocking")
    world.until(lambda: len(world.batch.accepted) == 1)
    first, second, third = (world.submit(1, key=key) for key in "abc")
    world.until(lambda: all(world.state(job) is State.WAITING for job in (first, second, third)))
    inbox.wish(world.site.state, "priority", str(third), priority=5)
    inbox.wish(world.site.state, "priority", str(first), priority=-5)
    world.go()
    for index in (1, 2):
        world.batch.start(1, index)
        world.batch.finish(1, index)
    world.until(lambda: world.finished(blocking))
    assert [world.state(job) for job in (first, second, third)] == [State.WAITING, State.SUBMITTED, State.SUBMITTED]


def test_a_wish_for_a_priority_that_is_none_is_put_aside(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    job = world.submit(1)
    for value in ("high", 1.5, None):
        inbox.wish(world.site.state, "priority", str(job), priority=value)
    world.go(2)
    assert len(list((world.site.state / "inbox").glob(".unreadable-wish-*"))) == 3
    assert world.store.grid_job(job).priority == 0


def test_jim_priority_leaves_a_wish(place, monkeypatch, capsys):
    monkeypatch.setenv("JIM_STATE", str(place.state))
    monkeypatch.setattr("jim.run_grid_job.wake", lambda _: None)
    place.add(7)
    assert main(["priority", "--", "7", "-5"]) == 0
    (wish,) = (place.state / "inbox").glob("wish-*")
    assert json.loads(wish.read_text())["priority"] == -5
    for words in (["7", "high"], ["7", "1001"], ["7.0", "5"]):
        assert main(["priority", *words]) == 2
    assert "expected -1,000 to 1,000" in capsys.readouterr().err
