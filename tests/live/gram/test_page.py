"""docs/gram.md, word by word."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.live.site import PLAIN_PATH, ROOT, copy_of_the_source

pytestmark = pytest.mark.long

NOWHERE_ELSE = """
set -eu
mount --make-rprivate /
mount -t tmpfs none {apart}
for place in etc home root usr var; do
    mkdir -p {apart}/$place/upper {apart}/$place/work
    mount -t overlay none -o lowerdir=/$place,upperdir={apart}/$place/upper,workdir={apart}/$place/work /$place
done
mount -t tmpfs none /run
mkdir -p /run/lock
rm -rf /etc/jim /var/lib/jim /usr/local/libexec/jim
rm -rf /etc/grid-security/certificates /etc/grid-services/jobmanager* /etc/grid-services/available/jobmanager-samgrid
"""


@pytest.mark.parametrize("libraries", ["own", "system"])
def test_the_page_leads_from_nothing_to_a_first_job(lab, libraries, tmp_path):
    """Its commands, word by word, where nothing of them stays: mounts, network and processes of their own."""
    lab("gram")  # for the packages
    page = (ROOT / "docs/gram.md").read_text()
    chapter = page.partition("## From nothing to a first job\n")[2].partition("\n## ")[0]
    install, *blocks = re.findall(r"```sh\n(.*?)```", chapter, re.DOTALL)
    assert len(blocks) == 5
    if libraries == "own":
        assert " LIBRARIES=system\n" in install
        install = install.replace(" LIBRARIES=system\n", "\n")
    for name in ("bin", "apart"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin/apt-get").symlink_to("/bin/true")  # the packages are there
    copy = copy_of_the_source(tmp_path / "copy")
    alone = tmp_path / "alone"
    alone.write_text("set -eu\nip link set lo up\n" + "".join(blocks))
    script, apart = tmp_path / "script", NOWHERE_ELSE.format(apart=tmp_path / "apart")
    script.write_text(f"{apart}cd {copy}\n{install}rm -r {copy}\nexec unshare --net sh {alone}")
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", str(script)],
        env={"PATH": f"{tmp_path}/bin:{PLAIN_PATH}", "HOME": "/root", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("hello\n") == 2
    assert not Path("/home/mc").exists()
