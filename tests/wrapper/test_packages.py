"""The wrapper under every shell: packages are unpacked once."""

from pathlib import Path

from tests.wrapper.worker import Site, pack, sh


def test_wrappers_unpack_once(site: Site) -> None:
    place = pack(site)
    for index in range(1, 6):
        site.jobs(*sh('cat "$JIM_INPUT/sub/data.txt" input/sub/data.txt; echo "$JIM_INPUT"'), index=index)
    assert [process.wait(30) for process in [site.start(index) for index in range(1, 6)]] == [0] * 5
    [unpacked] = place.glob("unpacked.*")
    assert (place / "ready").read_text() == f"{unpacked.name}\n"
    assert not list(place.glob("ready.*"))
    for index in range(1, 6):
        where = f"{site.here.parent}/package/{unpacked.name}"
        assert site.file(f"run.{index}/stdout") == f"hello\nhello\n{where}\n"


def test_a_package_that_is_ready_is_not_unpacked(site: Site) -> None:
    place = pack(site)
    site.fake("tar", "exit 9")
    (place / "unpacked.x").mkdir()
    (place / "ready").write_text("unpacked.x\n")
    site.jobs(*sh('echo "$JIM_INPUT"'))
    assert site.run() == 0
    assert site.file("run.1/stdout") == f"{site.here.parent}/package/unpacked.x\n"
    assert (site.here / "run.1" / "input").readlink() == Path("../../package/unpacked.x")


def test_a_broken_package(site: Site) -> None:
    place = pack(site)
    (place / "package.tar").write_text("no tar\n" * 999)
    site.jobs("/bin/true")
    assert site.run() == 72
    assert "unpack" in site.file("log.1")
    assert {path.name for path in place.iterdir()} == {"package.tar"}
