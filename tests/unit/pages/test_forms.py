"""The tokens of forms."""

from __future__ import annotations

from jim.pages.forms import Forms


def test_a_form_is_for_one_client_and_one_hour() -> None:
    now = [1_000_000.0]
    forms = Forms(b"key", lambda: now[0])
    token = forms.made("alice")
    assert forms.wrong(token, "alice") == ""
    assert forms.made("alice") == token
    never = "it does not come from a page of this session"
    made, _, mac = token.partition(".")
    for other in ("", ".", "é.é", mac, f"{int(made) + 1}.{mac}", f"{token}0", "\ud800.x", forms.made("bob")):
        assert forms.wrong(other, "alice") == never, other
    assert forms.wrong(token, "bob") == never
    assert Forms(b"yek", lambda: now[0]).wrong(token, "alice") == never
    now[0] += 3600
    assert forms.wrong(token, "alice") == ""
    now[0] += 1
    assert forms.wrong(token, "alice") == "its page was opened more than an hour ago"
