"""Replays of sessions: a page beside the journal, made by whoever recorded what the robot did."""

from urllib.parse import quote


def replay_file(session: str) -> str:
    """Return the name of the page that replays a session, beside its journal: its name as in an address."""
    return f"{quote(session, safe='')}.replay.html"
