"""Why a step was chosen, what would flip it, how far from optimal it can be, and why something else cannot be done."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aquamend.belief import InformationState, rejected
from aquamend.belief.support import evidence_on
from aquamend.decision.endings import TIE
from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, RollBack, Wording
from aquamend.decision.terminal import declarable, may_be_kept, price
from aquamend.planning.bounds import LeftOut
from aquamend.policies.decision_report import Alternatives, Branch, DecisionReport, answers_to, cost_parts
from aquamend.problem.graph import RecoveryGraph
from aquamend.text import listed, percent, percents_apart, quantity, shown

if TYPE_CHECKING:
    from aquamend.decision.sensitivity.robustness import BeliefThreshold, Robustness


def reasons(report: DecisionReport, table: Alternatives) -> str:
    """Return in a few sentences why this step was chosen."""
    sentences = [*_policy_note(report)]
    if report.state.contradiction is not None:
        sentences.append(
            f"No hypothesis allows {report.state.contradiction}, so the model is wrong somewhere and no "
            "probability is left to go by: every belief is taken to have failed."
        )
    sentences += _probe_reasons(report) if isinstance(report.step, Reprobe) else _stop_reasons(report, table)
    return shown(" ".join(sentences))


def _policy_note(report: DecisionReport) -> Iterator[str]:
    words, name = Wording(report.state), report.policy
    agrees = report.step == report.least
    least = f"{words.full(report.least)} at {words.cost(report.loss_of(report.least))}"
    about = report.description
    if about is not None and about.one_step:
        if not agrees and report.screened_out:
            count = len(report.screened_out)
            probes = "1 probe was" if count == 1 else f"{count} probes were"
            yield f"{probes} screened out; the least expected loss of all would be to {least}."
        return
    ahead = about is not None and about.plans_ahead
    rule = "plans further ahead than the table below" if ahead else "decides by its own rule, not by the table below"
    if agrees:
        yield f"Policy {name} {rule}; here it agrees with the least expected loss."
    else:
        yield f"Policy {name} {rule}; the least expected loss there would be to {least}."
    if about is not None and not ahead:
        yield f"Its rule: {about.summary}"
    if report.note:
        yield report.note


def _probe_reasons(report: DecisionReport) -> Iterator[str]:
    if not isinstance(report.step, Reprobe):
        return
    words, name = Wording(report.state), report.step.probe
    cost = report.state.probe(report.step.probe).cost
    saved = report.stop.loss - (report.loss - cost)
    if math.isinf(report.stop.loss):
        yield f"No decision has a finite loss now; {name} costs {words.cost(cost)} and may make one possible."
    elif report.loss < report.stop.loss:
        yield (
            f"{name} costs {words.cost(cost)} and saves {words.cost(saved)} on average, "
            f"{words.cost(saved - cost)} more than its cost, against the best decision now: "
            f"{words.full(report.stop.decision)}, {words.cost(report.stop.loss)}."
        )
    else:
        yield f"{name} costs {words.cost(cost)}, and by itself its answer {_saves(words, saved)}."
    yield _what_changes(words, answers_to(report.state, report.step.probe))


def _saves(words: Wording, saved: float) -> str:
    return f"saves only {words.cost(saved)}" if saved > TIE else "saves nothing"


def _what_changes(words: Wording, answers: Sequence[Branch]) -> str:
    """Return which answers lead to which decision, in one sentence."""
    groups: dict[Decision, list[Branch]] = {}
    for answer in sorted(answers, key=lambda a: -a.probability):
        groups.setdefault(answer.stop.decision, []).append(answer)
    if len(groups) == 1:
        return f"Whatever it answers, the decision then is to {words.full(answers[0].stop.decision)}."
    then = [words.brief(decision) for decision in groups]
    if len(set(then)) < len(then):  # they differ in what is declared
        then = [words.full(decision) for decision in groups]
    parts = []
    for group, text in list(zip(groups.values(), then, strict=True))[:3]:
        chance = percent(math.fsum(answer.probability for answer in group))
        parts.append(f"{listed([answer.label for answer in group], most=2)} ({chance}) → {text}")
    more = "; else see below" if len(groups) > 3 else ""
    return f"Its answer decides: {'; '.join(parts)}{more}."


def _stop_reasons(report: DecisionReport, table: Alternatives) -> Iterator[str]:
    stop, words = report.chosen or report.stop, Wording(report.state)
    if math.isinf(stop.loss):
        yield _no_finite(report)
        return
    loss = "Worst-case" if report.state.contradiction is not None else "Expected"
    recovery, residual = cost_parts(report.state, stop)
    if isinstance(stop.decision, Escalate):
        yield f"{loss} loss {words.cost(stop.loss)}, for handing over."
    elif recovery is None or residual is None:
        yield f"{loss} loss {words.cost(stop.loss)}, recovery and what may be left wrong together."
    else:
        declares = isinstance(report.step, RollBack) and report.step.declare
        left = "for values that may be left wrong" if declares else "for failures left uncorrected"
        parts = f"{words.cost(recovery)} for the recovery and {words.cost(residual)} {left}"
        yield f"{loss} loss {words.cost(stop.loss)}: {parts}."
    yield from _no_probe(report)
    if report.is_least:
        yield from _runner_up(report, table)


def _no_finite(report: DecisionReport) -> str:
    if isinstance(report.step, Escalate):
        return "No decision has a finite loss, with or without one more probe, so a person must take over."
    return "This decision has an infinite loss: it leaves or undoes what it may not."


def _no_probe(report: DecisionReport) -> Iterator[str]:
    values, words = report.values, Wording(report.state)
    if report.state.contradiction is not None or not report.is_least:
        return
    if not values.branches.probes:
        yield "No probe may run now." if report.probes else "There is no probe to run."
        return
    best = int(values.expected_loss.argmin())
    cost = float(values.branches.cost[best])
    saved = report.stop.loss - (float(values.expected_loss[best]) - cost)
    name = values.branches.probes[best]
    yield f"No probe is worth its cost: the best, {name}, costs {words.cost(cost)} and {_saves(words, saved)}."


def _runner_up(report: DecisionReport, table: Alternatives) -> Iterator[str]:
    words = Wording(report.state)
    for row in table.rows:
        if row.step != report.step and not isinstance(row.step, Reprobe) and math.isfinite(row.loss):
            more = row.loss - report.loss
            if more <= TIE:
                yield f"It ties with {words.full(row.step)}; the smaller correction wins a tie."
            else:
                yield f"The next best decision, {words.full(row.step)}, costs {words.cost(more)} more."
            return


def flips(report: DecisionReport) -> Iterator[str]:
    """Yield what would make another alternative at least as good, closest first."""
    found = report.robustness
    if found is None:
        return
    yield shown(_nearest_flip(found))
    for threshold in sorted(found.thresholds, key=_room):
        yield from _threshold(threshold)


def _room(threshold: BeliefThreshold) -> float:
    limits = [limit for limit in (threshold.below, threshold.above) if limit is not None]
    return min((abs(limit - threshold.now) for limit in limits), default=math.inf)


def _nearest_flip(found: Robustness) -> str:
    to = f" to {found.challenger}" if found.challenger else ""
    floor = f"nothing under {percent(found.distance_at_least)} flips it"
    if found.distance is None and not found.exact and found.distance_at_least <= 0.0:
        return "The problem is too large to say what would flip it."
    if found.distance is None:
        none = "No change of the probabilities makes another alternative better"
        return f"{none}." if found.exact else f"{none} that was found; {floor}."
    if found.distance <= 0.0:
        return f"The slightest change of the probabilities can flip it{to}."
    moved = f"moving {percent(found.distance)} of the probability between hypotheses (total variation)"
    if found.exact or found.distance - found.distance_at_least <= TIE:
        return f"The nearest flip is{to}: it takes {moved}."
    nearer = floor if found.distance_at_least > 0 else "there may be nearer ones"
    return f"The nearest flip found is{to}, by {moved}; {nearer}."


def _threshold(threshold: BeliefThreshold) -> Iterator[str]:
    for limit, step, moves, to_the_end in (
        (threshold.below, threshold.below_step, "falls below", "falls to 0%"),
        (threshold.above, threshold.above_step, "rises above", "rises to 100%"),
    ):
        if limit is not None:
            there, now = percents_apart(limit, threshold.now)
            move = f"{moves} {there}" if 0.0 < limit < 1.0 else to_the_end
            yield shown(f"Flips to {step or 'another'} if q({threshold.belief}) {move} (now {now}).")


def certificate(report: DecisionReport) -> str:
    """Return what the bounds say about the best possible policy."""
    lower, upper, words = report.bounds.lower, report.bounds.upper, Wording(report.state)
    if math.isinf(upper):
        return "No finite loss can be guaranteed."
    if report.state.contradiction is not None:
        return f"In the worst case nothing costs less than {words.cost(upper)}."
    guaranteed = report.certified or report.step == report.least
    if report.bounds.gap <= TIE:
        best = f"no policy can do better than {words.cost(upper)} on average."
        return f"This step is optimal: {best}" if guaranteed else f"{best[0].upper()}{best[1:]}"
    who = "this step guarantees" if guaranteed else "one-step planning guarantees"
    return (
        f"No policy can do better than {words.cost(lower)} on average; {who} at most {words.cost(upper)} "
        f"(gap {words.cost(report.bounds.gap)})."
    )


def left_out_text(effect: LeftOut, unit: str, *, answered: bool = False) -> str:
    """Return how probable combinations of causes are that were left out, and what that may change.

    ``answered`` says whether probes have answered, so that more was heard than the alarm.
    """
    text = f"More causes at once are left out: {percent(effect.prior)} before the alarm"
    when = "by now" if answered else "after the alarm"
    text += f", at most {percent(effect.by_now)} {when}" if effect.by_now != effect.prior else ""
    if effect.unbounded:
        return shown(f"{text}; what that may cost has no bound, since {effect.unbounded} may not be kept if it failed.")
    return f"{text}; that changes the expected loss by at most {quantity(effect.loss, unit)}."


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Something that cannot be done now, with the reason; names stand in it as they are."""

    what: str
    why: str


def unavailable(report: DecisionReport) -> list[Unavailable]:
    """Return the illegal probes and the terminal decisions that are infeasible, each with its reason."""
    state, problem, graph = report.state, report.state.problem, report.state.problem.graph
    found = [Unavailable(f"probe {p.probe.name}", p.why_illegal) for p in report.probes if p.why_illegal]
    if problem.corrections:
        if math.isinf(price(state, Continue()).loss):
            found += [Unavailable("continue", why) for why in _why_not_kept(state)]
        for i, belief in enumerate(report.beliefs):
            what = f"roll back {belief.name}"
            if belief.suspected and math.isinf(belief.undo_cost):
                why = _cannot_undo(graph, belief.undo) if belief.undo else "nothing that was done rests on it"
                found.append(Unavailable(what, why))
            elif not declarable(state, i) and (belief.suspected or not may_be_kept(state, i)):
                found.append(Unavailable(what, "the evidence supports no value to declare"))
    if problem.restart is not None and graph.irreversible_executed:
        found.append(Unavailable("restart", _cannot_undo(graph, graph.irreversible_executed)))
    used = {stop.decision.plan for stop in (report.stop, report.chosen) if stop and isinstance(stop.decision, RollBack)}
    for plan in problem.plans:
        if plan.last_resort and plan.name not in used:
            found.append(Unavailable(f"plan {plan.name}", "a last resort, and something else can still be done"))
    return found


def _why_not_kept(state: InformationState) -> Iterator[str]:
    """Yield why going on with everything as it is may not be done."""
    beliefs = state.problem.graph.beliefs
    q = state.failure_probabilities
    hard = [b.name for i, b in enumerate(beliefs) if q[i] > 0.0 and not (b.may_keep and math.isfinite(b.residual))]
    if hard:
        yield f"{listed(hard)} may have failed and may not be kept then"
    for i, belief in enumerate(beliefs):
        if belief.name not in hard and not may_be_kept(state, i):
            name = belief.name
            wrong = f"{name} is wrong with {percent(float(q[i]))}" if rejected(float(q[i])) else ""
            wrong = wrong if state.contradiction is None else f"{name} is taken to be wrong"
            bare = "" if evidence_on(state, i, state.problem.failed[:, i]) else f"no usable evidence supports {name}"
            yield f"{wrong}{', and ' if wrong and bare else ''}{bare}, and it needs support"


def _cannot_undo(graph: RecoveryGraph, actions: Sequence[str]) -> str:
    barred = [name for name in actions if math.isinf(graph.rollback_cost([name]))]
    return f"{listed(barred)} cannot be undone"
