"""What is alike for all splitters."""

import pytest

from jim.splitting.errors import UnknownSplitter
from jim.splitting.registry import known, split
from tests.support.splitting_work import work


def test_a_splitter_is_known_by_its_name():
    assert {"EventBased", "LumiBased", "EventAwareLumiBased", "WMBSMergeBySize", "Harvest"} <= set(known())
    with pytest.raises(UnknownSplitter, match="did you mean 'EventBased'") as caught:
        split("EventBase", {}, work())
    assert (caught.value.kind, caught.value.value) == ("unknown-splitter", "EventBase")
    for name in (None, 7, "", "../os", "__init__"):
        with pytest.raises(UnknownSplitter):
            split(name, {}, work())


FILE_SPLITTERS = [
    *("EventBased", "LumiBased", "EventAwareLumiBased", "EventAwareLumiByWork", "FileBased", "MinFileBased"),
    *("SizeBased", "RunBased", "FixedDelay", "Harvest"),
    *("ParentlessMergeBySize", "WMBSMergeBySize", "SiblingProcessingBased"),
]


@pytest.mark.parametrize("splitter", FILE_SPLITTERS)
@pytest.mark.parametrize("is_open", [True, False])
def test_nothing_comes_of_nothing(splitter, is_open):
    assert list(split(splitter, {}, work(open=is_open))) == []
