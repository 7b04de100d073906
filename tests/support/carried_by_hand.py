"""What carriers on worker nodes do, a step at a time, in the world of stand-ins."""

from __future__ import annotations

from jim.model import State


def directory(world, k=1):
    return world.site.work / "1" / f"s{k}"


def claim(world, carrier, index, k=1):
    """Let a carrier win the claim of an attempt, as its wrapper does."""
    task = world.batch.tasks[str(k), carrier]
    task.state = State.RUNNING
    notice = f"nonce {index:032x}\nhost wn1\npid 1\nbatch {k}\nrestart -\ncarrier {carrier}\n"
    (directory(world, k) / f"claim.{index}").write_text(notice)
    (world.site.work / "spool" / f"{task.mark}.{index}.start").write_text(notice)
    world.go(1)


def finish(world, carrier, index, code=0, k=1):
    """Let the attempt of a carrier end; the carrier goes on."""
    mark = world.batch.tasks[str(k), carrier].mark
    attempt = world.store.attempt(1, k, index)
    record = (
        f"jim-exit 1\nmark {mark}\nindex {index}\nnonce {index:032x}\nn {attempt.n}\nattempt {attempt.attempt}\n"
        f"host wn1\nbatch {k}\ncarrier {carrier}\nstarted 2026-01-01T00:00:00Z\nended 2026-01-01T00:00:01Z\ncpu 0.1\n"
        f"code {code}\nsignal -\nreason -\nrecovery -\nend\n"
    )
    (directory(world, k) / f"run.{index}").mkdir(exist_ok=True)
    (directory(world, k) / f"exit.{index}").write_text(record)
    (world.site.work / "spool" / f"{mark}.{index}.exit").write_text(record)
    world.go(2)
