"""Very many hypotheses as arrays: they say just what as many objects would say."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.tiers import cases

from aquamend import AquaMend, InformationState
from aquamend.errors import InvalidProblem
from aquamend.problem import Problem
from aquamend.problem.building import Effect, RootCause, joint_model
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Discrete, Hypotheses, Hypothesis, JointModel
from aquamend.problem.model.hypotheses import CAUSES, ByHypothesis, Cause, Combined, Numbered

GRAPH = RecoveryGraph(
    [Belief("pose", 20.0), Belief("level", 15.0, declared=10.0, tolerance=1.0), Belief("target", 30.0, declared="A")],
    [Action("grasp", undo=3.0, executed=True)],
    [Probe("look", cost=0.2)],
    [("look", "pose", "detection"), ("pose", "grasp", "belief_to_action"), ("target", "grasp", "belief_to_action")],
)
LOOK = np.array([[0.9, 0.1], [0.2, 0.8]])


def columns(rng: np.random.Generator, n: int = 12) -> Hypotheses:
    """Random hypotheses: some fail without a value, some are true otherwise."""
    level = np.array([None, 10.5, 30.0, 40.0], dtype=object)[rng.integers(0, 4, n)]
    lost = rng.random(n) < 0.2
    level[lost] = None
    return Hypotheses(
        rng.dirichlet(np.ones(n)),
        {"pose": rng.random(n) < 0.3, "level": lost},
        {"level": level, "target": np.array([None, "B"], dtype=object)[rng.integers(0, 2, n)]},
        rng.integers(0, len(CAUSES), n).astype(np.int8),
    )


def problem(hypotheses: Hypotheses | tuple[Hypothesis, ...]) -> Problem:
    rows = LOOK[np.arange(len(hypotheses)) % 2]
    return Problem(GRAPH, JointModel(hypotheses, {"look": Discrete(["fits", "differs"], rows)}), restart=25.0)


@pytest.mark.parametrize("seed", range(cases(20, 200)))
def test_columns_mean_what_the_same_hypotheses_one_by_one_mean(seed):
    made = columns(np.random.default_rng(seed))
    arrays, objects = problem(made), problem(tuple(made))
    np.testing.assert_array_equal(arrays.failed, objects.failed)
    np.testing.assert_array_equal(arrays.model.prior, objects.model.prior)
    np.testing.assert_array_equal(arrays.model.causes, objects.model.causes)
    for belief, truth in objects.truth.items():
        np.testing.assert_array_equal(arrays.truth[belief], truth)
    assert list(arrays.model.names) == list(objects.model.names)
    assert arrays.declarations == objects.declarations
    one, other = (AquaMend().next_step(InformationState.alarmed(p)) for p in (arrays, objects))
    assert one == other


def test_columns_survive_a_pickle():
    whole = problem(columns(np.random.default_rng(1)))
    again = pickle.loads(pickle.dumps(whole))
    assert list(again.model.hypotheses) == list(whole.model.hypotheses)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prior": np.array([0.5, 0.6])}, "the priors sum to 1.1"),
        ({"prior": np.array([1.5, -0.5])}, "1.5 is not a probability"),
        ({"failed": {"pose": np.array([True])}}, "hypotheses.failed.pose: it has shape (1,)"),
        ({"failed": {"nose": np.array([True, False])}}, "'nose' is not a belief"),
        ({"truth": {"pose": np.array([None, 3.0], dtype=object)}}, "'pose' declares no value"),
        ({"truth": {"level": np.array([None, "B"], dtype=object)}}, "'B' is not a number"),
        ({"cause": np.array([0, 9], dtype=np.int8)}, "no position in list(Cause)"),
        ({"names": ["a", "a"]}, "one given twice"),
        (
            {"failed": {"level": np.array([True, False])}, "truth": {"level": np.array([3.0, None], dtype=object)}},
            "'level' is given in truth too",
        ),
    ],
)
def test_columns_that_cannot_be_meant_are_refused(given, said):
    with pytest.raises(InvalidProblem) as refused:
        problem(Hypotheses(**{"prior": np.array([0.5, 0.5])} | given))
    assert said in str(refused.value)


def test_one_cause_may_be_given_for_all():
    assert {h.cause for h in Hypotheses(np.full(3, 1 / 3), cause=Cause.EXTERNAL)} == {Cause.EXTERNAL}


def test_names_are_found_without_making_them_all():
    names = Combined([["slipped"], ["shelf=moved", "shelf=gone"]], np.array([[0, 0], [1, 0], [1, 2]]), "nothing")
    assert list(names) == ["nothing", "slipped", "slipped + shelf=gone"]
    assert [names.find(name) for name in names] == [0, 1, 2]
    assert [names.find(name) for name in ("shelf=moved", "shelf=gone + slipped", "slipped + slipped", "")] == [None] * 4
    numbered = Numbered(1_000_000)
    assert (numbered[-1], numbered.find("h999999"), numbered.find("h1000000"), numbered.find("h007")) == (
        "h999999", 999_999, None, None)  # fmt: skip
    assert numbered[2:4] == ("h2", "h3")
    assert "hello" not in numbered


def test_what_is_said_by_rules_is_a_mapping_by_name():
    said = ByHypothesis(("a", "b", "c"), [0.1, 0.7, 0.9], np.array([1, 1, 0]))
    assert dict(said) == {"a": 0.7, "b": 0.7, "c": 0.1}
    assert said.first_of_each() == [(0, 0.7), (2, 0.1)]
    with pytest.raises(KeyError):
        said["d"]


def test_effects_are_applied_to_columns_as_to_hypotheses_one_by_one():
    causes = [
        RootCause.single("slipped", 0.2, ["pose"]),
        RootCause.single("added", 0.3, truth={"level": 30.0}),
        RootCause.single("spilled", 0.1, truth={"level": 2.0}),
    ]
    effects = [
        Effect("added & spilled", failed=["level"]),
        Effect("level > 20", truth={"target": "B"}),
        Effect("slipped & added", truth={"level": 10.0}),
    ]
    made = joint_model(GRAPH, causes, effects=effects, kernels={"look": Discrete(["fits", "differs"], {
        "default": LOOK[0], "pose": LOOK[1]})})  # fmt: skip
    found = {h.name: (h.failed, dict(h.truth)) for h in made.hypotheses}
    assert found == {
        "nothing": ((), {}),
        "slipped": (("pose",), {}),
        "added": ((), {"level": 30.0, "target": "B"}),
        "spilled": ((), {"level": 2.0}),
        "slipped + added": (("pose",), {"level": 10.0, "target": "B"}),
        "slipped + spilled": (("pose",), {"level": 2.0}),
        "added + spilled": (("level",), {}),
        "slipped + added + spilled": (("pose",), {"level": 10.0}),
    }


def test_of_many_causes_hardly_a_name_and_no_object_is_made_to_decide(monkeypatch):
    asked = []
    made = Combined.made
    monkeypatch.setattr(Combined, "made", lambda self, at: asked.extend(at) or made(self, at))
    monkeypatch.delattr(Hypotheses, "__getitem__")
    graph = RecoveryGraph([Belief(f"b{i}", 20.0) for i in range(9)], probes=[Probe("look", cost=0.1)])
    causes = [RootCause.single(f"c{i}", 0.05, [f"b{i}"]) for i in range(9)]
    kernels = {"look": Discrete(["fits", "differs"], {"default": LOOK[0], "c0 | c1": LOOK[1]})}
    alarm = Alarm(noisy_or={"leak": 0.05, "c0": 0.9, "c3": 0.4})
    state = InformationState.alarmed(Problem(graph, joint_model(graph, causes, kernels=kernels, alarm=alarm)))
    AquaMend().next_step(state)
    assert len(state.posterior) == 2**9
    assert len(asked) < 10  # one for each rule, to say of whom it is said first
