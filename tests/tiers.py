"""How many random cases a test tries: few in `make test`, many in `make test-all`."""

import os

QUICK = "AQUAMEND_QUICK_TESTS"
"""Set while the quick tier runs, before any test module is imported."""


def cases(few: int, many: int) -> int:
    """Return the first number in the quick tier, else the second."""
    return few if os.environ.get(QUICK) else many
