"""Small pure functions: paired comparisons, intervals, calibration, attribution, rates; each names its reference."""

from aquamend.analysis.statistics.attribution import AttributionScores, attribution_scores
from aquamend.analysis.statistics.bootstrap import Interval, paired_bootstrap, ratio_bootstrap, stratified_bootstrap
from aquamend.analysis.statistics.calibration import brier, expected_calibration_error
from aquamend.analysis.statistics.holm_correction import holm
from aquamend.analysis.statistics.recovery_rates import (
    operational_saving,
    zero_rollback_and_success_rate,
    zero_rollback_rate,
)
from aquamend.analysis.statistics.ties import DECIMALS, difference, rounded
from aquamend.analysis.statistics.wilcoxon import SignedRank, signed_rank

__all__ = [
    "DECIMALS",
    "AttributionScores",
    "Interval",
    "SignedRank",
    "attribution_scores",
    "brier",
    "difference",
    "expected_calibration_error",
    "holm",
    "operational_saving",
    "paired_bootstrap",
    "ratio_bootstrap",
    "rounded",
    "signed_rank",
    "stratified_bootstrap",
    "zero_rollback_and_success_rate",
    "zero_rollback_rate",
]
