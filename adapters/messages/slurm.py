"""Failure messages of sbatch, squeue, scancel and scontrol. Unknown versions: Slurm's own tables of errors."""

import re

# sbatch itself tries again for two minutes when it is told to come later: only the last answer counts.
UNCLEAR: tuple[str, ...] = (
    r"socket timed out on send/recv",  # 22.05.8
    r"connection timed out (reading|writing)",  # unknown
    r"delayed socket error",  # unknown
    r"zero bytes were transmitted",  # unknown
    r"message (send|receive) failure",  # unknown
    r"communication shutdown failure",  # unknown
    r"unable to contact slurm controller \((send|receive|shutdown) failure\)",  # unknown
    r"unexpected message received",  # 22.05.8
    r"header lengths are longer",  # unknown
    r"insane message length",  # unknown
    # Of the answer.
    r"munge decode failed",  # unknown
    r"auth_g_verify",  # unknown
    # About the request or the answer, except for a request that could not even be written.
    r"(?s)\A(?!.*(munge encode failed|auth_g_create)).*protocol authentication error",  # unknown
    r"(?s)\A(?!.*(munge encode failed|auth_g_create)).*authentication credential",  # unknown
    # The directory of users is down.
    r"unable to resolve (user|group) ID",  # unknown
)
FULL: tuple[str, ...] = (
    # Of an association or a QOS.
    r"(Max|Grp)SubmitJob",  # 22.05.8
    # MaxJobCount, of everybody's jobs: each task of an array counts, so a smaller submission may be accepted.
    r"submission failed: resource temporarily unavailable",  # unknown
    r"submission failed: MaxJobCount",  # unknown
    r"submission failed: unable to create job record",  # unknown
    # JIM's array is valid, except for MaxArraySize.
    r"submission failed: invalid job array specification",  # 22.05.8
)
TRANSIENT: tuple[str, ...] = (
    r"\(connect failure\)",  # 22.05.8
    r"communication connection failure",  # unknown
    r"in standby mode",  # unknown
    r"rate limit exceeded",  # unknown
    r"munge encode failed",  # 22.05.8
    r"auth_g_create",  # 22.05.8
    r"partition not available \(inactive or drain\)",  # 22.05.8
    r"requested nodes are busy",  # unknown
    r"submissions disabled",  # unknown
    r"try again later",  # 22.05.8, no capture
    r"try again in a bit",  # unknown
    r"problem talking to the database",  # 22.05.8
    r"I/O error writing script/environment",  # unknown
)
PERMANENT: tuple[str, ...] = (
    r"submission failed: invalid",  # 22.05.8
    r"submission failed: requested node",  # 22.05.8
    r"submission failed: requested operation not",  # unknown
    r"submission failed: requested reservation",  # 22.05.8
    r"submission failed: requested time",  # 22.05.8
    r"submission failed: requested topology",  # unknown
    r"submission failed: requested GRES",  # unknown
    r"submission failed: more processors",  # 22.05.8
    r"submission failed: pathname",  # 22.05.8, no capture
    r"submission failed: user's group",  # 22.05.8
    r"submission failed: memory required",  # unknown
    r"submission failed: no partition",  # unknown
    r"submission failed: multiple partition",  # unknown
    r"submission failed: duplicate generic",  # unknown
    r"submission failed: job dependency",  # unknown
    r"submission failed: job --batch",  # unknown
    r"submission failed: job size specification",  # unknown
    r"submission failed: circular",  # unknown
    r"submission failed: burst buffer",  # unknown
    r"submission failed: node count specification invalid",  # unknown
    r"submission failed: CPU count specification invalid",  # unknown
    r"submission failed: task \w+ specification invalid",  # unknown
    r"submission failed: job violates accounting/QOS policy",  # 22.05.8
    r"sbatch: error: invalid .* specif",  # 22.05.8
    r"sbatch: error: invalid numeric value",  # unknown
    r"sbatch: error: invalid --",  # 22.05.8
    r"unrecognized option",  # 22.05.8
    r"access/permission denied",  # 22.05.8
    r"access denied to requested reservation",  # unknown
)
GONE: tuple[str, ...] = (
    r"invalid job id specified",  # 22.05.8
    r"job has already finished",  # 22.05.8
    r"already completing or completed",  # unknown
)
# Reasons for waiting that stay although other jobs end: such a job never starts.
WAITS_FOR_EVER = re.compile(
    r"BadConstraints|DependencyNeverSatisfied|Invalid(Account|QOS)|(Account|QOS)NotAllowed|Partition(Config|\w+Limit)"
    r"|(Assoc|QOS)(Max\w+Per(Job|Node)\w*|Min\w+)|MaxMemPerLimit|Reservation(Deleted|Invalid)"
)
