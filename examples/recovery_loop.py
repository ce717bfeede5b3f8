"""The recovery loop on a simulated robot: the world knows the truth, the policy sees only what is measured."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aquamend import AquaMend, InformationState, Observation, Problem, Reprobe, evaluate, load_problem
from aquamend.decision.steps import Continue, Decision, Escalate, Restart, RollBack
from aquamend.model.kernels import OutcomeTable


@dataclass
class SimulatedWorld:
    problem: Problem
    truth: int  # position of the true hypothesis
    random: np.random.Generator

    def measure(self, probe: str) -> Observation:
        table = self.problem.model.tables[probe]
        if isinstance(table, OutcomeTable):
            return Observation(probe, str(self.random.choice(table.outcomes, p=table.likelihood[self.truth])))
        return Observation(probe, round(self.random.normal(table.mean[self.truth], table.sd[self.truth]), 1))

    def commit(self, decision: Decision) -> float:
        """End the recovery, and return what that costs."""
        match decision:
            case Restart():
                return self.problem.restart_loss
            case Escalate():
                return self.problem.escalate_loss
            case Continue():
                return self.left_wrong(())
            case RollBack(correct, undo):
                return self.problem.graph.rollback_cost(undo) + self.left_wrong(correct)

    def left_wrong(self, corrected: tuple[str, ...]) -> float:
        left = set(self.problem.model.hypotheses[self.truth].failed) - set(corrected)
        return sum(belief.residual for belief in self.problem.graph.beliefs if belief.name in left)


def recover(world: SimulatedWorld) -> tuple[InformationState, Decision, float]:
    policy, state = AquaMend(), InformationState.alarmed(world.problem)
    while isinstance(step := policy.next_step(state), Reprobe):
        state = state.after(world.measure(step.probe))
    return state, step, state.spent + world.commit(step)


pouring = load_problem(Path(__file__).with_name("pouring.yaml"))
for truth in ("passer_by", "A_B_swapped", "glare_on_A"):
    world = SimulatedWorld(pouring, pouring.model.hypothesis_index[truth], np.random.default_rng(7))
    state, decision, loss = recover(world)
    print(f"{truth}: {', '.join(map(str, state.evidence))}\n  {decision}\n  complete loss {loss:.1f} s")

stale_map = load_problem(Path(__file__).with_name("stale_map.yaml"))
start, random = InformationState.alarmed(stale_map), np.random.default_rng(1)
truths = random.choice(len(start.posterior), p=start.posterior, size=2_000)
mean = np.mean([recover(SimulatedWorld(stale_map, truth, random))[2] for truth in truths])
print(f"2000 simulated recoveries: mean loss {mean:.1f} s; exact: {evaluate(AquaMend(), start).expected_loss:.1f} s")
