"""What pages say in words about committed results: every number comes from the records."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.summary import summarise, summarise_together
from aquamend_lab.analysis.table import table_of
from aquamend_lab.benchmarks.beyond import (
    AS_MODELLED,
    DEAD_PROBE,
    FAILURES,
    FEWER_FALSE,
    FILES,
    MORE_FALSE,
    UNLISTED,
    WORLDS,
)
from aquamend_lab.benchmarks.catalogue import NOT_RUN_YET
from aquamend_lab.records import load_run

ROOT = Path(__file__).parents[3]


@cache
def run_of(suite):
    return load_run(ROOT / "results" / suite)


@cache
def summaries(suite):
    table = table_of(run_of(suite))
    return [*(summarise_together(table) if table.pooled else []), *summarise(table)]


def mean(suite, policy, key, **group):
    return next(row[key] for row in summaries(suite) if row.policy == policy and {**row.group} == group)


@cache
def records_by(suite):
    """Return the records of each policy, in the order of seeds and scenarios, in which runs keep them."""
    found = {}
    for record in run_of(suite).records:
        found.setdefault(record["policy"], []).append(record)
    return found


def each(suite, policy, key="loss", **group):
    return np.array([r[key] for r in records_by(suite)[policy] if group.items() <= r["group"].items()])


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


def percent(share):
    return f"{100 * share:.1f} %"


def t4_two_steps():
    told = [
        f"{percent(mean('t4-v3', name, 'success'))} of the episodes at a mean loss of "
        f"{mean('t4-v3', name, 'mean_loss'):.2f}"
        for name in ("aquamend-two-step", "aquamend")
    ]
    return f"in two steps, succeeds in {told[0]}; AquaMend as its algorithm now is succeeds in {told[1]}"


def t4_ties():
    ties = [
        np.mean(abs(each("t4-v3", "aquamend") - each("t4-v3", name)) < 1e-9)
        for name in ("troubleshooting", "greedy-repair")
    ]
    decoupled = mean("t4-v3", "decoupled", "mean_loss")
    return (
        f"troubleshooting ties with AquaMend in {percent(ties[0])} of the episodes, greedy repair in "
        f"{percent(ties[1])}, and decoupled loses {decoupled:.2f}"
    )


def t4_stress():
    budget = ("sensing budget", "combined")
    free, tight = (
        np.mean([each("t4-stress-v3", "aquamend-two-step", "success", factor=f).mean() for f in factors])
        for factors in (("common cause", "shared closures"), budget)
    )
    over = [
        mean("t4-stress-v3", f"{name}-no-budget", "over_budget_rate") for name in ("aquamend-two-step", "decoupled")
    ]
    return (
        f"in two steps it succeeds in {percent(free)} of the episodes without a sensing budget and in "
        f"{percent(tight)} of those with one; not told the budget it goes over it in {percent(over[0])} of them, and "
        f"decoupled in {percent(over[1])}"
    )


def t4_ablation():
    told = [
        f"{mean('t4-ablation-v3', name, 'mean_loss'):.2f} at {mean('t4-ablation-v3', name, 'success'):.3f}"
        for name in ("aquamend-two-step", "aquamend", "no-source-separation", "independence-proxy")
    ]
    return (
        f"Losses and success are {told[0]} in two steps, {told[1]} by net value of information (the paper: 10.335 at "
        f"0.708), {told[2]} without separating sources and {told[3]} with the independence proxy"
    )


def beyond(world, policy="aquamend", reference="aquamend", before=FAILURES):
    """Return the least and the most, over the files, of what a policy loses there over what another loses before."""
    times = [
        mean("beyond-v1", policy, "mean_loss", problem=file, world=world)
        / mean("beyond-v1", reference, "mean_loss", problem=file, world=before)
        for file in FILES
    ]
    return f"{min(times):.1f} to {max(times):.1f} times"


def beyond_losses():
    return (
        f"Where the cause is on no list, AquaMend loses {beyond(UNLISTED)} what it loses on the same failures when "
        f"they are listed; with a dead probe that reads fine {beyond(DEAD_PROBE)}"
    )


def beyond_restart():
    less = [
        mean("beyond-v1", "restart", "mean_loss", problem=file, world=UNLISTED)
        < mean("beyond-v1", "aquamend", "mean_loss", problem=file, world=UNLISTED)
        for file in FILES
    ]
    return f"on causes that nobody listed a restart loses less than AquaMend in {sum(less)} of {len(less)} files"


def beyond_priors():
    names = [name for name in records_by("beyond-v1") if name != "aquamend" and not name.startswith("aquamend-")]
    told = []
    for world in (MORE_FALSE, FEWER_FALSE):
        best = [
            min(mean("beyond-v1", name, "mean_loss", problem=file, world=world) for name in names)
            / mean("beyond-v1", "aquamend", "mean_loss", problem=file, world=world)
            for file in FILES
        ]
        told.append(f"{min(best):.1f} to {max(best):.1f} times")
    return (
        f"the best of the other policies loses {told[0]} what AquaMend does with three times the false alarms, and "
        f"{told[1]} with a third"
    )


def beyond_robust():
    price = beyond(AS_MODELLED, "robust-0.1", before=AS_MODELLED)
    gain = beyond(UNLISTED, "robust-0.1", before=UNLISTED)
    dear = beyond(AS_MODELLED, "robust-0.3", before=AS_MODELLED)
    return (
        f"`robust-0.1` costs {price} what AquaMend does where the model is right, and {gain} where the cause is on no "
        f"list; `robust-0.3` costs {dear} where the model is right"
    )


def beyond_person():
    called = [
        mean("beyond-v1", "aquamend-surprise-0.001", "escalation_rate", problem=file, world=UNLISTED) for file in FILES
    ]
    same = all(
        np.array_equal(
            each("beyond-v1", "aquamend", problem=file, world=world),
            each("beyond-v1", "aquamend-alone", problem=file, world=world),
        )
        for file in FILES
        for world in WORLDS
    )
    assert same
    gain = beyond(UNLISTED, "aquamend-surprise-0.001", before=UNLISTED)
    return (
        f"below 0.001 a surprise calls a person in {percent(min(called))} to {percent(max(called))} of the recoveries "
        f"whose cause is on no list, and makes them {gain} as dear"
    )


RESULTS = "docs/results.md"
CLAIMS = {
    "m1-v2": [m1_against_exact, m1_against_troubleshooting, m1_against_those_that_do_not_look],
    "m1-proxy-v2": [proxies],
    "t4-v3": [t4_two_steps, t4_ties],
    "t4-stress-v3": [t4_stress],
    "t4-ablation-v3": [t4_ablation],
    "beyond-v1": [beyond_losses, beyond_restart, beyond_priors, beyond_robust, beyond_person],
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
