"""jim outputs."""

from tests.support.cli_home import EVIL, EVIL_SHOWN

# outputs


def test_the_tar_and_the_files_beside_it_are_listed(home, tmp_path):
    home.add()
    tar = tmp_path / "1.tar"
    tar.touch()
    result = {"tar": str(tar), "bytes": 5_500_000, "local_jobs": 4, "beside": ["mass.svg"]}
    home.finish("completed", **result, line=f"peak at 91.2 GeV {EVIL}")
    assert home.out("outputs", "1") == (
        f"tar          {tar} (5.5 MB, outputs of 4 of 4 local jobs)\n"
        f"beside it    {tmp_path}/mass.svg\n"
        f"result       peak at 91.2 GeV {EVIL_SHOWN}\n"
    )
    document = home.json("outputs", "1")
    assert document["result"]["bytes"] == 5_500_000
    assert document["beside"] == [f"{tmp_path}/mass.svg"]
    tar.unlink()
    lost = f"jim: {tar} does not exist: it was removed, or the work directory is not mounted\n"
    assert home.run("outputs", "1") == (1, "", lost)
    assert home.run("outputs", "1", "--json") == (1, "", lost)


def test_what_failed_and_killed_local_jobs_have_left_is_counted(home, tmp_path):
    home.add()
    tar = tmp_path / "1.tar"
    tar.touch()
    for count, words in ((1, "1 failed or killed one has left"), (1200, "1,200 failed or killed ones have left")):
        home.finish("failed", tar=str(tar), bytes=5_500_000, local_jobs=3, unfinished=count, line="")
        assert (
            home.out("outputs", "1") == f"tar          {tar} (5.5 MB, outputs of 3 of 4 local jobs, and what {words})\n"
        )


def test_a_grid_job_without_a_tar_says_why(home):
    home.add()
    home.finish("failed", "cannot be split: x")
    assert home.run("outputs", "1") == (1, "", "jim: 1 has no outputs: failed: cannot be split: x\n")
