"""The wrapper under every shell: the manifest of outputs."""

import re

import pytest

from tests.faults.real import PLAIN
from tests.wrapper.worker import ABC, NOTHING, Site, pack, python, sh


@pytest.mark.parametrize(
    ("script", "patterns", "expected"),
    [
        ("printf abc >'a  b.dat'", ["a  *.dat"], [f"file 3 {ABC} a  b.dat"]),
        ("printf abc >' x '", [" x "], [f"file 3 {ABC}  x "]),
        ("printf abc >-n", ["-*"], [f"file 3 {ABC} -n"]),
        ("printf abc >é", ["*"], [f"file 3 {ABC} é"]),
        ("printf abc >'[1]'", ["*1]"], [f"file 3 {ABC} [1]"]),
        ("printf abc >'$(id)'", ["*id)"], [f"file 3 {ABC} $(id)"]),
        ("mkdir a; printf abc >a/x.dat; : >a/y", ["a/*.dat"], [f"file 3 {ABC} a/x.dat"]),
        ("mkdir -p d/e; printf abc >d/e/.h; : >d/x", ["d"], [f"file 3 {ABC} d/e/.h", f"file 0 {NOTHING} d/x"]),
        ("mkdir -p d/e; printf abc >d/e/..h", ["d/", "d/e/*"], [f"file 3 {ABC} d/e/..h"]),
        ("printf abc >x.dat", ["*.dat", "x*", "*", "x.dat"], [f"file 3 {ABC} x.dat"]),
        ("printf abc >.x; : >y", [".*"], [f"file 3 {ABC} .x"]),
        (":", ["no.dat", "no*", "a/b"], ["missing no.dat", "missing a/b"]),
        ("ln -s /etc/passwd escape.dat", ["*.dat"], ["refused link escape.dat"]),
        ("ln -s nowhere x.dat", ["x.dat"], ["refused link x.dat"]),
        ("mkdir d; ln -s /etc d/e; : >d/x", ["d"], ["refused link d/e", f"file 0 {NOTHING} d/x"]),
        ("ln -s /etc e", ["e/passwd", "e/pass*wd", "e/"], ["refused link e/passwd", "refused link e"]),
        ("mkdir a; ln -s /etc a/e; mkdir a/f; : >a/f/passwd", ["a/*/passwd"],
            ["refused link a/e/passwd", f"file 0 {NOTHING} a/f/passwd"]),
        ("mkfifo f.dat", ["*"], ["refused special f.dat"]),
        ("ln -s /dev/zero z.dat", ["z.dat"], ["refused link z.dat"]),
        ("printf abcd >x; printf abc >y", ["*"], ["refused large x", f"file 3 {ABC} y"]),
        ("printf abc >\"$(printf 'a\\nb')\"; printf abc >ab", ["a*"], ["refused name a?b", f"file 3 {ABC} ab"]),
        ("x=$(printf 'd/x\\n/y'); mkdir -p \"${x%/y}\"; : >\"$x\"", ["d"], ["refused name d/x?"]),
        ("printf abc >'a\\b'", ["a*"], ["refused name a?b"]),
        ("printf abc >'a\tb'", ["a*"], ["refused name a?b"]),
        (": >../secret", ["../secret", "/etc/passwd", "a/../../secret", "a\\*", "a//b", "./x"],
            ["refused name " + name for name in ("../secret", "/etc/passwd", "a/../../secret", "a?*", "a//b", "./x")]),
        ("cd ..; rm -rf run.1", ["x"], ["missing stdout"]),
        ("rm stdout; ln -s /etc/passwd stdout", [], ["refused link stdout"]),
    ],
)  # fmt: skip
def test_outputs_are_listed_with_size_and_checksum(
    site: Site, script: str, patterns: list[str], expected: list[str]
) -> None:
    limit = "limit 3" if "abcd" in script else "limit 1000000"
    site.jobs(*sh(script), facts=(limit, *(f"out {pattern}" for pattern in patterns)))
    assert site.run() == 0
    assert sorted(site.manifest()) == sorted(expected)


def test_a_directory_that_somebody_moves_away_for_a_moment_costs_no_work(site: Site) -> None:
    script = "printf abc >x; cd ..; mv run.1 away; (sleep 1; mv away run.1) >/dev/null 2>&1 &"
    site.jobs(*sh(script), facts=("out x",))
    assert site.run() == 0
    assert f"file 3 {ABC} x" in site.manifest()


def test_bytes_in_a_name(site: Site) -> None:
    site.jobs(*python("open(b'a\\xff\\xe9.dat', 'wb').write(b'abc')"), facts=("out *.dat",))
    assert site.run() == 0
    assert site.manifest() == [f"file 3 {ABC} a\udcff\udce9.dat"]


def test_a_sparse_giant_is_not_read(site: Site) -> None:
    make = "import os; os.truncate(os.open('big', os.O_CREAT | os.O_WRONLY), 100 << 30)"
    site.jobs(*python(make), facts=("out big",))
    assert site.run() == 0
    assert site.manifest() == ["refused large big"]


def test_a_socket_is_not_opened(site: Site) -> None:
    site.jobs(*python("import socket; socket.socket(socket.AF_UNIX).bind('s')"), facts=("out s",))
    assert site.run() == 0
    assert site.manifest() == ["refused special s"]


def test_the_input_is_no_output(site: Site) -> None:
    pack(site)
    site.jobs("/bin/true", facts=("out *", "out input/sub/data.txt"))
    assert site.run() == 0
    assert site.manifest() == ["refused link input/sub/data.txt"]


@pytest.mark.parametrize("change", ["printf d >>grow.dat", "printf xyz >grow.dat", "rm grow.dat"])
def test_a_file_that_changes_while_it_is_read(site: Site, change: str) -> None:
    site.fake("sha256sum", f'$real "$@"; {change}')
    site.jobs(*sh("printf abc >grow.dat; printf abc >still.dat"), facts=("out *.dat",))
    assert site.run() == 0
    assert sorted(site.manifest()) == [f"file 3 {ABC} still.dat", "refused changed grow.dat"]


def test_a_file_that_may_be_read_and_cannot_be(slow_site: Site) -> None:
    """Its disk may be failing."""
    slow_site.fake("sha256sum", 'for one do [ "$one" = ./b.dat ] || $real "$one"; done')
    slow_site.jobs(*sh("for x in a b c; do printf abc >$x.dat; done"), facts=("out *.dat",))
    assert slow_site.run() == 0
    assert sorted(slow_site.manifest()) == [f"file 3 {ABC} a.dat", f"file 3 {ABC} c.dat", "refused failing b.dat"]


def test_a_file_that_may_not_be_read(site: Site) -> None:
    # busybox looks at the uid alone: it takes root for able to read all, also where the kernel does not let it.
    why = "failing" if PLAIN and "busybox" in site.shell[0] else "unreadable"
    site.shell = [*PLAIN, *site.shell]
    site.jobs(*sh("printf abc >x; chmod 000 x"), facts=("out x",))
    assert site.run() == 0
    assert site.manifest() == [f"refused {why} x"]


@pytest.mark.parametrize("mode", ["000", "400"])
def test_a_directory_that_cannot_be_read(site: Site, mode: str) -> None:
    site.shell = [*PLAIN, *site.shell]
    site.jobs(*sh(f"mkdir -p d/e; printf abc >d/e/x; printf abc >d/y; chmod {mode} d/e"), facts=("out d",))
    assert site.run() == 0
    assert site.manifest() == ["refused unreadable d/e", f"file 3 {ABC} d/y"]


def test_a_file_that_is_gone_before_it_is_read(site: Site) -> None:
    site.fake("stat", 'rm -f a.dat c.dat; exec $real "$@"')
    site.jobs(*sh("for x in a b c; do printf abc >$x.dat; done"), facts=("out *.dat",))
    assert site.run() == 0
    assert sorted(site.manifest()) == [f"file 3 {ABC} b.dat", "refused changed a.dat", "refused changed c.dat"]


@pytest.mark.parametrize(("command", "script"), [("sort", "exit 1"), ("stat", "echo 1 of another ./file")])
def test_outputs_that_cannot_be_listed(site: Site, command: str, script: str) -> None:
    """A manifest that lacks something without saying so would be worse than none."""
    site.fake(command, script)
    site.jobs(*sh("printf abc >a.dat"), facts=("out *.dat",))
    assert site.run() == 72
    assert "cannot list the outputs" in site.file("log.1")
    assert not (site.here / "exit.1").exists()


@pytest.mark.parametrize("count", [100, 201])
def test_thousands_of_outputs_are_listed(site: Site, count: int) -> None:
    make = f"for i in range({count}): open(f'{{i}} .dat', 'w').write('abc')"
    site.jobs(*python(make), facts=("out *.dat",))
    assert site.run() == 0
    assert sorted(site.manifest()) == sorted(f"file 3 {ABC} {i} .dat" for i in range(count))


@pytest.mark.parametrize("most", [160_000, pytest.param(16_000_000, marks=pytest.mark.torture)])
def test_more_files_than_the_keeper_reads_of(site: Site, most: int) -> None:
    """A record that is not read looks like none, and what has ended well would be done again."""
    wrapper = site.here.parent / "local-job-outputs"
    assert wrapper.read_text().count("16000000") == 2
    wrapper.write_text(wrapper.read_text().replace("16000000", str(most)))
    make = "import os; [(os.mkdir('d' * 250), os.chdir('d' * 250)) for _ in range(15)]; "
    make += f"[open(f'{{i:0250}}', 'w').close() for i in range({most // 3800})]"
    site.jobs(*python(make), facts=("out d*",))
    assert site.run() == 0
    (told,) = site.manifest()
    bytes_, taken = re.fullmatch(r"refused all outputs: their list has (\d+) bytes, and (\d+) are taken", told).groups()
    assert int(bytes_) > int(taken) == most
