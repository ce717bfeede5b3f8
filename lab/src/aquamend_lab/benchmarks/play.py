"""Who takes part; and one policy on one scenario: what it lost, what it loses in expectation, how much it looked at.

Every policy takes part by name, and the oracle, which alone knows what failed. Records may also keep the posterior: how
doubtful every declaration was, whether rightly, and how that changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.belief.state import UNRESOLVED, normalised
from aquamend.decision.detection import PowerScreen
from aquamend.decision.standings import standings
from aquamend.decision.steps import (
    Continue,
    Decision,
    Escalate,
    NewDeclaration,
    Reprobe,
    Restart,
    RollBack,
    Step,
    step_kind,
)
from aquamend.decision.terminal import best_terminal, correction
from aquamend.errors import NotDiscrete, TooLarge, UnknownName
from aquamend.policies import (
    AquaMend,
    CertifyingPolicy,
    DescribedPolicy,
    Description,
    Exact,
    LinearChain,
    Policy,
    considered_by,
    evaluate,
    policy_named,
)
from aquamend.policies.policy import hand_over
from aquamend.problem import Problem
from aquamend.problem.graph import Value
from aquamend.problem.model.hypotheses import Declaration
from aquamend.recovery import Charge, Judged, Receipt, Recovery, charged, recovered
from aquamend.text import value_text
from aquamend_lab.benchmarks.scenario import Scenario, Truth

ORACLE = "oracle"
KNOWING_THE_TRUTH = (ORACLE,)


@dataclass(frozen=True, slots=True)
class Oracle:
    """Roll back the minimal closure of what truly failed, without looking; hand over where that is infeasible.

    The paper's rule; where only a world's own plans end a recovery, the best of them for what failed. A lower bound on
    every policy's loss only where correcting each failure costs no more than leaving it; a reference elsewhere.
    """

    failed: tuple[str, ...]
    values: Mapping[str, Value] = field(default_factory=dict)
    """What is true of beliefs that declare a value, as far as it knows."""

    description: ClassVar[Description] = Description(
        "Oracle",
        "Rolls back exactly what failed, which it alone knows.",
        "#1b1c1e",
        "*",
        "the paper's Oracle",
        probes=False,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the rollback of the failed set's closure."""
        informed = self.informed(state)
        if not state.problem.corrections:
            return best_terminal(informed).decision
        stop = correction(informed, self.failed)
        return hand_over(informed) if math.isinf(stop.recovery) else self._declaring(informed, stop.decision)

    def _declaring(self, state: InformationState, decision: Decision) -> Decision:
        """Return a correction with the values nearest to what is true: of those within tolerance, any would do else."""
        if not isinstance(decision, RollBack) or decision.plan is not None:
            return decision
        problem, said = state.problem, {new.belief: new for new in decision.declare}
        for name in decision.correct:
            true = self.values.get(name)
            known = [new.value for new in problem.new_values[problem.graph.belief_index[name]]]
            numbers = [value for value in known if isinstance(value, int | float)]
            if isinstance(true, int | float) and numbers:
                said[name] = NewDeclaration(name, min(numbers, key=lambda value: abs(value - true)))
        return replace(decision, declare=tuple(said[name] for name in decision.correct if name in said))

    def informed(self, state: InformationState) -> InformationState:
        """Return the state in which only what breaks exactly the failed set is possible, and makes these values true.

        Itself where nothing does.
        """
        problem = state.problem
        true = [belief.name in self.failed for belief in problem.graph.beliefs]
        same = (problem.failed == true).all(axis=1)
        for belief, value in self.values.items():
            same &= problem.wrong_where(problem.graph.belief_index[belief], value) == 0.0
        mass = state.posterior * same
        if mass.sum() <= 0.0 or not state.posterior[~same].any():
            return state
        return replace(state, posterior=normalised(mass), origin=None)


@dataclass(frozen=True, slots=True)
class FromMemory:
    """A policy that answers the same evidence on the same problem from memory: one scenario asks for it many times."""

    policy: Policy
    _known: dict[tuple[Problem, tuple[Observation, ...]], Step] = field(default_factory=dict, init=False)

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's step at this evidence; acts that failed or changed something make another problem."""
        key = (state.problem, state.evidence)
        if key not in self._known:
            self._known[key] = self.policy.next_step(state)
        return self._known[key]


@dataclass(frozen=True, slots=True)
class FacingAVersion:
    """A policy as it is, under a title that says which version of the scenarios it faces."""

    name: str
    version: str
    colour: str

    @property
    def description(self) -> Description:
        """The policy's own, under a title that says so."""
        about = description_of(self.name)
        return replace(about, title=f"{about.title}, {self.version}", colour=self.colour)

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's step."""
        return policy_named(self.name).next_step(state)


def description_of(name: str) -> Description:
    """Return what one of our policies says of itself."""
    return cast(DescribedPolicy, policy_named(name)).description


def check_names(names: list[str], *, also: tuple[str, ...] = ()) -> None:
    """Raise where a name is unknown, listing those that are known and all who take part."""
    for name in names:
        if name in KNOWING_THE_TRUTH:
            continue
        try:
            policy_named(name)
        except UnknownName as error:
            valid = dict.fromkeys([*error.valid, *KNOWING_THE_TRUTH, *also])
            raise UnknownName("policy", error.name, valid) from None


OLD, CURRENT = "old", "current"
"""The version in force at the alarm, and the one that the evidence supports at the first decision."""


@dataclass(frozen=True, slots=True)
class Probabilities:
    """What of the posterior is kept in a record."""

    unions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Events such as "any binding": that at least one of these declarations is invalid. Those that a problem lacks are
    passed over."""
    over_time: bool = True
    """Whether the failure probabilities at every decision are kept too."""


@dataclass(frozen=True, eq=False)
class Watched:
    """A policy, and every state that it was asked about."""

    policy: Policy
    states: list[InformationState] = field(default_factory=list)

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's own step."""
        self.states.append(state)
        return self.policy.next_step(state)


def kept(
    what: Probabilities, states: Sequence[InformationState], truth: Truth, roles: Mapping[str, str]
) -> dict[str, Any]:
    """Return what a record tells of probabilities: of declarations at the first decision, of beliefs at every one.

    Declarations are called what ``roles`` says, so that the same row of a table is about the same thing.
    """
    if not states or states[0].contradiction is not None:
        return {"declarations": [], "posterior": None}
    found: dict[str, Any] = {"declarations": _declarations(what, states[0], truth, roles)}
    if what.over_time:
        beliefs = [belief.name for belief in states[0].problem.graph.beliefs]
        at = [None if s.contradiction is not None else s.failure_probabilities.tolist() for s in states]
        found["posterior"] = {"beliefs": beliefs, "at": at}
    return found


def _declarations(
    what: Probabilities, state: InformationState, truth: Truth, roles: Mapping[str, str]
) -> list[dict[str, Any]]:
    every = {standing.in_force.declaration.name: standing for standing in standings(state)}
    old = {name: standing.in_force for name, standing in every.items()}
    current = {name: standing.supported for name, standing in every.items() if standing.supported is not None}
    lines = []
    for when, found in ((OLD, old), (CURRENT, current)):
        for name, own in found.items():
            so = _so(truth, own.declaration, when)
            lines.append(_line(roles.get(name, name), when, own.declaration.version, own.invalid, so))
        for event, names in what.unions.items():
            members = [found[name].declaration for name in names if name in found]
            if members:
                lines.append(_line(event, when, None, _any_invalid(state, members), _any_so(truth, members, when)))
    return lines


def _line(event: str, when: str, version: int | None, q: float | None, so: bool | None) -> dict[str, Any]:
    return {"event": event, "when": when, "version": version, "q": q, "so": so}


def _so(truth: Truth, declaration: Declaration, when: str) -> bool | None:
    """Return whether a version is really invalid; None where nobody can say."""
    if truth.invalid is not None:
        return truth.invalid(declaration)
    return declaration.belief in truth.failed if when == OLD else None


def _any_so(truth: Truth, declarations: Sequence[Declaration], when: str) -> bool | None:
    answers = [_so(truth, declaration, when) for declaration in declarations]
    return True if True in answers else None if None in answers else False


def _any_invalid(state: InformationState, declarations: Sequence[Declaration]) -> float:
    """Return the probability that at least one of some versions is invalid: of the union, not from the marginals.

    A hypothesis that makes a version wrong only sometimes counts as making it wrong: then this is an upper bound.
    """
    wrong = {name for declaration in declarations for name in declaration.invalid_in or ()}
    return float(state.posterior @ np.array([name in wrong for name in state.problem.model.names]))


Record = dict[str, Any]

LAST_RESORT = "last_resort"
"""The ending of a recovery for which nothing else was admissible, such as a safe stop."""


@runtime_checkable
class Reporting(Protocol):
    """A world that has more to tell of a recovery that has been judged."""

    def particulars(self) -> Record:
        """Return it as plain data, for the record."""


EXPECTED = ("expected_risk", "expected_success", "expected_probes", "expected_undone")


def play(
    scenario: Scenario,
    name: str,
    policy: Policy | None = None,
    *,
    expected: bool = True,
    keep: Probabilities | None = None,
    detailed: bool = False,
) -> Record:
    """Return the record of one policy on one scenario; a policy that refuses leaves a record of its refusal.

    The policy is found by its name unless it is given. With ``expected``, also what following it costs in expectation,
    exactly. With ``keep``, also how doubtful declarations were, where one truth is played; ``detailed``, also how much
    was looked at to decide, and what the world has to tell.
    """
    label = scenario.label | {"policy": name}
    if name in KNOWING_THE_TRUTH:
        return label | _played_informed(scenario, expected=expected)
    policy = policy or policy_named(name)  # an unknown name is no result of a policy
    try:
        if isinstance(policy, Exact) and not policy.completes(scenario.state):  # its steps would depend on the machine
            raise TooLarge("the complete adaptive tree is too large to tabulate; `certified` plans without a deadline")
        answers_once = FromMemory(policy)
        watched = Watched(answers_once)
        worlds = [truth.enter() for truth in scenario.truths]
        scores = _scores(scenario, [recovered(watched, world) for world in worlds])
        if detailed:
            scores |= decision_counts(policy, watched.states)
            scores |= worlds[0].particulars() if isinstance(worlds[0], Reporting) else {}
        if keep is not None and len(scenario.truths) == 1:
            scores |= kept(keep, watched.states, scenario.truths[0], scenario.roles)
        risk = _known(scenario, name, type(policy), lambda: _expected(answers_once, scenario)) if expected else {}
        return label | scores | (risk or dict.fromkeys(EXPECTED)) | _certificate(policy, scenario.state)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what goes wrong in a policy is a result, and kept as one
        unavailable = dict.fromkeys(("loss", *EXPECTED, *map(str, Charge), "probes", "undone", "rollbacks", "ending"))
        return label | unavailable | {"success": 0.0, "steps": [], "error": f"{type(error).__name__}: {error}"}


def _known(scenario: Scenario, name: str, kind: type, compute: Callable[[], Record]) -> Record:
    """Return what is expected of a policy, from an earlier scenario of the same problem where there was one."""
    if scenario.expected is None:
        return compute()
    if (name, kind) not in scenario.expected:
        scenario.expected[name, kind] = compute()
    return scenario.expected[name, kind]


def _expected(policy: Policy, scenario: Scenario) -> Record:
    """Return the exact expectations, unavailable where outcomes cannot be enumerated."""
    try:
        found = evaluate(policy, scenario.state, most_states=scenario.most_states)
    except (NotDiscrete, TooLarge):
        return dict.fromkeys(EXPECTED)
    values = (found.expected_loss, found.success, found.expected_probes, found.expected_undone)
    return dict(zip(EXPECTED, values, strict=True))


def _played_informed(scenario: Scenario, *, expected: bool) -> Record:
    """Play the oracle, which knows the truth of each world; its risk is the mean over all that the posterior allows."""
    scores = _scores(
        scenario, [recovered(Oracle(truth.failed, truth.values), truth.enter()) for truth in scenario.truths]
    )
    if not expected or not scenario.possible:
        return scores | dict.fromkeys(EXPECTED)
    return scores | _known(scenario, ORACLE, Oracle, lambda: _expected_of_informed(scenario))


def _expected_of_informed(scenario: Scenario) -> Record:
    oracles = [(truth.weight, Oracle(truth.failed, truth.values)) for truth in scenario.possible]
    found = [(weight, evaluate(oracle, oracle.informed(scenario.state))) for weight, oracle in oracles]
    values = (
        math.fsum(weight * each.expected_loss for weight, each in found),
        math.fsum(weight * each.success for weight, each in found),
        0.0,
        math.fsum(weight * each.expected_undone for weight, each in found),
    )
    return dict(zip(EXPECTED, values, strict=True))


def _scores(scenario: Scenario, episodes: list[Judged]) -> Record:
    """Return the realised scores: of the one truth, or weighted over all of them."""
    weight = [truth.weight for truth in scenario.truths]

    def mean(values: list[float]) -> float:
        return math.fsum(w * v for w, v in zip(weight, values, strict=True) if w > 0)

    scores: Record = {
        "loss": mean([e.loss for e in episodes]),
        "success": mean([float(e.verdict.success) for e in episodes]),
    }
    scores |= {charge.value: mean([charged(e.receipts, charge) for e in episodes]) for charge in Charge}
    scores |= {
        "probes": mean([_primitives(_chosen(e.recovery), Charge.SENSING) for e in episodes]),
        "undone": mean([float(len(e.recovery.undone)) for e in episodes]),
        "rollbacks": mean([_primitives(e.recovery.receipts, Charge.ROLLBACK) for e in episodes]),
    }
    if len(episodes) == 1:
        only, truth = episodes[0], scenario.truths[0]
        budget = min(scenario.budget, scenario.state.problem.sensing_budget)
        attributed = only.recovery.decided_at.attributed_to  # what was more likely than not when the policy decided
        return scores | {
            "ending": _ending(only.recovery),
            "steps": _steps(only.recovery),
            "false_alarm": not truth.failed,
            "cause": str(truth.cause),
            "attributed": UNRESOLVED if attributed is None else str(attributed),
            "over_budget": only.verdict.over_budget if math.isfinite(budget) else None,
        }
    played = [
        {
            "truth": truth.name,
            "weight": truth.weight,
            "loss": episode.loss,
            "success": int(episode.verdict.success),
            "probes": len(episode.recovery.evidence),
        }
        for truth, episode in zip(scenario.truths, episodes, strict=True)
    ]
    return scores | {"ending": None, "steps": [], "false_alarm": None, "realisations": played}


def _chosen(recovery: Recovery) -> tuple[Receipt, ...]:
    """Return the receipts of all that was done since the alarm; what was measured for the alarm itself comes first."""
    return recovery.receipts[len(recovery.start.evidence) :]


def _primitives(receipts: Sequence[Receipt], charge: Charge) -> float:
    """Return how many primitives these took under a charge, by probes or in the course of plans, successful or not."""
    return float(sum(leaf.charge is charge for receipt in receipts for leaf in receipt.leaves))


def _ending(recovery: Recovery) -> str:
    """Return how it ended: the kind of the last step, or that it was a last resort."""
    step = recovery.steps[-1]
    last = [plan.name for plan in recovery.start.problem.plans if plan.last_resort]
    return LAST_RESORT if isinstance(step, RollBack) and step.plan in last else step_kind(step)


def _steps(recovery: Recovery) -> list[str]:
    """Return what was chosen and what was answered, one short text for each step."""
    measured = (receipt for receipt in _chosen(recovery) if receipt.charge is Charge.SENSING)
    return [_answer(next(measured)) if isinstance(step, Reprobe) else step_text(step) for step in recovery.steps]


def _answer(receipt: Receipt) -> str:
    return f"{receipt.what}: {value_text(receipt.finding) if receipt.succeeded else 'no answer'}"


def step_text(step: Step) -> str:
    """Return a step in few words."""
    match step:
        case Reprobe(probe):
            return probe
        case RollBack():
            plan = f"{step.plan}: " if step.plan else ""
            correct = ", ".join(step.correct) or "nothing"
            return f"{plan}roll back {correct} (undo {', '.join(step.undo) or 'nothing'})"
        case Continue() | Restart() | Escalate():
            return step_kind(step)


def _certificate(policy: Policy, state: InformationState) -> Record:
    """Return the bounds a policy certifies at the alarm, where it does."""
    if not isinstance(policy, CertifyingPolicy):
        return {}
    bounds = policy.bounds(state)
    return {"lower": bounds.lower, "upper": bounds.upper}


COUNTS = ("decisions", "screened", "uncovered", "reduced", "candidates", "evaluated", "branches")


def decision_counts(policy: Policy, states: Sequence[InformationState]) -> dict[str, int]:
    """Return the counts of all decisions of an episode: where there was nothing to probe, only the call counts."""
    found = dict.fromkeys(COUNTS, 0)
    screens = isinstance(policy, LinearChain) or (isinstance(policy, AquaMend) and policy.screen is not None)
    for state in states:
        found["decisions"] += 1
        looked = considered_by(policy, state)
        if looked.legal:
            covered = screens and PowerScreen().covers(state)
            found["screened"] += covered
            found["uncovered"] += screens and not covered
            found["reduced"] += looked.screened > 0
        found["candidates"] += looked.legal if looked.evaluated or looked.screened else 0
        found["evaluated"] += looked.evaluated
        found["branches"] += looked.branches
    return found
