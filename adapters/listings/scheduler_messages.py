"""Reads why jobs wait from Grid Engine's `qstat -xml -j`: the last words of its scheduler, of all jobs at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.parsers import expat
from xml.sax.saxutils import unescape

MESSAGE = re.compile(
    r"<element>\s*(?:<MES_job_number_list>(?P<jobs>.*?)</MES_job_number_list>\s*)?"
    r"<MES_message_number>(?P<number>[0-9]+)</MES_message_number>\s*<MES_message>(?P<words>[^<]*)</MES_message>",
    re.DOTALL,
)
JOB = re.compile(r"<ULNG_value>([0-9]+)</ULNG_value>")
NAMED = re.compile(r'"[^"]*"')
SAYS_NOTHING = {"83", "90"}  # collecting these words is turned off; there are none


def read(text: str) -> dict[str, str]:
    """Return the words of each batch id, and under "" those that hold for all other jobs; or raise ValueError."""
    text = text[max(0, text.find("<?xml")) :]
    if "<message" not in text or "<!" in text:  # no document type, so no entities
        raise ValueError(text)
    try:
        expat.ParserCreate().Parse(text, True)  # the parser proves that the XML is whole
    except expat.ExpatError as error:
        raise ValueError(text) from error
    words: dict[str, list[str]] = {}
    for each in MESSAGE.finditer(text):
        for batch_id in JOB.findall(each["jobs"] or "") or [""]:
            if each["number"] not in SAYS_NOTHING:
                words.setdefault(batch_id, []).append(unescape(each["words"], {"&quot;": '"', "&apos;": "'"}))
    return {batch_id: _together(messages) for batch_id, messages in words.items()}


def _together(messages: Iterable[str]) -> str:
    """Join messages; those that differ only in the name of a queue are told once, with their number."""
    alike: dict[str, list[str]] = {}
    for each in messages:
        alike.setdefault(NAMED.sub("…", each), []).append(each)
    return "; ".join(told[0] if len(told) == 1 else f"{form} ({len(told)} times)" for form, told in alike.items())
