"""jim site ban, unban and bans; tests/unit/site has those of drain."""

import json
import time

from jim.errors import Damaged

EVE = "/DC=org/O=People/CN=Eve"


def test_people_ban_and_unban_by_the_command_line(home):
    assert home.out("site", "bans") == "no sender is banned\n"
    assert home.json("site", "bans") == []
    said = home.out(
        "site", "ban", EVE, "dzero", "--until", "2099-01-01T00:00Z", "--reason", "floods [bold]the[/] queue"
    )
    first, second = said.splitlines()
    assert first.startswith(f"the site has taken no new grid jobs of {EVE} since 20")
    assert second.startswith("the site has taken no new grid jobs of the VO dzero since 20")
    head, *rows = home.out("site", "bans").splitlines()
    assert head.split() == ["who", "since", "until", "reason"]
    assert rows[0].startswith(EVE)
    assert "2099-01-01 00:00:00 UTC" in rows[0]
    assert "floods [bold]the[/] queue" in " ".join(" ".join(rows).split())
    assert home.json("site", "bans")[1] | {"since": ""} == {
        "who": "dzero",
        "since": "",
        "until": "2099-01-01T00:00:00Z",
        "reason": "floods [bold]the[/] queue",
    }
    assert home.out("site", "unban", "dzero", "cdf") == (
        "dzero: the site takes new grid jobs of it again\ncdf: it was not banned; unban changes nothing\n"
    )
    home.out("site", "ban", EVE)
    assert home.json("site", "bans") == [{"who": EVE, "until": "", "reason": ""} | home.json("site", "bans")[0]]


def test_bad_words_are_refused(home):
    for words, why in (
        (("ban",), "jim: the following arguments are required: DN|VO"),
        (("ban", "/dzero/mc"), "jim: '/dzero/mc' is neither a DN, such as /DC=org/O=People/CN=Ann, nor a VO, such as"),
        (("ban", EVE, "--until", "yesterday"), "jim: until: 'yesterday' is no time: write 2026-01-31T12:00Z, or how"),
        (("unban",), "jim: the following arguments are required: DN|VO"),
    ):
        code, out, error = home.run("site", *words)
        assert (code, out) == (2, "")
        assert error.startswith(why)


def test_people_name_hosts_to_avoid_and_to_use_again(home):
    said = home.out(
        "site", "avoid", "wn1", "wn2.example.org", "--until", "2099-01-01T00:00Z", "--reason", "new [b]disk"
    )
    first, second = said.splitlines()
    assert first.startswith("wn1 is avoided since 20")
    assert first.endswith(", until 2099-01-01 00:00:00 UTC: new [b]disk")
    assert second.startswith("wn2.example.org is avoided since 20")
    said = home.out("site", "avoid", "wn1", "--not")
    assert said.startswith("wn1 is used again; what it did before 20")
    assert said.endswith(" counts no more\n")
    told = json.loads((home.site.state / "avoid").read_text())
    assert [(each["host"], each["avoid"]) for each in told] == [("wn2.example.org", True), ("wn1", False)]
    assert [each["verb"] for each in home.json("actions")] == ["site avoid"] * 3


def test_bad_words_about_hosts_are_refused(home):
    for words, why in (
        ((), "jim: the following arguments are required: HOST"),
        (("/etc",), "jim: '/etc' is no name of a host, as `jim hosts` lists them"),
        (("wn1 wn2",), "jim: 'wn1 wn2' is no name of a host"),
        (("-x",), "jim: the following arguments are required: HOST"),
        (("wn1", "--until", "1s"), "jim: until: '1s' is no time: write 2026-01-31T12:00Z, or how long"),
        (("wn1", "--until", "2020-01-01"), "jim: until: 2020-01-01 00:00:00 UTC is over already"),
        (("wn1", "--not", "--until", "2d"), "jim: --until says how long a host is avoided; --not ends that at once"),
        (("wn1", "--reason", "a\nb"), "jim: reason: expected one line of at most 500 characters"),
    ):
        code, out, error = home.run("site", "avoid", *words)
        assert (code, out) == (2, ""), words
        assert error.startswith(why), error
    assert not (home.site.state / "avoid").exists()
    (home.site.state / "avoid").write_text("{")
    code, _, error = home.run("site", "avoid", "wn1")
    assert code == 3
    assert "is there and cannot be read" in error


def torn():
    raise Damaged("torn")


def test_a_host_on_which_nothing_has_run_may_be_a_slip(home, monkeypatch):
    assert home.run("site", "avoid", "wn1")[2] == "", "where nothing has run at all, nobody knows a host"
    home.add()
    home.send(0)
    home.store.set_attempt(1, 1, 1, host="wn1.example.org", started="2026-01-31T11:00:00.000Z")
    assert home.run("site", "avoid", "wn1")[2] == ""
    code, _, error = home.run("site", "avoid", "wn1.example.org", "wm1", "--reason", "its disk")
    assert (code, error) == (0, "jim: warning: nothing has run on wm1 so far; `jim hosts` lists the hosts\n")
    assert home.run("site", "avoid", "wm1", "--not")[2].endswith("`jim hosts` lists the hosts\n")
    monkeypatch.setattr("jim.cli.site_orders.look", torn)
    assert home.run("site", "avoid", "wn2")[0::2] == (0, "")


def test_a_refusal_has_the_time_zone_of_who_reads_it(home, tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Etc/GMT-2")
    time.tzset()
    home.out("site", "drain", "--until", "2036-12-01T08:00:00Z")
    file = tmp_path / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    assert "from 2036-12-01 10:00:00 +02 on" in home.run("submit", str(file))[2]
