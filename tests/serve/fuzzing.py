"""What the fuzzer knows beyond the description: a sound situation, so that it gets past the first fault.

It stands in every second body of the right form that holds a situation. Without it, hardly a session would begin.
"""

import itertools

import schemathesis
from tests.adapters.problems import CUP

CALLS = itertools.count()
SOUND = {"before": None, "observed": [], "alarm": None, "silent": [], "age": None, "ages": {}, "turned": {}}
ASKED = {
    "POST /api/validate": {},
    "POST /api/decide": {"policy": "best", "seconds": None},
    "POST /api/view": {"policy": "best", "seconds": None},
    "POST /api/ticks": {"policy": "best", "seconds": None, "knob": "cost look"},
    "POST /api/plan": {"policy": "best", "seconds": None, "versus": None},
    "POST /api/what-if": {"policy": "best", "seconds": None, "probe": "weigh"},
    "POST /api/sessions": {"policy": "best"},
    "PUT /api/problems/{name}": {},
}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Put a sound situation into every second body that is to be accepted."""
    label = case.operation.label
    if label in ASKED and _to_be_accepted(case) and next(CALLS) % 2:
        keep = {"problem": CUP} if label.startswith("PUT") else {"problem": None, "kept": "cup"}
        case.body = {**case.body, **SOUND, "kept": None, **keep, **ASKED[label]}


def _to_be_accepted(case):
    parts = case.meta.components.values() if case.meta else ()
    return isinstance(case.body, dict) and bool(parts) and all(part.mode.is_positive for part in parts)
