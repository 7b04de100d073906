"""Failure messages of qsub, qstat, qdel and qalter. Unknown versions: Grid Engine's own tables of messages."""

# If qmaster does not answer, the command looks for it once more and reports the result. So only a refused connection,
# without a lost one before, makes it likely that nothing was asked. JIM fences all the same.
UNCLEAR: tuple[str, ...] = (
    r"commlib error: (?!got select error \(connection refused\)|access denied)",  # unknown
    r"(?s)\A(?!.*commlib error: ).*unable to contact ",  # unknown
    r"(?s)\A(?!.*commlib error: ).*unable to send message to ",  # unknown
    r"failed sending gdi request",  # unknown
    r"failed receiving gdi request",  # unknown
    r"gdi mismatch",  # unknown
)
FULL: tuple[str, ...] = (
    r"submit a job with more than [0-9]+ tasks",  # 8.1.9
)
TRANSIENT: tuple[str, ...] = (
    # An array counts as one job: smaller arrays would only be more jobs.
    r"only [0-9]+ jobs are allowed per user",  # unknown
    r"only [0-9]+ jobs are allowed per cluster",  # unknown
    r"commlib error: got select error \(connection refused\)",  # 8.1.9
    r"commlib error: access denied",  # 8.1.9, no capture
    r"unable to initialize environment because of error",  # unknown
    r"JSV temporarily rejected job",  # unknown
    r"rejected because it can't be written",  # unknown
    r"rejected because it couldn't be written",  # unknown
)
PERMANENT: tuple[str, ...] = (
    r"JSV rejected job",  # unknown
    r"job (was )?rejected",  # 8.1.9
    r"unable to run job: unknown resource",  # 8.1.9
    r"unable to run job: attribute .* is not a",  # 8.1.9
    r"no suitable queues",  # 8.1.9
    r"invalid option argument",  # 8.1.9
    r"not have the necessary privileges",  # 8.1.9
)
GONE: tuple[str, ...] = (
    r"job \S+ does not exist",  # 8.1.9
    r"task \S+ does not exist",  # unknown
    r"already in deletion",  # 8.1.9
)
