"""Random valid problem files, biased towards the corners where two implementations part.

`random_problem` has no values at all, `valued_problem` has all that belongs to them, and `extra_problem` what the
project's own format has beyond that. Names are the same in every problem: ``b0``, ``a0``, ``p0``, ``h0``.
"""

import random
from typing import Any

from tests.reference.worlds import World, steps_of, values_of, worlds_of

Problem = dict[str, Any]


class Dice:
    """Random numbers for one problem: round ones, so that ties are exact, or ragged ones, so that there are none."""

    def __init__(self, rng: random.Random, *, ties: bool) -> None:
        self.rng = rng
        self.ties = ties

    def chance(self, probability: float) -> bool:
        """Return true with that probability."""
        return self.rng.random() < probability

    def cost(self, low: float, high: float) -> float:
        """Return a cost; whole or in quarters with ties, else with three decimals."""
        if self.ties:
            step = 1.0 if high > 4 else 0.25
            return step * self.rng.randint(round(low / step), round(high / step))
        return round(self.rng.uniform(low, high), 3)

    def distribution(self, size: int, *, zeros: float = 0.0) -> list[float]:
        """Return probabilities that sum to one, at least one of them positive."""
        weights = [0 if self.chance(zeros) else self.rng.randint(1, 4 if self.ties else 97) for _ in range(size)]
        if not any(weights):
            weights[self.rng.randrange(size)] = 1
        if self.ties and self.chance(0.5):
            weights = [min(weight, 1) for weight in weights]
        return [weight / sum(weights) for weight in weights]

    def some(self, names: list[str], probability: float, *, at_least: int = 0) -> list[str]:
        """Return a random part of the names, in their order."""
        chosen = {name for name in names if self.chance(probability)}
        chosen |= set(self.rng.sample(names, min(at_least, len(names)))) if len(chosen) < at_least else set()
        return [name for name in names if name in chosen]


def random_problem(
    rng: random.Random,
    *,
    gaussian: bool = False,
    ties: bool | None = None,
    max_beliefs: int = 5,
    max_actions: int = 6,
    max_probes: int = 4,
    max_hypotheses: int = 8,
    max_total_uses: int = 6,
) -> Problem:
    """Return a valid problem. With ``gaussian``, some probes are continuous and no residual is infinite."""
    dice = Dice(rng, ties=rng.random() < 0.35 if ties is None else ties)
    problem: Problem = {"format": "aquamend-problem/1", "name": "random"}
    if dice.chance(0.3):
        problem["unit"] = "s"
    problem["beliefs"] = _beliefs(dice, rng.randint(1, max_beliefs), infinite=not gaussian)
    problem["actions"] = _actions(dice, rng.choice([0, *range(1, max_actions + 1), *range(3, max_actions + 1)]))
    used = {name for action in problem["actions"] for name in action.get("operations", [])}
    if used:
        problem["operations"] = [{"name": name, "cost": dice.cost(0, 8)} for name in sorted(used)]
    problem["probes"] = _probes(dice, max(rng.randint(1, max_probes), rng.randint(1, max_probes)), max_total_uses)
    problem["edges"] = _edges(dice, problem, every_belief_acts=rng.random() < 0.8)
    problem["hypotheses"] = _hypotheses(dice, problem, rng.randint(2, max_hypotheses))
    _add_kernels(dice, problem, gaussian=gaussian)
    _add_options(dice, problem)
    return problem


def _names(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def _beliefs(dice: Dice, count: int, *, infinite: bool) -> list[dict[str, Any]]:
    beliefs = []
    for i in range(count):
        belief: dict[str, Any] = {"name": f"b{i}", "residual": dice.cost(2, 60)}
        if dice.chance(0.1):
            belief["residual"] = 0
        if infinite and dice.chance(0.06):
            belief["residual"] = "inf"
        if infinite and dice.chance(0.12):
            belief["may_keep"] = False
        beliefs.append(belief)
    return beliefs


def _actions(dice: Dice, count: int) -> list[dict[str, Any]]:
    shared = [f"op{i}" for i in range(dice.rng.randint(1, 3))]
    irreversible = dice.rng.choice([0, 0, 0.4])
    actions = []
    for i in range(count):
        action: dict[str, Any] = {"name": f"a{i}"}
        if dice.chance(0.25):
            action["operations"] = dice.some(shared, 0.5, at_least=1)
        else:
            action["undo"] = 0 if dice.chance(0.08) else dice.cost(1, 10)
        if dice.chance(0.8):
            action["status"] = "executed"
        elif dice.chance(0.5):
            action["status"] = "planned"
        if dice.chance(irreversible):
            action["reversible"] = False
        actions.append(action)
    return actions


def _probes(dice: Dice, count: int, total_uses: int) -> list[dict[str, Any]]:
    probes, top = [], dice.rng.choice([0.25, 0.5, 2])
    for i in range(count):
        probe: dict[str, Any] = {"name": f"p{i}", "cost": 0 if dice.chance(0.1) else dice.cost(0.1, top)}
        if dice.chance(0.5):
            probe["modality"] = dice.rng.choice(["vision", "scale", "touch"])
        if total_uses - (count - i - 1) > 1 and dice.chance(0.3):
            probe["max_uses"] = 2
        total_uses -= probe.get("max_uses", 1)
        probes.append(probe)
    return probes


def _edges(dice: Dice, problem: Problem, *, every_belief_acts: bool, inference: float = 0.2) -> list[list[str]]:
    """Return the edges of an acyclic graph whose directions do not follow the file's order."""
    beliefs, actions = _names(problem["beliefs"]), _names(problem["actions"])
    dice.rng.shuffle(beliefs)
    dice.rng.shuffle(actions)
    edges = []
    for i, probe in enumerate(_names(problem["probes"])):
        for belief in dice.some(beliefs, 0.3) or [beliefs[i % len(beliefs)]]:
            edges.append([probe, belief, dice.rng.choice(["detection", "detection", "aggregation"])])
    for i, belief in enumerate(beliefs):
        edges += [[belief, later, "inference"] for later in dice.some(beliefs[i + 1 :], inference)]
        edges += [
            [belief, action, "belief_to_action"] for action in dice.some(actions, 0.3, at_least=every_belief_acts)
        ]
    for i, action in enumerate(actions):
        for later in dice.some(actions[i + 1 :], 0.2):
            edges.append([action, later, dice.rng.choice(["action_causal", "temporal"])])
    dice.rng.shuffle(edges)
    return edges


def _hypotheses(dice: Dice, problem: Problem, count: int) -> list[dict[str, Any]]:
    beliefs = _names(problem["beliefs"])
    priors = dice.distribution(count, zeros=0.12)
    spread = dice.rng.choice([0.15, 0.3, 0.5])
    one_each = dice.chance(0.35)
    hypotheses = []
    if dice.chance(0.5):  # most alarms are false
        priors[0] += 1
        priors = [prior / sum(priors) for prior in priors]
    for i, prior in enumerate(priors):
        failed = [beliefs[i % len(beliefs)]] if one_each else dice.some(beliefs, spread)
        if i == 0 and dice.chance(0.7):
            failed = []
        cause = dice.rng.choice(["external", "self_error", "unknown"]) if failed else "false_alarm"
        hypotheses.append({"name": f"h{i}", "prior": prior, "failed": failed, "cause": cause})
    dice.rng.shuffle(hypotheses)
    return hypotheses


def _add_kernels(dice: Dice, problem: Problem, *, gaussian: bool) -> None:
    """Give every probe a kernel; now and then one is an exact copy of an earlier probe's, cost and all."""
    kernels: dict[str, Any] = {}
    for i, probe in enumerate(problem["probes"]):
        if i and dice.chance(0.4 if dice.ties else 0.1):
            twin = dice.rng.choice(problem["probes"][:i])
            kernels[probe["name"]] = kernels[twin["name"]]
            probe["cost"] = twin["cost"]
        elif gaussian and (i == 0 or dice.chance(0.5)):
            kernels[probe["name"]] = {"gaussian": _gaussian(dice, problem, probe["name"])}
        else:
            kernels[probe["name"]] = _discrete(dice, problem, probe["name"])
    problem["kernels"] = kernels


def _measured(dice: Dice, problem: Problem, probe: str) -> str:
    return dice.rng.choice([target for source, target, _ in problem["edges"] if source == probe])


def _gaussian(dice: Dice, problem: Problem, probe: str) -> dict[str, list[float]]:
    style = dice.rng.choice(["measures", "measures", "per hypothesis", "uninformative"])
    belief = _measured(dice, problem, probe)
    base, shift, deviation = dice.cost(-5, 5), dice.cost(0.5, 6), dice.cost(0.5, 2)
    kernel = {}
    for hypothesis in problem["hypotheses"]:
        if style == "per hypothesis":
            kernel[hypothesis["name"]] = [dice.cost(-5, 5), dice.cost(0.5, 2)]
        else:
            moved = style == "measures" and belief in hypothesis["failed"]
            kernel[hypothesis["name"]] = [base + shift * moved, deviation]
    return kernel


def _discrete(dice: Dice, problem: Problem, probe: str) -> dict[str, Any]:
    style = dice.rng.choice(["deterministic", *["measures"] * 5, "per hypothesis", "uninformative"])
    size = 2 if style == "measures" else dice.rng.randint(1, 3)
    belief = _measured(dice, problem, probe)
    false_alarm, miss = dice.rng.choice([0.0, 0.05, 0.125, 0.25]), dice.rng.choice([0.0, 0.05, 0.125, 0.25])
    constant = dice.distribution(size)
    likelihood = {}
    for hypothesis in problem["hypotheses"]:
        if style == "measures":
            rate = 1 - miss if belief in hypothesis["failed"] else false_alarm
            row = [1 - rate, rate]
        elif style == "deterministic":
            answer = dice.rng.randrange(size)
            row = [float(column == answer) for column in range(size)]
        else:
            row = constant if style == "uninformative" else dice.distribution(size, zeros=0.15)
        likelihood[hypothesis["name"]] = row
    return {"outcomes": [f"o{i}" for i in range(size)], "likelihood": likelihood}


def _add_options(dice: Dice, problem: Problem) -> None:
    if dice.chance(0.6):
        problem["alarm"] = _alarm(dice, problem)
    if dice.chance(0.4):
        problem["declarations"] = _declarations(dice, problem)
    if dice.chance(0.4):
        # Half a thousandth off the grid of costs: no sum of them meets a ragged budget exactly.
        problem["sensing_budget"] = dice.cost(0, 3) + (0 if dice.ties else 0.0005)
    if dice.chance(0.4):
        problem["restart"] = dice.cost(3, 25)
    if dice.chance(0.5):
        problem["escalate"] = dice.cost(8, 60)


def _alarm(dice: Dice, problem: Problem) -> dict[str, Any]:
    likelihood = {h["name"]: dice.rng.choice([0, 0.05, 0.2, 0.5, 0.9, 1.0]) for h in problem["hypotheses"]}
    possible = [h["name"] for h in problem["hypotheses"] if h["prior"] > 0]
    likelihood[dice.rng.choice(possible)] = 0.75
    return {"suspects": dice.some(_names(problem["beliefs"]), 0.6, at_least=1), "likelihood": likelihood}


def _declarations(dice: Dice, problem: Problem) -> list[dict[str, Any]]:
    declared = []
    for i in range(dice.rng.randint(1, 2)):
        belief = dice.rng.choice(_names(problem["beliefs"]))
        failed = [h["name"] for h in problem["hypotheses"] if belief in h.get("failed", [])]
        anything = dice.some(_names(problem["hypotheses"]), 0.4)
        entry: dict[str, Any] = {"name": f"claim {i}", "version": dice.rng.randint(1, 3), "belief": belief}
        entry["invalid_in"] = failed if dice.chance(0.6) else anything
        support = [source for source, target, _ in problem["edges"] if target == belief and source.startswith("p")]
        if support and dice.chance(0.7):
            entry["support"] = support
        declared.append(entry)
    return declared


# Values.


class Values:
    """What may be true of one belief with a value: the values with which it holds, and those with which it failed."""

    def __init__(self, dice: Dice, belief: dict[str, Any]) -> None:
        self.belief = belief
        self.number = dice.chance(0.6)
        self.stepped = False
        near, far = _number_values(dice, belief) if self.number else _text_values(dice, belief)
        self.near: list[Any] = near
        self.far: list[Any] = dice.rng.sample(far, min(len(far), dice.rng.randint(1, 3)))

    def wrong(self, dice: Dice, *, spread: float, most: int) -> Any:
        """Return a truth with which the belief has failed: one value, or a spread of at most so many."""
        if most > 1 and dice.chance(spread):
            for _ in range(4):
                found = self._spread(dice)
                if 1 < len(steps_of(self.belief, found).values) <= most:
                    self.stepped = self.stepped or "values" not in found
                    return found
        return dice.rng.choice(self.far)

    def _spread(self, dice: Dice) -> dict[str, Any]:
        kind = dice.rng.choice(["values", "weights", "normal", "uniform"]) if self.number else "values"
        if kind == "weights" or (kind == "values" and dice.chance(0.5)):
            return {"values": {_key(value): dice.rng.randint(1, 4) for value in self.far}}
        if kind == "values":
            return {"values": list(self.far)}
        width = float(self.belief.get("tolerance", 0)) * 2 / 3
        given: dict[str, Any] = {}
        if width == 0 or dice.chance(0.4):
            width = given["step"] = dice.rng.choice([0.5, 1.0, 2.5]) * (float(self.belief.get("tolerance", 0)) or 1.0)
        middle = dice.rng.choice(self.far)
        if kind == "normal":
            return {"normal": [middle, round(width * dice.rng.choice([0.4, 0.5, 0.75, 1.0]), 6)], **given}
        return {"uniform": [middle, round(middle + width * dice.rng.choice([1, 1.5, 2, 3.25]), 6)], **given}


def _key(value: Any) -> str:
    """Return a value as a key of a JSON object."""
    return value if isinstance(value, str) else f"{value:g}"


def _text_values(dice: Dice, belief: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Declare a word; return the true values with which it holds and those with which it has failed."""
    words = ["A", "B", "C", "sound", "4"]
    dice.rng.shuffle(words)
    belief["declared"] = words[0]
    return words[:1], words[1:]


def _number_values(dice: Dice, belief: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Declare a number; return the true values with which it holds and those with which it has failed.

    Round ones lie on a grid as wide as the tolerance, so that many distances equal it, also where the numbers are
    not binary fractions. A belief without tolerance, or with none to speak of, fails by any difference.
    """
    rng = dice.rng
    if dice.ties or dice.chance(0.4):
        stated, width = rng.choice([(18, 3), (18.0, 3.0), (-2.5, 0.5), (0.1, 0.3), (0.7, 0.1), (100, 25)])
        near, far = [-1, -0.5, 0, 0.5, 1], [-3, -2, -1.5, 1.5, 2, 2.5, 3]
    else:
        stated, width = round(rng.uniform(-20, 80), 3), round(rng.uniform(0.5, 6), 3)
        near = [round(rng.uniform(-0.95, 0.95), 2) for _ in range(3)]
        far = [rng.choice([-1, 1]) * round(rng.uniform(1.05, 3.5), 2) for _ in range(5)]
    belief["declared"] = stated
    if dice.chance(0.8):
        belief["tolerance"] = width
    else:
        near = [0]
        if dice.chance(0.4):
            belief["tolerance"] = 0
    return [round(stated + k * width, 6) for k in near], sorted({round(stated + k * width, 6) for k in far})


def valued_problem(
    rng: random.Random,
    *,
    gaussian: bool = False,
    ties: bool | None = None,
    max_beliefs: int = 4,
    max_actions: int = 5,
    max_probes: int = 3,
    max_hypotheses: int = 6,
    max_total_uses: int = 4,
    max_worlds: int = 12,
) -> Problem:
    """Return a valid problem with values: spreads, effects, sources, kernels that follow, the need of support.

    With ``gaussian``, some probes are continuous, no residual is infinite and escalation bounds every loss. A few
    problems use none of this.
    """
    dice = Dice(rng, ties=rng.random() < 0.35 if ties is None else ties)
    problem = _bare(dice, max_beliefs, max_actions, max_probes, max_total_uses)
    problem["hypotheses"] = _hypotheses(dice, problem, rng.randint(2, max_hypotheses))
    if dice.chance(0.4):
        _make_failures_likely(problem)
    values = {}
    if dice.chance(0.95):
        values = {b["name"]: Values(dice, b) for b in problem["beliefs"] if dice.chance(0.75)}
        _add_truths(dice, problem, values, max_worlds)
        if dice.chance(0.4):
            _add_effects(dice, problem, values)
        _add_rules(dice, problem, infinite=not gaussian)
    _add_sources(dice, problem)
    _add_following_kernels(dice, problem, values, gaussian=gaussian)
    _add_options(dice, problem)
    if dice.chance(0.65):
        problem["declarations"] = _supported_declarations(dice, problem)
    else:
        problem.pop("declarations", None)
    if gaussian:
        problem.setdefault("escalate", dice.cost(8, 60))
    elif dice.chance(0.1):
        _add_a_tiny_prior(dice, problem)
    return problem


def last_problem(rng: random.Random) -> Problem:
    """Return a problem with values in which one probe is all there is money for, and most of them are continuous."""
    problem = valued_problem(rng, gaussian=True, max_probes=2, max_total_uses=2)
    for probe in problem["probes"]:
        probe.pop("max_uses", None)
        probe["cost"] = probe["cost"] or 0.25
    problem["sensing_budget"] = max(probe["cost"] for probe in problem["probes"])
    return problem


format_2_problem = valued_problem
"""The name that other tests use; to be replaced there."""


def _bare(dice: Dice, max_beliefs: int, max_actions: int, max_probes: int, max_total_uses: int) -> Problem:
    """Return beliefs, actions, probes and edges."""
    rng = dice.rng
    problem: Problem = {"format": "aquamend-problem/1", "name": "random"}
    problem["beliefs"] = _beliefs(dice, rng.randint(1, max_beliefs), infinite=False)
    problem["actions"] = _actions(dice, rng.choice([0, *range(1, max_actions + 1), *range(2, max_actions + 1)]))
    used = {name for action in problem["actions"] for name in action.get("operations", [])}
    if used:
        problem["operations"] = [{"name": name, "cost": dice.cost(0, 8)} for name in sorted(used)]
    problem["probes"] = _probes(dice, max(rng.randint(1, max_probes), rng.randint(1, max_probes)), max_total_uses)
    problem["edges"] = _edges(dice, problem, every_belief_acts=rng.random() < 0.8, inference=0.35)
    return problem


def _add_truths(dice: Dice, problem: Problem, values: dict[str, Values], max_worlds: int) -> None:
    """Say for every failure of a belief with a value what is true instead, if anybody can name it."""
    spread = dice.rng.choice([0, 0.3, 0.7])
    unnamed = dice.rng.choice([0, 0, 0.25])
    left = max_worlds - len(problem["hypotheses"])
    for hypothesis in problem["hypotheses"]:
        own = 1
        for name in values:
            if name in hypothesis["failed"]:
                if dice.chance(unnamed):
                    continue
                hypothesis["failed"].remove(name)
                found = values[name].wrong(dice, spread=spread, most=(left + own) // own)
                hypothesis.setdefault("truth", {})[name] = found
                if isinstance(found, dict):
                    more = own * len(steps_of(values[name].belief, found).values)
                    left, own = left - (more - own), more
            elif dice.chance(0.3):
                hypothesis.setdefault("truth", {})[name] = dice.rng.choice(values[name].near)
        if not hypothesis["failed"] and dice.chance(0.6):
            del hypothesis["failed"]
        if dice.chance(0.2):
            del hypothesis["cause"]


def _add_effects(dice: Dice, problem: Problem, values: dict[str, Values]) -> None:
    """Let what is true of one belief follow from another, or from the name of a hypothesis."""
    effects = []
    for _ in range(dice.rng.randint(1, 2)):
        belief = dice.rng.choice(_names(problem["beliefs"]))
        effect: dict[str, Any] = {"when": _condition(dice, problem, values)}
        if belief not in values or dice.chance(0.2):
            effect["failed"] = [belief]
        else:
            effect["truth"] = {belief: dice.rng.choice([*values[belief].near[:2], *values[belief].far])}
        effects.append(effect)
    problem["effects"] = effects


def _condition(dice: Dice, problem: Problem, values: dict[str, Values]) -> str:
    one = _atom(dice, problem, values)
    if dice.chance(0.3):
        return f"{one} {dice.rng.choice('&|')} {_atom(dice, problem, values)}"
    return one


def _atom(dice: Dice, problem: Problem, values: dict[str, Values]) -> str:
    negated = "not " if dice.chance(0.15) else ""
    numbers = [name for name in values if values[name].number]
    kind = dice.rng.choice(["name", "belief", "compare", "compare", "equal"])
    if kind == "compare" and numbers:
        left, sign = dice.rng.choice(numbers), dice.rng.choice(["<", "<=", ">", ">="])
        right = dice.rng.choice([*numbers, *map(_key, values[left].far), _key(values[left].belief["declared"])])
        return f"{negated}{left} {sign} {right}"
    if kind == "equal" and values:
        name = dice.rng.choice(list(values))
        return f"{negated}{name} = {_key(dice.rng.choice([*values[name].near, *values[name].far]))}"
    return negated + dice.rng.choice(_names(problem["beliefs" if kind == "belief" else "hypotheses"]))


def _add_sources(dice: Dice, problem: Problem) -> None:
    beliefs = _names(problem["beliefs"])
    for probe in problem["probes"]:
        if dice.chance(0.4):
            measured = {target for source, target, _ in problem["edges"] if source == probe["name"]}
            others = [name for name in beliefs if name not in measured]
            probe["source"] = dice.rng.choice(others if others and dice.chance(0.85) else beliefs)


# Kernels that follow the truth.


def _add_following_kernels(dice: Dice, problem: Problem, values: dict[str, Values], *, gaussian: bool) -> None:
    """Give every probe a kernel: rows by name, by rule, the value of a belief, or numbers that follow it."""
    worlds = worlds_of(problem)
    problem["kernels"] = {}
    for i, probe in enumerate(problem["probes"]):
        measured = _measured(dice, problem, probe["name"])
        if gaussian and (i == 0 or dice.chance(0.4)):
            found = {"gaussian": _following(dice, problem, worlds, probe, measured)}
        elif measured in values and dice.chance(0.7) and not values[measured].stepped:
            found = _value_of(dice, problem, worlds, measured)
            if len(values_of(worlds, values[measured].belief)) > 3:
                probe.pop("max_uses", None)
        elif dice.chance(0.5):
            found = _by_rule(dice, problem, values, measured)
        else:
            found = _by_name(dice, problem, worlds, measured)
        problem["kernels"][probe["name"]] = found


def _value_of(dice: Dice, problem: Problem, worlds: list[World], belief: str) -> dict[str, Any]:
    """Return a probe that answers the belief's value, now and then with a row of its own for one hypothesis."""
    kernel: dict[str, Any] = {"of": belief, "right": dice.rng.choice([1.0, 0.97, 0.9, 0.75, 0.5])}
    none = dice.rng.choice([None, None, 0, 0.03, 0.2])
    if none is not None and kernel["right"] + none <= 1:
        kernel["none"] = none
    if dice.chance(0.15):
        entry = next(entry for entry in problem["beliefs"] if entry["name"] == belief)
        size = len(values_of(worlds, entry)) + ("none" in kernel)
        kernel["likelihood"] = {dice.rng.choice(_labels(problem)): dice.distribution(size, zeros=0.2)}
    return kernel


def _labels(problem: Problem) -> list[str]:
    """Return what a row of a table may be called."""
    return _names(problem["causes"] if "causes" in problem else problem["hypotheses"])


def _by_rule(dice: Dice, problem: Problem, values: dict[str, Values], belief: str) -> dict[str, Any]:
    """Return a kernel of two rows: one where the belief failed or a comparison holds, one by default."""
    rule = belief
    if belief in values and values[belief].number and dice.chance(0.5):
        rule = f"{belief} {dice.rng.choice(['>', '<'])} {_key(dice.rng.choice(values[belief].far))}"
    size = dice.rng.randint(2, 3)
    rows = {"default": dice.distribution(size, zeros=0.1), rule: dice.distribution(size, zeros=0.2)}
    if dice.chance(0.75):
        sharp = dice.rng.choice([0.9, 0.8, 0.95])
        rows = {"default": [sharp, round(1 - sharp, 6)], rule: [round(1 - sharp, 6), sharp]}
    return {"outcomes": [f"o{i}" for i in range(len(rows["default"]))], "likelihood": rows}


def _by_name(dice: Dice, problem: Problem, worlds: list[World], belief: str) -> dict[str, Any]:
    """Return a kernel with a row for every hypothesis of the file."""
    entry = next(entry for entry in problem["beliefs"] if entry["name"] == belief)
    broken = {name for world in worlds if world.fails(entry) for name in world.names}
    style = dice.rng.choice(["deterministic", *["measures"] * 3, "per hypothesis", "uninformative"])
    size = 2 if style == "measures" else dice.rng.randint(1, 3)
    false_alarm, miss = dice.rng.choice([0.0, 0.05, 0.125, 0.25]), dice.rng.choice([0.0, 0.05, 0.125, 0.25])
    constant = dice.distribution(size)
    likelihood = {}
    for name in _names(problem["hypotheses"]):
        if style == "measures":
            rate = 1 - miss if name in broken else false_alarm
            row = [1 - rate, rate]
        elif style == "deterministic":
            answer = dice.rng.randrange(size)
            row = [float(column == answer) for column in range(size)]
        else:
            row = constant if style == "uninformative" else dice.distribution(size, zeros=0.15)
        likelihood[name] = row
    return {"outcomes": [f"o{i}" for i in range(size)], "likelihood": likelihood}


def _following(
    dice: Dice, problem: Problem, worlds: list[World], probe: dict[str, Any], belief: str
) -> dict[str, list[Any]]:
    """Return the rows of a continuous probe: most follow the truth, and are off where the source has failed."""
    entry = next(entry for entry in problem["beliefs"] if entry["name"] == belief)
    stated = entry.get("declared")
    if isinstance(stated, str) or stated is None or "causes" in problem:
        if "causes" in problem:
            return {"default": [dice.cost(-5, 5), dice.cost(0.5, 2)], belief: [dice.cost(-5, 5), dice.cost(0.5, 2)]}
        return _gaussian_by_name(dice, problem, worlds, entry)
    scale = float(entry.get("tolerance", 0)) or 1.0
    deviation = round(scale * dice.rng.choice([0.3, 0.5, 1.0, 1.5]), 6)
    mean = dice.rng.choice([belief, belief, f"{belief} + {round(scale / 2, 6)}", f"{belief} - 1", f"2 * {belief} + 1"])
    rows: dict[str, list[Any]] = {"default": [mean, deviation]}
    lost = {world.name for world in worlds if world.value(entry) is None}
    for hypothesis in problem["hypotheses"]:
        name = hypothesis["name"]
        own = [world for world in worlds if name in world.names]
        if any(world.name in lost for world in own):
            rows[name] = [round(float(stated) + scale * dice.rng.choice([-2, 0, 2]), 6), round(3 * deviation, 6)]
        elif "source" in probe and probe["source"] in hypothesis.get("failed", []) and dice.chance(0.7):
            rows[name] = [f"{belief} + {round(3 * scale, 6)}", deviation]
    return rows


def _gaussian_by_name(
    dice: Dice, problem: Problem, worlds: list[World], entry: dict[str, Any]
) -> dict[str, list[float]]:
    style = dice.rng.choice(["measures", "measures", "per hypothesis", "uninformative"])
    base, shift, deviation = dice.cost(-5, 5), dice.cost(0.5, 6), dice.cost(0.5, 2)
    broken = {name for world in worlds if world.fails(entry) for name in world.names}
    rows = {}
    for name in _names(problem["hypotheses"]):
        if style == "per hypothesis":
            rows[name] = [dice.cost(-5, 5), dice.cost(0.5, 2)]
        else:
            rows[name] = [base + shift * (style == "measures" and name in broken), deviation]
    return rows


# Rules, declarations, corners.


def _add_rules(dice: Dice, problem: Problem, *, infinite: bool) -> None:
    """Say which beliefs may be kept and which need support."""
    ruled = dice.rng.choice([0, 0, 0.3, 0.7])
    for belief in problem["beliefs"]:
        if dice.chance(0.15):
            belief["may_keep"] = False
        if dice.chance(ruled):
            belief["needs_support"] = True
        elif dice.chance(0.1):
            belief["needs_support"] = False
        if infinite and dice.chance(0.05):
            belief["residual"] = "inf"


def _supported_declarations(dice: Dice, problem: Problem) -> list[dict[str, Any]]:
    """Return declarations of most beliefs, most of them with support, some from a probe without any edge to it."""
    found: list[dict[str, Any]] = []
    probes = _names(problem["probes"])
    for belief in problem["beliefs"]:
        versions = dice.rng.sample([1, 2, 3], dice.rng.choice([0, 1, 1, 1, 2]))
        for version in versions:
            entry: dict[str, Any] = {"name": f"claim {len(found)}", "belief": belief["name"]}
            if version > 1 or dice.chance(0.3):
                entry["version"] = version
            if "declared" not in belief and "hypotheses" in problem and dice.chance(0.15):
                entry["invalid_in"] = dice.some(_names(problem["hypotheses"]), 0.4)
            if dice.chance(0.6):
                entry["support"] = dice.some(probes, 0.35, at_least=1)
            found.append(entry)
    dice.rng.shuffle(found)
    return found or [{"name": "claim 0", "belief": problem["beliefs"][0]["name"]}]


def _make_failures_likely(problem: Problem) -> None:
    """Give most of the prior to where something has failed, so that corrections pay."""
    for hypothesis in problem["hypotheses"]:
        hypothesis["prior"] *= 1.0 if hypothesis["failed"] else 0.2
    total = sum(hypothesis["prior"] for hypothesis in problem["hypotheses"])
    for hypothesis in problem["hypotheses"]:
        hypothesis["prior"] /= total


def _add_a_tiny_prior(dice: Dice, problem: Problem) -> None:
    """Make one hypothesis all but impossible, and something that it breaks infinitely bad."""
    priors = [hypothesis["prior"] for hypothesis in problem["hypotheses"]]
    largest, chosen = priors.index(max(priors)), dice.rng.randrange(len(priors))
    if chosen == largest:
        return
    hypotheses = problem["hypotheses"]
    hypotheses[largest]["prior"] += hypotheses[chosen]["prior"] - 1e-12
    hypotheses[chosen]["prior"] = 1e-12
    broken = [*hypotheses[chosen].get("failed", []), *hypotheses[chosen].get("truth", {})]
    for belief in problem["beliefs"]:
        if belief["name"] in broken and dice.chance(0.7):
            belief["residual"] = "inf"


# What the project's own format has beyond the page.


def extra_problem(rng: random.Random) -> Problem:
    """Return a valid problem with undoing that may fail, doing again, plans, compensations, or causes."""
    dice = Dice(rng, ties=rng.random() < 0.35)
    if dice.chance(0.3):
        problem = _caused_problem(dice)
    elif dice.chance(0.5):
        problem = valued_problem(rng, ties=dice.ties, max_beliefs=3, max_total_uses=3)
    else:
        problem = random_problem(rng, ties=dice.ties, max_beliefs=4, max_probes=2, max_hypotheses=6, max_total_uses=3)
    for action in problem["actions"]:
        if dice.chance(0.3):
            action["undo_succeeds"] = dice.rng.choice([0.5, 0.75, 0.9])
        if dice.chance(0.3):
            action["redo"] = dice.cost(0, 4)
    plain = not any("declared" in b or b.get("needs_support") for b in problem["beliefs"])
    if plain and dice.chance(0.6):
        problem["compensations"] = _compensations(dice, problem)
    elif dice.chance(0.5):
        problem["plans"] = _plans(dice, problem)
        if dice.chance(0.4):
            problem["corrections"] = False
    return problem


def _caused_problem(dice: Dice) -> Problem:
    """Return a problem whose hypotheses follow from causes, each of which breaks beliefs of its own."""
    problem = _bare(dice, 3, 4, 2, 3)
    values = {b["name"]: Values(dice, b) for b in problem["beliefs"] if dice.chance(0.6)}
    names = _names(problem["beliefs"])
    dice.rng.shuffle(names)
    causes: list[dict[str, Any]] = []
    for i in range(min(len(names), dice.rng.randint(1, 3))):
        cause: dict[str, Any] = {"name": f"c{i}"}
        if dice.chance(0.8):
            cause["kind"] = dice.rng.choice(["external", "self_error"])
        broken = names[i :: dice.rng.choice([len(names), 3])][:1]
        if dice.chance(0.25):
            cause["states"] = {
                state: {"prior": dice.rng.choice([0.05, 0.2]), **_broken(dice, values, broken)} for state in ("x", "y")
            }
        else:
            cause |= {"prior": dice.rng.choice([0.05, 0.1, 0.3, 0.5]), **_broken(dice, values, broken)}
        causes.append(cause)
    problem["causes"] = causes
    if len(causes) > 1 and dice.chance(0.4):
        problem["together"] = dice.rng.randint(1, len(causes))
    _add_rules(dice, problem, infinite=True)
    _add_caused_kernels(dice, problem, values)
    problem["alarm"] = {"likelihood": {"default": 0.9, "nothing": dice.rng.choice([0.1, 0.5])}}
    for key, low, high in (("restart", 3, 25), ("escalate", 8, 60)):
        if dice.chance(0.5):
            problem[key] = dice.cost(low, high)
    if dice.chance(0.5):
        problem["declarations"] = _supported_declarations(dice, problem)
    return problem


def aged_problem(rng: random.Random) -> Problem:
    """Return a problem with causes, some of which come at a rate and make several beliefs of different ages wrong."""
    dice = Dice(rng, ties=rng.random() < 0.35)
    problem = _caused_problem(dice)
    names, plain = _names(problem["beliefs"]), [b["name"] for b in problem["beliefs"] if "declared" not in b]
    for cause in problem["causes"]:
        if dice.chance(0.3):
            continue
        for state in cause["states"].values() if "states" in cause else [cause]:
            del state["prior"]
            state["rate"] = rng.choice([0.0, 0.01, 0.1, 1.0])
            others = [name for name in plain if name not in state.get("failed", ())]
            state["failed"] = [*state.get("failed", ()), *dice.some(others, 0.5)]
    ages = [0, 0.5, 2, 10]
    problem["age"] = rng.choice(ages) if dice.chance(0.3) else {name: rng.choice(ages) for name in names}
    return problem


def _broken(dice: Dice, values: dict[str, Values], beliefs: list[str]) -> dict[str, Any]:
    """Return what a cause breaks."""
    truth = {name: values[name].wrong(dice, spread=0.4, most=4) for name in beliefs if name in values}
    failed = [name for name in beliefs if name not in values]
    return ({"truth": truth} if truth else {}) | ({"failed": failed} if failed else {})


def _add_caused_kernels(dice: Dice, problem: Problem, values: dict[str, Values]) -> None:
    worlds = worlds_of(problem)
    problem["kernels"] = {}
    for probe in problem["probes"]:
        measured = _measured(dice, problem, probe["name"])
        if measured in values and not values[measured].stepped and dice.chance(0.5):
            found = _value_of(dice, problem, worlds, measured)
            found.pop("likelihood", None)
        else:
            found = _by_rule(dice, problem, values, dice.rng.choice([measured, *_names(problem["causes"])]))
        problem["kernels"][probe["name"]] = found


def _compensations(dice: Dice, problem: Problem) -> list[dict[str, Any]]:
    found = []
    for i in range(dice.rng.randint(1, 2)):
        correct = dice.some(_names(problem["beliefs"]), 0.4, at_least=1)
        entry: dict[str, Any] = {"name": f"make up {i}", "cost": dice.cost(0, 6), "correct": correct}
        if dice.chance(0.5):
            entry["succeeds"] = dice.rng.choice([0.5, 0.8, 1.0])
        found.append(entry)
    if dice.chance(0.5):
        for action in problem["actions"]:
            if "undo" in action and dice.chance(0.5):
                action["undo"] = 0
    return found


def _plans(dice: Dice, problem: Problem) -> list[dict[str, Any]]:
    found = []
    done = [action["name"] for action in problem["actions"] if action.get("status") == "executed"]
    for i in range(dice.rng.randint(1, 2)):
        loss: Any = dice.cost(2, 30)
        if dice.chance(0.5):
            other = "inf" if dice.chance(0.2) else dice.cost(2, 30)
            loss = {"default": loss, dice.rng.choice(_labels(problem)): other}
        entry = {"name": f"plan {i}", "loss": loss, "correct": dice.some(_names(problem["beliefs"]), 0.5)}
        if done and dice.chance(0.4):
            entry["undo"] = dice.some(done, 0.5)
        found.append(entry)
    return found


# Rules in lists, noisy-or, and probes that are not always possible.


def ruled_problem(rng: random.Random) -> Problem:
    """Return a valid problem whose tables are lists of overlapping rules, or a number for each cause."""
    dice = Dice(rng, ties=rng.random() < 0.35)
    if dice.chance(0.5):
        problem = _caused_problem(dice)
        _rule_priors(dice, problem)
    elif dice.chance(0.6):
        problem = valued_problem(rng, ties=dice.ties, max_beliefs=3, max_probes=3, max_total_uses=4)
    else:
        problem = random_problem(rng, ties=dice.ties, max_beliefs=3, max_hypotheses=6, max_total_uses=4)
    words = _rule_words(problem)
    worlds = worlds_of(problem)
    kernels = {}
    for probe, kernel in problem["kernels"].items():
        kernels[probe] = _ruled_kernel(dice, problem, kernel, words, worlds)
    problem["kernels"] = kernels
    if "alarm" in problem or dice.chance(0.5):
        problem["alarm"] = _ruled_alarm(dice, words)
    if dice.chance(0.4):
        problem["plans"] = [{"name": "plan", "loss": _in_order(dice, words, lambda: dice.cost(2, 30))}]
    for probe in problem["probes"]:
        needs = [name for name in _names(problem["actions"]) if dice.chance(0.2)]
        for name in needs:
            probe.setdefault(dice.rng.choice(["requires", "requires", "forbids"]), []).append(name)
    return problem


def _rule_priors(dice: Dice, problem: Problem) -> None:
    """Let the prior of a cause follow from causes before it, by rules of which the first that holds decides."""
    earlier: list[str] = []
    for cause in problem["causes"]:
        labels = [f"{cause['name']}={state}" for state in cause.get("states", ())]
        if earlier and "states" not in cause and dice.chance(0.6):
            rules = [[_joined(dice, earlier), dice.rng.choice([0.05, 0.4, 0.9])] for _ in range(dice.rng.randint(1, 2))]
            cause["prior"] = [*rules, ["default", cause["prior"]]]
        earlier += [cause["name"], *labels]


def _rule_words(problem: Problem) -> list[str]:
    """Return what conditions may speak of: causes and their states, or hypotheses; beliefs; comparisons."""
    if "causes" in problem:
        found = ["nothing", *_names(problem["causes"])]
        found += [f"{cause['name']}={state}" for cause in problem["causes"] for state in cause.get("states", ())]
    else:
        found = _names(problem["hypotheses"])
    for belief in problem["beliefs"]:
        found.append(belief["name"])
        stated = belief.get("declared")
        if isinstance(stated, int | float):
            found += [f"{belief['name']} > {_key(stated)}", f"{belief['name']} <= {_key(stated)}"]
        elif stated is not None:
            found.append(f"{belief['name']} = {stated}")
    return found


def _joined(dice: Dice, words: list[str]) -> str:
    """Return one word, or several joined, each perhaps turned round."""
    picked = [("not " if dice.chance(0.2) else "") + word for word in dice.rng.sample(words, min(len(words), 2))]
    return dice.rng.choice([picked[0], picked[-1], " & ".join(picked), " | ".join(picked)])


def _in_order(dice: Dice, words: list[str], row: Any) -> list[list[Any]]:
    """Return rules that overlap as they like, and a default; now and then one that can never decide."""
    rules = [[_joined(dice, words), row()] for _ in range(dice.rng.randint(1, 4))]
    rules.append(["default", row()])
    if dice.chance(0.2):
        rules.append([_joined(dice, words), row()])
    if dice.chance(0.1):
        rules.insert(len(rules) - 1, [rules[0][0], row()])
    return rules


def _numbers(dice: Dice, words: list[str]) -> dict[str, float]:
    """Return a number for some of the causes, hypotheses and beliefs, and most often a leak above 0."""
    names = [word for word in words if word != "nothing" and not any(sign in word for sign in "<> ")]
    found = {name: dice.rng.choice([0, 0.1, 0.3, 0.5, 0.9, 1]) for name in dice.some(names, 0.5, at_least=1)}
    return found | {"leak": dice.rng.choice([0.01, 0.05, 0.2, 0.5])}


def _ruled_alarm(dice: Dice, words: list[str]) -> dict[str, Any]:
    if dice.chance(0.5):
        return {"noisy_or": _numbers(dice, words)}
    return {"likelihood": _in_order(dice, words, lambda: dice.rng.choice([0.05, 0.2, 0.5, 0.9, 1.0]))}


def _ruled_kernel(
    dice: Dice, problem: Problem, kernel: dict[str, Any], words: list[str], worlds: list[World]
) -> dict[str, Any]:
    if "of" in kernel:
        entry = next(entry for entry in problem["beliefs"] if entry["name"] == kernel["of"])
        size = len(values_of(worlds, entry)) + ("none" in kernel)
        if dice.chance(0.3):
            rules = [[_joined(dice, words), dice.distribution(size, zeros=0.2)] for _ in range(2)]
            return {**kernel, "likelihood": rules}
        return kernel
    if "outcomes" not in kernel or dice.chance(0.2):
        return kernel
    size = len(kernel["outcomes"])
    if size == 2 and dice.chance(0.4):
        return {"outcomes": kernel["outcomes"], "noisy_or": _numbers(dice, words)}
    return {"outcomes": kernel["outcomes"], "likelihood": _in_order(dice, words, lambda: _row(dice, size))}


def _row(dice: Dice, size: int) -> list[float]:
    if size == 2 and dice.chance(0.7):
        sharp = dice.rng.choice([0.9, 0.8, 0.95])
        return dice.rng.choice([[sharp, round(1 - sharp, 6)], [round(1 - sharp, 6), sharp]])
    return dice.distribution(size, zeros=0.15)
