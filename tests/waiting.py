"""How long tests wait for others."""

PATIENCE_S = 600.0
"""For a process, a thread or a page soon done: a busy machine is slow, and only a hang takes as long as this."""
