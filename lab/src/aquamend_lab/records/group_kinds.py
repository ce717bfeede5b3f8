"""What the names in a scenario's group stand for; a suite declares it in its manifest, and the analysis goes by it."""

from __future__ import annotations

from collections.abc import Mapping

KIND = "kind"
"""What kind of scenario was drawn: a mean over all kinds is one over scenarios."""
STRATUM = "stratum"
"""The same, drawn in numbers that were fixed beforehand: intervals of that mean are resampled within each."""
SETTING = "setting"
"""How the same scenarios were varied: pairs of different settings are not independent of each other."""
SIZE = "size"
"""What was varied on purpose, such as how large a scenario is: a mean over its values is one over how it was varied."""
PROBLEM = "problem"
"""Which problem it is, of which only the truth is drawn: what is expected of a policy there is one exact number."""

KINDS = (KIND, STRATUM, SETTING, SIZE, PROBLEM)

USUAL_KINDS: Mapping[str, str] = {"factor": KIND, "stage": STRATUM, "family": STRATUM, "setting": SETTING}
"""For suites that declare nothing; every other name is a size."""
