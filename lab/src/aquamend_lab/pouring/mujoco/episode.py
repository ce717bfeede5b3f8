"""One episode up to its alarm: measure, declare, act as far as the stage goes, be meddled with, hear the monitor.

A tracker beside the task notes what is really declared and done, so the problem of the alarm is of what was executed.
The monitor sees public signals only, through the same sensors as the robot, and more coarsely than a probe does: where
cups seem to stand, how full they look and what the scales carry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace

from aquamend.belief import InformationState
from aquamend.errors import AquaMendError
from aquamend.recovery import Charge, Receipt, Tracker
from aquamend_lab.pouring.model.alarm_problem import AtAlarm, Template
from aquamend_lab.pouring.model.fitted import Fitted, load_fitted
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import (
    Body,
    check_camera,
    localise,
    move,
    nearest_place,
    read_level,
    tick_until_done,
    wait,
)
from aquamend_lab.pouring.mujoco.sensors import SensorFaults, level_g, positions_m, scale_g
from aquamend_lab.pouring.mujoco.simulation import Simulation, TableScene, Watcher
from aquamend_lab.pouring.mujoco.skills import fetch, pour
from aquamend_lab.pouring.mujoco.trouble import Occlusion, Spike, Trouble, happen
from aquamend_lab.pouring.task import (
    CAMERA,
    CHECK_CAMERA,
    IN_PLACE,
    LIFT,
    LOCALISE,
    MOVE,
    POUR,
    ROUTINE,
    TARGET,
    CupValues,
    Report,
    Signal,
    Stage,
    arrangements,
    binding,
    decided,
    quantity,
)
from aquamend_lab.pouring.task import look as looking

TOLERATED = {Signal.POSITION: 25.0, Signal.LEVEL: 5.0, Signal.LOAD: 7.0, Signal.SIGHT: 1.0, Signal.STAMP: 0.5}
"""Millimetres, grams and seconds beyond which the monitor speaks up; out of sight is out of sight."""
LOAD_SD_G = 2.0
"""The scales' raw signal, unfiltered."""
STAMP_SD_S = 0.1
CHECK_S = 0.2
MOST_CHECKS = 8


@dataclass(frozen=True, eq=False, slots=True)
class RobotMonitor:
    """What was there when everything was declared: deviations from it are conspicuous."""

    quantity_g: Mapping[str, float]
    """By cup, what was declared."""
    place: Mapping[str, int]
    load_g: Mapping[int, float]
    """By place, what its scale carried then, right or wrong."""

    @classmethod
    def at_rest(cls, body: Body, quantity_g: Mapping[str, float]) -> RobotMonitor:
        """Return the monitor of what has just been declared."""
        noise, faults = body.noise("monitor"), body.faults
        place = {cup: body.place_of(cup) for cup in dim.CUPS}
        weighed = [at for at in place.values() if body.has_scale(at)]
        load = {at: scale_g(body.simulation, at, rng=noise, faults=faults) for at in weighed}
        return cls(dict(quantity_g), place, load)

    def after_pouring(self, cup: str, grams: float) -> RobotMonitor:
        """Return the monitor that expects what the robot has poured itself."""
        load, at = dict(self.load_g), self.place[cup]
        if at in load:
            load[at] += grams
        return replace(self, quantity_g={**self.quantity_g, cup: self.quantity_g[cup] + grams}, load_g=load)

    def check(self, body: Body, trouble: Trouble | None = None) -> Report:
        """Return the most conspicuous signal at this moment; what passes in a moment disturbs one of them."""
        faults = replace(body.faults, hidden=(trouble.cup,)) if isinstance(trouble, Occlusion) else body.faults
        deviations = self._deviations(body, faults)
        found = [_jumped(r, trouble) if isinstance(trouble, Spike) else r for r in deviations]
        return max(found, key=lambda report: abs(report.excess) / TOLERATED[report.signal])

    def _deviations(self, body: Body, faults: SensorFaults) -> Iterator[Report]:
        noise, simulation = body.noise("monitor"), body.simulation
        seen = positions_m(simulation, faults=faults, rng=noise)
        for cup in dim.CUPS:
            if cup in seen:
                (x, y), (at_x, at_y) = body.believed_m[cup], seen[cup]
                yield Report(Signal.POSITION, cup, 1000 * math.hypot(at_x - x, at_y - y))
            else:
                yield Report(Signal.SIGHT, cup, 1.5)
            level = level_g(simulation, cup, faults=faults, rng=noise)
            if level is not None:
                yield Report(Signal.LEVEL, cup, level - self.quantity_g[cup])
            if self.place[cup] in self.load_g:
                load = scale_g(simulation, self.place[cup], faults=faults, rng=noise, sd_g=LOAD_SD_G)
                yield Report(Signal.LOAD, cup, load - self.load_g[self.place[cup]])
        age_s = 0.0 if faults.frozen is None else simulation.time_s - faults.frozen.time_s
        yield Report(Signal.STAMP, "", age_s + abs(float(noise.normal(0.0, STAMP_SD_S))))


def conspicuous(report: Report) -> bool:
    """Whether a report is worth an alarm."""
    return abs(report.excess) > TOLERATED[report.signal]


def _jumped(report: Report, spike: Spike) -> Report:
    if (report.signal, report.cup) != (spike.signal, spike.cup):
        return report
    return replace(report, excess=report.excess + spike.jump * TOLERATED[report.signal])


DOSE_G = 20.0
MEDDLING_S = 1.0
"""How long the table is left to settle after somebody has meddled with it."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What an episode is made of; the rest follows from it."""

    scene: TableScene
    stage: Stage
    trouble: Trouble
    seed: tuple[int, ...]
    scale_off_g: Mapping[int, float] = field(default_factory=dict)
    """What the scales read too much, place by place, all along. Nobody knows."""


@dataclass(frozen=True, eq=False, slots=True)
class AtTheAlarm:
    """A table with an alarm raised over it. Branch the body, never drive this one."""

    episode: Episode
    body: Body
    tracker: Tracker
    template: Template
    before_pouring_g: Mapping[str, int]
    """What every cup really held before anything was poured. For judges alone."""

    @property
    def declared(self) -> CupValues:
        """What the robot declared before the alarm."""
        return self.template.statement({name: self.tracker.value(name) for name in _DECLARED})

    @property
    def heard(self) -> AtAlarm:
        """What is public about the alarm."""
        return self.template.heard

    @property
    def report(self) -> Report:
        """What the monitor said."""
        return self.heard.report

    def state(self, fitted: Fitted | None = None) -> InformationState:
        """Return what is known: the problem of what was executed, the alarm, and what was measured for it.

        By another model, where one is given.
        """
        template = self.template if fitted is None else replace(self.template, fitted=fitted)
        state = Tracker.from_data(template, self.tracker.to_data()).alarm()
        for said in self.heard.measured:
            state = state.after(said)
        return state.deciding_from_here()

    def posed(self, *, restarts: bool = False, linear_chain: bool = False) -> AtTheAlarm:
        """Return the same alarm as others face it: who only starts over, or who knows the order of things alone."""
        return replace(self, template=replace(self.template, restarts=restarts, linear_chain=linear_chain))


_DECLARED = (*(quantity(cup) for cup in dim.CUPS), *(binding(cup) for cup in dim.CUPS), TARGET, CAMERA)

Notice = Callable[[Body, CupValues], None]


def until_alarm(
    episode: Episode,
    watcher: Watcher | None = None,
    *,
    fitted: Fitted | None = None,
    notice: Notice = lambda body, declared: None,
    listener: Callable[[Receipt], None] | None = None,
) -> AtTheAlarm:
    """Simulate an episode up to its alarm; the same episode gives the same bits.

    ``notice`` is called when the robot has measured and declared, and when somebody has meddled; ``listener`` hears
    of every primitive that ends.
    """
    simulation = Simulation.of(episode.scene, watcher)
    faults = SensorFaults(scale_off_g=dict(episode.scale_off_g))
    body = Body(simulation, faults, episode.seed, listener=listener)
    return tick_until_done(body, _prefix(body, episode, fitted or load_fitted(), notice))


def _prefix(body: Body, episode: Episode, fitted: Fitted, notice: Notice) -> Generator[None, None, AtTheAlarm]:
    declared = yield from survey(body, Charge.CONTINUATION)
    yield from body.perform("test camera", Charge.CONTINUATION, check_camera(body))
    scale_at = {cup: body.has_scale(body.place_of(cup)) for cup in dim.CUPS}
    template = Template(declared, fitted, heard=AtAlarm(scale_at=scale_at, offset_mm=_offsets_mm(body)))
    tracker = Tracker(template)
    _declare(tracker, declared)
    notice(body, declared)
    target = str(tracker.value(TARGET))
    monitor = RobotMonitor.at_rest(body, dict(zip(dim.CUPS, declared.quantity_g, strict=True)))
    goes_well = True
    if LIFT in episode.stage.executed:
        with tracker.action(LIFT):
            goes_well = (yield from fetch(body, dim.PITCHER, Charge.CONTINUATION)).succeeded
    if MOVE in episode.stage.executed and goes_well:
        with tracker.action(MOVE):
            yield from body.perform(f"move to {target}", Charge.CONTINUATION, move(body, target))
    happen(episode.trouble, body)
    yield from wait(MEDDLING_S)
    notice(body, declared)
    before = {cup: body.simulation.grams(cup) for cup in dim.CUPS}
    poured_g = 0.0
    if POUR in episode.stage.executed and goes_well:
        with tracker.action(POUR):
            found = yield from body.perform(f"pour into {target}", Charge.CONTINUATION, pour(body, target, DOSE_G))
        poured_g = float(found.value or 0.0)
        monitor = monitor.after_pouring(target, poured_g)
        yield from wait(MEDDLING_S)
    for done in (LIFT, MOVE, POUR):
        if done in tracker.executed and body.holding is None:  # it slipped: nothing of all this is left
            tracker.undone(done)
    report = yield from _watch(body, monitor, episode.trouble)
    yield from body.perform("localise", Charge.SENSING, localise(body, believe=False))
    conspicuous_cup = report.cup or target
    seen = yield from body.perform(f"look at {conspicuous_cup}", Charge.SENSING, read_level(body, conspicuous_cup))
    own_g = poured_g if conspicuous_cup == target else 0.0
    template.heard = replace(
        template.heard,
        stage=_stage(tracker, episode.stage),
        report=report,
        located=located_as(body, declared),
        looked={} if seen.value is None else {conspicuous_cup: round(seen.value - own_g, 1)},
        poured_g=poured_g,
    )
    return AtTheAlarm(episode, body, tracker, template, before)


def _watch(body: Body, monitor: RobotMonitor, trouble: Trouble) -> Generator[None, None, Report]:
    """Let the monitor watch until something is conspicuous; what passes in a moment, passes at the first check."""
    for number in range(MOST_CHECKS):
        yield from wait(CHECK_S)
        report = monitor.check(body, trouble if number == 0 else None)
        if conspicuous(report):
            return report
    return ROUTINE


def survey(body: Body, charge: Charge) -> Generator[None, None, CupValues]:
    """Find the cups, look at each, and return what follows."""
    yield from body.perform("localise", charge, localise(body))
    lost = [cup for cup in dim.CUPS if cup not in body.believed_m]
    if lost:
        raise AquaMendError(f"the camera does not find {lost[0]}, so there is nothing to decide; clear its view")
    levels = []
    for cup in dim.CUPS:
        finding = yield from body.perform(f"look at {cup}", charge, read_level(body, cup))
        if finding.value is None:
            raise AquaMendError(f"the camera does not see into {cup}, so there is nothing to decide; clear its view")
        levels.append(round(finding.value, 1))
    return decided(dim.CUPS, levels, [round(1000 * body.believed_m[cup][0], 1) for cup in dim.CUPS])


def _declare(tracker: Tracker, declared: CupValues) -> None:
    for cup, grams, mm in zip(dim.CUPS, declared.quantity_g, declared.position_mm, strict=True):
        tracker.declare(quantity(cup), grams, evidence=[looking(cup)])
        tracker.declare(binding(cup), mm, evidence=[LOCALISE])
    views, amounts = [looking(cup) for cup in dim.CUPS], [quantity(cup) for cup in dim.CUPS]
    tracker.declare(TARGET, declared.target, evidence=views, inferred_from=amounts)
    tracker.declare(CAMERA, declared.camera, evidence=[CHECK_CAMERA])


def _stage(tracker: Tracker, planned: Stage) -> Stage:
    """Return how far the robot really came; less than planned where a primitive failed."""
    stages = (planned, Stage.POURED, Stage.BESIDE, Stage.LIFTED, Stage.DECIDED)
    return next(stage for stage in stages if set(stage.executed) <= set(tracker.executed))


def _offsets_mm(body: Body) -> dict[str, float]:
    """Return how far every cup was found from the middle of its place."""
    found = {}
    for cup in dim.CUPS:
        x, y = body.believed_m[cup]
        found[cup] = round(1000 * math.hypot(x - dim.PLACES_X[body.place_of(cup)], y), 1)
    return found


def located_as(body: Body, declared: CupValues) -> str:
    """Return what finding the cups said, relative to where they are declared to stand."""
    home = {cup: nearest_place(mm / 1000) for cup, mm in zip(dim.CUPS, declared.position_mm, strict=True)}
    owner = {place: cup for cup, place in home.items()}
    moved = []
    for cup in dim.CUPS:
        place = nearest_place(body.seen_m[cup][0]) if cup in body.seen_m else home[cup]
        if place != home[cup] and place in owner:
            moved.append((cup, owner[place]))
    pairs = [exchange for exchange, pair in arrangements(dim.CUPS).items() if pair in moved and pair[::-1] in moved]
    return pairs[0] if pairs else IN_PLACE
