"""A partially observable Markov decision process in Cassandra's ``.pomdp`` format, which most solvers read.

Everything is ASCII, numbers have a decimal point and no exponent, no entry is given twice: some parsers want each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from aquamend.decision.step_words import Wording
from aquamend.decision.steps import Decision, RollBack, step_kind
from aquamend.files.export.pomdp import Pomdp, ProbeAction
from aquamend.text import shown

DONE = "done"
NOTHING = "nothing"
LONGEST_NAME = 20
"""Characters of a name that are repeated in an identifier; the comments have the whole of it."""


def pomdp_text(pomdp: Pomdp, *, discount: float = 1.0) -> str:
    """Return the process as the text of a ``.pomdp`` file; rewards are losses with the sign turned."""
    if not 0.0 < discount <= 1.0:
        raise ValueError(f"the discount is {discount!r}; give a number above 0 and at most 1")
    ids = _Names(pomdp)
    start = np.zeros(len(ids.states) + 1)
    start[: len(pomdp.start)] = pomdp.start
    comments = (*_about(pomdp, discount), *_dictionary(pomdp, ids))
    lines = [
        *(f"# {line.encode('ascii', 'backslashreplace').decode('ascii')}".rstrip() for line in comments),
        "",
        f"discount: {_number(discount)}",
        "values: reward",
        " ".join(["states:", *ids.states, DONE]),
        " ".join(["actions:", *ids.probes, *ids.endings]),
        " ".join(["observations:", *(answer for answers in ids.answers for answer in answers), NOTHING]),
        f"start: {' '.join(map(_number, start))}",
        "",
        *_transitions(pomdp, ids),
        "",
        *_observations(pomdp, ids),
        "",
        *_rewards(pomdp, ids),
    ]
    return "\n".join(lines) + "\n"


def _about(pomdp: Pomdp, discount: float) -> Iterator[str]:
    problem = pomdp.state.problem
    unit = f" (in {shown(problem.unit)})" if problem.unit else ""
    yield f"{shown(problem.name)}: a recovery problem of AquaMend as a POMDP"
    yield f"The optimal expected loss{unit} is minus the optimal value at the start."
    if pomdp.relaxation:
        yield pomdp.relaxation
    if math.isfinite(pomdp.most_probes):
        most = int(pomdp.most_probes)
        yield f"At most {most} probes can run, so a horizon of {most + 1} steps is as good as an infinite one."
        if discount < 1.0:
            yield f"With this discount: -value <= optimal expected loss <= -value / {_number(discount)}^{most}."
    else:
        yield "Some probe can run without end, so the horizon is infinite."
    if pomdp.penalty is not None:
        yield f"An infinite loss is written as {_number(pomdp.penalty)}."
        if math.isfinite(pomdp.most_probes):
            yield f"No finite plan costs more than {pomdp.ceiling:.12g}: an optimal loss above that means infinite."
        if not pomdp.penalty_is_exact:
            yield "Where an infinite loss is very improbable it may be risked: the optimum here may then be too low."
    if any(action.answers is None for action in pomdp.probes):
        yield "Continuous readings are cut into intervals: the optimum here is at worst a little too high for that."
    yield ""


def _dictionary(pomdp: Pomdp, ids: _Names) -> Iterator[str]:
    """Yield which name of the problem stands behind every identifier."""
    words = Wording(pomdp.state)
    endless = [" (1: at least once)" if math.isinf(most) else "" for most in pomdp.most_uses]
    counted = [ids.probes[p] + endless[p] for p in pomdp.counted]
    yield "States: a hypothesis" + (f", then the uses of {', '.join(counted)}." if counted else ".")
    for identifier, name in zip(ids.hypotheses, pomdp.hypotheses, strict=True):
        yield f"  {identifier}: {shown(name)}"
    yield f"  {DONE}: the recovery has ended"
    yield "Actions: one that may not be taken ends the recovery at its cost and the highest loss of all decisions."
    for identifier, action in zip(ids.probes, pomdp.probes, strict=True):
        yield f"  {identifier}: run probe {shown(action.view.name)}"
    for identifier, ending in zip(ids.endings, pomdp.endings, strict=True):
        yield f"  {identifier}: {words.full(ending.decision, most=1_000)}"
    yield "Observations"
    for identifiers, action in zip(ids.answers, pomdp.probes, strict=True):
        for identifier, answer in zip(identifiers, _answers(action), strict=True):
            yield f"  {identifier}: probe {shown(action.view.name)} {answer}"
    yield f"  {NOTHING}: no answer"


def _answers(action: ProbeAction) -> Iterator[str]:
    if action.answers is not None:
        yield from (f"answers {shown(answer)}" for answer in action.answers)
        return
    limits = [f"{cut:.12g}" for cut in action.cuts]
    yield f"reads below {limits[0]}"
    yield from (f"reads from {low} to {high}" for low, high in pairwise(limits))
    yield f"reads above {limits[-1]}"


def _transitions(pomdp: Pomdp, ids: _Names) -> Iterator[str]:
    states, n = ids.states, len(pomdp.hypotheses)
    for p, action in enumerate(ids.probes):
        for u, following in enumerate(pomdp.after[:, p]):
            for h in range(n):
                target = DONE if following < 0 else states[following * n + h]
                yield f"T: {action} : {states[u * n + h]} : {target} 1.0"
        yield f"T: {action} : {DONE} : {DONE} 1.0"
    for action in ids.endings:
        yield f"T: {action} : * : {DONE} 1.0"


def _observations(pomdp: Pomdp, ids: _Names) -> Iterator[str]:
    states, n = ids.states, len(pomdp.hypotheses)
    for identifier, answers, action, after in zip(ids.probes, ids.answers, pomdp.probes, pomdp.after.T, strict=True):
        reached = set(after.tolist())
        for s, state in enumerate(states):
            # An end state that the probe cannot lead to must still have an observation.
            pairs = zip(answers, action.likelihood[s % n], strict=True) if s // n in reached else [(NOTHING, 1.0)]
            for answer, probability in pairs:
                if probability > 0.0:
                    yield f"O: {identifier} : {state} : {answer} {_number(min(probability, 1.0))}"
        yield f"O: {identifier} : {DONE} : {NOTHING} 1.0"
    for identifier in ids.endings:
        yield f"O: {identifier} : * : {NOTHING} 1.0"


def _rewards(pomdp: Pomdp, ids: _Names) -> Iterator[str]:
    n, illegal = len(pomdp.hypotheses), pomdp.illegal_losses
    for p, (identifier, action) in enumerate(zip(ids.probes, pomdp.probes, strict=True)):
        for s, state in enumerate(ids.states):
            loss = action.view.cost + (illegal[s % n] if pomdp.after[s // n, p] < 0 else 0.0)
            yield f"R: {identifier} : {state} : * : * {_number(-loss)}"
    for e, identifier in enumerate(ids.endings):
        for s, state in enumerate(ids.states):
            yield f"R: {identifier} : {state} : * : * {_number(-pomdp.ending_losses[s % n, e])}"


class _Names:
    """The identifiers of one process."""

    def __init__(self, pomdp: Pomdp) -> None:
        self.hypotheses = _identifiers("h", pomdp.hypotheses)
        self.probes = _identifiers("probe", (action.view.name for action in pomdp.probes))
        self.endings = _identifiers("stop", (_kind(ending.decision) for ending in pomdp.endings))
        self.answers = [
            _identifiers(f"answer{p}_", action.answers or [""] * action.likelihood.shape[1])
            for p, action in enumerate(pomdp.probes, start=1)
        ]
        counts = ["".join(f"_{uses[p]}" for p in pomdp.counted) for uses in pomdp.uses]
        counts = [f"_{count}" if count else "" for count in counts]
        self.states = [f"{identifier}{count}" for count in counts for identifier in self.hypotheses]
        """All states but the last, hypothesis by hypothesis for each count of uses."""


def _kind(decision: Decision) -> str:
    if isinstance(decision, RollBack):
        return f"correct {' '.join(decision.correct)}" if decision.plan is None else f"plan {decision.plan}"
    return step_kind(decision)


def _identifiers(prefix: str, names: Iterable[str]) -> list[str]:
    """Return identifiers that begin with a letter and are unique by their number, whatever the names are."""
    plain = (re.sub(r"[^A-Za-z0-9]+", "_", name)[:LONGEST_NAME].strip("_") for name in names)
    return [f"{prefix}{i}_{name}" if name else f"{prefix}{i}" for i, name in enumerate(plain, start=1)]


def _number(value: float) -> str:
    """Return the shortest decimal number that reads back as this float: with a point, without an exponent."""
    return np.format_float_positional(value + 0.0, trim="0")  # minus zero plus zero is zero
