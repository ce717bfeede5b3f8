"""What pages say in words about committed results: every number comes from the records."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.summary import summarise, summarise_together
from aquamend_lab.analysis.table import table_of
from aquamend_lab.benchmarks.catalogue import NOT_RUN_YET
from aquamend_lab.records import load_run

ROOT = Path(__file__).parents[3]


@cache
def table(suite):
    return table_of(load_run(ROOT / "results" / suite))


def mean(suite, policy, key, **group):
    rows = summarise(table(suite)) if group or not table(suite).pooled else summarise_together(table(suite))
    return next(row[key] for row in rows if row.policy == policy and {**row.group} == group)


@cache
def losses(suite, policy):
    records = load_run(ROOT / "results" / suite).records
    return {(r["seed"], r["scenario"]): r for r in records if r["policy"] == policy}


def each(suite, policy, key="loss", **group):
    rows = losses(suite, policy)
    return np.array([rows[at][key] for at in sorted(rows) if group.items() <= rows[at]["group"].items()])


def more(ours, theirs):
    return f"{100 * (ours / theirs - 1):.1f} %"


def m1_against_exact():
    gap = each("m1-v2", "aquamend", "expected_risk") - each("m1-v2", "exact", "expected_risk")
    assert gap.min() >= -1e-9
    most = mean("m1-v2", "aquamend", "expected_risk"), mean("m1-v2", "exact", "expected_risk")
    same = f"{100 * np.mean(gap < 1e-9):.1f} %"
    above = more(*most)
    return f"AquaMend's expected risk is that of the exact plan on {same} of the graphs and {above} above it on average"


def m1_against_troubleshooting():
    one, other = each("m1-v2", "aquamend"), each("m1-v2", "troubleshooting")
    ties = np.mean(abs(one - other) < 1e-9)
    risk = mean("m1-v2", "troubleshooting", "expected_risk"), mean("m1-v2", "aquamend", "expected_risk")
    paper = {row.policy: row.get("expected_risk") for row in paper_table("m1-v2").rows}
    return (
        f"troubleshooting with the joint posterior has {more(*risk)} more expected risk (the paper: "
        f"{more(paper['troubleshooting'], paper['aquamend'])}), and ties on {100 * ties:.1f} % of the graphs"
    )


def m1_against_those_that_do_not_look():
    aquamend = mean("m1-v2", "aquamend", "expected_risk")
    names = ("greedy-repair", "no-reprobe", "restart", "veritrace")
    found = [f"{mean('m1-v2', name, 'expected_risk') / aquamend:.2f}" for name in names]
    return (
        f"greedy repair has {found[0]} times, never looking again {found[1]} times, a restart {found[2]} times and "
        f"VeriTrace {found[3]} times AquaMend's expected risk"
    )


def proxies():
    found = [
        100 * mean("m1-proxy-v2", "independent", "normalised_error", mode="independent", support="small", failed=failed)
        for failed in ("1.67", "0.8", "0.4")
    ]
    return (
        f"its error on independent states is {found[0]:.1f} % where 1.67 beliefs fail on average, {found[1]:.1f} % "
        f"with 0.8 and {found[2]:.1f} % with 0.4 (the paper: 27.6 %)"
    )


RESULTS = "docs/results.md"
CLAIMS = {
    "m1-v2": [m1_against_exact, m1_against_troubleshooting, m1_against_those_that_do_not_look],
    "m1-proxy-v2": [proxies],
}
"""By suite, what results.md says of it; a suite that has not been run says nothing."""


def in_words(page):
    """Return a page without its generated tables, on one line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in ("paper", "results"):
        text = re.sub(rf"<!-- {name}:begin -->.*?<!-- {name}:end -->", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


@pytest.mark.parametrize(("suite", "claim"), [(suite, claim) for suite, own in CLAIMS.items() for claim in own])
def test_the_page_says_what_the_records_say(suite, claim):
    assert suite not in NOT_RUN_YET
    assert claim() in in_words(RESULTS)


def test_no_measured_number_is_said_without_a_record():
    """Numbers with decimals, and percentages, stand in sentences that are checked, or say what counts as reproduced."""
    text = in_words(RESULTS)
    for own in CLAIMS.values():
        for claim in own:
            text = text.replace(claim(), "")
    text = text.replace("a share within 0.05", "").replace("within a seventh or 0.05", "")
    assert re.findall(r"[0-9]+\.[0-9]+|[0-9]+ ?%", text) == []
