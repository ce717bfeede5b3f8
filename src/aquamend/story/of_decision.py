"""A decision as part of a story, or as one: the reason, every alternative, what each answer leads to, flips."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from aquamend.belief import InformationState
from aquamend.decision.step_words import Wording
from aquamend.decision.steps import Reprobe, Step
from aquamend.policies.decision_report import DecisionReport, alternatives, answers_to, decision_report
from aquamend.policies.policy import Description
from aquamend.policies.registry import POLICIES
from aquamend.story.believed import alarm_updates, edges_of, likeliest, nodes_of, statements_of
from aquamend.story.reasons import certificate, flips, reasons
from aquamend.story.story import AfterAnswer, Choice, Flip, Kind, Moment, Option, Story
from aquamend.text import capital

MOST_OPTIONS, MOST_ANSWERS = 10, 24

Named = Callable[[Step, InformationState], str]
"""Returns what a step is called."""


def brief(step: Step, state: InformationState) -> str:
    """Return a step as `decide` calls it."""
    return Wording(state).brief(step)


def choice_of(report: DecisionReport, *, name: Named = brief, with_flips: bool = True) -> Choice:
    """Return a decision for a story.

    What would flip it, and how the losses of probes split, takes the longest; without flips both are left out.
    """
    words, table = Wording(report.state), alternatives(report, most=MOST_OPTIONS, apart=with_flips)
    scope = words.scope if name is brief else lambda step: ""  # another name says it all
    options = tuple(
        Option(
            name(row.step, report.state),
            scope(row.step),
            row.loss,
            row.sensing,
            row.recovery,
            row.residual,
            row.chosen,
        )
        for row in table.rows
    )
    known = with_flips and report.robustness is not None and report.robustness.distance is not None
    nearest = next(flips(report), "") if known else ""
    return Choice(
        policy=report.policy,
        step=name(report.step, report.state),
        scope=scope(report.step),
        why=reasons(report, table),
        options=options,
        answers=tuple(_answers(report, name, scope)),
        flips=tuple(sorted(_flips(report), key=lambda flip: abs(flip.at - flip.now))) if with_flips else (),
        nearest_flip=nearest,
        lower=report.bounds.lower,
        upper=report.bounds.upper,
        certificate=certificate(report),
    )


def recorded_choice(state: InformationState, policy: str, step: Step) -> Choice:
    """Return a decision that somebody made earlier, explained at the state in which it was made."""
    shipped = POLICIES.get(policy)  # a module that a log names is not imported
    recorded = _Recorded(step, None if shipped is None else shipped().description)
    return choice_of(decision_report(state, recorded, name=policy))


class _Recorded:
    """Takes the step that is on record."""

    def __init__(self, step: Step, description: Description | None) -> None:
        self.step = step
        if description is not None:
            self.description = description

    def next_step(self, state: InformationState) -> Step:
        return self.step


def _answers(report: DecisionReport, name: Named, scope: Callable[[Step], str]) -> Iterator[AfterAnswer]:
    if not isinstance(report.step, Reprobe) or report.state.contradiction is not None:
        return
    found = answers_to(report.state, report.step.probe)
    likely = sorted(range(len(found)), key=lambda i: -found[i].probability)[:MOST_ANSWERS]
    for answer in (found[i] for i in sorted(likely)):
        then = answer.stop.decision
        yield AfterAnswer(answer.label, answer.probability, name(then, report.state), scope(then), answer.stop.loss)


def _flips(report: DecisionReport) -> Iterator[Flip]:
    found = report.robustness
    for threshold in () if found is None else found.thresholds:
        for at, to in ((threshold.below, threshold.below_step), (threshold.above, threshold.above_step)):
            if at is not None:
                yield Flip(threshold.belief, threshold.now, at, to or "another step")


def decision_story(report: DecisionReport, *, file: str) -> Story:
    """Return the story of one decision."""
    state = report.state
    problem, choice = state.problem, choice_of(report)
    next_step = Wording(state).full(report.step)
    decided = Moment(0.0, Kind.DECIDED, capital(choice.step), choice.why, choice=choice)
    verb = "Next, " if isinstance(report.step, Reprobe) else "Now "
    return Story(
        title=problem.name,
        facts={"file": file, "policy": report.policy},
        unit=problem.unit,
        policy=report.policy,
        moments=(decided,),
        updates=likeliest(list(alarm_updates(state, 0.0))),
        statements=statements_of(state),
        nodes=tuple(nodes_of(problem, state=state, step=report.step)),
        edges=edges_of(problem),
        verdict=f"{verb}{next_step}.",
    )
