"""What pages say in words about committed results: every number comes from the records."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from aquamend_lab.analysis.metrics import summarise, summarise_together
from aquamend_lab.analysis.paper import paper_table
from aquamend_lab.analysis.report.paired import comparisons
from aquamend_lab.analysis.report.rendering import with_speed
from aquamend_lab.analysis.table import table_of
from aquamend_lab.benchmarks.problem_files import (
    AS_MODELLED,
    DEAD_PROBE,
    FAILURES,
    FEWER_FALSE,
    FILES,
    MORE_FALSE,
    UNLISTED,
    WORLDS,
)
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
    words = [
        f"{percent(mean('t4-v3', name, 'success'))} of the episodes at a mean loss of "
        f"{mean('t4-v3', name, 'mean_loss'):.2f}"
        for name in ("aquamend-two-step", "aquamend")
    ]
    return f"in two steps, succeeds in {words[0]}; AquaMend as its algorithm now is succeeds in {words[1]}"


def t4_ties():
    ties = [
        np.mean(abs(each("t4-v3", "aquamend") - each("t4-v3", name)) < 1e-9)
        for name in ("troubleshooting", "greedy-repair")
    ]
    decoupled, aquamend, two = (mean("t4-v3", k, "mean_loss") for k in ("decoupled", "aquamend", "aquamend-two-step"))
    assert two < decoupled < aquamend
    return (
        f"troubleshooting ties with AquaMend in {percent(ties[0])} of the episodes, greedy repair in "
        f"{percent(ties[1])}. Decoupled, which looks before it asks what to undo, loses less than either, "
        f"{decoupled:.2f}"
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
        f"{percent(tight)} of those with one; without knowing the budget it goes over it in {percent(over[0])} of "
        f"them, and decoupled in {percent(over[1])}"
    )


def t4_stress_losses():
    names = ("aquamend", "troubleshooting", "greedy-repair", "decoupled", "aquamend-two-step", "lookahead-2")
    loss = {name: mean("t4-stress-v3", name, "mean_loss") for name in names}
    assert min(loss, key=loss.get) == "lookahead-2"
    assert max(loss, key=loss.get) == "aquamend-two-step"
    assert all(loss["aquamend"] > loss[name] for name in names[1:4])
    ours, *others = (f"{loss[name]:.2f}" for name in names)
    return (
        f"AquaMend loses {ours} on average, troubleshooting {others[0]}, greedy repair {others[1]}, decoupled "
        f"{others[2]}, the two steps {others[3]}, and two probes ahead {others[4]}"
    )


def t4_ablation():
    words = [
        f"{mean('t4-ablation-v3', name, 'mean_loss'):.2f} at {mean('t4-ablation-v3', name, 'success'):.3f}"
        for name in ("aquamend-two-step", "aquamend", "no-source-separation", "independence-proxy")
    ]
    return (
        f"Losses and success are {words[0]} in two steps, {words[1]} by net value of information (the paper: 10.335 at "
        f"0.708), {words[2]} without separating sources and {words[3]} with the independence proxy"
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
    names = [name for name in records_by("beyond-v1") if "aquamend" not in name and not name.endswith("right-odds")]
    words = []
    for world in (MORE_FALSE, FEWER_FALSE):
        best = [
            min(mean("beyond-v1", name, "mean_loss", problem=file, world=world) for name in names)
            / mean("beyond-v1", "aquamend", "mean_loss", problem=file, world=world)
            for file in FILES
        ]
        words.append(f"{min(best):.1f} to {max(best):.1f} times")
    return (
        f"the best of the other policies loses {words[0]} what AquaMend does with three times the false alarms, and "
        f"{words[1]} with a third"
    )


def beyond_odds():
    words = []
    for world in (MORE_FALSE, FEWER_FALSE):
        times = [
            mean("beyond-v1", "aquamend", "mean_loss", problem=file, world=world)
            / mean("beyond-v1", "aquamend-right-odds", "mean_loss", problem=file, world=world)
            for file in FILES
        ]
        words.append(f"{min(times):.2f} to {max(times):.2f} times")
    return (
        f"AquaMend loses {words[0]} what it would with the right odds where there are three times the false alarms, "
        f"and {words[1]} where there are a third"
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
        f"whose cause is on no list, and makes them {gain} as costly"
    )


@cache
def against(suite, other, **group):
    """Return how AquaMend's losses compare with another policy's, over all scenarios or those of a group."""
    return next(
        c
        for c in comparisons(table_of(run_of(suite)), metric="loss")
        if (c.first, c.second, dict(c.group or {})) == ("aquamend", other, group)
    )


def p_of(found):
    return "p < 0.0001" if found.p_holm < 1e-4 else f"p = {found.p_holm:.2g}"


def apart(found, unit=""):
    low, high = sorted(abs(end) for end in (found.interval.low, found.interval.high))
    return f"{abs(found.mean_difference):.1f}{unit} less on average, 95 % interval {low:.1f} to {high:.1f}"


def networks_against_troubleshooting():
    found = against("networks-v1", "troubleshooting")
    assert found.interval.high < 0
    return (
        f"`aquamend` loses less than `troubleshooting` in {found.wins} of {found.pairs} scenarios and more in "
        f"{found.losses} ({found.ties} ties; {apart(found)}, exact {p_of(found)} after Holm's correction)"
    )


def networks_without_a_look():
    best, blind = against("networks-v1", "best"), against("networks-v1", "no-reprobe")
    home = against("networks-v1", "no-reprobe", network="win95pts")
    assert blind.interval.high < 0 < blind.p_holm - 0.05
    return (
        f"between `aquamend` and `best` no difference is established ({best.ties} ties). Deciding without a look loses "
        f"more on average than `aquamend` ({apart(blind)}), though the exact test finds nothing scenario by scenario "
        f"({p_of(blind)}); on *win95pts* it does ({abs(home.mean_difference):.1f} less, {p_of(home)})"
    )


def metaworld_check_everything():
    found = against("metaworld-v1", "check-everything")
    return (
        f"it loses less than `aquamend` in {found.losses} of {found.pairs} episodes and more in {found.wins} "
        f"({apart(found, ' s')}, exact {p_of(found)} after Holm's correction)"
    )


def metaworld_others():
    restart, other = against("metaworld-v1", "restart"), against("metaworld-v1", "troubleshooting")
    assert max(restart.interval.high, other.interval.high) < 0
    return (
        f"`restart` and `troubleshooting` lose {abs(restart.mean_difference):.1f} s and "
        f"{abs(other.mean_difference):.1f} s more than `aquamend` on average, by intervals that exclude zero, but the "
        f"exact test finds nothing episode by episode ({p_of(restart)} and {p_of(other).removeprefix('p = ')})"
    )


def readme_row(suite, unit=""):
    names = ("best", "aquamend", "troubleshooting", "check-everything")
    means = [mean(suite, name, "mean_loss") for name in names]
    cells = [f"{value:.1f}{unit}" for value in means]
    least = min(means)
    return " | ".join(f"**{cell}**" if value == least else cell for cell, value in zip(cells, means, strict=True))


def readme_textbooks():
    books = {dict(row.group)["problem"] for row in summaries("textbook-v1")}
    risk = {
        name: {book: mean("textbook-v1", name, "expected_risk", problem=book) for book in books}
        for name in ("best", "aquamend", "troubleshooting", "check-everything")
    }
    counts = [sum(abs(risk[name][book] - risk["best"][book]) < 1e-6 for book in books) for name in risk]
    return f"nine textbook problems, how many at the book's optimum | **{counts[0]}** | " + " | ".join(
        map(str, counts[1:])
    )


def readme_networks():
    return f"mean loss in 80 scenarios | {readme_row('networks-v1')}"


def readme_metaworld():
    return f"mean loss in 50 episodes | {readme_row('metaworld-v1', ' s')}"


def readme_m1():
    risk = [mean("m1-v2", name, "expected_risk") for name in ("aquamend", "exact")]
    return f"On 4,000 random graphs one-step AquaMend loses {more(*risk)} more than the optimum"


RESULTS, OUTSIDE, README = "docs/results.md", "docs/outside.md", "README.md"
CLAIMS = {
    "m1-v2": [m1_against_exact, m1_against_troubleshooting, m1_against_those_that_do_not_look],
    "m1-proxy-v2": [proxies],
    "t4-v3": [t4_two_steps, t4_ties],
    "t4-stress-v3": [t4_stress, t4_stress_losses],
    "t4-ablation-v3": [t4_ablation],
    "beyond-v1": [beyond_losses, beyond_restart, beyond_odds, beyond_priors, beyond_robust, beyond_person],
}
"""By suite, what results.md says of it."""
ELSEWHERE = {
    OUTSIDE: [
        networks_against_troubleshooting, networks_without_a_look, metaworld_check_everything, metaworld_others,
    ],
    README: [readme_networks, readme_textbooks, readme_metaworld, readme_m1],
}  # fmt: skip
"""By page, what it says of committed runs."""


def in_words(page):
    """Return a page without its generated tables, on one line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in ("paper", "results", "speed"):
        text = re.sub(rf"<!-- {name}:begin -->.*?<!-- {name}:end -->", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


@pytest.mark.parametrize(("suite", "claim"), [(suite, claim) for suite, own in CLAIMS.items() for claim in own])
def test_the_page_says_what_the_records_say(suite, claim):
    assert claim() in in_words(RESULTS)


@pytest.mark.parametrize(("page", "claim"), [(page, claim) for page, own in ELSEWHERE.items() for claim in own])
def test_other_pages_say_what_the_records_say(page, claim):
    assert claim() in in_words(page)


def test_no_measured_number_is_said_without_a_record():
    """Numbers with decimals, and percentages, stand in sentences that are checked, or say what counts as reproduced."""
    text = in_words(RESULTS)
    for own in CLAIMS.values():
        for claim in own:
            text = text.replace(claim(), "")
    text = text.replace("a share within 0.05", "").replace("within a seventh or 0.05", "")
    assert re.findall(r"[0-9]+\.[0-9]+|[0-9]+ ?%", text) == []


TIMED = json.loads((ROOT / "results" / "speed.json").read_text(encoding="utf-8"))


def test_the_page_on_speed_shows_what_the_bench_kept_and_says_no_number_of_its_own():
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert with_speed(page, TIMED) == page
    assert re.findall(r"[0-9]+(?:\.[0-9]+)? ?(?:ms|µs|s|%|MB|×)(?!\w)", in_words("docs/speed.md")) == []


def test_what_the_readme_says_of_minimum_cuts_was_timed():
    assert "for 100,000 of them in half a second" in in_words("README.md")
    (row,) = [row for row in TIMED["minimum_cut"]["rows"] if "100,000 beliefs" in row[0]]
    number, unit = row[1].split()
    assert float(number) * {"ms": 1e-3, "s": 1.0}[unit] <= 0.5
