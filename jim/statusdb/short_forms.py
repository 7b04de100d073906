"""The short forms of exit records and of lines of the journal, in any database.

An exit record is deflated, with a dictionary of what most records have in common. In the journal, a time is
milliseconds since 1970, and a known word is its place in `WORDS`; both are digits, which no other word of the journal
is.
"""

from __future__ import annotations

import time
from datetime import datetime

# The numbers belong to the format: words are only added at the end.
WORDS = (
    *("waiting", "submitting", "submitted", "running", "completing", "completed", "failed", "killed", "held"),
    *("suspended", "new", "completed_frozen", "failed_frozen"),
    *("exit record", "claim", "accounting", "queue", "fence", "submission", "user", "keeper"),
)
_CODES = {word: str(code) for code, word in enumerate(WORDS)}
_WORDS = {code: word for word, code in _CODES.items()}

# The dictionary belongs to the format: a store can be read only with the dictionary that it was written with. What
# most records end with stands at its end.
_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # the SHA-256 of an empty file
DICTIONARY = f"""\
failed killed signal 9 15 from the batch system no such file or directory
missing refused {_NOTHING} .tar .gz .json .txt .dat .root .log output.log
file 1234567890abcdef jim-exit 1
mark jim-00000000-1
index 1
nonce 0123456789abcdef
n 1
attempt 1
host node001.wn.
batch 12345
started 2026-01-31T12:00:00Z
ended 2026-01-31T13:59:59Z
cpu 0.01
up 1.23
code 0
signal -
reason -
recovery -
file 0 {_NOTHING} stdout
file 0 {_NOTHING} stderr
end
""".encode()
# A small window and little memory: to make ready for the default ones takes four times as long as to deflate.
_LEVEL, _WINDOW, _MEMORY = 6, -12, 4


def packed(record: str) -> bytes | str:
    """Return an exit record as the store keeps it; no record stays empty text."""
    if not record:
        return ""
    content = record.encode(errors="backslashreplace")
    import zlib  # whoever only lists grid jobs needs it not

    packing = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
    return packing.compress(content) + packing.flush()


def unpacked(stored: bytes | str) -> str:
    """Return an exit record as the wrapper wrote it; a format of before has text."""
    if isinstance(stored, str):
        return stored
    import zlib

    return zlib.decompressobj(_WINDOW, DICTIONARY).decompress(stored).decode()


def code(word: str) -> str:
    """Return a word of the journal as the store keeps it."""
    return _CODES.get(word, word)


def word(stored: str) -> str:
    """Return a word of the journal as people read it; a format of before has only these."""
    return _WORDS.get(stored, stored)


def moment_code(at: str) -> str:
    """Return a time of `Clock.utc` as the journal keeps it."""
    try:
        milliseconds = str(round(datetime.fromisoformat(at).timestamp() * 1000))
    except ValueError:
        return at
    return milliseconds if moment(milliseconds) == at else at


def moment(stored: str) -> str:
    """Return a time of the journal as people read it."""
    if not stored.isdigit():
        return stored
    seconds, rest = divmod(int(stored), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"
