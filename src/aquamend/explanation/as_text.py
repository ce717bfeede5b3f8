"""A decision as a person reads it in a terminal: the step first, then what it was weighed against."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from aquamend.decision.steps import Reprobe, RollBack
from aquamend.explanation.alternatives import Alternatives, alternatives, unavailable
from aquamend.explanation.answers import answers_to
from aquamend.explanation.reasons import certificate, flips, reasons
from aquamend.explanation.report import BeliefLine, DecisionReport
from aquamend.explanation.wording import brief, like
from aquamend.text.layout import CHOSEN, FAINT, HEADING, Side, end_of, grid_of
from aquamend.text.words import bar, column, listed, percent, quantity, shown

MOST_BELIEFS = 12
MOST_ANSWERS = 12
MOST_NOTES = 8
MOST_NAMED = 12


def print_decision(report: DecisionReport, console: Console, *, file: str) -> None:
    """Print one decision with its explanation."""
    table = alternatives(report)
    sections = [
        _headline(report, file, console.width),
        _verdict(report, table),
        _beliefs(report),
        _evidence(report),
        _alternatives(report, table),
        *_answers(report),
        _certainty(report),
        *_unsupported(report),
    ]
    for i, section in enumerate(sections):
        if i > 0:
            console.print()
        console.print(section)


def _indented(content: RenderableType) -> Padding:
    return Padding(content, (0, 0, 0, 2))


def _section(title: str, *content: RenderableType) -> Group:
    return Group(Text(title, style=HEADING), *(_indented(part) for part in content))


def _headline(report: DecisionReport, file: str, width: int) -> Group:
    problem = report.state.problem
    unit = f" · losses in {shown(problem.unit)}" if problem.unit else ""
    setting = f"policy {shown(report.policy)}{unit} · "
    return Group(
        Text(shown(problem.name), style=HEADING, overflow="ellipsis", no_wrap=True),
        Text(setting + end_of(file, width - len(setting)), style=FAINT, overflow="ellipsis", no_wrap=True),
    )


def _verdict(report: DecisionReport, table: Alternatives) -> Table:
    undo = report.step.undo if isinstance(report.step, RollBack) else ()
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_row(Text("▶ Next step", style=CHOSEN), Text(brief(report.step, most=MOST_NAMED), style=CHOSEN))
    if undo:
        grid.add_row(Text("  Undo", style=HEADING), Text(listed(undo, most=MOST_NAMED)))
    grid.add_row(Text("  Why", style=HEADING), Text(reasons(report, table)))
    return grid


def _more(count: int, what: str) -> Text:
    return Text(f"… and {count} more {what}", style=FAINT)


def _beliefs(report: DecisionReport) -> Group:
    suspects = sorted((b for b in report.beliefs if b.suspected), key=lambda b: -(b.failure_probability or 0.0))
    rest = len(report.beliefs) - len(suspects)
    if not suspects:
        return _section("What is believed", Text(f"None of the {rest} beliefs can have failed."))
    titles: list[tuple[str, Side]] = [("belief", "left"), ("may have failed (q)", "left"), ("loss if kept", "right")]
    grid = grid_of(*titles, ("to correct it", "left"), flexible=(0, 3))
    unit = report.state.problem.unit
    for belief in suspects[:MOST_BELIEFS]:
        grid.add_row(shown(belief.name), _chance(belief), _kept(belief, unit), _correcting(belief, unit))
    content: list[RenderableType] = [grid]
    if len(suspects) > MOST_BELIEFS:
        content.append(_more(len(suspects) - MOST_BELIEFS, "beliefs under suspicion, less likely to have failed"))
    if rest:
        content.append(Text(f"{rest} more {'belief' if rest == 1 else 'beliefs'} cannot have failed.", style=FAINT))
    return _section("What is believed", *content)


def _chance(belief: BeliefLine) -> Text:
    q = belief.failure_probability
    if q is None:
        return Text("unknown", style=FAINT)
    return Text.assemble((bar(q), "red" if q >= 0.5 else "yellow"), f" {percent(q)}")


def _kept(belief: BeliefLine, unit: str) -> str:
    return "not allowed" if belief.residual == float("inf") else quantity(belief.residual, unit)


def _correcting(belief: BeliefLine, unit: str) -> str:
    if not belief.undo:
        return "free: nothing rests on it"
    cost = "impossible" if belief.undo_cost == float("inf") else quantity(belief.undo_cost, unit)
    return f"{cost}: undo {listed(belief.undo)}"


def _evidence(report: DecisionReport) -> Group:
    state = report.state
    causes = [(cause, p) for cause, p in state.attribution.items() if p > 0]
    why = " · ".join(f"{cause.value.replace('_', ' ')} {percent(p)}" for cause, p in causes)
    alarm = state.problem.model.alarm
    seen = [f"alarm on {listed(alarm.suspects)}" if alarm.suspects else "alarm"] if alarm else []
    seen += [shown(observation) for observation in state.evidence[-MOST_NOTES:]]
    hidden = len(state.evidence) - MOST_NOTES
    earlier = f"{hidden} earlier answers · " if hidden > 0 else ""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_row(Text("Likely cause", style=HEADING), Text(why))
    grid.add_row(Text("Evidence", style=HEADING), Text(earlier + (" · ".join(seen) or "none: this is the prior")))
    return Group(grid)


def _alternatives(report: DecisionReport, table: Alternatives) -> Group:
    grid = grid_of(
        ("", "left"), ("alternative", "left"), ("sensing", "right"), ("recovery", "right"), ("residual", "right"),
        ("total", "right"), flexible=(1,),
    )  # fmt: skip
    rows, n = table.rows, len(table.rows)
    numbers: list[float | None] = [row.sensing for row in rows]
    numbers += [row.recovery for row in rows]
    numbers += [row.residual for row in rows]
    cells = column([*numbers, *(row.loss for row in rows)])
    best = next((row.step for row in rows if isinstance(row.step, RollBack)), None)
    for i, row in enumerate(rows):
        then = ", then stop" if isinstance(row.step, Reprobe) else ""
        style = CHOSEN if row.chosen else ""
        grid.add_row("▶" if row.chosen else "", like(row.step, best) + then, *cells[i::n], style=style)
    unit = report.state.problem.unit
    loss = "expected" if report.state.contradiction is None else "worst-case"
    title = f"Alternatives, least {loss} loss first{f' (in {shown(unit)})' if unit else ''}"
    return _section(title, grid, *_alternative_notes(report, table))


def _alternative_notes(report: DecisionReport, table: Alternatives) -> Iterator[Text]:
    if table.hidden_probes:
        yield _more(table.hidden_probes, "probes")
    if table.hidden_stops:
        yield _more(table.hidden_stops, "ways to stop")
    if not table.all_corrections:
        yield Text("Other sets of beliefs could be rolled back too; none costs less than the best listed.", style=FAINT)
    barred = unavailable(report)
    for item in barred[:MOST_NOTES]:
        yield Text(f"Not available: {item.what} ({item.why})", style=FAINT)
    if len(barred) > MOST_NOTES:
        yield _more(len(barred) - MOST_NOTES, "that are not available")


def _answers(report: DecisionReport) -> Iterator[Group]:
    if not isinstance(report.step, Reprobe):
        return
    found = answers_to(report.values, report.step.probe)
    kept = found
    if len(found) > MOST_ANSWERS:
        least = sorted((answer.probability for answer in found), reverse=True)[MOST_ANSWERS - 1]
        kept = tuple(answer for answer in found if answer.probability >= least)[:MOST_ANSWERS]
    grid = grid_of(("answer", "left"), ("chance", "right"), ("then", "left"), ("loss", "right"), flexible=(0, 2))
    losses = column(answer.stop.loss for answer in kept)
    for answer, loss in zip(kept, losses, strict=True):
        grid.add_row(shown(answer.label), percent(answer.probability), brief(answer.stop.decision), loss)
    hidden = len(found) - len(kept)
    more = [_more(hidden, "answers, less likely")] if hidden else []
    yield _section(f"After running {shown(report.step.probe)}", grid, *more)


def _certainty(report: DecisionReport) -> Group:
    found = list(flips(report))
    lines = [Text(line) for line in found[:MOST_NOTES]]
    if len(found) > MOST_NOTES:
        lines.append(_more(len(found) - MOST_NOTES, "thresholds"))
    lines.append(Text(certificate(report)))
    return _section("How sure is this", *lines)


def _unsupported(report: DecisionReport) -> Iterator[Group]:
    missing = [line for line in report.declarations if not line.support.available]
    unnamed = [line.label for line in missing if not line.support.probes]
    rest = [line for line in missing if line.support.probes]
    lines = [Text(f"{shown(line.label)}: {shown(line.support.reason)}") for line in rest[:MOST_NOTES]]
    if len(rest) > MOST_NOTES:
        lines.append(_more(len(rest) - MOST_NOTES, "declarations"))
    if unnamed:
        lines.append(Text(f"no evidence is named for {listed(unnamed)}"))
    if lines:
        yield _section("Declarations without usable support", *lines)
