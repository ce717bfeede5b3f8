"""What requires what: random instances small enough to list every closed set."""

from itertools import product

import numpy as np

from aquamend.decision.min_cut import Requirements


def requirements(n, pairs):
    source = np.array([a for a, _ in pairs], dtype=np.int32)
    target = np.array([b for _, b in pairs], dtype=np.int32)
    return Requirements(n, source, target)


def random_pairs(rng, n):
    return [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.3]


def closed_sets(n, pairs):
    for chosen in product([False, True], repeat=n):
        if all(chosen[b] or not chosen[a] for a, b in pairs):
            yield chosen
