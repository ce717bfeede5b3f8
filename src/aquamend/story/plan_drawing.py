"""A plan tree in the terminal and as a Mermaid flowchart: as wide as it is probable, each end with its loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from aquamend.belief import InformationState
from aquamend.decision.steps import Reprobe, RollBack, Wording
from aquamend.policies.plan_tree import PlanNode, PlanTree, TwoPlans
from aquamend.text import FAINT, HEADING, Heading, column, counted, grid_of, mermaid_text, percent, quantity, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_PARTINGS = 12
WIDTH, EIGHTHS = 8, "▏▎▍▌▋▊▉"
"""Of the bar of what is certain, and its parts."""
BROADEST_PX = 12
MERMAID_ENDS = ("#d9efd3", "#fdf3c4", "#fbd5b5", "#f6b8b0")
"""Fills of ends, from the least loss to the largest."""


def readings(above: float | None, below: float | None) -> str:
    """Return an interval of readings in words."""
    if above is None:
        return "any reading" if below is None else f"below {below:.4g}"
    return f"above {above:.4g}" if below is None else f"{above:.4g} to {below:.4g}"


def answered(node: PlanNode) -> str:
    """Return the answer that leads to a node, in words; nothing for the root."""
    if node.parent is None:
        return ""
    return readings(node.above, node.below) if node.answer is None else shown(node.answer)


def print_plan(tree: PlanTree, state: InformationState, console: Console) -> None:
    """Print a tree line by line: how probable, what it costs from there on, and what is done."""
    loss = quantity(tree.root.loss, tree.unit)
    console.print(f"Plan of {shown(tree.policy)} for {shown(tree.name)}: expected loss {loss}", style=HEADING)
    console.print(_lines(tree, Wording(state)))
    for sentence in remarks(tree):
        console.print(sentence, style=FAINT)
    console.print()


def remarks(tree: PlanTree) -> Iterator[str]:
    """Yield what the tree does not show."""
    if tree.beyond > 0.0:
        yield (
            f"Lines that end in … go on beyond this tree, in {percent(tree.beyond)} of recoveries (more --nodes follow "
            "them further); their loss is at most what the policy promises, or as if that look were the last."
        )
    if tree.rounded:
        yield "Readings: what follows an interval is the plan after the reading in its middle, so losses are rounded."


def _lines(tree: PlanTree, words: Wording) -> Table:
    losses, rows = column([node.loss for node in tree.nodes]), []
    for place, before in _indented(tree.children()):
        node = tree.nodes[place]
        answer = answered(node)
        text = f"{before}{answer}: " if answer else before
        rows.append((_width(node), node.probability, losses[place], text + _done(node, words)))
    return grid_of(
        Heading(""), Heading("chance", "right", percent), Heading("loss", "right"), Heading("plan"),
        rows=rows, flexible=(3,), gap=1,
    )  # fmt: skip


def _width(node: PlanNode) -> str:
    whole, eighths = divmod(round(WIDTH * 8 * node.probability), 8)
    return "█" * whole + (EIGHTHS[eighths - 1] if eighths else "")


def _done(node: PlanNode, words: Wording) -> str:
    if isinstance(node.step, RollBack) and node.step.declare:
        return f"{words.brief(node.step)}, declare {words.declared(node.step.declare)}"
    return f"{words.brief(node.step)}{' …' if node.beyond else ''}"


def _indented(below: Sequence[Sequence[int]]) -> Iterator[tuple[int, str]]:
    """Yield every node with the lines that lead to it."""
    waiting: list[tuple[int, str, str]] = [(0, "", "")]
    while waiting:
        place, before, after = waiting.pop()
        yield place, before
        children = below[place]
        for k in range(len(children) - 1, -1, -1):
            last = k == len(children) - 1
            waiting.append((children[k], after + ("└ " if last else "├ "), after + ("  " if last else "│ ")))


def print_two_plans(both: TwoPlans, state: InformationState, console: Console) -> None:
    """Print where two plans part, side by side, and then each of them."""
    one, other, words = both.one, both.other, Wording(state)
    if not both.parts:
        end = " as far as these trees go" if one.beyond or other.beyond else ""
        console.print(f"{shown(one.policy)} and {shown(other.policy)} do the same{end}.", style=HEADING)
    else:
        whole = math.fsum(part.probability for part in both.parts)
        console.print(f"They part in {percent(min(1.0, whole))} of recoveries:", style=HEADING)
        console.print(_parts(both, words))
        if len(both.parts) > MOST_PARTINGS:
            console.print(f"and in {counted(len(both.parts) - MOST_PARTINGS, 'rarer place')}", style=FAINT)
    console.print()
    print_plan(one, state, console)
    print_plan(other, state, console)


def _parts(both: TwoPlans, words: Wording) -> Table:
    one, other, rows = both.one, both.other, []
    for part in both.parts[:MOST_PARTINGS]:
        mine, their = one.nodes[part.one], other.nodes[part.other]
        path = list(_path(one, part.one))
        if part.above is not None or part.below is not None:
            path[-1] = f"{path[-1].partition(' = ')[0]} = {readings(part.above, part.below)}"
        after = ", ".join(path) or "the alarm"
        rows.append((part.probability, after, _done(mine, words), mine.loss, _done(their, words), their.loss))
    loss = Heading("loss", "right", partial(quantity, unit=one.unit))
    plans = (Heading(shown(one.policy)), loss, Heading(shown(other.policy)), loss)
    return grid_of(
        Heading("chance", "right", percent), Heading("after"), *plans, rows=rows, flexible=(1, 2, 4),
    )  # fmt: skip


def _path(tree: PlanTree, place: int) -> Iterator[str]:
    """Yield the answers from the root to a node, with their probes."""
    node, answers = tree.nodes[place], list[str]()
    while node.parent is not None:
        parent = tree.nodes[node.parent]
        probe = parent.step.probe if isinstance(parent.step, Reprobe) else ""
        answers.append(f"{shown(probe)} = {answered(node)}")
        node = parent
    yield from reversed(answers)


def mermaid_plan(trees: Sequence[PlanTree], state: InformationState) -> str:
    """Return one plan, or several side by side, as a Mermaid flowchart: lines as broad as answers are probable."""
    words, links = Wording(state), list[float]()
    lines = [f"%% {shown(state.problem.name)}", "flowchart TD"]
    highest = max((n.loss for t in trees for n in t.nodes if math.isfinite(n.loss)), default=0.0) or 1.0
    for k, tree in enumerate(trees):
        title = mermaid_text(f"{tree.policy}: {quantity(tree.root.loss, tree.unit)}")
        lines.append(f'  subgraph p{k}["{title}"]')
        for i, node in enumerate(tree.nodes):
            lines += _mermaid_node(f"p{k}n{i}", node, words, tree.unit, highest)
            if node.parent is not None:
                label = mermaid_text(f"{answered(node)}, {percent(node.probability)}")
                lines.append(f'    p{k}n{node.parent} -->|"{label}"| p{k}n{i}')
                links.append(node.probability)
        lines.append("  end")
    lines += [f"  linkStyle {i} stroke-width:{max(1, round(BROADEST_PX * p))}px" for i, p in enumerate(links)]
    return "\n".join(lines)


def _mermaid_node(name: str, node: PlanNode, words: Wording, unit: str, highest: float) -> Iterator[str]:
    label = f"{mermaid_text(_done(node, words))}<br/>{mermaid_text(quantity(node.loss, unit))}"
    if isinstance(node.step, Reprobe):
        yield f'    {name}(["{label}"])'
        return
    yield f'    {name}["{label}"]'
    share = min(1.0, node.loss / highest)
    yield f"    style {name} fill:{MERMAID_ENDS[min(len(MERMAID_ENDS) - 1, int(share * len(MERMAID_ENDS)))]}"
