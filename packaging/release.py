"""Makes a release in dist/: all that people can pick up, with sums. The same commit gives the same bytes.

make release; where Debian's tools are missing: release.py STEP...
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from email.utils import formatdate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
JIM = "from jim.cli import main; main()"
STAMP = '__commit__ = ""'


class NoRelease(Exception):
    """Why no release can be made."""


class Release:
    """The release of the last commit of a checkout."""

    def __init__(self, checkout: Path, place: Path) -> None:
        self.checkout, self.place = checkout, place
        self.commit = self._git("rev-parse", "--short=12", "HEAD")
        self.seconds = int(self._git("log", "-1", "--format=%ct"))
        self.source, self.made = place / "source", place / "made"
        self.made.mkdir()
        (place / "home").mkdir()

    def _git(self, *words: str) -> str:
        return self.run("git", "-C", str(self.checkout), *words).strip()

    def run(self, *words: str, cwd: Path | None = None) -> str:
        """Run a program that must succeed, with nothing of this session in its environment."""
        done = subprocess.run(
            words, cwd=cwd or self.checkout, env=self.environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise NoRelease(f"{' '.join(words[:4])} … failed with exit code {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout

    def environment(self) -> Mapping[str, str]:
        """Return what is so on every machine; the time is that of the commit."""
        fixed = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        seconds = {"SOURCE_DATE_EPOCH": str(self.seconds)} if hasattr(self, "seconds") else {}
        own = {"HOME": str(self.place / "home"), "PYTHONPATH": ".:packaging"}
        return {"PATH": os.environ["PATH"], **own, **fixed, **seconds}

    def check(self) -> str:
        """Return the version, if this commit is one."""
        if changed := self._git("status", "--porcelain"):
            raise NoRelease(f"these files are not as they were committed:\n{changed}")
        version = _found(r'^__version__ = "(.+)"$', self.checkout / "jim/__init__.py")
        top = _found(r"^## \[(.+?)\]", self.checkout / "CHANGELOG.md")
        if top != version:
            raise NoRelease(f"jim/__init__.py says {version}, and the top of CHANGELOG.md {top}")
        if left := sorted(each.name for each in (self.checkout / "changes.d").glob("*.*.md")):
            raise NoRelease(f"take into CHANGELOG.md, and remove from changes.d/: {', '.join(left)}")
        return version

    def unpack(self) -> None:
        """Put the files of the commit apart, and write into them which commit that is."""
        self.source.mkdir()
        archive = self.place / "archive.tar"
        self._git("-c", "tar.umask=0022", "archive", "--output", str(archive), "HEAD")
        self.run("tar", "--no-same-owner", "-xpf", str(archive), cwd=self.source)
        file = self.source / "jim/__init__.py"
        text = file.read_text()
        if STAMP not in text:
            raise NoRelease(f"{file.name} has no line {STAMP}")
        file.write_text(text.replace(STAMP, f'__commit__ = "{self.commit}"'))

    def python(self, *words: str) -> str:
        """Run this Python in the unpacked source."""
        return self.run(sys.executable, "-s", *words, cwd=self.source)

    def packed(self, folder: Path, name: str) -> None:
        """Pack a folder, as `name`, into an archive of that name."""
        members = [(f"{name}/{path.relative_to(folder)}", path) for path in sorted(folder.rglob("*"))]
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for member, path in members:
                self._add(archive, member, path)
        with gzip.GzipFile(self.made / f"{name}.tar.gz", "wb", 9, mtime=self.seconds) as packed:
            packed.write(tar.getvalue())

    def _add(self, archive: tarfile.TarFile, member: str, path: Path) -> None:
        about = archive.gettarinfo(path, member)
        about.mode = 0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644
        about.uid = about.gid = 0
        about.uname = about.gname = "root"
        about.mtime = self.seconds
        if not about.isreg():
            archive.addfile(about)
            return
        with path.open("rb") as content:
            archive.addfile(about, content)


def _found(pattern: str, file: Path) -> str:
    match = re.search(pattern, file.read_text(), re.MULTILINE)
    return match[1] if match else "nothing"


def sdist(release: Release, version: str) -> None:
    """Make the source distribution; what setuptools has packed has the times and rights of this machine."""
    made = release.place / release.python("-c", BUILD, "build_sdist", str(release.place)).split()[-1]
    unpacked = release.place / "sdist"
    unpacked.mkdir()
    release.run("tar", "--no-same-owner", "-xpf", str(made), cwd=unpacked)
    (folder,) = unpacked.iterdir()
    release.packed(folder, folder.name)


def wheel(release: Release, version: str) -> None:
    """Make the wheel, from a copy: to build leaves files behind."""
    copy = release.place / "for-wheel"
    shutil.copytree(release.source, copy, symlinks=True)
    release.run(sys.executable, "-s", "-c", BUILD, "build_wheel", str(release.made), cwd=copy)


def pages(release: Release, version: str) -> None:
    """Make the manual pages and the completions."""
    into = release.place / "pages"
    for what in ("man", "completions"):
        (into / what).mkdir(parents=True)
    release.python("packaging/man.py", str(into / "man"))
    for shell in ("bash", "zsh", "fish"):
        (into / "completions" / shell).write_text(release.python("-c", JIM, "completion", shell))
    release.packed(into, f"jim-{version}-man-and-completions")


def bill(release: Release, version: str) -> None:
    """Name the libraries that `make install` takes from PyPI, in the format of CycloneDX."""
    needed, to = release.place / "needed.txt", release.made / f"jim-{version}.cdx.json"
    needed.write_text(release.python("packaging/requirements.py", "core", "pages"))
    words = (
        "requirements",
        "--output-reproducible",
        "--pyproject",
        "pyproject.toml",
        "--output-file",
        str(to),
        str(needed),
    )
    release.python("-m", "cyclonedx_py", *words)
    content = json.loads(to.read_text())
    content["metadata"]["component"]["version"] = version  # which pyproject.toml leaves to the package
    to.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def docs(release: Release, version: str) -> None:
    """Make the site of the documents."""
    release.run("make", "docs", f"DOCS={release.place}/docs", cwd=release.source)
    release.packed(release.place / "docs/html", f"jim-{version}-docs")


def debs(release: Release, version: str, *profile: str) -> None:
    """Make the packages of Debian."""
    copy = release.place / "deb" / f"jim-{version}"
    shutil.copytree(release.source, copy, symlinks=True)
    shutil.copytree(copy / "packaging/debian", copy / "debian")
    maintainer = _found("^Maintainer: (.+)$", copy / "debian/control")
    entry = f"jim ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md of this version.\n\n"
    (copy / "debian/changelog").write_text(f"{entry} -- {maintainer}  {formatdate(release.seconds)}\n")
    release.run("dpkg-buildpackage", "--build=binary", "--no-sign", *profile, cwd=copy)
    for each in sorted(copy.parent.glob("*.deb")):
        shutil.copy(each, release.made)


def debs_without_doc(release: Release, version: str) -> None:
    """Make the packages of Debian but jim-doc, which takes longest."""
    debs(release, version, "--build-profiles=nodoc")


Step = Callable[[Release, str], None]
STEPS: Mapping[str, Step] = {each.__name__: each for each in (sdist, wheel, pages, bill, docs, debs)}
BY_NAME = {**STEPS, "debs_without_doc": debs_without_doc}  # these only where they are named


def sums(folder: Path) -> Iterator[str]:
    """Yield a line for each file, as sha256sum checks it."""
    for file in sorted(folder.iterdir()):
        yield f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"


def main(*only: str, checkout: Path = ROOT) -> int:
    """Make the release of this checkout, or only some of its steps."""
    os.umask(0o022)
    into = checkout / "dist"
    with tempfile.TemporaryDirectory(prefix="jim-release-") as place:
        try:
            release = Release(checkout, Path(place))
            version = release.check()
            release.unpack()
            for name in only or STEPS:
                BY_NAME[name](release, version)
        except NoRelease as error:
            print(f"release: {error}", file=sys.stderr)
            return 3
        (release.made / "SHA256SUMS").write_text("".join(sums(release.made)))
        shutil.rmtree(into, ignore_errors=True)
        shutil.copytree(release.made, into)
    print(f"JIM {version}, commit {release.commit}, in {into}:")
    print((into / "SHA256SUMS").read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
