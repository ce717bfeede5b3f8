"""Noisy-or: causes that each bring something about by themselves, and a leak for what nobody lists.

p(s) = 1 − (1 − leak) Π_c (1 − p_c)  over the causes, or failed beliefs, c that are present under s
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import place
from aquamend.errors import Fault, InvalidProblem
from aquamend.problem.building.root_causes import NOTHING
from aquamend.problem.building.rules import Vocabulary
from aquamend.problem.model.kernels.noisy_or import noisy_or_faults

LEAK = "leak"
"""What stands for all that is not listed; no cause may have this name."""


def noisy_or(numbers: Mapping[str, float], vocabulary: Vocabulary, *, where: str = "noisy_or") -> Floats:
    """Return the probability under every hypothesis, shape ``(n_hypotheses,)``; ``InvalidProblem`` with every fault."""
    faults = [*noisy_or_faults(where, numbers), *_name_faults(where, numbers, vocabulary)]
    if faults:
        raise InvalidProblem(faults)
    stays_away = np.full(len(vocabulary.names), 1.0 - numbers.get(LEAK, 0.0))
    for name, p in numbers.items():
        if name != LEAK:
            stays_away = np.where(vocabulary.where(name), stays_away * (1.0 - p), stays_away)
    return np.asarray(1.0 - stays_away)


def _name_faults(where: str, numbers: Mapping[str, float], vocabulary: Vocabulary) -> Iterator[Fault]:
    """Yield names of nothing that can be present, and a cause or belief called like the leak."""
    listed = vocabulary.names if vocabulary.listed else ()
    known = dict.fromkeys(word for word in (*vocabulary.words, *listed) if vocabulary.listed or word != NOTHING)
    if LEAK in known:
        said = f"{LEAK!r} is also the name of a cause, hypothesis or belief"
        yield Fault(place(where, LEAK), said, "rename that: here it is the probability where no cause is present")
    for name in numbers:
        if name not in known and name != LEAK:
            said = f"{name!r} names no cause, belief or hypothesis"
            remedy = f"name one for each number, without conditions; what is not listed is the {LEAK}"
            yield Fault(place(where, name), said, remedy, name, [*known, LEAK])
