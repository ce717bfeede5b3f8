"""``textbook-v1``: problems of textbooks, with the optimum that each book has."""

from __future__ import annotations

from aquamend.belief import InformationState
from aquamend_lab.benchmarks.networks_suite import CONTESTANTS, CheckEverything
from aquamend_lab.benchmarks.scenario import Scenario, generator, truths_of_model
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.outside.textbook_problems import MAKERS, textbooks
from aquamend_lab.records import PROBLEM

NAME = "textbook-v1"


def make(seed: int, number: int) -> Scenario:
    """Return a textbook's problem, with one truth drawn from its own model; expectations are exact over all of them."""
    book = textbooks()[number]
    state = InformationState.alarmed(book.problem)
    possible = truths_of_model(state, NAME, seed, number)
    drawn = generator(f"{NAME} truth", seed, number).choice(len(possible), p=[truth.weight for truth in possible])
    return Scenario(
        NAME, seed, number, state, truths=(possible[int(drawn)],), possible=possible, group={"problem": book.name},
        features={"optimum": book.optimum},
    )  # fmt: skip


TEXTBOOK_SUITE = RecoverySuite(
    name=NAME,
    description=(
        f"{len(MAKERS)} problems of textbooks that have the shape measure-then-decide, each with the optimum that the "
        "book has: exact expected loss, and the loss realised on truths drawn from the problem."
    ),
    scenarios=len(MAKERS),
    seeds=10,
    policies=(*(name for name in CONTESTANTS if name not in ("oracle", "restart")), "lookahead-2"),
    make=make,
    own={"check-everything": CheckEverything},
    groups={"problem": PROBLEM},
)
