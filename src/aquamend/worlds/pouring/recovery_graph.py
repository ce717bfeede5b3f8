"""The recovery graph of a pouring episode, built from what was really executed."""

from __future__ import annotations

from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.fitted import Fitted
from aquamend.worlds.pouring.looking import CALIBRATING_S, CAREFUL_S, PROBE_S

RESIDUAL_LOSS = {"quantity": 10.0, "rank": 0.0, "binding": 20.0, "target": 80.0, "camera": 40.0}
"""Residual losses of the paper, by kind of belief, in simulated seconds' worth."""
MOST_USES = 2
"""A third reading would share most of its error with the first two, which the model takes for independent."""

EXECUTED = {
    Stage.DECIDED: (),
    Stage.MOVED: ("fetch", "move"),
    Stage.POURED: ("fetch", "move", "pour"),
}
ARM = ("fetch", "move", "pour", "place")


def residual_loss(belief: str) -> float:
    """Return what leaving a belief wrong costs; a rank by itself costs nothing."""
    return RESIDUAL_LOSS[belief.partition("_")[0]]


def undoing(fitted: Fitted) -> list[Operation]:
    """Return what undoing takes, in simulated seconds, doing it again included; each is paid once."""
    seconds = fitted.seconds
    return [
        *(Operation(f"weigh {x} anew", CAREFUL_S) for x in dim.CUPS),
        Operation("find the cups anew", CAREFUL_S),
        Operation("calibrate the camera", CALIBRATING_S),
        Operation("put the pitcher back", seconds("put back")),
        Operation("fetch it again", seconds("fetch")),
        Operation("move again", seconds("move")),
        # As it was timed, pouring back begins with putting the pitcher back; the cup is weighed after it.
        Operation("pour back", seconds("pour back") - seconds("put back") + CAREFUL_S),
        Operation("pour again", seconds("pour")),
    ]


def recovery_graph(declared: Declared, stage: Stage, fitted: Fitted, *, linear_chain: bool = False) -> RecoveryGraph:
    """Return which probe supports which belief and which executed action rests on it.

    Fine-causal: fetching the pitcher rests on no belief about the cups, moving and pouring on which cup is the target
    and where that one stands. As a linear chain, everything rests on all that came before.
    """
    cups, target = dim.CUPS, declared.target
    rivals = declared.order[1:]
    names = [
        *(f"quantity_{x}" for x in cups),
        *(f"rank_{x}" for x in rivals),
        *(f"binding_{x}" for x in cups),
        *("target", "camera"),
    ]
    beliefs = [Belief(name, residual_loss(name)) for name in names]
    probes = [
        *(Probe(f"look_{x}", PROBE_S, max_uses=MOST_USES, modality="vision") for x in cups),
        *(Probe(f"weigh_{x}", PROBE_S, max_uses=MOST_USES, modality="scale") for x in cups),
        Probe("localise", PROBE_S, max_uses=MOST_USES, modality="vision"),
        Probe("stamp", PROBE_S, max_uses=MOST_USES, modality="clock"),
    ]
    edges = [
        *((f"{probe}_{x}", f"quantity_{x}", "detection") for x in cups for probe in ("look", "weigh")),
        *(
            (f"{probe}_{x}", f"rank_{r}", "aggregation")
            for r in rivals
            for x in (target, r)
            for probe in ("look", "weigh")
        ),
        *(("localise", f"binding_{x}", "aggregation") for x in cups),
        *((f"{probe}_{x}", "camera", "aggregation") for x in cups for probe in ("look", "weigh")),
        ("stamp", "camera", "detection"),
        *((f"quantity_{x}", f"measure_{x}", "belief_to_action") for x in cups),
        ("camera", "trust", "belief_to_action"),
        *(("trust", f"measure_{x}", "action_causal") for x in cups),
        *((f"binding_{x}", "locate", "belief_to_action") for x in cups),
        *((f"rank_{r}", "target", "inference") for r in rivals),
        ("target", "decide", "belief_to_action"),
        ("decide", "move", "action_causal"),
        (f"binding_{target}", "move", "belief_to_action"),
        ("fetch", "move", "action_causal"),
        ("move", "pour", "action_causal"),
        ("pour", "place", "temporal"),
    ]
    graph = RecoveryGraph(beliefs, _actions(stage), probes, edges, undoing(fitted))
    return graph.linear_chain() if linear_chain else graph


def _actions(stage: Stage) -> list[Action]:
    weighing = tuple(f"weigh {x} anew" for x in dim.CUPS)
    undone_by = {
        **{f"measure_{x}": (f"weigh {x} anew",) for x in dim.CUPS},
        "locate": ("find the cups anew",),
        "trust": ("calibrate the camera",),
        "decide": ("find the cups anew", *weighing),
        "fetch": ("put the pitcher back", "fetch it again"),
        "move": ("move again",),
        "pour": ("put the pitcher back", "pour back", "fetch it again", "pour again"),
    }
    done = [name for name in undone_by if name not in ARM or name in EXECUTED[stage]]
    return [
        *(Action(name, operations=operations, executed=name in done) for name, operations in undone_by.items()),
        Action("place", undo=0.0),
    ]
