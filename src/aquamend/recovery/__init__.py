"""Recovery on a robot: acts, receipts, a log of everything, and the loop that leads from an alarm to its end."""

from aquamend.recovery.acts import Act, Declare, Finish, Follow, HandOver, Measure, Redo, Undo, acts_of, check_known
from aquamend.recovery.events import Ending, Rules
from aquamend.recovery.journal import Journal, SessionLine, Status
from aquamend.recovery.judge import Judge, Judged, Simulated, Verdict, recovered, residuals
from aquamend.recovery.log import Log, MemoryLog
from aquamend.recovery.loop import approve, recover, recover_async, resume, resume_async
from aquamend.recovery.receipts import Charge, Receipt, charged
from aquamend.recovery.robot import AsyncRobot, Robot, Verifying
from aquamend.recovery.session import Recovery
from aquamend.recovery.task_record import ActionStatus
from aquamend.recovery.tracker import Tracker

__all__ = [
    "Act",
    "ActionStatus",
    "AsyncRobot",
    "Charge",
    "Declare",
    "Ending",
    "Finish",
    "Follow",
    "HandOver",
    "Journal",
    "Judge",
    "Judged",
    "Log",
    "Measure",
    "MemoryLog",
    "Receipt",
    "Recovery",
    "Redo",
    "Robot",
    "Rules",
    "SessionLine",
    "Simulated",
    "Status",
    "Tracker",
    "Undo",
    "Verdict",
    "Verifying",
    "acts_of",
    "approve",
    "charged",
    "check_known",
    "recover",
    "recover_async",
    "recovered",
    "residuals",
    "resume",
    "resume_async",
]
