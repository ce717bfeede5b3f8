"""The information state: all that a policy may see, and how evidence turns it into the next one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aquamend.errors import AquaMendError, IllegalProbe, ImpossibleEvidence, SecondAlarm, UnknownName
from aquamend.inference.evidence import Observation
from aquamend.model.declarations import Declaration
from aquamend.model.hypotheses import Cause
from aquamend.model.kernels import NormalTable, OutcomeTable
from aquamend.problem import Problem

SMALLEST = 1e-250
"""Joint probabilities below this are computed in logarithms."""

BUDGET_TOLERANCE = 1e-9
"""Slack on the sensing budget, so that 0.1 + 0.2 fits a budget of 0.3."""


@dataclass(frozen=True, eq=False)
class InformationState:
    """Posterior, evidence, uses and spending so far, and the declarations in force; immutable.

    Start with ``InformationState.start(problem)``, hear the alarm once with ``after_alarm()``, then fold in answers
    with ``after(observation)``. The truth is nowhere in here.
    """

    problem: Problem
    posterior: NDArray[np.float64]
    """p(s | x), shape ``(n_hypotheses,)``; sums to one; read-only."""
    evidence: tuple[Observation, ...] = ()
    alarm_heard: bool = False
    contradiction: Observation | None = None
    """The observation that no hypothesis allowed, if one came: the posterior then means nothing any more."""
    declarations: tuple[Declaration, ...] = ()
    """The versions in force; refreshed ones replace their predecessors."""
    computed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """What has been computed of this state and is asked for again; a cache, no part of the information."""

    @classmethod
    def start(cls, problem: Problem) -> InformationState:
        """Return the state before the alarm: the prior, no evidence."""
        return cls(problem, problem.model.prior, declarations=problem.declarations)

    @classmethod
    def alarmed(cls, problem: Problem) -> InformationState:
        """Return the state a recovery starts from: the prior, conditioned on the problem's alarm if it has one."""
        state = cls.start(problem)
        return state if problem.model.alarm is None else state.after_alarm()

    def after_alarm(self) -> InformationState:
        """Return the state conditioned on the alarm; an error if it has been heard already."""
        if self.alarm_heard:
            raise SecondAlarm
        likelihood = self.problem.model.alarm_likelihood
        if likelihood is None:
            raise AquaMendError("this problem has no alarm to hear; its recovery starts from the prior")
        mass = self.posterior * likelihood
        if mass.sum() <= 0.0:
            raise ImpossibleEvidence(
                "the alarm has probability 0 under every hypothesis that the evidence so far allows; "
                "condition on it first, or add the missing hypothesis"
            )
        return replace(self, posterior=normalised(mass), alarm_heard=True)

    def after(self, observation: Observation) -> InformationState:
        """Return the state after one more answer (Bayes' rule).

        An answer that no remaining hypothesis allows does not raise: the next state carries it as its
        ``contradiction``, its attribution is UNKNOWN, and policies treat it conservatively.
        """
        name = observation.probe
        reason = self.why_illegal(name)
        if reason:
            raise IllegalProbe(name, reason)
        evidence = (*self.evidence, observation)
        if self.contradiction is not None:
            return replace(self, evidence=evidence)
        likelihood = self.likelihood(observation)
        mass = self.posterior * likelihood
        if mass.max() < SMALLEST:  # what two small numbers make of each other may vanish without being impossible
            with np.errstate(divide="ignore"):
                log = np.log(self.posterior) + np.log(likelihood)
            mass = np.exp(log - log.max()) if log.max() > -np.inf else np.zeros_like(mass)
        if not mass.sum() > 0.0:
            return replace(self, evidence=evidence, contradiction=observation)
        return replace(self, posterior=normalised(mass), evidence=evidence)

    def likelihood(self, observation: Observation) -> NDArray[np.float64]:
        """Return the likelihood of an answer, shape ``(n_hypotheses,)``, up to a common factor; zeros if impossible."""
        table = self.problem.model.tables[observation.probe]
        match table:
            case OutcomeTable():
                if observation.outcome not in table.outcomes:
                    kind = f"outcome of probe {observation.probe!r}"
                    raise UnknownName(kind, str(observation.outcome), table.outcomes)
                return table.likelihood[:, table.outcomes.index(str(observation.outcome))]
            case NormalTable():
                log = np.where(self.posterior > 0.0, table.log_density(_reading(observation)), -np.inf)
                return np.zeros_like(log) if log.max() == -np.inf else np.exp(log - log.max())

    def why_illegal(self, probe: str) -> str:
        """Return why a probe may not run now, or an empty text if it may."""
        if probe not in self.problem.graph.probe_index:
            raise UnknownName("probe", probe, self.problem.graph.probe_index)
        spec = self.problem.graph.probes[self.problem.graph.probe_index[probe]]
        if self.uses.get(probe, 0) >= spec.max_uses:
            return "its only use is spent" if spec.max_uses == 1 else f"all {spec.max_uses:g} uses are spent"
        if spec.cost > self.problem.sensing_budget + BUDGET_TOLERANCE - self.spent:
            return (
                f"it costs {spec.cost:g}, and {self.spent:g} of the sensing budget "
                f"{self.problem.sensing_budget:g} is spent"
            )
        return ""

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How often each probe has run since the alarm, for those that have."""
        uses: dict[str, int] = {}
        for observation in self.evidence:
            uses[observation.probe] = uses.get(observation.probe, 0) + 1
        return uses

    @cached_property
    def spent(self) -> float:
        """Sensing cost since the alarm; sunk."""
        graph = self.problem.graph
        return math.fsum(graph.probes[graph.probe_index[o.probe]].cost for o in self.evidence)

    @cached_property
    def legal_probes(self) -> tuple[str, ...]:
        """Probes that may run now, in graph order; none once the evidence contradicts the model."""
        if self.contradiction is not None:
            return ()
        uses, left = self.uses, self.problem.sensing_budget + BUDGET_TOLERANCE - self.spent
        return tuple(
            probe.name
            for probe in self.problem.graph.probes
            if probe.cost <= left and uses.get(probe.name, 0) < probe.max_uses
        )

    @cached_property
    def failure_probabilities(self) -> NDArray[np.float64]:
        """q_i for every belief, shape ``(n_beliefs,)``; ones once the evidence contradicts the model."""
        if self.contradiction is not None:
            return np.ones(len(self.problem.graph.beliefs))
        return np.asarray(self.posterior @ self.problem.failed)

    def invalidity(self, declaration: Declaration) -> float | None:
        """Return q_b^v, the posterior probability that a declaration version is invalid; None if unavailable."""
        if self.contradiction is not None:
            return None
        return float(self.posterior @ self.problem.model.invalidity(declaration))

    @cached_property
    def attribution(self) -> dict[Cause, float]:
        """Posterior probability of every cause; all on UNKNOWN once the evidence contradicts the model."""
        if self.contradiction is not None:
            return {cause: float(cause is Cause.UNKNOWN) for cause in Cause}
        mass = np.bincount(self.problem.model.causes, weights=self.posterior, minlength=len(Cause))
        return {cause: float(m) for cause, m in zip(Cause, mass, strict=True)}

    @property
    def suspects(self) -> tuple[str, ...]:
        """The beliefs under suspicion: those the monitor flagged and those that may have failed, in graph order."""
        alarm = self.problem.model.alarm
        flagged = set(alarm.suspects) if alarm else set()
        beliefs = self.problem.graph.beliefs
        return tuple(
            b.name for b, q in zip(beliefs, self.failure_probabilities, strict=True) if q > 0.0 or b.name in flagged
        )


def normalised(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mass divided by its sum, read-only."""
    posterior = mass / mass.sum()
    posterior.setflags(write=False)
    return np.asarray(posterior)


def _reading(observation: Observation) -> float:
    try:
        reading = float(observation.outcome)
    except (TypeError, ValueError):
        reading = math.nan
    if not math.isfinite(reading):
        raise UnknownName(f"reading of Gaussian probe {observation.probe!r}", str(observation.outcome), ["a number"])
    return reading
