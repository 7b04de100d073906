"""Splitters of a site, beside those of JIM."""

import sys

import pytest

from jim.errors import BadRequest, JimError
from jim.request import check as checked
from jim.site.settings import General
from jim.splitting.errors import UnknownSplitter
from jim.work.pieces import check, herd_of
from jim.work.splitters import find, is_own, known, name_of

PAIRS = '''"""Pairs: two files in a job."""
from dataclasses import dataclass
from jim.errors import BadRequest
from jim.splitting.checked_values import whole
from jim.splitting.files_and_jobs import SplitJob
from jim.splitting.parameters import parameter

@dataclass(frozen=True)
class Parameters:
    size: int = parameter(2, whole(1), "files in a job")

def split(work, p):
    files = work.to_read
    if len(files) > 9:
        raise BadRequest("too many files", "input_files")
    for n in range(0, len(files), p.size):
        yield SplitJob(n // p.size, None, files[n : n + p.size], baggage={"Pair": n // p.size})
'''
SEEDS = '''"""One job for each seed."""
from dataclasses import dataclass
from jim.splitting.checked_values import whole
from jim.splitting.parameters import parameter

SPLITS_REQUESTS = True

@dataclass(frozen=True)
class Parameters:
    seeds: int = parameter(1, whole(1), "number of seeds")

def split(manifest, p):
    for n in range(p.seeds):
        yield {**manifest, "environment": {"SEED": str(n)}, "Seed": n}
'''
WRONG = """
class Parameters:
    pass

def split(work, p):
    {}
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A site's directory; `own(name, text)` writes a module."""
    place = tmp_path / "own"
    (place / "lab").mkdir(parents=True)
    (place / "lab/mc.py").write_text("class HANDLER:\n    pass\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}

    def write(name, text):
        (place / "lab" / f"{name}.py").write_text(text)
        return General(handlers=str(place))

    yield write
    for name in {*sys.modules} - before:
        if name.startswith("lab"):
            del sys.modules[name]


def herd(site, splitter, parameters=None, **more):
    asked = {"job_type": "executable", "executable": "/bin/echo", "splitter": splitter} | more
    handler, request = checked(asked | {"splitter_parameters": parameters or {}})
    check(handler, request, site)
    return list(herd_of(handler, request, 7, site, 99))


def test_a_site_s_splitter_is_found_by_its_dotted_name_and_listed(own):
    site = own("pairs", PAIRS)
    own("broken", "def split(")  # no splitter: it has no Parameters
    assert known(site.handlers)[-1] == "lab.pairs"
    assert "lab.mc" not in known(site.handlers)
    assert "EventBased" in known("")
    module = find("lab.pairs", site.handlers)
    assert (is_own(module), name_of(module), name_of(find("dirac.bysize", ""))) == (True, "lab.pairs", "DIRAC.BySize")


def test_it_splits_files_with_variables_of_its_own(own):
    site = own("pairs", PAIRS)
    pieces = herd(site, "lab.pairs", input_files=["/a", "/b", "/c"], arguments=["$Pair: $InputFiles"])
    assert [each.arguments for each in pieces] == [("0: /a,/b",), ("1: /c",)]
    assert len(herd(site, "lab.pairs", {"size": 1}, input_files=["/a", "/b", "/c"])) == 3


def test_it_may_split_requests(own):
    pieces = herd(own("seeds", SEEDS), "lab.seeds", {"seeds": 2}, arguments=["$Seed"])
    assert [(each.arguments, each.attributes["environment"]) for each in pieces] == [
        (("0",), {"SEED": "0"}),
        (("1",), {"SEED": "1"}),
    ]


def test_a_request_chooses_only_among_the_files_of_the_site(own):
    site = own("pairs", PAIRS)
    for name in ("lab.pair", "os.path", "lab..pairs", "lab/pairs", "../lab.pairs", ".lab.pairs", "lab.pairs.more", 7):
        with pytest.raises(UnknownSplitter, match="unknown splitter"):
            find(name, site.handlers)
    with pytest.raises(UnknownSplitter, match=r"did you mean 'lab\.pairs'\?"):
        find("lab.pair", site.handlers)
    with pytest.raises(UnknownSplitter, match=r"unknown splitter 'lab\.pairs'"):
        find("lab.pairs", "")
    with pytest.raises(UnknownSplitter, match=r"lab/mc\.py is no splitter: it needs a class Parameters and a function"):
        find("lab.mc", site.handlers)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return work.nothing", r"splitter lab\.wrong failed: AttributeError: .* \(wrong\.py, line 8\)"),
        ("yield work.nothing", r"splitter lab\.wrong failed: AttributeError: .* \(wrong\.py, line 8\)"),
        ("yield work.files", "splitter lab.wrong must make a SplitJob, but made "),
        ("return None", "splitter lab.wrong failed: TypeError"),
        ("raise SystemExit(1)", "splitter lab.wrong failed: SystemExit"),
        ("return iter(())", "lab.wrong makes no local job of this request"),
    ],
)
def test_what_goes_wrong_in_it_is_told_with_its_place(own, body, words):
    text = "from dataclasses import dataclass\n" + WRONG.format(body).replace("class P", "@dataclass\nclass P")
    with pytest.raises(JimError, match=words):
        herd(own("wrong", text), "lab.wrong", input_files=["/a"])


def test_what_it_refuses_is_refused(own):
    site = own("pairs", PAIRS)
    with pytest.raises(BadRequest, match="input_files: too many files"):
        herd(site, "lab.pairs", input_files=[f"/{n}" for n in range(10)])
    with pytest.raises(BadRequest, match=r"size: .*1 or more"):
        herd(site, "lab.pairs", {"size": 0}, input_files=["/a"])
    with pytest.raises(BadRequest, match="did you mean 'size'"):
        herd(site, "lab.pairs", {"sze": 1}, input_files=["/a"])
    with pytest.raises(BadRequest, match="splits requests and takes no input files"):
        herd(own("seeds", SEEDS), "lab.seeds", input_files=["/a"])
    lacking = SEEDS.replace("{**manifest, ", "{")
    with pytest.raises(JimError, match=r"splitter lab\.lacking made a request without account"):
        herd(own("lacking", lacking), "lab.lacking")
    with pytest.raises(JimError, match=r"splitter lab\.numbers must make requests, but made 1"):
        herd(own("numbers", SEEDS.replace("yield {**manifest", "yield 1 or {**manifest")), "lab.numbers")


@pytest.mark.parametrize("where", ["time.sleep(99)", "while True: pass", "yield\n    time.sleep(99)"])
def test_a_door_waits_only_for_a_while_for_a_splitter_that_makes_nothing(own, monkeypatch, where):
    name = f"hangs{len(where)}"
    text = f"import time\nfrom dataclasses import dataclass\n{WRONG}".replace("class P", "@dataclass\nclass P")
    if where.startswith("yield"):
        where = where.replace("yield", "yield SplitJob(0, None, tuple(work.to_read))")
        text = f"from jim.splitting.files_and_jobs import SplitJob\n{text}"
    site = own(name, text.format(where))
    find(f"lab.{name}", site.handlers)  # loaded while there is time
    monkeypatch.setattr("jim.work.splitters.PATIENCE_SECONDS", 0.1)
    told = rf"splitter lab\.{name} failed: it took longer than 0\.1 s, and is the site's own code: `jim split` tries it"
    with pytest.raises(JimError, match=told):
        herd(site, f"lab.{name}", input_files=["/a"])
    with pytest.raises(JimError, match=r"cannot load the splitter 'lab.asleep': it took longer than 0\.1 s"):
        find("lab.asleep", own("asleep", f"import time\ntime.sleep(99)\n{PAIRS}").handlers)


def test_a_file_with_a_wrong_line_is_named_with_this_line_alone(own):
    site = own("odd", PAIRS.replace("work, p):", "work, p)"))
    with pytest.raises(JimError, match=r"SyntaxError: expected ':' \(odd\.py, line 12\)$"):
        find("lab.odd", site.handlers)
