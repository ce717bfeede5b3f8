"""The pouring task as far as it has come: which cups, which actions are done, what everything costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from aquamend.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.worlds.cups.scene import CUPS


class Stage(StrEnum):
    """How far the robot had come when the alarm was raised."""

    DECIDED = "T0"
    """Measured and decided."""
    MOVED = "T1"
    """Pitcher grasped and moved over the target."""
    POURED = "late T1"
    """Poured."""


ARM = ("decide", "grasp", "move", "pour", "place")
"""What follows the measuring, in order."""

PREFIX = {
    Stage.DECIDED: ("decide",),
    Stage.MOVED: ("decide", "grasp", "move"),
    Stage.POURED: ("decide", "grasp", "move", "pour"),
}


@dataclass(frozen=True, slots=True)
class Costs:
    """What sensing, undoing and leaving things wrong costs; the paper's tables imply about 1.2, 2.7 and 40."""

    look: float = 1.0
    weigh: float = 1.5
    localise: float = 1.0
    check_camera: float = 1.2
    measured: float = 2.0
    """Taking one amount anew, by whatever still serves."""
    decide: float = 1.0
    grasp: float = 3.0
    move: float = 2.5
    pour: float = 6.0
    place: float = 3.0
    amount_residual: float = 15.0
    rank_residual: float = 5.0
    place_residual: float = 10.0
    target_residual: float = 25.0
    camera_residual: float = 15.0
    escalate: float = 30.0


@dataclass(frozen=True, slots=True)
class CupTask:
    """A table of cups, measured and ranked, with the pour into the least full one under way."""

    declared_ml: tuple[float, ...]
    """Least first: cup A is the target."""
    stage: Stage = Stage.MOVED
    pour_reversible: bool = True
    linear_chain: bool = False
    """Whether the graph knows only the order of the actions, not their causes."""
    shared_work: float = 0.0
    """What clearing the table and what parking the pitcher costs, where undoing anything there takes it; once each."""
    sensing_budget: float = float("inf")
    costs: Costs = field(default_factory=Costs)

    @property
    def n_cups(self) -> int:
        """Number of cups."""
        return len(self.declared_ml)

    @property
    def arm_actions_done(self) -> tuple[str, ...]:
        """What the arm has done so far, deciding included; measuring is not its work."""
        return PREFIX[self.stage]

    def graph(self) -> RecoveryGraph:
        """Return which probe supports which belief, and which action rests on it."""
        c, cups = self.costs, CUPS[: self.n_cups]
        rivals = cups[1:]
        beliefs = [
            *(Belief(f"amount_{x}", c.amount_residual) for x in cups),
            *(Belief(f"rank_{x}", c.rank_residual) for x in rivals),
            *(Belief(f"place_{x}", c.place_residual) for x in cups),
            Belief("target", c.target_residual),
            Belief("camera", c.camera_residual),
        ]
        probes = [
            *(Probe(f"look_{x}", c.look, modality="vision") for x in cups),
            *(Probe(f"weigh_{x}", c.weigh, modality="scale") for x in cups),
            Probe("localise", c.localise, modality="vision"),
            Probe("check_camera", c.check_camera, modality="test pattern"),
        ]
        edges = [
            *((f"look_{x}", f"amount_{x}", "detection") for x in cups),
            *((f"weigh_{x}", f"amount_{x}", "detection") for x in cups),
            *(
                (f"{probe}_{x}", f"rank_{r}", "aggregation")
                for r in rivals
                for x in ("A", r)
                for probe in ("look", "weigh")
            ),
            *(("localise", f"place_{x}", "aggregation") for x in cups),
            ("check_camera", "camera", "detection"),
            *((f"amount_{x}", f"measure_{x}", "belief_to_action") for x in cups),
            *(("camera", f"measure_{x}", "belief_to_action") for x in cups),
            *((f"rank_{r}", "target", "inference") for r in rivals),
            ("place_A", "target", "inference"),
            ("target", "decide", "belief_to_action"),
            ("place_A", "move", "belief_to_action"),
            ("decide", "grasp", "action_causal"),
            ("grasp", "move", "action_causal"),
            ("move", "pour", "action_causal"),
            ("pour", "place", "temporal"),
        ]
        graph = RecoveryGraph(beliefs, self._actions(), probes, edges, self._operations())
        return graph.linear_chain() if self.linear_chain else graph

    def _actions(self) -> list[Action]:
        done = PREFIX[self.stage]
        names = [*(f"measure_{x}" for x in CUPS[: self.n_cups]), *ARM]
        return [
            Action(
                name,
                undo=None if self.shared_work else self._undo_cost(name),
                operations=self._operations_of(name),
                executed=name.startswith("measure") or name in done,
                reversible=name != "pour" or self.pour_reversible,
            )
            for name in names
        ]

    def _undo_cost(self, action: str) -> float:
        return float(getattr(self.costs, "measured" if action.startswith("measure") else action))

    def _operations_of(self, action: str) -> tuple[str, ...]:
        if not self.shared_work:
            return ()
        return ("clear the table" if action.startswith("measure") else "park the pitcher", f"own part of {action}")

    def _operations(self) -> list[Operation]:
        if not self.shared_work:
            return []
        shared = [Operation(name, self.shared_work) for name in ("clear the table", "park the pitcher")]
        names = [*(f"measure_{x}" for x in CUPS[: self.n_cups]), *ARM]
        return shared + [Operation(f"own part of {name}", self._undo_cost(name)) for name in names]
