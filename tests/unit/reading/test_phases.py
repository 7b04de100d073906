"""The progress that payloads publish."""

from jim.reading.phases import Phase, add_up
from tests.cli_home import PHASE

# phases


def test_phases_are_added_up():
    published = [
        PHASE.format("generate", 117, 250, "events"),
        '<phase total="250" unit="events" done="250" name="generate"/>',
        PHASE.format("initialise", 1, 1, "steps"),
        PHASE.format("odd", "x", 250, "events"),
        PHASE.format("odd", "²", 250, "events"),
        '<x:other xmlns:x="urn:x"><phase name="a" done="1" total="2" unit="events"/></x:other>',
        "<phase/>",
    ]
    assert add_up((content, 1) for content in published) == [
        Phase("generate", 367, 500, "events", 2),
        Phase("initialise", 1, 1, "steps", 1),
    ]
