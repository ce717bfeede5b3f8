"""Where our suites differ from the paper's by design, and why: said with every table that stands beside one of its.

Only what follows from how a suite is made or what the paper prints; what a run shows is computed from its records.
"""

from __future__ import annotations

from aquamend.analysis.paper.tables import family_of

_DIFFERENCES: dict[str, tuple[str, ...]] = {
    "m1": (
        "In the paper the realised cost is below the expected risk for every policy but restart and VeriTrace (Exact "
        "Adaptive: 8.560 realised, 9.253 expected), by far more than sampling allows, so its hidden failures were not "
        "drawn from the posterior that the policies were shown. Ours are.",
        "The paper's VeriTrace (roll back only) costs more than restarting, and its realised cost differs from its "
        "expected one. Both suggest that its rollbacks left residual losses. Here, rolling a belief back corrects it.",
        "The paper gives no parameters for its costs, residual losses and monitor. Ours are written down in "
        "docs/benchmarks.md and were not tuned to its numbers, so absolute levels differ: compare the order of the "
        "policies and the ratios between them.",
    ),
    "m1-depth": (
        "The paper ran 5 seeds: its success rates are fifths (0.8, 0.6, 0.4). The suite has 500.",
        "The paper does not give its posterior. A uniform one cannot produce its success rates of 0.8, 0.6 and 0.4 "
        "under its costs; weights drawn from U[0.75, 1.25] and normalised do, and are what the suite uses.",
        "Times and memory come from different machines and implementations: compare how they grow with the number "
        "of beliefs.",
    ),
    "m1-proxy": (
        "The independence proxy counts a shared rollback once for every belief that needs it. How much is shared "
        "depends on the graphs; ours have two actions and up to five beliefs where the support is small.",
        "The independence proxy is exact wherever the rollback sets are disjoint: the risk is then a sum, and the "
        "expectation of a sum needs no independence. It errs where sets overlap.",
        "The paper's Beam-32 has no error because its support never held more than 32 sets. The suite adds larger "
        "supports, which the beam cannot hold.",
    ),
}


def differences_from_paper(suite: str) -> tuple[str, ...]:
    """Return why a suite's numbers need not agree with the paper's, a reason a sentence or two."""
    return _DIFFERENCES.get(family_of(suite), ())
