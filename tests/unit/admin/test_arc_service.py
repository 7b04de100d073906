"""What is put where A-REX looks for JIM, and what is told of it."""

import os

import pytest

from jim.admin import arc_service
from jim.admin.arc_information import lines
from jim.errors import BadSite, JimError
from jim.site.file import Site
from tests.support.stand_ins import World

PARSER = """#!/bin/sh
# -c FILE -b BLOCK -o OPTION
sed -n "/^\\[$4\\]/,/^\\[/s/^$6 *= *//p" "$2"
"""
# As A-REX 6.17 has it: a link for each runtime environment that is enabled, and no option of `disable`.
ARCCTL = """#!/bin/sh
echo "$ARC_CONFIG $*" >>"$0.calls"
[ ! -e "$0.broken" ] || { echo cannot >&2; exit 1; }
verb=$2; shift 2
case $verb in
list) cat "$0.enabled" 2>/dev/null; exit 0 ;;
disable) [ "${1#-}" = "$1" ] || { echo "unrecognized arguments: $1" >&2; exit 2; } ;;
esac
for each; do
    grep -vx "$each" "$0.enabled" 2>/dev/null >"$0.new"
    [ "$verb" = disable ] || echo "$each" >>"$0.new"
    mv "$0.new" "$0.enabled"
done
"""
OF_ARCCTL = {"sbin/arcctl.calls", "sbin/arcctl.enabled"}


@pytest.fixture
def arc(tmp_path, monkeypatch):
    """An A-REX, as far as `jim arc` asks it."""
    place = tmp_path / "arc"
    for each in ("share/arc", "lib/arc", "sbin"):
        (place / each).mkdir(parents=True)
    (place / "share/arc/scan-fork-job").write_text("theirs\n")
    (place / "lib/arc/arcconfig-parser").write_text(PARSER)
    (place / "sbin/arcctl").write_text(ARCCTL)
    for each in ("lib/arc/arcconfig-parser", "sbin/arcctl"):
        (place / each).chmod(0o755)
    (place / "arc.conf").write_text(f"[lrms]\nlrms = jim lab\n[arex]\nruntimedir = {place}/runtime\n")
    with (place / "arc.conf").open("a") as configuration:
        configuration.write(f"pidfile = {place}/arex.pid\n")
    (place / "arex.pid").write_text(f"{os.getpid()}\n")
    monkeypatch.setenv("ARC_LOCATION", str(place))
    monkeypatch.setenv("ARC_CONFIG", str(place / "arc.conf"))
    return place


@pytest.fixture
def site(tmp_path):
    return Site(state=tmp_path / "state")


def names(place):
    return sorted(str(each.relative_to(place)) for each in place.rglob("*") if not each.is_dir())


def levels(site):
    return {each.name: each.level for each in arc_service.findings(site)}


def test_it_is_registered_and_nothing_is_left_of_it(arc, site):
    before = names(arc)
    said = list(arc_service.register(site))
    assert said[-1] == "nothing else was changed; restart A-REX, so that it knows the runtime environments"
    made = sorted(set(names(arc)) - set(before) - OF_ARCCTL)
    assert [each for each in made if each.startswith("share")] == [
        "share/arc/JIMmod.pm",
        *(f"share/arc/{verb}-jim-job" for verb in ("cancel", "scan", "submit")),
    ]
    assert "runtime/JIM/PYTHIA" in made
    assert "pythia_monte_carlo" in (arc / "runtime/JIM/PYTHIA").read_text()
    call = (arc / "sbin/arcctl.calls").read_text()
    assert call.startswith(f"{arc}/arc.conf rte enable JIM/CDF_CONCATENATION ")
    assert {name for name, level in levels(site).items() if level == "failed"} <= {"accounts"}
    again = list(arc_service.register(site))
    assert sum("already leads to" in line for line in again) == 1
    list(arc_service.unregister(site))
    assert sorted(set(names(arc)) - OF_ARCCTL) == before
    assert (arc / "sbin/arcctl.enabled").read_text() == ""


@pytest.mark.parametrize("pid", ["", "4194305\n", "self\n"])
def test_an_a_rex_that_does_not_run_is_told_at_once(arc, site, pid):
    """Its web service would still take in the job of the check, and the check would wait for ten minutes."""
    assert levels(site)["running"] == "ok"
    (arc / "arex.pid").write_text(pid)
    (found,) = [each for each in arc_service.findings(site) if each.name == "running"]
    assert (found.level, found.said) == ("failed", f"not so: A-REX runs, as {arc}/arex.pid says")
    (arc / "arex.pid").unlink()
    (arc / "arex.pid").mkdir()
    assert levels(site)["running"] == "warning"


def test_runtime_environments_that_are_not_enabled_are_told(arc, site):
    (arc / "sbin/arcctl.broken").touch()
    with pytest.raises(JimError, match=r"not enabled: cannot \(exit 1 .*; as root: arcctl rte enable JIM/CDF_"):
        list(arc_service.register(site))
    assert levels(site)["enabled"] == "warning"
    (arc / "sbin/arcctl.broken").unlink()
    found = {each.name: each for each in arc_service.findings(site)}["enabled"]
    assert found.level == "failed"
    assert found.todo.startswith("as root: arcctl rte enable JIM/CDF_CONCATENATION ")
    list(arc_service.register(site))
    assert levels(site)["enabled"] == "ok"
    (arc / "sbin/arcctl.broken").touch()
    with pytest.raises(JimError, match=r"not disabled: .*; as root: arcctl rte disable JIM/CDF_"):
        list(arc_service.unregister(site))
    assert not (arc / "runtime/JIM").exists()


def test_perl_loads_what_is_registered(arc, site):
    """Whoever asks for information may get none: it is no reason to give A-REX no module."""
    list(arc_service.register(site))
    found = {each.name: each for each in arc_service.findings(site)}
    assert found["Perl"].level == "ok", found["Perl"]


def test_only_the_administrator_changes_the_configuration(arc, site):
    (arc / "arc.conf").write_text("[lrms]\nlrms = slurm\n[arex]\n")
    said = list(arc_service.register(site))
    assert said[-1] == (
        f"nothing else was changed; now put into {arc}/arc.conf: [lrms]   lrms = jim; "
        "[arex]   runtimedir = /etc/arc/runtime, then again: jim arc register; then restart A-REX"
    )
    assert (levels(site)["lrms"], levels(site)["runtime environments"]) == ("failed", "failed")
    assert (arc / "arc.conf").read_text() == "[lrms]\nlrms = slurm\n[arex]\n"


def test_files_of_others_are_neither_replaced_nor_removed(arc, site):
    (arc / "share/arc/submit-jim-job").write_text("#!/bin/sh\ntheirs\n")
    for action in (arc_service.register, arc_service.unregister):
        with pytest.raises(BadSite, match="submit-jim-job was not written by JIM; move it away first"):
            list(action(site))
    (arc / "share/arc/submit-jim-job").unlink()
    (arc / "share/arc/JIMmod.pm").write_text("package JIMmod;\n")
    with pytest.raises(BadSite, match=r"JIMmod\.pm is not a link of JIM's; move it away first"):
        list(arc_service.register(site))


def test_a_link_of_others_is_neither_replaced_nor_removed(arc, site):
    """Another JIM's is: it was registered before this one."""
    module = arc / "share/arc/JIMmod.pm"
    module.symlink_to("/opt/site/JIMmod.pm")
    for action in (arc_service.register, arc_service.unregister):
        with pytest.raises(BadSite, match=r"JIMmod\.pm is not a link of JIM's; move it away first"):
            list(action(site))
    module.unlink()
    module.symlink_to("/opt/jim-0.0/libexec/jim/shell/arc/JIMmod.pm")
    list(arc_service.register(site))
    assert module.readlink() == arc_service.MODULE


def test_runtime_environments_of_others_are_not_replaced(arc, site):
    before = arc / "runtime/JIM/PYTHIA"
    before.parent.mkdir(parents=True)
    before.write_text("# the site's own\n")
    there = names(arc)
    with pytest.raises(BadSite, match="JIM/PYTHIA was not written by JIM; move it away first"):
        list(arc_service.register(site))
    assert names(arc) == there
    list(arc_service.unregister(site))
    assert before.read_text() == "# the site's own\n"


def test_runtime_environments_of_job_types_that_are_gone_are_removed_too(arc, site):
    list(arc_service.register(site))
    (arc / "runtime/JIM/OLD").write_text((arc / "runtime/JIM/PYTHIA").read_text())
    list(arc_service.unregister(site))
    assert not (arc / "runtime/JIM").exists()
    assert " JIM/OLD " in (arc / "sbin/arcctl.calls").read_text()


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("share/arc/scan-fork-job", "has no back-ends of A-REX: install nordugrid-arc-arex, or set ARC_LOCATION"),
        ("arc.conf", "does not exist: configure A-REX first, or set ARC_CONFIG"),
    ],
)
def test_without_a_rex_there_is_nothing_to_register(arc, site, missing, words):
    (arc / missing).unlink()
    with pytest.raises(BadSite, match=words):
        list(arc_service.register(site))
    assert [(each.name, each.level) for each in arc_service.findings(site)] == [("A-REX", "failed")]


# What A-REX's information provider is told


def test_jobs_are_described_by_what_their_keeper_has_written(tmp_path, monkeypatch):
    world = World(tmp_path, None)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    for number, answer in ((1, "running\n3 of 9 local jobs completed\n"), (2, "waiting\n\n"), (3, "ended 0 done\n")):
        (world.site.state / f"answers/{number}").write_text(answer)
    (world.site.state / "answers/5").touch()  # as a power cut may leave it
    uid = os.getuid()
    told = list(lines(world.site, [*(f"{uid}.{n}" for n in (1, 2, 3, 4, 5)), "17", "x.y"]))
    assert [line for line in told if line.startswith("job ")] == [
        f"job {uid}.1 R 3 of 9 local jobs completed",
        f"job {uid}.2 Q ",
        f"job {uid}.3 EXECUTED ",
    ]
    assert any(line.startswith("site most_local_jobs ") for line in told)


def test_no_text_of_an_account_spoils_what_a_rex_says_of_all(tmp_path, monkeypatch):
    """A-REX puts comments into one document for all users, which no control character may be in."""
    world = World(tmp_path, None)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    odd = "a\x01b\x1b[31m\x0bc\u2028site slots 9\rd\ufffe]]>\udce9 " + "x" * 60_000
    (world.site.state / "answers/1").write_text(f"running\n{odd}\nsite slots 9\n", errors="surrogateescape")
    (told,) = [line for line in lines(world.site, [f"{os.getuid()}.1"]) if line.startswith("job ")]
    assert told.startswith(f"job {os.getuid()}.1 R a b [31m c site slots 9 d ]]>")
    assert told.isprintable()
    assert len(told) < 600
