"""jim site metrics."""

import json
import os

import pytest
from prometheus_client.parser import text_string_to_metric_families

from jim.cli import main
from jim.cli.site_metrics import EXAMPLE
from jim.model import Answer
from jim.reading.site.metrics import DECLARED, numbers_of
from jim.reading.view import View
from tests.support.cli_home import EVIL


def samples(text):
    """Return each number by its name and labels, as Prometheus' own library reads it."""
    families = text_string_to_metric_families(text)
    return {(each.name, *sorted(each.labels.items())): each.value for family in families for each in family.samples}


def test_an_account_of_its_own_has_no_name(home):
    home.add(size=4)
    found = samples(home.out("site", "metrics"))
    assert found["jim_local_jobs", ("state", "waiting")] == 4
    assert found["jim_unfinished",] == 1
    assert not any("account" in dict(labels) for _, *labels in found)


def test_before_the_first_grid_job_there_are_numbers_too(home):
    assert samples(home.out("site", "metrics"))["jim_unfinished",] == 0
    assert home.json("site", "metrics")["jim_unfinished"] == {"": False}


def test_a_file_is_replaced_whole_and_everybody_may_read_it(home, tmp_path):
    file = tmp_path / "textfile/jim.prom"
    assert main(["site", "metrics", "-o", str(file)]) == 1  # nobody makes the directory of a collector
    assert (
        f"cannot write {file}: No such file or directory; what was there is as it was" in home.capsys.readouterr().err
    )
    file.parent.mkdir()
    file.write_text("old")
    file.chmod(0o600)
    seen = []
    with file.open() as opened:
        before = os.umask(0o077)
        try:
            assert home.out("site", "metrics", "-o", str(file)) == ""
        finally:
            os.umask(before)
        seen.append(opened.read())
    assert seen == ["old"], "who reads the old file goes on with it"
    assert samples(file.read_text())
    assert file.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in file.parent.iterdir()] == ["jim.prom"]


def test_what_cannot_be_written_leaves_the_file_as_it_was(home, tmp_path, monkeypatch):
    file = tmp_path / "jim.prom"
    file.write_text("old")

    def full(self, to):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.rename", full)
    assert home.run("site", "metrics", "-o", str(file))[0] == 1
    assert file.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["jim.prom"]


@pytest.fixture
def root(home, monkeypatch):
    """Let this be root of a site of three accounts; give what the process of each prints."""
    answers = {}
    site = home.site._replace(managed=True)
    for module in ("site_metrics", "every_account"):
        monkeypatch.setattr(f"jim.cli.{module}.site_file.load", lambda: site)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("jim.site.accounts.accounts", lambda complain: iter(sorted(answers)))

    def run_as(name, *words):
        assert words == ("site", "metrics", "--json")
        code, out = answers[name]
        return Answer(("jim",), code, out, "it is broken", 0.1)

    monkeypatch.setattr("jim.site.accounts.run_as", run_as)
    return answers


def test_root_gathers_what_a_process_of_each_account_says(home, root):
    home.add(size=4)
    root["mc"] = 0, json.dumps(numbers_of(View(home.site, home.store)))
    root["cms"] = 0, json.dumps({"jim_unfinished": {"": 0}})
    found = samples(home.out("site", "metrics"))
    assert found["jim_local_jobs", ("account", "mc"), ("state", "waiting")] == 4
    assert found["jim_unfinished", ("account", "cms")] == 0
    assert found["jim_account_readable", ("account", "cms")] == 1
    assert home.json("site", "metrics")["cms"] == {"jim_unfinished": {"": 0}}


@pytest.mark.parametrize(
    "evil",
    [
        EVIL,
        "[]",
        '{"jim_unfinished": {"": NaN}}',
        '{"jim_unfinished": {"\\n# EOF": 1}}',
        json.dumps({f"jim_{EVIL}": {"": 1}}),
        "[" * 100_000,
    ],
)
def test_an_account_that_says_nonsense_is_left_out_and_hides_no_other(home, root, evil, tmp_path):
    root["eve"], root["bob"] = (0, evil), (3, "")
    root["mc"] = 0, '{"jim_unfinished": {"": 1}}'
    file = tmp_path / "jim.prom"
    code, out, err = home.run("site", "metrics", "-o", str(file))
    assert (code, out) == (1, "")
    assert "jim: eve: the answer of its `jim site` makes no sense: " in err
    assert "jim: bob: " in err
    assert err.replace("\n", "").isprintable()
    found = samples(file.read_text())
    assert found["jim_unfinished", ("account", "mc")] == 1
    assert [found["jim_account_readable", ("account", name)] for name in ("bob", "eve", "mc")] == [0, 0, 1]
    assert {name for name, *_ in found} <= {*DECLARED, "jim_account_readable"}


def test_the_example_is_a_call(home):
    assert home.run("site", "metrics", "--help")[1].endswith(f"{EXAMPLE}\n")
