"""Takes the pictures of the documentation from real runs: `make screenshots` runs this by hand.

A keeper runs three tasks that feed one another. Another runs three grid jobs on the batch system `local`: a small one,
one of which every local job fails, and one of 10,000 local jobs of which some fail. As soon as the first task has
completed half of its pieces, and the given share of the local jobs has ended, `jim pages` is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

HOME = Path(__file__).parents[2]
IMAGES = HOME / "docs/images"
SIZE = 10_000
PAYLOAD = """\
#!/bin/sh
for event in 1 2 3 4 5; do echo "run $1, event $event: 2 tracks, 1 vertex"; done
"$JIM_PUBLISH" phase reconstruct 5 5 events
sleep 0.2
[ $(($1 % 37)) -ne 0 ] || { echo "calibration of run $1 is missing" >&2; exit 3; }
[ $(($1 % 211)) -ne 0 ] || kill -SEGV $$
"""
SITE = '[site]\nname = "Linear Collider Farm"\n[batch]\nslots = {slots}\n[keep]\nidle_seconds = 600\n'
SHOTS = {"pages-site.png": "/", "pages-grid-job.png": "/jobs/3", "pages-local-job.png": "/jobs/3/37"}
SHOTS_OF_TASKS = {"pages-task.png": "/tasks/reconstruct"}
LOOKS = {
    "light": {"viewport": {"width": 1000, "height": 800}},
    "dark": {"viewport": {"width": 1000, "height": 800}, "color_scheme": "dark"},
    "390": {"viewport": {"width": 390, "height": 844}},
    "320": {"viewport": {"width": 320, "height": 700}, "color_scheme": "dark"},
}


def jim(state: Path, *words: str) -> str:
    """Run a verb of `jim`."""
    environment = {**os.environ, "JIM_STATE": str(state)}
    done = subprocess.run([HOME / "shell/jim", *words], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def hand_in(state: Path, place: Path) -> None:
    """Submit the grid jobs."""
    payload = place / "reconstruct"
    payload.write_text(PAYLOAD)
    payload.chmod(0o755)
    for name, numbers in (("small", range(1, 13)), ("wrong", range(37, 37 * 9, 37)), ("large", range(SIZE))):
        request = {"job_type": "parametric", "executable": str(payload), "key": f"reconstruction-{name}"}
        request |= {"argument_sets": [[str(each)] for each in numbers]}
        (place / f"{name}.json").write_text(json.dumps(request))
        jim(state, "submit", str(place / f"{name}.json"))


def start_tasks(state: Path, place: Path) -> None:
    """Start the chain of the demo, with five times as many events, and wait until half of them are there."""
    examples = HOME / "examples/tasks"
    for name in ("reconstruct", "merge"):
        shutil.copy(examples / name, place)
    for store in ("generated", "reconstructed", "peak"):
        (place / store).mkdir()
    text = (examples / "chain.toml").read_text().replace("2_000", "10_000").replace("2,000", "10,000")
    (place / "chain.toml").write_text(text)
    jim(state, "task", "create", str(place / "chain.toml"))
    jim(state, "task", "start", "--untested", "generate", "reconstruct", "merge")
    while (completed := _completed(state)) < 50:
        print(f"{completed} of 100 pieces are completed", flush=True)
        time.sleep(5)


def _completed(state: Path) -> int:
    told = json.loads(jim(state, "task", "status", "generate", "--json"))
    return int(told["pieces"].get("completed", 0))


def wait(state: Path, share: float) -> None:
    """Wait until this share of the large grid job has ended."""
    while True:
        counts = json.loads(jim(state, "status", "3", "--json"))[0]["counts"]
        ended = sum(counts.get(each, 0) for each in ("completed", "failed"))
        print(f"{ended:,} of {SIZE:,} have ended", flush=True)
        if ended >= share * SIZE:
            return
        time.sleep(10)


def take(browser: Browser, url: str, shots: dict[str, str], to: Path, looks: list[str]) -> None:
    """Take the pictures: the documented ones are light, and others are for whoever changes the pages."""
    host = url.partition("/?")[0]
    first = browser.new_context()
    first.new_page().goto(url)  # it works once
    login = first.storage_state()
    for look in looks:
        context = browser.new_context(**LOOKS[look], storage_state=login)  # type: ignore[arg-type]
        page = context.new_page()
        for name, path in shots.items():
            page.goto(f"{host}{path}")
            page.wait_for_load_state("networkidle")
            file = to / (name if look == "light" else name.replace(".png", f"-{look}.png"))
            page.screenshot(path=file, full_page=look != "light")
            print(file, file.stat().st_size)
        context.close()


def look(state: Path, shots: dict[str, str], to: Path, looks: list[str]) -> None:
    """Serve the pages of a state directory, and take their pictures."""
    pages = subprocess.Popen(
        [HOME / "shell/jim", "pages"], env={**os.environ, "JIM_STATE": str(state)}, stdout=subprocess.PIPE, text=True
    )
    assert pages.stdout
    url = next(found[0] for line in pages.stdout if (found := re.search(r"http://\S+", line)))
    to.mkdir(exist_ok=True)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            take(browser, url, shots, to, looks)
    finally:
        pages.terminate()


def make_state(state: Path, slots: int) -> Path:
    """Make a state directory with a site of so many slots."""
    state.mkdir(mode=0o700)
    (state / "site.toml").write_text(SITE.format(slots=slots))
    return state


def main() -> None:
    """Run, wait, look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.7, help="of the 10,000 local jobs that must have ended")
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--to", type=Path, default=IMAGES)
    parser.add_argument("--looks", nargs="*", default=["light"], choices=LOOKS)
    asked = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="jim-screenshots-"))
    print(place)
    tasks = make_state(place / "tasks", asked.slots)
    start_tasks(tasks, place)
    look(tasks, SHOTS_OF_TASKS, asked.to, asked.looks)
    jim(tasks, "task", "pause", "--all", "--kill")
    state = make_state(place / "state", asked.slots)
    hand_in(state, place)
    wait(state, asked.share)
    look(state, SHOTS, asked.to, asked.looks)
    jim(state, "cancel", "3")


if __name__ == "__main__":
    sys.exit(main())
