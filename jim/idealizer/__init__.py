"""The idealizer makes a batch system trustworthy: it runs an adapter's commands with limits, and watches its health.

    channel.py     runs commands and reads answers; the only place that counts whether the batch system answers
    health.py      the breaker: after several failures JIM asks the batch system less often
    retry.py       when to try again (the only module that uses tenacity)
    query_turn.py  ensures that the accounts of a site query one after another

The keeper's moves use these. No answer of a batch system ends a job: only evidence does.
"""
