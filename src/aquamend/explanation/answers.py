"""What would be done after each answer of a probe, and what the probe's expected loss is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.probe_value import ProbeValues, decision_cuts
from aquamend.decision.terminal import Stop, best_terminal
from aquamend.inference import InformationState
from aquamend.inference.state import normalised
from aquamend.model.kernels import NormalTable, OutcomeTable


@dataclass(frozen=True, slots=True)
class Answer:
    """One outcome of a probe, or one interval of its readings, with the best terminal decision after it."""

    label: str
    probability: float
    stop: Stop


@dataclass(frozen=True, slots=True)
class Split:
    """An expected loss in its three parts."""

    sensing: float
    recovery: float
    residual: float

    @property
    def total(self) -> float:
        """Return the three together."""
        return self.sensing + self.recovery + self.residual


def answers_to(values: ProbeValues, probe: str) -> tuple[Answer, ...]:
    """Return the possible answers of one of the probes valued; readings with the same decision are joined."""
    state, branches = values.state, values.branches
    rows = branches.likelihood[branches.of(probe)]
    table = state.problem.model.tables[probe]
    match table:
        case OutcomeTable():
            return tuple(_answers(state, table.outcomes, rows))
        case NormalTable():
            cuts = decision_cuts(state, table)
            every = _answers(state, interval_labels(cuts, table), rows)
            if len(every) < len(rows):  # an interval of no probability breaks the chain of neighbours
                return tuple(every)
            return _joined(every, cuts, table)
        case _:
            assert_never(table)


def split_of(values: ProbeValues, probe: str) -> Split:
    """Return the expected loss of one of the probes valued: its cost, then what the decisions after it cost."""
    cost = float(values.branches.cost[values.branches.probes.index(probe)])
    rows = values.branches.likelihood[values.branches.of(probe)]
    every = _answers(values.state, [""] * len(rows), rows)
    recovery = math.fsum(a.probability * a.stop.recovery for a in every)
    return Split(cost, recovery, math.fsum(a.probability * a.stop.residual for a in every))


def _answers(state: InformationState, labels: tuple[str, ...] | list[str], rows: NDArray[np.float64]) -> list[Answer]:
    found = []
    for label, likelihood in zip(labels, rows, strict=True):
        joint = likelihood * state.posterior
        probability = float(joint.sum())
        if probability > 0.0:
            found.append(Answer(label, probability, best_terminal(replace(state, posterior=normalised(joint)))))
    return found


def _joined(every: list[Answer], cuts: NDArray[np.float64], table: NormalTable) -> tuple[Answer, ...]:
    runs = [[i for i, _ in run] for _, run in groupby(enumerate(every), key=lambda pair: pair[1].stop.decision)]
    labels = interval_labels(np.array([cuts[run[0] - 1] for run in runs[1:]]), table)
    joined = []
    for label, run in zip(labels, runs, strict=True):
        parts = [every[i] for i in run]
        probability = math.fsum(part.probability for part in parts)
        residual = math.fsum(part.probability * part.stop.residual for part in parts) / probability
        joined.append(Answer(label, probability, replace(parts[0].stop, residual=residual)))
    return tuple(joined)


def interval_labels(cuts: NDArray[np.float64], table: NormalTable) -> tuple[str, ...]:
    """Return the intervals between the cuts in words, to a tenth of the sharpest standard deviation."""
    if len(cuts) == 0:
        return ("any reading",)
    decimals = min(12, max(0, math.ceil(1.0 - math.log10(float(table.sd.min())))))
    texts = [f"{cut:.{decimals}f}" for cut in cuts]
    return (f"below {texts[0]}", *(f"{a} to {b}" for a, b in pairwise(texts)), f"above {texts[-1]}")
