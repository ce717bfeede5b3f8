"""A decision, or policies compared, as a person reads it in a terminal: the answer first, then what it rests on."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from aquamend.belief import InformationState, surprises
from aquamend.belief.support import usable
from aquamend.decision.endings import TIE
from aquamend.decision.standings import DeclarationStanding, Standing
from aquamend.decision.steps import Decision, Reprobe, Restart, RollBack, Wording
from aquamend.planning.bounds import effect_of_left_out
from aquamend.policies import Evaluation
from aquamend.policies.decision_report import Alternatives, BeliefLine, DecisionReport, alternatives, answers_to, labels
from aquamend.policies.evaluation import SampledEvaluation, paired_difference
from aquamend.problem import Problem
from aquamend.problem.model.hypotheses import Cause
from aquamend.problem.model.joint_model import UNNAMED
from aquamend.story.reasons import certificate, flips, left_out_text, reasons, unavailable
from aquamend.text import (
    CHOSEN,
    FAINT,
    HEADING,
    Heading,
    chance,
    column,
    doubt,
    end_of,
    grid_of,
    listed,
    percent,
    quantity,
    shown,
    value_text,
)

MOST_BELIEFS = 12
MOST_ANSWERS = 12
FEW_ANSWERS, RARE = 4, 1e-3
"""Beyond so many answers, those that come with less than this probability are counted, not listed."""
MOST_NOTES = 8
MOST_NAMED = 12
NARROW = 66
"""Columns below which tables show only what cannot be left out."""


def print_decision(report: DecisionReport, console: Console | None = None, *, file: str = "") -> None:
    """Print one decision with its explanation, in a notebook too."""
    console = console or Console()
    table, narrow = alternatives(report), console.width < NARROW
    sections = [
        _headline(report, file, console.width),
        _verdict(report, table),
        _beliefs(report, narrow=narrow),
        *_declarations(report),
        _evidence(report),
        _alternatives(report, table, narrow=narrow),
        *_answers(report),
        _certainty(report),
    ]
    for i, section in enumerate(sections):
        if i > 0:
            console.print()
        console.print(section)


def _section(title: str, *content: RenderableType) -> Group:
    return Group(Text(title, style=HEADING), *(Padding(part, (0, 0, 0, 2)) for part in content))


def _headline(report: DecisionReport, file: str, width: int) -> Group:
    problem = report.state.problem
    unit = f" · losses in {shown(problem.unit)}" if problem.unit else ""
    setting = f"policy {shown(report.policy)}{unit} · "
    return Group(
        Text(shown(problem.name), style=HEADING, overflow="ellipsis", no_wrap=True),
        Text(setting + end_of(file, width - len(setting)), style=FAINT, overflow="ellipsis", no_wrap=True),
    )


def _verdict(report: DecisionReport, table: Alternatives) -> Table:
    words, step = Wording(report.state), report.step
    grid = Table.grid(padding=(0, 2, 0, 0))
    if report.advice is not None:
        asked = f"  Before {shown(report.state.problem.before or '')}"
        grid.add_row(Text(asked, style=HEADING), Text(report.advice.value, style=HEADING))
    grid.add_row(Text("▶ Next step", style=CHOSEN), Text(words.brief(step, most=MOST_NAMED), style=CHOSEN))
    undo = step.undo if isinstance(step, RollBack) else ()
    if isinstance(step, Restart) and report.state.problem.restart_plan is not None:
        undo = report.state.problem.restart_plan.undo
    if undo:
        grid.add_row(Text("  Undo", style=HEADING), Text(listed(undo, most=MOST_NAMED)))
    if isinstance(step, RollBack) and step.declare:
        grid.add_row(Text("  Declare", style=HEADING), Text(words.declared(step.declare, most=MOST_NAMED)))
    grid.add_row(Text("  Why", style=HEADING), Text(reasons(report, table)))
    return grid


def _more(count: int, noun: str, rest: str = "") -> Text:
    return Text(f"… and {count} more {noun}{'' if count == 1 else 's'}{rest}", style=FAINT)


def _beliefs(report: DecisionReport, *, narrow: bool) -> Group:
    suspects = sorted((b for b in report.beliefs if b.suspected), key=lambda b: -(b.failure_probability or 0.0))
    rest = len(report.beliefs) - len(suspects)
    if not suspects:
        return _section("What is believed", Text(f"None of the {rest} beliefs can have failed."))
    unit = report.state.problem.unit
    grid = grid_of(
        Heading("belief"),
        Heading("may have\nfailed (q)", reads=partial(doubt, with_bar=not narrow)),
        Heading("loss\nif kept", "right", partial(quantity, unit=unit, infinite="not allowed")),
        Heading("to correct it"),
        rows=[(b.name, b.failure_probability, b.residual, _correcting(b, unit)) for b in suspects[:MOST_BELIEFS]],
        flexible=(0, 3),
    )
    content: list[RenderableType] = [grid]
    if len(suspects) > MOST_BELIEFS:
        content.append(_more(len(suspects) - MOST_BELIEFS, "belief", " under suspicion, less likely to have failed"))
    if rest:
        content.append(Text(f"{rest} more {'belief' if rest == 1 else 'beliefs'} cannot have failed.", style=FAINT))
    return _section("What is believed", *content)


def _correcting(belief: BeliefLine, unit: str) -> str:
    if not belief.undo:
        return "impossible: nothing to undo" if belief.undo_cost == float("inf") else "free: nothing rests on it"
    return f"{quantity(belief.undo_cost, unit, infinite='impossible')}: undo {listed(belief.undo)}"


def _declarations(report: DecisionReport) -> Iterator[Group]:
    """Yield the declarations that lack usable support though they need it, or that other values would replace."""
    graph, lines = report.state.problem.graph, []
    names = labels([standing.in_force.declaration for standing in report.declarations])
    for name, standing in zip(names, report.declarations, strict=True):
        belief = graph.beliefs[graph.belief_index[standing.in_force.declaration.belief]]
        replaced = belief.declared is not None and _says_otherwise(standing)
        if replaced or (belief.needs_support and not standing.in_force.usable):
            now = "" if belief.declared is None else f" {value_text(belief.declared)}"
            lines.append(Text(shown(f"{name}: {belief.name}{now}{_standing(report, standing)}")))
    hidden = [_more(len(lines) - MOST_NOTES, "declaration")] if len(lines) > MOST_NOTES else []
    if lines:
        yield _section("Declarations in doubt", *lines[:MOST_NOTES], *hidden)


def _says_otherwise(standing: DeclarationStanding) -> bool:
    return standing.supported is None or standing.supported.declaration.value != standing.in_force.declaration.value


def _standing(report: DecisionReport, standing: DeclarationStanding) -> str:
    """Return how likely a declaration in force is wrong, why its evidence is no use, and what is supported instead."""
    old, new = standing.in_force, standing.supported
    wrong = ", unknown whether wrong" if old.invalid is None else f", wrong with {percent(old.invalid)}"
    lacking = "" if old.usable or old.invalid is None else f"; {_why_unusable(report, old)}"
    if new is None:
        return f"{wrong}{lacking}. The evidence supports no value."
    if not _says_otherwise(standing):
        return f"{wrong}{lacking}." + (f" Supported by {listed(new.declaration.support)}." if new.usable else "")
    by = f", from {listed(new.declaration.support)}" if new.declaration.support else ""
    chance = "" if new.invalid is None else f" (wrong with {percent(new.invalid)}{by})"
    mean = "" if new.mean is None else f"; the mean of what is true near it is {value_text(new.mean)}"
    return f"{wrong}{lacking}. The evidence now supports {value_text(new.declaration.value)}{chance}{mean}."


def _why_unusable(report: DecisionReport, standing: Standing) -> str:
    graph, q = report.state.problem.graph, report.state.failure_probabilities
    resting_on = [graph.probes[graph.probe_index[name]] for name in standing.declaration.support]
    unsound = [p for p in resting_on if not usable(report.state, graph.probe_index[p.name])]
    blamed = dict.fromkeys(p.source for p in unsound if p.source is not None)
    if not resting_on:
        return "it names no evidence"
    sources = [f"{name} has failed with {percent(float(q[graph.belief_index[name]]))}" for name in blamed]
    return f"its evidence {listed([p.name for p in resting_on])} is of no use: {listed(sources)}"


def _evidence(report: DecisionReport) -> Group:
    state = report.state
    causes = sorted(((p, cause) for cause, p in state.attribution.items() if p > 0), key=lambda pair: -pair[0])
    may_ring = bool(state.problem.model.monitors) or state.problem.before is not None
    why = " · ".join(f"{_cause(cause, quiet=may_ring and not state.alarm_heard)} {percent(p)}" for p, cause in causes)
    if state.attributed_to is None:
        why = f"unresolved, none is likelier than not: {why}"
    seen = [*_monitored(state), *map(str, state.evidence[-MOST_NOTES:])]
    hidden = len(state.evidence) - MOST_NOTES
    earlier = f"{hidden} earlier answers · " if hidden > 0 else ""
    facts = [("Likely cause", why), ("Evidence", earlier + (" · ".join(seen) or "none: this is the prior"))]
    if state.problem.ageing is not None and (ages := state.problem.ageing.overtaken):
        old = " · ".join(f"{belief} {age:,g}" for belief, age in ages.items())
        facts.append(("Age", f"measured so long ago: {old}"))
    for one in surprises(state, below=report.surprising):
        said = f"{one.observation} was surprising: {chance(one.chance)} by this model, whatever is true. "
        facts.append(("Warning", f"{said}Is a hypothesis missing, or the kernel too narrow?"))
    grid = Table.grid(padding=(0, 2, 0, 0))
    for title, fact in facts:
        grid.add_row(Text(title, style=HEADING), Text(shown(fact)))
    return Group(grid)


def _cause(cause: Cause, *, quiet: bool) -> str:
    """Return a cause in words: nobody gave a false alarm where no monitor has rung."""
    return "nothing wrong" if quiet and cause is Cause.FALSE_ALARM else cause.value.replace("_", " ")


def _monitored(state: InformationState) -> Iterator[str]:
    """Yield what monitors have said, an unnamed one as the alarm."""
    monitors = state.problem.model.monitors
    for one in state.monitored:
        suspects = monitors[one.monitor].suspects
        name = "alarm" if one.monitor == UNNAMED else f"alarm {one.monitor}"
        if one.rang:
            yield f"{name} on {listed(suspects)}" if suspects else name
        else:
            yield f"{one.monitor} stayed silent"


def _alternatives(report: DecisionReport, table: Alternatives, *, narrow: bool) -> Group:
    rows, words = table.rows, Wording(report.state)
    numbers: dict[str, list[float | None]] = {
        "sensing": [row.sensing for row in rows], "recovery": [row.recovery for row in rows],
        "residual": [row.residual for row in rows], "total": [row.loss for row in rows],
    }  # fmt: skip
    cells = column([value for values in numbers.values() for value in values])
    titles = ["total"] if narrow else list(numbers)
    lines = []
    for i, (row, (name, scope)) in enumerate(zip(rows, words.side_by_side([row.step for row in rows]), strict=True)):
        if isinstance(row.step, Reprobe):
            name += ", then stop" + (" (screened out)" if row.step.probe in report.screened_out else "")
        below = [Padding(Text(scope, style="" if row.chosen else FAINT), (0, 0, 0, 2))] if scope else []
        own = cells[i :: len(rows)][-len(titles) :]
        lines.append(("▶" if row.chosen else "", Group(Text(name), *below), *own))
    grid = grid_of(
        Heading(""), Heading("alternative"), *(Heading(title, "right") for title in titles),
        rows=lines, flexible=(1,), chosen=[i for i, row in enumerate(rows) if row.chosen],
    )  # fmt: skip
    unit = report.state.problem.unit
    loss = "expected" if report.state.contradiction is None else "worst-case"
    title = f"Alternatives, least {loss} loss first{f' (in {shown(unit)})' if unit else ''}"
    return _section(title, grid, *_alternative_notes(report, table))


def _alternative_notes(report: DecisionReport, table: Alternatives) -> Iterator[Text]:
    if table.hidden_probes:
        yield _more(table.hidden_probes, "probe")
    if table.hidden_stops:
        yield _more(table.hidden_stops, "way", " to stop")
    if not table.all_corrections:
        yield Text("Other sets of beliefs could be rolled back too; none costs less than the best listed.", style=FAINT)
    barred = unavailable(report)
    for item in barred[:MOST_NOTES]:
        yield Text(shown(f"Not available: {item.what} ({item.why})"), style=FAINT)
    if len(barred) > MOST_NOTES:
        yield _more(len(barred) - MOST_NOTES, "alternative", " not available")


def _answers(report: DecisionReport) -> Iterator[Group]:
    if not isinstance(report.step, Reprobe):
        return
    probe = report.step.probe
    words, found = Wording(report.state), answers_to(report.state, probe)
    likely = sorted(range(len(found)), key=lambda i: -found[i].probability)[:MOST_ANSWERS]
    if len(found) > FEW_ANSWERS:
        likely = [i for k, i in enumerate(likely) if k < FEW_ANSWERS or found[i].probability >= RARE]
    kept = [found[i] for i in sorted(likely)]
    losses = column([answer.stop.loss for answer in kept])
    grid = grid_of(
        Heading("answer"), Heading("chance", "right", percent), Heading("then"), Heading("loss", "right"),
        rows=[(answer.label, answer.probability, _then(answer.stop.decision, words), loss)
              for answer, loss in zip(kept, losses, strict=True)],
        flexible=(0, 2),
    )  # fmt: skip
    hidden = len(found) - len(kept)
    more_rows = [_more(hidden, "answer", ", less likely")] if hidden else []
    yield _section(f"After running {shown(probe)}", grid, *more_rows)


def _then(decision: Decision, words: Wording) -> str:
    declared = decision.declare if isinstance(decision, RollBack) else ()
    return words.brief(decision) + (f"; declare {words.declared(declared)}" if declared else "")


def _certainty(report: DecisionReport) -> Group:
    found = list(flips(report))
    lines = [Text(line) for line in found[:MOST_NOTES]]
    if len(found) > MOST_NOTES:
        lines.append(_more(len(found) - MOST_NOTES, "threshold"))
    lines.append(Text(certificate(report)))
    state = report.state
    effect = effect_of_left_out(state.problem, state.chance_of_evidence)
    if effect is not None:
        lines.append(Text(left_out_text(effect, state.problem.unit, answered=bool(state.evidence))))
    return _section("How sure is this", *lines)


def print_evaluations(
    problem: Problem, found: Mapping[str, Evaluation], console: Console, *, file: str, missing: Sequence[str] = ()
) -> None:
    """Print a table of policies, least expected loss first; all that tie with the best are marked.

    Nobody is marked where a policy asked for is ``missing``, because it could not be evaluated: it might be the best.
    """
    ranked = sorted(found.items(), key=lambda item: round(item[1].expected_loss, 9))
    in_unit = f"losses in {shown(problem.unit)} · " if problem.unit else ""
    console.print(Text(shown(problem.name), style=HEADING, overflow="ellipsis", no_wrap=True))
    console.print(Text(in_unit + end_of(file, console.width - len(in_unit)), style=FAINT))
    narrow = console.width < NARROW  # then what is left wrong stands below the table alone, or names would vanish
    tied = [i for i, (_, evaluation) in enumerate(ranked) if _ties(evaluation, ranked[0][1])]
    console.print(_ranking(ranked, best=() if missing else tied, narrow=narrow))
    if missing:
        console.print(Text(f"No best is named: {listed(missing)} could not be evaluated.", style=FAINT))
    elif len(tied) > 1:
        console.print(Text(f"{len(tied)} policies tie for the least expected loss; a tie is a tie.", style=FAINT))
    console.print(Text(_what_is_left(problem, *ranked[0]), style=FAINT))
    counts = [len(e.losses) for e in found.values() if isinstance(e, SampledEvaluation)]
    if counts:
        said = (
            f"± is a 95 % interval over {min(counts):,} sampled recoveries, the same for all; ties are judged by pairs."
        )
        wanted = max(e.wanted for e in found.values() if isinstance(e, SampledEvaluation))
        if min(counts) < wanted:
            said += f" There was time for {min(counts):,} of {wanted:,}."
        console.print(Text(said, style=FAINT))
    console.print()


def _ranking(ranked: Sequence[tuple[str, Evaluation]], *, best: Collection[int], narrow: bool) -> Table:
    wrongly = [] if narrow else [Heading("of it for\nwhat is wrong", "right")]
    left = column([evaluation.residual for _, evaluation in ranked])
    losses = column([evaluation.expected_loss for _, evaluation in ranked])
    rows = [
        (
            "▶" if i in best else "", name, _with_interval(losses[i], evaluation), *([] if narrow else [left[i]]),
            f"{evaluation.expected_probes:.2f}", f"{evaluation.expected_undone:.2f}", evaluation.success,
        )
        for i, (name, evaluation) in enumerate(ranked)
    ]  # fmt: skip
    return grid_of(
        Heading(""), Heading("policy"), Heading("expected\nloss", "right"), *wrongly, Heading("probes", "right"),
        Heading("actions\nundone", "right"), Heading("nothing\nwrong", "right", percent),
        rows=rows, flexible=(1,), chosen=best, gap=1 if narrow else 2,
    )  # fmt: skip


def _what_is_left(problem: Problem, name: str, evaluation: Evaluation) -> str:
    """Return what a policy leaves wrong and at which price: that is a choice, not a verdict on it."""
    left = sorted(evaluation.left_wrong.items(), key=lambda pair: -pair[1])
    if not left and not evaluation.escalated:
        return f"{shown(name)} leaves nothing wrong."
    handed = f" It hands over to a person in {percent(evaluation.escalated)}." if evaluation.escalated else ""
    if not left:
        return f"{shown(name)} leaves nothing wrong.{handed}"
    wrong = listed([f"{belief} {percent(p)}" for belief, p in left])
    cost = quantity(evaluation.residual, problem.unit)
    return f"What {shown(name)} leaves wrong costs {cost} on average, less than correcting it would: {wrong}.{handed}"


def _with_interval(loss: str, evaluation: Evaluation) -> str:
    return f"{loss} ±{evaluation.half_width:.2g}" if isinstance(evaluation, SampledEvaluation) else loss


def _ties(evaluation: Evaluation, best: Evaluation) -> bool:
    """Whether a policy cannot be distinguished from the one of the least expected loss."""
    if evaluation is best or math.isinf(best.expected_loss):
        return evaluation.expected_loss <= best.expected_loss + TIE
    difference, half_width = paired_difference(evaluation, best)
    return difference <= half_width + TIE
