"""How a job of A-REX becomes a request, and where its outputs belong."""

import pytest

from jim import request
from jim.doors.arc import DOOR
from jim.doors.arc.request import attributes_of, places_of, runtime_of
from jim.errors import BadRequest

SESSION = "/session/VaON"
BASE = {
    "directory": SESSION,
    "controldir": "/nowhere",
    "gridid": "VaON",
    "arg_0": "./hello.sh",
    "arg_1": "two words",
    "inputfile_0": "/hello.sh",
    "inputfile_1": "/given",
    "outputfile_0": "/result",
    "outputfile_1": "/out.log",
    "outputfile_2": "/err.log",
    "stdin": "/dev/null",
    "stdout": f"{SESSION}/out.log",
    "stderr": f"{SESSION}/err.log",
    "env_0": "A=it's",
    "count": "1",
    "queue": "jim",
}


def attributes(**more):
    return attributes_of({**BASE, **more}, "")


def test_one_program():
    found = attributes()
    assert found == {
        "job_type": "executable",
        "key": "VaON",
        "environment": {"A": "it's"},
        "executable": "./hello.sh",
        "arguments": ["two words"],
        "inputs": [f"{SESSION}/hello.sh", f"{SESSION}/given"],
        "outputs": ["result"],
    }
    request.check(found)


def test_inputs_in_directories_come_with_these_directories():
    """Two of them may have the same last name, and the program opens them by their paths."""
    found = attributes(inputfile_1="/data/a/x", inputfile_2="/data/b/x", inputfile_3="/more/x")["inputs"]
    assert found == [f"{SESSION}/hello.sh", f"{SESSION}/data", f"{SESSION}/more"]


def test_what_a_local_job_needs():
    found = attributes(count="4", memory="500", walltime="1200", cputime="99", queue="long", stdin=f"{SESSION}/in")
    asked = {name: found[name] for name in ("cores", "memory_mb", "wall_seconds", "queue", "stdin")}
    assert asked == {"cores": 4, "memory_mb": 2000, "wall_seconds": 1200, "queue": "long", "stdin": f"{SESSION}/in"}


def test_without_a_wall_time_the_processor_time_of_all_processors_bounds_it():
    assert attributes(count="4", cputime="601")["wall_seconds"] == 151


def test_a_renewed_proxy_is_handed_over(tmp_path):
    (tmp_path / "job.VaON.proxy").touch()
    assert attributes(controldir=str(tmp_path))["proxy"] == f"{tmp_path}/job.VaON.proxy"


def test_a_job_type_by_its_runtime_environment():
    found = attributes(runtime_0="JIM/PYTHIA", runtime_0_1="events=20000", runtime_0_2="mass_min_gev=70.5")
    assert found == {
        "job_type": "pythia_monte_carlo",
        "key": "VaON",
        "environment": {"A": "it's"},
        "inputs": [f"{SESSION}/given"],  # without the program, which does nothing
        "events": 20000,
        "mass_min_gev": 70.5,
    }


def test_a_job_type_that_reads_no_stdin_refuses_one():
    found = attributes(runtime_0="JIM/PYTHIA", runtime_0_1="events=20", stdin=f"{SESSION}/in")
    with pytest.raises(BadRequest, match="'stdin': unknown attribute"):
        request.check(found)


def test_a_job_type_by_variables():
    found = attributes(env_1="JIM_JOB_TYPE=parametric", env_2='JIM_ARGUMENT_SETS=[["10"],["11"]]')
    assert (found["job_type"], found["argument_sets"], found["environment"]) == (
        "parametric",
        [["10"], ["11"]],
        {"A": "it's"},
    )


@pytest.mark.parametrize(
    ("job_type", "name"),
    [
        ("pythia_monte_carlo", "JIM/PYTHIA"),
        ("executable", "JIM/EXECUTABLE"),
        ("dzero_monte_carlo", "JIM/DZERO_MONTE_CARLO"),
        ("sam_analysis", "JIM/SAM"),
        ("mysite.neutrinos", "JIM/MYSITE.NEUTRINOS"),
    ],
)
def test_names_of_runtime_environments(job_type, name):
    assert runtime_of(job_type) == name


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"numnodes": "2"}, "countpernode: '2': a local job has one node; ask for fewer processors"),
        ({"exclusivenode": "true"}, "exclusiveexecution: 'true': a local job cannot have a node alone"),
        ({"starttime": "20300101000000Z"}, "starttime: '20300101000000Z': a local job starts as soon as there is room"),
        ({"runtime_0": "APPS/ROOT"}, "runtimeenvironment: 'APPS/ROOT': JIM runs no scripts of runtime environments"),
        ({"runtime_0": "JIM/PYTHIA", "runtime_0_1": "x"}, "JIM/PYTHIA: 'x': expected NAME=VALUE"),
        ({"arg_0": "$ROOTSYS/bin/root"}, r"executable: '\$ROOTSYS/bin/root': no runtime environment sets variables"),
        ({"memory": "much"}, "memory: expected a whole number, found 'much'"),
        ({"runtime_0": "JIM/NOTHING"}, "nothing"),
        ({"env_1": "JIM_KEY=k"}, "key: the gatekeeper names each job itself; leave this out"),
        ({"runtime_0": "JIM/PYTHIA", "runtime_0_1": "k_e_y=k"}, "key: the gatekeeper names each job itself"),
    ],
)
def test_what_jim_cannot_do_is_refused_by_the_name_that_the_user_knows(more, words):
    with pytest.raises(BadRequest, match=words):
        attributes(**more)


def test_refusals_of_jim_s_own_have_the_names_of_a_job_description():
    with pytest.raises(BadRequest, match=r"^walltime \(wall_seconds\): too much$"), DOOR("arc").in_its_words({}):
        raise BadRequest("too much", "wall_seconds")
    with pytest.raises(BadRequest, match=r"outputfiles \(.*\): '\.\./x' must be a name"), DOOR("arc").in_its_words({}):
        request.check(attributes(outputfile_0="../x"))


def test_the_places_of_one_program():
    found = places_of(BASE)
    assert found == {
        "directory": SESSION,
        "files": {"result": f"{SESSION}/result", "stdout": f"{SESSION}/out.log", "stderr": f"{SESSION}/err.log"},
    }


def test_the_tar_of_a_split_job_has_the_name_that_was_asked_for():
    found = places_of({**BASE, "outputfile_0": "/z.tar", "outputfile_3": "/mass.svg"})
    assert found["tar"] == f"{SESSION}/z.tar"
    assert found["files"]["mass.svg"] == f"{SESSION}/mass.svg"


def test_its_own_log_is_no_output(tmp_path):
    (tmp_path / "job.VaON.local").write_text("queue=jim\ngmlog=log\n")
    found = attributes(controldir=str(tmp_path), outputfile_3="/log", outputfile_4="/log/")
    assert found["outputs"] == ["result"]


@pytest.mark.parametrize(
    ("asked", "outputs", "files"),
    [
        ("/a[1]*?.dat", ["a[[]1][*][?].dat"], {"a[1]*?.dat": f"{SESSION}/a[1]*?.dat"}),  # a name, and no pattern
        ("/sub/", ["sub/"], {"sub/": f"{SESSION}/sub/"}),
        ("/", ["*", ".*"], {"./": f"{SESSION}/"}),
        ("/@list", ["*", ".*"], {"./": f"{SESSION}/"}),  # only the payload knows what is in the list
    ],
)
def test_directories_and_lists(asked, outputs, files):
    more = {"outputfile_0": asked}
    found = places_of({**BASE, **more})["files"]
    assert attributes(**more)["outputs"] == outputs
    assert {name: path for name, path in found.items() if name not in ("stdout", "stderr")} == files
