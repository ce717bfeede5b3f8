"""The lint command: dearest first, as text and as JSON."""

import json


def test_odd_things_are_listed_and_are_no_error(run, problem, write):
    problem["kernels"]["look"]["likelihood"] = {"on": [0.5, 0.5], "off": [0.5, 0.5]}
    path = write(problem)
    result = run("lint", path)
    assert result.exit_code == 0
    assert (
        f"{path}: note: inseparable: no probe tells on, off from each other; knowing would save 1.8 s" in result.stdout
    )
    (line,) = run("lint", path, "--json").stdout.splitlines()
    assert [f["code"] for f in json.loads(line)["findings"]] == ["inseparable", "uninformative"]


def test_a_sensible_file_has_nothing_odd(run, lid):
    assert run("lint", lid).stdout == f"{lid}: nothing odd\n"


def test_a_faulty_file_is_refused(run, problem, write):
    problem["beliefs"][0]["residual"] = -1
    result = run("lint", write(problem))
    assert result.exit_code == 2
    assert "beliefs[0].residual" in result.stderr
