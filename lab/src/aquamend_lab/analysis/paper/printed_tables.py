"""The numbers the paper prints, row by row, under the names and groups that our suites use.

To add a table: write its rows as they are printed, name the family of suites it belongs to, and put it among the
tables of its task. What the paper leaves blank stays ``None``.
"""

from __future__ import annotations

from collections.abc import Mapping

from aquamend_lab.analysis.paper.execution import EXECUTION_TABLES
from aquamend_lab.analysis.paper.rows import PaperTable, family_of, printed_rows

_M1_COLUMNS = ("mean_loss", "expected_risk", "gap_to_oracle")
_M1 = (
    ("oracle", 7.406, None, 0.0),
    ("exact", 8.560, 9.253, 1.154),
    ("lookahead-2", 8.565, 9.255, 1.159),
    ("aquamend", 8.594, 9.290, 1.188),
    ("troubleshooting", 8.599, 9.557, 1.193),
    ("decoupled", 11.008, 11.756, 3.602),
    ("greedy", 12.097, 12.491, 4.691),
    ("restart", 17.846, 17.846, 10.440),
    ("veritrace", 18.323, 18.226, 10.917),
)

_DEPTH_COLUMNS = ("success", "mean_loss", "expected_risk", "decision_ms", "peak_kib")
_M1_DEPTH = (
    # the number of beliefs comes first
    (3, "aquamend", 0.800, 3.396, 3.396, 0.512, 22.4),
    (3, "lookahead-2", 1.000, 3.248, 3.248, 0.705, 22.6),
    (3, "lookahead-3", 1.000, 3.248, 3.248, 0.744, 39.3),
    (3, "exact", 1.000, 3.248, 3.248, 0.533, 19.0),
    (4, "aquamend", 0.000, 4.000, 4.000, 1.013, 28.2),
    (4, "lookahead-2", 0.600, 3.679, 3.679, 2.931, 54.9),
    (4, "lookahead-3", 1.000, 3.484, 3.484, 3.569, 78.3),
    (4, "exact", 1.000, 3.484, 3.484, 2.455, 43.4),
    (5, "aquamend", 0.000, 4.000, 4.000, 3.583, 104.3),
    (5, "lookahead-2", 0.000, 4.000, 4.000, 8.136, 79.3),
    (5, "lookahead-3", 0.400, 3.815, 3.815, 10.646, 358.9),
    (5, "exact", 1.000, 3.594, 3.594, 11.841, 239.8),
    (6, "aquamend", 0.000, 4.000, 4.000, 12.577, 251.0),
    (6, "lookahead-2", 0.000, 4.000, 4.000, 30.483, 726.8),
    (6, "lookahead-3", 0.000, 4.000, 4.000, 44.932, 1206.8),
    (6, "exact", 1.000, 3.750, 3.750, 54.056, 1487.6),
)

_PROXIES = (
    # estimator, error on independent states, error on correlated states; the number of samples is not given
    ("independent", 0.27613, 0.29028),
    ("monte-carlo", 0.02502, 0.01557),
    ("beam-32", 0.0, 0.0),
)

M1_TABLES = (
    PaperTable(
        "m1",
        "M1 table",
        "“Exact small-graph comparison on M1”, 4,000 graphs, 5 seeds",
        printed_rows(_M1_COLUMNS, _M1),
    ),
    PaperTable(
        "m1-depth",
        "M1-Depth table",
        "“Controlled planning-depth results on M1-Depth”, 5 seeds",
        tuple(row for n, *line in _M1_DEPTH for row in printed_rows(_DEPTH_COLUMNS, [line], group={"n": n})),
    ),
    PaperTable(
        "m1-proxy",
        "text on proxy error",
        "“Exact small-graph validation on M1”, running text, 4,000 independent and 4,000 correlated states",
        tuple(
            row
            for estimator, independent, correlated in _PROXIES
            for mode, error in (("independent", independent), ("correlated", correlated))
            for failed in ("1.67", "0.8", "0.4")  # it does not say how many fail on average
            for row in printed_rows(
                ("normalised_error",), [(estimator, error)], group={"mode": mode, "support": "small", "failed": failed}
            )
        ),
    ),
)


_EARLIER = "aquamend-two-step"
"""In these tables AquaMend detects by power per cost, then re-estimates; our policy of that rule stands beside it."""
_DTT = "troubleshooting-1"
"""The paper's Troubleshooting makes 1.00 probes in each episode in each of these tables: one observation at most."""
_BUDGET_IGNORING = "decoupled-no-budget", "greedy-no-budget"
"""In the stress table these two are over the budget in 0.403 of the episodes, so they did not know it."""

_STANDARD_COLUMNS = ("success", "mean_loss", "probes", "undone", "zero_rollback_rate")
_STANDARD = (
    ("oracle", 1.000, 3.31, 0.00, 1.22, 1.00),
    ("restart", 0.799, 19.52, 3.00, 3.00, 0.00),
    ("blind-retry", 0.252, 23.70, 2.00, 0.00, 1.00),
    ("veritrace", 0.204, 39.64, 0.00, 2.50, 0.00),  # printed as VeriTrace (rollback only)
    (_DTT, 0.555, 20.26, 1.00, 1.50, 1.00),
    ("belief-replan", 0.204, 33.60, 0.00, 0.26, 1.00),
    ("tms-revision", 0.138, 32.89, 0.00, 0.00, 1.00),
    ("decoupled", 0.999, 6.09, 2.29, 1.22, 1.00),  # one row for these three
    ("greedy", 0.999, 6.09, 2.29, 1.22, 1.00),
    ("lookahead-2", 0.999, 6.09, 2.29, 1.22, 1.00),
    (_EARLIER, 0.999, 6.09, 2.29, 1.22, 1.00),  # printed as AquaMend
)

_STRESS_COLUMNS = ("success", "mean_loss", "probes", "undone", "over_budget_rate")
_STRESS = (
    ("oracle", 1.000, 7.83, 0.00, 2.98, 0.000),
    (_EARLIER, 0.976, 12.47, 2.88, 2.97, 0.001),  # printed as AquaMend
    ("lookahead-2", 0.976, 12.47, 2.88, 2.97, 0.001),
    (_BUDGET_IGNORING[0], 0.575, 47.83, 3.61, 1.83, 0.403),
    (_BUDGET_IGNORING[1], 0.575, 46.14, 3.61, 1.83, 0.403),
    ("restart", 0.333, 53.16, 5.74, 3.48, 0.000),
    ("blind-retry", 0.000, 45.71, 2.00, 0.00, 0.000),
    ("veritrace", 0.000, 63.48, 0.00, 2.98, 0.000),  # printed as VeriTrace
    (_DTT, 0.172, 32.93, 1.00, 3.08, 0.000),
    ("belief-replan", 0.000, 55.65, 0.00, 0.00, 0.000),
    ("tms-revision", 0.000, 55.65, 0.00, 0.00, 0.000),
)

_COMMON_CAUSE = ((_EARLIER, 10.25), ("decoupled", 79.95))

_ABLATION_COLUMNS = ("mean_loss", "success")
_ABLATION = (
    (_EARLIER, 5.431, 0.901),  # printed as AquaMend, and as the C_s/c side of the detection objective
    ("aquamend", 10.335, 0.708),  # printed as the VoI side
    ("no-reprobe", 38.157, 0.213),  # printed as "No re-probe: rollback only"
    ("no-attribution", 5.625, 0.900),
    ("no-source-separation", 5.541, 0.901),
    ("independence-proxy", 5.431, 0.901),
    ("beam-proxy", 5.431, 0.901),
    ("monte-carlo-proxy", 5.432, 0.901),
    ("overconfident", 5.431, 0.901),
)

_SETTINGS = (
    # setting, loss, success; of AquaMend as it was then
    ("standard", 5.431, 0.901),
    ("fine graph", 5.360, 0.999),
    ("chain graph", 6.830, 0.999),
    ("noisy probes", 9.830, 0.734),
    ("residuals halved", 5.422, 0.901),
    ("residuals doubled", 5.457, 0.901),
)

_DIAGNOSTICS = (("t4-ties", 0.025), ("t4-conflict", 0.425), ("t4-closure", 0.780))

_IRREVERSIBLE = (_EARLIER, "decoupled", "greedy", "lookahead-2")

T4_TABLES = (
    PaperTable(
        "t4",
        "T4 table",
        "“Main comparison on T4 (reversible regime, both graph granularities)”, 4,900 episodes",
        printed_rows(_STANDARD_COLUMNS, _STANDARD),
    ),
    PaperTable(
        "t4-irreversible",
        "text on irreversible T4",
        "“Standard T4 results”, running text, 1,200 episodes",
        printed_rows(
            ("success", "mean_loss", "escalation_rate"),
            [("oracle", 0.500, 1.12, None), *((policy, 0.500, 2.73, 0.50) for policy in _IRREVERSIBLE)],
        ),
    ),
    PaperTable(
        "t4-stress",
        "T4-Stress table",
        "“Main comparison on the T4-Stress earlier benchmark”, 4,600 episodes, 5 seeds; common causes from the text",
        (
            *printed_rows(_STRESS_COLUMNS, _STRESS),
            *printed_rows(("mean_loss",), _COMMON_CAUSE, group={"factor": "common cause"}),
        ),
    ),
    *(
        PaperTable(
            family, "text on diagnostics", "“Joint recovery under T4-Stress”, running text",
            printed_rows(("success",), [(_EARLIER, success)]),
        )
        for family, success in _DIAGNOSTICS
    ),
    PaperTable(
        "t4-ablation",
        "ablation table",
        "“Ablation results on standard T4”, 6,100 episodes",
        printed_rows(_ABLATION_COLUMNS, _ABLATION),
    ),
    PaperTable(
        "t4-settings",
        "ablation table",
        "“Ablation results on standard T4”, 6,100 episodes, but 4,900 for the two graphs",
        tuple(
            row
            for setting, *numbers in _SETTINGS
            for row in printed_rows(_ABLATION_COLUMNS, [(_EARLIER, *numbers)], group={"setting": setting})
        ),
    ),
)  # fmt: skip


PAPER_TABLES = (*M1_TABLES, *T4_TABLES, *EXECUTION_TABLES)


def paper_table(suite: str) -> PaperTable | None:
    """Return the paper's table for a suite, if it has one."""
    return next((table for table in PAPER_TABLES if table.family == family_of(suite)), None)


_DESIGNATED = ("lookahead-2", "decoupled", "greedy", "restart")
_TRADITIONAL = ("blind-retry", "veritrace", "troubleshooting-1", "belief-replan", "tms-revision")
_STRESSED = ("lookahead-2", "decoupled-no-budget", "greedy-no-budget", "restart")

_EXECUTION = {"paper’s": ("troubleshooting", "no-reprobe", "restart", "linear-chain")}

FAMILIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "t4": {"paper’s": (*_DESIGNATED, *_TRADITIONAL)},
    "t4-stress": {"designated": _STRESSED, "traditional": _TRADITIONAL},
    "pouring": _EXECUTION,
    "pouring-96": _EXECUTION,
}
"""By suite without its version: the policies of each family."""

OTHERS = "ours"
"""The family of the policies that the paper did not compare on such a suite."""


def holm_family(suite: str, policy: str) -> str:
    """Return the family that comparing with a policy belongs to; nothing where all of a suite's are one family."""
    families = FAMILIES.get(family_of(suite))
    if families is None:
        return ""
    return next((name for name, policies in families.items() if policy in policies), OTHERS)


def family_order(suite: str) -> tuple[str, ...]:
    """Return the families of a suite in the order that tables list them."""
    families = FAMILIES.get(family_of(suite))
    return ("",) if families is None else (*families, OTHERS)
