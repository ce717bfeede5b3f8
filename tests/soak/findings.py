"""What a soak has found, kept for the page that `docs/make_reliability.py` writes; only `SOAK=1` keeps anything."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "reliability"


def keep(what: str, part: str, seeds: str, counts: Mapping[str, int]) -> None:
    """Keep how often each thing was injected or came out, in one part of one soak."""
    if os.environ.get("SOAK"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        found = {"what": what, "part": part, "seeds": seeds, "counts": dict(sorted(counts.items()))}
        (FOLDER / f"{what}-{part}.json").write_text(json.dumps(found), encoding="utf-8")
