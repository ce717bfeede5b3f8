"""How far ahead to plan, and how to know that it is far enough: bounds on what the best policy could lose."""

from pathlib import Path

from aquamend import AquaMend, Exact, InformationState, evaluate, load_problem
from aquamend.policies import CertifyingPolicy, Lookahead

policies: dict[str, CertifyingPolicy] = {
    "aquamend": AquaMend(),
    "lookahead-2": Lookahead(2),
    "lookahead-3": Lookahead(3),
    "lookahead-5": Lookahead(5),
    "exact": Exact(),
}
problem = load_problem(Path(__file__).parent / "deep_evidence.json")
state = InformationState.alarmed(problem)

print(problem.name)
print(f"{'policy':14} {'first step':24} {'expected loss':>13}   the optimum lies in")
for name, policy in policies.items():
    bounds, found = policy.bounds(state), evaluate(policy, state)
    step = str(policy.next_step(state))
    print(f"{name:14} {step:24} {found.expected_loss:11.3f} s   [{bounds.lower:.3f}, {bounds.upper:.3f}]")

optimum = Exact().bounds(state).upper
myopic = AquaMend().bounds(state)
print(f"One probe alone is not worth its cost, five in a row are: planning saves {myopic.upper - optimum:.3f} s.")
print(f"AquaMend's own bounds had left room for it: a gap of {myopic.gap:.3f} s.")
