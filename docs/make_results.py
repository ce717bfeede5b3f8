"""Make the pages' tables and pictures from the committed runs: `.venv/bin/python docs/make_results.py`."""

from __future__ import annotations

import json
from pathlib import Path

from aquamend.files.atomic import write_atomically
from aquamend_lab.analysis.charts import described_by, styles_in
from aquamend_lab.analysis.metrics import summarise
from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.report.plots import mean_dots
from aquamend_lab.analysis.report.rendering import with_speed, with_tables
from aquamend_lab.analysis.table import table_of
from aquamend_lab.benchmarks.catalogue import ELSEWHERE, EXECUTED, OUTSIDE, PUBLISHED
from aquamend_lab.records import Run, load_run

ROOT = Path(__file__).parent.parent
FROM_OUTSIDE = (*(suite.name for suite in OUTSIDE), *ELSEWHERE)
PAGES = {
    "README.md": EXECUTED[:1],
    "docs/results.md": tuple(name for name in (*EXECUTED, *PUBLISHED) if name not in FROM_OUTSIDE),
    "docs/outside.md": FROM_OUTSIDE,
}
PICTURES = {"ablation": "t4-ablation-v3", "pouring": "t4-v3"}
"""Which suite's means each of them draws."""


def committed(suite: str) -> Run:
    """Return a suite's run in results/."""
    return load_run(ROOT / "results" / suite)


def picture(suite: str) -> bytes:
    """Return the drawing of a suite's means beside the paper's, as SVG."""
    run = committed(suite)
    with described_by(styles_in([run.manifest])):
        figure = mean_dots(suite, summarise(table_of(run)), paper_table(suite))
    if figure is None:
        raise SystemExit(f"there is nothing to draw of {suite}")
    return figure.svg


def main() -> None:
    """Write the pages again, with the tables between their markers, and the pictures."""
    for page, suites in PAGES.items():
        path = ROOT / page
        runs = [committed(suite) for suite in suites]
        with described_by(styles_in(run.manifest for run in runs)):
            text = with_tables(path.read_text(encoding="utf-8"), runs)
        write_atomically(path, text.encode())
    speed, timed = ROOT / "docs" / "speed.md", json.loads((ROOT / "results" / "speed.json").read_text("utf-8"))
    write_atomically(speed, with_speed(speed.read_text("utf-8"), timed).encode())
    for name, suite in PICTURES.items():
        write_atomically(ROOT / "docs" / "images" / f"{name}.svg", picture(suite))


if __name__ == "__main__":
    main()
