"""A toy door whose gatekeeper submits again after its cancels, fetches the outputs, and shows a line of progress."""

from tests.unit.shell.toy import Toy, line


class Fetching(Toy):
    has_generations = True
    progress_seconds = 30.0

    def state(self, told):
        return super().state(told) if told.standing.final else line(now=told.standing, doing=told.progress)

    def attributes(self, asked, own):
        outputs = {"outputs": asked["outputs"]} if "outputs" in asked and "times" not in asked else {}
        tar = {"tar": asked["tar"]} if "tar" in asked else {}
        return {**super().attributes(asked, own), **outputs, **tar}

    def places(self, asked):
        place = asked.get("place")
        if not place:
            return {}
        names = ("stdout", "stderr", *asked.get("outputs", ()))
        return {"directory": place, "files": {name: f"{place}/{name}" for name in names}, "tar": f"{place}/all.tar"}
