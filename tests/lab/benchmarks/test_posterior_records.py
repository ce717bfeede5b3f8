"""What records keep of the posterior, worked out by hand on one belief and on two."""

from dataclasses import replace

import pytest

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel
from aquamend_lab.benchmarks.play import Probabilities, play
from aquamend_lab.benchmarks.scenario import Scenario, truths_of_model


def posed(*, which):
    """Two beliefs that fail together or not at all but for one case; one perfect probe of the first."""
    graph = RecoveryGraph(
        [Belief("left", 10), Belief("right", 10)],
        [Action("lift", undo=8, executed=True)],
        [Probe("look", 0.1)],
        [("look", "left", "detection"), ("left", "lift", "belief_to_action"), ("right", "lift", "belief_to_action")],
    )
    hypotheses = [
        Hypothesis("fine", 0.5),
        Hypothesis("both", 0.3, ("left", "right")),
        Hypothesis("one", 0.2, ("right",)),
    ]
    kernel = Discrete(("holds", "off"), {"fine": [1, 0], "both": [0, 1], "one": [1, 0]})
    state = InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"look": kernel})))
    possible = truths_of_model(state, "toy-v1", 0, 0)
    return Scenario("toy-v1", 0, 0, state, truths=(replace(possible[which], weight=1.0),))


KEEP = Probabilities({"any side": ("left", "right", "nobody")})


def lines(record, when):
    return {
        line["event"]: (line["q"], line["so"], line["version"])
        for line in record["declarations"]
        if line["when"] == when
    }


def test_old_declarations_have_their_probability_their_version_and_the_truth():
    record = play(posed(which=2), "aquamend", expected=False, keep=KEEP)
    assert lines(record, "old") == {
        "left": (pytest.approx(0.3), False, 1),
        "right": (pytest.approx(0.5), True, 1),
        "any side": (pytest.approx(0.5), True, None),  # the union, not the sum of 0.3 and 0.5
    }


def test_current_declarations_are_what_the_evidence_supports_now_and_judged_as_such():
    record = play(posed(which=2), "aquamend", expected=False, keep=KEEP)
    q, so, version = lines(record, "current")["right"]  # rejected at one half: its negation is declared
    assert (q, so, version) == (pytest.approx(0.5), False, 2)
    assert lines(record, "current")["left"] == (pytest.approx(0.3), False, 1)


def test_the_posterior_is_kept_at_every_decision():
    record = play(posed(which=1), "aquamend", expected=False, keep=KEEP)
    assert record["steps"][0] == "look: off"
    assert record["posterior"]["beliefs"] == ["left", "right"]
    first, second = record["posterior"]["at"]
    assert (first, second) == (pytest.approx([0.3, 0.5]), [1.0, 1.0])


def test_nothing_is_kept_unless_it_is_asked_for():
    record = play(posed(which=0), "aquamend", expected=False)
    assert not {"declarations", "posterior"} & set(record)
    record = play(posed(which=0), "aquamend", expected=False, keep=Probabilities(over_time=False))
    assert "posterior" not in record


def test_rollback_receipts_are_counted():
    assert play(posed(which=1), "aquamend", expected=False)["rollbacks"] == 1.0
    assert play(posed(which=0), "aquamend", expected=False)["rollbacks"] == 0.0
