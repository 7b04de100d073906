"""The job type sam_analysis."""

from __future__ import annotations

from jim.model import Piece
from jim.request import check, read
from tests.unit.handlers.runs import EXAMPLES, HOME, JOB, run, split


def test_an_analysis_runs_over_the_files_of_its_dataset(tmp_path):
    shell = 'cd "${SAM_STORAGE:-.}" && { [ -e "$1" ] || cd "$JIM_INPUT/tools/storage"; } && exec wc -w "$@"'
    counting = ["sh", "-c", shell, "count"]
    commands = split("d0/analysis.toml")
    assert commands == [[*counting, "a1", "a2"], [*counting, "b1"]]
    (tmp_path / "b1").write_text("two words\n")
    delivered, stored = run(tmp_path, commands[1]), run(HOME, commands[1], SAM_STORAGE=str(tmp_path))
    assert (delivered.stdout, stored.stdout) == ("2 b1\n", "2 b1\n")
    handler, request = check(read(EXAMPLES / "d0/analysis.toml"))
    again = handler.command_and_arguments(
        request, JOB._replace(recovery=("-x",)), Piece(arguments=("-w",), files=("f",))
    )
    assert list(again) == ["sh", "-w", "-x", "f"]
    assert handler.environment(request)["SAM_STATION"] == "manhep"
