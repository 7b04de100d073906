import pytest

from jim.admin import gram_service
from tests.doors.place import Place


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.close()


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Make the directories of GRAM's packages, below another root."""
    monkeypatch.setenv("JIM_STATE", str(tmp_path / "state"))
    root = tmp_path / "root"
    for each in (gram_service.PERL, gram_service.RVF, gram_service.AVAILABLE / "x", gram_service.SCRIPT):
        (root / each).parent.mkdir(parents=True, exist_ok=True)
    (root / gram_service.SCRIPT).touch()
    return root
