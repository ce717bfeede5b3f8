"""A process that answers questions: one at a time, each a line of JSON on standard input, its answer one on output.

It ends when its input does, also in the middle of a question: nobody waits for the answer any more.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import traceback
from typing import Any

from aquamend import deadline
from aquamend.codec import load
from aquamend.serve.problem_details import refusal_of
from aquamend.serve.questions import QUESTIONS

READY = b"ready\n"
"""What it says once it can be asked."""


def main() -> None:
    """Answer the questions on standard input."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer
    _limit_memory(float(sys.argv[1]))
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(waiting,), daemon=True).start()
    output.write(READY)
    output.flush()
    while True:
        output.write(json.dumps(_answered(waiting.get())).encode() + b"\n")
        output.flush()


def _listen(waiting: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        waiting.put(line)
    os._exit(0)


def _answered(line: bytes) -> dict[str, Any]:
    question, data, seconds = json.loads(line)
    kind, answer = QUESTIONS[question]
    try:
        asked = load(kind, data, "request", complete=False)
        with deadline.ends_at(deadline.clock() + seconds):
            return {"answer": answer(asked, seconds)}
    except Exception as error:  # noqa: BLE001 - whatever comes is an answer
        found = refusal_of(error)
        if found.status >= 500:
            traceback.print_exception(error)
        return {"refusal": found.to_data()}


def _limit_memory(most: float) -> None:
    """Let this process hold no more bytes than this, where the system can see to it."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    main()
