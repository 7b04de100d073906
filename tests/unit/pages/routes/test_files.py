"""Logs, outputs and results: bounded, the right file or none, and never run."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from jim.model import State, Step
from tests.unit.pages.browser import Person
from tests.unit.pages.grounds import Ground, png, record

SHA = "0" * 64


@pytest.fixture
def done(ground: Ground) -> Ground:
    """Local job 1.0 has completed, with outputs; 1.1 has failed at first and runs again; 1.2 waits."""
    ground.add(1, 3, 600)
    mark = ground.send(1, 1, range(2), 500)
    told = record(mark, 1, 0, 1, "wn1", ground.now - 400, 60, 0)
    told = told.replace("end\n", f"file 5 {SHA} stdout\nfile 7 {SHA} out/z.dat\nend\n")
    started = "2026-01-31T11:00:00Z"
    ground.store.set_attempt(1, 1, 1, host="wn1", started=started, verdict="completed", record=told)
    ground.store.set_local_job(1, 0, state=State.COMPLETED)
    bad = told.replace("n 0\n", "n 1\n")
    ground.store.set_attempt(1, 1, 2, host="wn2", started=started, verdict="again", record=bad, reason="exit 3")
    ground.store.set_local_job(1, 1, state=State.RUNNING)
    ground.leave(1, 1, 1, "stdout", b"hello")
    ground.leave(1, 1, 1, "out/z.dat", b"7 bytes")
    ground.leave(1, 1, 2, "stdout", b"again")
    ground.leave(1, 1, 2, "out/z.dat", b"7 bytes")
    return ground


def test_a_log_is_shown_with_where_it_was_written(done: Ground, person: Person) -> None:
    page = person.page("/jobs/1/0/log/stdout")
    assert "hello" in page.text
    assert "Bytes 0 to 5 of 5, written on wn1" in page.text
    assert "/jobs/1/0/log/stdout?attempt=1" in person.page("/jobs/1/0").links()


def test_a_log_is_shown_in_parts(done: Ground, person: Person) -> None:
    path = done.leave(1, 1, 2, "stdout", b"")
    with path.open("wb") as file:  # 5 GB, of which the disk has nothing but the end
        file.truncate(5_000_000_000)
        file.seek(5_000_000_000)
        file.write(b"the end\n")
    page = person.page("/jobs/1/1/log/stdout")
    assert "Bytes 4,999,934,472 to 5,000,000,008 of 5,000,000,008" in page.text
    assert "the end" in page.text
    assert "/jobs/1/1/log/stdout?attempt=1&from=4999868936" in page.links()
    assert "Bytes 4,999,999,998 to 5,000,000,008" in person.page("/jobs/1/1/log/stdout?from=4999999998").text
    assert len(person.get("/jobs/1/1/log/stdout?from=0&bytes=99999999").data) < 20 * 1024 * 1024


def test_no_part_of_a_log_cuts_a_character(done: Ground, person: Person) -> None:
    done.leave(1, 1, 2, "stdout", "aé€😀".encode() * 10)  # of 1, 2, 3 and 4 bytes
    path, at, seen = "/jobs/1/1/log/stdout", 0, ""
    while at < 100:
        page = person.page(f"{path}?from={at}&bytes=7")
        begin, end = map(int, re.search(r"Bytes (\d+) to (\d+) of 100", page.text).groups())  # type: ignore[union-attr]
        assert (begin, end > at) == (at, True)
        seen += re.search(r"<pre[^>]*>([^<]*)</pre>", page.html)[1]  # type: ignore[index]
        at = end
    assert seen == "aé€😀" * 10
    assert "Bytes 10 to 20 of 100" in person.page(f"{path}?from=8&bytes=12").text
    done.leave(1, 1, 2, "stdout", b"\x80\x81\x82\x83\xff" * 3)
    assert "\\x80\\x81\\x82\\x83\\xff" in person.page(f"{path}?from=0&bytes=5").text
    assert "Bytes 9 to 15 of 15" in person.page(f"{path}?from=6").text


def test_a_log_that_grows_is_truncated_or_replaced(done: Ground, person: Person) -> None:
    path = done.leave(1, 1, 2, "stdout", b"one\n")
    with path.open("ab") as file:
        file.write(b"two\n")
    assert "one two" in person.page("/jobs/1/1/log/stdout").text
    path.write_bytes(b"x")
    answer = person.get("/jobs/1/1/log/stdout?from=8")
    assert answer.status_code == 410
    assert "was longer" in answer.text
    path.unlink()
    assert person.get("/jobs/1/1/log/stdout").status_code == 410
    path.symlink_to("/etc/passwd")
    answer = person.get("/jobs/1/1/log/stdout")
    assert answer.status_code == 410
    assert "root" not in answer.text
    path.unlink()
    os.mkfifo(path)
    assert person.get("/jobs/1/1/log/stdout").status_code == 410


def test_a_link_on_the_way_is_not_followed(done: Ground, person: Person, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "stdout").write_text("secret")
    place = done.site.work / "1/s1/run.2"
    place.rename(place.with_name("away"))
    place.symlink_to(elsewhere)
    answer = person.get("/jobs/1/1/log/stdout")
    assert answer.status_code in (410, 503)
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/jobs/1/0/log/exit.1", 404),
        ("/jobs/1/0/log/../stdout", 404),
        ("/jobs/1/0/log/stdout?attempt=2", 404),
        ("/jobs/1/2/log/stdout", 404),
        ("/jobs/1/0/log/stdout?from=-1", 400),
        ("/jobs/1/0/log/stdout?from=x", 400),
        ("/jobs/1/0/log/stdout?to=1", 400),
        ("/jobs/1/9/log/stdout", 404),
        ("/jobs/2/0/log/stdout", 404),
    ],
)
def test_only_logs_are_shown_as_logs(done: Ground, person: Person, path: str, status: int) -> None:
    assert person.get(path).status_code == status


# Outputs


def test_an_output_is_the_same_before_and_after_the_tar(done: Ground, person: Person) -> None:
    assert "/jobs/1/0/output/out/z.dat" in person.page("/jobs/1/0").links()
    before = person.get("/jobs/1/0/output/out/z.dat")
    assert (before.status_code, before.data) == (200, b"7 bytes")
    assert before.headers["Content-Disposition"] == "attachment; filename*=UTF-8''z.dat"
    assert before.headers["Content-Length"] == "7"
    done.collect(1, {"summary.json": b"{}", "1.0/stdout": b"hello", "1.0/out/z.dat": b"7 bytes"})
    done.store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    assert person.get("/jobs/1/0/output/out/z.dat").data == b"7 bytes"
    for path in (done.site.work / "1/s1").rglob("z.dat"):
        path.unlink()
    after = person.get("/jobs/1/0/output/out/z.dat")
    assert (after.status_code, after.data, after.headers["Content-Length"]) == (200, b"7 bytes", "7")


def test_an_output_that_the_tar_has_with_a_stem_is_found_by_its_own_name(done: Ground, person: Person) -> None:
    """Neither another local job's nor another size is taken for it; its own name counts more."""
    others = {"1.1/out/z_13669_0000.dat": b"1 bytes", "1.0/out/z_13669_0001.dat": b"2 bytes"}
    done.collect(1, {"summary.json": b"{}", **others, "1.0/out/z_13669_0000.dat": b"7 bytes"})
    shutil.rmtree(done.site.work / "1/s1")
    assert person.get("/jobs/1/0/output/out/z.dat").data == b"7 bytes"
    done.collect(1, {"1.0/out/z_13669_0000.dat": b"a other", "1.0/out/z.dat": b"7 bytes"})
    assert person.get("/jobs/1/0/output/out/z.dat").data == b"7 bytes"


@pytest.mark.parametrize("path", ["/jobs/1/1/output/out/z.dat", "/jobs/1/2/output/stdout", "/jobs/1/0/output/other"])
def test_what_is_no_output_of_a_completed_local_job_is_not_there(done: Ground, person: Person, path: str) -> None:
    assert person.get(path).status_code == 404


def test_an_output_that_is_another_file_now_is_gone(done: Ground, person: Person) -> None:
    done.leave(1, 1, 1, "out/z.dat", b"longer than before")
    answer = person.get("/jobs/1/0/output/out/z.dat")
    assert answer.status_code == 410
    assert "18 bytes, and 7 when it was verified" in answer.text


# The result


def finished(ground: Ground, files: dict[str, bytes], beside: dict[str, bytes]) -> Path:
    tar = ground.collect(1, files, beside)
    ground.store.set_grid_job(1, step=Step.FINISHED, outcome="completed")
    return tar


def test_the_members_of_a_tar_are_listed_whatever_they_are_called(done: Ground, person: Person) -> None:
    names = ["../../x", "/etc/passwd", "<script>", *(f"1.{n}/file" for n in range(250))]
    finished(done, dict.fromkeys(names, b"x" * 700), {})
    page, found = person.page("/jobs/1/result"), []
    while True:
        found += [row[1].strip() for row in page.rows[1:]]
        following = [link for link in page.links() if "after=" in link]
        if not following:
            break
        page = person.page(following[0])
    assert found == names
    assert not (done.site.work.parent / "x").exists()
    for odd in ("1", "511", "999999999999", "x", "-512"):
        assert person.get(f"/jobs/1/result?after={odd}").status_code in (400, 404), odd


def bytes_read() -> int:
    """Count what this process has read so far."""
    return int(re.search(r"rchar: (\d+)", Path("/proc/self/io").read_text())[1])  # type: ignore[index]


def test_of_a_hundred_thousand_members_a_page_reads_only_its_own(done: Ground, person: Person) -> None:
    tar = finished(done, {f"1.{n}/z": b"" for n in range(100_000)}, {})
    begin, size = 99_950 * 512, tar.stat().st_size
    for path, first, last in (("", 0, 100), (f"?after={begin}", 99_950, 100_000)):
        before = bytes_read()
        page = person.page(f"/jobs/1/result{path}")
        assert bytes_read() - before < size / 10
        assert [row[1].strip() for row in page.rows[1:]] == [f"1.{n}/z" for n in range(first, last)]
    assert [each for each in page.links() if "after=" in each] == []


def test_what_is_no_file_in_a_tar_is_listed_and_nothing_is_written(done: Ground, person: Person) -> None:
    tar = finished(done, {}, {})
    with tarfile.open(tar, "w", format=tarfile.PAX_FORMAT) as made:
        for name, kind, to in (
            ("link", tarfile.SYMTYPE, "/etc/passwd"),
            ("hard", tarfile.LNKTYPE, "../../owner"),
            ("pipe", tarfile.FIFOTYPE, ""),
            ("device", tarfile.CHRTYPE, ""),
            ("directory", tarfile.DIRTYPE, ""),
            ("n" * 300, tarfile.REGTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, to
            made.addfile(member)
    before = sorted(done.site.work.rglob("*"))
    page = person.page("/jobs/1/result")
    assert [row[1].strip() for row in page.rows[1:]] == ["link", "hard", "pipe", "device", "directory", "n" * 300]
    assert "root:" not in page.text
    assert sorted(done.site.work.rglob("*")) == before


def test_the_tar_is_sent_whole_and_in_ranges(done: Ground, person: Person) -> None:
    content = finished(done, {"1.0/z": bytes(range(256)) * 10}, {}).read_bytes()
    whole = person.get("/jobs/1/result/tar")
    assert (whole.status_code, whole.data) == (200, content)
    assert whole.headers["Content-Disposition"] == "attachment; filename*=UTF-8''1.tar"
    for wanted, begin, end in (
        ("bytes=0-9", 0, 10),
        ("bytes=600-", 600, len(content)),
        ("bytes=-5", len(content) - 5, None),
    ):
        part = person.get("/jobs/1/result/tar", Range=wanted)
        assert (part.status_code, part.data) == (206, content[begin:end]), wanted
        assert part.headers["Content-Range"].endswith(f"/{len(content)}")
    assert person.get("/jobs/1/result/tar", Range=f"bytes={len(content)}-").status_code == 416


def test_every_download_is_sent_in_ranges_of_one_version_of_its_file(done: Ground, person: Person) -> None:
    tar = finished(done, {"1.0/z": bytes(2000)}, {"y.txt": b"0123456789"})
    done.leave(1, 1, 1, "out/z.dat", b"7 bytes")
    for path, size in (
        ("/jobs/1/result/tar", tar.stat().st_size),
        ("/jobs/1/result/beside/y.txt", 10),
        ("/jobs/1/0/output/out/z.dat", 7),
    ):
        whole = person.get(path)
        tag = whole.headers["ETag"]
        assert (whole.headers["Accept-Ranges"], len(whole.data)) == ("bytes", size), path
        part = person.get(path, Range="bytes=2-4", If_Range=tag)
        assert (part.status_code, part.data, part.headers["ETag"]) == (206, whole.data[2:5], tag), path
        assert part.headers["Content-Range"] == f"bytes 2-4/{size}"
        assert person.get(path, Range="bytes=2-4", If_Range='"another"').data == whole.data, path
        for odd in ("bytes=5-2", "bytes=0-0,2-3", "items=0-3", "bytes=a-b", "0-3", f"bytes=0-{10**20}"):
            answer = person.get(path, Range=odd)
            assert (answer.status_code, answer.data) == (200, whole.data), (path, odd)
        beyond = person.get(path, Range=f"bytes={size}-")
        assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{size}"), path
    tag = person.get("/jobs/1/result/tar").headers["ETag"]
    other = finished(done, {"1.0/z": b"\1" * 2000}, {"y.txt": b"0123456789"}).read_bytes()
    assert person.get("/jobs/1/result/tar", Range="bytes=600-", If_Range=tag).data == other, (
        "not the rest of another tar"
    )
    assert "Accept-Ranges" not in person.get("/jobs/1.xml").headers


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08" + bytes(700), b"", b"x" * 512])
def test_what_is_no_tar_any_more_is_told(done: Ground, person: Person, content: bytes) -> None:
    """Somebody has compressed it, for example."""
    finished(done, {"1.0/z": b"x"}, {}).write_bytes(content)
    answer = person.get("/jobs/1/result")
    assert answer.status_code in (200, 410) if not content else answer.status_code == 410
    assert person.get("/jobs/1/result/tar").data == content


def test_a_picture_is_shown_and_all_else_is_a_download(done: Ground, person: Person) -> None:
    beside = {"mass.png": png(8, 8), "lies.png": b"<html>", "x.svg": b"<svg onload='alert(1)'/>", "x.html": b"<script>"}
    finished(done, {}, beside)
    page = person.page("/jobs/1/result")
    assert [each["src"] for each in page.all("img")] == ["/jobs/1/result/picture/mass.png"]
    shown = person.get("/jobs/1/result/picture/mass.png")
    assert (shown.status_code, shown.content_type, shown.data) == (200, "image/png", beside["mass.png"])
    for name, content in beside.items():
        answer = person.get(f"/jobs/1/result/beside/{name}")
        assert (answer.content_type, answer.data) == ("application/octet-stream", content)
        assert answer.headers["Content-Disposition"].startswith("attachment; ")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    for name in ("lies.png", "x.svg", "x.html", "1.tar", "../owner"):
        assert person.get(f"/jobs/1/result/picture/{name}").status_code == 404, name


def test_a_result_that_is_not_there(done: Ground, person: Person) -> None:
    assert person.get("/jobs/1/result").status_code == 404
    tar = finished(done, {"x": b"x"}, {})
    tar.write_bytes(b"nonsense" * 100)
    assert person.get("/jobs/1/result").status_code == 410
    tar.unlink()
    for path in ("/jobs/1/result", "/jobs/1/result/tar"):
        assert person.get(path).status_code == 410


def test_a_document_is_sent_with_its_length(done: Ground, person: Person) -> None:
    answer = person.get("/jobs/1.xml")
    assert answer.content_type == "application/xml"
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    assert len(re.findall(rb"<jim:local_job ", answer.data)) == 3
    assert b'<jim:attempt number="1"' in person.get("/jobs/1/0.xml").data


def test_a_document_while_the_disk_is_nearly_full(
    done: Ground, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jim.reading.documents.xml_documents.LEAST_FREE", 10**18)
    answer = person.get("/jobs/1.xml")
    assert answer.status_code == 503
    assert "nearly full" in answer.text
    assert person.pages.large.begin("x"), "its place is free again"
