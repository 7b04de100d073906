"""The kinds of values in JDF, JDL and RSL."""

from __future__ import annotations

from jim.request import jdf, rsl


def test_numbers_become_what_the_job_type_declares():
    means = {"job_type": "pythia_monte_carlo", "events": 1000, "mass_min_gev": 70.5, "mass_max_gev": 100.0}
    assert jdf.parse("job_type=pythia_monte_carlo\nevents=+1000\nmass_min_gev=7.05e1\nmass_max_gev=100.") == means
    assert rsl.parse("(jobType=pythia_monte_carlo)(events=1000)(massMinGeV=70.5)(massMaxGeV=100)") == means
