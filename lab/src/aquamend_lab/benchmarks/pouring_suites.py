"""The pouring robot as suites: physical scenes, each simulated once up to its alarm and branched for every policy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

import numpy as np

from aquamend.belief import InformationState
from aquamend.decision.probe_value import best_probe, probe_values
from aquamend.errors import AquaMendError, UnknownName
from aquamend.policies import AquaMend
from aquamend.problem.model import Cause, Declaration
from aquamend.recovery import Act, Measure
from aquamend_lab.benchmarks.play import Probabilities, step_text
from aquamend_lab.benchmarks.scenario import Scenario, Truth, generator
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.pouring import task
from aquamend_lab.pouring.model.alarm_problem import PROBE_S, PosteriorSetting, distorted
from aquamend_lab.pouring.model.fitted import load_fitted
from aquamend_lab.pouring.mujoco import judging, world
from aquamend_lab.pouring.mujoco.dimensions import CUPS
from aquamend_lab.pouring.mujoco.episode import AtTheAlarm, Episode, until_alarm
from aquamend_lab.pouring.mujoco.judging import truth_of, wrong_at_alarm
from aquamend_lab.pouring.mujoco.trouble import Mishap, MishapSize, draw_scales_off, draw_scene, draw_trouble
from aquamend_lab.pouring.mujoco.world import Moment, PouringRobot
from aquamend_lab.pouring.task import CAMERA, TARGET, CupValues, Stage, binding, quantity
from aquamend_lab.records import STRATUM

MAIN_BATCH, LARGE, VALIDATION, PRE_COMMIT, Q1 = (
    "pouring-v3", "pouring-96-v3", "pouring-80-v3", "pouring-t2-v3", "q1-v3"
)  # fmt: skip
METHODS = ("aquamend", "troubleshooting", "no-reprobe", "restart", "linear-chain", "all-candidates")
"""The paper's five, and its ablation that evaluates every candidate."""
Q1_SCENES = 8
BESIDE = ("best", "aquamend-two-step", "troubleshooting-1", "greedy-repair", "lookahead-2")
"""Others beside them: a plan kept to its end, detecting and then measuring again, one observation at most, a greedy
repair plan, and two steps ahead."""
STARTING_OVER, CHAIN = "starting over", "chain"
FACES = {"restart": STARTING_OVER, "linear-chain": CHAIN}
"""Starting over is an ending for nobody but who does nothing else, and who goes by the chain faces the task's own."""


class Family(StrEnum):
    """What happens in a scene."""

    FALSE_ALARM = "false alarm"
    ADD = "add water"
    SWAP = "swap"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True)
class Design:
    """One scene as it is designed; the table and all sizes are drawn."""

    family: Family
    stage: Stage
    kind: Mishap
    misread: int | None = None
    """Which cup the camera misreads, by what it holds: 0 is the emptiest, the paper's A, and 1 the next, its B."""
    severity: MishapSize | None = None


def main_design(number: int) -> Design:
    """Return a scene of the main batch: families take turns, then stages, four of each as in the paper.

    Half of the false alarms are an occlusion, half a spike. Water is added to the target, half so that it stays the
    least full. Target and rival are swapped. The camera misreads the target early and the rival late.
    """
    family = tuple(Family)[number % len(Family)]
    stage = (Stage.LIFTED, Stage.BESIDE)[number // len(Family) % 2]
    turn = number // (2 * len(Family)) % 2
    kind = {
        Family.FALSE_ALARM: (Mishap.OCCLUSION, Mishap.SPIKE)[turn],
        Family.ADD: (Mishap.MUCH, Mishap.LITTLE)[turn],
        Family.SWAP: Mishap.SWAP_RIVAL,
        Family.DRIFT: Mishap.BIAS,
    }[family]
    misread = int(stage is Stage.BESIDE) if family is Family.DRIFT else None
    return Design(family, stage, kind, misread)


def validation_design(number: int) -> Design:
    """Return a scene of the validation: four families, T0 and early T1, two severities."""
    family = tuple(Family)[number % len(Family)]
    stage = (Stage.DECIDED, Stage.LIFTED)[number // len(Family) % 2]
    severity = tuple(MishapSize)[number // (2 * len(Family)) % 2]
    mild = severity is MishapSize.MILD
    kind = {
        Family.FALSE_ALARM: Mishap.OCCLUSION if mild else Mishap.SPIKE,
        Family.ADD: Mishap.LITTLE if mild else Mishap.MUCH,
        Family.SWAP: Mishap.SWAP_OTHERS if mild else Mishap.SWAP_RIVAL,
        Family.DRIFT: Mishap.BIAS,
    }[family]
    return Design(family, stage, kind, severity=severity)


def pre_commit_design(number: int) -> Design:
    """Return a scene about to commit: every kind of trouble takes its turn."""
    kind = tuple(Mishap)[number % len(Mishap)]
    return Design(family_of_trouble(kind), Stage.COMMITTING, kind)


def family_of_trouble(kind: Mishap) -> Family:
    """Return the family that a kind of trouble belongs to."""
    match kind:
        case Mishap.OCCLUSION | Mishap.SPIKE:
            return Family.FALSE_ALARM
        case Mishap.LITTLE | Mishap.MUCH | Mishap.RIVAL | Mishap.THIRD:
            return Family.ADD
        case Mishap.SWAP_RIVAL | Mishap.SWAP_THIRD | Mishap.SWAP_OTHERS:
            return Family.SWAP
        case Mishap.BIAS | Mishap.FROZEN | Mishap.MIXED_UP:
            return Family.DRIFT


def alarmed_scene(suite: str, seed: int, number: int, design: Design) -> AtTheAlarm:
    """Return the alarm of a scene; a pure function of its arguments."""
    return until_alarm(drawn_episode(suite, seed, number, design))


def drawn_episode(suite: str, seed: int, number: int, design: Design) -> Episode:
    """Return the episode of a scene, drawn and not yet simulated."""
    rng = generator(suite, seed, number)
    table = draw_scene(rng)
    by_amount = sorted(table.vessels[:3], key=lambda vessel: vessel.grams)
    misread = None if design.misread is None else by_amount[design.misread].name
    trouble = draw_trouble(design.kind, table, rng, cup=misread, severity=design.severity)
    off = draw_scales_off(table, rng)
    own = tuple(int(x) for x in rng.integers(2**31, size=2))
    return Episode(table, design.stage, trouble, own, off)


def episode_of(suite: str, seed: int, number: int) -> Episode:
    """Return the episode of a suite's scene, by the suite's name, to look at it."""
    designs = {MAIN_BATCH: main_design, LARGE: main_design, Q1: main_design, VALIDATION: validation_design}
    designs[PRE_COMMIT] = pre_commit_design
    if suite not in designs:
        raise UnknownName("suite of the pouring robot", suite, designs)
    known = next(one for one in POURING_SUITES if one.name == suite)
    scenes = Q1_SCENES if suite == Q1 else known.scenarios
    if number >= scenes or seed >= known.seeds:
        raise AquaMendError(
            f"{suite} has no scene {number} of seed {seed}; give a scene from 0 to {scenes - 1} and a seed from 0 to "
            f"{known.seeds - 1}"
        )
    return drawn_episode(suite, seed, number, designs[suite](number))


PROBABILITIES = Probabilities(
    {
        "any binding": [binding(cup) for cup in CUPS],
        "any quantity": [quantity(cup) for cup in CUPS],
        "any target": [TARGET],
        "any camera": [CAMERA],
    }
)
STAGE_NAMES = {Stage.DECIDED: "T0", Stage.LIFTED: "early", Stage.BESIDE: "late", Stage.COMMITTING: "T2"}


def make(
    suite: str,
    design: Callable[[int], Design],
    seed: int,
    number: int,
    setting: PosteriorSetting = PosteriorSetting.ORIGINAL,
) -> Scenario:
    """Return one scene of a suite."""
    plan = design(number)
    alarmed = alarmed_scene(suite, seed, number, plan)
    failed = wrong_at_alarm(alarmed)
    cause = alarmed.episode.trouble.cause if failed else Cause.FALSE_ALARM
    group = {"stage": STAGE_NAMES[plan.stage], "family": plan.family.value}
    if plan.severity is not None:
        group["severity"] = plan.severity.value
    scales = [int(scale) for scale in alarmed.episode.scene.scales[:3]]
    known: dict[tuple[Measure | Act, ...], Moment] = {}
    features = {
        "report": str(alarmed.report),
        "located": alarmed.heard.located,
        "looked": dict(alarmed.heard.looked),
        "scales": scales,
        "scale_off": bool(alarmed.episode.scale_off_g),
        "first_commands": first_commands(alarmed.state()) if setting is PosteriorSetting.ORIGINAL else {},
    }

    def posed(*, restarts: bool = False, linear_chain: bool = False) -> Scenario:
        own = alarmed.posed(restarts=restarts, linear_chain=linear_chain)

        def enter() -> PouringRobot:
            return PouringRobot(own, setting=setting, known=known)

        truth = Truth(plan.kind.value, failed, cause, enter, invalid=_invalid(alarmed))
        state, roles = distorted(own.state(), setting), _roles(alarmed.declared)
        return Scenario(suite, seed, number, state, (truth,), group=group, features=features, roles=roles)

    return replace(posed(), versions={STARTING_OVER: posed(restarts=True), CHAIN: posed(linear_chain=True)})


def _roles(declared: CupValues) -> dict[str, str]:
    """Return the beliefs about cups by role: the cup declared least full, the next, and the other."""
    roles = dict(zip(declared.by_amount(), ("target", "next", "other"), strict=True))
    amounts = {quantity(cup): f"quantity of the {role}" for cup, role in roles.items()}
    return amounts | {binding(cup): f"binding of the {role}" for cup, role in roles.items()}


def first_commands(state: InformationState) -> dict[str, dict[str, object]]:
    """Return what AquaMend would do first under every distortion of the posterior, and the loss that it predicts.

    With how far, in total variation, the distortion is from the posterior.
    """
    found: dict[str, dict[str, object]] = {}
    for setting in PosteriorSetting:
        as_if = distorted(state, setting)
        values = probe_values(as_if, AquaMend().candidates(as_if))
        best = best_probe(values.expected_loss, values.stop_loss)
        predicted = values.stop_loss if best is None else float(values.expected_loss[best])
        found[setting.value] = {
            "command": step_text(AquaMend().next_step(as_if)),
            "total_variation": float(np.abs(as_if.posterior - state.posterior).sum() / 2),
            "predicted_loss": predicted,
        }
    return found


def _invalid(alarmed: AtTheAlarm) -> Callable[[Declaration], bool]:
    """Return what tells whether a version of a declaration is really invalid: its value against what is true."""
    task, declared = alarmed.template.model({}).task, alarmed.declared
    true = truth_of(alarmed.body, alarmed.before_pouring_g, declared.target)
    said = task.values(declared)

    def invalid(version: Declaration) -> bool:
        value = said[version.belief] if version.value is None else version.value
        return version.belief in task.wrong(said | {version.belief: value}, true)

    return invalid


def make_q1(seed: int, number: int) -> Scenario:
    """Return one scene of Q1 under one distorted posterior: eight scenes, one of each family at each stage."""
    setting = tuple(PosteriorSetting)[number // Q1_SCENES]
    scenario = make(Q1, main_design, seed, number % Q1_SCENES, setting)
    names_of = {PosteriorSetting.NEGATIVE_BIAS: "negative bias", PosteriorSetting.POSITIVE_BIAS: "positive bias"}
    features = scenario.features | scenario.group
    return replace(scenario, number=number, group={"setting": names_of.get(setting, setting.value)}, features=features)


def frozen_rules() -> dict[str, str]:
    """Return fingerprints of what is settled before a scene is played: the model, costs, guard and success rule."""
    rules = {"costs, residuals and tolerances": task, "guard": world, "success rule": judging}
    found = {"model": load_fitted().hash}
    for name, module in rules.items():
        source = Path(str(module.__file__)).read_bytes()
        found[f"{name} ({module.__name__})"] = hashlib.sha256(source).hexdigest()[:16]
    return found


def _suite(name: str, description: str, design: Callable[[int], Design], **rest: object) -> RecoverySuite:
    return RecoverySuite(
        name=name,
        description=description,
        make=partial(make, name, design),
        expected_risk=False,
        probabilities=PROBABILITIES,
        detailed=True,
        faces=FACES,
        groups={"stage": STRATUM, "family": STRATUM, "severity": STRATUM},
        frozen=frozen_rules,
        unit="s",
        **rest,  # type: ignore[arg-type]
    )


_BATCH = (
    "scenes of the MuJoCo pouring robot, as many early as late: false alarms, water added, cups swapped, a camera that "
    "misreads. Every recovery is carried out by hand, and costs are simulated seconds from its receipts."
)
POURING_SUITES = (
    _suite(
        MAIN_BATCH,
        f"32 {_BATCH}",
        main_design,
        scenarios=32,
        seeds=1,
        policies=(*METHODS, *BESIDE),
        timed_cold=("aquamend", "all-candidates", "lossless"),
    ),
    _suite(
        LARGE,
        f"96 {_BATCH} Three times the main batch, to decide what that is too small for.",
        main_design,
        scenarios=32,
        seeds=3,
        policies=("aquamend", "troubleshooting", "no-reprobe", "restart", "linear-chain", "best", "aquamend-two-step"),
    ),
    RecoverySuite(
        name=Q1,
        unit="s",
        description="Eight new scenes of the pouring robot under five distortions of the alarm's posterior (Q1).",
        scenarios=Q1_SCENES * len(PosteriorSetting),
        seeds=1,
        policies=("aquamend",),
        make=make_q1,
        expected_risk=False,
        frozen=frozen_rules,
        detailed=True,
    ),
    _suite(
        VALIDATION,
        "80 scenes of the pouring robot: four families at T0 and early T1, mild and severe, five seeds.",
        validation_design,
        scenarios=16,
        seeds=5,
        policies=("aquamend", "best", "troubleshooting", "rollback-only", "veritrace", "restart"),
        normalised={"probe": 1.0, "rollback": 3.0, "unit_s": PROBE_S},  # as the paper’s costs were frozen
    ),
    _suite(
        PRE_COMMIT,
        "40 scenes of the pouring robot about to commit its pour: whether what cannot easily be undone is done on an "
        "unsupported target.",
        pre_commit_design,
        scenarios=40,
        seeds=1,
        policies=("aquamend", "best", "troubleshooting", "rollback-only", "veritrace", "restart"),
    ),
)
"""Contact physics comes out the same on one kind of processor only; their records say which."""
