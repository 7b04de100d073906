"""GPUs, constraints and licences, in the words of each batch system that has some."""

from __future__ import annotations

import importlib
import re

import pytest

from jim.errors import Refused
from jim.model import Batch, Resources

WANTED = Resources(cores=2, gpus=3, constraint="ib,os=el9", licences="matlab:2,idl")
WORDS = {
    "slurm": ["--gres=gpu:3", "--constraint=ib&avx2", "--licenses=matlab:2,idl"],
    "sge": ["-l", "ib=true", "-l", "os=el9", "-l", "gpu=3", "-l", "matlab=2", "-l", "idl=1"],
    "lsf": ["-gpu", "num=3", "-R", "select[ib && os==el9] span[hosts=1] rusage[matlab=2:idl=1]"],
    "pbs": ["-l", "select=1:ncpus=2:ngpus=3:ib=True:os=el9,matlab=2,idl=1"],
    "condor": [
        'requirements=(ib =?= true) && (os == "el9") && ((NumJobStarts > 0) =!= true)',
        "request_gpus=3",
        "concurrency_limits=matlab:2,idl:1",
    ],
}


def submitted(system: str, asked: Resources) -> list[str]:
    adapter = importlib.import_module(f"jim.adapters.{system}").ADAPTER()
    return adapter.submit_command(Batch("jim-1-1", "/w/job.sh", "/w", 1, asked))


@pytest.mark.parametrize("system", WORDS)
def test_what_is_asked_for_has_the_words_of_the_batch_system(system: str) -> None:
    asked = WANTED._replace(constraint="ib,avx2") if system == "slurm" else WANTED
    command = submitted(system, asked)
    for word in WORDS[system]:
        assert word in command
    if system == "sge":
        at = command.index("ib=true") - 1
        assert command[at : at + 10] == WORDS[system]


def test_torque_has_properties_without_values() -> None:
    asked = Resources(cores=2, gpus=1, constraint="ib,el9")
    assert "nodes=1:ppn=2:gpus=1:ib:el9" in submitted("torque", asked)
    with pytest.raises(Refused):
        submitted("torque", Resources(constraint="os=el9"))


def test_one_gpu_without_more_is_asked_for_with_one_core() -> None:
    assert "select=1:ncpus=1:ngpus=1" in submitted("pbs", Resources(gpus=1))
    assert "nodes=1:ppn=1:gpus=1" in submitted("torque", Resources(gpus=1))


# What JIM and the site limit must not be asked for by another name.
@pytest.mark.parametrize(
    ("system", "constraint"),
    [
        ("pbs", "ncpus=64"),
        ("pbs", "ib,mem=9gb"),
        ("pbs", "host=n1"),
        ("sge", "h_rt=99"),
        ("sge", "ib,h_vmem=9G"),
        ("sge", "hostname=n1"),
        ("sge", "q=long"),
        ("sge", "mem_free=1"),
        ("sge", "ib,m_mem_free=1M"),
        ("sge", "vf=1"),
        ("pbs", "max_walltime=5"),
        ("pbs", "MEM=1"),
        ("lsf", "ib,mem=1"),
        ("lsf", "hname=n1"),
        ("condor", "Memory=1"),
        ("condor", "ib,disk=1"),
        ("condor", "RequestMemory=1"),
        ("condor", "a==1)||(true"),
        ("lsf", "a]rusage[mem=1"),
    ],
)
def test_a_limit_has_no_second_way(system: str, constraint: str) -> None:
    with pytest.raises(Refused, match=re.escape(f"{system} cannot be asked for this")):
        submitted(system, Resources(constraint=constraint))


@pytest.mark.parametrize(
    "constraint", ["el9,intel|amd", "el9,(a)", "el9,a&b", "[rack1,rack2]", "a,b,", ",a", "a,,b", "a b"]
)
def test_names_with_commas_are_no_part_of_an_expression(constraint: str) -> None:
    """`el9,intel|amd` became `el9&intel|amd`, by which Slurm sends a job to any node with amd."""
    with pytest.raises(Refused):
        submitted("slurm", Resources(constraint=constraint))


@pytest.mark.parametrize("constraint", ["intel|amd", "[rack1|rack2]", "(ib&el9)|!old", "gpu*4", "!old"])
def test_slurm_s_own_words_may_stand_between_features(constraint: str) -> None:
    assert f"--constraint={constraint}" in submitted("slurm", Resources(constraint=constraint))


@pytest.mark.parametrize(
    ("system", "licences"),
    [
        ("lsf", "mem:1"),
        ("lsf", "idl,duration:5"),
        ("lsf", "decay"),
        ("lsf", "ngpus_physical:4"),
        ("pbs", "min_walltime:5"),
        ("pbs", "idl,Walltime:5"),
        ("sge", "mem_free:1"),
        ("sge", "slots:9"),
        ("sge", "gpu:8"),
    ],
)
def test_nor_is_it_a_licence(system: str, licences: str) -> None:
    with pytest.raises(Refused, match=re.escape(f"{system} cannot be asked for this")):
        submitted(system, Resources(licences=licences))


@pytest.mark.parametrize("system", ["sge", "pbs", "lsf", "condor"])
def test_names_that_only_begin_like_a_limit_are_names(system: str) -> None:
    words = " ".join(
        submitted(system, Resources(constraint="bigmem,memory_class=2,hosts9", licences="member:2,memsim"))
    )
    assert all(name in words for name in ("bigmem", "memory_class", "hosts9", "member", "memsim"))


def test_slurm_s_licences_may_have_a_server() -> None:
    assert "--licenses=idl@flex-1.site:2,g09" in submitted("slurm", Resources(licences="idl@flex-1.site:2,g09"))
    with pytest.raises(Refused):
        submitted("slurm", Resources(licences="idl@flex x"))


def test_htcondor_compares_with_true_and_false_as_such() -> None:
    words = submitted("condor", Resources(constraint="HasGluster=true,Old=False,os=truel9,v=9.3"))
    assert any('(HasGluster == true) && (Old == False) && (os == "truel9") && (v == 9.3)' in word for word in words)
