"""Problems of textbooks that have the shape measure-then-decide, each with an optimum that somebody else derived.

None of these numbers comes from this program: they are published values, closed formulas, or the recursion that the
book itself gives, written out in `optimum`. Losses are in the unit of each book.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel


@dataclass(frozen=True, eq=False)
class Textbook:
    """A problem that a book poses, and its solution."""

    name: str
    source: str
    problem: Problem
    optimum: float
    """Expected loss of the best policy, as the source has it."""
    by: str
    """How the source comes to it."""


def _choice(
    name: str,
    states: Sequence[tuple[str, float]],
    endings: dict[str, Sequence[float]],
    probes: dict[str, tuple[float, float, list[str], Sequence[Sequence[float]]]],
) -> Problem:
    """Return a problem that ends with one of some decisions, each with a loss in every state.

    ``probes`` give cost, most uses, outcomes and a row for each state.
    """
    hypotheses = [Hypothesis(state, p, () if k == 0 else ("as assumed",)) for k, (state, p) in enumerate(states)]
    return Problem(
        RecoveryGraph(
            [Belief("as assumed", residual=0.0)],
            probes=[Probe(probe, cost=cost, max_uses=uses) for probe, (cost, uses, _, _) in probes.items()],
            edges=[(probe, "as assumed", "detection") for probe in probes],
        ),
        JointModel(hypotheses, {p: Discrete(outcomes, np.array(rows)) for p, (_, _, outcomes, rows) in probes.items()}),
        plans=[Plan(ending, np.array(losses, dtype=float), ("as assumed",)) for ending, losses in endings.items()],
        corrections=False,
        name=name,
    )


def tiger() -> Textbook:
    """Two doors; listening costs 1 and is right with 85 %; the wrong door costs 110 more than the right one."""
    problem = _choice(
        "tiger",
        [("left", 0.5), ("right", 0.5)],
        {"open right": [0.0, 110.0], "open left": [110.0, 0.0]},
        {"listen": (1.0, 40, ["left", "right"], [[0.85, 0.15], [0.15, 0.85]])},
    )
    source = "Cassandra, Kaelbling and Littman (1994); one door, undiscounted, 40 listens at most"
    optimum = _sequential(0.85, 1.0, 110.0, 40)
    return Textbook("tiger", source, problem, optimum, "backwards over how often each was heard")


def wald() -> Textbook:
    """Which of two coins is it: 60 % or 40 % heads? A toss costs 1, a mistake 60."""
    problem = _choice(
        "wald",
        [("60 %", 0.5), ("40 %", 0.5)],
        {"say 60 %": [0.0, 60.0], "say 40 %": [60.0, 0.0]},
        {"toss": (1.0, 60, ["heads", "tails"], [[0.6, 0.4], [0.4, 0.6]])},
    )
    source = "Wald (1947), Sequential Analysis; 60 tosses at most"
    return Textbook("wald", source, problem, _sequential(0.6, 1.0, 60.0, 60), "backwards over heads less tails")


def _sequential(right: float, cost: float, mistake: float, most: int) -> float:
    """Return the loss of the best sequential test of two states alike: backwards over the difference of counts."""
    odds = right / (1.0 - right)

    @cache
    def value(difference: int, left: int) -> float:
        p = odds**difference / (1.0 + odds**difference)
        stop = mistake * min(p, 1.0 - p)
        if not left:
            return stop
        up = p * right + (1.0 - p) * (1.0 - right)
        go_on = cost + up * value(difference + 1, left - 1) + (1.0 - up) * value(difference - 1, left - 1)
        return min(stop, go_on)

    return value(0, most)


def oil_wildcatter() -> Textbook:
    """Drill or not, with a seismic test before that or without; in thousands of dollars."""
    payoff = [-70.0, 50.0, 200.0]
    best = max(payoff)
    rows = [[0.1, 0.3, 0.6], [0.3, 0.4, 0.3], [0.5, 0.4, 0.1]]
    problem = _choice(
        "oil-wildcatter",
        [("dry", 0.5), ("wet", 0.3), ("soaking", 0.2)],
        {"drill": [best - one for one in payoff], "leave it": [best] * 3},
        {"seismic test": (10.0, 1, ["closed", "open", "none"], rows)},
    )
    source = "Raiffa (1968), Decision Analysis, chapter 9"
    return Textbook("oil-wildcatter", source, problem, best - 22.5, "the book: an expected gain of 22.5")


def monty_hall() -> Textbook:
    """A car behind one of three doors; the host opens another one with a goat, at no cost."""
    problem = _choice(
        "monty-hall",
        [("A", 1 / 3), ("B", 1 / 3), ("C", 1 / 3)],
        {f"take {door}": [float(door != other) for other in "ABC"] for door in "ABC"},
        {"see what the host opens": (0.0, 1, ["B", "C"], [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])},
    )
    return Textbook("monty-hall", "Selvin (1975)", problem, 1 / 3, "change the door: the car with 2/3")


def treat_or_test() -> Textbook:
    """Treat, test first, or wait: the test pays between two thresholds of the probability of disease."""
    p, benefit, harm, test, sensitivity, specificity = 0.3, 100.0, 25.0, 2.0, 0.85, 0.9
    problem = _choice(
        "treat-or-test",
        [("disease", p), ("none", 1.0 - p)],
        {"treat": [0.0, harm], "wait": [benefit, 0.0]},
        {"test": (test, 1, ["+", "-"], [[sensitivity, 1 - sensitivity], [1 - specificity, specificity]])},
    )
    tested = test + p * (1.0 - sensitivity) * benefit + (1.0 - p) * (1.0 - specificity) * harm
    optimum = min((1.0 - p) * harm, p * benefit, tested)
    source = "Pauker and Kassirer (1980), The threshold approach to clinical decision making"
    return Textbook("treat-or-test", source, problem, optimum, "their formula for testing, treating and waiting")


def search_in_boxes() -> Textbook:
    """Something is in one of five boxes; opening a box costs something and tells for certain; it must be found."""
    p, cost = [0.3, 0.25, 0.2, 0.15, 0.1], [4.0, 1.0, 3.0, 1.0, 2.0]
    boxes = [f"box {k}" for k in range(5)]
    problem = _choice(
        "search-in-boxes",
        list(zip(boxes, p, strict=True)),
        {f"take it from {box}": [0.0 if own == box else 1000.0 for own in boxes] for box in boxes},
        {
            f"open {box}": (cost[k], 1, ["empty", "there"], [[float(j != k), float(j == k)] for j in range(5)])
            for k, box in enumerate(boxes)
        },
    )
    # By ratios where the last box need not be opened: the best over which one that is.
    optimum = min(_searched(p, cost, last) for last in range(5))
    source = "Black (1965), Discrete sequential search: by falling p / c; what is left over need not be opened"
    return Textbook("search-in-boxes", source, problem, optimum, "boxes by p / c, the best box to leave over")


def _searched(p: Sequence[float], cost: Sequence[float], last: int) -> float:
    order = sorted((k for k in range(len(p)) if k != last), key=lambda k: -p[k] / cost[k])
    unfound = [1.0 - sum(p[j] for j in order[:i]) for i in range(len(order))]
    return sum(cost[k] * left for k, left in zip(order, unfound, strict=True))


def huffman() -> Textbook:
    """Guess one of six things with yes-or-no questions of any kind, each at the price of 1."""
    p = [0.3, 0.25, 0.15, 0.12, 0.1, 0.08]
    things = [f"thing {k}" for k in range(6)]
    sets = [own for size in (1, 2, 3) for own in itertools.combinations(range(6), size) if size < 3 or 0 in own]
    problem = _choice(
        "huffman",
        list(zip(things, p, strict=True)),
        {f"it is {thing}": [0.0 if own == thing else 1000.0 for own in things] for thing in things},
        {
            "one of " + ", ".join(map(str, own)): (
                1.0,
                1,
                ["no", "yes"],
                [[float(k not in own), float(k in own)] for k in range(6)],
            )
            for own in sets
        },
    )
    heap, total = list(p), 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        total += both
        heapq.heappush(heap, both)
    source = "Huffman (1952), A method for the construction of minimum-redundancy codes"
    return Textbook("huffman", source, problem, total, "the length of his code")


def counterfeit_coin() -> Textbook:
    """One of nine coins is heavier; a balance compares two groups, each time at the price of 1."""
    coins = [f"coin {k}" for k in range(9)]
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((0, 1, 2), (3, 4, 5)), ((0, 1, 2, 3), (4, 5, 6, 7)), ((0, 3, 6), (1, 4, 7)), ((0,), (1,)), ((3,), (4,)),
        ((6,), (7,)), ((0, 1), (2, 3)), ((0, 1, 2, 3), (5, 6, 7, 8)),
    ]  # fmt: skip
    problem = _choice(
        "counterfeit-coin",
        [(coin, 1 / 9) for coin in coins],
        {f"it is {coin}": [0.0 if own == coin else 100.0 for own in coins] for coin in coins},
        {
            f"{left} against {right}": (
                1.0,
                1,
                ["left", "right", "even"],
                [[float(k in left), float(k in right), float(k not in (*left, *right))] for k in range(9)],
            )
            for left, right in pairs
        },
    )
    return Textbook("counterfeit-coin", "Schell (1945)", problem, 2.0, "log₃ 9 weighings, and no fewer")


def troubleshooter() -> Textbook:
    """One of six parts has failed; inspecting one tells for certain, and repairing it costs the same as leaving any."""
    p, cost = [0.28, 0.22, 0.18, 0.14, 0.1, 0.08], [3.0, 1.0, 2.0, 2.0, 1.0, 4.0]
    parts = [f"part {k}" for k in range(6)]
    outcomes, sure = ["works", "failed"], np.eye(6)
    graph = RecoveryGraph(
        [Belief(f"{part} works", residual=1000.0) for part in parts],
        [Action(f"{part} in use", undo=5.0, executed=True) for part in parts],
        [Probe(f"inspect {part}", cost=cost[k]) for k, part in enumerate(parts)],
        [(f"{part} works", f"{part} in use", "belief_to_action") for part in parts]
        + [(f"inspect {part}", f"{part} works", "detection") for part in parts],
    )
    model = JointModel(
        [Hypothesis(f"{part} failed", p[k], (f"{part} works",)) for k, part in enumerate(parts)],
        {
            f"inspect {part}": Discrete(outcomes, np.column_stack([1.0 - sure[k], sure[k]]))
            for k, part in enumerate(parts)
        },
    )
    optimum = math.inf  # inspect some by p / c; of what is left, one part alone needs no look, several are all repaired
    for n in range(6):
        for left in itertools.combinations(range(6), 6 - n):
            order = sorted((k for k in range(6) if k not in left), key=lambda k: -p[k] / cost[k])
            unfound = [1.0 - sum(p[j] for j in order[:i]) for i in range(n)]
            looked = sum(cost[k] * u for k, u in zip(order, unfound, strict=True))
            unseen = sum(p[k] for k in left)
            optimum = min(optimum, looked + 5.0 * (1.0 - unseen) + 5.0 * len(left) * unseen)
    source = "Heckerman, Breese and Rommelse (1995), Decision-theoretic troubleshooting: inspect by falling p / c"
    name = "troubleshooter"
    return Textbook(name, source, Problem(graph, model, name=name), optimum, "p / c for every set inspected at all")


MAKERS: tuple[Callable[[], Textbook], ...] = (
    tiger, wald, oil_wildcatter, monty_hall, treat_or_test, search_in_boxes, huffman, counterfeit_coin, troubleshooter,
)  # fmt: skip


@cache
def textbooks() -> tuple[Textbook, ...]:
    """Return them all."""
    return tuple(make() for make in MAKERS)
