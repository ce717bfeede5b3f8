"""The finite joint model: hypotheses, a kernel per probe, an alarm likelihood and declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aquamend.errors import InvalidProblem, UnknownName
from aquamend.model.declarations import Declaration
from aquamend.model.hypotheses import Alarm, Cause, Hypothesis
from aquamend.model.kernels import Discrete, Gaussian, Kernel, NormalTable, OutcomeTable, Rows
from aquamend.model.validation import model_faults


@dataclass(frozen=True, eq=False)
class JointModel:
    """Everything probabilistic about a problem; says nothing about costs."""

    hypotheses: Sequence[Hypothesis]
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    alarm: Alarm | None = None
    declarations: Sequence[Declaration] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "hypotheses", tuple(self.hypotheses))
        object.__setattr__(self, "declarations", tuple(self.declarations))
        faults = model_faults(self.hypotheses, self.kernels, self.alarm, self.declarations)
        if faults:
            raise InvalidProblem(faults)

    @cached_property
    def hypothesis_index(self) -> dict[str, int]:
        """Position of every hypothesis, by name."""
        return {hypothesis.name: i for i, hypothesis in enumerate(self.hypotheses)}

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """Shape ``(n_hypotheses,)``; sums to one."""
        prior = np.array([hypothesis.prior for hypothesis in self.hypotheses], dtype=float)
        return _frozen(prior / prior.sum())

    @cached_property
    def alarm_likelihood(self) -> NDArray[np.float64] | None:
        """Shape ``(n_hypotheses,)``; None where the problem has no alarm."""
        if self.alarm is None:
            return None
        likelihood = self.alarm.likelihood
        return _frozen(np.array([likelihood[h.name] for h in self.hypotheses], dtype=float))

    @cached_property
    def tables(self) -> dict[str, OutcomeTable | NormalTable]:
        """Every kernel as arrays in hypothesis order, by probe name."""
        tables: dict[str, OutcomeTable | NormalTable] = {}
        for probe, kernel in self.kernels.items():
            match kernel:
                case Discrete():
                    rows = self._rows(kernel.likelihood)
                    rows = rows / rows.sum(axis=1, keepdims=True)
                    tables[probe] = OutcomeTable(tuple(kernel.outcomes), _frozen(rows))
                case Gaussian():
                    rows = self._rows(kernel.mean_sd)
                    tables[probe] = NormalTable(_frozen(rows[:, 0].copy()), _frozen(rows[:, 1].copy()))
        return tables

    def _rows(self, rows: Rows) -> NDArray[np.float64]:
        if isinstance(rows, Mapping):
            return np.array([rows[h.name] for h in self.hypotheses], dtype=float)
        return np.array(rows, dtype=float)

    @cached_property
    def causes(self) -> NDArray[np.intp]:
        """Shape ``(n_hypotheses,)``; position of each hypothesis's cause in ``list(Cause)``."""
        position = {cause: i for i, cause in enumerate(Cause)}
        return np.array([position[Cause(h.cause)] for h in self.hypotheses], dtype=np.intp)

    def failure_matrix(self, belief_index: Mapping[str, int]) -> NDArray[np.float64]:
        """Return Z, shape ``(n_hypotheses, n_beliefs)``: one where the hypothesis makes the belief fail."""
        failed = np.zeros((len(self.hypotheses), len(belief_index)))
        for i, hypothesis in enumerate(self.hypotheses):
            for belief in hypothesis.failed:
                failed[i, belief_index[belief]] = 1.0
        return _frozen(failed)

    def invalidity(self, declaration: Declaration) -> NDArray[np.float64]:
        """Return, shape ``(n_hypotheses,)``, one where this declaration version is invalid."""
        unknown = [name for name in declaration.invalid_in if name not in self.hypothesis_index]
        if unknown:
            raise UnknownName("hypothesis", unknown[0], self.hypothesis_index)
        invalid = np.zeros(len(self.hypotheses))
        invalid[[self.hypothesis_index[name] for name in declaration.invalid_in]] = 1.0
        return invalid


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array
