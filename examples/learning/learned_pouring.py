"""Learn the pouring robot's model from its calibration records, and compare it with the one that special code fits.

Both learn from the same records and are asked about the same ones held back: those that `aquamend fit pouring` holds
back, and then all, each eighth held back once. The fitted model knows how amounts come about and poses a problem of its
own at every alarm; the learned one is `pouring_by_role.yaml`, with the numbers that `aquamend learn` gives it. What
their decisions lose is compared in one problem, the robot's own at that alarm, with the probabilities of either.

    python examples/learning/learned_pouring.py [results/pouring-calibration.jsonl] [--records FILE.jsonl] [--keep FILE]

With `--records`, the labelled records are written as well, for `aquamend learn FILE.jsonl --problem ...`; with
`--keep`, what came out, as results/learned-pouring.json has it.
"""

import json
import sys
from pathlib import Path

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.codec.plain_text import data_at
from aquamend.decision.steps import Reprobe
from aquamend.decision.terminal import best_terminal
from aquamend.files import parse_problem
from aquamend.learning import calibration_of, learned
from aquamend.learning.checking import lost_by, state_after, without_rules
from aquamend.policies import policy_named
from aquamend_lab.analysis.statistics import paired_bootstrap
from aquamend_lab.pouring.calibration_run import KINDS, CalibrationRecord
from aquamend_lab.pouring.robot_fit import fitted_to, held_back, nearest, posed, posed_by, record_by_role
from aquamend_lab.records import read_lines

HERE = Path(__file__).parent
RECORDS = HERE.parents[1] / "results" / "pouring-calibration.jsonl"
EIGHTHS = [lambda record, eighth=eighth: record.run // len(KINDS) % 8 == eighth for eighth in range(8)]
"""Each holds back one record of every kind of trouble."""


def held_back_cases(records, template, held_back):
    """Yield every record held back, with the problem that each model is asked by, and the one that it decides in."""
    guessed = parse_problem(template)
    for held_now in held_back:
        used, held = [r for r in records if not held_now(r)], [r for r in records if held_now(r)]
        fitted = fitted_to(used, timed=records)  # how long skills take prices all decisions alike
        by_learning = learned(template, [record_by_role(record) for record in used], intervals=False).problem
        for record in held:
            asked, decides = {"fitted": posed(record, fitted)}, {"fitted": posed(record, fitted)[0]}
            for name, file in (("learned", by_learning), ("guessed", guessed)):
                asked[name], decides[name] = (file, record_by_role(record)), posed_by(file, record, fitted)
            yield record, fitted, asked, decides


def replayed(problem, record, so, policy):
    """Return what a policy loses on a recorded alarm, its probes answering as they did then."""
    state, spent = InformationState.alarmed(problem), 0.0
    for said in record.heard.measured:
        state = state.after(said)
    while isinstance(step := policy.next_step(state), Reprobe):
        spent += problem.graph.probes[problem.graph.probe_index[step.probe]].cost
        state = state.after(Observation(step.probe, record.readings[step.probe]))
    return spent + lost_by(problem, so, step)


def lost_on(problem, record, fitted, policy):
    """Return what is lost on a recorded alarm by ending at once after all that was read, and by a policy.

    The policy decides as the robot does, then as if it need not have evidence for what it keeps and declares.
    """
    so = np.eye(len(problem.model.hypotheses))[nearest(problem, record, fitted)]
    _, everything = posed(record, fitted)
    at_once = lost_by(problem, so, best_terminal(state_after(problem, everything)).decision)
    return at_once, *(replayed(one, record, so, policy) for one in (problem, without_rules(problem)))


def compared(records, template, held_back):
    """Return how each model fares on the records held back, and by record its Brier score, log score and losses."""
    cases, each = {}, {}
    policy = policy_named("aquamend")
    for record, fitted, asked, decides in held_back_cases(records, template, held_back):
        for name, case in asked.items():
            cases.setdefault(name, []).append(case)
            own = calibration_of([case])
            row = (own.brier, own.log_score, *lost_on(decides[name], record, fitted, policy))
            each.setdefault(name, []).append(row)
    return {name: calibration_of(own) for name, own in cases.items()}, {n: np.array(rows) for n, rows in each.items()}


def show(title, found, each):
    """Print a table of the models, and of how they differ, record by record."""
    print(f"{found['fitted'].records} records, {title}")
    columns = ("Brier", "ECE", "log score", "in 50 %", "in 95 %", "at once", "replay", "no rules")
    print(f"{'model':10}" + "".join(f" {column:>9}" for column in columns))
    for name, c in found.items():
        inside = "".join(f" {share:9.3f}" for share in c.coverage.values())
        losses = "".join(f" {loss:9.2f}" for loss in each[name].mean(axis=0)[2:])
        print(f"{name:10} {c.brier:9.4f} {c.ece:9.4f} {c.log_score:9.3f}{inside}{losses}")
    for other in ("fitted", "guessed"):
        apart = each["learned"] - each[other]
        print(f"learned less {other}, mean and 95 % interval over records; records where it is lower, equal, higher:")
        kinds = ("Brier", "log score", "lost at once", "lost in the replay", "lost without rules")
        for what, own in zip(kinds, apart.T, strict=True):
            low, high = paired_bootstrap(own)
            signs = [int(n) for n in ((own < -1e-9).sum(), (abs(own) <= 1e-9).sum(), (own > 1e-9).sum())]
            print(f"  {what}: {own.mean():.4f} ({low:.4f} to {high:.4f}); {signs[0]}, {signs[1]}, {signs[2]}")


def kept(held_back, records, found, each):
    """Return what came out as plain data: scores of each model, and by record the rows of `compared`."""
    return {
        "runs": [record.run for held_now in held_back for record in records if held_now(record)],
        "scores": {name: [c.brier, c.ece, c.log_score, *c.coverage.values()] for name, c in found.items()},
        "rows": {name: [[float(f"{number:.9g}") for number in row] for row in rows] for name, rows in each.items()},
    }


def main(arguments):
    path = Path(arguments[0]) if arguments and not arguments[0].startswith("--") else RECORDS
    records = [CalibrationRecord.from_data(line) for line in read_lines(path)]
    if "--records" in arguments:
        rows = [record_by_role(record) for record in records]
        named = [{"found": r.found, "when": r.when} | {f"truth:{b}": g for b, g in r.truth.items()} for r in rows]
        text = "".join(json.dumps(own | dict(r.readings)) + "\n" for own, r in zip(named, rows, strict=True))
        Path(arguments[arguments.index("--records") + 1]).write_text(text, encoding="utf-8")
    template = data_at(str(HERE / "pouring_by_role.yaml"))
    found = {}
    for title, held in (("held back by `aquamend fit pouring`", [held_back]), ("each eighth held back once", EIGHTHS)):
        came_out = compared(records, template, held)
        show(title, *came_out)
        found[title] = kept(held, records, *came_out)
    if "--keep" in arguments:
        Path(arguments[arguments.index("--keep") + 1]).write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
