"""What can be asked of a problem without a session: is it sound, what now, what then. From plain data to plain data.

Each is a pure function of what was sent, so that any process can answer it. Policies are named by those that are
registered; a module or a path in their place is refused.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, cast

from aquamend.belief import InformationState, Observation
from aquamend.codec import LARGEST, Amount, Form, Name, dump, json_number, write
from aquamend.codec.forms import number
from aquamend.decision.sensitivity.knobs import knobs_of, turned
from aquamend.decision.sensitivity.knobs import ticks as found_ticks
from aquamend.decision.steps import Reprobe, Step, Wording, step_to_data
from aquamend.errors import InvalidData, InvalidProblem, UnknownName
from aquamend.files import parse_problem, read_problem
from aquamend.files.decision_format import decision_json
from aquamend.lint import findings
from aquamend.policies import Policy
from aquamend.policies.decision_report import alternatives, decision_report, weighed
from aquamend.policies.plan_tree import PlanTree, plan_tree, two_plans
from aquamend.policies.registry import registered
from aquamend.problem import Ages, Problem
from aquamend.problem.building.compensations import before_action
from aquamend.recovery import Recovery
from aquamend.recovery.events import Entry
from aquamend.recovery.plain import line_from_data
from aquamend.serve.problem_details import refusal_of
from aquamend.story.of_decision import brief, view_of
from aquamend.story.of_session import done_instead, instead_data, session_story
from aquamend.story.reasons import certificate, flips, reasons

KEPT = 8
"""Problems that a process keeps as it last read them, with all that was computed from them."""
SHARE = 0.8
"""How much of the time for a request a search may take, so that what it has found can still be sent."""
MOST_NODES = 2_000

_AsItIs = Annotated[
    Any,
    Form(
        lambda value, where, report: value,
        lambda: {
            "anyOf": [{"type": "object"}, {"type": "string"}, {"type": "null"}],
            "description": "The data of a problem file, or its text as JSON or YAML; faults in a text come with lines.",
        },
    ),
]


_Age = Annotated[
    float,
    number(
        "is no age", "give a finite number of at least 0", low=0.0, finite=True,
        schema=lambda: {"type": "number", "minimum": 0, "maximum": LARGEST},
    ),
]  # fmt: skip
_Nodes = Annotated[
    int,
    number(
        "is no number of nodes", f"give 1 to {MOST_NODES}", low=1, high=MOST_NODES, whole=True,
        schema=lambda: {"type": "integer", "minimum": 1, "maximum": MOST_NODES},
    ),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class AnswerReceived:
    """An answer received since the alarm."""

    probe: Name
    outcome: str | float
    """One of its outcomes, or a number for a probe that reads one."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A problem, and what is known since."""

    problem: _AsItIs = None
    kept: Name | None = None
    """The name of a problem that the service keeps; give this or ``problem``."""
    alarm: tuple[Name, ...] | None = None
    """Monitors that have rung; null: the only one of the problem has. An empty list: none has."""
    silent: tuple[Name, ...] = ()
    """Monitors that were watching and have not rung."""
    observed: tuple[AnswerReceived, ...] = ()
    """Answers since the alarm, in their order."""
    before: Name | None = None
    """Ask, without an alarm, whether this action may be done now."""
    age: _Age | None = None
    """How long ago beliefs were measured, for causes with a rate."""
    ages: Mapping[str, _Age] = field(default_factory=dict)
    """The same for single beliefs."""
    turned: Mapping[str, Amount] = field(default_factory=dict)
    """Knobs and what they are turned to, such as ``{"cost look": 0.5}``."""


@dataclass(frozen=True, slots=True)
class ToDecide(Situation):
    """A situation, and how it is to be decided."""

    policy: Name = "best"
    """A registered policy, as ``/api/policies`` lists them."""
    seconds: Amount | None = None
    """How long it may take; at most what the service allows."""
    robustness: bool = False
    """Whether to say what would flip the decision, which takes longer than deciding."""


@dataclass(frozen=True, slots=True)
class ToPlan(Situation):
    """A situation, and whose plan is asked for."""

    policy: Name = "best"
    """A registered policy."""
    versus: Name | None = None
    """Another, to be set beside it."""
    nodes: _Nodes = 60
    """The plan is followed no further once it has so many nodes."""
    seconds: Amount | None = None
    """Nor longer than this."""


@dataclass(frozen=True, slots=True)
class WhatIf(Situation):
    """A situation, and a probe that may be run next."""

    probe: Name = ""
    """Which; its answers are followed."""
    policy: Name = "best"
    """Who decides after the answer."""
    seconds: Amount | None = None
    """How long it may take."""


@dataclass(frozen=True, slots=True)
class ToView(Situation):
    """A situation, as a page shows it."""

    policy: Name = "best"
    """A registered policy."""
    flips: bool = True
    """Whether to say what would flip the decision and how losses split, which takes longer than deciding."""
    seconds: Amount | None = None
    """How long it may take."""


@dataclass(frozen=True, slots=True)
class ToTurn(Situation):
    """A situation, and a knob to be turned."""

    knob: Name = ""
    """Which, as a view names it: ``cost look``."""
    policy: Name = "best"
    """A registered policy."""
    seconds: Amount | None = None
    """How long it may take."""


def validate(asked: Situation, seconds: float) -> dict[str, Any]:
    """Return every fault of a problem, or what looks odd in it where there is none."""
    try:
        problem = problem_of(asked)
    except InvalidProblem as error:
        return {"valid": False, "faults": refusal_of(error).to_data()["faults"], "findings": []}
    found = findings(state_of(problem, asked))
    return {
        "valid": True,
        "faults": [],
        "findings": [{**asdict(f), "cost": None if f.cost is None else json_number(f.cost)} for f in found],
        "name": problem.name,
        "unit": problem.unit,
        "sizes": {
            "beliefs": len(problem.graph.beliefs),
            "actions": len(problem.graph.actions),
            "probes": len(problem.graph.probes),
            "hypotheses": len(problem.model.hypotheses),
        },
    }


def decide(asked: ToDecide, seconds: float) -> dict[str, Any]:
    """Return the next step and why, in the decision format, and in words."""
    state = state_of(problem_of(asked), asked)
    report = decision_report(state, in_time(asked.policy, seconds), name=asked.policy)
    words = Wording(state)
    data = decision_json(report, file="", robustness=asked.robustness)
    del data["file"]
    data["weighed"] = [
        {"step": step_to_data(step), "words": words.full(step), "loss": json_number(loss)}
        for step, loss in weighed(report)
    ]
    data["words"] = {
        "step": words.full(report.step),
        "why": reasons(report, alternatives(report)),
        "certainty": certificate(report),
        "flips": list(flips(report)) if asked.robustness else [],
    }
    return data


def view(asked: ToView, seconds: float) -> dict[str, Any]:
    """Return a situation as a page shows it: the decision, the graph, what each probe might answer, the knobs."""
    state = state_of(problem_of(asked), asked)
    report = decision_report(state, in_time(asked.policy, seconds), name=asked.policy)
    return view_of(report, with_flips=asked.flips).to_data()


def ticks(asked: ToTurn, seconds: float) -> dict[str, Any]:
    """Return where the decision flips as one knob is turned."""
    problem, policy = problem_of(replace(asked, turned={})), in_time(asked.policy, seconds / 50)
    known = {knob.key: knob for knob in knobs_of(problem)}
    if asked.knob not in known:
        raise UnknownName("knob", asked.knob, known)

    def decided(value: float) -> str:
        state = state_of(turned(problem, {**asked.turned, asked.knob: value}), replace(asked, turned={}))
        return brief(policy.next_step(state), state)

    return {"knob": asked.knob, "ticks": [write(tick) for tick in found_ticks(known[asked.knob], decided)]}


def plan(asked: ToPlan, seconds: float) -> dict[str, Any]:
    """Return what a policy will do, answer by answer; or two of them, and where they part."""
    state = state_of(problem_of(asked), asked)
    names = [asked.policy] if asked.versus is None else [asked.policy, asked.versus]
    each = SHARE * seconds / len(names)
    trees = [plan_tree(in_time(name, seconds), state, nodes=asked.nodes, seconds=each, name=name) for name in names]
    data: dict[str, Any] = dump(trees[0] if len(trees) == 1 else two_plans(*trees))
    return data


def what_if(asked: WhatIf, seconds: float) -> dict[str, Any]:
    """Return what each answer of a probe would lead to, if it were run next."""
    state = state_of(problem_of(asked), asked)
    state.probe(asked.probe)
    if reason := state.why_illegal(asked.probe):
        raise InvalidData("request.probe", f"{asked.probe!r} cannot be run now: {reason}")
    first = _First(asked.probe, state, in_time(asked.policy, seconds))
    tree = plan_tree(first, state, nodes=2, seconds=SHARE * seconds, name=asked.policy)
    return {
        "probe": asked.probe,
        "policy": asked.policy,
        "cost": json_number(state.probe(asked.probe).cost),
        "loss": json_number(tree.root.loss),
        "answers": _answers(tree, state),
    }


def _answers(tree: PlanTree, state: InformationState) -> list[dict[str, Any]]:
    found = []
    for node in tree.nodes[1:]:
        probe = cast("Reprobe", tree.root.step).probe
        after = state.after(Observation(probe, cast("str | float", node.at if node.answer is None else node.answer)))
        marginals = zip(after.problem.graph.beliefs, after.failure_probabilities.tolist(), strict=True)
        found.append(
            {
                "answer": node.answer,
                "above": node.above,
                "below": node.below,
                "at": node.at,
                "probability": node.probability,
                "step": step_to_data(node.step),
                "words": Wording(after).full(node.step),
                "loss": json_number(node.loss),
                "marginals": {belief.name: json_number(q) for belief, q in marginals},
            }
        )
    return found


@dataclass(frozen=True, slots=True)
class _First:
    """Run one probe first, whatever the policy would do; then do as it says."""

    probe: str
    at: InformationState
    then: Policy

    def next_step(self, state: InformationState) -> Step:
        return Reprobe(self.probe) if state is self.at else self.then.next_step(state)


def check(asked: Situation, seconds: float) -> dict[str, Any]:
    """Return nothing where a recovery could begin in this situation; else every fault of it is raised."""
    state_of(problem_of(asked), asked)
    return {}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A session as it is exported, for what takes long to be computed of it."""

    lines: Annotated[Any, Form(lambda value, where, report: value, lambda: {"type": "array"})]
    policy: Name = "best"

    @property
    def entries(self) -> list[Entry]:
        """Its events."""
        return [line_from_data(line)[1] for line in self.lines]

    @property
    def name(self) -> str:
        """Its name."""
        return line_from_data(self.lines[0])[0]


def instead(asked: Recorded, seconds: float) -> dict[str, Any]:
    """Return what another policy would have done with the answers of a session."""
    happened = Recovery.of([entry.event for entry in asked.entries], asked.name)
    return instead_data(happened, done_instead(happened, in_time(asked.policy, seconds)), asked.policy)


def story(asked: Recorded, seconds: float) -> dict[str, Any]:
    """Return a session as a story, with all that was weighed at every decision."""
    return session_story(asked.entries, asked.name).to_data()


QUESTIONS: dict[str, tuple[type, Callable[[Any, float], dict[str, Any]]]] = {
    "validate": (Situation, validate),
    "decide": (ToDecide, decide),
    "plan": (ToPlan, plan),
    "view": (ToView, view),
    "ticks": (ToTurn, ticks),
    "what-if": (WhatIf, what_if),
    "check": (Situation, check),
    "instead": (Recorded, instead),
    "story": (Recorded, story),
}
"""What a process can be asked, by name: what it is asked with, and who answers."""

_read: OrderedDict[str, Problem] = OrderedDict()


def problem_of(asked: Situation) -> Problem:
    """Return the problem of a situation; the last few are kept as they were read."""
    posed = asked.problem
    if not isinstance(posed, str | Mapping):
        raise InvalidData("request.problem", "it is missing; give the data or the text of a problem, or `kept`")
    ages = Ages(asked.age, asked.ages)
    key = hashlib.sha256(repr((posed, ages)).encode("utf-8", "backslashreplace")).hexdigest()
    if key not in _read:
        read = read_problem if isinstance(posed, str) else parse_problem
        _read[key] = read(cast("Any", posed), ages=ages)
    _read.move_to_end(key)
    while len(_read) > KEPT:
        _read.popitem(last=False)
    return _read[key]


def state_of(problem: Problem, asked: Situation) -> InformationState:
    """Return what is known in a situation."""
    problem = turned(problem, asked.turned)
    if asked.before is not None:
        if asked.alarm:
            raise InvalidData("request.alarm", "no alarm has rung where it is asked `before` an action; leave one out")
        state = InformationState.alarmed(before_action(problem, asked.before), (), silent=asked.silent)
    else:
        state = InformationState.alarmed(problem, asked.alarm, silent=asked.silent)
    for place, said in enumerate(asked.observed):
        state = state.after(_observation(problem, said, f"request.observed[{place}]"))
    return state


def _observation(problem: Problem, said: AnswerReceived, where: str) -> Observation:
    if said.probe not in problem.graph.probe_index:
        raise UnknownName("probe", said.probe, problem.graph.probe_index)
    channel = problem.model.channels[said.probe]
    answer = channel.parse(said.outcome)
    if answer is None:
        raise InvalidData(f"{where}.outcome", f"{said.outcome!r} is no answer of {said.probe!r}: {channel.expected}")
    return Observation(said.probe, answer)


def in_time(name: str, seconds: float) -> Policy:
    """Return a registered policy that ends its searches in time, where it has any."""
    policy: Any = registered(name)
    if is_dataclass(policy) and any(f.name == "deadline_s" for f in fields(policy)):
        limited: Policy = replace(cast("Any", policy), deadline_s=SHARE * seconds)
        return limited
    found: Policy = policy
    return found
