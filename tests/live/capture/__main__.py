"""Ask a lab's batch system everything its adapter asks, in good and bad times, and keep the answers byte for byte.

    .venv/bin/python -m tests.live.capture slurm DIRECTORY    # as root; the lab is up, with two nodes

A new version of a batch system gets a directory of its own in tests/captured. What its answers mean is written
beside them by hand, in expected.toml: see tests/support/conformance.py. Takes some minutes, for limits are minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.live.capture.condor import condor, condor_transfer
from tests.live.capture.sge import sge
from tests.live.capture.slurm import slurm, slurm_accounts

SYSTEMS = {each.__name__: each for each in (slurm, slurm_accounts, sge, condor, condor_transfer)}

if __name__ == "__main__":
    SYSTEMS[sys.argv[1]](Path(sys.argv[2]).absolute())
