"""What the paper prints about the execution-level evaluation: 32 paired scenes, and what was measured beside them."""

from __future__ import annotations

from collections.abc import Mapping

from aquamend_lab.analysis.paper.rows import PaperPair, PaperTable, printed_rows

_MAIN_COLUMNS = (
    "success", "mean_loss", "sensing", "rollback", "continuation", "residual", "saving", "probes", "rollbacks",
    "zero_rollback_rate", "zero_rollback_and_success_rate", "safe_stops",
)  # fmt: skip
_MAIN = (
    ("aquamend", 28 / 32, 71.356, 0.463, 2.847, 53.672, 14.375, 0.256, 0.625, 0.312, 1.0, 1.0, 3),
    ("all-candidates", 28 / 32, None, None, None, None, None, None, None, None, 1.0, 1.0, 3),  # from the text
    ("troubleshooting", 25 / 32, 72.116, 0.450, 14.436, 47.543, 9.688, 0.185, 0.563, 1.469, 1.0, 1.0, None),
    ("no-reprobe", 21 / 32, 84.326, 0.325, 4.434, 45.191, 34.375, 0.348, 0.000, 0.469, 1.0, 1.0, 8),
    ("restart", 24 / 32, 90.966, 0.781, 24.495, 51.315, 14.375, 0.000, 2.000, 2.562, 0.0, 0.0, 3),
    ("linear-chain", 22 / 32, 76.391, 0.444, 11.899, 40.923, 23.125, 0.305, 0.688, 1.281, 1.0, 1.0, 7),
)

# The paper prints the other minus AquaMend; here, as everywhere in this project, it is AquaMend minus the other.
_PAIRS = {
    "troubleshooting": PaperPair(-0.761, -7.901, 7.571, 0.465318),
    "no-reprobe": PaperPair(-12.970, -27.115, -1.014, 0.233337),
    "restart": PaperPair(-19.610, -26.523, -12.944, 0.0000809375),
    "linear-chain": PaperPair(-5.035, -10.018, 0.568, 0.077465),
}

_COUNT_COLUMNS = ("decisions", "screened", "uncovered", "reduced", "candidates", "evaluated", "branches")
_COUNTS = (
    # stage, policy, calls, screening used, uncovered, reduced, enumerated, evaluated, predictive branches
    ("early", "aquamend", 25, 24, 0, 20, 96, 48, 7383),
    ("late", "aquamend", 27, 0, 24, 0, 96, 96, 11094),
    ("early", "all-candidates", 25, 0, 0, 0, 96, 96, 11071),
    ("late", "all-candidates", 27, 0, 0, 0, 96, 96, 11094),
    ("early", "linear-chain", 35, 31, 0, 26, 110, 52, 7692),
    ("late", "linear-chain", 30, 0, 28, 0, 102, 102, 11220),
)

_Q1_COLUMNS = ("success", "sensing", "rollback", "continuation", "residual", "mean_loss")
_Q1 = (
    ("original", 7 / 8, 0.475, 2.828, 50.611, 10.0, 63.914),
    ("concentrated", 7 / 8, 0.475, 2.828, 50.611, 10.0, 63.914),
    ("dispersed", 7 / 8, 0.525, 2.863, 50.711, 10.0, 64.099),
    ("negative bias", 7 / 8, 0.475, 2.828, 50.611, 10.0, 63.914),
    ("positive bias", 7 / 8, 0.550, 3.889, 51.525, 10.0, 65.964),
)

Q1_DIFFERENCES: Mapping[str, tuple[float, float, float]] = {
    "concentrated": (0.0, 0.0, 0.0),
    "dispersed": (0.186, 0.023, 0.441),
    "negative bias": (0.0, 0.0, 0.0),
    "positive bias": (2.051, 0.023, 5.851),
}
"""By setting: mean loss minus that of the original posterior, and its exploratory interval, as printed."""

_VALIDATION_COLUMNS = (
    "success", "rollbacks", "probes", "normalised_loss", "normalised_saving", "zero_rollback_rate",
)  # fmt: skip
_VALIDATION = (
    ("aquamend", 1.0, 0.625, 0.250, 2.125, 0.9941, 1.0),
    ("troubleshooting", 1.0, 0.750, 0.075, 2.325, 0.9936, 1.0),
    ("rollback-only", 0.25, 1.000, 0.0, 14.750, 0.9594, 0.0),
    ("restart", 1.0, 1.000, 0.0, 362.870, 0.0, 0.0),
)
"""A probe is charged 1, a rollback 3, a restart the median of 28 demonstrations: 72.574 s at 0.2 s a probe."""

_MAIN_WHERE = "“Recovery in the execution-level simulation” and its supplements, 32 scenes"

EXECUTION_TABLES = (
    *(
        PaperTable(
            family,
            "execution-level tables",
            _MAIN_WHERE,
            (
                *printed_rows(_MAIN_COLUMNS, _MAIN),
                *(
                    row
                    for stage, *line in _COUNTS
                    for row in printed_rows(_COUNT_COLUMNS, [line], group={"stage": stage})
                ),
            ),
            _PAIRS,
        )
        for family in ("pouring", "pouring-96")
    ),
    PaperTable(
        "q1",
        "Q1 table",
        "“Closed-loop Q1 results on eight new paired scenes, AquaMend only”",
        tuple(
            row
            for setting, *numbers in _Q1
            for row in printed_rows(_Q1_COLUMNS, [("aquamend", *numbers)], group={"setting": setting})
        ),
    ),
    PaperTable(
        "pouring-80",
        "physics-grounded table",
        "“Physics-grounded multi-cup execution validation”, 80 episodes, normalised costs",
        printed_rows(_VALIDATION_COLUMNS, _VALIDATION),
    ),
)

Quality = tuple[float, float, float, float]
"""Share invalid, mean stated probability, Brier score, expected calibration error."""

# The paper's A, B and C are here the cup that was declared least full, the next one, and the other.
OLD_DECLARATIONS: Mapping[str, Quality] = {
    "binding of the target": (0.2500, 0.2500, 0.0000, 0.0000),
    "binding of the next": (0.2500, 0.2500, 0.0000, 0.0000),
    "binding of the other": (0.0, 0.0000, 0.0000, 0.0000),
    "quantity of the target": (0.2500, 0.2030, 0.1143, 0.1085),  # printed as rank_A, and so on
    "quantity of the next": (0.0, 0.0622, 0.0310, 0.0622),
    "quantity of the other": (0.0, 0.0000, 0.0000, 0.0000),
    "target": (0.1562, 0.1532, 0.0736, 0.0582),  # printed as min_target
    "camera": (0.2500, 0.2652, 0.1453, 0.0756),  # printed as sensor_valid
    "any binding": (0.2500, 0.2500, 0.0000, 0.0000),
    "any quantity": (0.2500, 0.2652, 0.1453, 0.0756),
    "any target": (0.1562, 0.1532, 0.0736, 0.0582),
    "any camera": (0.2500, 0.2652, 0.1453, 0.0756),  # printed as sensor_health
}
CURRENT_DECLARATIONS: Mapping[str, Quality] = {
    "binding of the target": (0.0, 0.0000, 0.0000, 0.0000),
    "binding of the next": (0.0, 0.0000, 0.0000, 0.0000),
    "binding of the other": (0.0, 0.0000, 0.0000, 0.0000),
    "quantity of the target": (0.1250, 0.2205, 0.1106, 0.0955),
    "quantity of the next": (0.1250, 0.0788, 0.0228, 0.0462),
    "quantity of the other": (0.0, 0.0000, 0.0000, 0.0000),
    "target": (0.1562, 0.1583, 0.0736, 0.0582),
    "camera": (0.1875, 0.2008, 0.1334, 0.0738),
    "any binding": (0.0, 0.0000, 0.0000, 0.0000),
    "any quantity": (0.2500, 0.2993, 0.1334, 0.0758),
    "any target": (0.1562, 0.1583, 0.0736, 0.0582),
    "any camera": (0.1875, 0.2008, 0.1334, 0.0738),
}


def paper_quality(family: str, event: str, version: str) -> Quality | None:
    """Return what the paper prints about the probabilities of an event, of the old or of the current declarations."""
    if family not in ("pouring", "pouring-96"):
        return None
    return {"old": OLD_DECLARATIONS, "current": CURRENT_DECLARATIONS}.get(version, {}).get(event)


FIRST_COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "original": ("0/32", "0.0000", "63.9249"),
    "concentrated": ("1/32", "0.0516", "63.7192"),
    "dispersed": ("8/32", "0.0644", "64.4001"),
    "negative": ("0/32", "0.1450", "62.5118"),
    "positive": ("8/32", "0.1446", "65.2785"),
}
"""By posterior: changed first commands, mean total variation and mean predicted loss, as printed."""

TIMES: Mapping[str, tuple[float, float, float, float, float]] = {
    "all": (2.074, 2.364, 0.290, 0.212, 0.360),
    "early": (1.703, 2.362, 0.659, 0.499, 0.795),
    "late": (2.445, 2.366, -0.080, -0.106, -0.051),
}
"""Decision time in seconds by stage: AquaMend, all candidates, the second minus the first and its 95 % interval."""


def paper_times(family: str, stage: str) -> tuple[float, float, float, float, float] | None:
    """Return what the paper prints about decision times at a stage."""
    return TIMES.get(stage) if family in ("pouring", "pouring-96") else None
