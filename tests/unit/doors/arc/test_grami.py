"""What A-REX writes into a grami file, and what people may make it write."""

import re

import pytest

from jim.doors.arc.grami import listed, read, values
from jim.errors import BadRequest, JimError

# As A-REX 6.17 wrote them.
GRAMI = r"""joboption_directory='/s/VaON'
joboption_controldir='/control'
joboption_arg_0='./hello.sh'
joboption_arg_1='one arg'
joboption_arg_2='two'\''s'
joboption_arg_3='th"ree $HOME \\ back'
joboption_env_0='TEST_A=it'\''s a b'
joboption_env_2=GRID_GLOBAL_JOBID='VaON'
joboption_cputime=600
joboption_virtualmemory=
joboption_runtime_0='JIM/PYTHIA'
joboption_runtime_0_1='events=20000'
joboption_runtime_0_2='mass_min_gev=70.5'
joboption_gridid='VaON'
"""

NAMED = "joboption_directory='/s/VaON'\njoboption_gridid='VaON'\n"


@pytest.fixture
def grami(tmp_path):
    (tmp_path / "job.VaON.grami").write_text(GRAMI)
    return read(tmp_path / "job.VaON.grami")


def test_values_are_unquoted_and_nothing_in_them_is_run(grami):
    assert values(grami, "arg") == ["./hello.sh", "one arg", "two's", 'th"ree $HOME \\\\ back']
    assert values(grami, "env") == ["TEST_A=it's a b", "GRID_GLOBAL_JOBID=VaON"]
    assert (grami["cputime"], grami["virtualmemory"]) == ("600", "")


def test_options_of_a_runtime_environment(grami):
    assert list(listed(grami, "runtime")) == [("runtime_0", "JIM/PYTHIA")]
    assert values(grami, "runtime_0") == ["events=20000", "mass_min_gev=70.5"]


def test_a_list_is_in_the_order_of_its_numbers(tmp_path):
    (tmp_path / "g").write_text(NAMED + "".join(f"joboption_arg_{n}='{n}'\n" for n in (10, 2, 0, 1)))
    assert values(read(tmp_path / "g"), "arg") == ["0", "1", "2", "10"]


def test_of_two_lines_with_one_name_the_first_counts_as_for_a_rex(tmp_path):
    (tmp_path / "g").write_text(f"{NAMED}joboption_jobid=1001.7\njoboption_jobid=1001.8\n")
    assert read(tmp_path / "g")["jobid"] == "1001.7"


def test_a_file_that_cannot_be_read_is_no_wrong_request(tmp_path):
    """It may be on a server that is away: the script tries again."""
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "job.x.grami")


@pytest.mark.parametrize("name", ["gridid", "directory"])
@pytest.mark.parametrize("value", ["", "''"])
def test_a_file_without_what_tells_jobs_apart_is_refused(tmp_path, name, value):
    """Without its id, a job that is handed in once more would be a second one."""
    line = re.compile(f"(joboption_{name}=).*\n")
    (tmp_path / "g").write_text(line.sub(rf"\1{value}\n" if value else "", GRAMI))
    with pytest.raises(BadRequest, match=rf"/g has no joboption_{name}, so JIM does not take this job: "):
        read(tmp_path / "g")


def test_a_file_that_a_rex_is_still_writing_is_read_again_later(tmp_path):
    """After a restart A-REX writes the file anew, beside the script that reads it."""
    for length in range(GRAMI.index("joboption_gridid"), len(GRAMI)):
        (tmp_path / "g").write_text(GRAMI[:length])
        with pytest.raises(JimError, match=r"/g (is not whole yet|has no joboption_gridid)"):
            read(tmp_path / "g")


def test_half_an_id_at_the_end_hides_nothing(tmp_path):
    (tmp_path / "g").write_text(f"{NAMED}joboption_jobid=100")
    assert read(tmp_path / "g")["gridid"] == "VaON"
