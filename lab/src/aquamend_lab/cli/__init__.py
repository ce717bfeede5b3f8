"""The laboratory's commands, which come into the program ``aquamend`` by entry points."""

from aquamend.cli import Command

DEMO = Command(
    "aquamend_lab.cli.demo:demo", "Watch a robot recover, and keep the story as a page.", needs_arguments=False
)
BENCH = Command("aquamend_lab.cli.bench:bench", "Run a benchmark suite, or list the suites.")
REPORT = Command("aquamend_lab.cli.report:report", "Write one page about one or more runs.")
COMPARE = Command("aquamend_lab.cli.compare:compare", "Compare two policies, or two runs, scenario by scenario.")
REPLAY = Command("aquamend_lab.cli.demo:replay", "Turn a saved recording into a page that plays it.")
FIT = Command("aquamend_lab.cli.fit:fit", "Calibrate a world's model from runs of its own.")
