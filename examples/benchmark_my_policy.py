"""Benchmark a policy of your own: the same scenarios, the same answers, an exact paired test."""

import tempfile

from aquamend import InformationState, Reprobe, best_terminal
from aquamend_lab.analysis.comparison import compare, side
from aquamend_lab.analysis.comparison_text import verdict
from aquamend_lab.analysis.table import table_of
from aquamend_lab.benchmarks.runner import Wanted, run_suite


class LookOnce:
    """Run the cheapest probe, whatever it costs and tells; then take the best decision."""

    def next_step(self, state: InformationState):
        if state.evidence:
            return best_terminal(state).decision
        return Reprobe(min(state.problem.graph.probes, key=lambda probe: probe.cost).name)


if __name__ == "__main__":  # or: aquamend bench m1-v2 --policies aquamend,benchmark_my_policy:LookOnce
    mine = "benchmark_my_policy:LookOnce"
    with tempfile.TemporaryDirectory() as folder:
        asked = Wanted(("aquamend", mine), scenarios=100, seeds=1)
        table = table_of(run_suite("m1-v2", folder, asked=asked, jobs=1))
        print(verdict(compare(side(table, "aquamend"), side(table, mine, name="LookOnce"))[0]))
