"""jim edit: what may be changed of what has not been sent, what is said of it, and what is refused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from jim.handlers.base import COMMON
from jim.handlers.parametric import Parametric
from jim.handlers.pythia_monte_carlo import PythiaMonteCarlo
from jim.keeper.inbox.editing import read, written
from jim.model import Piece, State, Step
from jim.request import check
from jim.site.file import Batch
from tests.support.stand_ins import World

PARAMETRIC = {"job_type": "parametric", "executable": "/bin/true", "argument_sets": [["1"], ["2"]]}


def add(home, number=1, size=2, step=None, **more):
    """Add a grid job as a door would have it: a checked request."""
    home.add(number, size=0, **{**check({**PARAMETRIC, **more})[1], "key": f"key-{number}"})
    if size:
        home.store.add_pieces(number, 0, [Piece(arguments=(str(n),)) for n in range(size)])
        home.store.end_split(number, size)


def wishes(home):
    return [json.loads(each.read_text()) for each in sorted((home.site.state / "inbox").glob("wish-*"))]


def test_it_tells_what_it_changes_and_how_to_undo_it(home):
    add(home, queue="short", environment={"A": "1"})
    assert home.out("edit", "1", "queue=long", "memory_mb=4000", 'environment={"A": "it\'s"}') == (
        """1: edit requested: queue=long memory_mb=4000 'environment={"A": "it'"'"'s"}' for local jobs: 2 waiting; """
        """`jim edit 1 queue=short memory_mb= 'environment={"A": "1"}'` undoes it\n"""
    )
    [wish] = wishes(home)
    assert (wish["verb"], wish["target"]) == ("edit", "1")
    assert wish["changes"] == {"queue": "long", "memory_mb": 4000, "environment": {"A": "it's"}}
    assert home.woken


def test_one_that_is_so_already(home):
    add(home, queue="short")
    assert home.out("edit", "1", "queue=short", "cores=") == "1: has this value already; edit changes nothing\n"
    assert wishes(home) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["quue=long"], "'quue': unknown attribute; did you mean 'queue'?"),
        (["queue=a b"], "queue: 'a b' is not possible"),
        (["memory_mb=much"], "memory_mb: cannot read 'much'; expected a whole number"),
        (["memory_mb=-1"], "memory_mb: expected at least 1 and at most 100,000,000, found -1"),
        (["outputs=a.dat"], """outputs: cannot read 'a.dat'; expected a list of texts such as ["a.dat", "b.dat"]"""),
        (["keep_going=yes"], "keep_going: cannot read 'yes'; expected true or false"),
        (['outputs=["/etc/passwd"]'], "outputs: '/etc/passwd' must be a name or pattern inside"),
        (['environment={"LD_PRELOAD": "x"}'], "environment: a request may not set LD_PRELOAD"),
        (["executable="], "executable: missing"),
        (["key=other"], "key: identifies 1 and cannot be changed; hand in another request"),
        (["job_type=executable"], "job_type: "),
        (
            ['argument_sets=[["3"]]'],
            "argument_sets: already used to split 1; cancel 1 and hand in a new request",
        ),
        (['arguments=["-x"]'], "arguments: already used to split 1; cancel 1 and hand in a new request"),
        (["test=yes"], "test: already used to split 1"),
        (["proxy=/no/such"], "proxy: cannot read the X.509 proxy /no/such: No such file"),
        (["cores=2", "queue=/x"], "queue: '/x' is not possible"),
        ([], "name the change as attribute=value, for example queue=long"),
        (["--all", "cores=2"], "name the grid jobs, or use --all with --where attribute=value"),
        (["--where=cores=1", "cores=2"], "name the grid jobs, or use --all"),
    ],
)
def test_what_is_refused(home, words, said):
    add(home)
    options = [each for each in words if each.startswith("--")]
    code, out, err = home.run("edit", *options, "1", *words[len(options) :])
    assert (code, out, wishes(home)) == (2, "", [])
    assert err.startswith(f"jim: {said}")


def test_what_a_site_does_not_allow(home):
    (home.site.state / "site.toml").write_text('[batch]\nqueues = ["short", "long"]\n')
    add(home)
    assert home.run("edit", "1", "queue=lang")[2].startswith(
        "jim: queue: this site does not allow 'lang'; did you mean 'long'?"
    )


def test_what_has_been_sent_is_too_late(home):
    add(home)
    home.move(0, State.RUNNING)
    home.move(1, State.COMPLETED)
    code, _, err = home.run("edit", "1", "queue=long")
    assert (code, err) == (2, "jim: 1: all of its local jobs are already sent; nothing is left to change\n")
    home.move(1, State.FAILED)
    assert "for local jobs: 1 failed or killed, if retried; " in home.out("edit", "1", "queue=long")


def test_what_could_not_be_split_has_no_local_jobs(home):
    home.add(size=0, **{**check(PARAMETRIC)[1], "key": "key-1"})
    assert "edit requested: queue=long for all of its local jobs" in home.out("edit", "1", "queue=long")
    home.finish("failed", "cannot be split: dataset: there is no dataset 'x' in the catalogue")
    code, out, err = home.run("edit", "1", "queue=long")
    said = "jim: 1: it ended without local jobs; nothing is left to change\n"
    assert (code, out, err) == (2, "", said)


def test_what_a_splitter_has_given_to_each_local_job(home):
    home.add(1, size=0, **{**check({"job_type": "executable", "executable": "/bin/true"})[1], "key": "key-1"})
    home.store.add_pieces(1, 0, [Piece(attributes={"environment": {"N": "0"}})])
    home.store.end_split(1, 1)
    said = home.run("edit", "1", 'environment={"N": "1"}', "queue=long")[2]
    assert said == "jim: environment: the splitter set this for each local job of 1; hand in a new request\n"
    assert "1: edit requested: queue=long" in home.out("edit", "1", "queue=long")


def test_what_has_got_its_files_from_the_catalogue(home):
    asked = {"job_type": "executable", "executable": "/bin/true", "splitter": "FileBased", "dataset": "raw"}
    home.add(1, size=0, **{**check(asked)[1], "key": "key-1", "input_files": [{"lfn": "/a"}]})
    home.store.add_pieces(1, 0, [Piece(files=("/a",))])
    home.store.end_split(1, 1)
    assert "1: edit requested: queue=long for local jobs: 1 waiting" in home.out("edit", "1", "queue=long")


def test_variables_are_put_in_only_when_it_is_split(home):
    asked = {"job_type": "executable", "executable": "/bin/true", "splitter": "Parametric"}
    home.add(1, size=0, **{**check(asked)[1], "key": "key-1"})
    home.store.add_pieces(1, 0, [Piece()])
    home.store.end_split(1, 1)
    code, _, said = home.run("edit", "1", "queue=q$SplitID")
    told = "jim: queue: 1 is already split, which replaces variables; hand in a new request\n"
    assert (code, said) == (2, told)


def test_what_is_in_the_package_is_packed(home):
    words = {"job_type": "pythia_monte_carlo", "events": 500}
    home.add(1, size=0, **{**check(words)[1], "key": "key-1"})
    home.store.add_pieces(1, 0, [Piece(1, 250), Piece(251, 250)])
    home.store.end_split(1, 2)
    assert "events: already used to split 1" in home.run("edit", "1", "events=600")[2]
    assert "inputs: already packed for 1" in home.run("edit", "1", 'inputs=["/x"]')[2]
    assert "edit requested: mass_min_gev=70.0 for" in home.out("edit", "1", "mass_min_gev=70")


def dzero(home):
    asked = {"job_type": "dzero_monte_carlo", "request_id": "13669", "events": 500, "jobfiles_dataset": "jobfiles"}
    asked["d0_release_version"] = "p14.07.00"
    home.add(size=0, **{**check(asked)[1], "key": "key-1"})
    home.store.add_pieces(1, 0, [Piece(1, 250), Piece(251, 250)])
    home.store.end_split(1, 2)


def test_what_a_catalogue_does_not_know(home, tmp_path):
    """The keeper looks it up only once, before it splits: afterwards nobody but the edit would."""
    for folder, name, text in (
        ("requests", "13669.toml", "events = 500"),
        ("requests", "13670.toml", "events = 500"),
        ("datasets", "jobfiles.toml", '[[files]]\nlfn = "a"'),
        ("datasets", "empty.toml", "files = []"),
    ):
        (tmp_path / "catalogue" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "catalogue" / folder / name).write_text(text)
    (home.site.state / "site.toml").write_text(f'[site]\ncatalogue = "{tmp_path}/catalogue"\n')
    dzero(home)
    for word, said in (
        ("request_id=13699", "request_id: there is no request id '13699' in the catalogue"),
        ("jobfiles_dataset=jobfile", "jobfiles_dataset: there is no dataset 'jobfile' in the catalogue"),
        ("minbias_dataset=empty", "minbias_dataset: dataset 'empty' of the catalogue"),
        ("runjob_requestid=13699", "request_id: there is no request id '13699' in the catalogue"),  # as SAMGrid says it
        ("runjob_requestidd=1", "'runjob_requestidd': unknown attribute; did you mean 'runjob_requestid'?"),
    ):
        code, out, err = home.run("edit", "1", word)
        assert (code, out, err.startswith(f"jim: {said}")) == (2, "", True)
    assert "1: edit requested: request_id=13670 for" in home.out("edit", "1", "request_id=13670")


def test_how_many_events_a_local_job_may_have_is_settled_when_it_is_cut(home):
    dzero(home)
    code, _, err = home.run("edit", "1", "files_per_phase=several")
    assert (code, err.startswith("jim: files_per_phase: already used to split 1")) == (2, True)
    assert "edit requested: d0_release_version=p15 for" in home.out("edit", "1", "d0_release_version=p15")


def test_a_fix_across_grid_jobs(home):
    add(home, 1, queue="short")
    add(home, 2, queue="long")
    add(home, 3, queue="short", cores=2)
    add(home, 4, queue="short")
    add(home, 5, queue="short")
    home.store.set_grid_job(5, step=Step.FINISHED, outcome="completed")
    for n in range(2):
        home.store.set_local_job(4, n, state=State.RUNNING)
    lines = home.out("edit", "--all", "--where", "queue=short", "queue=medium").splitlines()
    assert [line.split(";")[0] for line in lines] == [
        "4: not changed: 4: all of its local jobs are already sent",
        "1: edit requested: queue=medium for local jobs: 2 waiting",
        "3: edit requested: queue=medium for local jobs: 2 waiting",
    ]
    assert [wish["target"] for wish in wishes(home)] == ["1", "3"]
    lines = home.out("edit", "--all", "--where", "queue=short", "--where", "cores=2", "wall_seconds=60").splitlines()
    assert [line.split(":")[0] for line in lines] == ["3"]
    assert home.out("edit", "--all", "--where", "queue=none", "cores=3") == (
        "no unfinished grid job has queue=none; nothing is changed\n"
    )
    assert (
        "'quue': unknown attribute; did you mean 'queue'?"
        in home.run("edit", "--all", "--where", "quue=x", "cores=1")[2]
    )


def test_grid_jobs_are_chosen_by_all_names_of_an_attribute(home):
    dzero(home)
    add(home, 2)
    for name in ("runjob_requestid", "request_id"):
        [line] = home.out("edit", "--all", "--where", f"{name}=13669", "queue=long").splitlines()
        assert line.startswith("1: edit requested: queue=long")


def test_the_keeper_changes_what_is_sent_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jim.doors import inbox

    world = World(tmp_path, monkeypatch, batch=Batch(most_cores=8))
    seen = []
    really = world.batch.submit_command
    monkeypatch.setattr(world.batch, "submit_command", lambda batch: seen.append(batch.resources) or really(batch))
    grid = world.submit(1, queue="short", key="k7")
    inbox.wish(world.site.state, "edit", str(grid), by="alice", changes={"queue": "long", "cores": 2})
    inbox.wish(world.site.state, "edit", str(grid), by="alice", changes={"cores": 9})
    world.go(1)
    assert len(list((world.site.state / "inbox").glob("wish-*"))) == 2  # they wait for the split
    world.until(lambda: seen)
    assert (seen[0].queue, seen[0].cores) == ("long", 2)
    lines = [(line.now, line.witness, line.reason) for line in world.store.journals.of(grid) if "edit" in line.now]
    assert lines == [
        ("edit requested", "user", "alice, changes queue cores"),
        ("edit", "keeper", "queue=short → queue=long, cores= → cores=2"),
        ("edit requested", "user", "alice, changes cores"),
        ("edit changes nothing", "keeper", "cores: 9 cores, more than the 8 cores that this site allows a local job"),
    ]


def test_the_journal_names_private_variables_without_their_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jim.doors import inbox

    world = World(tmp_path, monkeypatch)
    grid = world.submit(1, environment={"BEARER_TOKEN": "first", "A": "1"})
    changes = {"environment": {"BEARER_TOKEN": "second", "A": "2"}}
    inbox.wish(world.site.state, "edit", str(grid), by="alice", changes=changes)
    world.until(lambda: any(line.now == "edit" for line in world.store.journals.of(grid)))
    (said,) = [line.reason for line in world.store.journals.of(grid) if line.now == "edit"]
    assert ("first" in said, "second" in said) == (False, False)
    assert '"BEARER_TOKEN": "(not shown)", "A": "2"' in said
    assert world.store.grid_job(grid).request["environment"]["BEARER_TOKEN"] == "second"


def test_what_a_job_type_has_packed(home, monkeypatch):
    def pack(self, request, area):
        (area / "card.txt").write_text(f"mass {request['mass_min_gev']}")

    monkeypatch.setattr(PythiaMonteCarlo, "prepare_work_area", pack)
    home.add(1, size=0, **{**check({"job_type": "pythia_monte_carlo", "events": 500})[1], "key": "key-1"})
    assert home.run("edit", "1", "mass_min_gev=70")[2] == (
        "jim: mass_min_gev: already packed for 1; cancel 1 and hand in a new request\n"
    )
    assert "edit requested: mass_max_gev=130.0 for all of its local jobs" in home.out("edit", "1", "mass_max_gev=130")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queue", "long"),
        ("queue", None),
        ("executable", "/opt/my tools/a'b=c $(id)"),
        ("memory_mb", 4000),
        ("environment", {"A": "it's", "B": 'x "y"'}),
        ("outputs", ["a b.dat", "*.root"]),
        ("argument_sets", [["1", "é"], []]),
    ],
)
def test_what_undoes_an_edit_is_read_as_it_was(name, value):
    declared = {**COMMON, **Parametric.attributes}
    [word] = shlex.split(written(name, value))
    assert read(word, declared) == (name, value)


def test_a_grid_job_whose_type_is_gone_keeps_no_other_from_being_changed(home):
    home.add(1, job_type="ours.gone")
    add(home, 2, queue="short")
    gone, changed = home.out("edit", "--all", "--where", "queue=short", "queue=long").splitlines()
    assert gone.startswith("1: not changed: job_type: unknown job type 'ours.gone'")
    assert changed.startswith("2: edit requested: queue=long")
