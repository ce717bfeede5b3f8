"""A partially observable Markov decision process in Cassandra's ``.pomdp`` format, which most solvers read.

Everything is ASCII, numbers have a decimal point and no exponent, no entry is given twice: some parsers want each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from aquamend.decision.steps import Continue, Decision, Escalate, Restart, RollBack
from aquamend.explanation.pomdp_model import Pomdp, ProbeAction
from aquamend.explanation.wording import brief
from aquamend.text.words import shown

DONE = "done"
NOTHING = "nothing"
LONGEST_NAME = 20
"""Characters of a name that are repeated in an identifier; the comments have the whole of it."""


def pomdp_text(pomdp: Pomdp, *, discount: float = 1.0) -> str:
    """Return the process as the text of a ``.pomdp`` file; rewards are losses with the sign turned."""
    if not 0.0 < discount <= 1.0:
        raise ValueError(f"the discount is {discount!r}; give a number above 0 and at most 1")
    start = np.zeros(len(pomdp.uses) * len(pomdp.start) + 1)
    start[: len(pomdp.start)] = pomdp.start
    lines = [
        *(f"# {_ascii(line)}".rstrip() for line in (*_about(pomdp, discount), *_dictionary(pomdp))),
        "",
        f"discount: {_number(discount)}",
        "values: reward",
        " ".join(["states:", *_states(pomdp), DONE]),
        " ".join(["actions:", *_probe_ids(pomdp), *_ending_ids(pomdp)]),
        " ".join(["observations:", *(answer for answers in _answer_ids(pomdp) for answer in answers), NOTHING]),
        f"start: {' '.join(map(_number, start))}",
        "",
        *_transitions(pomdp),
        "",
        *_observations(pomdp),
        "",
        *_rewards(pomdp),
    ]
    return "\n".join(lines) + "\n"


def _about(pomdp: Pomdp, discount: float) -> Iterator[str]:
    unit = f" (in {shown(pomdp.unit)})" if pomdp.unit else ""
    yield f"{shown(pomdp.name)}: a recovery problem of AquaMend as a POMDP"
    yield f"The optimal expected loss{unit} is minus the optimal value at the start."
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
        yield "Gaussian readings are cut into intervals: the optimum here is at worst a little too high."
    yield ""


def _dictionary(pomdp: Pomdp) -> Iterator[str]:
    """Yield which name of the problem stands behind every identifier."""
    counted = [i for i, most in zip(_probe_ids(pomdp), pomdp.most_uses, strict=True) if math.isfinite(most)]
    yield "States: a hypothesis" + (f", then the uses of {', '.join(counted)}." if counted else ".")
    for identifier, name in zip(_hypothesis_ids(pomdp), pomdp.hypotheses, strict=True):
        yield f"  {identifier}: {shown(name)}"
    yield f"  {DONE}: the recovery has ended"
    yield "Actions: a probe that may not run ends the recovery at the highest loss of all decisions and its cost."
    for identifier, action in zip(_probe_ids(pomdp), pomdp.probes, strict=True):
        yield f"  {identifier}: run probe {shown(action.probe.name)}"
    for identifier, ending in zip(_ending_ids(pomdp), pomdp.endings, strict=True):
        yield f"  {identifier}: {_meaning(ending.decision)}"
    yield "Observations"
    for identifiers, action in zip(_answer_ids(pomdp), pomdp.probes, strict=True):
        for identifier, answer in zip(identifiers, _answers(action), strict=True):
            yield f"  {identifier}: probe {shown(action.probe.name)} {answer}"
    yield f"  {NOTHING}: no answer"


def _meaning(decision: Decision) -> str:
    text = brief(decision, most=1_000)
    undo = decision.undo if isinstance(decision, RollBack) else ()
    return f"{text} (undo {', '.join(map(shown, undo))})" if undo else text


def _answers(action: ProbeAction) -> Iterator[str]:
    if action.answers is not None:
        yield from (f"answers {shown(answer)}" for answer in action.answers)
        return
    limits = [f"{cut:.12g}" for cut in action.cuts]
    yield f"reads below {limits[0]}"
    yield from (f"reads from {low} to {high}" for low, high in pairwise(limits))
    yield f"reads above {limits[-1]}"


def _transitions(pomdp: Pomdp) -> Iterator[str]:
    states, n = _states(pomdp), len(pomdp.hypotheses)
    for p, action in enumerate(_probe_ids(pomdp)):
        for u, following in enumerate(pomdp.after[:, p]):
            for h in range(n):
                target = DONE if following < 0 else states[following * n + h]
                yield f"T: {action} : {states[u * n + h]} : {target} 1.0"
        yield f"T: {action} : {DONE} : {DONE} 1.0"
    for action in _ending_ids(pomdp):
        yield f"T: {action} : * : {DONE} 1.0"


def _observations(pomdp: Pomdp) -> Iterator[str]:
    states, n = _states(pomdp), len(pomdp.hypotheses)
    named = zip(_probe_ids(pomdp), _answer_ids(pomdp), pomdp.probes, pomdp.after.T, strict=True)
    for identifier, answers, action, after in named:
        reached = set(after.tolist())
        for u in range(len(pomdp.uses)):
            for h in range(n):
                # An end state that the probe cannot lead to must still have an observation.
                given = zip(answers, action.likelihood[h], strict=True) if u in reached else [(NOTHING, 1.0)]
                for answer, probability in given:
                    if probability > 0.0:
                        yield f"O: {identifier} : {states[u * n + h]} : {answer} {_number(min(probability, 1.0))}"
        yield f"O: {identifier} : {DONE} : {NOTHING} 1.0"
    for identifier in _ending_ids(pomdp):
        yield f"O: {identifier} : * : {NOTHING} 1.0"


def _rewards(pomdp: Pomdp) -> Iterator[str]:
    states, n = _states(pomdp), len(pomdp.hypotheses)
    illegal, ending = pomdp.illegal_losses(), pomdp.ending_losses()
    for p, (identifier, action) in enumerate(zip(_probe_ids(pomdp), pomdp.probes, strict=True)):
        for s, state in enumerate(states):
            loss = illegal[s % n, p] if pomdp.after[s // n, p] < 0 else action.probe.cost
            yield f"R: {identifier} : {state} : * : * {_number(-loss)}"
    for e, identifier in enumerate(_ending_ids(pomdp)):
        for s, state in enumerate(states):
            yield f"R: {identifier} : {state} : * : * {_number(-ending[s % n, e])}"


def _states(pomdp: Pomdp) -> list[str]:
    """Return the names of all states but the last, hypothesis by hypothesis for each count of uses."""
    counted = [p for p, most in enumerate(pomdp.most_uses) if math.isfinite(most)]
    suffixes = ["".join(("_", *(f"_{uses[p]}" for p in counted))) if counted else "" for uses in pomdp.uses]
    return [f"{identifier}{suffix}" for suffix in suffixes for identifier in _hypothesis_ids(pomdp)]


def _hypothesis_ids(pomdp: Pomdp) -> list[str]:
    return _identifiers("h", pomdp.hypotheses)


def _probe_ids(pomdp: Pomdp) -> list[str]:
    return _identifiers("probe", (action.probe.name for action in pomdp.probes))


def _answer_ids(pomdp: Pomdp) -> list[list[str]]:
    return [
        _identifiers(f"answer{p}_", action.answers or [""] * action.likelihood.shape[1])
        for p, action in enumerate(pomdp.probes, start=1)
    ]


def _ending_ids(pomdp: Pomdp) -> list[str]:
    return _identifiers("stop", (_kind(ending.decision) for ending in pomdp.endings))


def _kind(decision: Decision) -> str:
    match decision:
        case RollBack(correct, _, plan):
            return f"correct {' '.join(correct)}" if plan is None else f"plan {plan}"
        case Continue():
            return "continue"
        case Restart():
            return "restart"
        case Escalate():
            return "escalate"


def _identifiers(prefix: str, names: Iterable[str]) -> list[str]:
    """Return identifiers that begin with a letter and are unique by their number, whatever the names are."""
    plain = (re.sub(r"[^A-Za-z0-9]+", "_", name)[:LONGEST_NAME].strip("_") for name in names)
    return [f"{prefix}{i}_{name}" if name else f"{prefix}{i}" for i, name in enumerate(plain, start=1)]


def _number(value: float) -> str:
    """Return the shortest decimal number that reads back as this float: with a point, without an exponent."""
    return np.format_float_positional(value + 0.0, trim="0")  # minus zero plus zero is zero


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")
