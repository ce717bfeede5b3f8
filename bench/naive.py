"""The obvious way to compute the same things: references that the benchmark runs beside the library."""

from __future__ import annotations

import numpy as np

from aquamend.belief import InformationState
from aquamend.decision.closures import CutGroup
from aquamend.decision.min_cut import whole_numbers
from aquamend.decision.terminal import best_terminal
from aquamend.problem.model import Outcomes, Readings

READINGS = 200
"""Readings at which a continuous probe is tried, between four standard deviations below all means and above all."""


def next_step(state: InformationState) -> str:
    """The whole call, one branch at a time: C_s of every declaration, what it retains, and the best of that.

    Each branch's posterior is made, every declaration and every plan is priced on it, and the rest follows.
    """
    problem = state.problem
    plans = np.array([plan.loss for plan in problem.plans])
    invalid = problem.invalid.T
    q = invalid @ state.posterior
    power = {probe.name: np.zeros(len(q)) for probe in problem.graph.probes}
    for probe in problem.graph.probes:
        for likelihood in _table(state, probe.name).T:
            joint = state.posterior * likelihood
            mass = joint.sum()
            invalidity = invalid @ (joint / mass)
            power[probe.name] += mass * invalidity * (invalidity >= 0.5) / q
    cost = {probe.name: probe.cost for probe in problem.graph.probes}
    retained = {max(power, key=lambda name: power[name][j] / cost[name]) for j in range(len(q)) if q[j] < 0.5}
    best, least = "stop", float((plans @ state.posterior).min())
    for probe in problem.graph.probes:
        if probe.name not in retained:
            continue
        loss = probe.cost
        for likelihood in _table(state, probe.name).T:
            joint = state.posterior * likelihood
            mass = joint.sum()
            loss += mass * (plans @ (joint / mass)).min()
        if loss < least - 1e-9:
            best, least = probe.name, loss
    return best


def _table(state: InformationState, probe: str) -> np.ndarray:
    channel = state.problem.model.channels[probe]
    assert isinstance(channel, Outcomes)
    return channel.table


def expected_losses(state: InformationState) -> dict[str, float]:
    """What running each probe and then stopping costs, a state made and decided for every answer or reading.

    A continuous probe is tried at evenly spaced readings and summed by the trapezoidal rule: right to two digits or so.
    """
    found = {}
    for view in state.legal:
        channel = view.channel
        if isinstance(channel, Readings):
            low, high = (channel.mean - 4 * channel.sd).min(), (channel.mean + 4 * channel.sd).max()
            readings = np.linspace(low, high, READINGS)
            rows = channel.density(readings)[:, channel.of] * (readings[1] - readings[0])
        else:
            assert isinstance(channel, Outcomes)
            rows = channel.table.T
        loss = view.cost
        for likelihood in rows:
            joint = state.posterior * likelihood
            if joint.sum() > 0.0:
                loss += joint.sum() * best_terminal(state.imagine(view.name, likelihood)).loss
        found[view.name] = loss
    return found


def adaptive_optimum(state: InformationState) -> float:
    """Optimal adaptive loss of a one-change problem with single-use probes, by plain recursion with a memo.

    Terminal decisions are priced belief by belief, which is right for disjoint closures: keep, or undo and declare the
    least improbable value.
    """
    problem = state.problem
    graph = problem.graph
    tables = [_table(state, probe.name) for probe in graph.probes]
    undo = [graph.correction_cost([belief.name]) for belief in graph.beliefs]
    residual = [belief.residual for belief in graph.beliefs]
    failed = problem.failed
    memo: dict[tuple[int, ...], float] = {}

    def corrected(belief: int, weights: np.ndarray) -> float:
        return min(float(weights @ value.wrong) for value in problem.new_values[belief])

    def value(weights: np.ndarray, answers: tuple[int, ...]) -> float:
        if answers in memo:
            return memo[answers]
        mass = float(weights.sum())
        at_risk = weights @ failed
        best = sum(
            min(at_risk[i] * loss, mass * undo[i] + corrected(i, weights) * loss) for i, loss in enumerate(residual)
        )
        for m, (probe, table) in enumerate(zip(graph.probes, tables, strict=True)):
            if answers[m] < 0:
                after = mass * probe.cost
                for outcome in range(table.shape[1]):
                    joint = weights * table[:, outcome]
                    if joint.any():
                        after += value(joint, (*answers[:m], outcome, *answers[m + 1 :]))
                best = min(best, after)
        memo[answers] = best
        return best

    return value(state.posterior, (-1,) * len(tables))


def cut_by_ortools(cut: CutGroup, gain: np.ndarray) -> np.ndarray | None:
    """Return the members of the best closure by the push-relabel of OR-Tools, where that is installed."""
    try:
        from ortools.graph.python.max_flow import SimpleMaxFlow
    except ImportError:
        return None
    weight = -cut.cost
    weight[: len(gain)] += gain
    whole, n = whole_numbers(weight[None, :])[0], cut.needs.n_nodes
    gainers, payers = np.flatnonzero(whole > 0), np.flatnonzero(whole < 0)
    flow, unlimited = SimpleMaxFlow(), np.full(len(cut.needs.source), whole[gainers].sum())
    flow.add_arcs_with_capacity(np.full(len(gainers), n), gainers, whole[gainers])
    flow.add_arcs_with_capacity(cut.needs.source, cut.needs.target, unlimited)
    flow.add_arcs_with_capacity(payers, np.full(len(payers), n + 1), -whole[payers])
    assert flow.solve(n, n + 1) == flow.OPTIMAL
    chosen = np.zeros(n + 2, dtype=bool)
    chosen[flow.get_source_side_min_cut()] = True
    return chosen[: len(gain)]


def closure_by_linear_program(cut: CutGroup, gain: np.ndarray) -> float:
    """The loss of the best closure, by the linear program whose constraint matrix is totally unimodular."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    n, k = cut.needs.n_nodes, len(cut.needs.source)
    objective = cut.cost.copy()
    objective[: len(gain)] -= gain
    rows = np.repeat(np.arange(k), 2)
    columns = np.column_stack([cut.needs.source, cut.needs.target]).ravel()
    constraints = csr_array((np.tile([1.0, -1.0], k), (rows, columns)), shape=(k, n))
    solution = linprog(objective, A_ub=constraints, b_ub=np.zeros(k), bounds=(0, 1), method="highs")
    return float(gain.sum() + solution.fun)
