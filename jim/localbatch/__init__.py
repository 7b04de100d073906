"""A tiny real batch system, for machines without one: slots, a queue that survives everything, a command line.

    python -P -s -m jim.localbatch --area DIR VERB ...

    area.py       the directory: its queue file, its lock, waking the daemon
    queue.py      what the verbs do to the queue, one transaction each
    books.py      what the daemon writes: starts, ends, limits
    processes.py  which processes belong to a task, and ending them (the only psutil)
    daemon.py     starts tasks, watches them, sweeps up behind them

Four promises. A job whose id was printed is never lost, and it stays known for a month of use after its end. No
task is ever started twice: its start is in the ledger before its process exists, and a start of unknown outcome
is an end. A task is told as ended only when nothing of it lives. An end that no one saw is told as such, with no
exit code, never guessed.
"""
