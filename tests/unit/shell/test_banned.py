"""The doors of a site that has banned a sender."""

from jim.site import bans
from tests.support.certificates import PROXY

OWNER = "/DC=org/DC=example/O=People/CN=José Ramón 17"


def test_a_banned_sender_is_told_so_in_the_gatekeeper_s_words_and_others_are_served(place):
    proxy = place.directory / "proxy"
    proxy.write_bytes(PROXY)

    def submit(key, with_proxy=True):
        lines = 'job_type = "executable"\nexecutable = "/bin/true"\n' + f'key = "{key}"\n'
        return place.door("jim-submit", str(place.request(lines + f'proxy = "{proxy}"\n' * with_proxy)))

    assert submit("a")[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")
    for who, named in ((OWNER, OWNER), ("dteam", "the VO dteam")):
        bans.ban(place.site, [who], "", "floods the queue")
        code, out, error = submit("b")
        assert code == 1
        assert out.startswith(
            f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:the site has taken no new grid jobs of {named} since 20"
        )
        assert out.endswith(": floods the queue; what it has taken in goes on\nGRAM_SCRIPT_ERROR:3\n\n")
        assert error.startswith(f"jim-submit: the site has taken no new grid jobs of {named}")
        assert submit("a")[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")  # the same key is the same grid job
        bans.unban(place.site, [who])
    bans.ban(place.site, [OWNER])
    assert place.door("jim-cancel", "1")[0] == 0
    assert submit("c", with_proxy=False)[1].startswith("GRAM_SCRIPT_JOB_ID:2\n")
    bans.unban(place.site, [OWNER])
    assert submit("b")[1].startswith("GRAM_SCRIPT_JOB_ID:3\n")
