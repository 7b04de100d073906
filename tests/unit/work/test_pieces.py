"""From a request that names a splitter to the pieces of its local jobs."""

import json

import pytest

from jim.errors import BadRequest
from jim.request import check as checked
from jim.site.settings import General
from jim.splitting.errors import TooManyJobs
from jim.statusdb.pieces import piece_of, pieces_text
from jim.work.pieces import check, herd_of, hints

FILES = [
    {"lfn": "/a/1", "events": 100, "runs": {"1": [1, 2, 3]}, "locations": ["A"]},
    {"lfn": "/a/2", "events": 100, "runs": {"1": [4, 5]}, "locations": ["A"]},
]


def request(splitter, parameters=None, **more):
    asked = {"job_type": "executable", "executable": "/bin/echo", "splitter": splitter}
    return checked(asked | {"splitter_parameters": parameters or {}} | more)


def herd(splitter, parameters=None, most=1000, **more):
    handler, attributes = request(splitter, parameters, **more)
    check(handler, attributes, General())
    pieces = list(herd_of(handler, attributes, 7, General(), most))
    stored = json.loads(pieces_text(dict(enumerate(pieces))))
    assert [piece_of(json.dumps(stored[str(n)])) for n in range(len(pieces))] == pieces
    return pieces


def words(pieces):
    return [each.arguments for each in pieces]


def test_lumis_become_pieces_with_their_variables_put_in():
    arguments = ["${SplitID}/$SplitSourceJob", "--in=${InputFiles}", "$Lumis", "$Sites", "100%"]
    pieces = herd("LumiBased", {"lumis_per_job": 2}, input_files=FILES, arguments=arguments)
    assert words(pieces) == [
        ("0/7", "--in=/a/1", '{"1":[[1,2]]}', "A", "100%"),
        ("1/7", "--in=/a/1,/a/2", '{"1":[[3,3],[4,4]]}', "A", "100%"),
        ("2/7", "--in=/a/2", '{"1":[[5,5]]}', "A", "100%"),
    ]
    assert pieces[1].files == ("/a/1", "/a/2")
    assert pieces[1].mask == {"run_lumis": {"1": [[3, 3], [4, 4]]}}
    assert pieces[1].variables == {"SplitID": "1", "SplitSourceJob": "7"}


def test_numbers_have_as_many_digits_as_their_count():
    files = [{"lfn": f"/f{n}"} for n in range(10)]
    pieces = herd("FileBased", {"files_per_job": 1}, input_files=files, arguments=["$SplitID"])
    assert words(pieces)[0] + words(pieces)[-1] == ("00", "09")


def test_events_are_told():
    files = [{"lfn": "MCFakeFile-1", "events": 30, "first_event": 1, "runs": {"1": [7]}}]
    told = ["$FirstEvent-$LastEvent", "$FirstLumi-$LastLumi", "$lheInputFiles"]
    pieces = herd("EventBased", {"events_per_job": 20}, input_files=files, arguments=told)
    assert words(pieces) == [("1-20", "7-7", "false"), ("21-30", "8-8", "false")]


def test_a_variable_that_a_piece_does_not_have_leaves_the_whole_attribute_as_it_is():
    more = {"arguments": ["$SplitID", "$FirstEvent"], "environment": {"ID": "$SplitID"}}
    (piece,) = herd("FileBased", input_files=FILES, **more)
    assert piece.arguments == ("$SplitID", "$FirstEvent")
    assert piece.attributes == {"environment": {"ID": "0"}}


def test_file_names_are_taken_as_they_are():
    (piece,) = herd("FileBased", input_files=[{"lfn": "/$SplitID/%s"}], arguments=["$InputFiles", "$$x"])
    assert piece.arguments == ("/$SplitID/%s", "$x")


def test_outputs_environment_and_program_vary_too():
    more = {"executable": "run-$SplitID", "outputs": ["out.$SplitID", "all"], "environment": {"F": "$InputFiles"}}
    handler, attributes = request("FileBased", {"files_per_job": 1}, input_files=FILES, **more)
    *_, last = herd_of(handler, attributes, 7, General(), 10)
    own = {"executable": "run-1", "outputs": ["out.1", "all"], "environment": {"F": "/a/2"}}
    assert last.attributes == own
    assert last.arguments == ()


def test_an_attribute_reaches_another():
    pieces = herd(
        "FileBased", input_files=FILES, arguments=["$queue $environment/N"], queue="q", environment={"N": "5"}
    )
    assert words(pieces) == [("q 5",)]


def test_storages_are_told_and_chosen():
    files = [{"lfn": "/1", "locations": ["A", "B"]}, {"lfn": "/2", "locations": ["B"]}]
    pieces = herd("InputDataBySE", input_files=files, arguments=["$InputFiles@$SplitterChosenSE"])
    assert words(pieces) == [("/1@A",), ("/2@B",)]


def test_what_no_site_may_run_has_failed_before_it_is_sent():
    files = [*FILES, {"lfn": "/b", "locations": ["B"]}]
    pieces = herd("FileBased", {"siteBlacklist": ["B"]}, input_files=files)
    told = "no allowed site is known to hold the input (code 71101)"
    assert [each.failure for each in pieces] == ["", told]


def test_a_file_that_says_not_where_it_is_is_here():
    (piece,) = herd("FileBased", {"siteWhitelist": ["here"]}, input_files=[{"lfn": "/1"}], arguments=["$Sites"])
    assert (piece.failure, piece.arguments) == ("", ("here",))


AT = [{"lfn": f"/{name}", "locations": [*name]} for name in ("A", "AB", "B")]
ELSEWHERE = "it may only run at {}, and this site is none of them: see site.locations (code 71101)"


def failures(locations, splitter="FileBased", files=AT, **parameters):
    handler, attributes = request(splitter, {"files_per_job": 1} | parameters, input_files=files)
    site = General(name="A site", locations=locations)
    return {each.files[0]: each.failure for each in herd_of(handler, attributes, 7, site, 99)}


def test_what_may_only_run_elsewhere_fails_on_creation():
    assert failures(("B", "C")) == {"/A": ELSEWHERE.format("A"), "/AB": "", "/B": ""}
    assert failures(("C",))["/AB"] == ELSEWHERE.format("A, B")


def test_a_site_that_lists_no_locations_runs_everything():
    assert set(failures(()).values()) == {""}


def test_a_file_without_locations_excludes_no_site():
    assert failures(("C",), files=[{"lfn": "/1"}]) == {"/1": ""}


def test_the_site_lists_of_a_request_exclude_sites_too():
    assert failures(("A", "C"), siteBlacklist=["A"], siteWhitelist=["A", "B"])["/AB"] == ELSEWHERE.format("B")
    trusting = failures(("A",), siteWhitelist=["B"], trustSitelists=True)
    assert set(trusting.values()) == {ELSEWHERE.format("B")}


def test_what_has_failed_for_another_reason_keeps_the_reason():
    assert failures(("C",), siteBlacklist=["A"])["/A"].startswith("no allowed site is known")


def test_a_splitter_that_chooses_storages_excludes_sites_by_them():
    handler, attributes = request("InputDataBySE", input_files=AT)
    chosen = herd_of(handler, attributes, 7, General(locations=("A",)), 99)
    assert {each.variables["SplitterChosenSE"]: each.failure for each in chosen} == {
        "A": "",
        "B": ELSEWHERE.format("B"),
    }


def test_few_of_many_sites_are_told():
    files = [{"lfn": "/1", "locations": [f"S{n}" for n in range(9)]}]
    assert failures(("A",), files=files) == {"/1": ELSEWHERE.format("S0, S1, S2, S3, S4, …")}


def test_requests_are_split_by_their_arguments():
    given = {"args": [["a", 1], ["$SplitID"]], "append": True}
    assert words(herd("ArgSplitter", given, arguments=["x"])) == [("x", "a", "1"), ("x", "1")]


def test_requests_are_split_by_any_attribute_that_is_a_local_job_s_own():
    given = {"multi_attrs": {"environment.N": [1, 2], "executable": ["/bin/a", "/bin/b"]}}
    pieces = herd("GenericSplitter", given, environment={"N": "0", "M": "9"})
    assert [each.attributes for each in pieces] == [
        {"environment": {"N": "1", "M": "9"}, "executable": "/bin/a"},
        {"environment": {"N": "2", "M": "9"}, "executable": "/bin/b"},
    ]


def test_requests_are_split_by_parameters():
    pieces = herd("Parametric", {"Parameters": 3, "ParameterStart": 1, "ParameterStep": 0.5}, arguments=["$Parameter"])
    assert words(pieces) == [("1.0",), ("1.5",), ("2.0",)]
    given = {"Parameters": [4, 5], "Parameters.X": ["p", "q"]}
    pieces = herd("ParametricJDL", given, arguments=["%s %(X)s %n $ParameterNumber"])
    assert words(pieces) == [("4 p 0 0",), ("5 q 1 1",)]


def test_any_attribute_may_be_of_a_local_job_s_own():
    given = {"Parameters": 2, "ParameterStart": 2, "ParameterStep": 0}
    asked = {"memory_mb": "${Parameter}000", "queue": "q$SplitID", "wall_seconds": "1$memory_mb", "cores": 3}
    pieces = herd("ParametricJDL", given | {"Parameters.X": ["a", "b"]}, **asked, account="%(X)s")
    assert [piece.attributes for piece in pieces] == [
        {"memory_mb": 2000, "queue": "q0", "wall_seconds": 12000, "account": "a"},
        {"memory_mb": 2000, "queue": "q1", "wall_seconds": 12000, "account": "b"},
    ]
    pieces = herd("GenericSplitter", {"attribute": "cores", "values": [1, 2]}, cores=2)
    assert [piece.attributes for piece in pieces] == [{"cores": 1}, {}]


@pytest.mark.parametrize(
    ("splitter", "parameters", "more", "told"),
    [
        ("LumiBase", {}, {}, r"unknown splitter 'LumiBase'; did you mean 'LumiBased'\?"),
        ("LumiBased", {"lumi_per_job": 1}, {}, r"unknown parameter; did you mean 'lumis_per_job'\?"),
        ("ParametricJDL", {"ParametersX": [1]}, {"input_files": []}, r"unknown parameter; did you mean 'Parameters'\?"),
        ("Parametric", {"Parameters": -2}, {"input_files": []}, "Parameters: expected at least one job, found -2"),
        ("LumiBased", {"lumis_per_job": 0}, {}, "expected a whole number, 1 or more, found 0"),
        ("LumiBased", {}, {"input_files": []}, "input_files: LumiBased splits input files, but the request has none"),
        ("LumiBased", {}, {"input_files": [{"lfn": "/a", "sise": 1}]}, r"sise: unknown; did you mean 'size'\?"),
        ("LumiBased", {}, {"input_files": [{"lfn": "/a"}]}, "LumiBased makes no local job of this request"),
        ("LumiBased", {}, {"recovery": {"documents": 1}}, "recovery.documents: expected a list"),
        ("ArgSplitter", {"args": [["a"]]}, {}, "input_files: ArgSplitter splits requests and takes no input files"),
        ("ArgSplitter", {"args": [["a\x00"]]}, {"input_files": []}, "contains the character .* remove it"),
        (
            "GenericSplitter",
            {"attribute": "inputs", "values": [["a"]]},
            {"input_files": []},
            "inputs: must be the same",
        ),
        (
            "GenericSplitter",
            {"attribute": "cores", "values": [2, 0]},
            {"input_files": []},
            "cores: expected at least 1",
        ),
        (
            "GenericSplitter",
            {"attribute": "cores", "values": ["two"]},
            {"input_files": []},
            "cores: expected a whole n",
        ),
        ("FileBased", {}, {"memory_mb": "$SplitId"}, r"memory_mb: expected a whole number, found '\$SplitId'"),
        ("FileBased", {}, {"queue": "$SplitID/q"}, r"queue: '\$SplitID/q' is not possible"),
        ("FileBased", {}, {"queue": "a b"}, "queue: 'a b' is not possible"),
        ("FileBased", {}, {"queue": "$a\n"}, "queue: contains a line break"),
        ("GenericSplitter", {"attribute": "outputs", "values": ["x"]}, {"input_files": []}, "expected a list of texts"),
        ("GenericSplitter", {"attribute": "outputs", "values": [["/x"]]}, {"input_files": []}, "inside the payload's"),
        ("FileBased", {}, {"executable": "$InputFiles/x"}, "executable: .* is not possible"),
        (
            "FileBased",
            {},
            {"splitter_parameters": {"a": [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}},
            "nested more than 16 deep",
        ),
    ],
)
def test_a_door_refuses(splitter, parameters, more, told):
    with pytest.raises(BadRequest, match=told):
        herd(splitter, parameters, **({"input_files": FILES} | more))


@pytest.mark.parametrize("name", ["splitter_parameters", "input_files", "recovery"])
def test_without_a_splitter_there_is_nothing_to_say_to_it(name):
    more = {name: FILES if name == "input_files" else {"a": 1}}
    with pytest.raises(BadRequest, match=f"{name}: needs a splitter; none is given"):
        checked({"job_type": "executable", "executable": "x", **more})


def test_there_may_be_too_many():
    assert len(herd("FileBased", {"files_per_job": 1}, most=2, input_files=FILES)) == 2
    with pytest.raises(TooManyJobs, match="more than the 1 local jobs that this site allows"):
        herd("FileBased", {"files_per_job": 1}, most=1, input_files=FILES)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["for f in $InputFiles; do echo $f; done"], ["`$f` is no variable here; write `$$f`"]),
        (["$InputFiles costs 3 $"], ["a `$` in it begins no name; write `$$`"]),
        (["for f in $InputFiles; do echo $$f; done"], []),
        (["$HOME"], []),
    ],
)
def test_an_attribute_that_would_keep_its_variables_is_told(arguments, told):
    handler, attributes = request("FileBased", input_files=FILES, arguments=arguments)
    found = hints(handler, attributes, General())
    assert found == [
        f"arguments: all of it stays as it is, variables included, because {each} if the program is to see it"
        for each in told
    ]


def test_parameters_and_what_the_catalogue_has_are_looked_at_likewise():
    handler, attributes = request("Parametric", {"Parameters": 2}, environment={"A": "$Parameter of $x"})
    assert hints(handler, attributes, General())[0].startswith("environment/A: ")
    handler, attributes = request("FileBased", dataset="d", arguments=["$InputFiles $x"])
    assert hints(handler, attributes, General()) == []  # nobody knows yet
    assert (
        hints(*checked({"job_type": "executable", "executable": "/bin/echo", "arguments": ["$x $"]}), General()) == []
    )
