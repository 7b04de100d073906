"""jim splitters."""


def test_splitters_are_listed_with_their_parameters(home):
    names = [each["name"] for each in home.json("splitters")]
    assert {"EventBased", "LumiBased", "ParametricJDL"} <= set(names)
    assert "lumis_per_job" in home.out("splitters", "lumibased")
    told = {each["name"]: each["default"] for each in home.json("splitters", "EventBased")["parameters"]}
    assert told["events_per_job"] == 100
    assert "did you mean 'LumiBased'" in home.run("splitters", "LumiBase")[2]
