"""Taking turns: all accounts of a site together ask the batch system once per interval."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from pathlib import Path

log = logging.getLogger(__name__)
PATIENCE = 60  # intervals: a neighbour that keeps the lock, or sets the time ahead, must not keep us blind


def take_turn(file: Path | None, interval: float, waited: float) -> bool:
    """Tell whether the batch system may be asked now, and count it as asked; the file's time is the last question's."""
    if file is None or waited > PATIENCE * interval:
        return True
    try:
        with file.open("r+b") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if 0 <= time.time() - os.fstat(turn.fileno()).st_mtime < interval:
                return False
            os.utime(turn.fileno())
            return True
    except BlockingIOError:
        return False
    except OSError as error:  # made by `jim site init --account`; without it each account keeps its own interval
        log.debug("no turns are taken: %s", error)
        return True
