"""Take given steps in a simulated world, whatever it answers, and have the recovery judged."""

from aquamend.belief import InformationState
from aquamend.decision import Step
from aquamend.recovery import Judged, Measure, Simulated, recovered


class Taking:
    """A policy that takes these steps, and the last one for ever."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)

    def next_step(self, state: InformationState) -> Step:
        return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


def judged(world: Simulated, *steps: Step) -> Judged:
    return recovered(Taking(*steps), world)


def answer(world: Simulated, probe: str) -> object:
    """Return what a probe answers."""
    return world.measure(Measure(probe)).finding
