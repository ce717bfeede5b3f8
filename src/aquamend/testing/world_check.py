"""A conformance check for worlds, other people's above all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.errors import AquaMendError
from aquamend.execution import World, recover
from aquamend.inference import InformationState
from aquamend.policies import AquaMend, Greedy, NoReprobe, Policy, RollbackOnly
from aquamend.problem import Problem
from aquamend.testing.watched_world import Known, WatchedWorld, WorldFault

MOST_USES = 2
"""How often each probe is run when all of them are: enough to tell one use from the next."""

NOBODYS_PROBE = "a probe that nobody has"


@dataclass(frozen=True, slots=True)
class WorldCheck:
    """What a check saw."""

    episodes: int
    """Recoveries followed, each in a new world."""
    probes: int
    """Probes run in all of them."""


@dataclass(frozen=True, slots=True)
class Ends:
    """End the recovery at once."""

    decision: Decision

    def next_step(self, state: InformationState) -> Step:
        """Return the decision."""
        return self.decision


@dataclass(frozen=True, slots=True)
class EveryProbe:
    """Run every legal probe, in graph order or backwards, up to twice each; then end the recovery."""

    ending: Decision
    backwards: bool = False

    def next_step(self, state: InformationState) -> Step:
        """Return the first legal probe that has not run twice, then the ending."""
        waiting = [name for name in state.legal_probes if state.uses.get(name, 0) < MOST_USES]
        if not waiting:
            return self.ending
        return Reprobe(waiting[-1] if self.backwards else waiting[0])


def check_world(make_world: Callable[[], World], policies: Sequence[Policy] | None = None) -> WorldCheck:
    """Follow policies through new worlds of one episode, and raise ``WorldFault`` at the first broken promise.

    ``make_world`` returns a new world of the same episode each time. Checked: the alarm is the same public evidence
    each time, conditioned on once, and nobody changes it later; an answer is to the probe asked, one the model knows,
    and the same for the same use whatever was asked before; every probe has one receipt of its cost; receipts are
    costs, and no operation is paid twice; what was undone had been executed, and holds the minimal upper closure of
    what was rolled back; success means that nothing is left wrong and nobody was called; the loss is finite unless
    the decision was infeasible; an unknown probe is an ``AquaMendError``.

    Without policies of your own, four shipped ones are followed; two that run every probe, the plans that the problem
    prices itself, and a restart where it has one, always are.
    """
    known = Known()
    problem = _check_unknown_probe(WatchedWorld(make_world(), known))
    shipped = (AquaMend(), NoReprobe(), Greedy(), RollbackOnly())
    plans = [Ends(RollBack(plan.correct, plan.undo, plan=plan.name)) for plan in problem.plans]
    plans += [Ends(Restart())] if problem.restart_plan is not None else []
    everything = (EveryProbe(Continue()), EveryProbe(Escalate(), backwards=True))
    followed: list[Policy] = [*(shipped if policies is None else policies), *plans, *everything]
    probes = sum(len(recover(policy, WatchedWorld(make_world(), known)).evidence) for policy in followed)
    return WorldCheck(len(followed), probes)


def _check_unknown_probe(watched: WatchedWorld) -> Problem:
    """Return the problem of the world's alarm, after asking it for a probe that it cannot have."""
    problem = watched.alarm().problem
    try:
        answer = watched.world.measure(Reprobe(NOBODYS_PROBE))
    except AquaMendError:
        return problem
    except Exception as error:
        raise WorldFault(f"the world raises {error!r} at an unknown probe; raise an AquaMendError") from error
    raise WorldFault(f"the world answers {answer!r} to {NOBODYS_PROBE!r}; raise an AquaMendError")
