"""What following a policy to the end costs, by hand and by simulation."""

import math
import random
from dataclasses import dataclass

import numpy as np
import pytest

from aquamend import deadline
from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.errors import IllegalProbe, NotDiscrete, TooLarge
from aquamend.files import parse_problem
from aquamend.policies import POLICIES, AquaMend, Evaluation, evaluate, evaluation, policy_named
from aquamend.policies.evaluation import upper_bound
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Gaussian, Hypothesis, JointModel

LOOK = Discrete(["fine", "odd"], {"on": [0.9, 0.1], "off": [0.2, 0.8]})


def lid(kernel=LOOK, *, uses=1, **rest):
    """Return a belief failed with probability 0.4 (residual 10) under two executed actions (3 and 1)."""
    graph = RecoveryGraph(
        [Belief("lid", 10.0)],
        [Action("lift", undo=3.0, executed=True), Action("turn", undo=1.0, executed=True), Action("tip", undo=9.0)],
        [Probe("look", 0.5, max_uses=uses)],
        [
            ("look", "lid", "detection"),
            ("lid", "lift", "belief_to_action"),
            ("lift", "turn", "temporal"),
            ("lift", "tip", "temporal"),
        ],
    )
    model = JointModel([Hypothesis("on", 0.6), Hypothesis("off", 0.4, ("lid",))], {"look": kernel})
    return InformationState.alarmed(Problem(graph, model, **rest))


@dataclass
class Fixed:
    """Look ``times`` times, then take one decision if the last answer was odd and another if not."""

    times: int
    fine: object
    odd: object

    def next_step(self, state):
        if len(state.evidence) < self.times:
            return Reprobe("look")
        return self.odd if state.evidence and state.evidence[-1].outcome == "odd" else self.fine


CORRECT = RollBack(("lid",), ("lift", "turn"))


def test_a_tree_of_two_branches_by_hand():
    """Fine (0.62) continues and leaves 0.08 failed; odd (0.38) corrects for 4."""
    seen = evaluate(Fixed(1, Continue(), CORRECT), lid())
    assert seen.expected_loss == pytest.approx(0.5 + 0.08 * 10 + 0.38 * 4)
    assert seen.expected_probes == 1.0
    assert seen.expected_undone == pytest.approx(0.38 * 2)
    assert seen.success == pytest.approx(0.92)


def test_a_probe_run_twice_is_paid_twice_and_answers_independently():
    """Both answers odd corrects; anything else that ends fine continues."""
    state = lid(uses=2)

    class BothOdd:
        def next_step(self, state):
            if len(state.evidence) < 2:
                return Reprobe("look")
            return CORRECT if all(o.outcome == "odd" for o in state.evidence) else Continue()

    seen = evaluate(BothOdd(), state)
    both = 0.6 * 0.01 + 0.4 * 0.64
    assert seen.expected_loss == pytest.approx(1.0 + both * 4 + 0.4 * 0.36 * 10)
    assert seen.expected_probes == 2.0
    assert seen.success == pytest.approx(1 - 0.4 * 0.36)


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Continue(), Evaluation(4.0, 0.0, 0.0, 0.6)),
        (CORRECT, Evaluation(4.0, 0.0, 2.0, 1.0)),
        (Restart(), Evaluation(7.0, 0.0, 2.0, 1.0)),
        (Escalate(), Evaluation(6.0, 0.0, 0.0, 0.0)),
        (RollBack(("lid",), ("lift",), plan="by hand"), Evaluation(0.6 * 1 + 0.4 * 2, 0.0, 1.0, 1.0)),
    ],
)
def test_every_decision_is_charged_counted_and_scored(decision, expected):
    state = lid(restart=7.0, escalate=6.0, plans=[Plan("by hand", np.array([1.0, 2.0]), ("lid",), ("lift",))])
    seen = evaluate(Fixed(0, decision, decision), state)
    assert seen.expected_loss == pytest.approx(expected.expected_loss)
    assert (seen.expected_probes, seen.expected_undone, seen.success) == (
        0.0, expected.expected_undone, pytest.approx(expected.success),
    )  # fmt: skip


def declared():
    """Return two beliefs declared A: x is really B with probability 0.4, and y with it or C by itself."""
    graph = RecoveryGraph(
        [Belief(name, 10.0, declared="A") for name in "xy"],
        [Action("lift", undo=3.0, executed=True)],
        [],
        [(name, "lift", "belief_to_action") for name in "xy"],
    )
    hypotheses = [
        Hypothesis("same", 0.35),
        Hypothesis("moved", 0.4, truth={"x": "B", "y": "B"}),
        Hypothesis("turned", 0.25, truth={"y": "C"}),
    ]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses)))


def test_a_success_needs_every_new_value_to_be_right_under_the_same_hypothesis():
    for x, y, loss, success in (("B", "B", 0.6 + 0.6, 0.4), ("B", "C", 0.6 + 0.75, 0.0)):
        both = RollBack(("x", "y"), ("lift",), (NewDeclaration("x", x), NewDeclaration("y", y)))
        seen = evaluate(Fixed(0, both, both), declared())
        assert seen.expected_loss == pytest.approx(3.0 + 10 * loss)
        assert seen.success == pytest.approx(success)


def test_what_is_kept_counts_as_what_is_declared():
    one = RollBack(("x",), ("lift",), (NewDeclaration("x", "B"),))
    seen = evaluate(Fixed(0, one, one), declared())
    assert seen.expected_loss == pytest.approx(3.0 + 10 * 0.6 + 10 * 0.65)
    assert seen.success == 0.0  # x is right only where y has failed
    other = RollBack(("y",), ("lift",), (NewDeclaration("y", "C"),))
    seen = evaluate(Fixed(0, other, other), declared())
    assert seen.expected_loss == pytest.approx(3.0 + 10 * 0.4 + 10 * 0.75)
    assert seen.success == pytest.approx(0.25)


def test_where_a_value_is_not_said_the_best_one_counts_and_never_the_old_one():
    silent = RollBack(("x", "y"), ("lift",))
    seen = evaluate(Fixed(0, silent, silent), declared())  # B and B, though x is rather A
    assert seen.expected_loss == pytest.approx(3.0 + 10 * 0.6 + 10 * 0.6)
    assert seen.success == pytest.approx(0.4)


def test_a_restart_with_a_loss_for_each_hypothesis_corrects_what_it_says():
    plan = Plan("restart", np.array([6.0, 9.0]), (), ("lift",))
    seen = evaluate(Fixed(0, Restart(), Restart()), lid(restart=plan))
    assert (seen.expected_loss, seen.expected_undone) == (pytest.approx(0.6 * 6 + 0.4 * 9), 1.0)
    assert seen.success == pytest.approx(0.6)


def test_a_probe_that_costs_next_to_nothing_is_no_trouble():
    graph = RecoveryGraph(
        [Belief("lid", 10.0)], [Action("lift", undo=3.0, executed=True)], [Probe("look", 1e-300)],
        [("look", "lid", "detection"), ("lid", "lift", "belief_to_action")],
    )  # fmt: skip
    model = JointModel([Hypothesis("on", 0.6), Hypothesis("off", 0.4, ("lid",))], {"look": LOOK})
    state = InformationState.alarmed(Problem(graph, model, sensing_budget=1.0))
    for name in [name for name in POLICIES if name != "structured"]:
        assert math.isfinite(evaluate(policy_named(name), state).expected_loss) or name == "restart"


def test_an_unavailable_decision_costs_infinity():
    for decision in (Restart(), Escalate()):
        assert evaluate(Fixed(0, decision, decision), lid()).expected_loss == math.inf


def test_evaluation_starts_from_the_state_given_and_what_was_spent_is_sunk():
    after = lid(uses=2).after(Observation("look", "odd"))
    q = 0.32 / 0.38
    assert evaluate(Fixed(1, Continue(), Continue()), after).expected_loss == pytest.approx(10 * q)


def test_the_expectation_is_the_mean_over_simulated_recoveries(random_problem):
    """Draw the truth and the answers, follow AquaMend, charge what happened; no averaging over posteriors involved."""
    compared = 0
    for seed in range(40):
        state = InformationState.alarmed(random_problem(random.Random(seed), probes=4))
        seen = evaluate(AquaMend(), state)
        if seen.expected_probes < 1 or math.isinf(seen.expected_loss):
            continue
        compared += 1
        rng = random.Random(seed)
        steps = {}
        runs = [_simulate(state, rng, steps) for _ in range(600)]
        spread = np.std(runs) / math.sqrt(len(runs))
        assert np.mean(runs) == pytest.approx(seen.expected_loss, abs=5 * spread + 1e-9), seed
    assert compared > 3


def _simulate(state, rng, steps):
    """Return what one recovery costs; ``steps`` keeps what was decided after the same evidence before."""
    problem = state.problem
    (truth,) = rng.choices(range(len(state.posterior)), weights=state.posterior)
    while isinstance(step := _decided(state, steps), Reprobe):
        channel = problem.model.channels[step.probe]
        (outcome,) = rng.choices(channel.outcomes, weights=channel.table[truth])
        state = state.after(Observation(step.probe, outcome))
    match step:
        case Restart():
            return state.spent + problem.restart
        case Escalate():
            return state.spent + problem.escalate
    corrected = step.correct if isinstance(step, RollBack) else ()
    left = [
        b for b in problem.graph.beliefs if b.name in problem.model.hypotheses[truth].failed and b.name not in corrected
    ]
    return state.spent + problem.graph.correction_cost(corrected) + sum(b.residual for b in left)


def _decided(state, steps):
    if state.evidence not in steps:
        steps[state.evidence] = AquaMend().next_step(state)
    return steps[state.evidence]


def test_a_continuous_probe_cannot_be_enumerated():
    state = lid(Gaussian({"on": (0.0, 1.0), "off": (1.0, 1.0)}))
    with pytest.raises(NotDiscrete, match=r"evaluate.*'look'") as error:
        evaluate(AquaMend(), state)
    assert error.value.probes == ("look",)


def test_an_illegal_probe_of_a_policy_is_an_error():
    with pytest.raises(IllegalProbe, match="'look'"):
        evaluate(Fixed(2, Continue(), Continue()), lid(uses=1))


def test_a_tree_beyond_the_limit_is_an_error_and_not_an_endless_wait(monkeypatch):
    monkeypatch.setattr(evaluation, "MOST_STATES", 10)
    with pytest.raises(TooLarge, match="over 10"):
        evaluate(Fixed(50, Continue(), Continue()), lid(uses=50))


def test_a_policy_that_probes_a_thousand_times_does_not_exhaust_the_stack():
    sure = Discrete(["fine", "odd"], {"on": [1, 0], "off": [0, 1]})
    seen = evaluate(Fixed(1200, Continue(), CORRECT), lid(sure, uses=math.inf))
    assert seen.expected_probes == 1200
    assert seen.expected_loss == pytest.approx(600 + 0.4 * 4)


class Interrupted:
    def next_step(self, state):
        raise KeyboardInterrupt


def test_an_interrupt_ends_the_program_unless_somebody_hears_how_far_it_has_come():
    with pytest.raises(KeyboardInterrupt):
        evaluate(Interrupted(), lid())
    with pytest.raises(TooLarge, match="interrupted"):
        evaluate(Interrupted(), lid(), report=lambda visited, finished: None)


def test_the_deadline_of_whoever_waits_for_an_evaluation_is_theirs():
    with deadline.ends_at(deadline.clock() - 1.0), pytest.raises(deadline.OutOfTime):
        evaluate(Fixed(1, Continue(), CORRECT), lid())
    with pytest.raises(TooLarge, match="not finished after 0 s"):
        evaluate(Fixed(1, Continue(), CORRECT), lid(), deadline_s=0.0)


def test_the_bound_of_a_policy_has_its_first_probe():
    times = upper_bound(Fixed(1, Continue(), CORRECT), lid())
    assert (times.probe, times.bounds.upper) == ("look", pytest.approx(0.5 + 0.08 * 10 + 0.38 * 4))
    stops = upper_bound(Fixed(0, Continue(), CORRECT), lid())
    assert (stops.probe, stops.bounds.upper) == (None, pytest.approx(4.0))


def test_what_a_compensation_that_may_fail_leaves_wrong_is_said():
    file = {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": "cup", "residual": 20}, {"name": "lid", "residual": 1}],
        "actions": [{"name": "pour", "reversible": False, "status": "executed"}],
        "edges": [["cup", "pour", "belief_to_action"]],
        "causes": [
            {"name": "moved", "prior": 0.4, "failed": ["cup"]},
            {"name": "off", "prior": 0.1, "failed": ["lid"]},
        ],
        "compensations": [{"name": "pour again", "cost": 2, "correct": ["cup"], "succeeds": 0.75}],
    }  # fmt: skip
    found = evaluate(policy_named("no-reprobe"), InformationState.start(parse_problem(file)))
    assert found.left_wrong == pytest.approx({"cup": 0.25 * 0.4})
    assert found.success == pytest.approx(1 - 0.25 * 0.4)
    assert found.expected_loss == pytest.approx(2 + 0.25 * 0.4 * 20)
