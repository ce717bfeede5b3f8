"""Recovery problems and simulated worlds as Gymnasium environments, with the optimum to compare with.

An episode is one recovery under a truth that is drawn: every action is a step of a policy, rewards are the losses as
they are realised, with the sign changed, and together they are the complete loss of the episode. Policies of ours act
in it (`Agent`), and what was trained in it decides like any other policy (`Learned`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from aquamend.belief import InformationState
from aquamend.decision.endings import TIE
from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import best_terminal, completed, correction, price
from aquamend.errors import BadArgument, BadStep, MissingLibrary, UnknownName
from aquamend.files import load_problem
from aquamend.planning.bounds import Bounds
from aquamend.plugins import WORLDS, added, found_at
from aquamend.policies import Exact, Policy, policy_named
from aquamend.problem import Problem
from aquamend.recovery import UNATTENDED, Decide, End, Perform, RunProbe, Session, Simulated, Verdict, charged
from aquamend.recovery.events import Decided
from aquamend.testing.model_world import ModelWorld

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise MissingLibrary("gymnasium", "gym", "or follow policies with `aquamend.recovery.recovered`") from None

ID: Final = "aquamend/Recovery-v1"
"""Its name for ``gymnasium.make``, once this module is imported; ``aquamend.adapters.gym:`` before it imports it."""

MOST_SETS, MOST_POSTERIOR = 64, 1_000
"""Correction sets that are actions each, and hypotheses that are observed, unless asked for."""
BEST_ENDING: Final = "end in the best way"

Observation = Mapping[str, NDArray[Any]]
Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Encoding:
    """What an agent sees of a state, and what its actions mean; by the names of one problem."""

    problem: Problem
    each_correction: bool
    """Whether every set of beliefs to correct is an action; otherwise there is one for the best ending."""
    with_posterior: bool

    @classmethod
    def of(cls, problem: Problem, *, corrections: str = "auto", posterior: bool | None = None) -> Encoding:
        """Return the encoding of a problem; ``corrections`` is ``all``, ``best``, or ``all`` where they are few."""
        if corrections not in ("auto", "all", "best"):
            raise BadArgument(f"corrections is {corrections!r}; say 'all', 'best' or 'auto'")
        sets = 2 ** len(problem.graph.beliefs)
        if corrections == "all" and sets > MOST_SETS**2:
            raise BadArgument(f"{sets:,} sets of beliefs are too many actions; say corrections='best'")
        each = corrections == "all" or (corrections == "auto" and sets <= MOST_SETS)
        few = len(problem.model.names) <= MOST_POSTERIOR
        return cls(problem, each, few if posterior is None else posterior)

    @cached_property
    def endings(self) -> tuple[Decision | None, ...]:
        """The endings among the actions, by their beliefs and plans alone; None is the best of all."""
        if not self.each_correction:
            return (None,)
        problem, names = self.problem, [belief.name for belief in self.problem.graph.beliefs]
        sets = [RollBack(chosen) for n in range(1, len(names) + 1) for chosen in combinations(names, n)]
        plans = [RollBack(plan.correct, plan.undo, plan=plan.name) for plan in problem.plans]
        restart: list[Decision] = [] if problem.restart is None else [Restart()]
        return (Continue(), *sets, *plans, *restart, Escalate())

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """What every action means, in words."""
        return (*(f"run {probe}" for probe in self.problem.graph.probe_index), *map(_words, self.endings))

    @property
    def action_space(self) -> spaces.Discrete[Any]:
        """The probes in file order, then the endings."""
        return spaces.Discrete(len(self.actions))

    @property
    def observation_space(self) -> spaces.Dict:
        """The public evidence: shares and probabilities, all from 0 to 1."""
        graph = self.problem.graph
        sizes = {"beliefs": len(graph.beliefs), "uses_left": len(graph.probes), "budget_left": 1, "contradiction": 1}
        if self.with_posterior:
            sizes["posterior"] = len(self.problem.model.names)
        return spaces.Dict({name: spaces.Box(0.0, 1.0, (size,), np.float32) for name, size in sizes.items()})

    def observation(self, state: InformationState) -> dict[str, Singles]:
        """Return what is seen of a state: how probably each belief has failed, and what may still be measured."""
        views = [state.probe(name) for name in self.problem.graph.probe_index]
        budget = state.problem.sensing_budget
        left = 1.0 if math.isinf(budget) or budget == 0 else min(1.0, max(0.0, state.budget_left / budget))
        uses = [1.0 if math.isinf(v.spec.max_uses) else max(0.0, v.uses_left / v.spec.max_uses) for v in views]
        seen = {
            "beliefs": np.clip(state.failure_probabilities, 0.0, 1.0),
            "uses_left": uses,
            "budget_left": [left],
            "contradiction": [float(state.contradiction is not None)],
        }
        if self.with_posterior:
            seen["posterior"] = np.clip(state.posterior, 0.0, 1.0)
        return {name: np.asarray(value, np.float32) for name, value in seen.items()}

    def mask(self, state: InformationState) -> NDArray[np.int8]:
        """Return which actions are allowed, shape ``(n_actions,)``: legal probes and admissible endings."""
        legal = [not state.why_illegal(name) for name in self.problem.graph.probe_index]
        finite = [math.isfinite(self._priced(state, ending)[1]) for ending in self.endings]
        if not any(legal) and not any(finite):
            finite[-1] = True  # whatever it costs: to hand over, or what is best even so
        return np.array([*legal, *finite], np.int8)

    def step(self, state: InformationState, action: int) -> Step:
        """Return the step that an action stands for at a state."""
        probes = self.problem.graph.probes
        if not 0 <= action < len(self.actions):
            raise BadArgument(f"{action!r} is none of the {len(self.actions)} actions")
        if action < len(probes):
            return Reprobe(probes[action].name)
        return self._priced(state, self.endings[action - len(probes)])[0]

    def action_of(self, state: InformationState, step: Step) -> int:
        """Return the action that stands for a step at a state; ``BadArgument`` if none does."""
        graph = self.problem.graph
        if isinstance(step, Reprobe):
            return graph.probe_index[step.probe]
        wanted = completed(state, step) if isinstance(step, RollBack) and step.plan is None else step
        for place, ending in enumerate(self.endings):
            meant, loss = self._priced(state, ending)
            alike = ending is None and abs(price(state, step).loss - loss) <= TIE
            if _same(meant, wanted) or alike:
                return len(graph.probes) + place
        raise BadArgument(f"no action stands for {step}; say corrections='all', or choose among: {self.actions}")

    def _priced(self, state: InformationState, ending: Decision | None) -> tuple[Decision, float]:
        """Return an ending with what it undoes and declares at a state, and its expected loss."""
        if ending is None:
            stop = best_terminal(state)
        elif isinstance(ending, RollBack) and ending.plan is None:
            stop = correction(state, ending.correct)
        else:
            stop = price(state, ending)
        return stop.decision, stop.loss


def world_named(name: str) -> Callable[[np.random.Generator], Simulated]:
    """Return what makes a world: under a name that an installed package has added, or ``module:make``."""
    place = name if ":" in name else added(WORLDS).get(name)
    known = (*added(WORLDS), "module:make")
    if place is None:
        raise UnknownName("world", name, known)
    try:
        make: Callable[[np.random.Generator], Simulated] = found_at(place)
    except Exception as error:  # noqa: BLE001 - somebody's module may raise anything when it is imported
        raise UnknownName("world", f"{name} ({type(error).__name__}: {error})", known) from None
    return make


class RecoveryEnv(gymnasium.Env[dict[str, Singles], int]):
    """One recovery as an episode: of a problem, whose truth is drawn by its model, or of a simulated world.

    ``world`` makes a new world for every episode, from a random generator; all have the names of the first. It may be
    given by a name that an installed package has added, or as ``module:make``. Actions that are not allowed
    (``info["action_mask"]``) hand over to a person. What is infinitely costly counts as ``worst``.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium has it so

    def __init__(
        self,
        problem: str | Path | Problem | None = None,
        *,
        world: Callable[[np.random.Generator], Simulated] | str | None = None,
        corrections: str = "auto",
        posterior: bool | None = None,
        rung: str | Sequence[str] | None = None,
        silent: str | Sequence[str] = (),
        worst: float | None = None,
        most_steps: int = 1_000,
        render_mode: str | None = None,
    ) -> None:
        """``rung`` and ``silent`` are monitors of a problem with several."""
        if (problem is None) == (world is None):
            raise BadArgument("give a problem (a file or a Problem) or a world, one of the two")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise BadArgument(f"render_mode is {render_mode!r}; this environment knows {self.metadata['render_modes']}")
        make = world_named(world) if isinstance(world, str) else world
        self.render_mode, self._make, self._start = render_mode, make, None
        if world is None:
            posed = problem if isinstance(problem, Problem) else load_problem(str(problem))
            self._start = InformationState.alarmed(posed, rung, silent=silent)
        start = self._start or self._world(np.random.default_rng(0)).alarm()
        self.encoding = Encoding.of(start.problem, corrections=corrections, posterior=posterior)
        self.action_space = self.encoding.action_space
        self.observation_space = cast("spaces.Space[dict[str, Singles]]", self.encoding.observation_space)
        if worst is not None and not 0.0 <= worst < math.inf:
            raise BadArgument(f"worst is {worst!r}; give a finite loss of at least 0")
        self.worst = _worst(start.problem) if worst is None else worst
        self._rules = replace(UNATTENDED, decisions=most_steps)
        self._session: Session | None = None

    @property
    def state(self) -> InformationState:
        """What is known now; policies see nothing else."""
        return self._going.recovery.state

    @property
    def _going(self) -> Session:
        if self._session is None:
            raise gymnasium.error.ResetNeeded("call reset() before anything else")
        return self._session

    def _world(self, rng: np.random.Generator, truth: str | None = None) -> Simulated:
        if self._make is not None or self._start is None:
            if truth is not None or self._make is None:
                raise BadArgument("a world knows its truth itself; options may name one for a problem only")
            return self._make(rng)
        model = self._start.problem.model
        drawn = int(rng.choice(len(model.names), p=self._start.posterior))
        if truth is not None and truth not in model.hypothesis_index:
            raise UnknownName("hypothesis", str(truth), model.hypothesis_index)
        true = drawn if truth is None else model.hypothesis_index[truth]
        return ModelWorld(self._start, true, (int(rng.integers(2**31)),))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Singles], dict[str, Any]]:
        """Begin an episode; ``options={"truth": name}`` says which hypothesis is true, in place of drawing one."""
        super().reset(seed=seed)
        if unknown := sorted(set(options or {}) - {"truth"}):
            raise UnknownName("option", str(unknown[0]), ["truth"])
        self._simulated = self._world(self.np_random, (options or {}).get("truth"))
        start = self._simulated.alarm()
        if len(start.problem.model.names) != len(self.encoding.problem.model.names) and self.encoding.with_posterior:
            raise BadArgument("the worlds have different numbers of hypotheses; say posterior=False")
        self._session = Session.begin(start, _SomebodyElse(), rules=self._rules, decide_apart=True)
        self._paid, self._last = 0.0, ""
        return self.encoding.observation(self.state), self._info()

    def step(self, action: int) -> tuple[dict[str, Singles], float, bool, bool, dict[str, Any]]:
        """Take a step: run a probe, or end in one of the ways."""
        session, state = self._going, self.state
        if not isinstance(session.request, Decide):
            raise gymnasium.error.ResetNeeded("the episode has ended; call reset()")
        if action not in self.action_space:
            raise BadArgument(f"{action!r} is none of the {len(self.encoding.actions)} actions")
        action = int(action)
        allowed = bool(self.encoding.mask(state)[action])
        step = self.encoding.step(state, action) if allowed else Escalate()
        session.reply(Decided(step))
        self._carry_out(session)
        over = isinstance(session.request, End)
        verdict = self._simulated.judge(session.recovery) if over else None
        loss = charged((*session.recovery.receipts, *(verdict.residual if verdict else ())))
        paid, self._paid = self._paid, loss if math.isfinite(loss) else max(self._paid, self.worst)
        self._last = self.encoding.actions[action] + ("" if allowed else ", which is not allowed: handed over")
        info = self._info(verdict)
        return self.encoding.observation(self.state), paid - self._paid, over, False, info

    def _carry_out(self, session: Session) -> None:
        """Have the world do all that a step asks for."""
        while not isinstance(request := session.request, Decide | End):
            match request:
                case RunProbe(act=act):
                    session.reply(self._simulated.measure(act))
                case Perform(act=act):
                    session.reply(self._simulated.perform(act))
                case _:
                    raise BadStep(f"a simulated world was asked to {request.kind}; do what is asked at once in it")

    def _info(self, verdict: Verdict | None = None) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": self.action_masks()}
        if verdict is not None:
            ending = self._going.recovery.ending
            info |= {"loss": self._paid, "success": verdict.success, "ending": str(ending)}
        return info

    def action_masks(self) -> NDArray[np.int8]:
        """Return which actions are allowed now."""
        return self.encoding.mask(self.state)

    def render(self) -> str | None:
        """Return the last step and what is believed now, as text."""
        return f"{self._last or 'alarm'}: {self.state!r}" if self.render_mode == "ansi" else None

    def optimum(self, *, deadline_s: float | None = None) -> Bounds:
        """Return bounds on the expected loss of the best policy there can be, by the model: the line to compare with.

        They are equal where the problem can be solved exactly; see the policy ``exact``.
        """
        start = self._start or self._going.recovery.start
        return Exact(deadline_s=deadline_s).bounds(start)


@dataclass(frozen=True, eq=False)
class Agent:
    """A policy of ours as an agent in an environment: it returns the action for where the environment stands."""

    env: gymnasium.Env[Any, Any]
    policy: Policy

    @classmethod
    def named(cls, env: gymnasium.Env[Any, Any], name: str) -> Agent:
        """Return the agent of a policy's name."""
        return cls(env, policy_named(name))

    def __call__(self, observation: Observation | None = None, mask: NDArray[Any] | None = None) -> int:
        """Return what the policy does now."""
        env = self.env.unwrapped
        if not isinstance(env, RecoveryEnv):
            raise BadArgument(f"{env} is no RecoveryEnv")
        return env.encoding.action_of(env.state, self.policy.next_step(env.state))


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """What was trained, as a policy of ours: for `decide`, sessions, benchmarks and robots."""

    encoding: Encoding
    act: Callable[[Observation, NDArray[np.int8]], int]
    """Returns the action for an observation and the mask of what is allowed."""

    def next_step(self, state: InformationState) -> Step:
        """Return the step that its action stands for."""
        mask = self.encoding.mask(state)
        action = int(self.act(self.encoding.observation(state), mask))
        if not 0 <= action < len(mask) or not mask[action]:
            raise BadStep(f"what was trained chose action {action}, which is not allowed here; use the mask")
        return self.encoding.step(state, action)


def losses(
    env: gymnasium.Env[Any, Any], act: Callable[[Observation, NDArray[np.int8]], int], *, episodes: int, seed: int = 0
) -> NDArray[np.float64]:
    """Return the realised losses of an agent, shape ``(episodes,)``; a seed draws the same truths and answers again."""
    found = np.zeros(episodes)
    for episode in range(episodes):
        observation, info = env.reset(seed=seed + episode)
        over = False
        while not over:
            observation, reward, ended, cut, info = env.step(act(observation, info["action_mask"]))
            found[episode] -= float(reward)
            over = ended or cut
    return found


class _SomebodyElse:
    """Stands for the agent, which decides outside."""

    def next_step(self, state: InformationState) -> Step:
        raise BadStep("the agent decides")


def _words(ending: Decision | None) -> str:
    match ending:
        case None:
            return BEST_ENDING
        case RollBack(correct, plan=None):
            return f"correct {', '.join(correct)}"
        case RollBack(plan=plan):
            return f"follow {plan}"
        case _:
            return ending.kind


def _same(one: Decision, other: Step) -> bool:
    if isinstance(one, RollBack) and isinstance(other, RollBack) and one.plan is not None:
        return one.plan == other.plan
    if isinstance(one, RollBack) and isinstance(other, RollBack):
        return (set(one.correct), set(one.undo), one.declare) == (set(other.correct), set(other.undo), other.declare)
    empty = isinstance(one, Continue) and isinstance(other, RollBack) and not other.correct and not other.undo
    return one == other or empty


def _worst(problem: Problem) -> float:
    """Return what is infinitely costly counts as: everything that may go wrong, at once."""
    graph = problem.graph
    costs = [
        *(belief.residual for belief in graph.beliefs),
        *(cost for action in graph.actions for cost in (action.undo or 0.0, action.redo)),
        *(operation.cost for operation in graph.operations),
        *(probe.cost for probe in graph.probes),
        *(plan.price for plan in problem.plans),
        0.0 if problem.restart_plan is None else problem.restart_plan.price,
        problem.escalate or 0.0,
    ]
    return math.fsum(cost for cost in costs if math.isfinite(cost))


gymnasium.register(ID, entry_point="aquamend.adapters.gym:RecoveryEnv")
