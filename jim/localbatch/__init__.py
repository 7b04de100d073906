"""A small real batch system for machines without one: slots, a queue that survives every kill, a command line.

    python -P -s -m jim.localbatch --area DIR VERB ...

    area.py       the directory: its queue file, its lock, waking the daemon
    queue.py      the verbs' changes of the queue, one transaction each
    books.py      the daemon's changes of the queue: starts, ends, limits
    processes.py  finds the processes of a task and ends them (the only user of psutil)
    places.py     where a task of JIM works, by which its processes can be known
    belongings.py tells which task a process belongs to
    daemon.py     starts tasks, watches them, and kills processes that outlive them

Four promises. A job whose id was printed is never lost, and stays known for a month of use after its end. No task
is ever started twice: its start is in the ledger before its process exists, and a start of unknown outcome counts
as an end. A task is reported as ended only when no process of it lives. An end that nobody saw is reported as
such, without an exit code.
"""
