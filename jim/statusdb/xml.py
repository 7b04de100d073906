"""The status DB's face in XML."""

from __future__ import annotations

import re

from lxml import etree

from jim.errors import JimError

NAMESPACE = "urn:jim:status:1"
DEEPEST = 32


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True)


def fragment(text: str) -> str:
    """Turn what a payload published into an XML element: its own, or one made of a phase line."""
    phase = re.fullmatch(r"phase ([\w-]{1,40}) (\d{1,15}) (\d{1,15}) (\S{1,40})\n?", text, re.ASCII)
    if phase:
        element = etree.Element("phase", name=phase[1], done=phase[2], total=phase[3], unit=phase[4])
        return etree.tostring(element, encoding="unicode")
    if "<!" in text.replace("<![CDATA[", "").replace("<!--", ""):
        raise JimError("a document type or entity is not accepted")
    try:
        element = etree.fromstring(text.encode(), _parser())
    except etree.XMLSyntaxError as error:
        raise JimError(f"no XML: {error}") from error
    return etree.tostring(element, encoding="unicode")
