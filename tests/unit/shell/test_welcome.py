"""The doors of a site that takes no more grid jobs: of a sender, or for lack of room."""

import re

from tests.support.certificates import PROXY

HUGE = "[disk]\nwork_warn_mb = 1_000_000_000\nwork_stop_mb = 1_000_000_000\n"


def test_without_room_on_a_disk_a_new_request_is_refused_and_the_site_goes_on_by_itself(place):
    file = place.request('job_type = "executable"\nexecutable = "/bin/true"\nkey = "a"\n')
    assert place.door("jim-submit", str(file))[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")
    (place.state / "site.toml").write_text(HUGE)
    assert place.door("jim-submit", str(file))[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")
    assert place.door("jim-cancel", "1")[0] == 0
    file = place.request('job_type = "executable"\nexecutable = "/bin/true"\nkey = "b"\n')
    code, out, error = place.door("jim-submit", str(file))
    told = (
        rf"the disk of the work directory {place.state}/work has [0-9,]+ MB left, and disk\.work_stop_mb is "
        "1,000,000,000: JIM takes no new grid jobs and sends nothing until there is room; what runs goes on"
    )
    assert code == 1
    assert re.fullmatch(f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{told}\nGRAM_SCRIPT_ERROR:3\n\n", out)
    assert re.fullmatch(f"jim-submit: {told}\n", error)
    (place.state / "site.toml").write_text("")
    assert place.door("jim-submit", str(file))[1].startswith("GRAM_SCRIPT_JOB_ID:2\n")


def test_a_sender_with_as_many_grid_jobs_as_the_site_allows_is_told_so_in_the_gatekeeper_s_words(place):
    (place.state / "site.toml").write_text("[limits]\ngrid_jobs_per_dn = 1\n")
    proxy = place.directory / "proxy"
    proxy.write_bytes(PROXY)

    def submit(key, with_proxy=True):
        lines = 'job_type = "executable"\nexecutable = "/bin/true"\n' + f'key = "{key}"\n'
        return place.door("jim-submit", str(place.request(lines + f'proxy = "{proxy}"\n' * with_proxy)))

    assert submit("a")[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")
    code, out, error = submit("b")
    told = (
        "/DC=org/DC=example/O=People/CN=José Ramón 17 has 1 grid job here that has not finished, and "
        "limits.grid_jobs_per_dn allows 1: submit again when one has finished"
    )
    assert (code, out) == (1, f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{told}\nGRAM_SCRIPT_ERROR:3\n\n")
    assert error == f"jim-submit: {told}\n"
    assert submit("a")[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")
    assert submit("c", with_proxy=False)[1].startswith("GRAM_SCRIPT_JOB_ID:2\n")
