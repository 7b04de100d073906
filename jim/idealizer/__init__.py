"""What makes a batch system trustworthy: an adapter's commands, run under limits; their answers, held against evidence.

    submit.py    intent, then the command, then its answer
    lookup.py    a lost answer: the submission is found and adopted, or fenced
    query.py     one question about all jobs
    settle.py    what became of those that its answers no longer show
    cancel.py    wishes, told again until they are seen to be obeyed
    health.py    the breaker: a batch system that does not answer is left alone for a while
    retry.py     when to try again (the only tenacity)
    run.py       running a command (the only subprocess)

The first five are moves of the keeper. No answer of a batch system ends a job: only evidence does.
"""
