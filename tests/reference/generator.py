"""Random valid problem files, biased towards the corners where two implementations part.

Names are the same in every problem (``b0``, ``a0``, ``p0``, outcomes ``o0``): one ``--observe`` fits many files.
"""

import random
from typing import Any

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
        failed = [h["name"] for h in problem["hypotheses"] if belief in h["failed"]]
        anything = dice.some(_names(problem["hypotheses"]), 0.4)
        entry: dict[str, Any] = {"name": f"claim {i}", "version": dice.rng.randint(1, 3), "belief": belief}
        entry["invalid_in"] = failed if dice.chance(0.6) else anything
        support = [source for source, target, _ in problem["edges"] if target == belief and source.startswith("p")]
        if support and dice.chance(0.7):
            entry["support"] = support
        declared.append(entry)
    return declared


def format_2_problem(
    rng: random.Random,
    *,
    gaussian: bool = False,
    ties: bool | None = None,
    max_beliefs: int = 4,
    max_actions: int = 5,
    max_probes: int = 3,
    max_hypotheses: int = 6,
    max_total_uses: int = 4,
) -> Problem:
    """Return a valid problem of format 2: values, sources, accuracies, supported corrections, the need of support.

    With ``gaussian``, some probes are continuous, no residual is infinite and escalation bounds every loss. A few
    problems use nothing that is new in the format.
    """
    dice = Dice(rng, ties=rng.random() < 0.35 if ties is None else ties)
    problem: Problem = {"format": "aquamend-problem/2", "name": "random"}
    problem["beliefs"] = _beliefs(dice, rng.randint(1, max_beliefs), infinite=False)
    problem["actions"] = _actions(dice, rng.choice([0, *range(1, max_actions + 1), *range(2, max_actions + 1)]))
    used = {name for action in problem["actions"] for name in action.get("operations", [])}
    if used:
        problem["operations"] = [{"name": name, "cost": dice.cost(0, 8)} for name in sorted(used)]
    problem["probes"] = _probes(dice, max(rng.randint(1, max_probes), rng.randint(1, max_probes)), max_total_uses)
    every_belief_acts = rng.random() < 0.8
    problem["edges"] = _edges(dice, problem, every_belief_acts=every_belief_acts, inference=0.35)
    problem["hypotheses"] = _hypotheses(dice, problem, rng.randint(2, max_hypotheses))
    _add_kernels(dice, problem, gaussian=gaussian)
    _add_options(dice, problem)
    problem.pop("declarations", None)
    if dice.chance(0.95):
        _add_values(dice, problem)
        _add_instruments(dice, problem, gaussian=gaussian)
        _add_rules(dice, problem, infinite=not gaussian)
    if dice.chance(0.65):
        problem["declarations"] = _supported_declarations(dice, problem)
    if gaussian and "escalate" not in problem:
        problem["escalate"] = dice.cost(8, 60)
    return problem


def _add_values(dice: Dice, problem: Problem) -> None:
    """Say for most beliefs what is declared, and for every failure of those what would be true instead."""
    for belief in problem["beliefs"]:
        if dice.chance(0.3):
            continue
        right, wrong = _text_values(dice, belief) if dice.chance(0.45) else _number_values(dice, belief)
        wrong = dice.rng.sample(wrong, min(len(wrong), dice.rng.randint(1, 3)))
        for hypothesis in problem["hypotheses"]:
            if belief["name"] in hypothesis["failed"]:
                hypothesis["failed"].remove(belief["name"])
                hypothesis.setdefault("truth", {})[belief["name"]] = dice.rng.choice(wrong)
            elif dice.chance(0.3):
                hypothesis.setdefault("truth", {})[belief["name"]] = dice.rng.choice(right)
    for hypothesis in problem["hypotheses"]:
        if not hypothesis["failed"] and dice.chance(0.6):
            del hypothesis["failed"]
        if dice.chance(0.2):
            del hypothesis["cause"]


def _text_values(dice: Dice, belief: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Declare a word; return the true values with which it holds and those with which it has failed."""
    words = ["A", "B", "C", "sound", "biased"]
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
        declared, width = rng.choice([(18, 3), (18.0, 3.0), (-2.5, 0.5), (0.1, 0.3), (0.7, 0.1), (100, 25)])
        near, far = [-1, -0.5, 0, 0.5, 1], [-3, -2, -1.5, 1.5, 2, 2.5, 3]
    else:
        declared, width = round(rng.uniform(-20, 80), 3), round(rng.uniform(0.5, 6), 3)
        near = [round(rng.uniform(-0.95, 0.95), 2) for _ in range(3)]
        far = [rng.choice([-1, 1]) * round(rng.uniform(1.05, 3.5), 2) for _ in range(5)]
    belief["declared"] = declared
    if dice.chance(0.8):
        belief["tolerance"] = width
    else:
        near = [0]
        if dice.chance(0.4):
            belief["tolerance"] = 0
    return [round(declared + k * width, 6) for k in near], [round(declared + k * width, 6) for k in far]


def _share(dice: Dice) -> float:
    """Return an accuracy: a round one, or one with three decimals."""
    if dice.ties or dice.chance(0.4):
        return dice.rng.choice([1, 1.0, 0.98, 0.95, 0.9, 0.75, 0.5, 0.25, 0])
    return round(dice.rng.uniform(0.55, 1), 3)


def _add_instruments(dice: Dice, problem: Problem, *, gaussian: bool) -> None:
    """Give probes a source and an accuracy, and some a kernel that tells the values of a belief apart."""
    beliefs, hypotheses = problem["beliefs"], problem["hypotheses"]
    for probe in problem["probes"]:
        if dice.chance(0.45):
            measured = {target for source, target, _ in problem["edges"] if source == probe["name"]}
            others = [name for name in _names(beliefs) if name not in measured]
            probe["source"] = dice.rng.choice(others if others and dice.chance(0.85) else _names(beliefs))
        if dice.chance(0.4):
            probe["accuracy"] = _share(dice)
        elif dice.chance(0.5):
            table = {name: _share(dice) for name in dice.some(_names(hypotheses), 0.3)}
            if dice.chance(0.6) or not table:
                table = {"default": _share(dice)} | table
            probe["accuracy"] = table
        if not gaussian and dice.chance(0.35):
            _read_values(dice, problem, probe)


def _read_values(dice: Dice, problem: Problem, probe: dict[str, Any]) -> None:
    """Let the probe answer with the value it reads, one of at most three; a failed source makes every answer alike."""
    measured = _measured(dice, problem, probe["name"])
    belief = next(belief for belief in problem["beliefs"] if belief["name"] == measured)
    if "declared" not in belief:
        return
    values = [belief["declared"]]
    for hypothesis in problem["hypotheses"]:
        value = hypothesis.get("truth", {}).get(belief["name"], belief["declared"])
        if value not in values:
            values.append(value)
    size = min(len(values), 3)
    hit = dice.rng.choice([1.0, 0.96, 0.9, 0.75]) if size > 1 else 1.0
    likelihood = {}
    for hypothesis in problem["hypotheses"]:
        truth = hypothesis.get("truth", {})
        column = min(values.index(truth.get(belief["name"], belief["declared"])), size - 1)
        row = [hit if i == column else (1 - hit) / max(size - 1, 1) for i in range(size)]
        source = probe.get("source")
        if source is not None and (source in truth or source in hypothesis.get("failed", [])):
            row = [1 / size] * size
        likelihood[hypothesis["name"]] = row
    problem["kernels"][probe["name"]] = {"outcomes": [f"o{i}" for i in range(size)], "likelihood": likelihood}


def _add_rules(dice: Dice, problem: Problem, *, infinite: bool) -> None:
    """Say how beliefs are corrected, and which of them may be kept and need support."""
    supported, ruled = dice.rng.choice([0.4, 0.8, 1.0]), dice.rng.choice([0, 0.3, 0.6])
    for belief in problem["beliefs"]:
        if dice.chance(supported):
            belief["correction"] = "supported"
        elif dice.chance(0.3):
            belief["correction"] = "assured"
        if dice.chance(0.15):
            belief["may_keep"] = False
        if dice.chance(ruled):
            belief["needs_support"] = True
        elif dice.chance(0.1):
            belief["needs_support"] = False
        if infinite and dice.chance(0.04):
            belief["residual"] = "inf"


def _supported_declarations(dice: Dice, problem: Problem) -> list[dict[str, Any]]:
    """Return declarations of most beliefs, most of them with support, some from a probe without any edge to it."""
    declared: list[dict[str, Any]] = []
    probes = _names(problem["probes"])
    for belief in problem["beliefs"]:
        for _ in range(dice.rng.choice([0, 1, 1, 1, 2])):
            entry: dict[str, Any] = {"name": f"claim {len(declared)}", "belief": belief["name"]}
            if dice.chance(0.5):
                entry["version"] = dice.rng.randint(1, 3)
            if "declared" not in belief:
                failed = [h["name"] for h in problem["hypotheses"] if belief["name"] in h.get("failed", [])]
                entry["invalid_in"] = failed if dice.chance(0.7) else dice.some(_names(problem["hypotheses"]), 0.4)
            if dice.chance(0.7):
                entry["support"] = dice.some(probes, 0.35, at_least=1)
            declared.append(entry)
    dice.rng.shuffle(declared)
    return declared or [{"name": "claim 0", "belief": problem["beliefs"][0]["name"], "invalid_in": []}]
