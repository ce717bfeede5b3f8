"""What the paper prints about small random graphs (M1)."""

from __future__ import annotations

from aquamend_lab.analysis.paper.rows import PaperTable, rows_of

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
        rows_of(_M1_COLUMNS, _M1),
    ),
    PaperTable(
        "m1-depth",
        "M1-Depth table",
        "“Controlled planning-depth results on M1-Depth”, 5 seeds",
        tuple(row for n, *line in _M1_DEPTH for row in rows_of(_DEPTH_COLUMNS, [line], group={"n": n})),
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
            for row in rows_of(
                ("normalised_error",), [(estimator, error)], group={"mode": mode, "support": "small", "failed": failed}
            )
        ),
    ),
)
