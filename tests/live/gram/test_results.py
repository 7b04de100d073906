"""What comes back: to a client that waits, as files, to a server, and why it failed."""

from __future__ import annotations

import io
import shutil
import tarfile

import pytest

from tests.live.gram.gatekeeper import CUT_SHORT, SAMGRID, until
from tests.live.site import USER

pytestmark = pytest.mark.long


def test_all_is_in_its_place(gate):
    assert "failed" not in gate.jim("gram", "check")


def test_what_a_program_writes_comes_back_as_it_is(gate):
    rsl = '&(executable=/bin/sh)(arguments=-c "head -c 100000 /dev/zero; echo oops >&2")'
    done = gate.raw("globusrun", "-s", "-r", SAMGRID, rsl)
    assert (done.returncode, done.stdout, done.stderr) == (0, bytes(100_000), b"oops\n")


def test_quotes_and_what_shells_love_arrive_untouched(gate):
    arguments = """ "%s|" "it's" "a ""b\"\"\" "x\\y" "$HOME `id`" "@a %d" "" "é;&" """
    rsl = f"&(executable=/usr/bin/printf)(arguments={arguments})"
    assert gate.run("globusrun", "-s", "-r", SAMGRID, rsl) == (0, 'it\'s|a "b"|x\\y|$HOME `id`|@a %d||é;&|', "")


def test_the_tar_is_the_stdout_of_many_local_jobs_with_outputs(gate):
    run = '(executable=/bin/sh)(arguments=-c "echo $0 >$0.dat")'
    rsl = f'&{run}(jim_job_type=parametric)(argument_sets=(a)(b))(outputs="*.dat")'
    done = gate.raw("globusrun", "-s", "-r", SAMGRID, rsl)
    assert done.returncode == 0, done.stderr
    job = gate.jobs()[-1]
    assert done.stdout == gate.tar(job)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        assert tar.extractfile(f"{job}.1/b.dat").read() == b"b\n"


def test_so_many_at_once(gate):
    """Each stdout is whole, and comes after the one before; so does stderr."""
    script = 'echo "$JIM_LOCAL_JOB a"; sleep 0.3; echo "$JIM_LOCAL_JOB b"; echo "$JIM_LOCAL_JOB" >&2'
    rsl = f"&(executable=/bin/sh)(arguments=-c '{script}')(count=4)"
    out = "".join(f"{n} a\n{n} b\n" for n in range(4))
    assert gate.run("globusrun", "-s", "-r", SAMGRID, rsl) == (0, out, "0\n1\n2\n3\n")


def test_what_is_read_from_stdin(gate):
    """By a client's own file, by a file of the gatekeeper, and by a URL; each local job reads all of it."""
    file = gate.ours() / "cards"
    file.write_text("42 events\n")
    file.chmod(0o644)
    there = gate.script("exec cat").with_name("cards")
    there.write_text("43 events\n")
    run = ("globus-job-run", SAMGRID)
    assert gate.run(*run, "-np", "2", "-stdin", "-s", str(file), "/bin/cat") == (0, "42 events\n" * 2, "")
    rsl = f"&(executable=/bin/cat)(stdin=$(GLOBUSRUN_GASS_URL){file})"
    assert gate.run("globusrun", "-s", "-r", SAMGRID, rsl) == (0, "42 events\n", "")
    code, _, err = gate.run(*run, "-stdin", "-l", str(there), "/bin/cat")
    assert (code != 0, "site.inputs_below" in err) == (True, True)
    before, below = gate.settings.read_text(), f'[site]\ninputs_below = ["{there.parent}"]\n'
    gate.site_file(before.replace("[site]\n", below) if "[site]\n" in before else f"{before}\n{below}")
    try:
        assert gate.run(*run, "-stdin", "-l", str(there), "/bin/cat") == (0, "43 events\n", "")
    finally:
        gate.site_file(before)


def test_a_program_runs_where_the_description_says(gate):
    place = gate.account / "where"
    place.mkdir(exist_ok=True)
    shutil.chown(place, USER, USER)
    try:
        staged = f"(file_stage_out=(x.dat $(GLOBUSRUN_GASS_URL){gate.ours()}/where.dat))"
        run = '(executable=/bin/sh)(arguments=-c "pwd; echo 42 >x.dat; : >more")'
        rsl = f"&{run}(directory={place}){staged}"
        assert gate.run("globusrun", "-s", "-r", SAMGRID, rsl) == (0, f"{place}\n", "")
        assert (gate.ours() / "where.dat").read_text() == "42\n"
        assert sorted(each.name for each in place.iterdir()) == ["more", "x.dat"]
        code, _, err = gate.run("globus-job-run", SAMGRID, "-np", "2", "-d", str(place), "/bin/pwd")
        assert (code, "directory: " in err, "goes only with one run of one program" in err) == (48, True, True)
    finally:
        shutil.rmtree(place)


HOSTILE = (
    *("", " ", "a  b", "it's", 'say "hi"', "a\\.b", "$HOME", "`id`", "${HOME}", "*", "-n", "--", "&(x=y)", "|;<>"),
    *("é", "%s#!"),
)


def test_hostile_arguments_arrive_as_with_fork(gate):
    """Of each client, word for word what GRAM's own job manager gives."""
    words = ("/usr/bin/printf", "[%s]|", *HOSTILE)
    quoted = " ".join('"' + each.replace('"', '""') + '"' for each in words[1:])
    told = {}
    for service in (SAMGRID, SAMGRID.replace("samgrid", "fork")):
        contact = gate.run("globus-job-submit", service, *words)[1].strip()
        rsl = f"&(executable={words[0]})(arguments={quoted})"
        told[service] = [gate.run("globus-job-run", service, *words), gate.run("globusrun", "-s", "-r", service, rsl)]
        until(lambda contact=contact: gate.run("globus-job-status", contact)[1].strip() == "DONE", "it is done")
        told[service].append(gate.run("globus-job-get-output", "-r", service, contact))
    ours, forks = told.values()
    assert ours == forks
    assert len(HOSTILE) == 16
    assert ours[1][1].count("]|") == 16


def test_files_are_staged_out(gate):
    ours = gate.ours()
    url = f"$(GLOBUSRUN_GASS_URL){ours}"
    rsl = (
        '&(executable=/bin/sh)(arguments=-c "echo 42 >result.dat")(scratch_dir=/tmp)(directory=$(SCRATCH_DIRECTORY))'
        f"(file_stage_out=(all.tar {url}/all.tar)(result.dat {url}/result.dat))"
    )
    code, out, err = gate.run("globusrun", "-w", "-r", SAMGRID, rsl)
    assert code == 0, (out, err)
    assert (ours / "result.dat").read_text() == "42\n"
    assert (ours / "all.tar").read_bytes() == gate.tar(gate.jobs()[-1])


def test_jobs_may_name_the_same_results(gate):
    ours = gate.ours()
    clients = []
    for n in range(6):
        rsl = f'&(executable=/bin/sh)(arguments=-c "echo {n} >same.dat")'
        staged = f"(file_stage_out=(same.dat $(GLOBUSRUN_GASS_URL){ours}/{n}))"
        clients.append(gate.start("globusrun", "-w", "-r", SAMGRID, rsl + staged))
    said = [client.communicate(timeout=90) for client in clients]
    assert [client.returncode for client in clients] == [0] * 6, said
    assert [(ours / str(n)).read_text() for n in range(6)] == [f"{n}\n" for n in range(6)]
    assert list(gate.account.glob("same.dat")) == list(gate.account.glob(".globus/job/*/*/jim-results")) == []


def test_what_is_staged_in_is_in_the_payloads_directory(gate):
    source = gate.ours() / "cards.txt"
    source.write_text("42 events\n")
    url = f"$(GLOBUSRUN_GASS_URL){source}"
    staged = f"(file_stage_in=({url} here.txt))(file_stage_in_shared=({url} shared.txt))"
    rsl = "&(executable=/bin/cat)(arguments=here.txt shared.txt)(scratch_dir=/tmp)(directory=$(SCRATCH_DIRECTORY))"
    assert gate.run("globusrun", "-s", "-r", SAMGRID, rsl + staged) == (0, "42 events\n42 events\n", "")


def test_a_job_left_to_itself(gate):
    code, contact, err = gate.run("globus-job-submit", SAMGRID, "/bin/sh", "-c", "echo later; sleep 1")
    assert code == 0, err
    contact = contact.strip()
    assert gate.run("globus-job-status", contact)[1].strip() in ("UNSUBMITTED", "PENDING", "ACTIVE")
    until(lambda: gate.run("globus-job-status", contact)[1].strip() == "DONE", "it is done")
    assert gate.run("globus-job-get-output", "-r", SAMGRID, contact) == (0, "later\n", "")
    assert gate.run("globus-job-clean", "-f", "-r", SAMGRID, contact)[0] == 0


def test_two_phase_commit(gate):
    rsl = "&(executable=/bin/echo)(arguments=committed)(two_phase=30)(save_state=yes)"
    assert gate.run("globusrun", "-s", "-r", SAMGRID, rsl)[:2] == (0, "committed\n")


def contents(place):
    return {file.name: file.read_bytes() for file in place.iterdir()}


def test_results_go_to_a_server_when_nobody_waits(gate):
    server = gate.start("globus-gass-server", "-r", "-w", "-p", "40499")
    try:
        url = server.stdout.readline().strip() + str(gate.ours())
        file = gate.script("echo out; echo 42 >result.dat")
        staged = f"(file_stage_out=(result.dat {url}/batch.dat)(all.tar {url}/batch.tar))"
        scratch = "(scratch_dir=/tmp)(directory=$(SCRATCH_DIRECTORY))"
        _, job = gate.submit(f"&(executable={file})(stdout={url}/batch.out){scratch}{staged}")
        wanted = {"batch.out": b"out\n", "batch.dat": b"42\n"}
        until(lambda: wanted.items() <= contents(gate.ours()).items(), "they were sent")
        until(lambda: contents(gate.ours())["batch.tar"] == gate.tar(job), "the tar was sent")
    finally:
        server.kill()
        server.communicate()


def test_why_it_failed_is_told_and_what_it_wrote_comes_all_the_same(gate):
    file = gate.script('echo "$1"; [ "$1" -lt 3 ]')
    sets = "".join(f"({n})" for n in range(20))
    rsl = f"&(executable={file})(jim_job_type=parametric)(argument_sets={sets})"
    done = gate.raw("globusrun", "-s", "-r", SAMGRID, rsl)
    assert done.returncode == 17
    assert b"Details: 17 of 20 local jobs failed" in done.stderr
    assert done.stdout.decode() == "".join(f"{n}\n" for n in range(20))
    code, _, err = gate.run("globusrun", "-r", SAMGRID, rsl)
    assert code == 17
    assert "Details: 17 of 20 local jobs failed" in err


BAD = {
    '(arguments="\x01")': (48, "arguments: contains the character '\\x01'"),
    "(count=200000)": (48, "count: expected 1 to 100,000, found '200000'"),
    "(job_type=mpi)": (48, "job_type: 'mpi': expected single or multiple"),
    "(stdin=/no/such/file)": (48, "stdin: /no/such/file: a request that comes through this gatekeeper may name only"),
    "(directory=/no/such/place)": (48, "directory: cannot enter /no/such/place: No such file or directory"),
    "(directory=/tmp)(count=2)": (48, "directory: '/tmp': goes only with one run of one program"),
    "(max_wall_time=soon)": (48, "max_wall_time: expected a whole number, found 'soon'"),
    "(max_wall_time=0)": (48, "max_wall_time (wall_seconds): expected at least 1"),
    '(project="x;y")': (48, "project (account): 'x;y' is not possible"),
    "(environment=(A b)(C))": (48, 'environment: expected pairs, such as (NAME text), found ["C"]'),
    '(arguments="\udcff")': (48, """after '{"arguments":["', is not UTF-8"""),
    "(executable=/bin/true /bin/false)": (48, "executable: expected the name of one program"),
    '(queue="a b")': (48, "queue: 'a b' is not possible"),
    "(cores=many)": (48, "cores: expected a whole number, found 'many'"),
    "(events=20)": (48, "'events': unknown attribute"),
    "(argument_sets=(a b))": (48, "'argumentsets': unknown attribute"),
    "(environment=(LD_PRELOAD /tmp/x))": (48, "environment: a request may not set LD_PRELOAD"),
    '(arguments="two\nlines")': (48, "arguments: contains a line break, but must be one line"),
    '(arguments="an\n\nempty line")': (48, CUT_SHORT),
}


def test_a_refusal_names_the_attribute_and_leaves_nothing(gate):
    before = gate.jobs(), sorted((gate.state / "inbox").glob("*")), sorted(gate.account.iterdir())
    for more, (number, words) in BAD.items():
        code, out, err = gate.run("globusrun", "-r", SAMGRID, f"&(executable=/bin/true){more}")
        assert (code, words in err) == (number, True), (more, code, out, err)
    assert (gate.jobs(), sorted((gate.state / "inbox").glob("*")), sorted(gate.account.iterdir())) == before
    # What follows an empty line must not be taken for the next command: it would hurt the next job.
    assert gate.run("globus-job-run", SAMGRID, "/bin/echo", "unharmed") == (0, "unharmed\n", "")
    unknown = gate.run("globusrun", "-r", SAMGRID, "&(executable=/bin/true)(nonsense=1)")
    assert unknown[0] == 1
    unlisted = gate.run("globusrun", "-r", SAMGRID, "&(executable=/bin/true)(jim_job_type=nosuch)")
    assert unlisted[0] == 134
