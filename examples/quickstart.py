"""AquaMend in ten lines: a graph, a model, an alarm, an answer, two steps."""

import aquamend as am

# What the robot believed, did because of it, and can measure again. Costs in seconds.
graph = am.RecoveryGraph(
    beliefs=[am.Belief("A is least full", residual=80)],
    actions=[am.Action("pour into A", undo=38.5, executed=True)],
    probes=[am.Probe("weigh A", cost=0.4)],
    edges=[("weigh A", "A is least full", "detection"), ("A is least full", "pour into A", "belief_to_action")],
)
# What may be the case, and what the scale (mean and deviation, in grams) and the monitor would then say.
model = am.JointModel(
    hypotheses=[am.Hypothesis("nothing", 0.9), am.Hypothesis("A was filled", 0.1, ["A is least full"])],
    kernels={"weigh A": am.Gaussian({"nothing": [26, 1.5], "A was filled": [51, 1.5]})},
    alarm=am.Alarm({"nothing": 0.1, "A was filled": 0.9}),
)
state = am.InformationState.alarmed(am.Problem(graph, model))
print("before:", am.AquaMend().next_step(state))

state = state.after(am.Observation("weigh A", 50.2))
print("after: ", am.AquaMend().next_step(state))
