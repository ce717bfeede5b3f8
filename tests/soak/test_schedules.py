"""Ten thousand random schedules: whatever is said to a session, in whatever order, it does what a small model says.

Replies that are right, late, wrong or missing, alarms, answers that nobody asked for, cancellations, people who allow,
refuse, settle or come too late, time that passes, crashes, and a second program that takes the session up. After every
call the session is compared with `tests.reference.session`, with its own log, and with what its robot has begun.

`SOAK=1` does all of them, `make test-all` a tenth, `make test` some hundreds.
"""

import os
from collections import Counter

import pytest
from tests.soak.findings import keep
from tests.soak.schedule import Schedule
from tests.tiers import cases

COUNT = 10_000 if os.environ.get("SOAK") else cases(300, 1_000)
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_does_what_its_model_says(part, table):
    seen: Counter[str] = Counter()
    for seed in range(part, COUNT, PARTS):
        try:
            schedule = Schedule(seed, table)
            schedule.run()
        except Exception as error:
            raise AssertionError(f"schedule {seed}: {error!r}") from error
        seen += schedule.seen
        seen[f"ended {schedule.session.request.ending}"] += 1
        seen["schedules"] += 1
    assert seen["schedules"] == len(range(part, COUNT, PARTS))
    keep("schedules", str(part), f"{part}, {part + PARTS}, … below {COUNT}", seen)
