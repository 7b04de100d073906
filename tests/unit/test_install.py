"""What `make install` puts below a prefix: it works without the tree it came from, and is replaced under what runs."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from jim.cli import EXIT_CODES, VERBS

HOME = Path(__file__).parents[2]
SYSTEM = {"LIBRARIES": "system", "PYTHON": sys.executable}  # what it needs of PyPI is in the Python of the tests


def make(source, target, **words):
    """Run a target of a tree's Makefile."""
    return call("make", "-C", source, target, *(f"{name}={word}" for name, word in (SYSTEM | words).items()))


def call(*command, **variables):
    kept = {name: value for name, value in os.environ.items() if not re.match("JIM_|MAKE|PYTHON", name)}
    return subprocess.run(
        command, env=kept | variables, cwd="/", capture_output=True, text=True, timeout=60, check=False
    )


def said(*command, **variables):
    """Run what must succeed, and give what it printed."""
    done = call(*command, **variables)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def files(place):
    return {path for path in place.rglob("*") if path.is_symlink() or not path.is_dir()}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of what is installed, with modes that accounts could not read, to be thrown away."""
    place = tmp_path_factory.mktemp("source") / "jim"
    place.mkdir()
    for name in ("jim", "adapters", "handlers", "shell", "share", "packaging", "docs", "examples"):
        shutil.copytree(HOME / name, place / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "README.md", "SECURITY.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(HOME / name, place)
    (place / "jim/model.py").chmod(0o600)
    return place


@pytest.fixture
def small(source, tmp_path):
    """A copy with hardly a module in it, which is installed in no time."""
    place = tmp_path / "small"
    shutil.copytree(source, place, symlinks=True)
    for name in ("jim", "adapters", "handlers"):
        shutil.rmtree(place / name)
    (place / "jim/adapters").mkdir(parents=True)
    (place / "jim/adapters/base.py").touch()
    (place / "jim/handlers").mkdir()
    (place / "jim/shell").symlink_to("../shell")
    shutil.copy(source / "jim/__init__.py", place / "jim")
    (place / "packaging/man.py").write_text("")
    (place / "shell/jim").write_text("#!/bin/sh\n")
    return place


@pytest.fixture
def willing(tmp_path):
    """A Python that finds all well, and does nothing."""
    stub = tmp_path / "python"
    stub.write_text('#!/bin/sh\ncase $* in *sys.executable*) echo "$0" ;; esac\n')
    stub.chmod(0o755)
    return stub


def test_bad_words_are_refused_before_anything_is_made(source, tmp_path):
    good = f"{tmp_path}/p"
    for words, told in (
        ({"PREFIX": "here"}, "PREFIX must be an absolute path, found 'here'"),
        ({"PREFIX": f"{tmp_path}/it's"}, "PREFIX must not hold quotes"),
        ({"PREFIX": good, "LIBRARIES": "debian"}, "LIBRARIES must be own or system, found 'debian'"),
        ({"PREFIX": good, "PYTHON": "/bin/false"}, "JIM needs Python 3.11 or newer, and /bin/false is not"),
    ):
        refused = make(source, "install", **words)
        assert refused.returncode == 2
        assert told in refused.stderr
    assert not list(tmp_path.iterdir())


def test_a_python_without_the_libraries_is_refused_with_what_to_install(source, tmp_path):
    said(sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare")
    refused = make(source, "install", PREFIX=f"{tmp_path}/p", PYTHON=tmp_path / "bare/bin/python")
    assert "apt-get install python3-lxml python3-psutil python3-tenacity python3-rich" in refused.stderr
    assert not (tmp_path / "p").exists()


def test_a_python_that_accounts_cannot_reach_is_told(small, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    tmp_path.chmod(0o755)
    said(sys.executable, "-m", "venv", "--without-pip", closed / "venv")
    (libraries,) = (closed / "venv/lib").glob("python3*/site-packages")
    (libraries / "those.pth").write_text(sysconfig.get_path("purelib"))
    done = make(small, "install", PREFIX=tmp_path / "p", PYTHON=closed / "venv/bin/python")
    assert done.returncode == 0
    assert f"accounts cannot run {closed}/venv/bin/python because of {closed}; say PYTHON=" in done.stderr


@pytest.mark.torture
def test_a_package_holds_what_is_to_lie_at_the_prefix(source, tmp_path):
    into = tmp_path / "package"
    make(source, "install", PREFIX="/opt/a b", DESTDIR=into).check_returncode()
    below = into / "opt/a b"
    doors = {"jim", "jim-submit", "jim-poll", "jim-cancel"}
    assert {path.name for path in (below / "bin").iterdir()} == doors
    for file in files(into):
        assert file.is_relative_to(below)
        if file.is_symlink():
            continue
        assert stat.S_IMODE(file.stat().st_mode) in (0o644, 0o755), file
        assert os.fsencode(into) not in file.read_bytes(), file
    assert (below / "bin/jim-poll").read_text() == '#!/bin/sh\nexec "/opt/a b/libexec/jim/shell/jim-poll" "$@"\n'
    unit = (below / "lib/systemd/system/jim-keeper@.service").read_text()
    assert '\nExecStart="/opt/a b/bin/jim" keeper --all\n' in unit
    assert (below / "lib/systemd/system/jim-keepers.service").is_file()
    pages = (below / "lib/systemd/system/jim-pages@.service").read_text()
    assert '\nExecStart="/opt/a b/bin/jim" pages --socket /run/jim-pages-%i/socket\n' in pages
    whole = (below / "lib/systemd/system/jim-pages-site@.service").read_text()
    assert '\nExecStart="/opt/a b/bin/jim" pages --site --socket /run/jim-pages-site/socket\n' in whole
    assert (below / "share/jim/monitoring/jim.rules.yml").is_file()
    cron = (below / "share/jim/cron/jim-keepers").read_text()
    assert '\n* * * * * root "/opt/a b/bin/jim" keeper --all >/dev/null\n' in cron
    assert "/opt/jim" not in unit + pages + whole + cron
    readme = (below / "share/jim/README.md").read_text()
    assert "[docs/security.md](docs/security.md)" in readme
    assert "jim/run_grid_job.py, the life of a grid job" in readme  # sources are not there, so no link leads to them
    for page in (below / "share/jim").rglob("*.md"):
        for target in re.findall(r"\]\(([^():#\s]+)", page.read_text()):
            assert (page.parent / target).exists(), (page, target)
    make(source, "uninstall", PREFIX="/opt/a b", DESTDIR=into).check_returncode()
    assert not files(into)


def test_it_works_without_the_tree_it_came_from(source, tmp_path):
    gone, prefix = tmp_path / "gone", tmp_path / "a b"
    shutil.copytree(source, gone, symlinks=True)
    make(gone, "install", PREFIX=prefix).check_returncode()
    shutil.rmtree(gone)
    hello = prefix / "share/jim/examples/hello.toml"
    assert "local jobs   1\n" in said(prefix / "bin/jim", "submit", "--dry-run", hello, JIM_STATE=f"{tmp_path}/state")
    page = (prefix / "share/man/man1/jim.1").read_text()
    assert set(re.findall(r"^\.B (\w+)$", page, re.MULTILINE)) >= {*VERBS, *map(str, EXIT_CODES)}
    pages = {"jim.1", *(f"jim-{verb}.1" for verb in VERBS)}
    assert {each.name for each in (prefix / "share/man/man1").iterdir()} == pages
    for shell in ("bash-completion/completions/jim", "zsh/site-functions/_jim", "fish/vendor_completions.d/jim.fish"):
        assert "dry-run" in (prefix / "share" / shell).read_text()
    # What GRAM is told stays true with the next version.
    ask = "from jim.admin import gram_service; print(gram_service.ADAPTER)"
    tree = (prefix / "libexec/jim").resolve()
    assert (
        said(sys.executable, "-P", "-c", ask, PYTHONPATH=str(tree)) == f"{prefix}/libexec/jim/shell/gram/samgrid.pm\n"
    )


def test_what_runs_keeps_its_version_and_nothing_is_taken_away_below_it(small, willing, tmp_path):
    prefix = tmp_path / "a b"

    def install():
        make(small, "install", PREFIX=prefix, PYTHON=willing).check_returncode()
        trees = {each.suffix for each in (prefix / "libexec").glob("jim-*")}
        return (prefix / "libexec/jim").readlink().suffix, trees

    assert install() == (".1", {".1"})
    oldest = (prefix / "libexec/jim").resolve()
    keeper = subprocess.Popen(["sleep", "60"], env={"PYTHONPATH": str(oldest)})
    try:
        assert install() == (".2", {".1", ".2"})
        assert install() == (".3", {".1", ".2", ".3"})  # the one before is kept for who is in a door just now
        assert install() == (".4", {".1", ".3", ".4"})
        refused = make(small, "uninstall", PREFIX=prefix)
        told = f"JIM is in use by {keeper.pid} ({pwd.getpwuid(os.getuid()).pw_name}: sleep 60); keepers end by: "
        assert told in refused.stderr
    finally:
        keeper.kill()
        keeper.wait()
    make(small, "uninstall", PREFIX=prefix).check_returncode()
    assert not files(prefix)


def test_a_process_that_has_ended_meanwhile_uses_nothing(small, willing, tmp_path):
    """Doors come and go while each process of the machine is looked at."""
    prefix = tmp_path / "p"
    make(small, "install", PREFIX=prefix, PYTHON=willing).check_returncode()
    (tmp_path / "bin").mkdir()
    front = tmp_path / "bin/grep"
    front.write_text(
        '#!/bin/sh\n[ "$1" != -lsaxzF ] || exec echo /proc/4194304/environ\nexec /usr/bin/env -i grep "$@"\n'
    )
    front.chmod(0o755)
    words = [f"PREFIX={prefix}", *(f"{name}={word}" for name, word in SYSTEM.items())]
    done = call("make", "-C", small, "uninstall", *words, PATH=f"{front.parent}:{os.environ['PATH']}")
    assert (done.returncode, done.stderr) == (0, "")
    assert not files(prefix)


def test_an_install_that_fails_changes_nothing(small, willing, tmp_path):
    prefix = tmp_path / "p"
    make(small, "install", PREFIX=prefix, PYTHON=willing).check_returncode()
    before = {file: file.stat(follow_symlinks=False).st_mtime_ns for file in files(prefix)}
    (small / "shell").rename(small / "gone")
    assert make(small, "install", PREFIX=prefix, PYTHON=willing).returncode == 2
    assert {file: file.stat(follow_symlinks=False).st_mtime_ns for file in files(prefix)} == before


def test_what_still_calls_jim_or_is_not_there_is_not_removed(small, willing, tmp_path):
    """Cron went on calling, each minute, a program that was gone; and a wrong PREFIX was said to be done."""
    into, words = tmp_path / "package", {"PREFIX": "/opt/a b", "DESTDIR": tmp_path / "package"}
    refused = make(small, "uninstall", **words)
    assert f"JIM is not installed below {into}/opt/a b: say PREFIX=" in refused.stderr
    make(small, "install", PYTHON=willing, **words).check_returncode()
    for place, text, told in (
        ("etc/cron.d/jim-keepers", '* * * * * root "/opt/a b/bin/jim" keeper --all\n', "cron uses JIM: rm "),
        ("usr/share/arc/scan-jim-job", "jim_shell='/opt/a b/libexec/jim/shell'\n", "an ARC CE uses JIM: /opt/a b/bin"),
    ):
        (into / place).parent.mkdir(parents=True)
        (into / place).write_text(text)
        refused = make(small, "uninstall", **words)
        assert (refused.returncode, told in refused.stderr) == (2, True)
        (into / place).unlink()
    (into / "etc/jim").mkdir()
    (into / "etc/jim/site.toml").touch()
    removed = make(small, "uninstall", **words)
    assert removed.returncode == 0
    assert f"as long as {into}/etc/jim/site.toml is there, each other JIM of this machine obeys it" in removed.stdout
    assert [str(each.relative_to(into)) for each in files(into)] == ["etc/jim/site.toml"]
    assert not (into / "opt/a b/libexec").exists()
