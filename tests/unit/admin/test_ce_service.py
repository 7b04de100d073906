"""What is put where HTCondor-CE looks for JIM, and what is told of it."""

import os
import stat

import pytest

from jim.admin import ce_service
from jim.errors import BadSite
from jim.site.file import Site

BLAH = "supported_lrms=pbs,slurm\n#blah_pass_all_submit_attributes=yes\n"


def files(place):
    return {
        str(each.relative_to(place)): (each.read_bytes(), each.stat().st_mode)
        for each in place.rglob("*")
        if each.is_file()
    }


@pytest.fixture
def ce(tmp_path, monkeypatch):
    """An HTCondor-CE, as far as `jim ce` asks it."""
    place = tmp_path / "ce"
    for each in ("bin", "etc", "config.d", "shared.d", "libexec/blahp"):
        (place / each).mkdir(parents=True)
    (place / "etc/blah.config").write_text(BLAH)
    (place / "libexec/blahp/slurm_submit.sh").write_text("theirs\n")
    tool = place / "bin/condor_ce_config_val"
    tool.write_text(
        f"#!/bin/sh\ncase $1 in\nBLAHPD_LOCATION) echo {place} ;;\n"
        f"SPOOL) echo {place}/spool ;;\n"
        f"LOCAL_CONFIG_DIR) echo '{place}/shared.d, {place}/config.d' ;;\n"
        f"JOB_ROUTER_ROUTE_NAMES) cat {place}/names ;;\nesac\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}/bin:/usr/bin:/bin")
    return place


def levels(tmp_path):
    return {each.name: each.level for each in ce_service.findings(Site(state=tmp_path / "state"))}


def test_it_is_registered_and_nothing_is_left_of_it(ce, tmp_path):
    before = files(ce)
    said = list(ce_service.register())
    assert said[-1].startswith("nothing else was changed; now run ")
    made = sorted(set(files(ce)) - set(before))
    assert made == ["config.d/60-jim.conf", *sorted(f"libexec/blahp/jim_{verb}.sh" for verb in ce_service.VERBS)]
    assert ce_service.ROUTE in "\n".join(said)
    assert (ce / "etc/blah.config").read_text() == (
        f"{BLAH}# Written by `jim ce register`. blahpd passes on the attributes of jobs.\n"
        "blah_pass_all_submit_attributes=yes\n"
    )
    again = list(ce_service.register())
    assert sum("was not changed" in line for line in again) == 2
    (ce / "names").write_text("slurm, jim\n")
    assert {name for name, level in levels(tmp_path).items() if level == "failed"} <= {"accounts"}
    list(ce_service.unregister())
    assert {name: content for name, content in files(ce).items() if name != "names"} == before
    assert levels(tmp_path)["scripts"] == levels(tmp_path)["route"] == levels(tmp_path)["attributes"] == "failed"


def test_a_script_reads_jim_s_own_and_is_for_everybody(ce):
    list(ce_service.register())
    file = ce / "libexec/blahp/jim_status.sh"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert file.read_text().endswith(
        f"""jim_shell='{ce_service.HOME}/shell' jim_spool={ce}/spool\n. "$jim_shell/condor/jim_status.sh"\n"""
    )
    assert os.access(ce_service.HOME / "shell/condor/jim_status.sh", os.X_OK)


def test_the_site_s_own_route_and_setting_stay(ce):
    (ce / "etc/blah.config").write_text(f"{BLAH}blah_pass_all_submit_attributes=yes\n")
    list(ce_service.register())
    route = ce / "config.d/60-jim.conf"
    route.write_text(route.read_text().replace("MaxJobs = 10000", "MaxJobs = 5"))
    list(ce_service.register())
    assert "MaxJobs = 5\n" in route.read_text()
    list(ce_service.unregister())
    assert (ce / "etc/blah.config").read_text() == f"{BLAH}blah_pass_all_submit_attributes=yes\n"
    assert not route.exists()


def test_a_router_that_has_not_read_the_route_is_told_of(ce, tmp_path):
    list(ce_service.register())
    (ce / "names").write_text("slurm\n")
    (found,) = [each for each in ce_service.findings(Site(state=tmp_path / "state")) if each.name == "router"]
    assert (found.level, found.said) == ("failed", "not so: JOB_ROUTER_ROUTE_NAMES has jim")
    assert found.todo == "run condor_ce_reconfig as root"  # root alone has it in PATH


def test_what_is_somebody_else_s_is_left_alone(ce):
    (ce / "libexec/blahp/jim_cancel.sh").write_text("theirs\n")
    before = files(ce)
    for verb in (ce_service.register, ce_service.unregister):
        with pytest.raises(BadSite, match=r"jim_cancel.sh was not written by JIM; move it away first"):
            list(verb())
    assert files(ce) == before


def test_who_may_not_write_is_told_to_be_root(ce, monkeypatch):
    monkeypatch.setattr(ce_service.os, "access", lambda place, mode: place != ce / "config.d")
    with pytest.raises(BadSite, match=r"this account cannot write to .*config.d; run the command as root"):
        list(ce_service.register())


def test_a_machine_without_a_ce(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BadSite, match="install HTCondor-CE"):
        list(ce_service.register())
    assert levels(tmp_path) == {"HTCondor-CE": "failed"}


@pytest.mark.parametrize(
    ("gone", "words"), [("libexec/blahp", "the scripts of blahpd"), ("config.d", "LOCAL_CONFIG_DIR")]
)
def test_what_is_missing_is_named(ce, gone, words, monkeypatch):
    (ce / "libexec/blahp/slurm_submit.sh").unlink()
    (ce / gone).rmdir()
    if gone == "libexec/blahp":
        (ce / "libexec").rmdir()
        monkeypatch.setattr(ce_service.Path, "exists", lambda path: path.is_relative_to(ce) and path.is_dir())
    else:
        (ce / "shared.d").rmdir()
    with pytest.raises(BadSite, match=f"{words} not found"):
        ce_service.places()
