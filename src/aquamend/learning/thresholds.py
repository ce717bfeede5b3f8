"""A monitor becomes an alarm: what a score tells of what is wrong, and which threshold is worth what.

The score is any number that a monitor computes: of an anomaly detector, a classifier, the torque of a joint. Records
say what it was and what was found, at times when nothing was wrong too. For each rule of the alarm, how likely the
score is to reach a threshold follows from them in one of three ways:

* isotonic: how probable the rule is at a score is a monotone function of the score (Zadrozny & Elkan 2002);
* logistic: it is a logistic function of the score (Platt 1999);
* conformal: by ranks alone. Where nothing is wrong, k of n scores reach the threshold, and the next one does with at
  most (k + 1)/(n + 1), whatever the law of the scores (Vovk, Gammerman & Shafer 2005).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState
from aquamend.decision.probe_value import probe_values
from aquamend.decision.terminal import best_terminal
from aquamend.errors import AquaMendError, BadArgument, MissingLibrary, UnknownName
from aquamend.files import parse_problem
from aquamend.learning.checking import held_back
from aquamend.learning.estimates import STRENGTH, Estimate, brier, expected_calibration_error
from aquamend.learning.learning_run import InOrder, Work, in_file_form, work_on
from aquamend.learning.past_alarms import LARGEST, MISSING, Faults, InvalidRecords, Record
from aquamend.problem import Problem
from aquamend.problem.building.rules import LEAK

MOST_THRESHOLDS = 40
FEWEST = 8
"""Scores of right and of wrong times, below which nothing can be said of a threshold."""
DIGITS = 6
STRONG = 1e3
"""How weakly a logistic function is held back from being steep; where the two kinds are apart, it has to be."""


class ScoreMethod(StrEnum):
    """How likelihoods follow from scores."""

    ISOTONIC = "isotonic"
    LOGISTIC = "logistic"
    CONFORMAL = "conformal"


@dataclass(frozen=True, slots=True)
class Threshold:
    """An alarm that rings where the score reaches a threshold."""

    at: float
    """Infinite where it never rings."""
    rings: Mapping[str, Estimate]
    """How likely, by rule of the alarm."""
    false_alarms: float
    """How likely it is to ring where nothing is wrong."""
    missed: float
    """How likely it is to stay silent where something is."""
    chance: float
    """How likely it is to ring at all, by the problem's priors."""
    loss: float
    """Expected loss of one occasion: of the recoveries that it calls for, and of what goes wrong where it is silent."""


@dataclass(frozen=True, slots=True)
class Checked:
    """How the likelihoods fare on records held back."""

    records: int
    brier: float | None
    """Of "something is wrong", by the score; None where only ranks are known."""
    ece: float | None
    covered: float
    """Share of the rules whose share of rings lies within the interval that it should."""
    loss: float
    """Expected loss of one occasion at the chosen threshold, with the shares of the records held back."""


@dataclass(frozen=True, slots=True)
class ScoreAlarm:
    """A monitor's score as an alarm of a problem."""

    name: str
    """Of the alarm; empty for the problem's only one."""
    score: str
    below: bool
    """Whether it rings where the score is low."""
    method: ScoreMethod
    thresholds: tuple[Threshold, ...]
    """From the one that always rings to the one that never does."""
    chosen: Threshold
    data: dict[str, Any]
    """The problem's data with the alarm in it."""
    scores: Mapping[str, Floats]
    """The scores by rule, as they were recorded."""
    checked: Checked | None
    used: int
    said: tuple[str, ...]

    @property
    def condition(self) -> str:
        """When it rings, in words."""
        if math.isinf(self.chosen.at):
            return "never" if self.chosen.chance == 0.0 else "always"
        return f"{self.score} {'<=' if self.below else '>='} {self.chosen.at:.{DIGITS}g}"


def alarm_from_scores(
    template: Mapping[str, Any],
    records: Sequence[Record],
    score: str,
    *,
    name: str = "",
    method: ScoreMethod = ScoreMethod.ISOTONIC,
    below: bool = False,
    threshold: float | None = None,
    false_alarms: float | None = None,
    skip_faulty: bool = False,
    source: str = "records",
    faults: Sequence[str] = (),
) -> ScoreAlarm:
    """Return the alarm that a score makes: at the threshold of least expected loss, unless one is given.

    ``score`` is the column of the records; of several readings in one record the largest counts. ``false_alarms`` asks
    for the lowest threshold that rings at most so often where nothing is wrong. ``InvalidRecords`` where records do not
    fit.
    """
    if threshold is not None and false_alarms is not None:
        raise BadArgument("a threshold and a share of false alarms are given; give one of the two")
    if false_alarms is not None and not 0.0 <= false_alarms <= 1.0:
        raise BadArgument(f"the share of false alarms is {false_alarms!r}; give a number from 0 to 1")
    if threshold is not None and not -LARGEST < threshold < LARGEST:
        raise BadArgument(f"the threshold is {threshold!r}; give a finite number")
    work = work_on(template, records, STRENGTH, Faults(source, skip_faulty, list(faults)))
    problem, entry = parse_problem(template), _entry(work.data, name)
    scored = _scored(work, score, below=below)
    rules = _rules(problem, entry)
    data = _with_rules(work.data, name, rules)
    setting = _Setting(problem, data, name, tuple(rules), work.deciding(rules), _calm(problem), method)
    used, back = _split(work, scored)
    every = _fitted(setting, scored)
    thresholds = every.thresholds()
    signed = -1.0 if below else 1.0
    chosen = _chosen(every, thresholds, None if threshold is None else signed * threshold, false_alarms)
    checked = None if back is None else _checked(_fitted(setting, used), back, chosen.at)
    numbers = {rule: float(f"{e.value:.{DIGITS}g}") for rule, e in chosen.rings.items()}
    return ScoreAlarm(
        name, score, below, method,
        tuple(replace(one, at=signed * one.at) for one in thresholds),
        replace(chosen, at=signed * chosen.at),
        in_file_form(_with_rules(data, name, numbers)),
        {rule: signed * every.scored.value[every.rule == k] for k, rule in enumerate(rules)},
        checked, len(scored.value), tuple(work.said),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Scored:
    """Scores, as they ring where they are high, and what was found at each."""

    value: Floats
    truth: Any
    """Position among the hypotheses."""


@dataclass(frozen=True, slots=True)
class _Setting:
    problem: Problem
    data: dict[str, Any]
    """The problem's data with an alarm that has these rules."""
    name: str
    rules: tuple[str, ...]
    deciding: list[str | None]
    """For every hypothesis, the rule that decides about it."""
    calm: Bools
    """For every hypothesis, whether nothing is wrong under it."""
    method: ScoreMethod


def _entry(data: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return the alarm that a score is to become; None where the problem has none of that name yet."""
    several, only = data.get("alarms") or {}, data.get("alarm")
    if several and not name:
        raise AquaMendError(f"the problem has several alarms; name one, or a new one: {', '.join(map(repr, several))}")
    if only is not None and name:
        raise AquaMendError(f"the problem has one alarm without a name, so it cannot have one named {name!r} beside it")
    entry: Mapping[str, Any] | None = several.get(name) if name else only
    return entry


def _rules(problem: Problem, entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the rules of the alarm with what was thought of them; of a new one, one for wrong and one for right."""
    if entry is not None and "likelihood" in entry:
        likelihoods = {str(rule): float(p) for rule, p in entry["likelihood"].items()}
        return InOrder(likelihoods) if isinstance(entry["likelihood"], InOrder) else likelihoods
    if entry is not None:  # several of them may be present: the first decides
        return InOrder(dict.fromkeys([*(str(word) for word in entry["noisy_or"] if word != LEAK), "default"]))
    calm = [h.name for h, right in zip(problem.model.hypotheses, _calm(problem), strict=True) if right]
    if not calm:
        raise AquaMendError("under every hypothesis something is wrong; give the alarm's rules in the file")
    return dict.fromkeys([*calm, "default"])


def _calm(problem: Problem) -> Bools:
    return np.asarray(problem.failed.sum(axis=1) == 0.0)


def _with_rules(data: Mapping[str, Any], name: str, rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with an alarm of these rules, whatever their numbers."""
    copied = copy.deepcopy(dict(data))
    old = (copied.get("alarms") or {}).get(name) if name else copied.get("alarm")
    kind = InOrder if (old or {}).keys() & {"noisy_or"} or isinstance((old or {}).get("likelihood"), InOrder) else dict
    entry = {key: value for key, value in (old or {}).items() if key not in ("likelihood", "noisy_or")}
    entry["likelihood"] = kind(rules)
    if name:
        copied["alarms"] = {**(copied.get("alarms") or {}), name: entry}
    else:
        copied["alarm"] = entry
    return copied


def _scored(work: Work, score: str, *, below: bool) -> _Scored:
    """Return the score of every record that has one."""
    value, truth, without = list[float](), list[int](), 0
    for i, (record, s) in enumerate(zip(work.records, work.truth.tolist(), strict=True), start=1):
        own = []
        for said in record.readings.get(score, ()):
            if isinstance(said, str) and said.strip().lower() in MISSING:
                continue
            try:
                number = float(said)
            except ValueError:
                work.faults.add(record.place or f"record {i}", score, f"{said!r} is no number")
                continue
            if -LARGEST < number < LARGEST:
                own.append(-number if below else number)
        without += not own
        if own:
            value.append(max(own))
            truth.append(s)
    work.faults.check()
    if not value:
        columns = {column for record in work.records for column in record.readings}
        raise UnknownName("column of scores", score, sorted(columns))
    if without:
        work.said.append(f"{without} of {len(work.records)} records have no finite {score}; they are left out")
    work.said += [f"left out: {fault}" for fault in work.faults.found]
    return _Scored(np.array(value), np.array(truth, dtype=np.intp))


def _split(work: Work, scored: _Scored) -> tuple[_Scored, _Scored | None]:
    """Return three scores in four, and the fourth of each kind, where there are enough."""
    kind = [Record(str(s), alarm=True, when=float(i)) for i, s in enumerate(scored.truth.tolist())]
    used, back = (np.array([int(r.when or 0.0) for r in part], dtype=np.intp) for part in held_back(kind))
    if len(back) < FEWEST:
        return scored, None
    return _Scored(scored.value[used], scored.truth[used]), _Scored(scored.value[back], scored.truth[back])


@dataclass(frozen=True, slots=True)
class _Fit:
    """What scores tell of the rules."""

    setting: _Setting
    scored: _Scored
    rule: Any
    """Of every score; -1 where no rule decides."""
    weight: Floats
    """Shape ``(n_scores, n_rules)``; how probable each rule is at each score."""
    wrong: Floats | None
    """How probable it is at each score that something is wrong; None where only ranks are known."""

    def rings(self, at: float) -> dict[str, Estimate]:
        """Return how likely the score reaches a threshold under each rule."""
        found, reached = {}, self.scored.value >= at
        for k, name in enumerate(self.setting.rules):
            n = float((self.rule == k).sum())
            if math.isinf(at):
                found[name] = Estimate(float(at < 0), float(at < 0), float(at < 0), round(n))
                continue
            total = float(self.weight[:, k].sum())
            share = float(self.weight[reached, k].sum()) / total if total > 0.0 else 0.5
            found[name] = self._estimate(name, share, n)
        return found

    def _estimate(self, rule: str, share: float, n: float) -> Estimate:
        from scipy.stats import beta

        calm = all(self.setting.calm[s] for s, own in enumerate(self.setting.deciding) if own == rule)
        if self.setting.method is ScoreMethod.CONFORMAL:
            k = round(share * n)
            value = (k + 1.0) / (n + 1.0) if calm else k / (n + 1.0)
        else:  # Jeffreys' prior, which has no opinion of a threshold nobody has chosen yet
            value = (share * n + 0.5) / (n + 1.0)
        low, high = (float(beta.ppf(q, share * n + 0.5, n - share * n + 0.5)) for q in (0.025, 0.975))
        return Estimate(value, min(low, value), max(high, value), round(n))

    def threshold(self, at: float) -> Threshold:
        """Return the alarm at a threshold, and what it costs."""
        rings = self.rings(at)
        return _priced(self.setting, at, rings, {rule: e.value for rule, e in rings.items()})

    def thresholds(self) -> tuple[Threshold, ...]:
        """Return what each of some thresholds is worth, between the scores, and always and never."""
        several = np.unique(self.scored.value)
        if len(several) > MOST_THRESHOLDS:
            several = np.unique(np.quantile(several, np.linspace(0.0, 1.0, MOST_THRESHOLDS), method="nearest"))
        between = 0.5 * (several[1:] + several[:-1])
        return tuple(self.threshold(float(at)) for at in (-math.inf, *between, math.inf))


def _fitted(setting: _Setting, scored: _Scored) -> _Fit:
    place = {rule: k for k, rule in enumerate(setting.rules)}
    rule = np.array([place.get(setting.deciding[s] or "", -1) for s in scored.truth.tolist()])
    calm = setting.calm[scored.truth]
    if min(calm.sum(), (~calm).sum()) < FEWEST:
        raise InvalidRecords(
            "records",
            [f"{int(calm.sum())} scores are of times when nothing was wrong and {int((~calm).sum())} of others; at "
             f"least {FEWEST} of each are needed; times without an alarm have `alarm: false`"],
        )  # fmt: skip
    one_of = np.array([rule == k for k in range(len(setting.rules))], dtype=float).T
    if setting.method is ScoreMethod.CONFORMAL:
        return _Fit(setting, scored, rule, one_of, None)
    weight = np.column_stack([_probable(setting.method, scored.value, own > 0.5)(scored.value) for own in one_of.T])
    return _Fit(setting, scored, rule, weight, _probable(setting.method, scored.value, ~calm)(scored.value))


def _probable(method: ScoreMethod, value: Floats, so: Bools) -> Any:
    """Return a function of the score: how probable it is that something is so."""
    try:
        from sklearn.isotonic import IsotonicRegression
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingLibrary("scikit-learn", "learn", "or choose the method conformal") from None
    if so.all() or not so.any():
        return lambda at: np.full(len(at), float(so.all()))
    if method is ScoreMethod.ISOTONIC:
        rising = bool(value[so].mean() >= value[~so].mean())
        monotone = IsotonicRegression(y_min=0.0, y_max=1.0, increasing=rising, out_of_bounds="clip")
        return monotone.fit(value, so.astype(float)).predict
    centre, spread = float(np.median(value)), float(value.std()) or 1.0
    logistic = LogisticRegression(C=STRONG, max_iter=1000).fit(((value - centre) / spread)[:, None], so)
    return lambda at: logistic.predict_proba(((at - centre) / spread)[:, None])[:, 1]


def _priced(setting: _Setting, at: float, rings: Mapping[str, Estimate], numbers: Mapping[str, float]) -> Threshold:
    """Return what one occasion costs with an alarm of these likelihoods, beginning with the problem's priors."""
    problem, prior = setting.problem, setting.problem.model.prior
    likelihood = np.array([numbers[rule] if rule is not None else 0.0 for rule in setting.deciding])
    likelihood = np.minimum(likelihood, 1.0)
    residual = np.array([belief.residual for belief in problem.graph.beliefs])
    with np.errstate(invalid="ignore"):
        left = np.where(problem.failed > 0.0, problem.failed * residual, 0.0).sum(axis=1)
    silent = prior * (1.0 - likelihood)
    loss = float((silent[silent > 0.0] * left[silent > 0.0]).sum())
    chance = float(prior @ likelihood)
    if chance > 0.0:
        loss += chance * _after(setting, numbers)
    calm, wrong = prior * setting.calm, prior * ~setting.calm
    false_alarms = float((calm * likelihood).sum() / calm.sum()) if calm.sum() > 0.0 else 0.0
    missed = 1.0 - float((wrong * likelihood).sum() / wrong.sum()) if wrong.sum() > 0.0 else 0.0
    return Threshold(at, rings, false_alarms, missed, chance, loss)


def _after(setting: _Setting, numbers: Mapping[str, float]) -> float:
    """Return the expected loss once the alarm has rung, by what is best one probe ahead."""
    problem = parse_problem(in_file_form(_with_rules(setting.data, setting.name, numbers)))
    state = InformationState.alarmed(problem, (setting.name,) if setting.name else None)
    return min(best_terminal(state).loss, float(probe_values(state).expected_loss.min(initial=math.inf)))


def _chosen(
    fit: _Fit, thresholds: Sequence[Threshold], threshold: float | None, false_alarms: float | None
) -> Threshold:
    if threshold is not None:
        return fit.threshold(threshold)
    if false_alarms is not None:
        return next(one for one in thresholds if one.false_alarms <= false_alarms)
    return min(thresholds, key=lambda one: one.loss)


def _checked(fit: _Fit, back: _Scored, at: float) -> Checked:
    """Return how what three scores in four tell fares on the fourth."""
    setting, rings = fit.setting, fit.rings(at)
    own = [setting.deciding[s] for s in back.truth.tolist()]
    covered, numbers = list[bool](), {}
    for rule, estimate in rings.items():
        reached = [v >= at for v, decided in zip(back.value.tolist(), own, strict=True) if decided == rule]
        numbers[rule] = float(np.mean(reached)) if reached else estimate.value
        if reached:
            covered.append(_within(sum(reached), len(reached), estimate))
    so = (~setting.calm[back.truth]).tolist()
    stated = None
    if setting.method is not ScoreMethod.CONFORMAL:
        calm = setting.calm[fit.scored.truth]
        stated = _probable(setting.method, fit.scored.value, ~calm)(back.value).tolist()
    return Checked(
        len(back.value),
        None if stated is None else brier(stated, so),
        None if stated is None else expected_calibration_error(stated, so),
        float(np.mean(covered)) if covered else 1.0,
        _priced(setting, at, rings, numbers).loss,
    )


def _within(reached: int, n: int, estimate: Estimate) -> bool:
    """Whether so many of n may well be, where the share is anything in the interval of an estimate."""
    from scipy.stats import binom

    if reached / n > estimate.high:
        return float(binom.sf(reached - 1, n, estimate.high)) > 0.025
    return reached / n >= estimate.low or float(binom.cdf(reached, n, estimate.low)) > 0.025
