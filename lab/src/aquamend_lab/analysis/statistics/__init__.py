"""Small pure functions: paired comparisons, intervals, calibration, attribution, rates; each names its reference."""

from aquamend.learning.estimates import (
    DECIMALS,
    ProbabilityQuality,
    brier,
    difference,
    expected_calibration_error,
    probability_quality,
    rounded,
)
from aquamend_lab.analysis.statistics.bootstrap import Interval, paired_bootstrap, ratio_bootstrap, stratified_bootstrap
from aquamend_lab.analysis.statistics.paired_tests import SignedRank, holm, signed_rank, smallest_detectable_difference
from aquamend_lab.analysis.statistics.recovery_rates import (
    AttributionScores,
    attribution_scores,
    operational_saving,
    zero_rollback_and_success_rate,
    zero_rollback_rate,
)

__all__ = [
    "DECIMALS",
    "AttributionScores",
    "Interval",
    "ProbabilityQuality",
    "SignedRank",
    "attribution_scores",
    "brier",
    "difference",
    "expected_calibration_error",
    "holm",
    "operational_saving",
    "paired_bootstrap",
    "probability_quality",
    "ratio_bootstrap",
    "rounded",
    "signed_rank",
    "smallest_detectable_difference",
    "stratified_bootstrap",
    "zero_rollback_and_success_rate",
    "zero_rollback_rate",
]
