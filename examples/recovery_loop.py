"""The recovery loop on a simulated robot: only the judge knows the truth, the policy sees what is measured."""

from pathlib import Path

import numpy as np

from aquamend import AquaMend, InformationState, evaluate, load_problem
from aquamend.recovery import recovered
from aquamend.testing.model_world import ModelWorld

pouring = load_problem(Path(__file__).with_name("pouring.yaml"))
for truth in ("passer_by", "A_B_swapped", "glare_on_A"):
    world = ModelWorld(InformationState.alarmed(pouring), pouring.model.hypothesis_index[truth], seed=(7,))
    found = recovered(AquaMend(), world)  # alarm, measure, …, undo, declare, redo, finish; then the verdict
    print(f"{truth}: {', '.join(map(str, found.recovery.evidence))}\n  {found.recovery.decision}")
    print("  " + ", ".join(f"{r.charge} {r.what} {r.cost:.1f} s" for r in found.receipts if r.cost > 0))

stale_map = load_problem(Path(__file__).with_name("stale_map.yaml"))
start = InformationState.alarmed(stale_map)
truths = np.random.default_rng(1).choice(len(start.posterior), p=start.posterior, size=2_000)
mean = np.mean([recovered(AquaMend(), ModelWorld(start, h, seed=(i,))).loss for i, h in enumerate(truths)])
print(f"2000 simulated recoveries: mean loss {mean:.1f} s; exact: {evaluate(AquaMend(), start).expected_loss:.1f} s")
