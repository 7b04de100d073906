"""A machine of its own for each test, with neither site file nor batch system."""

import argparse

import pytest

from jim.admin import check, init
from jim.cli import site_verbs
from jim.site import file as site_file
from jim.site import whose


@pytest.fixture
def own_machine(tmp_path, monkeypatch):
    """A machine whose managed place is in the temporary directory, without batch systems."""
    for name in ("JIM_SITE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(site_file, "MANAGED_FILE", tmp_path / "etc/jim/site.toml")
    monkeypatch.setattr(site_file, "MANAGED_STATE", tmp_path / "var/lib/jim")
    monkeypatch.setattr(init.shutil, "which", lambda name: None)
    monkeypatch.setattr(init.socket, "gethostname", lambda: "head1")
    monkeypatch.setattr(init.os, "cpu_count", lambda: 12)
    monkeypatch.setattr(init, "OWN", str(tmp_path / "home"))  # nobody's home directory is looked into
    for module in (init, whose, check):
        monkeypatch.setattr(module, "ROOT", -1)  # the tests may be root's


@pytest.fixture
def jim_site():
    def run(*words):
        parser = argparse.ArgumentParser()
        site_verbs.add_arguments(parser)
        return site_verbs.run(parser.parse_args(words))

    return run


@pytest.fixture
def managed(monkeypatch):
    monkeypatch.delenv("JIM_STATE")
    monkeypatch.setattr(site_verbs, "_is_root", lambda: True)
