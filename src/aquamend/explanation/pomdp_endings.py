"""The terminal decisions of a problem as actions of a POMDP: one loss per hypothesis, dominated ones left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.steps import Decision, Escalate, Restart, RollBack, correction
from aquamend.decision.terminal_table import TerminalTable, closure_losses, terminal_table
from aquamend.errors import TooLarge
from aquamend.problem import Problem

MOST_CANDIDATES = 4096
"""Correction sets compared with each other at once; a second or so."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ending:
    """One way of ending the recovery."""

    decision: Decision
    loss: Floats
    """Shape ``(n_possible,)``; loss under each possible hypothesis; infinity where inadmissible."""


def endings(problem: Problem, possible: NDArray[np.bool_]) -> tuple[Ending, ...]:
    """Return the terminal decisions that are best for some belief about the possible hypotheses, and a few more.

    A decision is left out if another costs no more under every possible hypothesis, or if it is infinite under all of
    them; neither changes the optimum. Where that leaves nothing, escalation stays, at an infinite loss.
    """
    others = _others(problem, possible)
    found = [*_corrections(problem, possible, [ending.loss for ending in others]), *others]
    bearable = [ending for ending in found if np.isfinite(ending.loss).any()]
    if not bearable:
        return (Ending(Escalate(), np.full(int(possible.sum()), math.inf)),)
    kept = _undominated(np.column_stack([ending.loss for ending in bearable]))
    return tuple(bearable[i] for i in kept)


def _others(problem: Problem, possible: NDArray[np.bool_]) -> list[Ending]:
    """Return the world's own plans, restart and escalation."""
    flat = np.ones(int(possible.sum()))
    found = [Ending(RollBack(p.correct, p.undo, plan=p.name), np.asarray(p.loss)[possible]) for p in problem.plans]
    if problem.restart_loss < math.inf:
        found.append(Ending(Restart(), problem.restart_loss * flat))
    if problem.escalate_loss < math.inf:
        found.append(Ending(Escalate(), problem.escalate_loss * flat))
    return found


def _corrections(problem: Problem, possible: NDArray[np.bool_], rivals: Sequence[Floats]) -> list[Ending]:
    """Return the correction sets worth having, the smallest first.

    The beliefs fall into groups that share no operation, so losses add up group by group, and what is dominated in
    part stays dominated in the sum: candidates are thinned out after every group.
    """
    if not problem.corrections:
        return []
    sets: list[tuple[int, ...]] = [()]
    losses = np.zeros((int(possible.sum()), 1))
    for options, part in _parts(_listable(problem), possible):
        if len(sets) * len(options) > MOST_CANDIDATES:
            raise TooLarge(
                f"there are over {MOST_CANDIDATES} correction sets to compare, and a POMDP needs one action for each "
                "that is worth having; export a problem with fewer beliefs that may have failed"
            )
        sets = [chosen + more for chosen in sets for more in options]
        losses = (losses[:, :, None] + part[:, None, :]).reshape(len(losses), -1)
        kept = [i for i in _undominated(losses) if not any((rival < losses[:, i]).all() for rival in rivals)]
        sets, losses = [sets[i] for i in kept], losses[:, kept]
    order = sorted(range(len(sets)), key=lambda i: (len(sets[i]), sorted(sets[i])))
    names = [tuple(problem.graph.beliefs[b].name for b in sorted(sets[i])) for i in order]
    return [
        Ending(correction(correct, problem.graph.closure(correct)), losses[:, i])
        for i, correct in zip(order, names, strict=True)
    ]


def _listable(problem: Problem) -> TerminalTable:
    """Return the terminal table of a problem whose correction sets can be listed group by group."""
    table = terminal_table(problem)
    if table.cuts:
        size = max(len(cut.members) for cut in table.cuts)
        raise TooLarge(
            f"{size} beliefs share operations in more ways than can be listed, and a POMDP needs one action for each; "
            "export a problem with fewer beliefs that may have failed"
        )
    return table


def _parts(table: TerminalTable, possible: NDArray[np.bool_]) -> Iterator[tuple[list[tuple[int, ...]], Floats]]:
    """Yield, group by group, the sets of beliefs it may correct and their losses ``(n_possible, n_sets)``.

    Only beliefs that may have failed are named: correcting the others saves nothing.
    """
    risk = table.risks(table.features)[possible]
    at_risk = np.asarray(risk.any(axis=0))
    for group in table.groups:
        corrected = (group.keep == 0.0) & at_risk[group.members, None]
        options = [tuple(int(b) for b in table.beliefs[group.members[chosen]]) for chosen in corrected.T]
        yield options, closure_losses(group, np.ones(len(risk)), risk)
    for i, cost in zip(table.solo, table.solo_cost, strict=True):
        if at_risk[i]:
            yield [(), (int(table.beliefs[i]),)], np.column_stack([risk[:, i], np.full(len(risk), cost)])
    for i in table.stuck:
        yield [()], risk[:, [i]]


def _undominated(losses: Floats) -> list[int]:
    """Return the columns that no other is at most equal to in every row; of equal ones the first."""
    infinite = np.isinf(losses)
    finite_sums = np.where(infinite, 0.0, losses).sum(axis=0)
    kept = np.zeros((losses.shape[1], len(losses)))
    positions: list[int] = []
    # A column comes after all that may dominate it; only rounding can let a dominated one through, which is harmless.
    for i in np.lexsort((finite_sums, infinite.sum(axis=0))):
        column = losses[:, i]
        if not (kept[: len(positions)] <= column).all(axis=1).any():
            kept[len(positions)] = column
            positions.append(int(i))
    return sorted(positions)
