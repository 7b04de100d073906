"""Which machines the tests run on."""

from types import SimpleNamespace

import pytest

from tests import conftest


@pytest.mark.parametrize("part", ["quick", "more"])
def test_a_machine_with_a_site_is_refused(tmp_path, monkeypatch, part):
    """There, 121 of 837 tests of the command line failed, and one hung."""
    file = tmp_path / "site.toml"
    monkeypatch.setattr("jim.site.file.MANAGED_FILE", file)
    config = SimpleNamespace(getoption=lambda name: part if name == "--part" else "")
    conftest.pytest_configure(config)
    file.touch()
    with pytest.raises(pytest.exit.Exception, match=r"site\.toml is there, and each JIM"):
        conftest.pytest_configure(config)
    conftest.pytest_configure(SimpleNamespace(getoption=lambda _: None))
