"""HTCondor without a shared work directory: its file transfer takes each job along, and brings its end back.

What a job needs lies in the submission directory under luggage/; on the worker node `shell/remote-job` makes a work
directory of it, and gathers in back/ what HTCondor is to put into the submission directory. That happens before the job
leaves the queue, so what is not there then will never be taken up.

Nobody can fence an attempt that far away: that it runs once is the schedd's promise.
"""

from __future__ import annotations

from jim.adapters.condor import Condor
from jim.adapters.history.event_log import EventLog, accepted
from jim.model import Answer, Batch, Listing


class CondorTransfer(Condor):
    """No claim keeps a second start from running: so even a first one that failed shall not be tried again.

    Of a job that runs while its schedd crashes, version 23.9 forgets NumJobStarts, but not NumShadowStarts.
    """

    name = "condor_transfer"
    shared_work = False
    began = "NumShadowStarts"

    def find_ended_command(self, mark: str) -> list[str] | None:
        """Build the command that tells whether the history knows this mark; one job of a submission will do."""
        return self.history.find_command(mark)

    def parse_history(self, answer: Answer) -> Listing:
        ended = super().parse_history(answer)
        # Asked for a mark, a job event log tells of nothing but the beginning.
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
