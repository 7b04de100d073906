"""squeue, which knows ended jobs for MinJobAge, some minutes; and the common parts of all sources of Slurm."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jim.adapters.base import History
from jim.adapters.slurm import FIELDS, LISTING, observation
from jim.model import Answer, Listing

# Whatever the command is: a site's own program may print either form.
ENDED = (
    re.compile(rf"^{FIELDS}(?P<name>[^|\n]*)(\|\.)?\n", re.MULTILINE),  # squeue, sacct
    re.compile(  # jobcomp/filetxt
        r"^JobId=.* Name=(?P<name>.*) JobState=(?P<word>\w+) (?P<reason>).* ArrayJobId=(?P<id>[0-9]+)"
        r" ArrayTaskId=(?P<index>[0-9]+) .* ExitCode=(?P<exit>[0-9]+:[0-9]+) *\n",
        re.MULTILINE,
    ),
)


class Squeue(History):
    """A listing of these ids only."""

    words: tuple[str, ...] = ("squeue",)
    fields: tuple[str, ...] = LISTING

    def command(self, ids: Sequence[str]) -> list[str]:
        return [*self.first_words, *self.fields, f"--jobs={','.join(ids)}"]

    def read(self, answer: Answer) -> Listing:
        unknown = answer.code == 1 and self.adapter.says(self.adapter.gone, answer.err)
        text = "" if unknown else self.found(answer)
        return dict(observation(line) for form in ENDED for line in form.finditer(text))


HISTORY = Squeue
