"""The pouring task: its stages, beliefs, probes and actions, when a declared value is wrong, what a restart declares.

Pour into the least full of several cups. Everything that all who carry the task out have to agree on is here, so a
table of numbers and a simulated robot play the same task; each fills in its own prices. So is what a monitor may say
when it raises an alarm: that is public, the robot hears it, and its model of alarms is about it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from string import ascii_uppercase
from typing import NamedTuple

from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph, Value
from aquamend.problem.model import Declaration
from aquamend.problem.model.spreads import differs

CUPS = ascii_uppercase
"""Cups are called A, B, C …"""

LIFT, MOVE, POUR, PLACE = ACTIONS = ("lift", "move", "pour", "place")
"""What the arm does with the pitcher, in order: lift it, move it beside the target, pour, put it back."""

RESTART, SAFE_STOP = "restart", "safe stop"
"""Ways of ending a recovery beside its corrections: all of it again, and as a last resort nothing more."""

TARGET, CAMERA, SCALES = "target", "camera", "scales"
SOUND, FAULTY = "sound", "faulty"
"""What the beliefs about camera and scales say: nothing is wrong with how they read amounts, or something is."""

QUANTITY_TOLERANCE_G = 3.0
BINDING_TOLERANCE_MM = 30.0


class Stage(StrEnum):
    """How far the robot had come when the alarm was raised."""

    DECIDED = "T0"
    """All cups measured, and the target decided."""
    LIFTED = "early T1"
    """The pitcher is lifted."""
    BESIDE = "late T1"
    """It is beside the target, before the pour."""
    COMMITTING = "T2"
    """The same, about to commit."""
    POURED = "poured"
    """The dose is in the target. Later than any stage of the paper."""

    @property
    def executed(self) -> tuple[str, ...]:
        """The actions carried out by then."""
        return ACTIONS[: {Stage.DECIDED: 0, Stage.LIFTED: 1, Stage.POURED: 3}.get(self, 2)]


class Sense(StrEnum):
    """How something is measured."""

    LOOK = "look"
    """The camera reads how much is in a cup."""
    WEIGH = "weigh"
    """The scale under a place does, for whatever stands there."""
    LOCALISE = "localise"
    """Where every cup stands, by the markers on them."""
    CHECK_CAMERA = "check_camera"
    """The camera's self test."""


MODALITY = {Sense.WEIGH: "scale"}
"""What measures; the camera where not said."""


class Measurement(NamedTuple):
    """A probe of the task."""

    sense: Sense
    cup: str | None = None

    @property
    def name(self) -> str:
        """Its name in the graph."""
        return str(self.sense) if self.cup is None else f"{self.sense}_{self.cup}"


LOCALISE = Measurement(Sense.LOCALISE).name
CHECK_CAMERA = Measurement(Sense.CHECK_CAMERA).name


def look(cup: str) -> str:
    """Return the name of looking at a cup."""
    return Measurement(Sense.LOOK, cup).name


def weigh(cup: str) -> str:
    """Return the name of weighing a cup."""
    return Measurement(Sense.WEIGH, cup).name


def quantity(cup: str) -> str:
    """Return the name of the belief about how much is in a cup."""
    return f"quantity_{cup}"


def binding(cup: str) -> str:
    """Return the name of the belief about where a cup stands."""
    return f"binding_{cup}"


IN_PLACE = "all in place"


def arrangements(cups: Sequence[str]) -> dict[str, tuple[str, str] | None]:
    """Return what localising may tell: every cup in its place, or two of them exchanged."""
    pairs = {f"{one} and {other} exchanged": (one, other) for one, other in combinations(cups, 2)}
    return {IN_PLACE: None, **pairs}


def cups_of(graph: RecoveryGraph) -> tuple[str, ...]:
    """Return the cups that a graph of this task is about."""
    return tuple(cup for cup in CUPS if quantity(cup) in graph.belief_index)


@dataclass(frozen=True, slots=True)
class Prices:
    """What measuring, undoing and doing again costs."""

    look: float = 1.0
    weigh: float = 1.5
    localise: float = 1.0
    check_camera: float = 1.2
    undo: Mapping[str, float] = field(default_factory=lambda: {LIFT: 3.0, MOVE: 2.5, POUR: 6.0, PLACE: 3.0})
    redo: Mapping[str, float] = field(default_factory=dict)
    """By action; nothing where not said."""
    put_down: float = 3.0
    """Putting the pitcher down, to stop safely."""

    def of(self, sense: Sense) -> float:
        """Return what one measurement costs."""
        return float(getattr(self, sense.value))


@dataclass(frozen=True, slots=True)
class Instruments:
    """What there is to weigh with, beside the camera."""

    weighable: tuple[str, ...] | None = None
    """The cups that stand on a scale, as far as is known; None for all of them. Others cannot be weighed."""
    scales_may_be_off: bool = False
    """Whether the scales are a source that can be rejected, as the camera is."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """What leaving each kind of belief wrong costs; the paper's numbers."""

    quantity: float = 10.0
    binding: float = 20.0
    target: float = 80.0
    camera: float = 40.0

    def scaled(self, factor: float) -> Residuals:
        """Return all of them multiplied."""
        return Residuals(*(factor * each for each in (self.quantity, self.binding, self.target, self.camera)))


@dataclass(frozen=True, slots=True)
class CupValues:
    """A value for every belief: what is declared, or what is true; amounts and positions in the order of the cups."""

    quantity_g: tuple[float, ...]
    """How much was in each cup before the robot poured; its own dose is known."""
    position_mm: tuple[float, ...]
    target: str
    camera: str = SOUND
    scales: str = SOUND

    def by_amount(self) -> tuple[str, ...]:
        """Return the cups by what each holds, the least full first; of equal ones the first by name."""
        return tuple(cup for _, cup in sorted(zip(self.quantity_g, CUPS, strict=False)))


def decided(
    cups: Sequence[str],
    quantity_g: Sequence[float],
    position_mm: Sequence[float],
    camera: str = SOUND,
    scales: str = SOUND,
) -> CupValues:
    """Return the statement whose target follows from the amounts: the least full cup, the first of equal ones."""
    least = min(range(len(cups)), key=quantity_g.__getitem__)
    return CupValues(tuple(quantity_g), tuple(position_mm), cups[least], camera, scales)


@dataclass(frozen=True, slots=True)
class PouringTask:
    """The task as far as it has come: which cups, what is declared of them, which actions are done, at which prices."""

    declared: CupValues
    stage: Stage = Stage.BESIDE
    pour_reversible: bool = True
    linear_chain: bool = False
    """Whether the graph knows only the order of things, not their causes."""
    shared_work: float = 0.0
    """What parking the pitcher costs, where undoing anything the arm did takes it; once."""
    instruments: Instruments = field(default_factory=Instruments)
    prices: Prices = field(default_factory=Prices)
    residuals: Residuals = field(default_factory=Residuals)

    @property
    def cups(self) -> tuple[str, ...]:
        """The cups' names."""
        return tuple(CUPS[: len(self.declared.quantity_g)])

    @property
    def weighable(self) -> tuple[str, ...]:
        """The cups that stand on a scale."""
        return self.cups if self.instruments.weighable is None else self.instruments.weighable

    @property
    def measurements(self) -> dict[str, Measurement]:
        """Every probe, by its name."""
        each = [Measurement(sense, cup) for sense in (Sense.LOOK, Sense.WEIGH) for cup in self.cups]
        return {m.name: m for m in [*each, Measurement(Sense.LOCALISE), Measurement(Sense.CHECK_CAMERA)]}

    def values(self, statement: CupValues) -> dict[str, Value]:
        """Return what a statement says of every belief."""
        said: dict[str, Value] = {quantity(x): g for x, g in zip(self.cups, statement.quantity_g, strict=True)}
        said |= {binding(x): mm for x, mm in zip(self.cups, statement.position_mm, strict=True)}
        said |= {TARGET: statement.target, CAMERA: statement.camera}
        return said | ({SCALES: statement.scales} if self.instruments.scales_may_be_off else {})

    def wrong(self, said: Mapping[str, Value], true: CupValues) -> tuple[str, ...]:
        """Return the beliefs whose declared value is not true: the one rule for model, world and judge."""
        facts = self.values(true)
        return tuple(b.name for b in self._beliefs() if differs(said[b.name], facts[b.name], b.tolerance))

    def left_wrong(self, beliefs: Iterable[str]) -> float:
        """Return what leaving these beliefs wrong costs."""
        residual = {b.name: b.residual for b in self._beliefs()}
        return float(sum(residual[name] for name in beliefs))

    def left_by_stopping(self, wrong: Collection[str]) -> tuple[str, ...]:
        """Return what is left uncorrected where nothing is corrected any more and the task is not finished.

        That is what is wrong and, where the camera is, all that rests on its readings: amounts and target have lost
        their support, and nothing has taken its place.
        """
        read = {TARGET, *map(quantity, self.cups)} if CAMERA in wrong else set()
        return tuple(b.name for b in self._beliefs() if b.name in wrong or b.name in read)

    @property
    def restart_cost(self) -> float:
        """What starting over costs: everything undone and done again, and a look at every cup."""
        return self.graph().rollback_cost(self.stage.executed) + len(self.cups) * self.prices.look

    @property
    def safe_stop_cost(self) -> float:
        """What stopping safely costs: the pitcher is put down, if it is in the hand."""
        return self.prices.put_down if self.stage.executed else 0.0

    def declarations(self) -> list[Declaration]:
        """Return what was declared before the alarm, and on which evidence."""
        return [
            *(Declaration(quantity(x), quantity(x), support=[look(x)]) for x in self.cups),
            *(Declaration(binding(x), binding(x), support=[LOCALISE]) for x in self.cups),
            Declaration(TARGET, TARGET, support=[look(x) for x in self.cups]),
            Declaration(CAMERA, CAMERA, support=[CHECK_CAMERA]),
        ]

    def graph(self) -> RecoveryGraph:
        """Return which probe supports which belief, and which action rests on it.

        On the chain graph whatever an action rests on counts as older than the first action, so correcting it undoes
        all that was executed; what no action rests on is corrected without undoing anything, as on the other graph.
        """
        probes = [
            Probe(
                name,
                self.prices.of(m.sense),
                modality=MODALITY.get(m.sense, "vision"),
                max_uses=self._uses(m),
                source=self._source(m.sense),
            )
            for name, m in self.measurements.items()
        ]
        edges: list[tuple[str, str, str]] = []
        if self.instruments.scales_may_be_off:  # where one instrument may be off, each checks the other
            edges += [(weigh(x), CAMERA, "aggregation") for x in self.cups]
        edges += [
            *((m.name, quantity(m.cup), "detection") for m in self.measurements.values() if m.cup),
            *((LOCALISE, binding(x), "detection") for x in self.cups),
            (CHECK_CAMERA, CAMERA, "detection"),
            *((quantity(x), TARGET, "inference") for x in self.cups),
            (TARGET, MOVE, "belief_to_action"),
            (binding(self.declared.target), MOVE, "belief_to_action"),
            (LIFT, MOVE, "action_causal"),
            (MOVE, POUR, "action_causal"),
            (POUR, PLACE, "action_causal"),
        ]
        beliefs = list(self._beliefs())
        if self.linear_chain:
            resting = (*map(quantity, self.cups), TARGET, binding(self.declared.target))
            edges += [(name, LIFT, "belief_to_action") for name in resting]
        parts = [Operation(_own_part(name), self.prices.undo[name]) for name in ACTIONS]
        operations = [Operation(PARK, self.shared_work), *parts] if self.shared_work else []
        graph = RecoveryGraph(beliefs, list(self._actions()), probes, edges, operations)
        return graph.linear_chain() if self.linear_chain else graph

    def _uses(self, measurement: Measurement) -> int:
        """Return how often a measurement is worth taking: a second reading would repeat the error of the first."""
        if measurement.sense is Sense.LOCALISE:
            return 2
        return int(measurement.sense is not Sense.WEIGH or measurement.cup in self.weighable)

    def _source(self, sense: Sense) -> str | None:
        if sense is Sense.WEIGH and self.instruments.scales_may_be_off:
            return SCALES
        return CAMERA if sense is Sense.LOOK else None

    def _beliefs(self) -> Iterator[Belief]:
        kind, said = self.residuals, self.values(self.declared)
        measured = [(quantity, kind.quantity, QUANTITY_TOLERANCE_G), (binding, kind.binding, BINDING_TOLERANCE_MM)]
        for named, residual, tolerance in measured:
            for name in map(named, self.cups):
                yield Belief(name, residual, declared=said[name], tolerance=tolerance, needs_support=True)
        for name, residual in ((TARGET, kind.target), (CAMERA, kind.camera)):
            yield Belief(name, residual, declared=said[name], needs_support=True)
        if self.instruments.scales_may_be_off:  # a source whose failure costs nothing but what is read from it
            yield Belief(SCALES, declared=said[SCALES])

    def _actions(self) -> Iterator[Action]:
        for name in ACTIONS:
            yield Action(
                name,
                undo=None if self.shared_work else self.prices.undo[name],
                operations=(PARK, _own_part(name)) if self.shared_work else (),
                executed=name in self.stage.executed,
                reversible=name != POUR or self.pour_reversible,
                redo=self.prices.redo.get(name, 0.0),
            )


PARK = "park the pitcher"


def _own_part(action: str) -> str:
    return f"own part of {action}"


class Signal(StrEnum):
    """What the monitor watches."""

    POSITION = "position"
    """Where the camera sees a cup."""
    LEVEL = "level"
    """How full it looks."""
    LOAD = "load"
    """What the scale under it carries more or less than when it was measured."""
    SIGHT = "sight"
    """Whether it is seen at all."""
    STAMP = "stamp"
    """How old the camera's frames say they are."""
    ROUTINE = "routine check"
    """Nothing of these: a check that comes due."""


SIGNED = (Signal.LEVEL, Signal.LOAD)
"""Those that can be too high or too low."""
OF_A_CUP = (Signal.POSITION, Signal.LEVEL, Signal.LOAD, Signal.SIGHT)
"""Those that point at a cup."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the monitor says: the signal furthest beyond what it tolerates."""

    signal: Signal
    cup: str = ""
    """The cup that it points at, where it does."""
    excess: float = 0.0
    """Deviation from what is declared, with its sign: millimetres, grams or seconds."""

    @property
    def sign(self) -> str:
        """Whether there is more or less than declared; nothing where there is no such thing."""
        return "" if self.signal not in SIGNED else "+" if self.excess >= 0 else "-"

    def __str__(self) -> str:
        amount = f"{abs(self.excess):.0f}"
        return {
            Signal.POSITION: f"{self.cup} seems to stand {amount} mm off",
            Signal.LEVEL: f"{self.cup} looks {amount} g {'fuller' if self.excess > 0 else 'emptier'} than declared",
            Signal.LOAD: f"the scale under {self.cup} carries {amount} g {'more' if self.excess > 0 else 'less'}",
            Signal.SIGHT: f"{self.cup} is out of sight",
            Signal.STAMP: f"the camera's frames are {abs(self.excess):.1f} s old",
            Signal.ROUTINE: "routine check: nothing conspicuous",
        }[self.signal]


ROUTINE = Report(Signal.ROUTINE)
"""The report of a check that found nothing."""
