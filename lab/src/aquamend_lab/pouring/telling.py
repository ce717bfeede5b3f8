"""Run one episode, and tell it moment by moment while it happens: once up to its alarm, then once for every policy.

At the end it says what was needless, and what the same recovery would have cost with the truth at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aquamend.belief import InformationState
from aquamend.decision.probe_value import clairvoyant_losses
from aquamend.decision.steps import Reprobe, Step
from aquamend.policies import AlwaysRestart, LinearChain, Policy
from aquamend.policies.decision_report import decision_report
from aquamend.policies.policy import CertifyingPolicy
from aquamend.recovery import Act, Charge, Ending, Judged, Measure, MemoryLog, Receipt, Recovery, Verdict, recovered
from aquamend.recovery.events import Alarmed, Entry, Event
from aquamend.story.of_decision import choice_of, edges_of, likeliest, nodes_of, statements_of, update_of
from aquamend.story.story import Hindsight, Kind, Moment, Story, Update, in_hindsight, needless
from aquamend.text import capital, percent
from aquamend_lab.pouring import phrases
from aquamend_lab.pouring.model.alarm_problem import PROBE_S, AlarmModel
from aquamend_lab.pouring.model.configurations import CONFIGURATIONS
from aquamend_lab.pouring.model.fitted import Fitted
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body
from aquamend_lab.pouring.mujoco.episode import DOSE_G, AtTheAlarm, Episode, until_alarm
from aquamend_lab.pouring.mujoco.judging import configuration_of, wrong_at_alarm
from aquamend_lab.pouring.mujoco.simulation import Simulation
from aquamend_lab.pouring.mujoco.world import PouringRobot
from aquamend_lab.pouring.recording import Recording
from aquamend_lab.pouring.task import LIFT, MOVE, POUR, SAFE_STOP, CupValues, quantity
from aquamend_lab.pouring.watching import Onlooker, still_address

MOST_EXPLANATIONS, WORTH_TELLING = 4, 0.01

Listener = Callable[[Moment], None]


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """What a demonstration leaves behind."""

    story: Story
    recording: Recording
    session: tuple[Entry, ...]
    """What a journal would have kept of it, by the clock of the simulation."""


@dataclass(frozen=True, eq=False, slots=True)
class Beginning:
    """An episode described up to its alarm; any number of policies can take it from there."""

    alarmed: AtTheAlarm
    moments: tuple[Moment, ...]
    onlooker: Onlooker
    """Branch it, never go on with this one."""
    measured: tuple[Receipt, ...]
    """What was measured for the alarm itself: where the cups stand, and a look at the one that it points at."""
    readings: tuple[str, ...]
    """What that showed, in words."""
    failed: tuple[str, ...]
    """What was really wrong at the alarm."""


@dataclass(eq=False, slots=True)
class _Teller:
    """Tells what happens at a table; every moment goes to the listener as soon as it has come."""

    listen: Listener
    onlooker: Onlooker = field(default_factory=Onlooker)
    moments: list[Moment] = field(default_factory=list)
    declared_g: Mapping[str, float] = field(default_factory=dict)
    """What is declared of every cup."""

    def tell(self, moment: Moment) -> None:
        self.moments.append(moment)
        self.listen(moment)

    def picture(
        self, simulation: Simulation, kind: Kind, title: str, text: str, *, time_s: float | None = None
    ) -> None:
        """Tell a turning point, with a picture."""
        at = simulation.time_s if time_s is None else time_s
        self.tell(Moment(at, kind, title, text, picture=still_address(simulation)))

    def did(self, leaf: Receipt) -> None:
        """Tell of a primitive that has ended, by the time when it began."""
        words, taken = phrases.primitive(leaf, self.declared_g), self.onlooker.taken()
        moment = Moment(
            leaf.start_s or 0.0, Kind.ACTED, capital(words.what), str(words.finding), bad=not leaf.succeeded
        )
        self.tell(moment if taken is None else replace(moment, picture=taken.address, picture_time=taken.time_s))


def begin(episode: Episode, listen: Listener) -> Beginning:
    """Run an episode up to its alarm."""
    teller = _Teller(listen)
    onlooker = teller.onlooker

    def notice(body: Body, declared: CupValues) -> None:
        if not teller.moments:  # the first time it is what was declared, then what somebody has done
            teller.declared_g = dict(zip(dim.CUPS, declared.quantity_g, strict=True))
            onlooker.body, onlooker.held_g = body, lambda: teller.declared_g
            amounts = ", ".join(f"{cup} holds {grams:.1f} g" for cup, grams in teller.declared_g.items())
            text = f"It declares: {amounts}. {declared.target} is the least full, so {DOSE_G:.0f} g are to go into it."
            teller.picture(body.simulation, Kind.BELIEVED, "The robot measures and decides", text)
        else:
            title, text = phrases.what_happened(episode)
            teller.picture(body.simulation, Kind.UNSEEN, title, f"{text} The robot does not know.")

    def listener(leaf: Receipt) -> None:
        # What was measured first is described by what was declared, what belongs to the alarm together with it.
        if teller.moments and leaf.charge is not Charge.SENSING:
            teller.did(leaf)

    alarmed = until_alarm(episode, onlooker, notice=notice, listener=listener)
    measured, pouring = tuple(alarmed.body.leaves[-2:]), f"{POUR} into {alarmed.declared.target}"
    poured = next((leaf for leaf in reversed(alarmed.body.leaves) if leaf.what == pouring), None)
    if poured is not None:
        onlooker.poured(alarmed.declared.target, alarmed.heard.poured_g, poured.end_s or 0.0)
    text = f"{capital(str(alarmed.report))}."
    simulation = alarmed.body.simulation
    teller.picture(simulation, Kind.ALARM, "The monitor raises the alarm", text, time_s=measured[0].start_s)
    declared = alarmed.template.model({}).task.values(alarmed.declared)
    poured_g = {alarmed.declared.target: alarmed.heard.poured_g}
    readings = []
    for said, leaf in zip(alarmed.heard.measured, measured, strict=False):  # nothing is said by a look that saw nothing
        found = Receipt(Charge.SENSING, said.probe, leaf.cost, finding=said.outcome)
        text = phrases.probed(said.probe, found, declared, poured_g, alarmed.body)
        teller.tell(Moment(leaf.end_s or 0.0, Kind.MEASURED, capital(text), "This belongs to every alarm."))
        readings.append(text.partition(";")[0])
    return Beginning(alarmed, tuple(teller.moments), onlooker, measured, tuple(readings), wrong_at_alarm(alarmed))


def go_on(
    beginning: Beginning, policy: Policy, name: str, listen: Listener, *, facts: Mapping[str, str], title: str
) -> Shown:
    """Let a policy recover from an alarm that was described, on a branch of its own, and return the whole story."""
    return _Telling(beginning, policy, name, listen).tell(facts, title)


class _SimulatedTime(MemoryLog):
    """A log by the clock of the simulation."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock

    def append(self, session: str, after: int, events: Sequence[Event], *, at: float | None = None) -> None:
        """Add events to a session, whatever the time is outside."""
        super().append(session, after, events, at=self._clock())


class _Telling:
    """One recovery being described: robot and policy as the loop sees them, with somebody who listens to both."""

    def __init__(self, beginning: Beginning, policy: Policy, name: str, listen: Listener) -> None:
        self.beginning, self.policy, self.name = beginning, policy, name
        alarmed = beginning.alarmed.posed(
            restarts=isinstance(policy, AlwaysRestart), linear_chain=isinstance(policy, LinearChain)
        )
        onlooker = beginning.onlooker.branch()
        self.teller = _Teller(listen, onlooker, list(beginning.moments))
        self.robot = PouringRobot(alarmed, watcher=onlooker)
        self.model: AlarmModel = alarmed.template.model(self.robot.task.values(alarmed.declared))
        onlooker.body, onlooker.held_g = self.robot.body, self._held_g
        self.updates: list[Update] = []
        self.states: list[InformationState] = []
        self.read = ""
        """What was read last."""

    @property
    def now_s(self) -> float:
        return self.robot.body.simulation.time_s

    def _declared_g(self) -> dict[str, float]:
        return {cup: float(self.robot.hands.said[quantity(cup)]) for cup in dim.CUPS}

    def _held_g(self) -> dict[str, float]:
        return {cup: grams + self.robot.hands.poured_g.get(cup, 0.0) for cup, grams in self._declared_g().items()}

    def tell(self, facts: Mapping[str, str], title: str) -> Shown:
        """Run it to its end."""
        log = _SimulatedTime(lambda: self.now_s)
        judged = recovered(self, self, log=log, session=self.name)
        verdict = self._verdict(judged)
        ending = "Recovered" if judged.verdict.success else "Not recovered"
        self.teller.picture(self.robot.body.simulation, Kind.ENDED, "The end", f"{ending}: {verdict}")
        story, recording = self._story(judged, verdict, facts, title), self.teller.onlooker.recorder.recording()
        entries = []
        for entry in log.read(self.name):  # with the name of the policy in place of the teller's
            event = entry.event
            decided_by = replace(event, policy=self.name) if isinstance(event, Alarmed) else event
            entries.append(replace(entry, event=decided_by))
        return Shown(story, recording, tuple(entries))

    def alarm(self) -> InformationState:
        """Return what is known at the alarm."""
        state, measured = self.robot.alarm(), self.beginning.measured
        known = InformationState.alarmed(state.problem)
        self._believe(known, "after the alarm", measured[0].start_s or 0.0)
        for said, text, leaf in zip(state.evidence, self.beginning.readings, measured, strict=False):
            known = known.after(said)
            self._believe(known, f"after {text}", leaf.end_s or 0.0)
        return state

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's step, and describe it with what was weighed."""
        if len(state.evidence) > len(self.states[-1].evidence):
            self._believe(state, f"after {self.read}", self.now_s)
        bounded = isinstance(self.policy, CertifyingPolicy)
        report = decision_report(state, self.policy, name=self.name, bounded=bounded)
        likely = sorted(self.updates[-1].explanations.items(), key=lambda item: -item[1])[:MOST_EXPLANATIONS]
        thought = "; ".join(f"{name} {percent(p)}" for name, p in likely if p >= WORTH_TELLING)
        title, choice = (
            f"{self.name} decides: {phrases.step_name(report.step, state)}",
            choice_of(report, name=phrases.step_name),
        )
        self.teller.tell(Moment(self.now_s, Kind.DECIDED, title, f"Now thought: {thought}.", choice=choice))
        return report.step

    def measure(self, step: Measure) -> Receipt:
        """Take a reading, and tell it."""
        robot, teller = self.robot, self.teller
        teller.declared_g = self._declared_g()
        receipt = robot.measure(step)
        alarmed = self.beginning.alarmed
        said, poured = robot.task.values(alarmed.declared) | robot.hands.said, robot.hands.poured_g
        text = phrases.probed(step.probe, receipt, said, poured, alarmed.body)
        teller.tell(Moment(self.now_s, Kind.MEASURED, capital(text), bad=not receipt.succeeded))
        self.read = text.partition(";")[0]
        return receipt

    def perform(self, act: Act) -> Receipt:
        """Carry an act out, and describe each primitive."""
        self.teller.declared_g = self._declared_g()
        self.robot.body.listener = self.teller.did
        receipt = self.robot.perform(act)
        self.robot.body.listener = None
        if not receipt.succeeded and all(leaf.succeeded for leaf in receipt.leaves if leaf is not receipt):
            # No primitive failed and said why: the guard has stepped in, or nothing was begun.
            text = str(receipt.finding)
            self.teller.tell(Moment(self.now_s, Kind.ACTED, capital(str(act)), text, bad=True))
        return receipt

    def judge(self, recovery: Recovery) -> Verdict:
        """Return the verdict."""
        return self.robot.judge(recovery)

    def _believe(self, state: InformationState, when: str, time_s: float) -> None:
        self.states.append(state)
        self.updates.append(update_of(state, when, time_s, explained=lambda s: phrases.explanations(s, self.model)))

    def _verdict(self, judged: Judged) -> str:
        recovery, quality = judged.recovery, self.robot.quality
        if recovery.ending is not Ending.FINISHED or recovery.followed == SAFE_STOP:
            why = f" ({recovery.reason})" if recovery.reason else ""
            return f"the robot stopped safely and left the rest to a person{why}, which makes nothing worse."
        faults = [f"left wrong: {phrases.BELIEFS[name]}" for name in judged.verdict.left]
        faults += list(quality.faults) if quality else []
        if judged.verdict.success and quality is not None:
            received = quality.received_g[quality.wanted]
            return (
                f"{quality.wanted} was really the least full and received {received:.0f} g; all that is declared holds."
            )
        return f"{'; '.join(faults)}."

    def _story(self, judged: Judged, verdict: str, facts: Mapping[str, str], title: str) -> Story:
        beginning, teller, alarmed = self.beginning, self.teller, self.beginning.alarmed
        _, text = phrases.what_happened(alarmed.episode)
        declared_g = dict(zip(dim.CUPS, alarmed.declared.quantity_g, strict=True))
        lead = (
            f"A robot has looked at three cups with its camera and is to pour {DOSE_G:.0f} g into the least full one. "
            f"{text} A monitor raises an alarm, and the policy “{self.name}” must decide what to do about it."
        )
        problem, known = self.states[0].problem, hindsight(alarmed, judged.recovery, beginning.failed)
        sizes = f"{len(CONFIGURATIONS)} configurations, {len(self.model.supposed)} hypotheses"
        return Story(
            title=title,
            lead=lead,
            facts={**facts, "model": f"{sizes}, hash {alarmed.template.fitted.hash}"},
            unit="s",
            policy=self.name,
            moments=tuple(teller.moments),
            updates=likeliest(self.updates),
            statements=statements_of(self.states[0], beginning.failed),
            nodes=tuple(nodes_of(problem, judged.recovery, wrong=beginning.failed)),
            edges=edges_of(problem),
            receipts=tuple(phrases.receipts(judged, alarm=beginning.measured, declared_g=declared_g, end_s=self.now_s)),
            success=judged.verdict.success,
            verdict=verdict,
            notes=(needless(known), in_hindsight(known, "s")),
            beliefs=tuple(teller.onlooker.beliefs),
            hindsight=known,
        )


def hindsight(alarmed: AtTheAlarm, recovery: Recovery, failed: Collection[str]) -> Hindsight:
    """Return it for one recovery; ``failed`` is what was really wrong at the alarm."""
    start, graph = recovery.start, recovery.start.problem.graph
    useful, rested = set(_useful(recovery, failed)), set(graph.closure(failed))
    used = dict.fromkeys(step.probe for step in recovery.steps if isinstance(step, Reprobe))
    true = alarmed.template.model({}).nearest(configuration_of(alarmed), alarmed.before_pouring_g)
    executed = tuple(action.name for action in graph.executed)
    return Hindsight(
        needless_probes=tuple(phrases.PROBES[probe] for probe in used if probe not in useful),
        needless_undone=tuple(w for a, w in phrases.UNDOING.items() if a in recovery.undone and a not in rested),
        sensing=PROBE_S * len(start.evidence),
        recovery=float(clairvoyant_losses(start)[true]),
        finishing=finishing_s(alarmed.template.fitted, executed),
    )


def _useful(recovery: Recovery, failed: Collection[str]) -> Iterator[str]:
    """Yield the probes that bear directly on something really wrong of which another value was declared.

    Of a source, all that was read from it bears on it.
    """
    graph = recovery.start.problem.graph
    for belief in recovery.declared:
        if belief in failed:
            yield from graph.direct_probes[belief]
            yield from (probe.name for probe in graph.probes if probe.source == belief)


def finishing_s(fitted: Fitted, executed: tuple[str, ...]) -> float:
    """Return what is left of the task after these actions, by fitted durations."""
    skills = {LIFT: "fetch", MOVE: "move", POUR: "pour"}
    return math.fsum(fitted.seconds(skill) for action, skill in skills.items() if action not in executed) + (
        fitted.seconds("put back")
    )
