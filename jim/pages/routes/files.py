"""Logs, outputs, results and documents: content that is read from the disk, or too large for a page."""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from flask import Flask, Response, g, request
from werkzeug.wsgi import wrap_file

from jim.errors import BadRequest, UnknownJob
from jim.jobs import Attempt
from jim.pages.addresses import in_full
from jim.pages.admission import require_look
from jim.pages.app import Pages, require_no_filter
from jim.pages.made import XML, Made
from jim.pages.marks import OFTEN
from jim.pages.refusals import Refused
from jim.reading.documents import files
from jim.reading.documents.files import Found, Part
from jim.reading.documents.xml_documents import Of, written
from jim.reading.slow_disks import Patience
from jim.reading.view import View

LOG_BYTES, MOST_LOG_BYTES = 64 * 1024, 1024 * 1024
MEMBERS = 100
MOST_ATTEMPTS = 20  # the last ones, which the page of a log links
DOCUMENT_SECONDS = 300.0
BLOCK = 64 * 1024
SENDING_SECONDS = 1.0
LOGS = ("stdout", "stderr", "log")
CONTINUES = 0x80  # the highest bits of the other bytes of a character in UTF-8


def add(app: Flask, pages: Pages) -> None:
    """Add the pages."""
    pages.add(app, "/jobs/<G>/<N>/log/<name>", log, "html", files=_logs, seconds=OFTEN)
    pages.add(app, "/jobs/<G>/result", result, "html", seconds=OFTEN)
    for rule, make in (
        ("/jobs/<G>/<N>/output/<path:name>", output),
        ("/jobs/<G>/result/tar", tar),
        ("/jobs/<G>/result/beside/<name>", beside),
        ("/jobs/<G>/result/picture/<name>", picture),
    ):
        app.add_url_rule(in_full(rule), make.__name__, _with(pages, make))


def _with(pages: Pages, make: Any) -> Any:
    def serve(**names: Any) -> Response:
        require_look()
        require_no_filter()
        response: Response = make(pages, **names)
        return response

    return serve


# Logs


def log(pages: Pages, view: View, kind: str, number: int, n: int, name: str) -> Made:
    """Show a part of a log: its end, or a part that begins at a byte."""
    require_look()
    if name not in LOGS:
        raise UnknownJob(f"there is no log {name!r}: say stdout, stderr or log")
    job, local = view.grid_job(number), view.store.local_job(number, n)
    attempts = view.store.attempts(number, n=n)
    attempt = _attempt(attempts, _number("attempt", len(attempts)) or 0, f"{number}.{n}")
    begin, most = _number("from", None), _number("bytes", LOG_BYTES) or 0
    part = files.read_log(view, attempt, name, begin, min(MOST_LOG_BYTES, most), LOG_BYTES)
    if part.begin > part.size:
        raise files.Gone(f"{name} has {part.size:,} bytes by now, and was longer")
    begin, end, text = _whole_characters(part)
    shown = {"log": name, "begin": begin, "end": end, "size": part.size, "step": LOG_BYTES}
    facts = {
        "job": job,
        "local": local,
        "attempt": attempt,
        "attempts": attempts[-MOST_ATTEMPTS:],
        "names": list(files.sizes(view, [attempt])[0]),
        **shown,
    }
    return pages.html(view, "log.html", text=text, **facts)


def _logs(view: View, number: int, n: int, name: str) -> list[Path]:
    """Return the logs of this name of the last attempts, one of which the page of a log shows."""
    require_look()
    latest = view.store.attempts(number, n=n)[-MOST_ATTEMPTS:]
    return [found[name] for each in latest if name in (found := files.log_files(view, each))]


def _whole_characters(part: Part) -> tuple[int, int, str]:
    """Return where a part of a log begins and ends, and its text, without characters that another part shares."""
    begin, content = part.begin, part.content
    while part.begin and begin < part.begin + 3 and content[:1] and content[0] & 0xC0 == CONTINUES:
        begin, content = begin + 1, content[1:]
    decoder = getincrementaldecoder("utf-8")("backslashreplace")
    text = decoder.decode(content, final=begin + len(content) == part.size)
    return begin, begin + len(content) - len(decoder.getstate()[0]), text


def _number(name: str, default: int | None) -> int | None:
    unknown = set(request.args) - {"from", "attempt", "bytes"}
    if unknown:
        raise BadRequest(f"unknown filter {min(unknown)!r} (known: attempt, bytes, from)")
    text = request.args.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise BadRequest(f"{name} cannot be {text[:80]!r}: expected a number")
    return int(text)


def _attempt(attempts: list[Attempt], wanted: int, local: str) -> Attempt:
    for attempt in attempts:
        if attempt.attempt == wanted:
            return attempt
    if not attempts:
        raise UnknownJob(f"{local} has not been sent yet, so there are no logs")
    raise UnknownJob(f"there is no attempt {wanted} of {local}; it had {len(attempts)}")


# Downloads


def output(pages: Pages, number: int, n: int, name: str) -> Response:
    """Send an output of a completed local job."""
    with pages.viewing() as view:
        job, local = view.grid_job(number), view.store.local_job(number, n)
        found = files.open_output(view, job, local, name)
    return download(found, name.rpartition("/")[2])


def result(pages: Pages, view: View, kind: str, number: int) -> Made:
    """Show the result of a grid job: pictures, and the members of the tar."""
    require_look()
    job = view.grid_job(number)
    unknown = set(request.args) - {"after"}
    after = request.args.get("after", "0")
    if unknown or not after.isascii() or not after.isdecimal() or len(after) > 18:
        raise BadRequest("the result takes after, a place in the tar, and nothing else")
    listed, last = files.members(view, job, int(after), MEMBERS)
    facts = {"job": job, "members": listed, "after": last, "first": after == "0"}
    return pages.html(view, "result.html", pictures=files.pictures(view, job), **facts)


def tar(pages: Pages, number: int) -> Response:
    """Send the tar of a grid job."""
    with pages.viewing() as view:
        return download(files.open_result(view, view.grid_job(number)), f"{number}.tar")


def beside(pages: Pages, number: int, name: str) -> Response:
    """Send a file that the job type has put beside the tar."""
    with pages.viewing() as view:
        return download(files.open_beside(view, view.grid_job(number), name), name)


def picture(pages: Pages, number: int, name: str) -> Response:
    """Show a picture that the job type has put beside the tar."""
    with pages.viewing() as view:
        job = view.grid_job(number)
        kind = files.picture_kind(view, job, name)
        if not kind:
            raise UnknownJob(f"{name} is no picture that is shown: PNG or JPEG, of 10 MB at most")
        found = files.open_beside(view, job, name)
    response = download(found, name)
    response.content_type = kind
    response.headers["Content-Disposition"] = "inline"
    return response


def download(found: Found, name: str) -> Response:
    """Send a part of a file as a download, or the range of it that is asked for."""
    tag = _tag(found)
    begin, end = _range(found, tag)
    response = sent(Found(found.file, found.begin + begin, end - begin), name)
    response.headers["Accept-Ranges"], response.headers["ETag"] = "bytes", tag
    if end - begin < found.size:
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {begin}-{end - 1}/{found.size}"
    return response


def _tag(found: Found) -> str:
    """Return a text that differs if the file was replaced or changed: the rest of another file must not be sent."""
    about = os.fstat(found.file.fileno())
    told = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, found.begin, found.size
    return f'"{sha256(str(told).encode()).hexdigest()[:32]}"'


def _range(found: Found, tag: str) -> tuple[int, int]:
    """Return the bytes that are asked for; several ranges, and those of another version of the file, mean all."""
    wanted = request.range
    if wanted is None or len(wanted.ranges) != 1 or wanted.units != "bytes":
        return 0, found.size
    if request.headers.get("If-Range", tag) != tag:
        return 0, found.size
    begin, end = wanted.range_for_length(found.size) or (0, 0)
    if begin >= end:
        found.file.close()
        raise Refused(416, "the file is shorter than that", **{"Content-Range": f"bytes */{found.size}"})
    return begin, end


def sent(found: Found, name: str) -> Response:
    """Send a part of a file; waitress sends it gradually, without a thread."""
    file = Sent(found)
    streamed = "wsgi.file_wrapper" in request.environ
    body: Any = wrap_file(request.environ, file, BLOCK) if streamed else _blocks(file)  # type: ignore[arg-type]
    response = Response(body, content_type="application/octet-stream", direct_passthrough=streamed)
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name, safe='', errors='replace')}"
    response.headers["Content-Length"] = str(found.size)
    return response


def _blocks(file: Sent) -> Iterator[bytes]:
    with closing(file):
        yield from iter(partial(file.read, BLOCK), b"")


class Sent:
    """A part of a file that waitress sends by and by from its only loop, so that no read may take long."""

    disk = Patience(SENDING_SECONDS)  # of all downloads

    def __init__(self, found: Found) -> None:
        self._file, self._begin, self._at, self._size = found.file, found.begin, 0, found.size

    def read(self, size: int) -> bytes:
        """Read the next bytes; if the disk hangs, the download ends, and its length tells the reader so."""
        count = min(size, self._size - self._at)
        content = self.disk(partial(os.pread, self._file.fileno(), count, self._begin + self._at)) if count else b""
        self._at += len(content)
        return content

    def seek(self, to: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position in the part."""
        self._at = self._size + to if whence == os.SEEK_END else to
        return self._at

    def tell(self) -> int:
        """Return the position in the part."""
        return self._at

    def close(self) -> None:
        """Close the file."""
        self._file.close()


# Documents


@contextmanager
def place(pages: Pages) -> Iterator[None]:
    """Hold one of the few places for large documents."""
    client = g.client
    if not pages.large.begin(client):
        raise Refused(429, "other large documents are being made; try again in a while", **{"Retry-After": "5"})
    try:
        yield
    finally:
        pages.large.end(client)


def document(pages: Pages, number: int | None = None, task: str = "") -> Response:
    """Send the document of a grid job, of a task, or that of the site."""
    require_no_filter()
    of = Of(task=task) if number is None else Of((number,))
    with place(pages), pages.viewing(DOCUMENT_SECONDS) as view:
        file = written(view, of)
    return send_xml(file)


def send_xml(file: IO[bytes]) -> Response:
    """Send a whole file as XML."""
    response = sent(Found(file, 0, file.tell()), "document.xml")
    response.content_type = XML
    del response.headers["Content-Disposition"]
    return response
