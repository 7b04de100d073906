"""docs/gram.md, word by word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.pasting import Page

pytestmark = pytest.mark.long

NO_GATEKEEPER = """
mkdir -p /run/lock
rm -rf /etc/grid-security/certificates /etc/grid-services/jobmanager* /etc/grid-services/available/jobmanager-samgrid
"""


@pytest.mark.parametrize("libraries", ["own", "system"])
def test_the_page_leads_from_nothing_to_a_first_job(lab, libraries, tmp_path):
    lab("gram")  # for the packages
    page = Page("gram.md", tmp_path)
    assert len(page.blocks) == 5
    if libraries == "own":
        assert " LIBRARIES=system\n" in page.install
        page.install = page.install.replace(" LIBRARIES=system\n", "\n")
    assert page.paste(NO_GATEKEEPER).count("hello\n") == 2
    assert not Path("/home/mc").exists()
