"""What can be wrong with work that is to be split: each kind of error, by its own word, with the key and the value."""

from __future__ import annotations

from jim.errors import BadRequest


class SplitError(BadRequest):
    """Work that cannot be split as asked; `kind` is the word that programs know it by."""

    kind = "split-error"

    def __init__(self, key: str, value: object, why: str) -> None:
        super().__init__(why, key.partition(".")[0], told=key)
        self.key = key
        self.value = value


class InvalidParameter(SplitError):
    """A parameter of a splitter that is unknown, or not what it may be."""

    kind = "invalid-parameter"


class InvalidFile(SplitError):
    """An input file, or what is told about it, that cannot be."""

    kind = "invalid-file"

    def __init__(self, key: str, value: object, why: str) -> None:
        super().__init__(key, value, why)
        self.about = "input_files"  # the key names one of the files, or something of it


class InvalidMask(SplitError):
    """A lumi mask that says nothing clear."""

    kind = "invalid-mask"


class InvalidRecovery(SplitError):
    """A recovery document that does not say what is to be recovered."""

    kind = "invalid-recovery"


class InvalidManifest(SplitError):
    """A manifest that cannot be read, or describes no jobs."""

    kind = "invalid-manifest"


class SplitterConfiguration(SplitError):
    """Parameters that are possible each by itself, and not together."""

    kind = "splitter-configuration"


class UnknownSplitter(SplitError):
    """The name of a splitter that JIM does not have."""

    kind = "unknown-splitter"


class JobLimitExceeded(SplitError):
    """One job more than the request allows itself."""

    kind = "job-limit-exceeded"


class TooManyJobs(SplitError):
    """One job more than a manifest may become."""

    kind = "too-many-jobs"
