"""The doors of a site that is drained."""

from jim.site import drain


def test_a_drained_site_answers_each_gatekeeper_and_goes_on_with_what_it_has(place):
    file = place.request('job_type = "executable"\nexecutable = "/bin/true"\nkey = "a"\n')
    code, out, _ = place.door("jim-submit", str(file))
    assert (code, out.splitlines()[0]) == (0, "GRAM_SCRIPT_JOB_ID:1")
    drain.drain(place.site, "", "disks are exchanged")
    code, out, _ = place.door("jim-submit", str(file))
    assert (code, out.splitlines()[0]) == (0, "GRAM_SCRIPT_JOB_ID:1")  # the same key is the same grid job
    code, out, error = place.door(
        "jim-submit", str(place.request('job_type = "executable"\nexecutable = "/bin/true"\nkey = "b"\n'))
    )
    assert code == 1
    assert out.startswith("GRAM_SCRIPT_GT3_FAILURE_MESSAGE:the site has taken no new grid jobs since 20")
    assert out.endswith(": disks are exchanged; what it has taken in goes on\nGRAM_SCRIPT_ERROR:3\n\n")
    assert error.startswith("jim-submit: the site has taken no new grid jobs")
    assert place.door("jim-cancel", "1")[0] == 0
    assert sorted(path.name for path in (place.state / "answers").iterdir()) == ["1"]  # no number was drawn
