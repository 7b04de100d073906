"""Pastes a page of the documents, word by word, where nothing of that stays."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.live.accounts import have
from tests.live.site import PLAIN_PATH, ROOT, copy_of_the_source

# Mounts of its own, and JIM nowhere yet.
APART = """
set -eu
mount --make-rprivate /
mount -t tmpfs none {apart}
for place in etc home root usr var; do
    mkdir -p {apart}/$place/upper {apart}/$place/work
    mount -t overlay none -o lowerdir=/$place,upperdir={apart}/$place/upper,workdir={apart}/$place/work /$place
done
mount -t tmpfs none /run
rm -rf /etc/jim /var/lib/jim /usr/local/libexec/jim
"""


class Page:
    """The chapter "From nothing to a first job" of a page, and the directory in which it is pasted."""

    def __init__(self, name: str, directory: Path) -> None:
        text = (ROOT / "docs" / name).read_text()
        chapter = text.partition("## From nothing to a first job\n")[2].partition("\n## ")[0]
        self.install, *self.blocks = re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL)
        self.directory, self.bin = directory, directory / "bin"
        for place in (self.bin, directory / "apart"):
            place.mkdir()
        self._have_libraries()
        (self.bin / "apt-get").symlink_to("/bin/true")  # the packages are there

    def _have_libraries(self) -> None:
        """Install the libraries that the page names; what it names beside, a lab has brought."""
        have(*re.findall(r"python3-\w+", self.install))

    def tool(self, name: str, script: str) -> None:
        """Put a program there that the page calls."""
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def paste(self, prepare: str = "") -> str:
        """Paste all commands, with mounts, network and processes of their own; return what they print."""
        copy, alone = copy_of_the_source(self.directory / "copy"), self.directory / "alone"
        alone.write_text("set -eu\nip link set lo up\n" + "".join(self.blocks))
        apart = APART.format(apart=self.directory / "apart") + prepare
        script = self.directory / "script"
        script.write_text(f"{apart}\ncd {copy}\n{self.install}cd /\nrm -r {copy}\nexec unshare --net sh {alone}")
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", str(script)],
            env={"PATH": f"{self.bin}:{PLAIN_PATH}", "HOME": "/root", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
