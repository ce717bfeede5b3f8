"""One episode up to its alarm: measure, declare, act as far as the stage goes, be meddled with, hear the monitor."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from aquamend.errors import AquaMendError
from aquamend.recovery import Charge, Receipt
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.handling import move
from aquamend.worlds.pouring.looking import localise, localise_carefully, look, look_carefully, weigh
from aquamend.worlds.pouring.monitor import CHECK_S, MOST_CHECKS, ROUTINE, Report, check, conspicuous
from aquamend.worlds.pouring.motion import wait
from aquamend.worlds.pouring.perturbations import FalseAlarm, Perturbation, faults_from_the_start, happen
from aquamend.worlds.pouring.pouring_skill import pour
from aquamend.worlds.pouring.robot import Robot, drive
from aquamend.worlds.pouring.scene import TableScene
from aquamend.worlds.pouring.simulation import Simulation, Watcher
from aquamend.worlds.pouring.skill import Finding
from aquamend.worlds.pouring.undoing import fetch

DOSE_G = 20.0
MEDDLING_S = 1.0
"""How long the table is left to settle after somebody has meddled with it."""


class Stage(StrEnum):
    """How far the robot had come when the alarm was raised."""

    DECIDED = "T0"
    """Measured and decided."""
    MOVED = "T1"
    """Pitcher fetched and held beside the target."""
    POURED = "late T1"
    """Poured, the pitcher still in the hand."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What an episode is made of; the rest follows from it."""

    scene: TableScene
    stage: Stage
    perturbation: Perturbation
    seed: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Alarmed:
    """A table with an alarm raised over it. Branch the robot, never drive this one."""

    episode: Episode
    robot: Robot
    declared: Declared
    report: Report
    before_pouring_g: Mapping[str, int]
    """What every cup really held before anything was poured. For the world alone."""

    @property
    def stage(self) -> Stage:
        """How far the robot had come; less than asked for where a primitive had failed."""
        if self.robot.holding is None:
            return Stage.DECIDED
        return Stage.POURED if self.declared.poured_g > 0 else Stage.MOVED


def until_alarm(
    episode: Episode,
    watcher: Watcher | None = None,
    *,
    notice: Callable[[Robot, Declared], None] = lambda robot, declared: None,
    listener: Callable[[Receipt], None] | None = None,
) -> Alarmed:
    """Simulate an episode up to its alarm; the same episode gives the same bits.

    ``notice`` is called when the robot has measured and declared, and when somebody has meddled; ``listener`` is told
    of every primitive that ends.
    """
    simulation = Simulation.of(episode.scene, watcher)
    robot = Robot(simulation, faults_from_the_start(episode.perturbation), episode.seed, listener=listener)
    return drive(robot, _prefix(robot, episode, notice))


def _prefix(
    robot: Robot, episode: Episode, notice: Callable[[Robot, Declared], None]
) -> Generator[None, None, Alarmed]:
    declared = yield from measure(robot, Charge.CONTINUATION)
    notice(robot, declared)
    if episode.stage is not Stage.DECIDED:
        finding = yield from fetch(robot, dim.PITCHER, Charge.CONTINUATION)
        if finding.succeeded:
            target = declared.target
            yield from robot.perform(f"move to {target}", Charge.CONTINUATION, move(robot, target))
    happen(episode.perturbation, robot)
    yield from wait(MEDDLING_S)
    notice(robot, declared)
    before = {cup: robot.simulation.grams(cup) for cup in dim.CUPS}
    if episode.stage is Stage.POURED and robot.holding is not None:
        declared, _ = yield from pour_dose(robot, declared, Charge.CONTINUATION)
        yield from wait(MEDDLING_S)
    blink = episode.perturbation if isinstance(episode.perturbation, FalseAlarm) else None
    for _ in range(MOST_CHECKS):
        yield from wait(CHECK_S)
        report = check(robot, declared, blink)
        if conspicuous(report):
            break
    else:
        report = Report(ROUTINE)
    return Alarmed(episode, robot, declared, report, before)


def measure(robot: Robot, charge: Charge, *, carefully: bool = False) -> Generator[None, None, Declared]:
    """Find the cups, look at each, and declare what follows; a cup whose water cannot be seen is weighed."""
    yield from robot.perform("localise", charge, localise_carefully(robot) if carefully else localise(robot))
    lost = [cup for cup in dim.CUPS if cup not in robot.believed_m]
    if lost:
        raise AquaMendError(f"the camera does not find {lost[0]}, so there is nothing to decide; clear its view")
    levels: dict[str, float] = {}
    for cup in dim.CUPS:
        glance = look_carefully(robot, cup) if carefully else look(robot, cup)
        finding = yield from robot.perform(f"look {cup}", charge, glance)
        if not finding.succeeded:
            finding = yield from robot.perform(f"weigh {cup}", charge, weigh(robot, robot.place_of(cup)))
        levels[cup] = round(float(finding.value or 0.0), 1)
    return Declared.measured(levels, {cup: robot.place_of(cup) for cup in dim.CUPS})


def pour_dose(robot: Robot, declared: Declared, charge: Charge) -> Generator[None, None, tuple[Declared, Finding]]:
    """Pour the dose into the target, and declare what the scale says has come; return how it went, too."""
    target = declared.target
    finding = yield from robot.perform(f"pour into {target}", charge, pour(robot, target, DOSE_G))
    return declared.after_pouring(round(float(finding.value or 0.0), 1)), finding
