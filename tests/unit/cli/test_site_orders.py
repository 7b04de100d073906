"""jim site ban, unban and bans; tests/unit/site has those of drain."""

EVE = "/DC=org/O=People/CN=Eve"


def test_people_ban_and_unban_by_the_command_line(home):
    assert home.out("site", "bans") == "no sender is banned\n"
    assert home.json("site", "bans") == []
    said = home.out(
        "site", "ban", EVE, "dzero", "--until", "2099-01-01T00:00Z", "--reason", "floods [bold]the[/] queue"
    )
    first, second = said.splitlines()
    assert first.startswith(f"the site takes no new grid jobs of {EVE} since 20")
    assert second.startswith("the site takes no new grid jobs of the VO dzero since 20")
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
        "dzero: the site takes new grid jobs of it again\ncdf: nothing was to do: it was not banned\n"
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
