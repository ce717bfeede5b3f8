"""Several runs of one suite as one table."""

from pathlib import Path

import pytest

from aquamend.errors import InvalidRun
from aquamend_lab.analysis.comparison import compare, side
from aquamend_lab.analysis.table import merged, require_same_scenarios, table_of
from aquamend_lab.records import Run


def run(folder, losses, *, suite="m1-v2", failed=("b1",), timed=False, **manifest):
    """Return a run of some policies, each with its losses."""
    records = [
        {"suite": suite, "scenario": i, "seed": 0, "policy": name, "group": {}, "loss": loss}
        for name, own in losses.items()
        for i, loss in enumerate(own)
    ]
    n = max(map(len, losses.values()))
    annotations = [
        {"suite": suite, "scenario": i, "seed": 0, "group": {}, "truths": [{"failed": list(failed)}]} for i in range(n)
    ]
    timings = [line | {"decision_ms": 1.0} for line in records] if timed else []
    about = {"suite": suite, "policies": list(losses), "scenarios": n, "seeds": 1} | manifest
    return Run(Path(folder), about, records, annotations, timings)


def test_a_policy_is_added_to_published_results_without_running_the_rest():
    ours = run("results/m1", {"aquamend": [1.0, 2.0], "restart": [5.0, 5.0]}, timed=True)
    (both,) = merged([ours, run("runs/mine", {"mine": [0.5, 3.0]}, timed=True)])
    table = table_of(both)
    assert table.policies == ("aquamend", "restart", "mine")
    assert table.column("loss").tolist() == [[1.0, 5.0, 0.5], [2.0, 5.0, 3.0]]
    assert table.has("decision_ms")
    assert [part.folder for part in both.parts] == [Path("results/m1"), Path("runs/mine")]
    (found,) = compare(side(table, "mine"), side(table, "aquamend"))
    assert (found.pairs, found.mean_difference) == (2, 0.25)


def test_runs_of_different_suites_stay_apart():
    found = merged([run("a", {"x": [1.0]}), run("b", {"x": [1.0]}, suite="other"), run("c", {"y": [1.0]})])
    assert [(one.suite, len(one.records)) for one in found] == [("m1-v2", 2), ("other", 1)]


def test_a_policy_on_which_runs_agree_is_one():
    (both,) = merged([run("a", {"x": [1.0]}), run("b", {"x": [1.0, 2.0], "y": [3.0, 4.0]})])
    assert table_of(both).policies == ("x", "y")
    assert [line["loss"] for line in both.records if line["policy"] == "x"] == [1.0, 2.0]
    assert (both.manifest["scenarios"], len(both.annotations)) == (2, 2)


def test_a_policy_on_which_runs_differ_is_shown_for_each():
    (both,) = merged([run("a", {"x": [1.0], "y": [3.0]}), run("b", {"x": [2.0]})])
    assert table_of(both).policies == ("x in a", "y", "x in b")
    assert table_of(both).column("loss").tolist() == [[1.0, 3.0, 2.0]]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"suite": "other"}, "its suite is 'other', that of a is 'm1-v2'"),
        ({"failed": ()}, "scenario 0, seed 0, is another one than in a"),
        ({"own_suite": "2"}, "what the suite is made of is not what it was for a"),
        ({"unit": "EUR"}, "the unit is not what it was for a"),
    ],
)
def test_runs_that_faced_something_else_are_refused(other, message):
    first, second = run("a", {"x": [1.0]}, own_suite="1", unit="min"), run("b", {"y": [1.0]}, **other)
    with pytest.raises(InvalidRun, match=message):
        require_same_scenarios(first, second)
    if "suite" not in other:
        with pytest.raises(InvalidRun, match=message):
            merged([first, second])
