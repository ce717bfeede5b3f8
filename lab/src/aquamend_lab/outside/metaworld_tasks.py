"""Meta-World's robot tasks, whose object is not where the robot believes it to be.

Meta-World's are the tasks, the physics, the scripted controllers and the tests of success. Ours are what goes wrong,
the monitor, the probes and their accuracy, the undoing and all costs; they were fixed before the full run, after
trial episodes. The tasks are those in which a free object lies where the observation says, and a script takes it
somewhere.

The robot sees the object, believes that (its two coordinates on the table) and begins; what the script hears of the
object is what is believed, unless the fingers feel it: then it is where the hand is. Meanwhile the object may be moved,
exchanged for another (it then stands on the other side) or dropped near the hand, or it was misperceived from the
start. A monitor rings, for good reason or without one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState
from aquamend.errors import AquaMendError
from aquamend.problem import Problem
from aquamend.problem.building import joint_model
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Cause, Gaussian, Hypothesis, Normal
from aquamend.recovery import Act, Charge, Declare, Ending, Finish, Follow, Measure, Receipt, Recovery, Undo, Verdict

TASKS = ("pick-place-v3", "push-v3", "sweep-into-v3", "shelf-place-v3", "basketball-v3")
BEFORE, AFTER = 24, 300
"""Steps of the script before the monitor may ring, and at most after the recovery."""
STEP_S = 0.0125
SEEN_M, MISPERCEIVED_M, MOVED_M, DROPPED_M = 0.003, 0.06, 0.06, 0.03
"""Standard deviations of where the object is seen, or is."""
NEAR_M = 0.01
"""How far off the object may be without harm: the belief's tolerance."""
FELT_M = 0.06
"""How near the hand the object is felt."""
RINGS, RINGS_FALSELY = 0.9, 0.15
TROUBLE = {"nothing": 0.35, "moved": 0.25, "swapped": 0.1, "dropped": 0.1, "misperceived": 0.2}
GLANCE_S, GLANCE_M, LOOK_S, LOOK_M = 0.5, 0.015, 2.0, 0.004
BACK_S, AFRESH_S, PERSON_S, FAILURE_S = 1.0, 15.0, 50.0, 40.0
AXES = ("x", "y")
HAND, OBJECT, POSITION = slice(0, 3), slice(4, 7), slice(9, 11)
"""Where hand and object stand in an observation, and the object among the positions of the simulator."""


class Drawn(NamedTuple):
    """What happens in an episode, the same for every policy."""

    trouble: str
    seen_off: Floats
    shift: Floats


def drawn(rng: np.random.Generator) -> Drawn:
    """Return what happens: drawn until the monitor rings."""
    while True:
        trouble = str(rng.choice(list(TROUBLE), p=list(TROUBLE.values())))
        seen_off = rng.normal(0.0, MISPERCEIVED_M if trouble == "misperceived" else SEEN_M, 2)
        shift = rng.normal(0.0, DROPPED_M if trouble == "dropped" else MOVED_M, 2)
        off = {"nothing": seen_off, "misperceived": seen_off, "swapped": np.full(2, np.inf)}.get(trouble, shift)
        far = bool(np.abs(off).max() > NEAR_M) or trouble == "dropped"
        if rng.random() < (RINGS if far else RINGS_FALSELY):
            return Drawn(trouble, seen_off, shift)


@cache
def _task(name: str) -> tuple[Any, Any, list[Any]]:
    """Return the environment of a task, its script, and the positions of its objects and goals."""
    try:
        import metaworld
        from metaworld.policies import ENV_POLICY_MAP
    except ImportError:
        what = "metaworld is not installed; it needs an environment of its own: run `make metaworld`"
        raise AquaMendError(what) from None
    family = metaworld.MT1(name, seed=0)
    return family.train_classes[name](), ENV_POLICY_MAP[name], list(family.train_tasks)


class TaskUnderway:
    """A task while it goes on: what the robot believes, and what the simulator knows."""

    def __init__(self, task: str, number: int, happens: Drawn) -> None:
        self._env, script, tasks = _task(task)
        self._script = script()
        self._env.set_task(tasks[number % len(tasks)])
        self._seen, _ = self._env.reset(seed=number)
        self.steps, self.done = 0, False
        self.believed = self._seen[OBJECT].copy()
        self.believed[:2] += happens.seen_off
        self._run(BEFORE // 2)
        self._happen(happens)
        self._run(BEFORE - BEFORE // 2)

    @property
    def hand(self) -> Floats:
        """Where the hand is."""
        return np.array(self._seen[HAND])

    @property
    def object(self) -> Floats:
        """Where the object is. For the simulator and its sensors alone."""
        return np.array(self._seen[OBJECT])

    def finish(self) -> None:
        """Let the script go on with what is believed, until it has succeeded or its time is up."""
        self._script = type(self._script)()
        self._run(AFTER)

    def back(self) -> None:
        """Open the hand and raise it."""
        for _ in range(int(BACK_S / STEP_S)):
            self._step(np.array([0.0, 0.0, 1.0 if self.hand[2] < 0.25 else 0.0, -1.0]))

    def _run(self, steps: int) -> None:
        for _ in range(steps):
            if self.done:
                return
            heard = self._seen.copy()
            if np.linalg.norm(self.object - self.hand) > FELT_M:
                heard[OBJECT][:2] = self.believed[:2]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # its own scripts ask for more than a step may
                action = self._script.get_action(heard)
            self._step(np.clip(action, -1.0, 1.0))

    def _step(self, action: Floats) -> None:
        self._seen, _, _, _, info = self._env.step(action.astype(np.float32))
        self.steps += 1
        self.done = self.done or bool(info["success"])
        self._env.curr_path_length = 0  # its own limit is for learners

    def _happen(self, happens: Drawn) -> None:
        positions, speeds = self._env.data.qpos.copy(), self._env.data.qvel.copy()
        if happens.trouble == "moved":
            positions[POSITION] += happens.shift
        elif happens.trouble == "swapped":
            positions[POSITION][0] = -positions[POSITION][0] + 0.1 * (1 if positions[POSITION][0] < 0.0 else -1)
        elif happens.trouble == "dropped":
            positions[POSITION] = self.hand[:2] + happens.shift
        else:
            return
        speeds[9:15] = 0.0
        self._env.set_state(positions, speeds)


def problem_of(believed: Floats, hand: Floats) -> Problem:
    """Return what the robot thinks may be the matter, and what it can do: the same numbers as above, and no truth."""
    here = dict(zip(AXES, believed[:2].tolist(), strict=True))
    beliefs = [Belief(axis, residual=FAILURE_S, declared=here[axis], tolerance=NEAR_M) for axis in AXES]
    kinds = {"glance": (GLANCE_S, GLANCE_M, 3), "look": (LOOK_S, LOOK_M, 1)}
    probes = [
        Probe(f"{kind} {axis}", cost=cost, max_uses=uses) for kind, (cost, _, uses) in kinds.items() for axis in AXES
    ]
    graph = RecoveryGraph(
        beliefs,
        [Action("approach", undo=BACK_S, executed=True), Action("do the task")],
        probes,
        [(probe.name, probe.name[-1], "detection") for probe in probes]
        + [(axis, "approach", "belief_to_action") for axis in AXES]
        + [("approach", "do the task", "action_causal")],
    )

    def off(name: str, prior: float, sd: float, cause: Cause) -> list[Hypothesis]:
        near = float(np.clip(NEAR_M / sd, 0.0, 3.0))  # about how likely one coordinate stays near
        alike = 0.5 * near
        one, both = alike * (1.0 - alike), (1.0 - alike) ** 2
        ways = {("x",): one, ("y",): one, AXES: both}
        return [
            Hypothesis(f"{name} {'-'.join(axes)}", prior * weight / (2.0 * one + both), cause=cause,
                       truth={axis: Normal(here[axis], sd) for axis in axes})
            for axes, weight in ways.items()
        ]  # fmt: skip

    other = -here["x"] + 0.1 * (1 if here["x"] < 0.0 else -1)
    near_hand = {axis: Normal(float(hand[i]), DROPPED_M) for i, axis in enumerate(AXES)}
    hypotheses = [
        Hypothesis("nothing", TROUBLE["nothing"], cause=Cause.FALSE_ALARM),
        *off("moved", TROUBLE["moved"], MOVED_M, Cause.EXTERNAL),
        *off("misperceived", TROUBLE["misperceived"], MISPERCEIVED_M, Cause.SELF_ERROR),
        Hypothesis("dropped", TROUBLE["dropped"], cause=Cause.EXTERNAL, truth=near_hand),
        Hypothesis("swapped", TROUBLE["swapped"], cause=Cause.EXTERNAL, truth={"x": other}),
    ]
    likelihood = {one.name: RINGS_FALSELY if one.name == "nothing" else RINGS for one in hypotheses}
    rows: dict[str, Any] = {f"{kind} {axis}": (axis, sd) for kind, (_, sd, _) in kinds.items() for axis in AXES}
    kernels = {probe: Gaussian({"default": row}) for probe, row in rows.items()}
    model = joint_model(graph, hypotheses=hypotheses, kernels=kernels, alarm=Alarm(likelihood))
    return Problem(graph, model, restart=AFRESH_S, escalate=PERSON_S, name="metaworld", unit="s")


@dataclass(eq=False)
class MetaWorld:
    """A table with a robot, from the alarm on; the same episode again for every policy."""

    task: str
    number: int
    happens: Drawn
    seed: tuple[int, ...]
    start: InformationState
    _uses: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.table = TaskUnderway(self.task, self.number, self.happens)

    def alarm(self) -> InformationState:
        """Return the public evidence."""
        return self.start

    def measure(self, step: Measure) -> Receipt:
        """Read a coordinate of the object; the n-th reading is off by the same for everybody."""
        use = self._uses[step.probe] = self._uses.get(step.probe, 0) + 1
        rng = np.random.default_rng((*self.seed, self.start.probe(step.probe).index, use))
        kind, axis = step.probe.split()
        error = rng.normal(0.0, GLANCE_M if kind == "glance" else LOOK_M)
        return step.done(float(self.table.object[AXES.index(axis)] + error))

    def perform(self, act: Act) -> Receipt:
        """Do it on the table."""
        match act:
            case Undo():
                self.table.back()
            case Declare(belief, value):
                self.table.believed[AXES.index(belief)] = value
            case Follow():
                self.table.back()
                error = np.random.default_rng((*self.seed, 99)).normal(0.0, SEEN_M, 2)
                self.table.believed[:2] = self.table.object[:2] + error
                self.table.finish()
            case Finish():
                self.table.finish()
            case _:
                pass
        return act.done()

    def judge(self, recovery: Recovery) -> Verdict:
        """Ask Meta-World whether the task was done."""
        if recovery.ending is not Ending.FINISHED:
            return Verdict(AXES, (), success=False)
        if self.table.done:
            return Verdict((), (), success=True)
        return Verdict(("task",), (Receipt(Charge.RESIDUAL, "task", FAILURE_S),), success=False)
