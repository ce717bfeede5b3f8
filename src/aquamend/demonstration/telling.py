"""Run one episode with one policy, and tell it moment by moment while it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from aquamend.decision.steps import Reprobe, Step
from aquamend.demonstration.options import weighed
from aquamend.demonstration.scenes import what_happened
from aquamend.demonstration.story_of import ledger, nodes, statements
from aquamend.demonstration.wording import explanations, step_name
from aquamend.explanation.report import decision_report
from aquamend.inference import InformationState
from aquamend.policies import Policy
from aquamend.recovery import Act, Ending, Judged, Measure, Receipt, Recovery, Verdict, recovered
from aquamend.replay.recording import Recording
from aquamend.replay.story import Kind, Moment, Posterior, Story
from aquamend.text.words import percent
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.episode import Episode, until_alarm
from aquamend.worlds.pouring.fitted import load_fitted
from aquamend.worlds.pouring.picture import still
from aquamend.worlds.pouring.recorder import Recorder
from aquamend.worlds.pouring.robot import Robot
from aquamend.worlds.pouring.simulation import Simulation
from aquamend.worlds.pouring.truth import really_failed
from aquamend.worlds.pouring.world import PouringWorld

MOST_EXPLANATIONS, WORTH_TELLING = 4, 0.01
POURING_ROLL = -1.45
"""Roll of the hand at which water runs: worth a picture."""

Told = Callable[[Moment], None]


@dataclass(eq=False, slots=True)
class Onlooker:
    """Watches for the recording, and for pours."""

    recorder: Recorder
    poured: Callable[[Simulation], None] = lambda simulation: None
    """Is told once of every pour, while water runs."""
    pouring: bool = False

    def see(self, simulation: Simulation) -> None:
        """Record the tick, and tell when a pour is under way."""
        self.recorder.see(simulation)
        if float(simulation.hand[3]) > POURING_ROLL / 2:
            self.pouring = False
        elif float(simulation.hand[3]) < POURING_ROLL and not self.pouring:
            self.pouring = True
            self.poured(simulation)


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """What a demonstration leaves behind."""

    story: Story
    recording: Recording


@dataclass(eq=False, slots=True)
class Teller:
    """Tells one episode; every moment goes to the listener as soon as it has come."""

    episode: Episode
    policy: Policy
    policy_name: str
    told: Told
    facts: dict[str, str]
    title: str
    onlooker: Onlooker = field(default_factory=lambda: Onlooker(Recorder()))
    moments: list[Moment] = field(default_factory=list)
    posteriors: list[Posterior] = field(default_factory=list)
    states: list[InformationState] = field(default_factory=list)

    def tell(self) -> Shown:
        """Run the episode to its end, and return its story."""
        self.onlooker.poured = lambda table: self._moment(table, Kind.ACTED, "Water runs", "", photograph=True)
        alarmed = until_alarm(self.episode, self.onlooker, notice=self._noticed, listener=self._did)
        failed = really_failed(
            alarmed.robot.simulation, alarmed.declared, alarmed.robot.faults, alarmed.before_pouring_g
        )
        simulation = alarmed.robot.simulation
        self._moment(
            simulation, Kind.ALARM, "The monitor raises the alarm", _sentence(str(alarmed.report)), photograph=True
        )
        world = PouringWorld(alarmed, watcher=self.onlooker)
        judged = recovered(_ToldPolicy(self, world), _ToldRobot(self, world))
        verdict = self._verdict(judged, world)
        ending = "Recovered" if judged.verdict.success else "Not recovered"
        self._moment(world.robot.simulation, Kind.ENDED, "The end", f"{ending}: {verdict}", photograph=True)
        return Shown(self._story(judged, failed, verdict), self.onlooker.recorder.recording())

    def _noticed(self, robot: Robot, declared: Declared) -> None:
        """Tell what the robot has declared, and what somebody has done behind its back."""
        simulation = robot.simulation
        if not self.moments:  # the first time it is what was declared, then what somebody has done
            amounts = ", ".join(f"{cup} holds {declared.quantity_g[cup]:.1f} g" for cup in dim.CUPS)
            text = f"{amounts}. {declared.target} is the least full, so the robot will pour 20 g into it."
            self._moment(simulation, Kind.BELIEVED, "The robot measures and decides", text, photograph=True)
        else:
            title, text = what_happened(self.episode.perturbation)
            self._moment(simulation, Kind.REVEALED, title, f"{text} The robot does not know.", photograph=True)

    def _did(self, leaf: Receipt) -> None:
        if not self.moments:
            return  # what was measured first is told by what was declared
        title = leaf.what[0].upper() + leaf.what[1:]
        moment = Moment(leaf.end_s or 0.0, Kind.ACTED, title, str(leaf.finding), failed=not leaf.succeeded)
        self._tell(moment)

    def _decide(self, world: PouringWorld, state: InformationState) -> Step:
        if len(state.evidence) > len(self.states[-1].evidence):
            last = state.evidence[-1]
            self._believe(world, state, f"{step_name(Reprobe(last.probe))}: {_reading(last.outcome)}")
        report = decision_report(state, self.policy, name=self.policy_name)
        title = f"Decision: {step_name(report.step)}"
        likely = sorted(self.posteriors[-1].explanations.items(), key=lambda item: -item[1])[:MOST_EXPLANATIONS]
        text = "; ".join(f"{name} {percent(p)}" for name, p in likely if p >= WORTH_TELLING)
        options = tuple(weighed(report, finishing_s=world.model.finishing_s))
        self._tell(Moment(world.robot.simulation.time_s, Kind.DECIDED, title, f"Now thought: {text}.", options))
        return report.step

    def _probed(self, world: PouringWorld, probe: str, receipt: Receipt) -> None:
        name = step_name(Reprobe(probe))
        text = _reading(receipt.finding)
        moment = Moment(
            world.robot.simulation.time_s, Kind.PROBED, name[0].upper() + name[1:], text, failed=not receipt.succeeded
        )
        self._tell(moment)

    def _believe(self, world: PouringWorld, state: InformationState, after: str) -> None:
        self.states.append(state)
        found = explanations(state, world.alarmed.declared)
        self.posteriors.append(Posterior(world.robot.simulation.time_s, after, found))

    def _moment(self, simulation: Simulation, kind: Kind, title: str, text: str, *, photograph: bool = False) -> None:
        self._tell(Moment(simulation.time_s, kind, title, text, still=still(simulation) if photograph else None))

    def _tell(self, moment: Moment) -> None:
        self.moments.append(moment)
        self.told(moment)

    def _verdict(self, judged: Judged, world: PouringWorld) -> str:
        if judged.recovery.ending is not Ending.FINISHED:
            return "the robot stopped safely and called a person, which is no success but makes nothing worse."
        faults = [*(f"{name} is still wrong" for name in judged.verdict.left)]
        faults += list(world.quality.faults) if world.quality else []
        if judged.verdict.success:
            received = world.quality.received_g[world.quality.wanted] if world.quality else 0.0
            return f"{received:.0f} g are in the cup that was really least full, and every declaration holds."
        return f"{'; '.join(faults)}."

    def _story(self, judged: Judged, failed: tuple[str, ...], verdict: str) -> Story:
        _, text = what_happened(self.episode.perturbation)
        lead = (
            "A robot has looked at three cups with its camera and is to pour 20 g into the least full one. "
            f"{text} A monitor raises an alarm, and the policy “{self.policy_name}” must decide what to do about it."
        )
        return Story(
            title=self.title,
            lead=lead,
            facts=self.facts | {"model": f"72 configurations, hash {load_fitted().hash}"},
            statements=statements(self.states, failed),
            posteriors=tuple(self.posteriors),
            moments=tuple(self.moments),
            nodes=tuple(nodes(judged.recovery, failed)),
            edges=tuple((edge[0], edge[1], str(edge[2])) for edge in self.states[0].problem.graph.edges),
            ledger=tuple(ledger(judged)),
            unit="s",
            success=judged.verdict.success,
            verdict=verdict,
        )


@dataclass(frozen=True, eq=False, slots=True)
class _ToldPolicy:
    """The policy, each of whose decisions is told with what was weighed."""

    teller: Teller
    world: PouringWorld

    def next_step(self, state: InformationState) -> Step:
        return self.teller._decide(self.world, state)


@dataclass(frozen=True, eq=False, slots=True)
class _ToldRobot:
    """The robot, each of whose primitives is told as it ends."""

    teller: Teller
    world: PouringWorld

    def alarm(self) -> InformationState:
        state = self.world.alarm()
        self.teller._believe(self.world, InformationState.start(state.problem), "before the alarm")
        self.teller._believe(self.world, state, "alarm")
        return state

    def measure(self, step: Measure) -> Receipt:
        receipt = self.world.measure(step)
        self.teller._probed(self.world, step.probe, receipt)
        return receipt

    def perform(self, act: Act) -> Receipt:
        self.world.robot.listener = self.teller._did
        receipt = self.world.perform(act)
        self.world.robot.listener = None
        return receipt

    def judge(self, recovery: Recovery) -> Verdict:
        return self.world.judge(recovery)


def _reading(finding: object) -> str:
    return f"{finding:.1f} g" if isinstance(finding, float) else str(finding)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
