"""Learn the pouring robot's model from its calibration records, and compare it with the one that special code fits.

Both learn from the same records and are asked about the same ones held back: those that `aquamend fit pouring` holds
back, and then all, each quarter held back once. The fitted model knows how amounts come about and poses a problem of
its own at every alarm; the learned one is `pouring_by_role.yaml`, with the numbers that `aquamend learn` gives it.

    python examples/learning/learned_pouring.py [results/pouring-calibration.jsonl] [--records FILE.jsonl]

With `--records`, the labelled records are written as well, for `aquamend learn FILE.jsonl --problem ...`.
"""

import json
import sys
from pathlib import Path

from aquamend.files import parse_problem
from aquamend.files.text import data_at
from aquamend.learning import calibration_of, learned
from aquamend_lab.pouring.calibration.alarm_records import posed, record_by_role
from aquamend_lab.pouring.calibration.calibration_run import CalibrationRecord
from aquamend_lab.pouring.calibration.fitting import HOLD_BACK_EVERY, fitted_to, fold_of, held_back
from aquamend_lab.pouring.model.fitted import InvalidModel
from aquamend_lab.records import read_lines

HERE = Path(__file__).parent
RECORDS = HERE.parents[1] / "results" / "pouring-calibration.jsonl"


def compared(records, template, held_back):
    """Return how each model fares on the records held back, `held_back` saying which, once or several times."""
    cases = {"fitted": [], "learned": [], "guessed": []}
    guessed = parse_problem(template)
    for held_now in held_back:
        used, held = [r for r in records if not held_now(r)], [r for r in records if held_now(r)]
        fitted, found = fitted_to(used), learned(template, [record_by_role(record) for record in used])
        cases["fitted"] += [posed(record, fitted) for record in held]
        cases["learned"] += [(found.problem, record_by_role(record)) for record in held]
        cases["guessed"] += [(guessed, record_by_role(record)) for record in held]
    return {name: calibration_of(own) for name, own in cases.items()}


def can_be_fitted(records):
    """Whether records tell all that special code has to know, such as how long each movement takes."""
    try:
        fitted_to(records)
    except InvalidModel:
        return False
    return True


def main(arguments):
    path = Path(arguments[0]) if arguments and not arguments[0].startswith("--") else RECORDS
    records = [CalibrationRecord.from_data(line) for line in read_lines(path)]
    if "--records" in arguments:
        rows = [record_by_role(record) for record in records]
        text = "".join(json.dumps({"found": r.found, "when": r.when, **r.readings}) + "\n" for r in rows)
        Path(arguments[arguments.index("--records") + 1]).write_text(text, encoding="utf-8")
    template = data_at(str(HERE / "pouring_by_role.yaml"))
    folds = [lambda record, fold=fold: fold_of(record) == fold for fold in range(HOLD_BACK_EVERY)]
    folds = [fold for fold in folds if can_be_fitted([r for r in records if not fold(r)])]
    quarters = f"{len(folds)} quarters, each held back once"
    for title, held in (("held back by `aquamend fit pouring`", [held_back]), (quarters, folds)):
        found = compared(records, template, held)
        print(f"{found['fitted'].records} records, {title}")
        print(f"{'model':10} {'Brier':>7} {'ECE':>7} {'log score':>10} {'in 50 %':>8} {'in 95 %':>8}")
        for name, c in found.items():
            inside = "".join(f" {share:8.3f}" for share in c.coverage.values())
            print(f"{name:10} {c.brier:7.4f} {c.ece:7.4f} {c.log_score:10.3f}{inside}")


if __name__ == "__main__":
    main(sys.argv[1:])
