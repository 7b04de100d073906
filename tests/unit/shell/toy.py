"""A whole door, of a gatekeeper that there is not: it speaks JSON, and counts what it was asked for in `work`."""

import json

from jim.doors.contract import Door
from jim.errors import BadRequest
from jim.model import Standing

HINTS = {Standing.ACCEPTED: "wait", Standing.PENDING: "wait", Standing.ACTIVE: "busy"}


def line(**words):
    return json.dumps(words).encode() + b"\n"


class Toy(Door):
    def accepted(self, number):
        return line(id=f"toy-{number}")

    def state(self, told):
        if told.standing.final:
            return line(end=told.standing, code=told.exit_code, why=told.reason)
        return line(now=HINTS.get(told.standing, told.standing))

    def is_final(self, answer):
        return answer.startswith(b'{"end":')

    def cancelled(self, answer):
        return line(cancelled=not self.is_final(answer))

    def refused(self, verb, message, error):
        return line(sorry=message, yours=isinstance(error, BadRequest))

    def reads(self, asked):
        return "work" in asked

    def attributes(self, asked, own):
        count = {"argument_sets": [[]] * asked["times"], "job_type": "parametric"} if "times" in asked else {}
        return {"job_type": "executable", "executable": asked["work"], "key": asked.get("once"), **count}
