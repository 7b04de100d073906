"""jim status."""

import json

from jim.cli.status import ALL_ACCOUNTS
from jim.model import Kind, Reason, State, Step, Witness
from jim.reading.view import View
from tests.support.cli_home import EVIL, EVIL_SHOWN, RECORD_NAMES

# status


def test_no_grid_jobs_yet(home):
    assert home.out("status") == f"no grid jobs yet in {home.site.state}; `jim submit FILE` submits one\n"
    assert home.json("status") == []


def test_each_grid_job_has_a_line(home):
    home.beat()
    home.add(1)
    home.move(0, State.RUNNING, Witness.CLAIM)
    home.finish("failed", f"1 of 4 {EVIL}")
    home.add(2, size=0)
    home.later("2026-01-31T12:01:05.000Z")
    assert home.out("status") == (
        "id  type        status  local jobs       age  took  reason\n"
        f"1   executable  failed  running: 1 of 4  1 h  1 h   1 of 4 {EVIL_SHOWN}\n"
        "2   executable  new     not split yet    1 h\n"
        "\n"
        "seen 1 min 5 s ago\n"
    )
    assert home.out("status", "2") == (
        "id  type        status  local jobs     age  took  reason\n"
        "2   executable  new     not split yet  1 h\n"
        "\nseen 1 min 5 s ago\n"
    )


def test_grid_jobs_are_listed_as_one_json_document(home):
    home.add()
    (record,) = home.json("status", "1")
    assert record == {
        "id": 1,
        "key": "key-1",
        "type": "executable",
        "owner": "alice",
        "step": "split",
        "status": "submitted",
        "herd": "single",
        "MasterJobId": 1,
        "JobSplitType": "Single",
        "came_from": "",
        "counts": {"waiting": 4},
        "reason": "",
        "witness": "keeper",
        "seen": "2026-01-31T12:00:00.000Z",
        "age_s": 0.0,
        "created": "2026-01-31T11:00:00.000Z",
        "updated": "2026-01-31T12:00:00.000Z",
        "name": "",
    }
    assert list(record) == [*RECORD_NAMES, "name"]


def test_a_type_that_no_grid_job_has_is_told(home):
    home.add(1)
    assert home.out("list", "--type", "executabel") == (
        "no grid job fits: there is none of type 'executabel'; did you mean 'executable'? (known: executable)\n"
    )
    assert home.out("list", "--type", "executable", "--failed") == "no grid job fits\n"


def test_grid_jobs_are_found_by_their_names(home):
    home.add(1, name="Night run", executable="/opt/fit.py")
    home.add(2, executable="/opt/fit.py")
    home.add(3, executable="x" * 70_000)
    for words, found in (
        ("night", {1: "Night run"}),
        ("fit.py", {2: "fit.py"}),
        ("run night", {1: "Night run"}),
        ("xx", {}),
    ):
        assert {each["id"]: each["name"] for each in home.json("list", "--q", words)} == found, words


def test_only_the_last_finished_are_listed(home):
    for number in range(1, 26):
        home.add(number, size=0)
        if number > 1:
            home.store.set_grid_job(number, step=Step.FINISHED, outcome="completed")
    assert [record["id"] for record in home.json("status")] == [1, *range(6, 26)]
    assert "\n20 of 24 finished grid jobs; --after 6 shows the older ones\n" in home.out("status")
    assert [line.split()[0] for line in home.out("status", "--after", "6").splitlines()[1:6]] == list("12345")


def test_status_says_what_makes_ages_grow(home):
    home.add()
    home.beat(ago=60)
    assert home.out("status").endswith(
        "\n\nseen 0 s ago\n"
        "no keeper is running: the last heartbeat was 1 min ago; a poll, a wish or `jim keeper` starts one\n"
    )
    home.beat()
    home.site.summary.write_text(json.dumps({"trouble": f"sinfo {EVIL}"}))
    assert home.out("status").endswith(f"\nseen 0 s ago\nthe batch system does not answer: sinfo {EVIL_SHOWN}\n")


def test_status_says_that_a_submission_cannot_be_written(home):
    home.add()
    home.beat()
    home.store.intend(1, 1, "jim-1-1", home.store.local_jobs(1, (State.WAITING,)))
    full = f"[Errno 28] No space left on device: '{EVIL}'"
    home.store.set_submission(1, 1, reason=Reason(words=full), due=1012.0)
    shown = full.replace(EVIL, EVIL_SHOWN)
    assert home.out("status").endswith(f"\nseen 0 s ago\nJIM cannot write what its submissions need: {shown}\n")
    home.store.set_submission(1, 1, reason=Reason(Kind.NOT_STARTED, words="no sbatch"), tries=1)
    assert home.out("status").endswith("\nseen 0 s ago\n")


def test_status_takes_the_filters_of_the_pages(home):
    home.add(1)
    home.move(0, State.FAILED)
    for number in (2, 3, 4):
        home.add(number, size=0, job_type="pythia_monte_carlo")
    assert [record["id"] for record in home.json("status", "--failed")] == [1]
    assert [record["id"] for record in home.json("status", "--type", "pythia_monte_carlo", "--limit", "2")] == [3, 4]
    assert home.out("status", "--limit", "2").endswith("\n2 of 4 grid jobs; --after 3 shows the older ones\n")
    assert [record["id"] for record in home.json("status", "--after", "3")] == [1, 2]
    assert home.out("status", "--status", "killed") == "no grid job fits\n"
    code, _, err = home.run("status", "--status", "faild")
    assert (code, err.startswith("jim: status cannot be 'faild'; did you mean 'failed'?")) == (2, True)
    assert home.run("status", "1", "--failed")[0] == 2


def test_the_order_of_a_list_can_be_chosen_and_ends_beside_the_prompt(home):
    for number in (1, 2, 3):
        home.add(number, size=0)
    home.later("2026-01-31T13:00:00.000Z")
    home.store.set_grid_job(2, step=Step.FINISHED, outcome="completed")
    home.later("2026-01-31T14:00:00.000Z")
    home.store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    assert [record["id"] for record in home.json("list", "--sort", "changed")] == [3, 2, 1]
    assert [record["id"] for record in home.json("list", "--sort", "id")] == [1, 2, 3]
    first = home.out("list", "--sort", "changed", "--limit", "2")
    assert [line.split()[0] for line in first.splitlines()[1:3]] == ["2", "1"]
    rest = first.splitlines()[-1].split(" --after ")[1].split()[0]
    assert [record["id"] for record in home.json("list", "--sort", "changed", "--after", rest)] == [3]


def test_the_command_in_a_reason_is_cut_where_grid_jobs_are_listed(home):
    home.add()
    refused = "sbatch: error: invalid partition (exit 1 after 0.1 s: sbatch --parsable -p long /w/1/s1/job)"
    home.move(0, State.FAILED, reason=refused)
    assert "  sbatch: error: invalid partition (exit 1 after 0.1 s: sbatch …)\n" in home.out("list")
    assert refused in home.out("show", "1")


def test_root_of_a_site_of_several_accounts_learns_of_all(home, monkeypatch):
    said = ALL_ACCOUNTS
    monkeypatch.setattr("jim.cli.status.look", lambda: View(home.site._replace(managed=True), home.store))
    for uid, told in ((0, True), (1000, False)):
        monkeypatch.setattr("os.geteuid", lambda uid=uid: uid)
        answer = home.out("status")
        assert (answer.endswith(f"\n{said}\n"), "`jim submit FILE`" in answer) == (told, not told)
        assert home.json("status") == []


def test_root_who_looks_for_a_grid_job_of_an_account_learns_how(home, monkeypatch):
    monkeypatch.setattr("jim.cli.show.look", lambda: View(home.site._replace(managed=True), home.store))
    for uid, told in ((0, True), (1000, False)):
        monkeypatch.setattr("os.geteuid", lambda uid=uid: uid)
        code, _, said = home.run("show", "1")
        hint = "; as root, look at an account's by `--account NAME`, and act as it by `sudo -u NAME jim …`"
        assert (code, said.startswith(f"jim: there is no grid job 1 in {home.site.state}")) == (4, True)
        assert (hint in said) == told


def test_who_asks_about_all_accounts_is_not_told_how_to(home, monkeypatch):
    answer = f"no grid jobs yet\n\n{ALL_ACCOUNTS}\n\nthe site takes no new grid jobs\n"
    monkeypatch.setattr("jim.cli.status.of_all_accounts", lambda *_: ({"root": answer}, 0))
    assert home.out("status", "--all") == "== root\nno grid jobs yet\n\nthe site takes no new grid jobs\n"


def test_an_account_that_the_site_does_not_know_is_sent_to_root(home, monkeypatch, tmp_path):
    view = View(home.site._replace(managed=True, state=tmp_path / "ann"), home.store)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for verb, module in (("status", "status"), ("task status", "tasks.looking"), ("task graph", "tasks.watching")):
        monkeypatch.setattr(f"jim.cli.{module}.look", lambda: view)
        assert f" yet in {tmp_path}/ann; ask root to run: jim site init --account ann; or, " in home.out(*verb.split())
