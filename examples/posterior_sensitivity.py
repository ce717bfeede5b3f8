"""Does the decision survive a wrong posterior? The five settings of the paper's sensitivity study."""

from dataclasses import dataclass
from pathlib import Path

from aquamend import AquaMend, InformationState, evaluate, load_problem
from aquamend.decision.steps import Step
from aquamend_lab.pouring.model.alarm_problem import PosteriorSetting, distorted


@dataclass(frozen=True)
class Misled:
    """AquaMend, deciding from a posterior that was distorted once, at the alarm."""

    setting: PosteriorSetting

    def view(self, state: InformationState) -> InformationState:
        seen = distorted(InformationState.alarmed(state.problem), self.setting)
        for observation in state.evidence:
            seen = seen.after(observation)
        return seen

    def next_step(self, state: InformationState) -> Step:
        return AquaMend().next_step(self.view(state))


here = Path(__file__).parent
pouring = InformationState.alarmed(load_problem(here / "pouring.yaml"))
stale_map = InformationState.alarmed(load_problem(here / "stale_map.yaml"))
target = pouring.problem.graph.belief_index["target"]

print("              pouring.yaml                             stale_map.yaml, followed to the end")
print("setting       q(target)  first step                    loss by the true posterior")
for setting in PosteriorSetting:
    misled = Misled(setting)
    q = misled.view(pouring).failure_probabilities[target]
    loss = evaluate(misled, stale_map).expected_loss
    print(f"{setting:12}  {q:9.3f}  {misled.next_step(pouring)!s:28}  {loss:8.2f} s")
