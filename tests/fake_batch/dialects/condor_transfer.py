"""The same without a shared work directory: the schedd's own promise is that nothing runs twice."""

from __future__ import annotations

from tests.fake_batch.dialect import Usage
from tests.fake_batch.dialects.condor import Condor


class CondorTransfer(Condor):
    name = "condor_transfer"
    began = "NumShadowStarts"
    runs_once = True

    def read_condor_submit(self, words):
        asked = super().read_condor_submit(words)
        travels = ("should_transfer_files", "transfer_executable", "transfer_input_files", "transfer_output_files")
        if [asked.said.get(name) for name in travels] != ["YES", "true", "luggage/", "back/"]:
            raise Usage(1, "nothing would travel\n")
        return asked


DIALECT = CondorTransfer
