"""The errors of a split. Each kind of error has a word for programs, and carries the key and the value."""

from __future__ import annotations

from jim.errors import BadRequest


class SplitError(BadRequest):
    """Work that a splitter cannot split as asked; `kind` is the word that programs know it by."""

    kind = "split-error"

    def __init__(self, key: str, value: object, why: str) -> None:
        super().__init__(why, key.partition(".")[0], told=key)
        self.key = key
        self.value = value


class InvalidParameter(SplitError):
    """A parameter of a splitter is unknown or has a wrong value."""

    kind = "invalid-parameter"


class InvalidFile(SplitError):
    """An input file or one of its facts has a wrong value."""

    kind = "invalid-file"

    def __init__(self, key: str, value: object, why: str) -> None:
        super().__init__(key, value, why)
        self.about = "input_files"  # the key names a file, or one of its fields


class InvalidMask(SplitError):
    """A lumi mask has a wrong form."""

    kind = "invalid-mask"


class InvalidRecovery(SplitError):
    """A recovery document has a wrong form."""

    kind = "invalid-recovery"


class InvalidManifest(SplitError):
    """A manifest cannot be read, or describes no jobs."""

    kind = "invalid-manifest"


class SplitterConfiguration(SplitError):
    """Parameters are each valid, but contradict each other."""

    kind = "splitter-configuration"


class UnknownSplitter(SplitError):
    """JIM has no splitter of this name."""

    kind = "unknown-splitter"


class JobLimitExceeded(SplitError):
    """The splitter makes more jobs than the request allows."""

    kind = "job-limit-exceeded"


class TooManyJobs(SplitError):
    """A manifest makes more jobs than are allowed."""

    kind = "too-many-jobs"
