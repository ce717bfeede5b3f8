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
from aquamend.learning.estimates import rounded
from aquamend.learning.probability_scores import ProbabilityQuality, probability_quality
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
    text_rows,
)
from aquamend_lab.analysis.report.plots import label_of
from aquamend_lab.analysis.statistics import paired_bootstrap
from aquamend_lab.analysis.table import RunTable, knows_the_truth


@dataclass(frozen=True, slots=True)
class EventQuality:
    """The probabilities of one event, in one version of the declarations."""

    when: str
    """Which version: ``old`` before the alarm, ``current`` at the first decision."""
    event: str
    quality: ProbabilityQuality


def event_qualities(table: RunTable) -> list[EventQuality]:
    """Return the quality of every event's probabilities, as they appear; none where no record keeps any.

    They are those at the first decision, the same for all policies, so each scenario counts once: by the first policy
    that has them.
    """
    stated: dict[tuple[str, str], tuple[list[float], list[bool | None]]] = {}
    for line in (line for row in range(len(table.scenarios)) for line in _stated_lines(table, row)):
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
        return [EventQuality(*key, probability_quality(*found)) for key, found in stated.items()]
    except ValueError as error:
        raise InvalidRun(table.run.folder, str(error), "run the benchmark again") from None


def _stated_lines(table: RunTable, row: int) -> Sequence[Any]:
    found = (table.records.get((row, column), {}).get("declarations") for column in range(len(table.policies)))
    return next((lines for lines in found if isinstance(lines, list) and lines), [])


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
    beside = any(paper_quality(family, one.event, one.when) for one in found)
    heads = ("scenes", "share invalid", "mean stated", "Brier", "ECE")
    columns = [Column("version", numeric=False), Column("event", numeric=False), *map(Column, heads)]
    columns += [Column(f"paper’s {head}", paper=True) for head in heads[1:]] if beside else []
    rows = [(*_stated(one), *(_paper_beside(family, one) if beside else ())) for one in found]
    breaks = frozenset(row for row in range(1, len(found)) if found[row].when != found[row - 1].when)
    caption = (
        "Probability that a declaration is invalid, as stated at the first decision, against the truth: “old” in its "
        "version before the alarm, “current” in the one that the evidence then supports. ECE has ten bins. Scenes "
        "without a known truth are left out, and what has none at all is unavailable. Events within a scene are not "
        "independent; one that never happens can have a score of zero without anything being detected."
    )
    return Table(caption, tuple(columns), text_rows(rows), header=1, breaks=breaks)


def _stated(one: EventQuality) -> tuple[str, ...]:
    quality = one.quality
    numbers = (quality.rate, quality.mean, quality.brier, quality.calibration_error)
    kept = [UNAVAILABLE if value is None else decimal(value, decimals=4) for value in numbers]
    return one.when, one.event, count(quality.queries), *kept


def _paper_beside(family: str, one: EventQuality) -> tuple[str, ...]:
    printed = paper_quality(family, one.event, one.when) or (None,) * 4
    return tuple(decimal(value, decimals=4) for value in printed)


def doubt_curves(name: str, table: RunTable) -> Figure | None:
    """Return mean doubt against the number of decisions: of beliefs that had failed, and of those that had not."""
    honest = [one for one in doubts(table) if not knows_the_truth(one.policy)]
    kept = [one for one in honest if max(len(one.failed), len(one.sound)) > 1]
    kept.sort(key=lambda one: one.policy != table.reference)
    curves = [curve for one in kept[:MOST_DRAWN] for curve in _curves(one)]
    if not curves:
        return None
    drawn = curve_plot(name, curves, axes=("decision", "mean probability of having failed"), whole=True)
    caption = (
        "How doubtful beliefs were at each decision, on average over scenes: those that had really failed, and those "
        "that had not. A recovery that has ended keeps its last doubts."
    )
    return Figure(name, caption, drawn)


def _curves(one: Doubt) -> Sequence[Line]:
    kinds = (("failed", one.failed), ("sound", one.sound))
    return [
        Line(one.policy, f"{label_of(one.policy)}, {kind}", tuple((float(k), q) for k, q in enumerate(path, start=1)))
        for kind, path in kinds
        if path
    ]


def setting_table(table: RunTable) -> Table | None:
    """Return by how much each distortion of the posterior changes the loss on the same scenes; only of Q1 suites."""
    groups, policy = table.distinct_groups, table.reference
    if family_of(table.run.suite) != "q1" or policy is None or any(len(group) != 1 for group in groups):
        return None
    losses = [table.column("loss")[table.members(group), table.policies.index(policy)] for group in groups]
    if (
        len(groups) < 2
        or len({len(loss) for loss in losses}) != 1
        or not all(np.isfinite(loss).all() for loss in losses)
    ):
        return None
    name = next(iter(groups[0]))
    settings = [str(group[name]) for group in groups]
    rows = [
        (setting, *_changed_by(loss - losses[0]), _as_printed(Q1_DIFFERENCES.get(setting)))
        for setting, loss in zip(settings[1:], losses[1:], strict=True)
    ]
    heads = map(Column, ("scenes that differ", "mean difference", "95 % interval"))
    columns = (Column(name, numeric=False), *heads, Column("paper’s difference", paper=True))
    caption = (
        f"{policy_name(policy)}: loss under each {name} minus that under “{settings[0]}”, scene by scene, over "
        f"{len(losses[0])} scenes. Intervals are exploratory ({EXPLORED:,} paired resamples): no test is made of them."
    )
    return Table(caption, columns, text_rows(rows))


def _changed_by(differences: Floats) -> tuple[str, str, str]:
    low, high = paired_bootstrap(differences, resamples=EXPLORED, seed=EXPLORING_SEED)
    changed = int(np.count_nonzero(rounded(differences)))
    return f"{changed}/{len(differences)}", signed(float(differences.mean())), interval(low, high)


def _as_printed(found: tuple[float, float, float] | None) -> str:
    return "–" if found is None else f"{signed(found[0])} {interval(*found[1:])}"


def first_command_table(annotations: Sequence[Mapping[str, Any]]) -> Table | None:
    """Return a row for each distortion; nothing where the scenes are not annotated with first commands."""
    found = [kept for a in annotations if (kept := (a.get("features") or {}).get("first_commands"))]
    if not found or any(scene.keys() != found[0].keys() or ORIGINAL not in scene for scene in found):
        return None
    heads = ("changed commands", "mean total variation", "mean predicted loss")
    columns = (
        Column("posterior", numeric=False),
        *map(Column, heads),
        *(Column(f"paper’s {head}", paper=True) for head in heads),
    )
    rows = [
        (setting, *_commanded(found, setting), *(FIRST_COMMANDS.get(setting) or ("–",) * 3)) for setting in found[0]
    ]
    return Table(ABOUT_COMMANDS, columns, text_rows(rows))


def _commanded(found: Sequence[Mapping[str, Any]], setting: str) -> tuple[str, str, str]:
    changed = sum(scene[setting]["command"] != scene[ORIGINAL]["command"] for scene in found)
    distance = fmean(float(scene[setting]["total_variation"]) for scene in found)
    loss = fmean(float(scene[setting]["predicted_loss"]) for scene in found)
    return f"{changed}/{len(found)}", decimal(distance, decimals=4), decimal(loss, decimals=4)


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
    columns = ("seed", "scene", "group", "left wrong or badly done", "because of", "recovered by", "loss")
    rows = []
    for r in failed:
        seed, *rest = map(Cell, (*_row(r), _recovered_by(records, r), _loss(r)))
        scene = Cell(str(r["scenario"]), link=stories.get((r["seed"], r["scenario"]), ""))
        rows.append((seed, scene, *rest))
    return Table(
        ABOUT_FAILURES,
        tuple(Column(name, numeric=name in ("seed", "scene", "loss")) for name in columns),
        tuple(rows),
        header=1,
    )


def _row(record: Mapping[str, Any]) -> tuple[str, ...]:
    what = "; ".join([*(f"{belief} is wrong" for belief in record["left"]), *(record.get("faults") or ())])
    group = ", ".join(str(value) for value in record["group"].values())
    return str(record["seed"]), group, what or str(record.get("ending")), because_of(record)


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


def _loss(record: Mapping[str, Any]) -> str:
    loss = record.get("loss")
    return decimal(None if loss is None else float(loss), decimals=1)  # infinity is written as text


def _recovered_by(records: Sequence[Mapping[str, Any]], failed: Mapping[str, Any]) -> str:
    same = [r for r in records if (r["seed"], r["scenario"]) == (failed["seed"], failed["scenario"])]
    return ", ".join(policy_name(r["policy"]) for r in same if r.get("success") == 1.0) or "nobody"


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
                printed = _printed(table, rival, group)
                rows.append((_named(group), policy_name(rival), *_numbers(ours, theirs), printed))
    if not rows:
        return None
    first = policy_name(str(table.reference))
    heads = ("scenarios", f"{first} (ms)", "the other (ms)", "the other − it", "95 % interval")
    columns = [Column("scenes", numeric=False), Column("against", numeric=False), *map(Column, heads)]
    if any(row[-1] != DASH for row in rows):
        columns.append(Column("paper’s difference (ms)", paper=True))
    caption = (
        "Mean over the scenarios of the median time of a decision, and the paired difference with its 95 % interval, "
        f"not adjusted; positive where {first} is quicker. Times are those of the machine that ran it."
    )
    cells = text_rows(row[: len(columns)] for row in rows)
    return Table(caption, tuple(columns), cells, header=1, breaks=frozenset(breaks[1:]))


def _numbers(ours: Floats, theirs: Floats) -> tuple[str, ...]:
    apart = theirs - ours
    means = decimal(float(ours.mean())), decimal(float(theirs.mean())), signed(float(apart.mean()))
    return count(ours.size), *means, interval(*paired_bootstrap(apart))


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
                rows.append(tuple(map(Cell, (_named(group), policy_name(policy), *map(_beside, ours, theirs)))))
    if not rows:
        return None
    heads = [Column("scenes", numeric=False), Column("policy", numeric=False)]
    heads += [Column(METRICS[key].title) for key in known]
    caption = "Totals of what really happened; in brackets, the paper’s. They tell of the mechanism: no matched sample."
    return Table(caption, tuple(heads), tuple(rows), header=1)


def _beside(ours: float | None, theirs: float | None) -> str:
    return as_form(ours, "count") + ("" if theirs is None else f" ({as_form(theirs, 'count')})")


def _named(group: Mapping[str, Any]) -> str:
    return ", ".join(str(value) for value in group.values()) or "all"
