"""One decision as a story: what the answers so far led to believe, and what to do next."""

from __future__ import annotations

from aquamend.decision.steps import Reprobe
from aquamend.explanation.report import DecisionReport
from aquamend.explanation.wording import Wording
from aquamend.story.believed import alarm_updates, edges_of, likeliest, nodes_of, statements_of
from aquamend.story.choices import choice_of
from aquamend.story.story import Kind, Moment, Story
from aquamend.text import capital


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
