"""The exported file, read by a parser of its own and solved by dynamic programming over beliefs."""

import math
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.tiers import cases

from aquamend.belief import InformationState, Observation
from aquamend.decision.probe_value import probe_values
from aquamend.decision.steps import Escalate
from aquamend.decision.terminal import best_terminal
from aquamend.errors import AquaMendError, TooLarge
from aquamend.files import load_problem
from aquamend.files.pomdp import pomdp_of, pomdp_text
from aquamend.planning.exact import solve
from aquamend.planning.limits import Limits
from aquamend.planning.search import search
from aquamend.policies import Exact
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel

EXAMPLES = Path(__file__).parents[2] / "examples"
DISCRETE = ["deep_evidence.json", "kitting_swapped_tote.yaml", "pipettor.yaml", "stale_map.yaml", "structured.yaml"]
PREAMBLE = ["discount", "values", "states", "actions", "observations", "start"]
RESERVED = [*PREAMBLE, "T", "O", "R", "uniform", "identity", "reward", "cost", "include", "exclude", "reset"]
NAME = r"[A-Za-z][A-Za-z0-9_-]*"
NUMBER = r"-?[0-9]+\.[0-9]+"


@dataclass
class Parsed:
    """A file's tables; probabilities and rewards as nested dictionaries by name."""

    discount: float
    states: list[str]
    actions: list[str]
    observations: list[str]
    start: dict[str, float]
    transition: dict[str, dict[str, dict[str, float]]]
    observation: dict[str, dict[str, dict[str, float]]]
    reward: dict[str, dict[str, float]]


def parsed(text: str) -> Parsed:
    """Return the tables of a file; an entry that is malformed, unknown or given twice is an error."""
    lines = [line for line in (raw.split("#")[0].strip() for raw in text.split("\n")) if line]
    preamble = dict(line.split(": ", 1) for line in lines[:6])
    assert list(preamble) == PREAMBLE
    assert preamble["values"] == "reward"
    states, actions, observations = (preamble[key].split() for key in ("states", "actions", "observations"))
    for names in (states, actions, observations):
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(NAME, name) and name not in RESERVED for name in names)
    start = [float(p) for p in preamble["start"].split()]
    found = Parsed(
        float(preamble["discount"]), states, actions, observations, dict(zip(states, start, strict=True)),
        {a: {s: {} for s in states} for a in actions},
        {a: {s: {} for s in states} for a in actions},
        {a: {} for a in actions},
    )  # fmt: skip
    for line in lines[6:]:
        _enter(found, line)
    return found


def _enter(found: Parsed, line: str) -> None:
    if line.startswith("R"):
        match = re.fullmatch(rf"R: ({NAME}) : ({NAME}) : \* : \* ({NUMBER})", line)
        assert match, line
        action, state, number = match.groups()
        assert state in found.states
        assert state not in found.reward[action]
        found.reward[action][state] = float(number)
        return
    match = re.fullmatch(rf"([TO]): ({NAME}) : ({NAME}|\*) : ({NAME}) ({NUMBER})", line)
    assert match, line
    kind, action, row, column, number = match.groups()
    assert column in (found.states if kind == "T" else found.observations)
    table = (found.transition if kind == "T" else found.observation)[action]
    for state in found.states if row == "*" else [row]:
        assert column not in table[state], f"given twice: {line}"
        assert 0.0 < float(number) <= 1.0
        table[state][column] = float(number)


class Solver:
    """Optimal values by recursion over the beliefs that can be reached; remembers the best action at each."""

    def __init__(self, model: Parsed) -> None:
        self.model = model
        self.best: dict[tuple, tuple[float, str]] = {}

    def loss(self) -> float:
        return -self.value({s: p for s, p in self.model.start.items() if p > 0})

    def value(self, belief: dict[str, float]) -> float:
        key = tuple((s, round(p, 13)) for s, p in sorted(belief.items()))
        if key not in self.best:
            values = {action: self._value_of(belief, action) for action in self.model.actions}
            action = max(values, key=values.__getitem__)
            self.best[key] = values[action], action
        return self.best[key][0]

    def _value_of(self, belief: dict[str, float], action: str) -> float:
        model = self.model
        value = sum(p * model.reward[action].get(s, 0.0) for s, p in belief.items())
        joint: dict[str, dict[str, float]] = {}
        for s, p in belief.items():
            for end, move in model.transition[action][s].items():
                for o, seen in model.observation[action][end].items():
                    row = joint.setdefault(o, {})
                    row[end] = row.get(end, 0.0) + p * move * seen
        for row in joint.values():
            if set(row) != {"done"}:  # where every reward is zero for ever
                total = math.fsum(row.values())
                value += model.discount * total * self.value({s: p / total for s, p in row.items()})
        return value


def exported(state: InformationState, *, discount: float = 1.0) -> Parsed:
    return parsed(pomdp_text(pomdp_of(state), discount=discount))


def optimum(state: InformationState) -> float:
    plan = solve(state)
    return plan.loss if plan else math.nan


def check_sums(model: Parsed) -> None:
    assert math.fsum(model.start.values()) == pytest.approx(1.0, abs=1e-12)
    for table in (model.transition, model.observation):
        for rows in table.values():
            assert list(rows) == model.states
            assert all(math.fsum(row.values()) == pytest.approx(1.0, abs=1e-12) for row in rows.values())


@pytest.mark.parametrize("name", DISCRETE)
def test_an_independent_solver_finds_the_optimum_of_the_examples(name):
    state = InformationState.alarmed(load_problem(EXAMPLES / name))
    model = exported(state)
    check_sums(model)
    bounds = Exact().bounds(state)
    assert bounds.gap == pytest.approx(0.0, abs=1e-9)
    assert Solver(model).loss() == pytest.approx(bounds.upper, abs=1e-8)


@pytest.mark.parametrize("seed", range(120))
def test_an_independent_solver_finds_the_optimum_of_random_problems(random_problem, seed):
    state = InformationState.alarmed(random_problem(random.Random(seed), exact=seed % 3 == 0))
    pomdp = pomdp_of(state)
    model = parsed(pomdp_text(pomdp))
    check_sums(model)
    found, expected = Solver(model).loss(), optimum(state)
    if math.isinf(expected):
        assert found > pomdp.ceiling
    elif pomdp.penalty_is_exact:
        assert found == pytest.approx(expected, abs=1e-7)
    else:
        assert found <= expected + 1e-7


def test_the_random_problems_reach_every_corner(random_problem):
    states = [InformationState.alarmed(random_problem(random.Random(s), exact=s % 3 == 0)) for s in range(120)]
    pomdps = [pomdp_of(state) for state in states]
    assert sum(pomdp.penalty is not None for pomdp in pomdps) > 10
    assert sum(pomdp.penalty is not None and pomdp.penalty_is_exact for pomdp in pomdps) > 5
    assert sum(math.isinf(optimum(state)) for state in states) > 1
    assert sum(math.isfinite(state.problem.sensing_budget) and len(state.legal_probes) > 1 for state in states) > 5
    assert sum(any(most == 2 for most in pomdp.most_uses) for pomdp in pomdps) > 20


def followed(state: InformationState, known: dict) -> float:
    """Return the optimal expected loss by recursion over what may be answered, with every rule of the problem."""
    key = tuple(sorted((o.probe, o.outcome) for o in state.evidence))
    if key not in known:
        losses = [best_terminal(state).loss]
        for view in state.legal:
            loss = view.cost
            for outcome, p in zip(view.channel.outcomes, state.posterior @ view.channel.table, strict=True):
                if p > 0.0:
                    loss += float(p) * followed(state.after(Observation(view.name, outcome)), known)
            losses.append(loss)
        known[key] = min(losses)
    return known[key]


@pytest.mark.parametrize("seed", range(100))
def test_where_corrections_need_values_the_optimum_is_the_problem_s_own_or_below_it(valued_problem, seed):
    state = InformationState.alarmed(valued_problem(seed))
    pomdp = pomdp_of(state)
    model = parsed(pomdp_text(pomdp))
    check_sums(model)
    found, expected = Solver(model).loss(), followed(state, {})
    if pomdp.relaxation or not pomdp.penalty_is_exact:
        assert found <= expected + 1e-7
    elif math.isinf(expected):
        assert found > pomdp.ceiling
    else:
        assert found == pytest.approx(expected, abs=1e-7)


def test_the_problems_with_values_reach_every_corner(valued_problem):
    pomdps = [pomdp_of(InformationState.alarmed(valued_problem(seed))) for seed in range(100)]
    plain = [pomdp for pomdp in pomdps if not pomdp.relaxation]
    declaring = [sum(bool(getattr(e.decision, "declare", ())) for e in pomdp.endings) for pomdp in plain]
    assert sum(n > 0 for n in declaring) > 20
    assert sum(n > 2 for n in declaring) > 10, "several values to choose from"
    assert sum(bool(pomdp.relaxation) for pomdp in pomdps) > 10


def test_every_new_value_is_a_decision_of_its_own_that_costs_what_it_leaves_wrong(cup_state):
    text = pomdp_text(pomdp_of(cup_state()))
    model = parsed(text)
    meaning = "roll back level, target (undo grasp; declare level: 45, target: B)"
    identifier = re.search(rf"(stop\w+): {re.escape(meaning)}$", text, re.MULTILINE)[1]
    reward = model.reward[identifier]
    for uses in ("0_0_0", "1_1_0"):  # whoever has answered
        assert reward[f"h2_more__{uses}"] == -4.0
        assert reward[f"h1_fine__{uses}"] == -(4.0 + 10.0 + 80.0)
        assert reward[f"h3_off__{uses}"] == -(4.0 + 10.0 + 80.0 + 5.0)
    assert "declare level: 18" not in text
    assert "target: A" not in text


def test_of_a_probe_that_never_runs_out_no_use_is_counted_with_rules_of_support_too(cup_state):
    pomdp = pomdp_of(cup_state(test_uses=math.inf))
    assert {uses[2] for uses in pomdp.uses} == {0}
    assert pomdp.most_uses[2] == math.inf
    assert "then the uses of probe1_look, probe2_weigh." in pomdp_text(pomdp)


def test_a_probe_that_tells_nothing_is_left_out_with_rules_of_support_too(cup_state):
    problem = cup_state().problem
    deaf = {"weigh": Discrete(["18", "45"], {name: [0.5, 0.5] for name in ("fine", "more", "off")})}
    model = replace(problem.model, kernels=problem.model.kernels | deaf)
    pomdp = pomdp_of(InformationState.alarmed(replace(problem, model=model)))
    assert "weigh" not in [action.view.name for action in pomdp.probes]


def test_what_a_pomdp_cannot_express_is_said(cup_state, lid_state):
    assert "rules of support" in pomdp_of(cup_state()).relaxation
    assert "# A POMDP cannot express the rules of support." in pomdp_text(pomdp_of(cup_state()))
    state = lid_state()
    assert pomdp_of(state).relaxation == ""
    plan = Plan("stop safely", np.array([9.0, 9.0]), last_resort=True)
    pomdp = pomdp_of(InformationState.alarmed(replace(state.problem, plans=[plan])))
    assert "last resorts" in pomdp.relaxation
    assert "lower bound" in pomdp.relaxation


def test_mid_recovery_the_uses_and_the_budget_already_spent_count(lid_state):
    state = lid_state()
    state = replace(state, problem=replace(state.problem, sensing_budget=1.1)).after(Observation("look", "no"))
    pomdp = pomdp_of(state)
    assert pomdp.uses == ((0,), (1,))
    assert Solver(parsed(pomdp_text(pomdp))).loss() == pytest.approx(optimum(state))


def test_the_numbers_of_a_small_problem_can_be_worked_out_by_hand(lid_state):
    problem = lid_state().problem
    probes = [replace(problem.graph.probes[0], max_uses=1)]
    state = InformationState.alarmed(replace(problem, graph=replace(problem.graph, probes=probes)))
    model = exported(state)
    assert model.states == ["h1_on__0", "h2_off__0", "h1_on__1", "h2_off__1", "done"]
    assert model.actions == ["probe1_look", "stop1_continue", "stop2_correct_lid"]
    assert model.observations == ["answer1_1_yes", "answer1_2_no", "nothing"]
    assert model.transition["probe1_look"]["h2_off__0"] == {"h2_off__1": 1.0}
    assert model.observation["probe1_look"]["h2_off__1"] == {"answer1_1_yes": 0.2, "answer1_2_no": 0.8}
    assert model.reward["stop1_continue"]["h2_off__1"] == -10.0
    assert model.reward["stop2_correct_lid"]["h1_on__0"] == -3.0
    assert Solver(model).loss() == pytest.approx(0.5 + 0.8 + 1.14)


@pytest.mark.parametrize("seed", range(40))
def test_a_probe_that_may_not_run_is_never_chosen(random_problem, seed):
    state = InformationState.alarmed(random_problem(random.Random(seed)))
    model = exported(state)
    solver = Solver(model)
    solver.loss()
    for belief, (_, action) in solver.best.items():
        if action.startswith("probe"):
            assert all(model.transition[action][s] != {"done": 1.0} for s, _ in belief)


def test_no_path_of_probes_breaks_the_budget_or_the_uses(random_problem):
    tried = 0
    for seed in range(200):
        problem = random_problem(random.Random(seed))
        if math.isinf(problem.sensing_budget):
            continue
        pomdp = pomdp_of(InformationState.alarmed(problem))
        for uses in pomdp.uses:
            spent = sum(n * action.view.cost for n, action in zip(uses, pomdp.probes, strict=True))
            assert spent <= problem.sensing_budget + 1e-8
            assert all(n <= action.view.spec.max_uses for n, action in zip(uses, pomdp.probes, strict=True))
            tried += any(uses)
    assert tried > 20


def test_a_free_probe_that_ran_out_cannot_be_used_to_wait_for_ever(lid_state):
    problem = lid_state().problem
    probes = [replace(problem.graph.probes[0], cost=0.0)]
    state = InformationState.alarmed(replace(problem, graph=replace(problem.graph, probes=probes)))
    model = exported(state)
    assert model.transition["probe1_look"]["h1_on__2"] == {"done": 1.0}
    assert model.reward["probe1_look"]["h1_on__2"] == -3.0
    assert model.reward["probe1_look"]["h2_off__2"] == -10.0
    assert Solver(model).loss() == pytest.approx(optimum(state))


@pytest.mark.parametrize("discount", [0.9, 0.999])
def test_a_discount_bounds_the_optimum_from_both_sides(discount):
    state = InformationState.alarmed(load_problem(EXAMPLES / "stale_map.yaml"))
    pomdp = pomdp_of(state)
    text = pomdp_text(pomdp, discount=discount)
    found = Solver(parsed(text)).loss()
    assert found < optimum(state) < found / discount**pomdp.most_probes
    assert f"-value / {discount}^6" in text


@pytest.mark.parametrize("discount", [0.0, -0.1, 1.01, math.nan, math.inf])
def test_a_discount_that_is_none_is_refused(lid_state, discount):
    with pytest.raises(ValueError, match="at most 1"):
        pomdp_text(pomdp_of(lid_state()), discount=discount)


def test_gaussian_readings_become_intervals_that_lose_little(random_problem):
    measured = 0
    for seed in range(cases(12, 30)):
        state = InformationState.alarmed(random_problem(random.Random(seed), gaussian=True, probes=1))
        values = probe_values(state)
        if not state.legal_probes or math.isinf(values.stop_loss):
            continue
        model = exported(state)
        check_sums(model)
        one_step = min(values.stop_loss, *values.expected_loss)
        assert Exact().bounds(state).lower - 1e-7 <= Solver(model).loss() <= one_step + 1e-7
        measured += one_step < values.stop_loss
    assert measured >= cases(1, 4)


@pytest.mark.parametrize("seed", range(12))
def test_certified_bounds_hold_the_optimum_that_an_independent_solver_finds(random_problem, valued_problem, seed):
    """Without values and with them; where the file leaves rules out, its optimum is below the problem's own."""
    for problem in (random_problem(random.Random(500 + seed)), valued_problem(500 + seed)):
        state = InformationState.alarmed(problem)
        pomdp = pomdp_of(state)
        found, bounds = Solver(parsed(pomdp_text(pomdp))).loss(), search(state, Limits(gap=1e-6)).bounds
        if math.isinf(bounds.upper):
            continue
        assert found <= bounds.upper + 1e-7
        if not pomdp.relaxation and pomdp.penalty_is_exact:
            assert found >= bounds.lower - 1e-7


@pytest.mark.parametrize("seed", range(12))
def test_no_certified_lower_bound_exceeds_the_optimum_of_a_file_with_cut_readings(random_problem, seed):
    """Who is told only the interval of a reading does no better than who is told the reading."""
    state = InformationState.alarmed(random_problem(random.Random(800 + seed), gaussian=True, probes=2))
    found = Solver(exported(state)).loss()
    bounds = search(state, Limits(gap=0.01, memory=2e7)).bounds
    assert bounds.lower <= found + 1e-7 or math.isinf(bounds.upper)  # the file has a penalty instead of infinity


@pytest.mark.slow
def test_the_optimum_of_a_gaussian_example_is_not_below_the_lower_bound_that_decide_prints():
    state = InformationState.alarmed(load_problem(EXAMPLES / "pouring.yaml"))
    bounds, loss = Exact().bounds(state), Solver(exported(state)).loss()
    assert loss == pytest.approx(23.433, abs=5e-4)
    assert bounds.lower <= loss  # the search cuts finer than the file


def test_the_comments_give_the_limits_of_the_intervals(gaussian_state):
    pomdp = pomdp_of(gaussian_state)
    text = pomdp_text(pomdp)
    cuts = pomdp.probes[0].cuts
    assert f"#   answer1_1: probe look reads below {cuts[0]:.12g}\n" in text
    assert f"answer1_2: probe look reads from {cuts[0]:.12g} to {cuts[1]:.12g}\n" in text
    assert f"answer1_{len(cuts) + 1}: probe look reads above {cuts[-1]:.12g}\n" in text


def test_no_name_can_break_the_format():
    names = ["T", "start", "*", "a b", "a_b", "# x\nT: stop1 : * : done 0.5", "日本", "-", "1", "x" * 200]
    graph = RecoveryGraph(
        beliefs=[Belief(f"belief {n}", residual=5 + i) for i, n in enumerate(names)],
        actions=[Action("a", undo=3, executed=True)],
        probes=[Probe(n, 0.1) for n in names[:5]],
        edges=[(f"belief {n}", "a", "belief_to_action") for n in names]
        + [(n, f"belief {names[0]}", "detection") for n in names[:5]],
    )
    hypotheses = [Hypothesis(n, 1 / len(names), [f"belief {n}"] if i else []) for i, n in enumerate(names)]
    rows = np.random.default_rng(0).dirichlet(np.ones(3), len(names))
    problem = Problem(
        graph, JointModel(hypotheses, {n: Discrete(names[3:6], rows) for n in names[:5]}), name="one\ntwo", unit="µs"
    )
    text = pomdp_text(pomdp_of(InformationState.alarmed(problem)))
    assert text.isascii()
    check_sums(parsed(text))


def test_impossible_hypotheses_and_useless_probes_are_left_out():
    graph = RecoveryGraph(
        beliefs=[Belief("b", residual=5)],
        actions=[Action("a", undo=3, executed=True)],
        probes=[Probe("deaf", 0.1), Probe("dear", 9.0), Probe("good", 0.1)],
        edges=[("b", "a", "belief_to_action"), *((p, "b", "detection") for p in ("deaf", "dear", "good"))],
    )
    hypotheses = [Hypothesis("fine", 0.5), Hypothesis("broken", 0.5, ["b"]), Hypothesis("never", 0.0, ["b"])]
    tells = {"fine": [0.9, 0.1], "broken": [0.1, 0.9], "never": [0.5, 0.5]}
    kernels = {p: Discrete(["y", "n"], tells) for p in ("dear", "good")}
    kernels["deaf"] = Discrete(["y", "n"], tells | {"broken": [0.9, 0.1]})
    state = InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels), sensing_budget=1.0))
    pomdp = pomdp_of(state)
    assert pomdp.hypotheses == ("fine", "broken")
    assert [action.view.name for action in pomdp.probes] == ["good"]
    assert Solver(parsed(pomdp_text(pomdp))).loss() == pytest.approx(optimum(state))


def test_a_decision_that_another_beats_everywhere_is_left_out(lid_state):
    problem = lid_state().problem
    plans = [Plan("dear", np.array([3.0, 4.0])), Plan("good", np.array([1.0, 2.0]))]
    state = InformationState.alarmed(replace(problem, plans=plans, restart=9.0, escalate=2.5))
    model = exported(state)
    assert [a for a in model.actions if a.startswith("stop")] == ["stop1_continue", "stop2_plan_good"]
    assert Solver(model).loss() == pytest.approx(optimum(state))


def test_where_no_decision_is_finite_escalation_is_left_at_a_loss_above_the_ceiling(lid_state):
    state = lid_state(may_keep=False, reversible=False)
    hopeless = replace(state, posterior=np.array([0.0, 1.0]))
    pomdp = pomdp_of(hopeless)
    assert [ending.decision for ending in pomdp.endings] == [Escalate()]
    assert Solver(parsed(pomdp_text(pomdp))).loss() > pomdp.ceiling
    assert "means infinite" in pomdp_text(pomdp)


def test_where_the_penalty_may_be_risked_the_file_says_so(lid_state):
    sure = lid_state(Discrete(["yes", "no"], {"on": [0.9, 0.1], "off": [1e-12, 1 - 1e-12]}), may_keep=False)
    assert "it may be risked" in pomdp_text(pomdp_of(sure))
    assert "it may be risked" not in pomdp_text(pomdp_of(lid_state(may_keep=False)))


def test_an_endless_probe_loops_and_a_free_one_is_refused(lid_state):
    problem = lid_state(may_keep=False).problem

    def with_probe(probe: Probe) -> InformationState:
        return InformationState.alarmed(replace(problem, graph=replace(problem.graph, probes=[probe])))

    text = pomdp_text(pomdp_of(with_probe(Probe("look", 0.5, max_uses=math.inf))))
    assert parsed(text).transition["probe1_look"]["h1_on"] == {"h1_on": 1.0}
    assert "the horizon is infinite" in text
    assert "An infinite loss is written as" in text
    assert "means infinite" not in text  # the cost of endless probing has no ceiling
    with pytest.raises(AquaMendError, match="'look' is free and may run without end"):
        pomdp_of(with_probe(Probe("look", 0.0, max_uses=math.inf)))


def test_a_budget_bounds_an_endless_probe(lid_state):
    problem = lid_state().problem
    graph = replace(problem.graph, probes=[Probe("look", 0.5, max_uses=math.inf)])
    state = InformationState.alarmed(replace(problem, graph=graph, sensing_budget=1.7))
    assert pomdp_of(state).uses == ((0,), (1,), (2,), (3,))
    assert Solver(exported(state)).loss() == pytest.approx(optimum(state))


def test_too_large_a_process_is_refused_with_a_count(many_state):
    with pytest.raises(TooLarge, match=r"over \d+ .*fewer beliefs"):
        pomdp_of(many_state)
    graph = replace(
        many_state.problem.graph, beliefs=[replace(b, residual=0) for b in many_state.problem.graph.beliefs]
    )
    with pytest.raises(TooLarge, match=r"over \d+ combinations of uses.*remove probes"):
        pomdp_of(InformationState.alarmed(replace(many_state.problem, graph=graph)))


def test_evidence_that_contradicts_the_model_leaves_nothing_to_export(lid_state):
    state = lid_state(Discrete(["yes", "no", "odd"], {"on": [0.9, 0.1, 0.0], "off": [0.2, 0.8, 0.0]}))
    with pytest.raises(AquaMendError, match="contradicts the model"):
        pomdp_of(state.after(Observation("look", "odd")))


def test_the_same_problem_gives_the_same_text():
    texts = [pomdp_text(pomdp_of(InformationState.alarmed(load_problem(EXAMPLES / "pouring.yaml")))) for _ in range(2)]
    assert texts[0] == texts[1]
