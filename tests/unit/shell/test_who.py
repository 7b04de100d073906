"""Doors keep who asked for something, and in which way."""

import json

from jim.doors.inbox import account


def test_a_request_and_a_wish_say_who_asked_and_in_which_way(place):
    file = str(place.request())
    place.door("jim-submit", file)
    place.door("jim", "submit", file)
    place.add(7)
    place.door("jim-cancel", "7")
    place.door("jim", "cancel", "7")
    told = [json.loads(path.read_text()) for path in sorted((place.state / "inbox").glob("[rw]*"))]
    found = sorted((each.get("verb", "submit"), each["by"]) for each in told)
    assert found == [
        ("cancel", f"{account()}, by the command line"),
        ("cancel", f"{account()}, by the door gram"),
        ("submit", f"{account()}, by the command line"),
        ("submit", f"{account()}, by the door gram"),
    ]
