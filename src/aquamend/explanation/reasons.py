"""Why the step was chosen, what would flip it, and how far from optimal it can be: in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aquamend.decision.steps import Escalate, Reprobe, Step
from aquamend.explanation.alternatives import Alternatives
from aquamend.explanation.answers import Answer, answers_to
from aquamend.explanation.report import DecisionReport
from aquamend.explanation.wording import brief
from aquamend.text.words import listed, percent, quantity, shown

if TYPE_CHECKING:
    from aquamend.decision.robustness import BeliefThreshold, Robustness

ONE_STEP = ("aquamend", "all-candidates")
"""Policies that take the least one-step loss, which is what the table ranks by."""


def reasons(report: DecisionReport, table: Alternatives) -> str:
    """Return in a few sentences why this step was chosen."""
    sentences = [*_policy_note(report)]
    if report.state.contradiction is not None:
        sentences.append(
            f"No hypothesis allows {shown(report.state.contradiction)}, so the model is wrong somewhere and no "
            "probability is left to go by: every belief is taken to have failed."
        )
    probing = isinstance(report.step, Reprobe)
    sentences += _probe_reasons(report) if probing else _stop_reasons(report, table)
    return " ".join(sentences)


def _policy_note(report: DecisionReport) -> Iterator[str]:
    name = shown(report.policy)
    if report.policy in ONE_STEP:
        return
    ahead = report.policy.startswith("lookahead-") or report.policy == "exact"
    rule = "plans further ahead than the table below" if ahead else "decides by its own rule, not by the table below"
    if report.step == report.least:
        yield f"Policy {name} {rule}; here it agrees with the least expected loss."
    else:
        least = f"{brief(report.least)} ({_cost(report, report.loss_of(report.least))})"
        yield f"Policy {name} {rule}; the least expected loss there would be to {least}."


def _cost(report: DecisionReport, value: float) -> str:
    return quantity(value, report.state.problem.unit)


def _probe_reasons(report: DecisionReport) -> Iterator[str]:
    if not isinstance(report.step, Reprobe):
        return
    probe, values = report.step.probe, report.values
    cost = float(values.branches.cost[values.branches.probes.index(probe)])
    saved = report.stop.loss - (report.loss - cost)
    name = shown(probe)
    if math.isinf(report.stop.loss):
        yield f"No decision has a finite loss now; {name} costs {_cost(report, cost)} and may make one possible."
    elif report.loss < report.stop.loss:
        yield (
            f"{name} costs {_cost(report, cost)} and saves {_cost(report, saved)} on average, "
            f"{_cost(report, saved - cost)} more than its cost, against the best decision now: "
            f"{brief(report.stop.decision)} ({_cost(report, report.stop.loss)})."
        )
    else:
        yield f"{name} costs {_cost(report, cost)}; by itself its answer saves only {_cost(report, max(saved, 0.0))}."
    yield _what_changes(answers_to(values, probe))


def _what_changes(answers: tuple[Answer, ...]) -> str:
    """Return which answers lead to which decision, in one sentence."""
    groups: dict[Step, list[Answer]] = {}
    for answer in sorted(answers, key=lambda a: -a.probability):
        groups.setdefault(answer.stop.decision, []).append(answer)
    if len(groups) == 1:
        return f"Whatever it answers, the decision then is to {brief(answers[0].stop.decision)}."
    parts = [
        f"{_when(group)} ({percent(math.fsum(a.probability for a in group))}) → {brief(decision)}"
        for decision, group in list(groups.items())[:3]
    ]
    more = "; else see below" if len(groups) > 3 else ""
    return f"Its answer decides: {'; '.join(parts)}{more}."


def _when(group: list[Answer]) -> str:
    return listed([answer.label for answer in group], most=2)


def _stop_reasons(report: DecisionReport, table: Alternatives) -> Iterator[str]:
    stop = report.stop if report.chosen is None else report.chosen
    if math.isinf(stop.loss):
        yield _no_finite(report)
        return
    loss = "Worst-case" if report.state.contradiction is not None else "Expected"
    yield (
        f"{loss} loss {_cost(report, stop.loss)}: {_cost(report, stop.recovery)} for the recovery and "
        f"{_cost(report, stop.residual)} for failures left uncorrected."
    )
    if report.is_least:
        yield from _no_probe(report)
        yield from _runner_up(report, table)


def _no_finite(report: DecisionReport) -> str:
    if isinstance(report.step, Escalate):
        return "No decision has a finite loss, with or without one more probe, so a person must take over."
    return "This decision has an infinite loss: it leaves or undoes what it may not."


def _no_probe(report: DecisionReport) -> Iterator[str]:
    values = report.values
    if report.state.contradiction is not None:
        return
    if not values.branches.probes:
        yield "No probe may run now." if report.probes else "There is no probe to run."
        return
    best = int(values.expected_loss.argmin())
    cost = float(values.branches.cost[best])
    saved = max(0.0, report.stop.loss - (float(values.expected_loss[best]) - cost))
    only = "only " if saved > 0 else ""
    name = shown(values.branches.probes[best])
    amount = _cost(report, saved) if saved > 1e-9 else "nothing"
    yield f"No probe is worth its cost: the best, {name}, costs {_cost(report, cost)} and saves {only}{amount}."


def _runner_up(report: DecisionReport, table: Alternatives) -> Iterator[str]:
    for row in table.rows:
        if row.step != report.step and not isinstance(row.step, Reprobe) and math.isfinite(row.loss):
            more = row.loss - report.loss
            if more <= 1e-9:
                yield f"It ties with {brief(row.step)}; the smaller correction wins a tie."
            else:
                yield f"The next best decision, {brief(row.step)}, costs {_cost(report, more)} more."
            return


def flips(report: DecisionReport) -> Iterator[str]:
    """Yield what would make another alternative at least as good, closest first."""
    found = report.robustness
    if found is None:
        return
    yield _nearest_flip(found)
    for threshold in sorted(found.thresholds, key=_room):
        yield from _threshold(threshold)


def _room(threshold: BeliefThreshold) -> float:
    limits = [limit for limit in (threshold.below, threshold.above) if limit is not None]
    return min((abs(limit - threshold.now) for limit in limits), default=math.inf)


def _nearest_flip(found: Robustness) -> str:
    to = f" to {shown(found.challenger)}" if found.challenger else ""
    floor = f"nothing under {found.distance_at_least:.3g} flips it"
    if found.distance is None and not found.exact and found.distance_at_least <= 0.0:
        return "The problem is too large to say what would flip it."
    if found.distance is None:
        none = "No change of the probabilities makes another alternative better"
        return f"{none}." if found.exact else f"{none} that was found; {floor}."
    if found.distance <= 0.0:
        return f"The slightest change of the probabilities can flip it{to}."
    moved = f"moving {found.distance:.3g} of the probability between hypotheses (total variation)"
    if found.exact or found.distance - found.distance_at_least <= 1e-9:
        return f"The nearest flip is{to}: it takes {moved}."
    return (
        f"The nearest flip found is{to}, by {moved}; {floor if found.distance_at_least > 0 else 'there may be nearer'}."
    )


def _threshold(threshold: BeliefThreshold) -> Iterator[str]:
    q, now = f"q({shown(threshold.belief)})", f"(now {threshold.now:.3g})"
    if threshold.below is not None:
        limit = f"falls below {threshold.below:.3g}" if threshold.below > 0.0 else "falls to 0"
        yield f"Flips to {shown(threshold.below_step or 'another')} if {q} {limit} {now}."
    if threshold.above is not None:
        limit = f"rises above {threshold.above:.3g}" if threshold.above < 1.0 else "rises to 1"
        yield f"Flips to {shown(threshold.above_step or 'another')} if {q} {limit} {now}."


def certificate(report: DecisionReport) -> str:
    """Return what the bounds say about the best possible policy."""
    lower, upper = report.bounds.lower, report.bounds.upper
    if math.isinf(upper):
        return "No finite loss can be guaranteed."
    guaranteed = report.certified or report.step == report.least
    if report.bounds.gap <= 1e-9:
        best = f"no policy can do better than {_cost(report, upper)} on average."
        return f"This step is optimal: {best}" if guaranteed else f"{best[0].upper()}{best[1:]}"
    who = "this step guarantees" if guaranteed else "one-step planning guarantees"
    return (
        f"No policy can do better than {_cost(report, lower)} on average; {who} at most {_cost(report, upper)} "
        f"(gap {_cost(report, report.bounds.gap)})."
    )
