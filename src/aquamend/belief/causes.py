"""The causes that records name: the four of an attribution, and none where it was not resolved."""

from __future__ import annotations

FALSE_ALARM = "false_alarm"
CAUSES = ("external", "self_error", FALSE_ALARM, "unknown")
UNRESOLVED = "unresolved"
"""Attributed where no cause was at least as likely as not; never what was true."""
