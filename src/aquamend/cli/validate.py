"""``aquamend validate``: are these files sound?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from aquamend.cli.complaints import Complaints
from aquamend.cli.options import AsJson, Files
from aquamend.cli.output import print_json
from aquamend.errors import InvalidProblem

if TYPE_CHECKING:
    from aquamend.problem import Problem


def validate(files: Files, *, as_json: AsJson = False) -> None:
    """Check problem files; print every fault found: where it stands, the value, what to do."""
    from aquamend.problem_file import load_problem

    complaints = Complaints()
    for file in files:
        try:
            problem = load_problem(file)
        except InvalidProblem as error:
            complaints.about(file, error)
            if as_json:
                print_json({"file": file, "valid": False, "faults": _faults(error)})
        else:
            if as_json:
                print_json({"file": file, "valid": True, "faults": []})
            else:
                typer.echo(f"{file}: valid ({_size(problem)})")
    complaints.exit()


def _faults(error: InvalidProblem) -> list[dict[str, Any]]:
    return [{"where": f.where, "problem": f.problem, "remedy": f.remedy} for f in error.faults]


def _size(problem: Problem) -> str:
    graph = problem.graph
    counts = {
        "belief": len(graph.beliefs), "action": len(graph.actions), "probe": len(graph.probes),
        "hypothesis": len(problem.model.hypotheses),
    }  # fmt: skip
    plural = {"hypothesis": "hypotheses"}
    return ", ".join(f"{n} {name if n == 1 else plural.get(name, name + 's')}" for name, n in counts.items())
