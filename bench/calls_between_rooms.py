"""Count the calls between the rooms of the product that one decision takes.

    .venv/bin/python bench/calls_between_rooms.py [aquamend's arguments]

A room is a module or a package right under ``aquamend``. A call counts where a function of one room runs a function of
another, whatever library or decorator stands between them; what importing runs does not count.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from types import FrameType

USUAL = ["decide", "examples/pouring.yaml", "--policy", "aquamend"]


def room_of(frame: FrameType) -> str | None:
    """Return the room of the code that a frame runs; None for other people's code and for what importing runs."""
    name = str(frame.f_globals.get("__name__", ""))
    inside = name.startswith("aquamend.") and frame.f_code.co_name != "<module>"
    decorating = name == "aquamend.caching" and "<locals>" in frame.f_code.co_qualname
    return name.split(".")[1] if inside and not decorating else None


def counted(arguments: list[str]) -> tuple[Counter[tuple[str, str, str]], set[str]]:
    """Return how often each room called each function of another, and the modules that ran."""
    from aquamend.cli.main import main

    calls: Counter[tuple[str, str, str]] = Counter()
    modules: set[str] = set()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (room := room_of(frame)) is None:
            return
        modules.add(str(frame.f_globals["__name__"]))
        caller = frame.f_back
        while caller is not None and (calling := room_of(caller)) is None:
            if caller.f_code.co_name == "<module>":
                return
            caller = caller.f_back
        if caller is not None and calling != room:
            calls[calling, room, frame.f_code.co_qualname] += 1

    sys.argv = ["aquamend", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.setprofile(count)
        try:
            main()
        finally:
            sys.setprofile(None)
    return calls, modules


def report(arguments: list[str]) -> None:
    """Print the count, and which functions are called most from other rooms."""
    calls, modules = counted(arguments)
    rooms = {room for caller, called, _ in calls for room in (caller, called)}
    print(f"{sum(calls.values()):,} calls between {len(rooms)} rooms, {len(modules)} modules: {' '.join(arguments)}")
    for (caller, called, name), number in calls.most_common(40):
        print(f"{number:6,}  {caller} → {called}: {name}")


if __name__ == "__main__":
    report(sys.argv[1:] or USUAL)
