"""Failure messages of condor_submit, condor_q, condor_rm and related commands. Unknown versions: HTCondor's source."""

UNCLEAR: tuple[str, ...] = (
    # A schedd that refuses to commit says why; if the schedd was lost, there is no such line.
    r"failed to commit job submission into the queue\.(?!\s+ERROR: )",  # unknown
    r"\A\s*SECMAN:",  # 23.9.6
)
FULL: tuple[str, ...] = (
    r"would exceed MAX_JOBS_PER_OWNER",  # unknown
    r"would exceed MAX_JOBS_SUBMITTED",  # unknown
    r"would exceed MAX_JOBS_PER_SUBMISSION",  # 23.9.6
    r"exceeds SUBMIT_MAX_PROCS_IN_CLUSTER",  # unknown
)
TRANSIENT: tuple[str, ...] = (
    r"can't find address of (local )?schedd",  # unknown
    r"failed to connect to (local )?queue manager",  # 23.9.6
    # About a transaction that is then given up.
    r"failed to create cluster",  # unknown
    r"failed to create proc",  # 23.9.6
    r"failed to fetch ads from",  # 23.9.6
)
PERMANENT: tuple[str, ...] = (
    r"failed to parse",  # unknown
    r"parse error in expression",  # 23.9.6
    r"failed to commit job submission into the queue\.\s+ERROR: ",  # 23.9.6
    r"no \"?queue\"? commands",  # unknown
    r"invalid attribute name",  # 23.9.6
    r"requires another argument",  # unknown
    r"requires at least one argument",  # unknown
    r"^usage:",  # 23.9.6
)
GONE: tuple[str, ...] = (
    r"job \S+ not found",  # 23.9.6
    r"couldn't find/\w+ (all|some|any)",  # 23.9.6
    r"already marked for removal",  # unknown
)
