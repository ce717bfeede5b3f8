"""What looks odd in a sound problem: things a model's author rarely means, each with its price at the alarm.

No finding is an error. The price says how much of the expected loss is at stake, so that the list can be read from the
top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from aquamend.belief import InformationState
from aquamend.belief.state import BUDGET_TOLERANCE
from aquamend.belief.support import evidence_on
from aquamend.decision import TIE, Reprobe, best_terminal, price
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import clairvoyant_loss, clairvoyant_losses, could_answer, probe_values
from aquamend.decision.sensitivity import robustness
from aquamend.decision.terminal import expected_loss, listed_endings
from aquamend.errors import TooLarge
from aquamend.planning.bounds import effect_of_left_out
from aquamend.planning.exact import solve
from aquamend.planning.lookahead import lookahead_losses
from aquamend.policies import AquaMend
from aquamend.problem import Plan
from aquamend.problem.building.compensations import leading_to
from aquamend.problem.graph import EdgeKind, RecoveryGraph
from aquamend.problem.model.kernels import Outcomes, Readings
from aquamend.text import listed, named, percent, quantity

WORTH_TELLING = 1e-3
"""Of what the recovery costs: undistinguished hypotheses that cost less are left out."""
MOST_GROUPS = 5
KNIFES_EDGE = 0.01
"""Total variation of the posterior below which a flip of the decision counts as near."""
RARE_ALARM = 0.05
"""Share of the prior below which the alarm is said to contradict it."""
MUCH_LEFT_OUT = 0.02
MOST_ENDINGS = 500
"""Endings listed to find out whether a probe could pay at any posterior."""
MOST_CELLS = 100_000
"""Evidence states that are priced to find out whether looks pay together."""
FAR_SD = 6.0
"""Standard deviations between a reading and every truth, beyond which it is taken for another quantity."""


class Severity(StrEnum):
    """How likely it is that the author did not mean it."""

    WARNING = "warning"
    """Hardly ever meant: decisions are probably not what they should be."""
    NOTE = "note"
    """Often meant, and worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something odd."""

    code: str
    """What kind of oddity, in one or two words joined by a hyphen."""
    where: str
    """Place in the file, or the name of what it is about."""
    message: str
    cost: float | None
    """Expected loss at stake; infinite where something may not be kept; None where it cannot be said."""
    severity: Severity = Severity.NOTE


def amount(state: InformationState, loss: float) -> str:
    """Return a loss in the unit of a state's problem."""
    return quantity(loss, state.problem.unit)


def findings(state: InformationState) -> list[Finding]:
    """Return everything odd about the problem of a state, warnings first and the most costly first among equals."""
    found = [
        *_inseparable(state),
        *_useless_probes(state),
        *_never_possible(state),
        *_incorrigible(state),
        *_impossible_restart(state),
        *_knifes_edge(state),
        *_contradicted_prior(state),
        *_left_out(state),
        *lacking_support(state),
        *pays_together(state),
        *odd_instruments(state),
        *odd_monitors(state),
        *causes_at_rest(state),
        *unquestioned_actions(state),
    ]
    return sorted(found, key=lambda finding: (finding.severity is Severity.NOTE, -(finding.cost or 0.0)))


def _inseparable(state: InformationState) -> Iterator[Finding]:
    """Yield groups of hypotheses that every probe answers alike, where knowing which one holds would pay."""
    problem = state.problem
    labels = [view.channel.of for view in state.legal]
    table = np.column_stack(labels) if labels else np.zeros((len(state.posterior), 1), dtype=np.intp)
    group = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    endings = endings_of(problem)
    speaks = endings.support.once_answered(could_answer(state))
    best = clairvoyant_losses(state)
    stop = best_terminal(state).loss
    least = max(TIE, WORTH_TELLING * stop) if math.isfinite(stop) else TIE
    found = []
    for g in np.unique(group):
        members = np.flatnonzero((group == g) & (state.posterior > 0.0))
        if len(members) < 2:
            continue
        sums = (state.posterior[members] @ endings.features[members])[None, :]
        together = float(endings.values(sums, speaks, relaxed=True)[0])
        apart = float(state.posterior[members] @ best[members])
        cost = together - apart if math.isfinite(apart) else 0.0
        if cost > least:
            found.append((cost, [problem.model.names[s] for s in members[np.argsort(-state.posterior[members])]]))
    for cost, names in sorted(found, key=lambda pair: -pair[0])[:MOST_GROUPS]:
        said = f"no probe tells {listed(names)} from each other; knowing would save {amount(state, cost)}"
        yield Finding("inseparable", names[0], said, cost)


def _useless_probes(state: InformationState) -> Iterator[Finding]:
    """Yield probes that tell nothing, and those that cost more than knowing everything would be worth."""
    stop = best_terminal(state).loss
    worth = stop - clairvoyant_loss(state) if math.isfinite(stop) else math.inf
    ever = _worth_anywhere(state)
    for view in state.legal:
        where = f"probes.{view.name}"
        if view.channel.n_labels == 1:
            said = f"every hypothesis answers {view.name} alike: it tells nothing and costs {amount(state, view.cost)}"
            yield Finding("uninformative", where, said, view.cost)
        elif not _supports(state, view.name) and view.cost >= ever:
            said = f"{view.name} costs {amount(state, view.cost)}; whatever is known, knowing everything is worth less"
            yield Finding("never-pays", where, f"{said}: {amount(state, ever)}", view.cost - ever)
        elif view.cost > worth:
            said = f"{view.name} costs {amount(state, view.cost)}, and at this alarm knowing everything is worth"
            yield Finding("cannot-pay-now", where, f"{said} {amount(state, worth)}", view.cost - worth)


def _never_possible(state: InformationState) -> Iterator[Finding]:
    """Yield probes that can never run: they require what needs what they forbid, or cost more than may be spent.

    Also those that cannot run in this recovery, which neither does what is only planned nor undoes what cannot be.
    """
    problem, graph = state.problem, state.problem.graph
    executed = {action.name for action in graph.executed}
    for probe in graph.probes:
        where = f"probes.{probe.name}"
        barred = [(r, f) for r in probe.requires for f in probe.forbids if _brings_about(graph, f, r)]
        planned = [name for name in probe.requires if name not in executed]
        final = [name for name in probe.forbids if name in graph.irreversible_executed]
        if barred:
            needed, forbidden = barred[0]
            said = f"{probe.name} is never possible: it requires {needed}, which needs {forbidden}, and forbids that"
            yield Finding("never-possible", where, said, None, Severity.WARNING)
        elif probe.cost > problem.sensing_budget + BUDGET_TOLERANCE:
            said = f"{probe.name} is never possible: it costs {amount(state, probe.cost)}, and no more than"
            said += f" {amount(state, problem.sensing_budget)} may be spent"
            yield Finding("never-possible", where, said, None, Severity.WARNING)
        elif planned or final:
            why = f"{planned[0]} is only planned" if planned else f"{final[0]} is done and cannot be undone"
            yield Finding("not-possible-here", where, f"{probe.name} is not possible in this recovery: {why}", None)


def _brings_about(graph: RecoveryGraph, first: str, then: str) -> bool:
    """Whether an action needs, directly or through others, what another one brings about."""
    causal = [(source, target) for source, target, kind in graph.edges if kind == EdgeKind.ACTION_CAUSAL]
    reached = [first]
    for name in reached:
        reached += [target for source, target in causal if source == name and target not in reached]
    return then in reached[1:]


def _supports(state: InformationState, probe: str) -> bool:
    """Whether what a probe answers may be what a belief that needs support waits for."""
    graph = state.problem.graph
    return any(b.needs_support and probe in graph.supporting_probes[b.name] for b in graph.beliefs)


def _worth_anywhere(state: InformationState) -> float:
    """Return a bound on what knowing the truth is worth at any posterior: the least regret in the worst case."""
    endings = endings_of(state.problem)
    listed_ = listed_endings(endings, endings.support.once_answered(could_answer(state)), most=MOST_ENDINGS)
    sound = [e for e in listed_ or () if not e.support]
    best = clairvoyant_losses(state)
    regrets = [float(np.max(ending.loss - best)) for ending in sound if np.isfinite(best).all()]
    return max(min(regrets, default=math.inf), 0.0)


def _incorrigible(state: InformationState) -> Iterator[Finding]:
    """Yield beliefs that may have failed and that no ending can correct at a finite cost."""
    problem, graph = state.problem, state.problem.graph
    restart = problem.restart_plan
    plans = [*problem.plans, *([restart] if restart else [])]
    corrected = {name for plan in plans if np.isfinite(plan.loss).any() for name in plan.correct}
    for i, belief in enumerate(graph.beliefs):
        q = float(state.failure_probabilities[i])
        undo = graph.charged(graph.belief_charges[i]) if problem.corrections else math.inf
        if q > 0.0 and math.isinf(undo) and belief.name not in corrected:
            cost = belief.residual * q if belief.may_keep else math.inf
            barred = [a for a in graph.downstream(belief.name) if math.isinf(graph.rollback_cost([a]))]
            why = f"{listed(barred)} cannot be undone" if barred else "corrections end nothing here"
            said = f"nothing can correct {belief.name}, which has failed with {percent(q)}: {why}, and no plan or "
            yield Finding(
                "incorrigible",
                f"beliefs.{belief.name}",
                f"{said}compensation corrects it; {amount(state, cost)}",
                cost,
            )


def _impossible_restart(state: InformationState) -> Iterator[Finding]:
    """Yield a restart that an irreversible action has made impossible, and what it would have saved."""
    problem = state.problem
    if problem.restart is None or problem.restart_plan is not None:
        return
    starting_over = problem.restart
    loss = expected_loss(state, starting_over.loss) if isinstance(starting_over, Plan) else float(starting_over)
    stop = best_terminal(state).loss
    saved = max(0.0, stop - loss) if math.isfinite(stop) else math.inf
    barred = listed(problem.graph.irreversible_executed)
    would = f"it would save {amount(state, saved)}" if saved > 0.0 else "it would not have been the best ending"
    yield Finding("restart-impossible", "restart", f"restart is given, but {barred} cannot be undone; {would}", saved)


def _knifes_edge(state: InformationState) -> Iterator[Finding]:
    """Yield a decision that a small change of the posterior would flip."""
    if state.contradiction is not None:
        return
    step = AquaMend(screen=None).next_step(state)
    found = robustness(state, step)
    if found.distance is None or found.distance > KNIFES_EDGE:
        return
    values = probe_values(state)
    losses = sorted([values.stop_loss, *values.expected_loss.tolist()])
    gap = losses[1] - losses[0] if len(losses) > 1 and math.isfinite(losses[1]) else 0.0
    what = f"run {step.probe}" if isinstance(step, Reprobe) else "end the recovery now"
    near = f"{found.distance:.2g}"
    said = f"the decision ({what}) flips to {found.challenger} if {near} of the probability moves; the losses differ by"
    yield Finding("knifes-edge", "decision", f"{said} {amount(state, gap)}", gap)


def _contradicted_prior(state: InformationState) -> Iterator[Finding]:
    """Yield priors under which the alarm that was raised hardly ever is."""
    model = state.problem.model
    likelihood = model.alarm_likelihood
    if likelihood is None or likelihood.max() <= 0.0:
        return
    share = float(model.prior @ likelihood) / float(likelihood.max())
    if share >= RARE_ALARM:
        return
    before = best_terminal(InformationState.start(state.problem)).decision
    heard = InformationState.alarmed(state.problem)
    best = best_terminal(heard).loss
    if math.isinf(best):  # then no decision is better than another
        return
    cost = price(heard, before).loss - best
    likely = model.names[int(model.prior.argmax())]
    said = f"the priors make this alarm rare ({percent(share)} of what it could be), mostly because of {likely!r}; "
    more = f"deciding by them, without the alarm, would cost {amount(state, cost)} more"
    yield Finding("alarm-contradicts-priors", "alarm.likelihood", said + more, cost)


def _left_out(state: InformationState) -> Iterator[Finding]:
    """Yield combinations of causes that were left out although they need not be rare by now."""
    effect = effect_of_left_out(state.problem, state.chance_of_evidence)
    if effect is not None and effect.by_now > MUCH_LEFT_OUT:
        said = f"more causes at once than `together` allows may have probability {percent(effect.by_now)}"
        more = f"; that may change the expected loss by up to {amount(state, effect.loss)}"
        yield Finding("left-out", "together", said + more, effect.loss)


def odd_monitors(state: InformationState) -> Iterator[Finding]:
    """Yield monitors that tell nothing, and those that go on blaming what was corrected."""
    model = state.problem.model
    possible = model.prior > 0.0
    for name, alarm in model.monitors.items():
        where = f"alarms.{name}" if name in model.alarms else name
        row = model.rung[name][possible]
        if float(np.ptp(row)) == 0.0:
            said = f"{name!r} rings with {percent(float(row[0]))} whatever is true: neither alarm nor silence counts"
            yield Finding("monitor-never-matters", f"{where}.likelihood", said, 0.0, Severity.WARNING)
        elif name in model.alarms and alarm.conditions is None:
            said = (
                f"{name!r} is given by causes or hypotheses: rung again after a correction, it blames what was "
                "corrected; write what it sees by beliefs"
            )
            yield Finding("monitor-by-cause", f"{where}.likelihood", said, 0.0)


def causes_at_rest(state: InformationState) -> Iterator[Finding]:
    """Yield causes with a rate that cannot have come: it is 0, or all that they overtake was measured just now."""
    ageing = state.problem.ageing
    for name in ageing.at_rest if ageing is not None else ():
        said = f"{name!r} has a rate and cannot have come: its rate is 0, or what it makes wrong has the age 0"
        yield Finding("rate-never-counts", "causes", f"{said}; give `age`, or --age", 0.0, Severity.WARNING)


def unquestioned_actions(state: InformationState) -> Iterator[Finding]:
    """Yield planned actions that cannot be undone and that no belief leads to: checking them only says to go on."""
    graph = state.problem.graph
    for i, action in enumerate(graph.actions):
        if not action.executed and not action.reversible and not leading_to(graph, action.name):
            said = (
                f"{action.name!r} cannot be undone, and no belief leads to it: a check before it can only say to go on"
            )
            yield Finding("nothing-leads-to", f"actions[{i}]", said, 0.0)


def lacking_support(state: InformationState) -> Iterator[Finding]:
    """Yield beliefs that need support and have none at the alarm, priced by what lifting the need would save."""
    problem, graph = state.problem, state.problem.graph
    bare = [
        belief.name
        for i, belief in enumerate(graph.beliefs)
        if belief.needs_support and not state.evidence and not evidence_on(state, i, problem.failed[:, i])
        and state.failure_probabilities[i] > 0.0
    ]  # fmt: skip
    if not bare:
        return
    endings = endings_of(problem)
    sums = (state.posterior @ endings.features)[None, :]
    lifted = float(endings.values(sums, np.ones(len(endings.support.probe), dtype=bool), relaxed=True)[0])
    stop = best_terminal(state).loss
    cost = stop - lifted if math.isfinite(stop) else math.inf
    need = "needs support and has none" if len(bare) == 1 else "need support and have none"
    said = (
        f"{listed([repr(name) for name in bare])} {need} at the alarm: nothing may be kept or declared before a probe "
        "speaks for it"
    )
    remedy = "name in `declarations` the probes it was made from, or plan further than one probe"
    if cost > TIE:
        price, severity = f"that costs {amount(state, cost)}", Severity.WARNING
    else:
        price, severity = "at this alarm that costs nothing: no other ending would lose less", Severity.NOTE
    yield Finding("no-support", f"beliefs.{bare[0]}", f"{said}; {price}: {remedy}", max(0.0, cost), severity)


def pays_together(state: InformationState) -> Iterator[Finding]:
    """Yield where no probe pays alone, and several together do."""
    values = probe_values(state)
    alone = min(values.stop_loss, float(values.expected_loss.min(initial=math.inf)))
    if not state.legal or alone < values.stop_loss - TIE:
        return
    found = _planned(state)
    if found is None or not found[0] < alone - max(TIE, 1e-3 * min(alone, 1e300)):
        return
    planned, probe, policy = found
    saved = alone - planned
    said = f"no single probe pays, and several together save {amount(state, saved)}, {probe!r} first"
    yield Finding("plan-further", f"probes.{probe}", f"{said}: plan further, with {policy}", saved, Severity.WARNING)


def _planned(state: InformationState) -> tuple[float, str, str] | None:
    """Return what planning further promises, with which probe first and by which policy; None where nobody can say."""
    table = solve(state, most_cells=MOST_CELLS)
    if table is not None:
        losses = table.probe_losses()
        first = int(losses.argmin()) if len(losses) else 0
        return (table.loss, table.sensing.probes[first], "`exact`") if len(losses) else None
    try:
        losses = lookahead_losses(state, 2)
    except TooLarge:
        return None
    return float(losses.min()), state.legal_probes[int(losses.argmin())], "`lookahead-2`"


def odd_instruments(state: InformationState) -> Iterator[Finding]:
    """Yield probes whose rows do not fit the values of the beliefs that they are said to read."""
    problem, graph = state.problem, state.problem.graph
    for belief, probes in graph.detecting_probes.items():
        i = graph.belief_index[belief]
        for probe in probes if i in problem.truth else ():
            channel = problem.model.channels[probe]
            if isinstance(channel, Readings) and not isinstance(graph.beliefs[i].declared, str):
                yield from _another_quantity(state, i, probe, channel)
                yield from _within_noise(state, i, probe, channel)
                yield from _exact_number(state, i, probe)
            elif isinstance(channel, Outcomes):
                yield from _unfollowed(state, i, probe, channel)


def _at_stake(state: InformationState, belief: int) -> float:
    """Return what the belief may cost at the alarm."""
    residual, q = state.problem.graph.beliefs[belief].residual, float(state.failure_probabilities[belief])
    return residual * q if q > 0.0 else 0.0


def _another_quantity(state: InformationState, i: int, probe: str, channel: Readings) -> Iterator[Finding]:
    truth = state.problem.truth[i].astype(float)
    mean = np.array([channel.weight[own] @ channel.mean[own] for own in _own(channel)])[channel.of]
    sd = np.array([channel.sd[own].max() for own in _own(channel)])[channel.of]
    known = np.isfinite(truth)
    tolerance = state.problem.graph.beliefs[i].tolerance
    far = np.abs(mean - truth) > FAR_SD * sd + tolerance
    apart = known.any() and (mean[known].min() > truth[known].max() or mean[known].max() < truth[known].min())
    if apart and far[known].all():
        name = state.problem.graph.beliefs[i].name
        said = (
            f"{probe!r} reads {mean[known].min():g} to {mean[known].max():g}, and {name!r} is {truth[known].min():g} "
            f"to {truth[known].max():g}: another quantity, or another unit?"
        )
        yield Finding("another-quantity", f"kernels.{probe}", said, _at_stake(state, i), Severity.WARNING)


def _own(channel: Readings) -> list[np.ndarray]:
    return [np.flatnonzero(channel.owner == label) for label in range(channel.n_labels)]


def _within_noise(state: InformationState, i: int, probe: str, channel: Readings) -> Iterator[Finding]:
    truth, declared = state.problem.truth[i].astype(float), state.problem.in_force(i)
    others = np.unique(truth[np.isfinite(truth) & (truth != declared)])
    if len(others) > 2 and others[-1] - others[0] < channel.sharpest:
        name = state.problem.graph.beliefs[i].name
        said = f"what may be true of {name!r}, {others[0]:g} to {others[-1]:g}, lies within the noise of {probe!r} (sd"
        said += f" {channel.sharpest:g}): no reading tells these {len(others)} values apart, and one would do as well"
        yield Finding("spread-within-noise", f"kernels.{probe}", said, _at_stake(state, i), Severity.NOTE)


def _exact_number(state: InformationState, i: int, probe: str) -> Iterator[Finding]:
    belief = state.problem.graph.beliefs[i]
    if belief.tolerance == 0.0:
        said = (
            f"{belief.name!r} has a tolerance of 0, and {probe!r} reads a number with noise: the least difference is "
            "a failure, and no number that is declared stays right; give it a tolerance"
        )
        yield Finding("no-tolerance", f"beliefs.{belief.name}", said, _at_stake(state, i), Severity.WARNING)


def _unfollowed(state: InformationState, i: int, probe: str, channel: Outcomes) -> Iterator[Finding]:
    truth, weight = state.problem.truth[i], state.problem.model.prior
    words = np.array([None if v is None or v != v else named(v) for v in truth.tolist()], dtype=object)
    for k, outcome in enumerate(channel.outcomes):
        right, wrong = (words == outcome) & (weight > 0.0), (words != outcome) & (weight > 0.0)
        if not right.any() or not wrong.any():
            continue
        column = channel.table[:, k]
        if_right, if_wrong = (float(weight[w] @ column[w] / weight[w].sum()) for w in (right, wrong))
        if if_right <= if_wrong:
            name = state.problem.graph.beliefs[i].name
            said = f"{probe!r} answers {outcome!r}, a value of {name!r}, with {percent(if_right)} where that is true"
            said += f" and with {percent(if_wrong)} where it is not: it does not follow the belief; write `of: {name}`?"
            yield Finding("unfollowed-value", f"kernels.{probe}", said, _at_stake(state, i), Severity.WARNING)
            return
