"""What records tell beside losses: stated probabilities, first commands, every failure, and how long decisions took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.errors import InvalidRun
from aquamend.learning.estimates import ProbabilityQuality, probability_quality, rounded
from aquamend_lab.analysis.charts import Dot, Line, Panel, curve_plot, dot_plot
from aquamend_lab.analysis.metrics import METRICS, Summary, metrics_in
from aquamend_lab.analysis.paper import (
    FIRST_COMMANDS,
    Q1_DIFFERENCES,
    PaperTable,
    family_of,
    paper_quality,
    paper_times,
)
from aquamend_lab.analysis.report.document import (
    DASH,
    Cell,
    Column,
    Figure,
    Table,
    as_form,
    count,
    decimal,
    interval,
    policy_name,
    signed,
    table_of_texts,
)
from aquamend_lab.analysis.report.plots import label_of
from aquamend_lab.analysis.statistics import paired_bootstrap
from aquamend_lab.analysis.table import RunTable, knows_the_truth


def event_qualities(table: RunTable) -> dict[tuple[str, str], ProbabilityQuality]:
    """Return the quality of the probabilities by version and event, as they appear; none where no record keeps any.

    A version is ``old`` before the alarm, ``current`` at the first decision. They are those at the first decision, the
    same for all policies, so each scenario counts once: by the first policy that has them.
    """
    stated: dict[tuple[str, str], tuple[list[float], list[bool | None]]] = {}
    policies = range(len(table.policies))
    for row in range(len(table.scenarios)):
        kept = (table.records.get((row, column), {}).get("declarations") for column in policies)
        for line in next((lines for lines in kept if isinstance(lines, list) and lines), []):
            try:
                key, q, so = (str(line["when"]), str(line["event"])), line["q"], line["so"]
                if q is not None:
                    probabilities, truths = stated.setdefault(key, ([], []))
                    probabilities.append(float(q))
                    truths.append(None if so is None else bool(so))
            except (KeyError, TypeError, ValueError):
                problem = f"{line!r:.80} is no probability of a declaration"
                raise InvalidRun(table.run.folder, problem, "run the benchmark again") from None
    try:
        return {key: probability_quality(*found) for key, found in stated.items()}
    except ValueError as error:
        raise InvalidRun(table.run.folder, str(error), "run the benchmark again") from None


@dataclass(frozen=True, slots=True)
class Doubt:
    """How doubtful beliefs were at each decision, on average: those that had really failed, and those that had not."""

    policy: str
    failed: tuple[float, ...]
    sound: tuple[float, ...]


def doubts(table: RunTable) -> list[Doubt]:
    """Return how every policy's doubts went from decision to decision; a recovery that has ended keeps its last.

    Of policies whose records keep the posterior, on scenarios with one truth.
    """
    truths = {
        (line["seed"], line["scenario"]): line["truths"][0].get("failed") or ()
        for line in table.run.annotations
        if len(line.get("truths") or ()) == 1
    }
    found = []
    for column, policy in enumerate(table.policies):
        paths: dict[bool, list[list[float]]] = {True: [], False: []}
        for row, place in enumerate(table.scenarios):
            kept = table.records.get((row, column), {}).get("posterior")
            if kept and place in truths:
                for number, belief in enumerate(kept["beliefs"]):
                    paths[belief in truths[place]].append([at[number] for at in kept["at"] if at is not None])
        means = {failed: _mean_path([path for path in several if path]) for failed, several in paths.items()}
        if means[True] or means[False]:
            found.append(Doubt(policy, means[True], means[False]))
    return found


def _mean_path(paths: Sequence[Sequence[float]]) -> tuple[float, ...]:
    if not paths:
        return ()
    longest = max(map(len, paths))
    full = np.array([[*path, *[path[-1]] * (longest - len(path))] for path in paths])
    return tuple(full.mean(axis=0).tolist())


MOST_DRAWN = 3
EXPLORED, EXPLORING_SEED = 10_000, 20260920
"""The paper's protocol for what distorted posteriors change, which it calls exploratory."""
UNAVAILABLE = "unavailable"
ORIGINAL = "original"
"""The posterior that nothing was done to."""
ABOUT_COMMANDS = (
    "AquaMend's first command at every alarm under five distortions of the posterior; nothing is played out. Our "
    "predicted losses leave out what finishing the task takes, which is due in any case; the paper's include it."
)

HANDLING, SENSING, MODEL, DECISION = "handling", "sensing limit", "model gap", "decision"
REJECT_AT = 0.5

ABOUT_FAILURES = (
    "Handling: all that is declared holds, and the hand's work was not good enough. Model gap: no hypothesis explains "
    "what was read. Decision: what was left wrong was more probably wrong than right by all that had been read, and "
    "was left. Sensing limit: what was read spoke for something that was not so. Beside it, who recovered the scene."
)


def quality_table(table: RunTable) -> Table | None:
    """Return a row for every event and version; nothing where records keep no probabilities."""
    found, family = event_qualities(table), family_of(table.run.suite)
    if not found:
        return None
    beside = any(paper_quality(family, event, when) for when, event in found)
    heads = ("share invalid", "mean stated", "Brier", "ECE")
    papers = [Column(f"paper’s {head}", paper=True) for head in heads] if beside else []
    rows = []
    for (when, event), quality in found.items():
        numbers = (quality.rate, quality.mean, quality.brier, quality.calibration_error)
        ours = [UNAVAILABLE if value is None else decimal(value, decimals=4) for value in numbers]
        printed = (paper_quality(family, event, when) or (None,) * 4) if beside else ()
        theirs = [decimal(value, decimals=4) for value in printed]
        rows.append((when, event, count(quality.queries), *ours, *theirs))
    breaks = (row for row in range(1, len(rows)) if rows[row][0] != rows[row - 1][0])
    caption = (
        "Probability that a declaration is invalid, as stated at the first decision, against the truth: “old” in its "
        "version before the alarm, “current” in the one that the evidence then supports. ECE has ten bins. Scenes "
        "without a known truth are left out, and what has none at all is unavailable. Events within a scene are not "
        "independent; one that never happens can have a score of zero without anything being detected."
    )
    columns: tuple[Column | str, ...] = ("version", "event", "scenes", *heads, *papers)
    return table_of_texts(caption, columns, rows, words=("version", "event"), header=1, breaks=breaks)


def doubt_curves(name: str, table: RunTable) -> Figure | None:
    """Return mean doubt against the number of decisions: of beliefs that had failed, and of those that had not."""
    honest = [one for one in doubts(table) if not knows_the_truth(one.policy)]
    kept = [one for one in honest if max(len(one.failed), len(one.sound)) > 1]
    kept.sort(key=lambda one: one.policy != table.reference)
    curves = []
    for one in kept[:MOST_DRAWN]:
        for kind, path in (("failed", one.failed), ("sound", one.sound)):
            points = tuple((float(k), q) for k, q in enumerate(path, start=1))
            curves += [Line(one.policy, f"{label_of(one.policy)}, {kind}", points)] if points else []
    if not curves:
        return None
    drawn = curve_plot(name, curves, axes=("decision", "mean probability of having failed"), whole=True)
    caption = (
        "How doubtful beliefs were at each decision, on average over scenes: those that had really failed, and those "
        "that had not. A recovery that has ended keeps its last doubts."
    )
    return Figure(name, caption, drawn)


def setting_table(table: RunTable) -> Table | None:
    """Return by how much each distortion of the posterior changes the loss on the same scenes; only of Q1 suites."""
    groups, policy = table.distinct_groups, table.reference
    if family_of(table.run.suite) != "q1" or policy is None or any(len(group) != 1 for group in groups):
        return None
    losses = [table.column("loss")[table.members(group), table.policies.index(policy)] for group in groups]
    sound = all(np.isfinite(loss).all() for loss in losses)
    if len(groups) < 2 or len({len(loss) for loss in losses}) != 1 or not sound:
        return None
    name = next(iter(groups[0]))
    settings = [str(group[name]) for group in groups]
    rows = []
    for setting, loss in zip(settings[1:], losses[1:], strict=True):
        apart, printed = loss - losses[0], Q1_DIFFERENCES.get(setting)
        changed = f"{int(np.count_nonzero(rounded(apart)))}/{len(apart)}"
        ends = interval(*paired_bootstrap(apart, resamples=EXPLORED, seed=EXPLORING_SEED))
        theirs = DASH if printed is None else f"{signed(printed[0])} {interval(*printed[1:])}"
        rows.append((setting, changed, signed(float(apart.mean())), ends, theirs))
    paper = Column("paper’s difference", paper=True)
    caption = (
        f"{policy_name(policy)}: loss under each {name} minus that under “{settings[0]}”, scene by scene, over "
        f"{len(losses[0])} scenes. Intervals are exploratory ({EXPLORED:,} paired resamples): no test is made of them."
    )
    return table_of_texts(
        caption, (name, "scenes that differ", "mean difference", "95 % interval", paper), rows, words=(name,)
    )


def first_command_table(annotations: Sequence[Mapping[str, Any]]) -> Table | None:
    """Return a row for each distortion; nothing where the scenes are not annotated with first commands."""
    found = [kept for a in annotations if (kept := (a.get("features") or {}).get("first_commands"))]
    if not found or any(scene.keys() != found[0].keys() or ORIGINAL not in scene for scene in found):
        return None
    heads = ("changed commands", "mean total variation", "mean predicted loss")
    rows = []
    for setting in found[0]:
        changed = sum(scene[setting]["command"] != scene[ORIGINAL]["command"] for scene in found)
        distance = fmean(float(scene[setting]["total_variation"]) for scene in found)
        loss = fmean(float(scene[setting]["predicted_loss"]) for scene in found)
        ours = (f"{changed}/{len(found)}", decimal(distance, decimals=4), decimal(loss, decimals=4))
        rows.append((setting, *ours, *(FIRST_COMMANDS.get(setting) or (DASH,) * 3)))
    papers = [Column(f"paper’s {head}", paper=True) for head in heads]
    columns: tuple[Column | str, ...] = ("posterior", *heads, *papers)
    return table_of_texts(ABOUT_COMMANDS, columns, rows, words=("posterior",))


def failure_table(
    records: Sequence[Mapping[str, Any]], policy: str, stories: Mapping[tuple[int, int], str] = MappingProxyType({})
) -> Table | None:
    """Return a row for every scene that a policy did not recover; nothing where records do not tell what was left.

    ``stories`` has links to what happened, by seed and scene.
    """
    kept = [r for r in records if r["policy"] == policy and r.get("left") is not None and r.get("error") is None]
    failed = [r for r in kept if not r.get("success")]
    if not kept or not failed:
        return None
    words = ("group", "left wrong or badly done", "because of", "recovered by")
    rows = []
    for r in failed:
        scene = Cell(str(r["scenario"]), link=stories.get((r["seed"], r["scenario"]), ""))
        what = "; ".join([*(f"{belief} is wrong" for belief in r["left"]), *(r.get("faults") or ())])
        same = [one for one in records if (one["seed"], one["scenario"]) == (r["seed"], r["scenario"])]
        recovered = ", ".join(policy_name(one["policy"]) for one in same if one.get("success") == 1.0)
        loss = decimal(None if r.get("loss") is None else float(r["loss"]), decimals=1)  # infinity is written as text
        about = (_named(r["group"], ""), what or str(r.get("ending")), because_of(r), recovered or "nobody", loss)
        rows.append((str(r["seed"]), scene, *about))
    return table_of_texts(ABOUT_FAILURES, ("seed", "scene", *words, "loss"), rows, words=words, header=1)


def because_of(record: Mapping[str, Any]) -> str:
    """Return what a failure is due to, by what the record tells of the last decision."""
    left, posterior = record["left"], record.get("posterior")
    if not left:
        return HANDLING
    if not posterior or not posterior["at"] or posterior["at"][-1] is None:
        return MODEL
    doubt = dict(zip(posterior["beliefs"], posterior["at"][-1], strict=True))
    was_wrong = {d["event"]: d["so"] for d in record.get("declarations") or () if d["when"] == "old"}
    misled = any((doubt.get(b, 0.0) >= REJECT_AT) != bool(was_wrong.get(b)) for b in left)
    return SENSING if misled else DECISION


MOST_VALUES = 6
"""A name in groups with more values than this divides too finely to be shown."""


def divisions(table: RunTable) -> list[tuple[dict[str, Any], Sequence[int]]]:
    """Return all scenarios together, then by every name that divides them into a few; with the rows of each."""
    found: list[tuple[dict[str, Any], Sequence[int]]] = [({}, range(len(table.scenarios)))]
    if not table.pooled:
        return found
    for name in dict.fromkeys(name for group in table.distinct_groups for name in group):
        values = list(dict.fromkeys(group.get(name) for group in table.groups))
        if 1 < len(values) <= MOST_VALUES:
            for value in values:
                found.append(({name: value}, [row for row, own in enumerate(table.groups) if own.get(name) == value]))
    return found


def _times(table: RunTable, rival: str, rows: Sequence[int]) -> tuple[Floats, Floats]:
    """Return decision times of the reference and of another policy on the scenarios on which both were timed."""
    times = table.column("decision_ms")[list(rows)]
    ours, theirs = (times[:, table.policies.index(policy)] for policy in (str(table.reference), rival))
    both = np.isfinite(ours) & np.isfinite(theirs)
    return ours[both], theirs[both]


def timed_rivals(table: RunTable) -> list[str]:
    """Return the policies whose decisions were timed beside those of the reference, where groups can be shown."""
    if not table.has("decision_ms") or table.reference is None or (any(table.groups) and not table.pooled):
        return []
    everything = range(len(table.scenarios))
    rivals = [policy for policy in table.policies if policy != table.reference]
    return [policy for policy in rivals if _times(table, policy, everything)[0].size > 1]


def timing_table(table: RunTable) -> Table | None:
    """Return mean decision times and their paired differences, over all and by group; nothing where none were timed."""
    rows: list[tuple[str, ...]] = []
    breaks: list[int] = []
    for rival in timed_rivals(table):
        breaks.append(len(rows))
        for group, members in divisions(table):
            ours, theirs = _times(table, rival, members)
            if ours.size > 1:
                apart = theirs - ours
                means = decimal(float(ours.mean())), decimal(float(theirs.mean())), signed(float(apart.mean()))
                numbers = (count(ours.size), *means, interval(*paired_bootstrap(apart)), _printed(table, rival, group))
                rows.append((_named(group), policy_name(rival), *numbers))
    if not rows:
        return None
    first = policy_name(str(table.reference))
    columns = ("scenes", "against", "scenarios", f"{first} (ms)", "the other (ms)", "the other − it", "95 % interval")
    printed = [Column("paper’s difference (ms)", paper=True)] if any(row[-1] != DASH for row in rows) else []
    caption = (
        "Mean over the scenarios of the median time of a decision, and the paired difference with its 95 % interval, "
        f"not adjusted; positive where {first} is quicker. Times are those of the machine that ran it."
    )
    kept = (row[: len(columns) + len(printed)] for row in rows)
    return table_of_texts(caption, (*columns, *printed), kept, words=("scenes", "against"), header=1, breaks=breaks[1:])


def _printed(table: RunTable, rival: str, group: Mapping[str, Any]) -> str:
    """Return the paper's difference to the policy that it timed, which it gives in seconds."""
    found = paper_times(family_of(table.run.suite), _named(group)) if rival == "all-candidates" else None
    if found is None:
        return DASH
    mean, low, high = (1e3 * seconds for seconds in found[2:])
    return f"{signed(mean, decimals=0)} {interval(low, high, decimals=0)}"


def timing_dots(name: str, table: RunTable) -> Figure | None:
    """Return the paired differences in decision time with their intervals, a panel for each policy."""
    panels = []
    for rival in timed_rivals(table):
        dots = []
        for group, members in divisions(table):
            ours, theirs = _times(table, rival, members)
            if ours.size > 1:
                apart = theirs - ours
                low, high = paired_bootstrap(apart)
                mean = float(apart.mean())
                dots.append(Dot(rival, _named(group), mean, signed(mean, decimals=1), low, high))
        panels.append(Panel(f"{label_of(rival)} minus {label_of(str(table.reference))}", tuple(dots)))
    if not panels:
        return None
    drawn = dot_plot(name, panels, axis="difference in decision time (ms)")
    caption = "Paired differences in decision time with their 95 % intervals; right of zero, the second is quicker."
    return Figure(name, caption, drawn)


def counts_table(table: RunTable, paper: PaperTable | None) -> Table | None:
    """Return how many decisions, candidates and predictive branches there were in all; nothing where nobody counted."""
    known = [key for key in metrics_in(["work"]) if table.has(key)]
    rows = []
    for group, members in divisions(table):
        for policy in table.policies:
            cell, printed = Summary(table, np.array(members, dtype=np.intp), policy), paper and paper.row(policy, group)
            ours = [METRICS[key].derive(cell) for key in known]
            theirs = [printed.get(key) if printed else None for key in known]
            if any(value is not None for value in ours):
                rows.append((_named(group), policy_name(policy), *map(_beside, ours, theirs)))
    if not rows:
        return None
    columns = ("scenes", "policy", *(METRICS[key].title for key in known))
    caption = "Totals of what really happened; in brackets, the paper’s. They tell of the mechanism: no matched sample."
    return table_of_texts(caption, columns, rows, words=("scenes", "policy"), header=1)


def _beside(ours: float | None, theirs: float | None) -> str:
    return as_form(ours, "count") + ("" if theirs is None else f" ({as_form(theirs, 'count')})")


def _named(group: Mapping[str, Any], none: str = "all") -> str:
    return ", ".join(str(value) for value in group.values()) or none
