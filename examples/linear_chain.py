"""What knowing the causes is worth: the fine graph against one that undoes everything done since."""

from dataclasses import replace
from pathlib import Path

from aquamend import AquaMend, InformationState, evaluate, load_problem

here = Path(__file__).parent
kit = load_problem(here / "kitting_swapped_tote.yaml")
chain = replace(kit, graph=kit.graph.linear_chain())

print("to correct ...        undo, by causes                      undo, as a chain")
for belief in kit.graph.beliefs:
    fine, coarse = kit.graph.closure([belief.name]), chain.graph.closure([belief.name])
    print(f"{belief.name:16} {kit.graph.rollback_cost(fine):4.0f} s {', '.join(fine):38}", end="")
    print(f"{chain.graph.rollback_cost(coarse):4.0f} s {', '.join(coarse)}")

for name in ("kitting_swapped_tote.yaml", "assembly.yaml"):
    problem = load_problem(here / name)
    losses = [
        evaluate(AquaMend(), InformationState.alarmed(replace(problem, graph=graph))).expected_loss
        for graph in (problem.graph, problem.graph.linear_chain())
    ]
    print(f"{name}: expected loss {losses[0]:.1f} s by causes, {losses[1]:.1f} s as a chain")
