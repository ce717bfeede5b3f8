"""Recovery as tools for agents, by the Model Context Protocol: `aquamend mcp`, or `server` in a program of yours.

An agent describes what it believed and did; it hears what to do about it, one thing at a time, does that with its own
tools, and reports. Nothing is asked of it twice: not after it has forgotten, and not after either program has died.
"""

from aquamend.errors import MissingLibrary

try:
    import mcp as _mcp  # noqa: F401
except ImportError:
    raise MissingLibrary("mcp", "mcp", "or drive a Session in your own loop") from None

from aquamend.adapters.agents.recoveries import Recoveries
from aquamend.adapters.agents.tools import server

__all__ = ["Recoveries", "server"]
