"""What operators are told about settings, variables, exit codes and commands is true."""

import argparse
import re
import tomllib
from pathlib import Path

import pytest

from jim.admin import check
from jim.cli import site_verbs
from jim.site import file as site_file
from jim.site.settings import SECTIONS, settings
from tests.support.machine import HERE

pytestmark = pytest.mark.usefixtures("own_machine")

SETTINGS, OPERATING = ((HERE / f"docs/{page}.md").read_text() for page in ("settings", "operating"))
INSTALLING = (HERE / "docs/installing.md").read_text()


def rows_after(heading):
    """Give the cells of the first table after a heading."""
    lines = (SETTINGS + OPERATING).partition(f"{heading}\n")[2].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|---"))
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_of_settings_is_that_of_the_site_file():
    told = {row[0].strip("`"): row[1:] for row in rows_after("## The site file")}
    real = {f"{section}.{name}": each for section in SECTIONS for name, each in settings(section).items()}
    assert list(told) == list(real)
    for name, (default, meaning) in told.items():
        declared, rule = real[name], real[name].rule
        value = tomllib.loads(f"x = {default.strip('`')}")["x"]
        assert value == (list(declared.default) if isinstance(declared.default, tuple) else declared.default), name
        assert meaning.lower().startswith(rule.help.lower()), name
        if rule.least is not None:
            assert meaning.endswith(f"({rule.least:,} to {rule.most:,})"), name


def test_the_variables_are_told():
    told = [row[0].strip("`") for row in rows_after("## Environment variables")]
    assert told == [site_file.STATE_VARIABLE, site_file.SITE_VARIABLE, "JIM_PYTHON", "NO_COLOR"]
    assert "${JIM_PYTHON:-}" in (HERE / "shell/jim-home").read_text()


def test_the_exit_codes_are_told():
    from jim.cli import EXIT_CODES

    assert [int(row[0]) for row in rows_after("## Exit codes")] == sorted(EXIT_CODES)
    assert [row[0] for row in rows_after("Of the wrapper, as the batch system sees it:")] == ["0", "1", "71", "72"]


def test_every_command_that_is_named_exists(jim_site):
    from jim.cli import VERBS

    assert set(re.findall(r"`jim (\w+)", OPERATING + INSTALLING)) <= {*VERBS, "help"}
    for name in re.findall(r"(?:/opt/jim|`)/?(share/[\w/.-]*\w|shell/[\w-]+)", OPERATING + INSTALLING):
        assert (HERE / name).exists() or list((HERE / name).parent.glob(f"{Path(name).name}*")), name
    parser = argparse.ArgumentParser()
    site_verbs.add_arguments(parser)
    for words in ("init --account mc --account cms", "init --work /shared/jim", "check --json", "check"):
        assert parser.parse_args(words.split())


def test_what_jim_needs_is_told():
    needed = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.match(r"\w+", each)[0] for each in needed}
    assert {name.partition(".")[0] for name in check.LIBRARIES} == names
    assert set(re.search(r"pip install (\w.*)", INSTALLING)[1].split()) == names
    assert (
        f"apt-get install -y make {' '.join(f'python3-{name}' for name in ('lxml', 'psutil', 'tenacity', 'rich'))}"
        in INSTALLING
    )


def test_the_unit_keeps_keepers_alive():
    unit = (HERE / "share/systemd/jim-keeper@.service").read_text()
    assert "Type=oneshot\nUser=%i\nExecStart=/opt/jim/shell/jim keeper --all\n" in unit
    for line in ("KillMode=process", "OOMPolicy=continue", "TasksMax=infinity"):
        assert f"\n{line}\n" in unit
    assert "\nOnCalendar=minutely\n" in (HERE / "share/systemd/jim-keepers.timer").read_text()
