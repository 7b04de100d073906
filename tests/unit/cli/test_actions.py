"""jim actions."""

import json

from jim.doors import inbox
from jim.jobs import Sender
from jim.model import Answer, Witness
from jim.site import acts
from jim.site.acts import Act
from tests.support.cli_home import EVIL, EVIL_SHOWN

DRAINED = "until 2026-02-01T12:00:00Z; disks"


def test_what_was_asked_of_grid_jobs_and_done_beside_them_is_listed_in_the_order_of_time(home):
    home.store.add_grid_job(1, "k", "mc", "", {"job_type": "executable"}, by="mc, by the door gram")
    home.store.senders.put(1, Sender("/CN=Ann"))
    home.later("2026-01-31T12:00:02.000Z")
    home.store.note(1, "cancel requested", Witness.USER, f"ann, by the pages{EVIL}")
    home.later("2026-01-31T12:00:03.000Z")
    home.store.note(1, "retry requested", Witness.USER, "mc, by the command line, most 2", 3)
    acts.record(home.site.acts, Act("2026-01-31T12:00:01.000Z", "site drain", DRAINED, "mc, by the command line"))
    assert home.json("actions", "--since", "1h") == [
        {"at": "2026-01-31T12:00:00.000Z", "verb": "submit", "of": "1", "by": "mc, by the door gram, claimed /CN=Ann"},
        {"at": "2026-01-31T12:00:01.000Z", "verb": "site drain", "of": DRAINED, "by": "mc, by the command line"},
        {"at": "2026-01-31T12:00:02.000Z", "verb": "cancel", "of": "1", "by": f"ann, by the pages{EVIL}"},
        {"at": "2026-01-31T12:00:03.000Z", "verb": "retry", "of": "1.3", "by": "mc, by the command line, most 2"},
    ]
    said = home.out("actions", "--since", "2026-01-31T12:00:02Z")
    assert [line.split()[:5] for line in said.splitlines()] == [
        ["when", "what", "of", "which", "by"],
        ["2026-01-31", "12:00:02", "UTC", "cancel", "1"],
        ["2026-01-31", "12:00:03", "UTC", "retry", "1.3"],
    ]
    assert EVIL_SHOWN in said
    assert "until 2026-02-01 12:00:00 UTC; disks" in home.out("actions")


def test_what_no_keeper_has_taken_yet_is_listed_too(home):
    home.add()
    inbox.wish(home.site.state, "cancel", "1", by="mc, by the command line")
    inbox.wish(home.site.state, "publish", "1", by="mc, by the command line", name="x", content="<x/>")
    inbox.deposit(home.site.state, "k9", {"job_type": "executable"}, by="mc, by the command line")
    found = {(each["verb"], each["of"]): each["by"] for each in home.json("actions", "--since", "2000-01-01")}
    assert found["cancel", "1"] == "mc, by the command line; no keeper has taken it yet"
    assert found["submit", "2"] == "mc, by the command line; no keeper has taken it yet"
    assert ("submit", "1") in found
    assert len(found) == 3


def test_a_grid_job_of_an_older_version_is_of_its_owner(home):
    home.add()
    assert [(each["verb"], each["by"]) for each in home.json("actions")] == [("submit", "alice")]


def test_nothing_was_done(home):
    (home.site.state / "inbox").rmdir()  # as in a state directory that root has just made
    assert home.out("actions") == "nobody has done anything since 2026-01-24 12:00:00 UTC\n"
    assert home.json("actions") == []


def test_bad_words_are_refused(home):
    for words, why in (
        (
            ("--since", "yesterday"),
            "jim: since cannot be 'yesterday': expected a time: 2026-01-31,",
        ),
        (("--all",), "jim: --all is for root of a site of several accounts: say `jim actions`"),
    ):
        code, out, error = home.run("actions", *words)
        assert (code, out) == (2, "")
        assert error.startswith(why)


def test_root_sees_every_account_and_what_counts_for_all_of_them_once(home, monkeypatch):
    site = home.site._replace(managed=True)
    monkeypatch.setattr("jim.cli.actions.site_file.load", lambda: site)
    monkeypatch.setattr("jim.cli.every_account.site_file.load", lambda: site)
    monkeypatch.setattr("jim.cli.every_account.os.geteuid", lambda: 0)
    drained = Act("2026-01-31T12:00:01.000Z", "site drain", "", "root, by the command line")
    acts.record(site.shared_acts, drained._replace(at="2025-01-01T00:00:00.000Z"))
    acts.record(site.shared_acts, drained)
    own = {
        name: drained._replace(at=f"2026-01-31T12:00:0{at}.000Z", verb="cancel") for name, at in (("mc", 0), ("cms", 2))
    }
    asked = []

    def each(does, complain):
        return [(name, does(name)) for name in ("mc", "cms", "eve")]

    def run_as(name, *words):
        asked.append(words)
        if name == "eve":
            return Answer(("jim",), 3, "", "no site", 0.1)
        return Answer(("jim",), 0, json.dumps([drained._asdict(), own[name]._asdict()]), "", 0.1)

    monkeypatch.setattr("jim.site.accounts.for_each", each)
    monkeypatch.setattr("jim.site.accounts.run_as", run_as)
    code, out, error = home.run("actions", "--all", "--json")
    assert code == 1
    assert error.startswith("jim: eve: ")
    assert [(each["account"], each["verb"]) for each in json.loads(out)] == [
        ("mc", "cancel"),
        ("", "site drain"),
        ("cms", "cancel"),
    ]
    assert asked == [("actions", "--json", "--since", "7d")] * 3
    assert home.run("actions", "--all")[1].splitlines()[0].split() == [
        *("when", "account", "what", "of", "which", "by", "whom")
    ]


def test_each_verb_of_an_administrator_leaves_a_line(home, tmp_path, monkeypatch):
    home.add()
    # One millisecond for all: the order is that of the log, and no jump of the clock disturbs the test.
    monkeypatch.setattr("jim.clock.Clock.utc", lambda clock: "2026-01-31T12:00:00.000Z")
    home.store.close()
    home._store = None
    home.out("site", "drain", "--until", "2099-01-01", "--reason", "disks")
    home.out("site", "undrain")
    home.out("site", "undrain")  # nothing was to do
    home.out("site", "ban", "dzero", "--reason", "floods")
    home.out("site", "unban", "dzero", "cdf")
    home.out("site", "backup", str(tmp_path / "saved.tar"))
    _, token, _ = home.run("pages", "token", "--role", "see")
    home.out("pages", "token", "--revoke", home.out("pages", "token", "--list").split()[3])
    assert token
    found = [(each["verb"], each["of"]) for each in home.json("actions", "--since", "2000-01-01")]
    assert [each for each in found if not each[0].startswith(("submit", "pages"))] == [
        ("site drain", "until 2099-01-01T00:00:00Z; disks"),
        ("site undrain", ""),
        ("site ban", "dzero; floods"),
        ("site unban", "dzero"),
        ("site backup", str(tmp_path / "saved.tar")),
    ]
    assert [each[0] for each in found][-2:] == ["pages token", "pages token --revoke"]
    assert home.site.acts.stat().st_mode & 0o777 == 0o600


def test_what_an_account_makes_of_its_answer_hides_no_other(home, monkeypatch):
    answers = {
        "ann": [Act("2026-01-31T12:00:00.000Z", "cancel", "1", "ann")._asdict()],
        "bob": [Act("soon", "cancel", "1", "bob")._asdict()],
        "cay": [Act(1e999, "cancel", "1", "cay")._asdict()],
        "dan": {"at": 1},
        "eve": [{"at": "2026-01-31T12:00:00.000Z"}],
    }
    texts = {name: json.dumps(answer) for name, answer in answers.items()} | {"fay": "no", "gil": "[" * 100_000}
    site = home.site._replace(managed=True)
    monkeypatch.setattr("jim.cli.actions.site_file.load", lambda: site)
    monkeypatch.setattr("jim.cli.every_account.site_file.load", lambda: site)
    monkeypatch.setattr("jim.cli.every_account.os.geteuid", lambda: 0)
    monkeypatch.setattr("jim.site.accounts.for_each", lambda does, complain: [(name, does(name)) for name in texts])
    monkeypatch.setattr("jim.site.accounts.run_as", lambda name, *_: Answer(("jim",), 0, texts[name], "", 0.1))
    for verb in ("actions", "status"):
        code, out, error = home.run(verb, "--all", "--json")
        assert code == 1
        assert json.loads(out)[0] == {**answers["ann"][0], "account": "ann"}
        for name in ("fay", "gil"):
            assert f"jim: {name}: the answer of its `jim {verb}` makes no sense: " in error
    assert home.run("actions", "--all")[1].count("cancel") == 1


def test_a_line_of_the_log_without_a_time_is_left_out(home):
    for at in ("soon", "2026-01-31T12:00:01.000Z"):
        acts.record(home.site.acts, Act(at, "site drain", "", "mc"))
    assert home.out("actions", "--since", "2026-01-01").count("site drain") == 1
