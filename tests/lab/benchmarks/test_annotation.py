"""Ground truth: what failed, what undoing it takes on either graph, and which probes would have sufficed."""

import pytest

from aquamend import Action, Belief, Discrete, Hypothesis, InformationState, JointModel, Probe, Problem, RecoveryGraph
from aquamend_lab.benchmarks.scenario import Scenario, annotate, minimal_reprobe, truths_of_model


def two_cups(cheap=0.4, dear=0.5):
    """Either cup may have changed; one probe tells the left, one the right, and one both at once for more."""
    graph = RecoveryGraph(
        [Belief("left", 50.0), Belief("right", 50.0)],
        [Action("grasp", undo=8.0, executed=True), Action("pour", undo=9.0, executed=True)],
        [Probe("look left", cheap), Probe("look right", dear), Probe("look twice", 2.0)],
        [("left", "grasp", "belief_to_action"), ("right", "pour", "belief_to_action")],
    )
    hypotheses = [
        Hypothesis("nothing", 0.4, cause="false_alarm"),
        Hypothesis("left changed", 0.3, ("left",), cause="external"),
        Hypothesis("right changed", 0.3, ("right",), cause="self_error"),
    ]
    tells_left, tells_right = [[1, 0], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 1]]
    kernels = {
        "look left": Discrete(["ok", "off"], tells_left),
        "look right": Discrete(["ok", "off"], tells_right),
        "look twice": Discrete(["ok", "l", "r"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    }
    return Problem(graph, JointModel(hypotheses, kernels), restart=30.0)


def annotated(truth):
    problem = two_cups()
    state = InformationState.alarmed(problem)
    scenario = Scenario(
        "toy-v1", 0, 0, state, truths_of_model(state, "toy-v1", 0, 0)[truth : truth + 1], features={"cups": 2}
    )
    return annotate(scenario)


def minimal(state, hypothesis):
    return minimal_reprobe(state, next(t for t in truths_of_model(state, "toy-v1", 0, 0) if t.hypothesis == hypothesis))


def test_the_annotation_names_what_failed_and_why():
    line = annotated(1)
    assert (line["suite"], line["restart_cost"], line["features"]) == ("toy-v1", 30.0, {"cups": 2})
    truth = line["truths"][0]
    assert truth["failed"] == ("left",)
    assert truth["attribution"] == "external"


def test_the_minimal_rollback_is_given_for_both_granularities():
    truth = annotated(1)["truths"][0]
    assert truth["rollback"] == {"fine": ("grasp",), "linear-chain": ("grasp", "pour")}
    assert truth["rollback_cost"] == {"fine": 8.0, "linear-chain": 17.0}


def test_the_minimal_reprobe_is_the_cheapest_set_that_leads_to_the_right_decision():
    state = InformationState.alarmed(two_cups())
    assert minimal(state, 0) == ("look left", "look right")
    assert minimal(state, 1) == ("look left",)
    assert minimal(state, 2) == ("look left",)  # it holds, so correcting the right is best, and right


def test_a_dear_pair_gives_way_to_one_probe_that_tells_both():
    assert minimal(InformationState.alarmed(two_cups(cheap=1.2, dear=1.3)), 0) == ("look twice",)


def test_nothing_needs_asking_where_the_best_stop_is_right_already():
    problem = two_cups()
    sure = InformationState(problem, problem.model.prior * [0, 1, 0] / 0.3)
    assert minimal(sure, 1) == ()


def test_no_set_is_said_to_suffice_where_none_does():
    graph = RecoveryGraph(
        [Belief("b", 50.0)], [Action("a", undo=8.0, executed=True)], [], [("b", "a", "belief_to_action")]
    )
    model = JointModel([Hypothesis("fine", 0.5), Hypothesis("bad", 0.5, ("b",))])
    assert minimal(InformationState.alarmed(Problem(graph, model)), 0) is None


@pytest.mark.parametrize("budget", [0.45, 0.95])
def test_sets_beyond_the_sensing_budget_do_not_count(budget):
    from dataclasses import replace

    state = InformationState.alarmed(replace(two_cups(), sensing_budget=budget))
    assert minimal(state, 0) == (None if budget < 0.9 else ("look left", "look right"))
