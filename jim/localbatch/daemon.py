"""The daemon: starts tasks, watches them, ends them, and sweeps up behind them.

It decides from the queue. What it keeps in memory is only what it has seen and not yet recorded, and which
processes are its own; after its death the next one finds these again.
"""

from __future__ import annotations

import errno
import logging
import os
import select
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from jim.clock import Clock
from jim.idealizer.run import scrubbed_environment, spawn
from jim.localbatch import processes
from jim.localbatch.area import Lock, connect
from jim.localbatch.books import Books, Exit, Task
from jim.localbatch.processes import Process
from jim.localbatch.queue import Key

logger = logging.getLogger(__name__)
LOOK_SECONDS = 0.1  # how often it looks for what the verbs have written
AGAIN_SECONDS = 1.0  # after an error of the queue, and between two KILLs
DEFER_SECONDS = 5.0  # after the machine could not make a process
SWEEP_SHARE = 20  # sweeps take at most one part in so many of a processor …
LEAST_SWEEP_SECONDS, MOST_SWEEP_SECONDS = 0.05, 1.0  # … but come at least, and at most, this often
# The machine's lack, not the script's fault: a later try may work.
SHORTAGE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
