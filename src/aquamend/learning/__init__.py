"""Learning a problem's numbers from records of past alarms, with their uncertainty and a check on records held back.

``estimates`` works on arrays and knows nothing of files: a world's own fitting code may call it. ``record_files``
reads CSV, JSON Lines and Parquet, ``past_alarms`` the journal of a robot's recoveries. ``thresholds`` makes an alarm of
a score.
"""

from aquamend.learning.checking import (
    Calibration,
    LossAfterLearning,
    calibration,
    calibration_of,
    checked,
    drifts,
    held_back,
    lost,
)
from aquamend.learning.estimates import Estimate, NormalEstimate, cost, moments, normal, rate, shares
from aquamend.learning.fitting import Learned, learned
from aquamend.learning.past_alarms import InvalidRecords, Record, Records, journal_records
from aquamend.learning.readings import Law, Part, PartEstimate, mixtures
from aquamend.learning.record_files import read_records
from aquamend.learning.thresholds import ScoreAlarm, ScoreMethod, alarm_from_scores

__all__ = [
    "Calibration",
    "Estimate",
    "InvalidRecords",
    "Law",
    "Learned",
    "LossAfterLearning",
    "NormalEstimate",
    "Part",
    "PartEstimate",
    "Record",
    "Records",
    "ScoreAlarm",
    "ScoreMethod",
    "alarm_from_scores",
    "calibration",
    "calibration_of",
    "checked",
    "cost",
    "drifts",
    "held_back",
    "journal_records",
    "learned",
    "lost",
    "mixtures",
    "moments",
    "normal",
    "rate",
    "read_records",
    "shares",
]
