"""The recovery graph of a pouring episode, built from what was really executed."""

from __future__ import annotations

from dataclasses import dataclass

from aquamend.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.fitted import Fitted
from aquamend.worlds.pouring.looking import PROBE_S

BINDING_LOSS, QUANTITY_LOSS, TARGET_LOSS, CAMERA_LOSS = 20.0, 10.0, 80.0, 40.0
"""Residual losses of the paper, in simulated seconds' worth."""
MOST_USES = 2
"""A third reading would share most of its error with the first two, which the model takes for independent."""

EXECUTED = {
    Stage.DECIDED: (),
    Stage.MOVED: ("fetch", "move"),
    Stage.POURED: ("fetch", "move", "pour"),
}
ARM = ("fetch", "move", "pour", "place")


@dataclass(frozen=True, slots=True)
class UndoCosts:
    """Simulated seconds that undoing each action takes, doing it again included."""

    measure_s: float
    locate_s: float
    decide_s: float
    fetch_s: float
    move_s: float
    pour_s: float

    @classmethod
    def fitted(cls, fitted: Fitted) -> UndoCosts:
        """Return what calibration says."""
        seconds = fitted.seconds
        return cls(
            measure_s=PROBE_S,
            locate_s=PROBE_S,
            decide_s=(1 + len(dim.CUPS)) * PROBE_S,  # to decide anew is to find and weigh every cup
            fetch_s=seconds("put back") + seconds("fetch"),
            move_s=seconds("move"),
            pour_s=seconds("pour back") + seconds("fetch") + seconds("pour"),
        )


def recovery_graph(declared: Declared, stage: Stage, fitted: Fitted, *, linear_chain: bool = False) -> RecoveryGraph:
    """Return which probe supports which belief and which executed action rests on it.

    Fine-causal: fetching the pitcher rests on no belief about the cups, moving and pouring on which cup is the target
    and where that one stands. As a linear chain, everything rests on all that came before.
    """
    cups, target = dim.CUPS, declared.target
    rivals = declared.order[1:]
    beliefs = [
        *(Belief(f"quantity_{x}", QUANTITY_LOSS) for x in cups),
        *(Belief(f"rank_{x}", 0.0) for x in rivals),
        *(Belief(f"binding_{x}", BINDING_LOSS) for x in cups),
        Belief("target", TARGET_LOSS),
        Belief("camera", CAMERA_LOSS),
    ]
    probes = [
        *(Probe(f"look_{x}", PROBE_S, max_uses=MOST_USES, modality="vision") for x in cups),
        *(Probe(f"weigh_{x}", PROBE_S, max_uses=MOST_USES, modality="scale") for x in cups),
        Probe("localise", PROBE_S, max_uses=MOST_USES, modality="vision"),
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
        *((f"quantity_{x}", f"measure_{x}", "belief_to_action") for x in cups),
        *(("camera", f"measure_{x}", "belief_to_action") for x in cups),
        *((f"binding_{x}", "locate", "belief_to_action") for x in cups),
        *((f"rank_{r}", "target", "inference") for r in rivals),
        ("target", "decide", "belief_to_action"),
        ("decide", "move", "action_causal"),
        (f"binding_{target}", "move", "belief_to_action"),
        ("fetch", "move", "action_causal"),
        ("move", "pour", "action_causal"),
        ("pour", "place", "temporal"),
    ]
    graph = RecoveryGraph(beliefs, _actions(stage, UndoCosts.fitted(fitted)), probes, edges)
    return graph.linear_chain() if linear_chain else graph


def _actions(stage: Stage, cost: UndoCosts) -> list[Action]:
    done = EXECUTED[stage]
    undo = {"fetch": cost.fetch_s, "move": cost.move_s, "pour": cost.pour_s, "place": 0.0}
    return [
        *(Action(f"measure_{x}", undo=cost.measure_s, executed=True) for x in dim.CUPS),
        Action("locate", undo=cost.locate_s, executed=True),
        Action("decide", undo=cost.decide_s, executed=True),
        *(Action(name, undo=undo[name], executed=name in done) for name in ARM),
    ]
