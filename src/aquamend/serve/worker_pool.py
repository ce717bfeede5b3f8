"""Processes that answer questions: so many at once, each ended when its time is up or nobody waits for it any more.

Run as a program, this is such a process. It answers one question at a time, each a line of JSON on standard input, its
answer one on output; and it ends when its input does, also in the middle of a question: nobody waits for the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import sys
import threading
import traceback
from typing import Any

from aquamend import deadline
from aquamend.codec import load
from aquamend.serve.problem_details import Refusal, Refused, refusal, refusal_of
from aquamend.serve.questions import QUESTIONS

READY = b"ready\n"
"""What a process says once it can be asked."""
START_S = 60.0
"""How long a process may take to start, on a busy machine."""
LINGER_S = 0.5
"""How long a process may go on with a question that nobody waits for any more: to start another would take as long."""
GRACE_S = 1.0
"""How much longer than its time a question may take before its process is ended."""
MEMORY = 4_000_000_000
"""Bytes that one process may hold."""
LONGEST = 64 * 1024 * 1024
"""Most bytes of an answer."""


class Workers:
    """Processes, started when they are needed and kept for the next question."""

    def __init__(self, *, number: int, queue: int, warm: int = 1) -> None:
        """``number`` may work at once, ``queue`` questions may wait for one of them, ``warm`` are started at once."""
        self._free = asyncio.Semaphore(number)
        self._most = number + queue
        self._warm = min(warm, number)
        self._asked = 0
        self._abandoned: set[asyncio.Task[dict[str, Any]]] = set()
        self._idle: list[asyncio.subprocess.Process] = []
        self._all: set[asyncio.subprocess.Process] = set()

    async def ask(self, question: str, data: Any, *, seconds: float) -> dict[str, Any]:
        """Return the answer; cancelled, the question is given up, and its process with it unless it ends soon."""
        if self._asked >= self._most:
            raise Refused(refusal(503, "busy", f"{self._asked} questions wait for an answer already", retry_after_s=1))
        self._asked += 1
        begun = asyncio.Event()
        answering = asyncio.create_task(
            self._in_turn(json.dumps([question, data, seconds]).encode() + b"\n", seconds, begun)
        )
        answering.add_done_callback(self._over)
        try:
            return await asyncio.shield(answering)
        except asyncio.CancelledError:
            self._abandoned.add(answering)
            asyncio.get_running_loop().call_later(LINGER_S if begun.is_set() else 0.0, answering.cancel)
            raise

    async def _in_turn(self, line: bytes, seconds: float, begun: asyncio.Event) -> dict[str, Any]:
        async with self._free:
            begun.set()
            return await self._answer(line, seconds)

    def _over(self, answering: asyncio.Task[dict[str, Any]]) -> None:
        self._asked -= 1
        self._abandoned.discard(answering)
        if not answering.cancelled():
            answering.exception()  # nobody may be there to hear of it

    async def _answer(self, line: bytes, seconds: float) -> dict[str, Any]:
        process = await self._ready()
        finished = False
        try:
            async with asyncio.timeout(seconds + GRACE_S):
                said = await _said(process, line)
            finished = said.endswith(b"\n")
        except TimeoutError:
            raise Refused(
                refusal(504, "out-of-time", f"no answer within {seconds:g} s; make the problem smaller")
            ) from None
        except (ValueError, BrokenPipeError, ConnectionResetError):  # more than may be answered, or it has ended
            said = b""
        finally:
            if finished:
                self._idle.append(process)
            else:
                await self._end(process)
        if not finished:
            raise Refused(
                refusal(422, "beyond-computing", "it takes more memory than a request may have; make it smaller")
            )
        answer = json.loads(said)
        if "refusal" in answer:
            raise Refused(load(Refusal, answer["refusal"]))
        found: dict[str, Any] = answer["answer"]
        return found

    async def _ready(self) -> asyncio.subprocess.Process:
        """Return a process that waits for a question."""
        while self._idle:
            if (process := self._idle.pop()).returncode is None:
                return process
            self._all.discard(process)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "aquamend.serve.worker_pool",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LONGEST,
            start_new_session=True,  # what interrupts the service does not interrupt a question
            env=os.environ | {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")},
        )  # fmt: skip
        self._all.add(process)
        try:
            async with asyncio.timeout(START_S):
                said = await _line(process)
        except BaseException:
            await self._end(process)
            raise
        if said != READY:
            await self._end(process)
            raise Refused(refusal(500, "broken", "a process that computes could not be started; the log says why"))
        return process

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        self._all.discard(process)
        await process.wait()

    async def warm_up(self) -> None:
        """Start processes before anybody asks."""
        self._idle += await asyncio.gather(*(self._ready() for _ in range(self._warm)))

    async def close(self) -> None:
        """End them all."""
        for answering in tuple(self._abandoned):
            answering.cancel()
        for process in tuple(self._all):
            await self._end(process)
        self._idle.clear()


async def _said(process: asyncio.subprocess.Process, line: bytes) -> bytes:
    if process.stdin is None:
        raise BrokenPipeError
    process.stdin.write(line)
    await process.stdin.drain()
    return await _line(process)


async def _line(process: asyncio.subprocess.Process) -> bytes:
    return b"" if process.stdout is None else await process.stdout.readline()


def main() -> None:
    """Answer the questions on standard input."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer
    _limit_memory()
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


def _limit_memory() -> None:
    """Let this process hold no more bytes than it may, where the system can see to it."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    main()
