"""Which moves are asked about what, and in which order."""

from jim.keeper.rounds import of_grid_job, of_site
from jim.run_grid_job import moves
from tests.stand_ins import World


def test_each_move_is_about_the_site_or_about_one_grid_job():
    names = {move.name: move.is_of_grid_job for move in moves()}
    assert names["TakingInbox"] is names["Asking"] is names["follow_clock"] is False
    assert [name for name, of_one in names.items() if of_one] == [
        *("resolve", "split", "Fulfilling", "Sending", "look_up", "collect", "Answering")
    ]


def test_a_move_is_asked_about_each_open_grid_job_those_of_the_highest_priority_first(tmp_path, monkeypatch):
    world, asked = World(tmp_path, monkeypatch), []
    for key in ("a", "b", "c"):
        world.submit(key=key)
    world.go()
    world.store.set_grid_job(2, priority=5)
    world.rounds.moves = (
        of_site(lambda keeper: asked.append("first")),
        of_grid_job(lambda keeper, job: asked.append(job.id) or 1.0),
        of_site(lambda keeper: asked.append("last")),
    )
    world.go()
    assert asked == ["first", 2, 1, 3, "last"]
