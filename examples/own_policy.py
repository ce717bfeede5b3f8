"""A policy of your own: one method, checked for conformance and compared exactly with the built-in ones."""

from dataclasses import dataclass
from pathlib import Path

from aquamend import AquaMend, Exact, InformationState, Reprobe, best_terminal, evaluate, load_problem
from aquamend.decision.steps import Step
from aquamend.testing import check_policy


@dataclass(frozen=True)
class SureEnough:
    """Measure with the cheapest probe until one explanation is probable enough; then end as well as possible."""

    confidence: float = 0.9

    def next_step(self, state: InformationState) -> Step:
        probes = [p for p in state.problem.graph.probes if p.name in state.legal_probes]
        if state.posterior.max() >= self.confidence or not probes:
            return best_terminal(state).decision
        return Reprobe(min(probes, key=lambda probe: probe.cost).name)


here = Path(__file__).parent
files = ["kitting_swapped_tote.yaml", "stale_map.yaml", "pipettor.yaml"]
problems = [load_problem(here / name) for name in files]

seen = check_policy(SureEnough(), problems)
print(f"conforms: {seen.states} states in {seen.problems} problems, every step legal and repeatable")
print(f"{'expected loss in s':28} {'sure enough':>12} {'aquamend':>12} {'exact':>12}")
for name, problem in zip(files, problems, strict=True):
    state = InformationState.alarmed(problem)
    losses = [evaluate(policy, state).expected_loss for policy in (SureEnough(), AquaMend(), Exact())]
    print(f"{name:28}", *(f"{loss:12.2f}" for loss in losses))
