"""The obvious way to compute the same things: references that the benchmark runs beside the library."""

from __future__ import annotations

import numpy as np

from aquamend import InformationState
from aquamend.decision.cut_group import CutGroup
from aquamend.model.kernels import OutcomeTable


def next_step(state: InformationState) -> str:
    """The whole call, one branch at a time: C_s of every declaration, what it retains, and the best of that.

    Each branch's posterior is made, every declaration and every plan is priced on it, and the rest follows.
    """
    problem = state.problem
    plans = np.array([plan.loss for plan in problem.plans])
    invalid = np.array([problem.model.invalidity(declaration) for declaration in state.declarations])
    q = invalid @ state.posterior
    power = {probe.name: np.zeros(len(q)) for probe in problem.graph.probes}
    for probe in problem.graph.probes:
        table = problem.model.tables[probe.name]
        assert isinstance(table, OutcomeTable)
        for likelihood in table.likelihood.T:
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
        table = problem.model.tables[probe.name]
        assert isinstance(table, OutcomeTable)
        loss = probe.cost
        for likelihood in table.likelihood.T:
            joint = state.posterior * likelihood
            mass = joint.sum()
            loss += mass * (plans @ (joint / mass)).min()
        if loss < least - 1e-9:
            best, least = probe.name, loss
    return best


def adaptive_optimum(state: InformationState) -> float:
    """Optimal adaptive loss of a one-change problem with single-use probes, by plain recursion with a memo.

    Terminal decisions are priced belief by belief, which is right for disjoint closures.
    """
    problem = state.problem
    graph = problem.graph
    kernels = [problem.model.tables[probe.name] for probe in graph.probes]
    undo = [graph.correction_cost([belief.name]) for belief in graph.beliefs]
    residual = [belief.residual for belief in graph.beliefs]
    failed = problem.failed
    memo: dict[tuple[int, ...], float] = {}

    def value(weights: np.ndarray, answers: tuple[int, ...]) -> float:
        if answers in memo:
            return memo[answers]
        mass = float(weights.sum())
        at_risk = weights @ failed
        best = sum(min(r * loss, mass * cost) for r, loss, cost in zip(at_risk, residual, undo, strict=True))
        for m, (probe, table) in enumerate(zip(graph.probes, kernels, strict=True)):
            if answers[m] < 0:
                after = mass * probe.cost
                for outcome in range(table.likelihood.shape[1]):
                    joint = weights * table.likelihood[:, outcome]
                    if joint.any():
                        after += value(joint, (*answers[:m], outcome, *answers[m + 1 :]))
                best = min(best, after)
        memo[answers] = best
        return best

    return value(state.posterior, (-1,) * len(kernels))


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
