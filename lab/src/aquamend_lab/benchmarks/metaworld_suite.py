"""``metaworld-v1``: robot tasks of others, whose object is not where it was seen; run in an environment of its own."""

from __future__ import annotations

from aquamend.belief import InformationState
from aquamend.problem.model import Cause
from aquamend_lab.benchmarks.outside_suites import CONTESTANTS, CheckEverything
from aquamend_lab.benchmarks.scenario import Scenario, Truth, generator, stream
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.outside.metaworld_tasks import AXES, NEAR_M, TASKS, MetaWorld, TaskUnderway, drawn, problem_of
from aquamend_lab.records import STRATUM

NAME = "metaworld-v1"
CAUSES = {"nothing": Cause.FALSE_ALARM, "misperceived": Cause.SELF_ERROR}


def make(seed: int, number: int) -> Scenario:
    """Return an episode of one task from the alarm on."""
    task = TASKS[number]
    happens = drawn(generator(NAME, seed, number))
    table = TaskUnderway(task, seed, happens)
    state = InformationState.alarmed(problem_of(table.believed, table.hand))
    true = {axis: float(table.object[i]) for i, axis in enumerate(AXES)}
    wrong = tuple(axis for i, axis in enumerate(AXES) if abs(table.object[i] - table.believed[i]) > NEAR_M)
    own = stream(NAME, seed, number)
    truth = Truth(
        happens.trouble, wrong, CAUSES.get(happens.trouble, Cause.EXTERNAL),
        lambda: MetaWorld(task, seed, happens, own, state), values={axis: true[axis] for axis in wrong},
    )  # fmt: skip
    return Scenario(
        NAME, seed, number, state, truths=(truth,), group={"task": task}, features={"trouble": happens.trouble}
    )


METAWORLD_SUITE = RecoverySuite(
    name=NAME,
    description=(
        "Five tasks of Meta-World with its scripts and its tests of success; the object is moved, swapped, dropped or "
        "misperceived, and a monitor rings. Losses are in seconds; a failed task costs 40."
    ),
    scenarios=len(TASKS),
    seeds=10,
    policies=CONTESTANTS,
    make=make,
    expected_risk=False,
    own={"check-everything": CheckEverything},
    groups={"task": STRATUM},
    unit="s",
)
