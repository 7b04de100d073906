"""What makes a batch system trustworthy: an adapter's commands, run under limits, and what is known of its health.

    channel.py   what a batch system is asked and told; the one place that counts whether it answers
    health.py    the breaker: a batch system that does not answer is left alone for a while
    retry.py     when to try again (the only tenacity)
    turn.py      accounts of a site ask one after the other

The keeper's moves work with these. No answer of a batch system ends a job: only evidence does.
"""
