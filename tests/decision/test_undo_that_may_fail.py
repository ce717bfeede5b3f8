"""An undo that succeeds with a probability, and doing again, priced as by enumerating every set by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend import (
    Action,
    Belief,
    Discrete,
    Exact,
    Hypothesis,
    InformationState,
    JointModel,
    Observation,
    Probe,
    Problem,
    RecoveryGraph,
    best_terminal,
    evaluate,
)
from aquamend.decision import NewDeclaration, RollBack, closures
from aquamend.decision.endings import endings_of
from aquamend.decision.terminal import listed_endings
from aquamend.policies import AquaMend
from aquamend.policies.policy import Committed


@st.composite
def problems(draw):
    n, n_hypotheses = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    beliefs = [Belief(f"b{i}", draw(st.sampled_from([0.0, 4.0, 20.0]))) for i in range(n)]
    actions = [
        Action(
            f"a{j}",
            undo=draw(st.sampled_from([0.5, 2.0, 5.0])),
            redo=draw(st.sampled_from([0.0, 1.5])),
            executed=True,
            undo_succeeds=draw(st.sampled_from([0.2, 0.7, 0.9, 1.0])),
        )
        for j in range(draw(st.integers(1, 3)))
    ]
    edges = [
        (b.name, a.name, "belief_to_action") for b in beliefs for a in actions if draw(st.booleans())
    ]  # fmt: skip
    weights = [draw(st.integers(1, 9)) for _ in range(n_hypotheses)]
    hypotheses = [
        Hypothesis(f"h{s}", w / sum(weights), [b.name for b in beliefs if draw(st.booleans())])
        for s, w in enumerate(weights)
    ]
    rows = {h.name: [p := draw(st.sampled_from([0.1, 0.5, 0.8])), 1 - p] for h in hypotheses}
    probes = [Probe("look", draw(st.sampled_from([0.1, 1.0])))]
    graph = RecoveryGraph(beliefs, actions, probes, [*edges, ("look", "b0", "detection")])
    return Problem(graph, JointModel(hypotheses, {"look": Discrete(["y", "n"], rows)}), escalate=30.0)


def by_hand(problem, posterior):
    """Return the least loss over all correction sets, each written out."""
    graph, losses = problem.graph, [30.0]
    for chosen in itertools.product([False, True], repeat=len(graph.beliefs)):
        corrected = [b.name for b, c in zip(graph.beliefs, chosen, strict=True) if c]
        undone = set(graph.closure(corrected))
        loss = math.fsum(a.undo + a.redo for a in graph.actions if a.name in undone)
        for i, belief in enumerate(graph.beliefs):
            chance = math.prod(a.undo_succeeds for a in graph.actions if a.name in graph.downstream(belief.name))
            q = float(posterior @ problem.failed[:, i])
            loss += belief.residual * q * ((1 - chance) if chosen[i] else 1.0)
        losses.append(loss)
    return min(losses)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_the_terminal_decision_is_the_best_set_written_out_by_hand(problem):
    state = InformationState.alarmed(problem)
    assert best_terminal(state).loss == pytest.approx(by_hand(problem, state.posterior))
    listed = listed_endings(endings_of(problem), np.zeros(0, dtype=bool), most=1000)
    assert min(float(state.posterior @ e.loss) for e in listed) == pytest.approx(by_hand(problem, state.posterior))


@settings(max_examples=60, deadline=None)
@given(problems())
def test_probing_and_planning_see_the_same_prices(problem):
    state = InformationState.alarmed(problem)
    after = math.fsum(
        float(state.posterior @ problem.model.channels["look"].likelihood(y))
        * by_hand(problem, state.after(Observation("look", y)).posterior)
        for y in ("y", "n")
    )
    best = min(by_hand(problem, state.posterior), problem.graph.probes[0].cost + after)
    assert evaluate(Exact(), state).expected_loss == pytest.approx(best)
    assert evaluate(AquaMend(), state).expected_loss == pytest.approx(best)


def single(chance=0.75, declared=None):
    """Return one belief that has failed with 0.6, repaired or declared to be 45 g once the pour is undone."""
    belief = Belief("level", 40.0, declared=declared)
    pour = Action("pour", undo=5.0, executed=True, undo_succeeds=chance)
    graph = RecoveryGraph([belief], [pour], [], [("level", "pour", "belief_to_action")])
    added = (
        Hypothesis("added", 0.6, ("level",)) if declared is None else Hypothesis("added", 0.6, truth={"level": 45.0})
    )
    hypotheses = [Hypothesis("nothing", 0.4), added]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses)))


def test_success_counts_the_chance_of_undoing():
    found = evaluate(AquaMend(), single())
    assert found.expected_loss == pytest.approx(5.0 + 40.0 * 0.6 * 0.25)
    assert found.success == pytest.approx(0.4 + 0.6 * 0.75)
    found = evaluate(AquaMend(), single(declared=18.0))
    assert found.success == pytest.approx(0.4 * 0.25 + 0.6 * 0.75)


@st.composite
def shared_undoing(draw):
    """Beliefs, with values of their own or without, above actions that they share; some are corrected."""
    names = [f"b{i}" for i in range(draw(st.integers(1, 3)))]
    beliefs = [Belief(name, 5.0, declared=draw(st.sampled_from([None, 0.0]))) for name in names]
    chances = [draw(st.sampled_from([0.2, 0.7, 1.0])) for _ in range(draw(st.integers(1, 3)))]
    actions = [Action(f"a{j}", undo=1.0, executed=True, undo_succeeds=p) for j, p in enumerate(chances)]
    edges = [(name, a.name, "belief_to_action") for name in names for a in actions if draw(st.booleans())]
    truths = [{name: draw(st.sampled_from([0.0, 1.0, 2.0])) for name in names} for _ in range(3)]
    hypotheses = [
        Hypothesis(
            f"h{s}",
            p,
            tuple(b.name for b in beliefs if not b.declares and truths[s][b.name]),
            truth={b.name: truths[s][b.name] for b in beliefs if b.declares},
        )
        for s, p in enumerate((0.2, 0.3, 0.5))
    ]
    others = {b.name: [truth[b.name] for truth in truths if truth[b.name]] for b in beliefs}
    corrected = [b for b in beliefs if (others[b.name] or not b.declares) and draw(st.booleans())]
    declare = [NewDeclaration(b.name, draw(st.sampled_from(others[b.name]))) for b in corrected if b.declares]
    decision = RollBack(tuple(belief.name for belief in corrected), declare=tuple(declare))
    return Problem(RecoveryGraph(beliefs, actions, [], edges), JointModel(hypotheses)), decision, truths


def right_in_the_end(problem, decision, undone, truth):
    """Whether nothing wrong is left under a truth where just these actions were undone."""
    said, graph = {new.belief: new.value for new in decision.declare}, problem.graph
    for belief in graph.beliefs:
        succeeded = belief.name in decision.correct and undone.issuperset(graph.downstream(belief.name))
        if not succeeded and truth[belief.name] != 0.0:
            return False
        if succeeded and truth[belief.name] != said.get(belief.name, truth[belief.name]):
            return False
    return True


@settings(max_examples=150, deadline=None)
@given(shared_undoing())
def test_an_undo_that_fails_does_so_for_every_belief_above_it(case):
    problem, decision, truths = case
    success = 0.0
    for outcome in itertools.product([False, True], repeat=len(problem.graph.actions)):
        pairs = list(zip(problem.graph.actions, outcome, strict=True))
        chance = math.prod(a.undo_succeeds if done else 1.0 - a.undo_succeeds for a, done in pairs)
        undone = {a.name for a, done in pairs if done}
        for hypothesis, truth in zip(problem.model.hypotheses, truths, strict=True):
            success += chance * hypothesis.prior * right_in_the_end(problem, decision, undone, truth)
    found = evaluate(Committed(decision), InformationState.alarmed(problem))
    assert found.success == pytest.approx(success)


def test_success_is_counted_also_of_many_beliefs_with_unsure_undoing_and_values():
    """Where all are as declared, nothing undone is right; where they are not, what is undone becomes right."""
    names = [f"b{i}" for i in range(40)]
    beliefs = [Belief(name, 5.0, declared=0.0) for name in names]
    actions = [Action(f"undo {name}", undo=1.0, executed=True, undo_succeeds=0.9) for name in names]
    edges = [(name, f"undo {name}", "belief_to_action") for name in names]
    hypotheses = [Hypothesis("fine", 0.5), Hypothesis("wrong", 0.5, truth=dict.fromkeys(names, 1.0))]
    problem = Problem(RecoveryGraph(beliefs, actions, [], edges), JointModel(hypotheses))
    decision = RollBack(tuple(names), declare=tuple(NewDeclaration(n, 1.0) for n in names))
    found = evaluate(Committed(decision), InformationState.alarmed(problem))
    assert found.success == pytest.approx(0.5 * 0.1**40 + 0.5 * 0.9**40)


def test_a_new_value_is_declared_only_where_undoing_succeeds():
    # 45 g is declared: wrong under "nothing" if undoing succeeds, and what had failed stays where it does not.
    found = best_terminal(single(declared=18.0))
    assert found.loss == pytest.approx(5.0 + 40.0 * (0.4 * 0.75 + 0.6 * 0.25))


def test_a_minimum_cut_charges_undoing_and_doing_again(monkeypatch):
    rng = np.random.default_rng(5)
    beliefs = [Belief(f"b{i}", float(rng.uniform(5, 30))) for i in range(5)]
    actions = [
        Action(f"a{i}", undo=2.0, redo=float(rng.uniform(0, 8)), executed=True, undo_succeeds=0.8) for i in range(5)
    ]
    edges = [(f"b{i}", f"a{j}", "belief_to_action") for i in range(5) for j in (i, (i + 1) % 5)]
    hypotheses = [
        Hypothesis(f"h{s}", 0.1, [f"b{i}" for i in range(5) if rng.random() < 0.5]) for s in range(10)
    ]  # fmt: skip

    def loss():
        return best_terminal(
            InformationState.alarmed(Problem(RecoveryGraph(beliefs, actions, [], edges), JointModel(hypotheses)))
        ).loss

    enumerated = loss()
    monkeypatch.setattr(closures, "MOST_CLOSURES", 1)
    assert loss() == pytest.approx(enumerated)


@pytest.mark.parametrize("chance", [0.0, 1.2, math.nan])
def test_a_chance_that_is_none_is_refused(chance):
    with pytest.raises(ValueError, match="is not a chance of success"):
        single(chance=chance)
