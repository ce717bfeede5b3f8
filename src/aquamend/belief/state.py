"""The information state: all that a policy may see, and how evidence turns it into the next one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.caching import KeepsResults
from aquamend.codec import Whole, load, write
from aquamend.errors import (
    AquaMendError,
    IllegalProbe,
    ImpossibleEvidence,
    InvalidData,
    RungAndSilent,
    SecondAlarm,
    UnknownName,
)
from aquamend.problem import Problem, Redeclared
from aquamend.problem.graph import Probe
from aquamend.problem.model.hypotheses import Cause
from aquamend.problem.model.joint_model import UNNAMED
from aquamend.problem.model.kernels import Answer, Channel, Outcomes
from aquamend.text import counted, percent, shown, table_html

FALSE_ALARM = "false_alarm"
CAUSES = ("external", "self_error", FALSE_ALARM, "unknown")
"""The causes that records name: the four of an attribution."""
UNRESOLVED = "unresolved"
"""Attributed where no cause was at least as likely as not; never what was true."""

FORMAT: Final = "aquamend-state/1"
"""What a state says of itself as plain data."""

SMALLEST = 1e-250
"""Joint probabilities below this are computed in logarithms."""

TINY = float(np.finfo(float).tiny)
"""What is possible has at least this probability."""

BUDGET_TOLERANCE = 1e-9
"""Slack on the sensing budget, so that 0.1 + 0.2 fits a budget of 0.3."""

REJECT_AT = 0.5 - 1e-9
"""What is invalid with at least this probability is rejected: one half, the paper's threshold, less rounding."""


def rejected(probability: float) -> bool:
    """Whether something invalid with this probability may no longer be relied on."""
    return probability >= REJECT_AT


@dataclass(frozen=True, slots=True)
class Observation:
    """One answer of one probe: the name of an outcome, or a number."""

    probe: str
    outcome: Answer
    unasked: bool = False
    """Whether it came by itself: then it has cost nothing, and is no use of the probe."""

    def __str__(self) -> str:
        return f"{self.probe} = {self.short}"

    @property
    def short(self) -> str:
        """The answer in a few digits."""
        return self.outcome if isinstance(self.outcome, str) else f"{self.outcome:.6g}"


@dataclass(frozen=True, slots=True, eq=False)
class ProbeView:
    """A probe as it stands at one state: whether it may run, how often still, and how it answers."""

    spec: Probe
    index: int
    """Its position in the graph."""
    channel: Channel
    uses_left: float
    budget_left: float
    waits: str = ""
    """When it is possible, where it is not now: some actions must, or must not, be executed for it."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name

    @property
    def cost(self) -> float:
        """What running it once costs."""
        return self.spec.cost

    @property
    def legal(self) -> bool:
        """Whether it may run now."""
        return self.uses_left > 0 and self.cost <= self.budget_left and not self.waits

    @property
    def most_runs(self) -> float:
        """How often it could run from here on, if no other did."""
        if self.cost <= 0 or math.isinf(self.budget_left):
            return self.uses_left
        affordable = self.budget_left / self.cost if self.cost > 1e-300 * self.budget_left else math.inf
        return min(self.uses_left, affordable if affordable > 1e15 else math.floor(affordable))


@dataclass(frozen=True, slots=True)
class Monitored:
    """What one monitor has said: that it rang, or that it was watching and stayed silent."""

    monitor: str
    rang: bool = True
    redeclared: Mapping[str, Redeclared] = field(default_factory=dict)
    """What had been declared again by then: it spoke of what was wrong with that."""


@dataclass(frozen=True, eq=False)
class InformationState(KeepsResults):
    """Posterior, evidence, uses and spending so far; immutable.

    Start with ``InformationState.alarmed(problem)``, which hears every alarm once, then fold in answers with
    ``after(observation)``, and more alarms with ``after_alarm(name)``. The truth is nowhere in here.
    """

    problem: Problem
    posterior: Floats
    """p(s | x), shape ``(n_hypotheses,)``; sums to one; read-only."""
    evidence: tuple[Observation, ...] = ()
    monitored: tuple[Monitored, ...] = ()
    """What monitors have said, in the order in which it was conditioned on."""
    contradiction: Observation | None = None
    """The observation that no hypothesis allowed, if one came: the posterior then means nothing any more."""
    origin: InformationState | None = None
    """The state from which this one follows by observations alone; None where it is that state itself."""
    imagined: tuple[tuple[int, Floats], ...] = ()
    """Answers that were not heard but thought of: places in the evidence, and likelihoods ``(n_hypotheses,)``."""
    decided_from: int = 0
    """How many answers there were before a policy was first asked: what a robot measures for the alarm itself."""

    def __repr__(self) -> str:
        doubts = ", ".join(f"{name} {q}" for name, q in self._doubts(3)) or "nothing in doubt"
        heard = counted(len(self.evidence), "answer")
        return f"<InformationState of {shown(self.problem.name)!r}: {heard}; {doubts}>"

    def _repr_html_(self) -> str:
        return table_html(
            repr(self)[1:-1], ("belief", "may have failed"), self._doubts(len(self.problem.graph.beliefs))
        )

    def _doubts(self, most: int) -> list[tuple[str, str]]:
        """Return the beliefs most probably wrong, and how probably."""
        named = zip(self.problem.graph.beliefs, self.failure_probabilities.tolist(), strict=True)
        doubted = sorted(((q, b.name) for b, q in named if q > 0.0), key=lambda pair: -pair[0])
        return [(shown(name), percent(q)) for q, name in doubted[:most]]

    @classmethod
    def start(cls, problem: Problem) -> InformationState:
        """Return the state before the alarm: the prior, no evidence."""
        return cls(problem, problem.model.prior)

    @classmethod
    def alarmed(
        cls, problem: Problem, rung: str | Iterable[str] | None = None, *, silent: str | Iterable[str] = ()
    ) -> InformationState:
        """Return the state a recovery starts from: the prior, conditioned on what the monitors say.

        ``rung`` are those that have rung, one named twice twice; unless given, the problem's only monitor, if it has
        just one. ``silent`` are those that were watching and have not rung; the others say nothing.
        """
        state, only = cls.start(problem), problem.model.only_monitor
        if rung is None:
            rung = () if only is None else (only,)
        for name in (rung,) if isinstance(rung, str) else rung:
            state = state.after_alarm(name)
        for name in dict.fromkeys((silent,) if isinstance(silent, str) else silent):
            state = state.after_silence(name)
        return state

    def after_alarm(self, monitor: str | None = None) -> InformationState:
        """Return the state after one more alarm, by its name where there are several.

        It counts once, and again only where the model says how likely that is. Once something has been corrected, it
        is new evidence: its conditions on beliefs ask what is wrong by then. So is one that rings after it was silent.
        """
        name = self._monitor(monitor)
        likelihood = self.problem.ringing(name, again=name in self.rung)
        if likelihood is None:
            raise SecondAlarm(name)
        return self._monitored(name, likelihood, rang=True)

    def after_silence(self, monitor: str | None = None) -> InformationState:
        """Return the state in which a monitor was watching and has not rung: 1 − likelihood under each hypothesis.

        Said a second time, with nothing corrected in between, it tells nothing more.
        """
        name = self._monitor(monitor)
        if name in self.rung:
            raise RungAndSilent(name)
        if name in self.silent:
            return self
        return self._monitored(name, 1.0 - np.asarray(self.problem.ringing(name)), rang=False)

    def _monitor(self, name: str | None) -> str:
        """Return the name of a monitor, where it was left out that of the only one."""
        monitors = self.problem.model.monitors
        if not monitors:
            raise AquaMendError("this problem has no alarm to hear; its recovery starts from the prior")
        if name is None and len(monitors) > 1:
            raise AquaMendError(f"this problem has several alarms; say which one: {', '.join(map(repr, monitors))}")
        if name is not None and name not in monitors:
            raise UnknownName("alarm", name, monitors)
        return next(iter(monitors)) if name is None else name

    def _monitored(self, name: str, likelihood: Floats, *, rang: bool) -> InformationState:
        heard = (*self.monitored, Monitored(name, rang, self.problem.redeclared))
        if self.contradiction is not None:
            return replace(self, monitored=heard, origin=None if rang else self.origin)
        posterior = conditioned(self.posterior, likelihood)
        if posterior is None:
            said = "an alarm" if rang else "silence"
            which = "the alarm" if name == UNNAMED and rang else f"{said} of {name!r}"
            raise ImpossibleEvidence(
                f"{which} has probability 0 under every hypothesis that the evidence so far allows; "
                "condition on it first, or add the missing hypothesis"
            )
        # Silence is part of what was known when the alarm rang; only an alarm begins a new account of answers.
        origin = None if rang or self.origin is None else self.origin._monitored(name, likelihood, rang=False)
        return replace(self, posterior=posterior, monitored=heard, origin=origin)

    def deciding_from_here(self) -> InformationState:
        """Return the state as one before which no policy was asked: a plan begins here, not among earlier answers."""
        return replace(self, decided_from=len(self.evidence))

    @property
    def alarms(self) -> int:
        """How many alarms have been conditioned on."""
        return sum(one.rang for one in self.monitored)

    @property
    def rung(self) -> tuple[str, ...]:
        """The monitors that have rung since something was last corrected, in that order."""
        return tuple(one.monitor for one in self._lately if one.rang)

    @property
    def silent(self) -> tuple[str, ...]:
        """The monitors that were watching and have been silent since something was last corrected."""
        return tuple(one.monitor for one in self._lately if not one.rang and one.monitor not in self.rung)

    @property
    def _lately(self) -> tuple[Monitored, ...]:
        """What monitors have said with nothing corrected since."""
        if not self.monitored:
            return ()
        now = {belief: new.times for belief, new in self.problem.redeclared.items()}
        return tuple(m for m in self.monitored if {b: new.times for b, new in m.redeclared.items()} == now)

    @property
    def alarm_heard(self) -> bool:
        """Whether the posterior holds an alarm."""
        return self.alarms > 0

    def after(self, observation: Observation) -> InformationState:
        """Return the state after one more answer (Bayes' rule).

        An answer that no remaining hypothesis allows does not raise: the next state carries it as its
        ``contradiction``, its attribution is UNKNOWN, and policies treat it conservatively.
        """
        name = observation.probe
        if not observation.unasked and (reason := self.why_illegal(name)):
            raise IllegalProbe(name, reason)
        return self._after(observation)

    def _after(self, observation: Observation) -> InformationState:
        posterior = None
        if self.contradiction is None:
            posterior = conditioned(self.posterior, self.likelihood(observation))
        if posterior is None:
            return self.contradicted_by(observation)
        evidence, origin = (*self.evidence, observation), self.origin or self
        return replace(self, posterior=posterior, evidence=evidence, origin=origin)

    def contradicted_by(self, observation: Observation) -> InformationState:
        """Return the state after an answer that the model does not know: evidence against the model itself."""
        evidence, origin = (*self.evidence, observation), self.origin or self
        return replace(self, evidence=evidence, origin=origin, contradiction=self.contradiction or observation)

    def after_hearing(self, observation: Observation) -> InformationState:
        """Return the state after whatever a robot says: what is no answer of its probe speaks against the model."""
        known = self.problem.model.channels[observation.probe].parse(observation.outcome) is not None
        return self.after(observation) if known else self.contradicted_by(observation)

    def after_earlier(self, observation: Observation) -> InformationState:
        """Return the state after an answer that came earlier: what was done since may have made its probe illegal."""
        known = self.problem.model.channels[observation.probe].parse(observation.outcome) is not None
        return self._after(observation) if known else self.contradicted_by(observation)

    @property
    def chance_of_evidence(self) -> float:
        """The probability, by the model, of the alarm and all answers since; zero if one is a number: it has none."""
        model, mass = self.problem.model, self.problem.model.prior
        if self.contradiction is not None:
            return 0.0
        for k, one in enumerate(self.monitored):
            earlier = any((m.monitor, m.redeclared) == (one.monitor, one.redeclared) for m in self.monitored[:k])
            then = self.problem if one.redeclared == self.problem.redeclared else None
            then = then or replace(self.problem, redeclared=one.redeclared)
            likelihood = then.ringing(one.monitor, again=one.rang and earlier)
            if likelihood is not None:
                mass = mass * (likelihood if one.rang else 1.0 - likelihood)
        for observation in self.evidence:
            if not isinstance(model.channels[observation.probe], Outcomes):
                return 0.0
            mass = mass * self.likelihood(observation)
        return float(mass.sum())

    def imagine(self, probe: str, likelihood: Floats) -> InformationState | None:
        """Return the state after something of this likelihood was answered: a branch not yet seen; None if none can."""
        posterior = conditioned(self.posterior, likelihood)
        if posterior is None:
            return None
        evidence = (*self.evidence, Observation(probe, math.nan))
        imagined = (*self.imagined, (len(self.evidence), likelihood))
        return replace(self, posterior=posterior, evidence=evidence, origin=self.origin or self, imagined=imagined)

    @property
    def at_alarm(self) -> Floats:
        """p₀, shape ``(n_hypotheses,)``: the posterior before the first of the answers since the alarm."""
        return self.posterior if self.origin is None else self.origin.posterior

    @cached_property
    def answers(self) -> Mapping[int, Floats]:
        """By the positions of the probes that have answered since the alarm, the likelihood of all they said together.

        Each ``(n_hypotheses,)``, up to a common factor; zero where something was impossible at the alarm.
        """
        if self.contradiction is not None:  # what cannot be explained supports no value
            return {}
        index, imagined, logs = self.problem.graph.probe_index, dict(self.imagined), dict[int, Floats]()
        possible, start = self.at_alarm > 0.0, len((self.origin or self).evidence)
        for k, observation in enumerate(self.evidence[start:], start):
            likelihood = imagined[k] if k in imagined else self.likelihood(observation)
            m = index[observation.probe]
            with np.errstate(divide="ignore"):  # faint answers together must not become impossible
                logs[m] = logs.get(m, 0.0) + np.log(np.where(possible, likelihood, 0.0))
        return {m: np.exp(log - log.max()) for m, log in logs.items()}

    def likelihood(self, observation: Observation) -> Floats:
        """Return the likelihood of an answer, shape ``(n_hypotheses,)``, up to a common factor; zeros if impossible."""
        channel = self.problem.model.channels[observation.probe]
        answer = channel.parse(observation.outcome)
        if answer is None:
            if isinstance(channel, Outcomes):
                raise UnknownName(f"outcome of probe {observation.probe!r}", str(observation.outcome), channel.outcomes)
            raise UnknownName(f"reading of probe {observation.probe!r}", str(observation.outcome), [channel.expected])
        return channel.likelihood(answer)

    def why_illegal(self, probe: str) -> str:
        """Return why a probe may not run now, or an empty text if it may."""
        view = self.probe(probe)
        if view.waits:
            return view.waits
        if view.uses_left <= 0:
            uses = view.spec.max_uses
            return "its only use is spent" if uses == 1 else f"all {uses:g} uses are spent"
        if not view.legal:
            return (
                f"it costs {view.cost:g}, and {self.spent:g} of the sensing budget "
                f"{self.problem.sensing_budget:g} is spent"
            )
        return ""

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How often each probe has run since the alarm, for those that have."""
        uses: dict[str, int] = {}
        for observation in self.evidence:
            if not observation.unasked:
                uses[observation.probe] = uses.get(observation.probe, 0) + 1
        return uses

    @cached_property
    def answered(self) -> Bools:
        """Shape ``(n_probes,)``; who has answered since the alarm."""
        heard = {observation.probe for observation in self.evidence}
        return np.array([probe.name in heard for probe in self.problem.graph.probes], dtype=bool)

    @cached_property
    def spent(self) -> float:
        """Sensing cost since the alarm; sunk."""
        graph = self.problem.graph
        return math.fsum(graph.probes[graph.probe_index[o.probe]].cost for o in self.evidence if not o.unasked)

    @property
    def budget_left(self) -> float:
        """What may still be spent on sensing, rounding included."""
        return self.problem.sensing_budget + BUDGET_TOLERANCE - self.spent

    def probe(self, name: str) -> ProbeView:
        """Return one probe as it stands here."""
        if name not in self._views:
            raise UnknownName("probe", name, self._views)
        return self._views[name]

    def views(self, names: Iterable[str]) -> list[ProbeView]:
        """Return several probes as they stand here."""
        return [self.probe(name) for name in names]

    @cached_property
    def _views(self) -> dict[str, ProbeView]:
        graph, channels, budget_left = self.problem.graph, self.problem.model.channels, self.budget_left
        uses, waits = self.uses, graph.why_impossible
        return {
            spec.name: ProbeView(
                spec, i, channels[spec.name], spec.max_uses - uses.get(spec.name, 0), budget_left,
                waits.get(spec.name, ""),
            )
            for i, spec in enumerate(graph.probes)
        }  # fmt: skip

    @cached_property
    def legal(self) -> tuple[ProbeView, ...]:
        """The probes that may run now, in graph order; none once the evidence contradicts the model."""
        if self.contradiction is not None:
            return ()
        return tuple(view for view in self._views.values() if view.legal)

    @cached_property
    def legal_probes(self) -> tuple[str, ...]:
        """The names of the probes that may run now, in graph order."""
        return tuple(view.name for view in self.legal)

    @cached_property
    def failure_probabilities(self) -> Floats:
        """q_i for every belief, shape ``(n_beliefs,)``; ones once the evidence contradicts the model."""
        if self.contradiction is not None:
            return np.ones(len(self.problem.graph.beliefs))
        return np.minimum(self.posterior @ self.problem.failed, 1.0)

    @cached_property
    def invalidity(self) -> Floats | None:
        """q_b^v of every declaration in force, shape ``(n_declarations,)``; None once no posterior is left."""
        return None if self.contradiction is not None else np.minimum(self.posterior @ self.problem.invalid, 1.0)

    @cached_property
    def attribution(self) -> dict[Cause, float]:
        """Posterior probability of every cause; all on UNKNOWN once the evidence contradicts the model."""
        if self.contradiction is not None:
            return {cause: float(cause is Cause.UNKNOWN) for cause in Cause}
        mass = np.bincount(self.problem.model.causes, weights=self.posterior, minlength=len(Cause))
        return {cause: float(m) for cause, m in zip(Cause, mass, strict=True)}

    @property
    def attributed_to(self) -> Cause | None:
        """The cause that is at least as likely as not; None where the attribution is unresolved."""
        cause = max(self.attribution, key=self.attribution.__getitem__)
        return cause if rejected(self.attribution[cause]) else None

    @property
    def suspects(self) -> tuple[str, ...]:
        """The beliefs under suspicion: those the monitor flagged and those that may have failed, in graph order."""
        flagged, beliefs = self.triggers, self.problem.graph.beliefs
        return tuple(
            b.name for b, q in zip(beliefs, self.failure_probabilities, strict=True) if q > 0.0 or b.name in flagged
        )

    @property
    def triggers(self) -> tuple[str, ...]:
        """The beliefs that the monitors which rang have flagged, in graph order."""
        monitors = self.problem.model.monitors
        flagged = {belief for one in self.monitored if one.rang for belief in monitors[one.monitor].suspects}
        return tuple(b.name for b in self.problem.graph.beliefs if b.name in flagged)

    def to_data(self) -> dict[str, Any]:
        """Return the state as plain data, without its problem; ``from_data`` gives back the very same posterior."""
        data: dict[str, Any] = write(self._written, complete=True)
        return data

    @property
    def _written(self) -> _Written:
        position = None if self.contradiction is None else self.evidence.index(self.contradiction)
        origin = None if self.origin is None else self.origin._written
        posterior = tuple(self.posterior.tolist())
        return _Written(FORMAT, posterior, self.monitored, self.evidence, position, origin, self.decided_from)

    @classmethod
    def from_data(cls, problem: Problem, data: object, *, where: str = "state") -> InformationState:
        """Return the state that plain data describe, for the problem it belongs to; ``InvalidData`` if they do not."""
        return cls._restored(problem, load(_Written, data, where), where)

    @classmethod
    def _restored(cls, problem: Problem, written: _Written, where: str) -> InformationState:
        for i, one in enumerate(written.evidence):
            if one.probe not in problem.graph.probe_index:
                raise InvalidData(f"{where}.evidence[{i}]", f"the problem {problem.name!r} has no probe {one.probe!r}")
        for i, heard in enumerate(written.monitored):
            if heard.monitor not in problem.model.monitors:
                said = f"the problem {problem.name!r} has no alarm {heard.monitor!r}"
                raise InvalidData(f"{where}.monitored[{i}].monitor", said)
            for belief in heard.redeclared:
                if belief not in problem.graph.belief_index:
                    said = f"the problem {problem.name!r} has no belief {belief!r}"
                    raise InvalidData(f"{where}.monitored[{i}].redeclared.{belief}", said)
        position, origin = written.contradiction, None
        if position is not None and position >= len(written.evidence):
            raise InvalidData(f"{where}.contradiction", f"there is no evidence number {position}")
        if written.origin is not None:
            origin = cls._restored(problem, written.origin, f"{where}.origin")
            if origin.origin is not None:
                raise InvalidData(f"{where}.origin", "it has an origin of its own")
        contradiction = None if position is None else written.evidence[position]
        posterior = _posterior(problem, written.posterior, f"{where}.posterior")
        evidence, decided_from = written.evidence, written.decided_from
        return cls(problem, posterior, evidence, written.monitored, contradiction, origin, decided_from=decided_from)


@dataclass(frozen=True, slots=True)
class _Written:
    """A state as it is written, without its problem."""

    format: Literal["aquamend-state/1"]
    posterior: tuple[float, ...]
    monitored: tuple[Monitored, ...]
    evidence: tuple[Observation, ...]
    contradiction: Whole | None
    origin: _Written | None
    decided_from: Whole = 0


def _posterior(problem: Problem, numbers: Sequence[float], where: str) -> Floats:
    n = len(problem.model.hypotheses)
    if len(numbers) != n:
        raise InvalidData(
            where,
            f"there are {len(numbers)} probabilities, but the problem {problem.name!r} has {n} hypotheses; "
            "give the problem that the state was written for",
        )
    posterior = np.array(numbers, dtype=float)
    if posterior.min() < 0 or not math.isclose(posterior.sum(), 1.0, abs_tol=1e-6):
        raise InvalidData(where, "these are no probabilities that sum to one")
    posterior.setflags(write=False)
    return posterior


def expected(mass: Floats, loss: Floats) -> float:
    """Return Σ p ℓ with 0 · ∞ = 0."""
    possible = mass > 0.0
    return float(np.dot(mass[possible], loss[possible]))


def joint(posterior: Floats, likelihood: Floats) -> Floats:
    """Return p(s) k(y | s), above zero wherever both are: what is improbable must not become impossible."""
    mass = np.asarray(posterior * likelihood)
    faint = mass < TINY
    return np.where(faint & (posterior > 0.0) & (likelihood > 0.0), TINY, mass) if faint.any() else mass


def conditioned(posterior: Floats, likelihood: Floats) -> Floats | None:
    """Return p(s | y) by Bayes' rule, read-only; None where no possible hypothesis allows the evidence."""
    mass = joint(posterior, likelihood)
    if 0.0 < mass.max() < SMALLEST:
        with np.errstate(divide="ignore"):
            log = np.log(posterior) + np.log(likelihood)
        mass = np.where(mass > 0.0, np.maximum(np.exp(log - log.max()), TINY), 0.0)
    return normalised(mass) if mass.sum() > 0.0 else None


def conditioned_each(posterior: Floats, likelihoods: Floats) -> list[Floats | None]:
    """Return the same for each of several answers, whose likelihoods are ``(n_answers, n_hypotheses)``."""
    return [conditioned(posterior, own) for own in likelihoods]


def normalised(mass: Floats) -> Floats:
    """Return the mass divided by its sum, read-only."""
    posterior = mass / mass.sum()
    posterior.setflags(write=False)
    return np.asarray(posterior)
