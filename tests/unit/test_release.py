"""`make release`: of one commit, by whomever and wherever, it makes the same bytes.

Of the documents, test_docs_site.py shows it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
NAMED = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false")
LEFT_OUT = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "dist", "build", "*.egg-info")


def git(place: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", place, *NAMED, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of JIM that is ready to be released."""
    place = tmp_path_factory.mktemp("release") / "checkout"
    shutil.copytree(HOME, place, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (place / "CHANGELOG.md").write_text("# Changelog\n\n## [7.8.9] - 2026-01-31\n\nAll is well.\n")
    for file in (place / "changes.d").glob("*.*.md"):
        file.unlink()
    init = place / "jim/__init__.py"
    before, _, after = init.read_text().partition('__version__ = "')
    init.write_text(f'{before}__version__ = "7.8.9"{after.partition(chr(34))[2]}')
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "A version")
    return place


def release(place: Path, *steps: str, umask: int = 0o022, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-s", "packaging/release.py", *(steps or ("sdist", "wheel", "pages", "bill"))],
        cwd=place,
        env={"PATH": os.environ["PATH"], "HOME": str(place.parent), **more},
        umask=umask,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_commit_that_is_no_version_is_refused(checkout: Path) -> None:
    (checkout / "changes.d/new-verb.added.md").write_text("A verb.\n")
    try:
        assert "changes.d/new-verb.added.md" in release(checkout).stderr
        git(checkout, "add", "-A")
        git(checkout, "commit", "-qm", "A verb")
        done = release(checkout)
        assert (done.returncode, done.stderr) == (
            3,
            "release: take into CHANGELOG.md, and remove from changes.d/: new-verb.added.md\n",
        )
        git(checkout, "revert", "--no-edit", "HEAD")
        (checkout / "CHANGELOG.md").write_text("## [7.9.0]\n")
        git(checkout, "commit", "-qam", "Another version")
        assert release(checkout).stderr == "release: jim/__init__.py says 7.8.9, and the top of CHANGELOG.md 7.9.0\n"
    finally:
        git(checkout, "reset", "-q", "--hard", git(checkout, "rev-list", "--max-parents=0", "HEAD"))
        git(checkout, "clean", "-fdq")


@pytest.mark.torture
def test_the_same_commit_makes_the_same_bytes(checkout: Path, tmp_path: Path) -> None:
    other = tmp_path / "a b" / "elsewhere"
    git(checkout.parent, "clone", "-q", str(checkout), str(other))
    done = release(checkout, TZ="Asia/Tokyo", LANG="de_DE.UTF-8", SOURCE_DATE_EPOCH="7")
    assert (done.returncode, done.stderr) == (0, "")
    assert release(other, umask=0o077, TZ="America/Chicago", LC_ALL="C").returncode == 0
    lines = (checkout / "dist/SHA256SUMS").read_text()
    assert (other / "dist/SHA256SUMS").read_text() == lines
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=other / "dist", check=True)
    names = [line.split("  ")[1] for line in lines.splitlines()]
    assert names == sorted(path.name for path in (other / "dist").iterdir() if path.name != "SHA256SUMS")
    assert {"jim_job_managers-7.8.9.tar.gz", "jim_job_managers-7.8.9-py3-none-any.whl"} < set(names)
    _look_into(checkout / "dist", git(checkout, "rev-parse", "--short=12", "HEAD"))


@pytest.mark.torture  # it builds them twice
def test_the_same_commit_makes_the_same_packages_of_debian(checkout: Path, tmp_path: Path) -> None:
    if missing := [each for each in ("dpkg-buildpackage", "dh", "dh_python3") if not shutil.which(each)]:
        pytest.skip(f"no {', '.join(missing)}: as root, apt-get install debhelper dh-python")
    other = tmp_path / "a b" / "elsewhere"
    git(checkout.parent, "clone", "-q", str(checkout), str(other))
    done = release(checkout, "debs_without_doc", TZ="Asia/Tokyo", LANG="de_DE.UTF-8", SOURCE_DATE_EPOCH="7")
    assert (done.returncode, done.stderr) == (0, "")
    done = release(
        other, "debs_without_doc", umask=0o077, TZ="America/Chicago", LC_ALL="C", DEB_BUILD_OPTIONS="nostrip"
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = (checkout / "dist/SHA256SUMS").read_text()
    assert (other / "dist/SHA256SUMS").read_text() == lines
    assert [line.split("  ")[1] for line in lines.splitlines()] == ["jim-pages_7.8.9_all.deb", "jim_7.8.9_all.deb"]


def _look_into(dist: Path, commit: str) -> None:
    with zipfile.ZipFile(dist / "jim_job_managers-7.8.9-py3-none-any.whl") as wheel:
        assert f'__commit__ = "{commit}"' in wheel.read("jim/__init__.py").decode()
        assert wheel.getinfo("jim/shell/jim-poll").external_attr >> 16 & 0o777 == 0o755
    with tarfile.open(dist / "jim_job_managers-7.8.9.tar.gz") as source:
        members = source.getmembers()
        assert {(each.uid, each.gid, each.uname) for each in members} == {(0, 0, "root")}
        assert {each.mode for each in members if each.isreg()} == {0o644, 0o755}
        assert "jim_job_managers-7.8.9/tests/unit/test_release.py" in {each.name for each in members}
        assert source.getmember("jim_job_managers-7.8.9/jim/shell").linkname == "../shell"
    with tarfile.open(dist / "jim-7.8.9-man-and-completions.tar.gz") as pages:
        names = {each.removeprefix("jim-7.8.9-man-and-completions/") for each in pages.getnames()}
        assert {"man/jim.1", "man/jim-run.1", "completions/zsh"} < names
    bill = json.loads((dist / "jim-7.8.9.cdx.json").read_text())
    assert {"lxml", "psutil", "tenacity", "rich", "flask"} <= {each["name"] for each in bill["components"]}
    assert "serialNumber" not in bill
    assert bill["metadata"]["component"]["version"] == "7.8.9"
