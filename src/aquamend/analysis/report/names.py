"""How policies and estimators are called in a report."""

from __future__ import annotations

import re

_NAMES = {
    "oracle": "Oracle",
    "closure-oracle": "Closure oracle",
    "exact": "Exact adaptive",
    "aquamend": "AquaMend",
    "all-candidates": "AquaMend, all candidates",
    "linear-chain": "AquaMend, linear chain",
    "structured": "Structured rule",
    "certified": "Certified (anytime)",
    "troubleshooting": "Troubleshooting (DTT)",
    "decoupled": "Decoupled",
    "greedy": "Greedy re-probe",
    "restart": "Restart",
    "rollback-only": "Roll back only",
    "no-reprobe": "No re-probe",
    "blind-retry": "Blind retry",
    "rewind": "Rewind (VeriTrace)",
    "belief-replan": "Belief-space replan",
    "tms-revision": "TMS revision",
    "no-attribution": "No attribution",
    "no-source-separation": "No source separation",
    "power-detection": "Detection power per cost",
    "independence-proxy": "Independence proxy",
    "beam-proxy": "Beam proxy",
    "monte-carlo-proxy": "Monte Carlo proxy",
    "overconfident": "Overconfident",
    "independent": "Independence",
    "monte-carlo": "Monte Carlo",
}

ENDINGS = {"roll_back": "roll back", "continue": "continue", "restart": "restart", "escalate": "escalate"}


def policy_name(policy: str) -> str:
    """Return a policy's name for people: ``lookahead-2`` → ``Lookahead (depth 2)``; an unknown one as it is."""
    if depth := re.fullmatch(r"lookahead-(\d+)", policy):
        return f"Lookahead (depth {depth[1]})"
    if width := re.fullmatch(r"beam-(\d+)", policy):
        return f"Beam-{width[1]}"
    if samples := re.fullmatch(r"monte-carlo-(\d+)", policy):
        return f"Monte Carlo ({samples[1]})"
    return _NAMES.get(policy, policy)
