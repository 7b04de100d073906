"""How long it takes to hand a job in."""

from __future__ import annotations

import time
from statistics import median


def test_handing_in_takes_hardly_longer_than_to_fork(gate, capsys):
    services = {"samgrid": [], "fork": []}

    def seconds(service):
        began = time.monotonic()
        code, _, err = gate.run("globusrun", "-b", "-r", f"localhost/jobmanager-{service}", "&(executable=/bin/true)")
        assert code == 0, err
        return time.monotonic() - began

    for _ in range(16):  # turn by turn, for others may be busy on this machine
        for service, took in services.items():
            took.append(seconds(service))
    ours, forks = (median(took[1:]) for took in services.values())
    with capsys.disabled():
        print(f"\nglobusrun -b: {ours:.2f} s, with jobmanager-fork {forks:.2f} s, {ours / forks:.2f} × (15 of each)")
    assert ours / forks <= 1.3
