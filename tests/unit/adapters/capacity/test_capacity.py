"""How much room a batch system has: from what its commands print, in good and bad times.

The texts of Slurm 22.05, Grid Engine 8.1.9 and HTCondor 23.9 have their real form; those of PBS, Torque and LSF follow
their manuals.
"""

import pytest

from jim.adapters.capacity import Capacity, Room, seconds
from jim.adapters.condor import Condor
from jim.adapters.local import Local
from jim.adapters.lsf import Lsf
from jim.adapters.pbs import Pbs
from jim.adapters.pbs_wrappers import PbsWrappers
from jim.adapters.sge import Sge
from jim.adapters.slurm import Slurm
from jim.adapters.torque import Torque
from jim.model import Answer

# Nodes of 8 processors: n3 is drained, n4 in maintenance. The partition `closed` is inactive.
SINFO = """\
n1|closed|inact|8/0/0/8|1.55|infinite|alloc|.
n1|short|up|8/0/0/8|1.55|10:00|alloc|.
n1|main*|up|8/0/0/8|1.55|7-00:00:00|alloc|.
n2|closed|inact|3/5/0/8|1.45|infinite|mix|.
n2|short|up|3/5/0/8|1.45|10:00|mix|.
n2|main*|up|3/5/0/8|1.45|7-00:00:00|mix|.
n3|closed|inact|0/0/8/8|0.00|infinite|drain|.
n3|short|up|0/0/8/8|0.00|10:00|drain|.
n3|main*|up|0/0/8/8|0.00|7-00:00:00|drain|.
n4|main*|up|0/8/0/8|0.00|7-00:00:00|maint|.
"""
QSTAT_C = """\
<?xml version='1.0'?>
<job_info  xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd">
  <cluster_queue_summary>
    <name>all.q</name>
    <load>0.75098</load>
    <used>6</used>
    <resv>0</resv>
    <available>2</available>
    <total>8</total>
    <temp_disabled>0</temp_disabled>
    <manual_intervention>0</manual_intervention>
  </cluster_queue_summary>
</job_info>
"""
QCONF = """\
qname                 all.q
hostlist              @allhosts
s_rt                  INFINITY
h_rt                  24:00:00,[fast=00:10:00]
"""
QSTAT_P = "<state>qw</state> <state>qw</state> <state>hqw</state> <state>Eqw</state>"
CONDOR_STATUS = """\
Partitionable Unclaimed 5 8 1.6 node1
Dynamic Claimed 3 8 1.6 node1
Static Claimed 1 1 0.5 node2
Static Unclaimed 1 1 0.5 node3
"""
CONDOR_Q = """

-- Schedd: head : <127.0.0.1:38987?... @ 11/24/26 05:05:30
Total for query: 9 jobs; 0 completed, 0 removed, 9 idle, 0 running, 0 held, 0 suspended
Total for all users: 12 jobs; 0 completed, 0 removed, 7 idle, 5 running, 0 held, 0 suspended
"""
PBSNODES = """\
n1
     Mom = n1
     state = free
     pcpus = 64
     resources_available.ncpus = 32
     resources_assigned.ncpus = 12

n2
     state = job-busy
     resources_available.ncpus = 32
     resources_assigned.ncpus = 32

n3
     state = down,offline
     resources_available.ncpus = 32
"""
QSTAT_Q = """\
Queue: workq
    queue_type = Execution
    total_jobs = 47
    state_count = Transit:0 Queued:3 Held:1 Waiting:0 Running:43 Exiting:0
    resources_max.walltime = 48:00:00

Queue: long
    state_count = Transit:0 Queued:2 Held:0 Waiting:0 Running:0 Exiting:0
"""
TORQUE_NODES = """\
n1
     state = free
     np = 8
     jobs = 0-2/12.head,4/13.head
     status = rectime=1,state=free

n2
     state = job-exclusive
     np = 2
     jobs = 0/14.head, 1/15.head

n3
     state = free
     np = 4
"""
BHOSTS = """\
HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
hostA              ok              -        16      4      4      0      0      0
hostB              closed_Full     -         8      8      8      0      0      0
hostC              unavail         -         8      0      0      0      0      0
hostD              ok              -         -      1      1      0      0      0
"""
BQUEUES = """\
QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP  RSV
normal           30  Open:Active       -    -    -    -    17     5    12     0    0
night            15  Open:Inact        -    -    -    -     2     2     0     0    0
"""


def told(adapter, **texts):
    assert set(adapter.capacity_commands()) == set(texts)
    return adapter.parse_capacity({name: Answer(("x",), 0, text, "", 0.1) for name, text in texts.items()})


def test_slurm_counts_each_node_once_and_no_node_that_does_not_serve():
    both = Room(16, 5, 3, 0.19)  # (1.55 + 1.45) / 16
    assert told(Slurm(), nodes=SINFO, pending="main|.\nmain|.\nshort|.\n") == Capacity(
        both,
        {
            "short": both._replace(pending=1, wall_seconds=600),
            "main": both._replace(pending=2, wall_seconds=604_800),
        },
    )


def test_grid_engine_counts_jobs_that_wait_but_none_on_hold():
    room = Room(8, 2, load=0.75)
    assert told(Sge(), nodes=QSTAT_C, queues=QCONF, pending=QSTAT_P) == Capacity(
        room._replace(pending=2), {"all.q": room._replace(wall_seconds=86_400)}
    )


def test_condor_counts_what_a_divided_machine_has_left():
    assert told(Condor(), nodes=CONDOR_STATUS, pending=CONDOR_Q) == Capacity(Room(10, 6, 7, 0.26))


def test_pbs_leaves_out_nodes_that_are_away():
    queues = {"workq": Room(pending=3, wall_seconds=172_800), "long": Room(pending=2)}
    assert told(Pbs(), nodes=PBSNODES, queues=QSTAT_Q) == Capacity(Room(64, 20, 5), queues)


def test_torque_counts_the_slots_of_each_job():
    assert told(Torque(), nodes=TORQUE_NODES, queues="") == Capacity(Room(14, 8))


def test_lsf_leaves_out_hosts_without_a_limit():
    queues = {"normal": Room(pending=5), "night": Room(pending=2)}
    assert told(Lsf(), nodes=BHOSTS, queues=BQUEUES) == Capacity(Room(24, 12, 7), queues)


def test_the_local_batch_system_tells_with_its_ping():
    assert told(Local(), nodes="slots 4 pending 9 running 3\n") == Capacity(Room(4, 1, 9))


@pytest.mark.parametrize("adapter", [Slurm, Sge, Condor, Pbs, Torque, Lsf, Local, PbsWrappers])
@pytest.mark.parametrize("text", ["", "slurm_load_partitions: Unable to contact\n", "|||\n<name>\n1 2 3\n"])
def test_what_nobody_can_read_stays_unknown(adapter, text):
    """A command that fails tells nothing, whatever it prints; neither does an odd text."""
    commands = adapter().capacity_commands()
    failed = adapter().parse_capacity({name: Answer(("x",), 1, SINFO + QSTAT_C + text, "", 0.1) for name in commands})
    odd = adapter().parse_capacity({name: Answer(("x",), 0, text, "", 0.1) for name in commands})
    assert failed == Capacity()
    assert (odd.room.slots, odd.room.free_slots, odd.queues) == (None, None, {})


@pytest.mark.parametrize(
    ("text", "meant"),
    [("10:00", 600), ("1:00:00", 3600), ("7-00:00:00", 604_800), ("30", 30), ("infinite", None), ("UNLIMITED", None)],
)
def test_time_limits(text, meant):
    assert seconds(text) == meant
