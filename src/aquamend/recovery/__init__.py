"""Recovery on a robot: acts, receipts, a log of everything, and the session that leads from an alarm to its end."""

from aquamend.recovery.acts import Act, Declare, Finish, Follow, HandOver, Measure, Redo, Undo, acts_of, check_known
from aquamend.recovery.clock import Instant
from aquamend.recovery.drivers import (
    drive,
    drive_async,
    recover,
    recover_async,
    resume,
    resume_async,
)
from aquamend.recovery.guard import Check, Guard, NotNow
from aquamend.recovery.history import Recovery
from aquamend.recovery.judge import Judge, Judged, Simulated, Verdict, recovered, residuals
from aquamend.recovery.log.journal import Journal
from aquamend.recovery.log.log import Log, MemoryLog, SharedLog, followed
from aquamend.recovery.log.stored import SessionLine, Status, Store
from aquamend.recovery.receipts import Charge, Receipt, charged
from aquamend.recovery.replies import approve, settle
from aquamend.recovery.requests import (
    Decide,
    End,
    Ending,
    NoReceipt,
    Perform,
    Request,
    RunProbe,
    Stop,
    Verify,
    Wait,
)
from aquamend.recovery.robot import AsyncRobot, Robot, Stoppable, Verifying
from aquamend.recovery.safety_rules import UNATTENDED, Rules
from aquamend.recovery.session import Session
from aquamend.recovery.task_record import ActionStatus
from aquamend.recovery.thinking import Thinking
from aquamend.recovery.tracker import Tracker

__all__ = [
    "UNATTENDED",
    "Act",
    "ActionStatus",
    "AsyncRobot",
    "Charge",
    "Check",
    "Decide",
    "Declare",
    "End",
    "Ending",
    "Finish",
    "Follow",
    "Guard",
    "HandOver",
    "Instant",
    "Journal",
    "Judge",
    "Judged",
    "Log",
    "Measure",
    "MemoryLog",
    "NoReceipt",
    "NotNow",
    "Perform",
    "Receipt",
    "Recovery",
    "Redo",
    "Request",
    "Robot",
    "Rules",
    "RunProbe",
    "Session",
    "SessionLine",
    "SharedLog",
    "Simulated",
    "Status",
    "Stop",
    "Stoppable",
    "Store",
    "Thinking",
    "Tracker",
    "Undo",
    "Verdict",
    "Verify",
    "Verifying",
    "Wait",
    "acts_of",
    "approve",
    "charged",
    "check_known",
    "drive",
    "drive_async",
    "followed",
    "recover",
    "recover_async",
    "recovered",
    "residuals",
    "resume",
    "resume_async",
    "settle",
]
