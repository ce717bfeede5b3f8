"""The processes that answer: what nobody waits for any more ends, and one that is soon done stays for the next."""

import asyncio

from tests.adapters.problems import CUP
from tests.waiting import PATIENCE_S

from aquamend.serve import worker_pool


def test_a_question_that_is_given_up_and_soon_done_leaves_its_process_to_the_next(monkeypatch):
    monkeypatch.setattr(worker_pool, "LINGER_S", PATIENCE_S)

    async def asked():
        workers = worker_pool.Workers(number=1, queue=1)
        await workers.warm_up()
        (process,) = workers._idle
        given_up = asyncio.create_task(workers.ask("check", {"problem": CUP}, seconds=60.0))
        while workers._idle:
            await asyncio.sleep(0)
        given_up.cancel()
        answer = await workers.ask("check", {"problem": CUP}, seconds=60.0)
        same = workers._idle == [process]
        await workers.close()
        return answer, given_up.cancelled(), same

    assert asyncio.run(asked()) == ({}, True, True)
