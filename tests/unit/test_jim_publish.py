"""What a payload may say while it runs, and that saying it badly harms nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest

PUBLISH = Path(__file__).parents[2] / "shell" / "jim-publish"
BUSYBOX, BASH = shutil.which("busybox"), shutil.which("bash")
SHELLS = [["/bin/sh"]] + [[BUSYBOX, "sh"]] * bool(BUSYBOX) + [[BASH, "--posix"]] * bool(BASH)
MARK = "jim-3f9a-12-1"


@pytest.fixture(params=SHELLS, ids=lambda shell: Path(shell[0]).name)
def publish(request: pytest.FixtureRequest, tmp_path: Path):
    """Run jim-publish as a payload would: give its exit code and what it said."""
    inside = {"JIM_SPOOL": str(tmp_path), "JIM_MARK": MARK, "JIM_INDEX": "7"}

    def run(*words: str, stdin: bytes = b"", **env: str) -> tuple[int, str]:
        done = subprocess.run(
            [*request.param, str(PUBLISH), *words],
            input=stdin,
            capture_output=True,
            env={"PATH": "/usr/bin:/bin"} | inside | env,
            timeout=20,
            check=False,
        )
        assert not done.stdout or done.returncode == 0
        return done.returncode, (done.stdout + done.stderr).decode()

    return run


def stored(spool: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in spool.iterdir()}


@pytest.mark.parametrize(
    ("words", "key", "line"),
    [
        (("gen", "117", "250"), "phase-gen", b"phase gen 117 250 events\n"),
        (("gen", "0", "0", "files"), "phase-gen", b"phase gen 0 0 files\n"),
        (("d0-gstar_2", "0", "9" * 15, "MB"), "phase-d0-gstar_2", b"phase d0-gstar_2 0 999999999999999 MB\n"),
        (("x" * 40, "1", "2", "y" * 40), "phase-" + "x" * 40, b"phase %b 1 2 %b\n" % (b"x" * 40, b"y" * 40)),
    ],
)  # fmt: skip
def test_a_phase_becomes_a_line_in_the_spool(
    publish, tmp_path: Path, words: tuple[str, ...], key: str, line: bytes
) -> None:
    assert publish("phase", *words) == (0, "")
    assert stored(tmp_path) == {f"{MARK}.7.pub.{key}": line}


def test_a_phase_is_replaced(publish, tmp_path: Path) -> None:
    for done in ("1", "2"):
        assert publish("phase", "gen", done, "2") == (0, "")
    assert stored(tmp_path) == {f"{MARK}.7.pub.phase-gen": b"phase gen 2 2 events\n"}


@pytest.mark.parametrize("size", [4, 65535, 65536])
def test_xml_is_kept_byte_for_byte(publish, tmp_path: Path, size: int) -> None:
    element = b"<a/>" if size == 4 else (b"<a>\n\0\xff%s \\ </a>" + b"x" * size)[:size]
    assert publish("xml", "plot", stdin=element) == (0, "")
    assert stored(tmp_path) == {f"{MARK}.7.pub.plot": element}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("page", "gen"),
        ("stored",),
        ("give_up",),
        ("phase",),
        ("phase", "gen", "1"),
        ("phase", "gen", "1", "2", "events", "more"),
        ("phase", "", "1", "2"),
        ("phase", "../gen", "1", "2"),
        ("phase", "g n", "1", "2"),
        ("phase", "gén", "1", "2"),
        ("phase", "x" * 41, "1", "2"),
        ("phase", "gen", "-1", "2"),
        ("phase", "gen", "1.5", "2"),
        ("phase", "gen", "1", ""),
        ("phase", "gen", "1", "1" * 16),
        ("phase", "gen", "1", "2", ""),
        ("phase", "gen", "1", "2", "two words"),
        ("phase", "gen", "1", "2", "two\nlines"),
        ("xml",),
        ("xml", "a/b"),
        ("xml", "a", "b"),
        ("xml", "empty"),
    ],
)
def test_bad_words_store_nothing(publish, tmp_path: Path, words: tuple[str, ...]) -> None:
    code, said = publish(*words)
    assert code == 2
    assert said.startswith("jim-publish: ")
    assert stored(tmp_path) == {}


def test_too_much_xml_is_refused_without_reading_it_all(publish, tmp_path: Path) -> None:
    assert publish("xml", "a", stdin=b"x" * 65537) == (2, "jim-publish: more than 65536 bytes of XML\n")
    assert publish("xml", "a", stdin=b"x" * (1 << 22))[0] == 2
    assert stored(tmp_path) == {}


@pytest.mark.parametrize("missing", ["JIM_SPOOL", "JIM_MARK", "JIM_INDEX"])
def test_outside_a_local_job(publish, missing: str) -> None:
    code, said = publish("phase", "gen", "1", "2", **{missing: ""})
    assert code == 2
    assert said.count("\n") == 1
    assert "not inside a local job" in said


@pytest.mark.parametrize("words", [("phase", "gen", "1", "2"), ("xml", "a")])
def test_a_spool_that_takes_nothing(publish, tmp_path: Path, words: tuple[str, ...]) -> None:
    gone = tmp_path / "gone"
    assert publish(*words, stdin=b"<a/>", JIM_SPOOL=str(gone)) == (1, f"jim-publish: cannot write into {gone}\n")


@pytest.mark.parametrize("words", [("phase", "gen", "1", "2"), ("xml", "a")])
def test_a_full_spool_keeps_no_draft(publish, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The last step fails, as it would on a full disk."""
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "mv").write_text("#!/bin/sh\nexit 1\n")
    (commands / "mv").chmod(0o755)
    spool = tmp_path / "spool"
    spool.mkdir()
    code, said = publish(*words, stdin=b"<a/>", JIM_SPOOL=str(spool), PATH=f"{commands}:/usr/bin:/bin")
    assert (code, said) == (1, f"jim-publish: cannot write into {spool}\n")
    assert stored(spool) == {}


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_shows_the_usage(publish, word: str) -> None:
    code, said = publish(word, JIM_SPOOL="")
    assert code == 0
    assert "phase NAME DONE TOTAL [UNIT]" in said


@pytest.mark.parametrize(
    ("key", "element", "words"),
    [
        ("phase-gen", b"<a/>", "'phase-gen' is the name of a phase"),
        ("plot", b"phase gen 1 2", "not XML: no element"),
        ("plot", b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]><a/>', "JIM accepts no document type"),
        ("plot", b"<a><b xmlns:j='urn:jim:status:1'/></a>", "the namespace urn:jim:status:1 is JIM's own"),
        ("plot", b"", "no XML on stdin"),
        ("plot", b"<a>", "not XML: </a> is missing"),
        ("plot", b"<a><b></a></b>", "not XML: </a> stands where </b> is expected"),
        ("plot", b"<a/>\n<b/>", "not XML: more than one element"),
        ("plot", b"<a/></a>", "not XML: </a> ends nothing"),
        ("plot", b"mean: <a/>", "not XML: text stands outside of the element"),
        ("plot", b"<a/> more", "not XML: text stands outside of the element"),
        ("plot", b"<a>R&D</a>", "not XML: & begins no character: write &amp;"),
        ("plot", b"<a>&nbsp;</a>", "not XML: & begins no character: write &amp;"),
        ("plot", b"<a b='&c'/>", "not XML: & begins no character: write &amp;"),
        ("plot", b"<a>1 < 2</a>", "not XML: < begins no element: write &lt;"),
        ("plot", b"<a b=c/>", "not XML: the tag of <a> is broken"),
        ("plot", b"<a b='c'", "not XML: the tag of <a> is broken"),
        ("plot", b"<a></a", "not XML: the tag of an end is broken"),
        ("plot", b"<a><!-- <b> </a>", 'not XML: "-->" is missing'),
        ("plot", b"<a><?php x ?></a>", "not XML: JIM accepts no processing instruction"),
    ],
)
def test_xml_that_is_refused_is_named_in_the_log(publish, tmp_path: Path, key: str, element: bytes, words: str) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    here = {"JIM_SPOOL": str(spool), "JIM_RECOVERY": str(tmp_path / "recovery.7")}
    assert publish("xml", key, stdin=element, **here) == (2, f"jim-publish: {words}\n")
    assert stored(spool) == {}
    assert (tmp_path / "log.7").read_text() == f"jim-publish: xml {key} refused: {words}\n"


@pytest.mark.parametrize(
    "element",
    [
        b"<a>urn:jim:status:1</a>",
        b"<!-- <b/> --><a><![CDATA[<!DOCTYPE a>]]></a>",
        b'<a xmlns="urn:jim:status:10"/>',
        b"<?xml version='1.0' encoding='UTF-8' ?>\r\n\t<a\n b = '>/\"' c=\"it's\"\t></a >\n<!-- & < > -->\n",
        b"\xef\xbb\xbf<a/>",
        b"<a b='&lt;' c=\"&#62;&amp;\" d=''><e f='&quot;g'/></a>",
        b"<a><!-- & </b> <c --><b:c-d.e_f>&#38;&#x26;&lt;&apos; ]] > '\"</b:c-d.e_f><g/></a>",
        b"<a><![CDATA[ & <b> ]] > </c> ]]>x<![CDATA[]]></a>",
        "<größe µ='Ω'>é日本</größe>".encode(),
        "<?xml version='1.0' encoding='ISO-8859-1'?><a é='ü'>ß</a>".encode("latin-1"),
        "<a>㰀&#60;</a>".encode("utf-16"),
        b"<a>" + b"<b>x</b>" * 8000 + b"</a>",
    ],
)
def test_what_only_looks_like_it_is_published(publish, tmp_path: Path, element: bytes) -> None:
    assert publish("xml", "plot", stdin=element) == (0, "")
    assert stored(tmp_path) == {f"{MARK}.7.pub.plot": element}


def test_a_phase_starts_nothing_but_mv(publish, tmp_path: Path) -> None:
    """Payloads publish often."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mv").symlink_to(shutil.which("mv") or "")
    assert publish("phase", "gen", "1", "2", PATH=str(tmp_path / "bin")) == (0, "")
