"""``aquamend validate``: are these files sound?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from aquamend.cli.command import Command
from aquamend.cli.inputs import ages_of, problem_in
from aquamend.cli.options import Age, AsJson, Files
from aquamend.cli.output import Refusals, print_json, refusing
from aquamend.errors import InvalidProblem

if TYPE_CHECKING:
    from aquamend.problem import Problem

COMMANDS = {"validate": Command("aquamend.cli.validate:validate", "Check problem files for faults.")}


def validate(files: Files, *, age: Age = [], as_json: AsJson = False) -> None:  # noqa: B006
    """Check problem files; print every fault found: where it stands, the value, what to do."""
    with refusing("aquamend validate"):
        ages = ages_of(age)
    refusals = Refusals()
    for file in files:
        try:
            problem = problem_in(file, ages)
        except InvalidProblem as error:
            refusals.about(file, error)
            if as_json:
                print_json({"file": file, "valid": False, "faults": _faults(error)})
        else:
            if as_json:
                grown = [step._asdict() for step in problem.model.grown]
                hypotheses = {"hypotheses": len(problem.model.hypotheses), **({"grown": grown} if grown else {})}
                print_json({"file": file, "valid": True, "faults": [], **hypotheses, **_left_out_data(problem)})
            else:
                typer.echo(f"{file}: valid ({_size(problem)}){_growth(problem)}{_left_out_text(problem)}")
    refusals.exit()


def _faults(error: InvalidProblem) -> list[dict[str, Any]]:
    return [
        {"where": f.where, "problem": f.problem, "remedy": f.advice}
        | ({} if f.line is None else {"line": f.line, "column": f.column})
        for f in error.faults
    ]


def _growth(problem: Problem) -> str:
    """Return what made more hypotheses than were written, where anything did: every one takes time."""
    return "".join(f"\n  {step.by}: {step.before:,} → {step.after:,}" for step in problem.model.grown)


def _left_out_data(problem: Problem) -> dict[str, Any]:
    """Return what combinations of causes were left out, for a program; nothing where none were."""
    from aquamend.codec import json_number
    from aquamend.planning.bounds import effect_of_left_out

    effect = effect_of_left_out(problem)
    if effect is None:
        return {}
    return {
        "left_out": {
            "prior": effect.prior,
            "after_alarm": effect.by_now,
            "loss_changes_by_at_most": json_number(effect.loss),
        }
    }


def _left_out_text(problem: Problem) -> str:
    from aquamend.planning.bounds import effect_of_left_out
    from aquamend.story.reasons import left_out_text

    effect = effect_of_left_out(problem)
    return "" if effect is None else f"\n  {left_out_text(effect, problem.unit)}"


def _size(problem: Problem) -> str:
    from aquamend.text import counted

    graph = problem.graph
    counts = {
        "belief": len(graph.beliefs), "action": len(graph.actions), "probe": len(graph.probes),
        "hypothesis": len(problem.model.hypotheses),
    }  # fmt: skip
    return ", ".join(counted(n, noun) for noun, n in counts.items())
