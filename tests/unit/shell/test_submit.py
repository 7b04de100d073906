"""The doors: what a gatekeeper may say, and handing in."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jim import run_grid_job
from jim.doors.gram import protocol
from jim.doors.inbox import target_of
from jim.errors import BadRequest, UnknownJob
from jim.model import Resources
from jim.site import libraries
from jim.site.file import Batch, Site
from jim.work.sizing import Size, check_limits
from tests.support.stand_ins import World
from tests.unit.shell.place import HOME, PROTOCOL

# The command line


@pytest.mark.parametrize("name", ["jim-submit", "jim-cancel", "jim-poll"])
@pytest.mark.parametrize("words", [(), ("1", "2"), ("/etc/hostname", "--force")])
def test_too_few_and_too_many_words_are_told_how(place, name, words):
    code, out, err = place.door(name, *words)
    assert code == 2
    assert PROTOCOL.fullmatch(out)
    assert out.startswith(f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:usage: {name} ")
    assert out.endswith("GRAM_SCRIPT_ERROR:48\n\n")
    assert err.startswith(f"{name}: usage: {name} ")
    assert place.left() == ([], [])


@pytest.mark.parametrize("name", ["jim-submit", "jim-cancel"])
def test_an_empty_word_is_none(place, name):
    assert place.door(name, "")[0] == 2


@pytest.mark.parametrize("name", ["jim-submit", "jim-cancel", "jim-poll"])
@pytest.mark.parametrize("word", ["-h", "--help"])
def test_who_asks_for_help_gets_it(place, name, word):
    code, out, err = place.door(name, word)
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: {name} ")
    assert len(out.splitlines()) == 1


@pytest.mark.parametrize("text", ["00004", "0", "4.01", "4.00", "04.1", "-4", "4.", "4,1", "4.1.1"])
def test_what_is_no_id_is_no_job(place, text):
    place.add(4, size=2)
    with pytest.raises(UnknownJob, match="is not an id"):
        target_of(text)  # as the other doors do
    code, out, _ = place.door("jim-poll", text)
    assert (code, out.splitlines()[1]) == (4, "GRAM_SCRIPT_ERROR:156")


@pytest.mark.parametrize("text", ["0", "4.01", "-4"])
def test_nor_can_it_be_cancelled(place, text):
    place.add(4, size=2)
    code, out, _ = place.door("jim-cancel", text)
    assert (code, out.splitlines()[1]) == (4, "GRAM_SCRIPT_ERROR:156")


# Submit


def test_a_request_is_taken_in(place):
    assert place.door("jim-submit", "request.toml")[0] == 2  # not there yet
    place.request()
    assert place.door("jim-submit", "request.toml") == (0, "GRAM_SCRIPT_JOB_ID:1\nGRAM_SCRIPT_JOB_STATE:32\n\n", "")
    ((), (name,)) = map(tuple, place.left())
    assert name.startswith("request-")


def test_a_full_disk_is_told_with_the_file_and_what_to_do(place, monkeypatch, capfdbinary):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("JIM_STATE", str(place.state))
    monkeypatch.setattr("os.fsync", full)
    assert run_grid_job.door(["submit", str(place.request())]) == 1
    out, err = capfdbinary.readouterr()
    words = f"{place.state}/next-id: No space left on device; free space or inodes on its disk, and try again"
    assert err.decode() == f"jim-submit: {words}\n"
    assert out == protocol.failure(words, protocol.NO_RESOURCES)
    assert place.left() == ([], [])


def test_a_link_to_a_request_is_as_good_as_the_request(place):
    place.request()
    (place.directory / "link.toml").symlink_to("request.toml")
    (place.directory / "again.toml").symlink_to("link.toml")
    assert place.door("jim-submit", "again.toml")[0] == 0


@pytest.mark.parametrize("name", ["fifo", "directory", "/dev/null", "/dev/stdin"])
def test_what_is_no_file_is_refused(place, name):
    os.mkfifo(place.directory / "fifo")
    (place.directory / "directory").mkdir()
    code, out, err = place.door("jim-submit", name)
    assert (code, out.splitlines()[1]) == (2, "GRAM_SCRIPT_ERROR:48")
    assert f"{name} is no regular file; a directory, pipe or device cannot be a request (`-` reads stdin)\n" in err
    assert place.left() == ([], [])


def test_a_link_to_itself_is_refused(place):
    (place.directory / "loop.toml").symlink_to("loop.toml")
    for file in ("loop.toml", "loop.toml/request.toml"):
        words = f"cannot read the request: {place.directory}/{file} is a link that leads back to itself"
        code, out, err = place.door("jim-submit", file)
        assert (code, out.splitlines()[1], err) == (2, "GRAM_SCRIPT_ERROR:48", f"jim-submit: {words}\n")
    place.request('job_type = "executable"\nexecutable = "/bin/true"\ninputs = ["loop.toml"]\n')
    assert place.door("jim-submit", "request.toml")[0] == 2


@pytest.mark.parametrize("variable", ["JIM_STATE", "JIM_SITE"])
def test_no_site_is_at_a_link_to_itself(place, variable):
    loop = place.directory / "loop"
    loop.symlink_to("loop")
    code, out, err = place.door("jim-submit", str(place.request()), **{variable: str(loop)})
    assert (code, out.splitlines()[1]) == (3, "GRAM_SCRIPT_ERROR:3")
    assert str(loop) in err
    assert "fault" not in place.door("jim", "status", **{variable: str(loop)})[2]


def test_a_link_to_nothing_is_refused(place):
    (place.directory / "link.toml").symlink_to("nothing")
    code, _, err = place.door("jim-submit", "link.toml")
    assert code == 2
    assert "No such file or directory" in err


@pytest.mark.parametrize(
    "text",
    [
        'executable = " "',
        'executable = "\t"',
        'executable = "/ "',
        'executable = "/bin/true"\nkey = ""',
        'executable = "/bin/true"\nkey = "  "',
        'executable = "/bin/true"\nqueue = ""',
        'executable = "/bin/true"\naccount = "-x"',
        'executable = "/bin/true"\ncores = 0',
        'executable = "/bin/true"\ndisk_mb = 0.5',
    ],
)
def test_what_is_there_but_says_nothing_is_refused(place, monkeypatch, text):
    monkeypatch.setenv("JIM_STATE", str(place.state))
    attribute = re.findall(r"(\w+) =", text)[-1]
    with pytest.raises(BadRequest, match=rf": line [23], column 1: {attribute}: "):
        run_grid_job.submit(place.request(f'job_type = "executable"\n{text}\n'))
    assert place.left() == ([], [])


@pytest.mark.parametrize("key", ["", " ", "a\nb", "a\x1b"])
def test_a_key_of_the_command_line_is_checked_like_any_other(place, monkeypatch, key):
    monkeypatch.setenv("JIM_STATE", str(place.state))
    with pytest.raises(BadRequest, match=r"^key: "):
        run_grid_job.submit(place.request(), key=key)
    assert place.left() == ([], [])


def test_a_request_without_a_key_gets_one(place, monkeypatch):
    monkeypatch.setenv("JIM_STATE", str(place.state))
    assert [run_grid_job.submit(place.request()) for _ in range(2)] == [1, 2]
    assert [run_grid_job.submit(place.request(), key="mine") for _ in range(2)] == [3, 3]


ASKED = Resources("long", 60, 500, "hep", 4, 1000)


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (Batch(most_cores=3), "cores: 4 cores, more than the 3 cores that this site allows a local job"),
        (Batch(most_memory_mb=499), "memory_mb: 500 MB, more than the 499 MB that this site allows a local job"),
        (Batch(most_wall_seconds=59), "wall_seconds: 60 s, more than the 59 s that this site allows a local job"),
        (
            Batch(queues=("lung", "short")),
            "queue: this site does not allow 'long'; did you mean 'lung'? (known: lung, short)",
        ),
        (Batch(accounts=("qcd",)), "account: this site does not allow 'hep' (known: qcd)"),
    ],
)
def test_what_the_site_does_not_allow_is_refused(batch, words):
    with pytest.raises(BadRequest) as error:
        check_limits(ASKED, Site(Path("/s"), batch=batch._replace(system="slurm")), Size(1, 0, 0, None, ""))
    assert str(error.value) == words


def test_what_the_site_allows_or_nobody_asks_for_is_not():
    batch = Batch("slurm", most_cores=4, queues=("long",), accounts=("hep", "qcd"))
    for asked in (ASKED, Resources()):
        check_limits(asked, Site(Path("/s"), batch=batch), Size(1, 0, 0, None, ""))


def test_what_request_and_site_say_reaches_the_adapter(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, batch=Batch(account="hep", queue="long", options=("-P", "my grid")))
    seen, build = [], world.batch.submit_command
    monkeypatch.setattr(world.batch, "submit_command", lambda batch: seen.append(batch) or build(batch))
    world.submit(1, queue="short", cores=4, disk_mb=1000)
    world.until(lambda: world.batch.tasks)
    assert seen[0].resources == Resources("short", 86_400, None, "hep", 4, 1000)
    assert seen[0].options == ("-P", "my grid")


# What no keeper could run


def test_without_its_libraries_nothing_is_taken_in(place, monkeypatch, capfdbinary):
    monkeypatch.setenv("JIM_STATE", str(place.state))
    monkeypatch.setattr(libraries, "LIBRARIES", ("json", "no_such_library", "nor_this"))
    assert run_grid_job.main(["submit", str(place.request())]) == 3
    sys.stdout.flush()
    out, err = capfdbinary.readouterr()
    assert out.startswith(b"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:no_such_library, nor_this not found by ")
    assert out.endswith(b"GRAM_SCRIPT_ERROR:3\n\n")
    assert b"/bin/pip install no_such_library nor_this\n" in err
    assert place.left() == ([], [])


def without_libraries(place, call, names=("lxml", "psutil", "tenacity", "rich")):
    """Run a call in a Python that has none of the libraries, or not these."""
    program = f"""
import sys
class Nothing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Nothing)
{call}
"""
    environment = {**os.environ, "JIM_STATE": str(place.state), "PYTHONPATH": str(HOME)}
    command = [sys.executable, "-P", "-s", "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_site_check_says_what_is_not_there(place):
    done = without_libraries(place, "from jim.cli import main; sys.exit(main(['site', 'check']))")
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    assert lines[0].startswith("failed   libraries: missing: lxml, psutil, tenacity, rich; ")
    assert "failed   batch system: No module named 'tenacity'" in lines
    assert done.stderr == ""


def test_a_verb_that_needs_one_says_so(place):
    place.add(1, size=1)
    done = without_libraries(place, "from jim.cli import main; sys.exit(main(['xml', '--schema']))")
    assert done.returncode == 3
    assert re.match(r"jim: lxml(\.\w+)? not found by .*, which runs JIM: .*pip install", done.stderr)


@pytest.mark.parametrize("library", ["tenacity", "lxml", "psutil"])  # the last two are imported only when needed
def test_a_keeper_that_cannot_start_leaves_its_reason_once(place, library):
    call = f"from jim.run_grid_job import main; main(['keeper', {str(place.state)!r}])"
    for _ in range(1 + (library == "tenacity")):
        assert without_libraries(place, call, names=(library, "rich")).returncode == 1
    (line,) = (place.state / "keeper.log").read_text().splitlines()
    assert re.search(rf" CRITICAL jim\.keeper\.main the keeper ends: {library} not found by ", line)


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("jim-submit", ("request.toml",), "GRAM_SCRIPT_JOB_ID:8\nGRAM_SCRIPT_JOB_STATE:32\n\n"),
        ("jim-cancel", ("7",), "GRAM_SCRIPT_JOB_STATE:4\n\n"),
        ("jim", ("cancel", "7"), "7: cancel requested"),
    ],
)
def test_a_door_that_is_called_by_a_link_finds_its_home(place, name, words, said):
    place.request()
    place.add(7)
    (place.directory / "bin").mkdir()
    (place.directory / "bin" / name).symlink_to(HOME / "shell" / name)
    (place.directory / "again").symlink_to(f"bin/{name}")
    code, out, err = place.door(name, program=[str(place.directory / "again"), *words])
    assert (code, err) == (0, "")
    assert out.startswith(said)


@pytest.mark.parametrize("name", ["jim-submit", "jim-cancel", "jim"])
def test_without_any_python_the_doors_still_answer(place, name):
    shell = place.directory / "shell"
    shell.mkdir()
    (shell / name).write_bytes((HOME / "shell" / name).read_bytes())
    (shell / name).chmod(0o755)
    (shell / "jim-home").write_text((HOME / "shell/jim-home").read_text().replace("/usr/bin/python3", "/no/python3"))
    done = subprocess.run([str(shell / name), "1"], env={}, capture_output=True, text=True, timeout=60, check=False)
    words = f"no Python to run JIM: neither {place.directory}/.venv/bin/python nor /no/python3 is there"
    assert (done.returncode, done.stderr) == (3, f"{name}: {words}\n")
    answer = f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{words}\nGRAM_SCRIPT_ERROR:3\n\n"
    assert done.stdout == ("" if name == "jim" else answer)


@pytest.mark.parametrize("name", ["/nosuch/python", "/tmp", "/etc/passwd"])
@pytest.mark.parametrize("door", ["jim", "jim-submit", "jim-cancel"])
def test_a_named_python_that_is_none_is_not_passed_over(place, door, name):
    code, out, err = place.door(door, "status", JIM_PYTHON=name)
    words = f"JIM_PYTHON is {name}, which is no program that can be run: correct it, or unset it"
    assert (code, err) == (3, f"{door}: {words}\n")
    assert ("GRAM_SCRIPT_ERROR:3" in out) == (door != "jim")


def test_a_python_that_is_too_old_is_named(place):
    old = place.directory / "python3.9"
    old.write_text("#!/bin/sh\necho Unknown option: -P >&2; exit 2\n")
    old.chmod(0o755)
    (place.directory / "python3").symlink_to(old)
    code, out, err = place.door("jim-submit", str(place.request()), JIM_PYTHON=str(place.directory / "python3"))
    words = f"{place.directory}/python3 is too old: JIM needs Python 3.11 or newer"
    assert (code, err) == (3, f"jim-submit: {words}\n")
    assert out == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{words}\nGRAM_SCRIPT_ERROR:3\n\n"


@pytest.mark.parametrize("system", ["os.path", "slrum"])
def test_a_batch_system_that_is_none_is_refused_by_door_and_keeper(place, system):
    (place.state / "site.toml").write_text(f'[batch]\nsystem = "{system}"\n')
    code, out, err = place.door("jim-submit", str(place.request()))
    assert (code, out.splitlines()[1]) == (3, "GRAM_SCRIPT_ERROR:3")
    words = f"{place.state}/site.toml:2: batch.system: "
    assert err.startswith(f"jim-submit: {words}")
    assert place.left() == ([], [])
    place.lock.close()
    environment = {**os.environ, "JIM_STATE": str(place.state), "PYTHONPATH": str(HOME)}
    command = [sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", str(place.state)]
    assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == 1
    log = (place.state / "keeper.log").read_text()
    assert f"CRITICAL jim.keeper.opening the keeper ends: {words}" in log
    assert "Traceback" not in log


def test_a_keeper_of_a_damaged_status_db_leaves_a_sentence(place):
    place.store.close()
    place.lock.close()
    for file in place.state.glob("status.db-*"):
        file.unlink()
    (place.state / "status.db").write_bytes(b"garbage" * 1000)
    environment = {**os.environ, "JIM_STATE": str(place.state), "PYTHONPATH": str(HOME)}
    command = [sys.executable, "-P", "-s", "-m", "jim.run_grid_job", "keeper", str(place.state)]
    assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == 1
    words = f"{place.state}/status.db is damaged (file is not a database): end its keeper, and move "
    (line,) = (place.state / "keeper.log").read_text().splitlines()
    assert f"CRITICAL jim.keeper.opening the keeper ends: {words}" in line
    for verb in (("keeper",), ("keeper", "--all"), ("status",)):
        code, _, err = place.door("jim", *verb)
        assert (code, err.splitlines()[-1][: len(words) + 5]) == (1, f"jim: {words}")
