"""HTCondor without a shared work directory: its file transfer takes a job's files along and brings the results back.

The files of a job lie in the submission directory under luggage/. On the worker node, `shell/remote-job` makes a work
directory of them, and collects in back/ what HTCondor transfers to the submission directory. This happens before the
job leaves the queue, so files that are missing then never come.

Nobody can fence an attempt on such a node: only the schedd ensures that it runs once.
"""

from __future__ import annotations

from jim.adapters.condor import Condor
from jim.adapters.history.event_log import EventLog, accepted
from jim.model import Answer, Batch, Listing


class CondorTransfer(Condor):
    """No claim prevents a second start, so HTCondor must not even repeat a first start that failed.

    If its schedd crashes while a job runs, version 23.9 forgets NumJobStarts, but not NumShadowStarts.
    """

    name = "condor_transfer"
    shared_work = False
    began = "NumShadowStarts"

    def find_ended_command(self, mark: str) -> list[str] | None:
        """Build the command that asks the history for this mark; one job of a submission is enough."""
        return self.history.find_command(mark)

    def parse_history(self, answer: Answer) -> Listing:
        ended = super().parse_history(answer)
        # With a mark, a search in a job event log finds only the beginning of a job.
        return {**accepted(answer.out), **ended} if isinstance(self.history, EventLog) else ended

    def description(self, batch: Batch) -> dict[str, str]:
        return super().description(batch) | {
            "should_transfer_files": "YES",
            "transfer_executable": "true",
            "transfer_input_files": "luggage/",
            "transfer_output_files": "back/",
            "when_to_transfer_output": "ON_EXIT",
        }


ADAPTER = CondorTransfer
