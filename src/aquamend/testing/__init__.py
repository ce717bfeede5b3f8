"""Conformance checks for other people's policies and robots, and a fake robot that fails in every way."""

from aquamend.testing.fake_robot import (
    AlarmsAgain,
    Dies,
    Doing,
    Fails,
    Failure,
    FakeRobot,
    HoldsReceipt,
    LosesReceipt,
    Motion,
    Motions,
    NeverAnswers,
    PartlyDone,
    Raises,
    SaysNothing,
    StopBehaviour,
    TimesOut,
)
from aquamend.testing.policy_check import PolicyCheck, PolicyFault, check_policy, sample_problems
from aquamend.testing.robot_check import RobotCheck, check_robot
from aquamend.testing.watched_robot import RobotFault

__all__ = [
    "AlarmsAgain",
    "Dies",
    "Doing",
    "Fails",
    "Failure",
    "FakeRobot",
    "HoldsReceipt",
    "LosesReceipt",
    "Motion",
    "Motions",
    "NeverAnswers",
    "PartlyDone",
    "PolicyCheck",
    "PolicyFault",
    "Raises",
    "RobotCheck",
    "RobotFault",
    "SaysNothing",
    "StopBehaviour",
    "TimesOut",
    "check_policy",
    "check_robot",
    "sample_problems",
]
