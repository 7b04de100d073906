"""What payloads publish: what is kept, and what is refused."""

import pytest

from jim.errors import JimError
from jim.statusdb.documents.xml import NAMESPACE, fragment


def with_attributes(count):
    return "<a " + " ".join(f'b{n}="{n}"' for n in range(count)) + "/>"


# What is published


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("phase d0gstar 117 250 events\n", '<phase name="d0gstar" done="117" total="250" unit="events"/>'),
        ("phase a 0 0 %", '<phase name="a" done="0" total="0" unit="%"/>'),
        ("<a/>", "<a/>"),
        ("\ufeff<a/>", "<a/>"),
        ('<?xml version="1.0"?>\n<a/>\n', "<a/>"),
        ('<m:a xmlns:m="urn:mine" m:b="1">é</m:a>', '<m:a xmlns:m="urn:mine" m:b="1">é</m:a>'),
        ("<a><![CDATA[x < y & <!DOCTYPE]]></a>", "<a>x &lt; y &amp; &lt;!DOCTYPE</a>"),
        (
            "<a><!-- <!DOCTYPE and <!ENTITY are only words --></a>",
            "<a><!-- <!DOCTYPE and <!ENTITY are only words --></a>",
        ),
        ("<!-- before --><!-- it --> <a/><!-- after -->", "<a/>"),
        ("<a>&lt;&#65;</a>", "<a>&lt;A</a>"),
    ],
)
def test_what_is_published_is_kept(text, expected):
    assert fragment(text) == expected


LAUGHS = "".join('<!ENTITY l%d "%s">' % (n, f"&l{n - 1};" * 10) for n in range(1, 12))  # noqa: UP031
REFUSED = {
    "nothing": ("", "not XML"),
    "words": ("hello", "not XML"),
    "two roots": ("<a/><b/>", "not XML"),
    "open end": ("<a>", "not XML"),
    "document type": ("<!DOCTYPE a><a/>", "document type"),
    "after a comment": ("<!-- x --><!DOCTYPE a><a/>", "document type"),
    "behind a split comment": ("<<!--!DOCTYPE a><a/>", "not XML"),
    "billion laughs": (f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l11;</a>', "document type"),
    "laughs in an attribute": (f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a b="&l11;"/>', "document type"),
    "external entity": ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "document type"),
    "parameter entity": ('<!DOCTYPE a [<!ENTITY % x SYSTEM "http://localhost/x"> %x;]><a/>', "document type"),
    "undefined entity": ("<a>&x;</a>", "not XML"),
    "instruction before": ('<?xml-stylesheet href="x"?><a/>', "instruction"),
    "instruction inside": ("<a><?x y?></a>", "instruction"),
    "undeclared prefix": ("<m:a/>", "not XML"),
    "our namespace": (f'<a><x:local_job xmlns:x="{NAMESPACE}" state="completed"/></a>', "JIM's own"),
    "33 levels": ("<a>" * 33 + "</a>" * 33, "more than 32 deep"),
    "thousands of levels": ("<a>" * 9000 + "</a>" * 9000, "not XML|more than 32 deep"),
    "257 attributes": (with_attributes(257), "more than 256 attributes"),
    "thousands of attributes": (with_attributes(4500), "more than 256 attributes"),
    "the same attribute twice": ('<a b="1" b="2"/>', "not XML"),
    "too large": (f"<a>{'x' * 65_536}</a>", "more than 65,536 bytes"),
    "too large in UTF-8": (f"<a>{'é' * 40_000}</a>", "more than 65,536 bytes"),
    "NUL": ("<a>\0</a>", "cannot carry"),
    "escape": ("<a>\x1b[2J</a>", "cannot carry"),
    "character reference to NUL": ("<a>&#0;</a>", "not XML"),
    "lone surrogate": ("<a>\ud800</a>", "cannot carry"),
    "phase with an escape": ("phase a 1 2 \x1b", "cannot carry"),
    "phase that is none": ("phase a 1 many events", "not XML"),
    "other encoding": (
        '<?xml version="1.0" encoding="utf-7"?>+ADw-+ACE-DOCTYPE a+AD4-<a/>',
        "not XML",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_harm_a_reader_is_refused(case):
    text, reason = REFUSED[case]
    with pytest.raises(JimError, match=reason):
        fragment(text)


def test_levels_and_256_attributes_are_accepted():
    deep = "<a>" * 32 + "</a>" * 32
    assert fragment(deep).count("<a") == 32
    assert fragment(with_attributes(256)).count("=") == 256


def test_another_encoding_that_is_declared_is_not_believed():
    assert fragment('<?xml version="1.0" encoding="utf-16"?><a>é</a>') == "<a>é</a>"


def test_a_phase_is_not_published_as_xml():
    with pytest.raises(JimError, match="a phase is published by `jim-publish phase`"):
        fragment('<phase name="sim" done="1" total="2" unit="events"/>')
