"""Any two features in one request, with a real keeper, the local batch system and the real wrapper."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.pairs import features
from tests.pairs.covering import cover
from tests.pairs.scene import Scene

SITES = cover(features.OF_SITES, lambda row: False)


def rows():
    return cover(features.FACTORS, features.excluded, SITES)


def run(here, site, rows_of_site):
    with Scene(here, site) as scene:
        with ThreadPoolExecutor(2) as several:
            list(several.map(scene.hand_in, rows_of_site, [f"k{n}" for n in range(len(rows_of_site))]))
        scene.await_ends()
        if faults := scene.faults():
            pytest.fail("\n".join(faults), pytrace=False)


@pytest.mark.torture
@pytest.mark.parametrize("number", range(len(SITES)))
def test_all_pairs_of_features(number, tmp_path):
    site = SITES[number]
    of_site = [row for row in rows() if all(row[name] == level for name, level in site.items())]
    run(tmp_path, site, [{name: row[name] for name in features.FACTORS} for row in of_site])
