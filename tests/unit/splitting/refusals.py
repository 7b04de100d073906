"""Values that are refused."""

import pytest

from jim.errors import BadRequest
from jim.splitting.errors import SplitError
from jim.splitting.parameters import check
from jim.splitting.registry import splitter_of


def refused(kind, call, *arguments):
    with pytest.raises(kind) as caught:
        call(*arguments)
    error = caught.value
    assert isinstance(error, SplitError)
    assert isinstance(error, BadRequest)
    assert str(error).startswith(error.key)
    return error


def parameters(splitter, **given):
    return check(splitter_of(splitter).Parameters, given)
