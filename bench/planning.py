"""What planning further than one probe ahead costs and brings: the default policy beside one step ahead.

python bench/planning.py
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import instances
from rich.console import Console
from rich.table import Table

from aquamend import AquaMend, Best, InformationState, Problem
from aquamend.errors import NotDiscrete
from aquamend.policies import Policy, evaluate
from aquamend.policies.evaluation import SampledEvaluation, sampled_value

EPISODES = 200


def first_decision(policy: Callable[[], Policy], state: InformationState) -> float:
    """Return the processor time of a decision with nothing computed for the problem before."""
    fresh = pickle.loads(pickle.dumps(state))  # pickles carry no results
    started = time.thread_time()
    policy().next_step(fresh)
    return time.thread_time() - started


def later_decision(policy: Callable[[], Policy], state: InformationState) -> float:
    """Return the processor time of a decision at a state that is new, of a problem that is not."""
    policy().next_step(state)
    fresh = replace(state)
    started = time.thread_time()
    policy().next_step(fresh)
    return time.thread_time() - started


def on_the_robot() -> Table:
    """Return how long decisions at the robot's alarms take: the default, one step ahead, and without its screen."""
    table = Table(title=f"{len(instances.robot_alarms())} alarms of the robot, processor time", title_justify="left")
    for column in ("policy", "first, median", "worst", "later, median", "target"):
        table.add_column(column, justify="left" if column == "policy" else "right")
    policies: dict[str, tuple[Callable[[], Policy], str]] = {
        "best": (Best, "20 ms"),
        "aquamend, with its screen": (AquaMend, ""),
        "all-candidates, without": (lambda: AquaMend(screen=None), ""),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in policies}
    for state in instances.robot_alarms():  # turn and turn about, so that all meet the same noise
        for name, (policy, _) in policies.items():
            times[name].append((first_decision(policy, state), later_decision(policy, state)))
    for name, (_, target) in policies.items():
        first, later = zip(*times[name], strict=True)
        table.add_row(name, _ms(median(first)), _ms(max(first)), _ms(median(later)), target)
    return table


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _cost(policy: Policy, problem: Problem) -> str:
    """Return what following a policy costs: exactly, or from sampled recoveries."""
    try:
        found = evaluate(policy, problem)
    except NotDiscrete:
        found = sampled_value(policy, InformationState.alarmed(problem), episodes=EPISODES)
    width = f" ± {found.half_width:.2g}" if isinstance(found, SampledEvaluation) else ""
    return f"{found.expected_loss:.4f}{width}"


def on_files() -> Table:
    """Return what the default policy brings on problems with something to plan, and what its first step takes."""
    problems = [
        ("Tiger, 40 listens", instances.tiger()),
        ("20 causes, two at once", instances.two_at_once(20)),
        ("one change among 8, 90 %, ten uses", instances.one_change(8, accuracy=0.9, uses=10, shared=True)),
        *instances.shipped(),
    ]
    table = Table(title="The default beside one step ahead (target: 1 s for the first step)", title_justify="left")
    for column in ("problem", "aquamend", "best", "bounds of best", "first step"):
        table.add_column(column, justify="left" if column == "problem" else "right")
    for name, problem in problems:
        state = InformationState.alarmed(problem)
        took, bounds = first_decision(Best, state), Best().bounds(state)
        certificate = f"{bounds.lower:.4f} … {bounds.upper:.4f}"
        table.add_row(name, _cost(AquaMend(), problem), _cost(Best(), problem), certificate, _ms(took))
    return table


if __name__ == "__main__":
    Console(width=max(130, Console().width)).print(on_files(), on_the_robot())
