"""The scenes that can be shown, by name, and all about the pouring robot in plain words: steps, readings, primitives.

What the robot believes is shown as belief: water leaves the pitcher over where a cup is believed to stand, and what a
scale reads is what some cup weighs there. What was declared stands beside what was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

import numpy as np

from aquamend.belief import InformationState
from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.errors import UnknownName
from aquamend.problem.graph import Value
from aquamend.problem.model.spreads import differs
from aquamend.recovery import Charge, Judged, Receipt
from aquamend.text import listed
from aquamend_lab.pouring.model.alarm_problem import AlarmModel
from aquamend_lab.pouring.model.configurations import ADDED_TO, MISREADS, CameraState, Configuration, Happening, Scales
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body, nearest_place
from aquamend_lab.pouring.mujoco.episode import Episode
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    FrozenCamera,
    Mishap,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
    draw_scales_off,
    draw_scene,
    draw_trouble,
)
from aquamend_lab.pouring.task import (
    CAMERA,
    CHECK_CAMERA,
    IN_PLACE,
    LIFT,
    LOCALISE,
    MOVE,
    PLACE,
    POUR,
    SCALES,
    TARGET,
    Stage,
    binding,
    look,
    quantity,
    weigh,
)

SCENES = {
    "swap": Mishap.SWAP_RIVAL,
    "add-water": Mishap.MUCH,
    "drift": Mishap.BIAS,
    "false-alarm": Mishap.SPIKE,
    "frozen": Mishap.FROZEN,
    "mixed-up": Mishap.MIXED_UP,
}
STAGES = {"t0": Stage.DECIDED, "early": Stage.LIFTED, "late": Stage.BESIDE, "poured": Stage.POURED}
SEED = 4_200_001
"""Seeds of shown scenes begin with this number, which neither calibration nor a suite uses."""


def demo_episode(scene: str, stage: str, seed: int) -> Episode:
    """Return the episode of a scene; a pure function of its arguments."""
    if scene not in SCENES:
        raise UnknownName("scene", scene, SCENES)
    if stage not in STAGES:
        raise UnknownName("stage", stage, STAGES)
    rng = np.random.default_rng((SEED, seed))
    table = draw_scene(rng)
    trouble = draw_trouble(SCENES[scene], table, rng)
    return Episode(table, STAGES[stage], trouble, (SEED, seed), draw_scales_off(table, rng))


def what_happened(episode: Episode) -> tuple[str, str]:
    """Return a title and a sentence or two about what really happened."""
    title, text = _trouble(episode)
    for place, grams in episode.scale_off_g.items():
        reads = "much" if grams > 0 else "little"
        text += f" The scale of place {place + 1} has read {abs(grams):.1f} g too {reads} all along."
    return title, text


def _trouble(episode: Episode) -> tuple[str, str]:
    match episode.trouble:
        case AddWater(cup=cup, grams=grams):
            return f"Somebody adds water to {cup}", f"{grams} g of water are poured into {cup} behind the robot's back."
        case SwapCups(one=one, other=other):
            return f"Somebody swaps {one} and {other}", f"{one} and {other} change places, each with its water."
        case BiasedCamera(cup=cup, bias_g=bias):
            reads = "high" if bias > 0 else "low"
            return f"The camera reads {cup} too {reads}", f"From now on it reads {cup} {abs(bias):.1f} g too {reads}."
        case MixedUpCamera(one=one, other=other):
            return f"The camera mixes up {one} and {other}", "From now on it reads the level of one for the other."
        case FrozenCamera():
            return "The camera freezes", "From now on it goes on showing this picture."
        case Occlusion(cup=cup):
            return "Nothing happens", f"For a moment {cup} is out of the camera's sight; all is well."
        case Spike(signal=signal, cup=cup):
            of = f" of {cup}" if cup else ""
            return "Nothing happens", f"The monitor's {signal} signal{of} jumps for a moment; all is well."
        case trouble:
            assert_never(trouble)


UNDOING = {PLACE: "fetch the pitcher", POUR: "pour back", MOVE: "draw back", LIFT: "put the pitcher down"}
"""The last action comes first."""

PROBES = {
    **{look(cup): f"look at {cup}" for cup in dim.CUPS},
    **{weigh(cup): f"weigh {cup} on its scale" for cup in dim.CUPS},
    LOCALISE: "find the cups",
    CHECK_CAMERA: "test the camera",
}

BELIEFS = {
    **{quantity(cup): f"how much is in {cup}" for cup in dim.CUPS},
    **{binding(cup): f"where {cup} stands" for cup in dim.CUPS},
    TARGET: "which cup is to be filled",
    CAMERA: "whether the camera reads right",
    SCALES: "whether the scales read right",
}

PRIMITIVES = {
    **PROBES,
    "test camera": "test the camera",
    "draw back": "draw the pitcher back",
    "retreat": "take the hand home",
    f"grasp {dim.PITCHER}": "grasp the pitcher",
    f"lift {dim.PITCHER}": "lift the pitcher",
    f"place {dim.PITCHER}": "set the pitcher down",
    f"return with {dim.PITCHER}": "go back with the pitcher",
    **{f"look at {cup}": f"look at {cup}" for cup in dim.CUPS},
    **{f"grasp {cup}": f"grasp what stands where {cup} is believed to stand" for cup in dim.CUPS},
    **{f"lift {cup}": f"lift what was grasped as {cup}" for cup in dim.CUPS},
    **{f"place {cup}": f"set down what was grasped as {cup}" for cup in dim.CUPS},
    **{f"move to {cup}": f"carry the pitcher to where {cup} is believed to stand" for cup in dim.CUPS},
    **{f"move {cup} to {dim.PITCHER}": f"carry what was grasped as {cup} to the pitcher" for cup in dim.CUPS},
    **{f"pour into {cup}": "pour" for cup in dim.CUPS},
}
"""By what the robot's receipts call them."""

_SURE = {
    **{f"{vessel} gripped": "something is between the fingers" for vessel in dim.VESSELS},
    **{f"beside {cup}": "" for cup in dim.CUPS},
    f"beside {dim.PITCHER}": "",
    f"{dim.PITCHER} is above its own place": "",
    "the hand is home": "",
}
"""What the robot calls a fact and cannot know, or what the title has said already."""


def primitive(leaf: Receipt, declared_g: Mapping[str, float]) -> Receipt:
    """Return a primitive's receipt in words that say no more than the robot can know."""
    return replace(leaf, what=PRIMITIVES.get(leaf.what, leaf.what), finding=_found(leaf, declared_g))


def _found(leaf: Receipt, declared_g: Mapping[str, float]) -> str:
    found = str(leaf.finding or "")
    if found in _SURE:
        return _SURE[found]
    for cup in dim.CUPS:
        if leaf.what == f"pour into {cup}":
            return found.replace(" g poured", f" g left the pitcher over where {cup} is believed to stand")
        if leaf.what in (f"look at {cup}", look(cup)) and leaf.succeeded and cup in declared_g:
            return f"{found}; {declared_g[cup]:.1f} g were declared"
    for vessel in dim.VESSELS:
        found = found.replace(f"{vessel} lifted, it feels", "it feels")
        found = found.replace(f"{vessel} stands on", "something stands on").replace(f"{vessel} is set down", "set down")
    return found.replace(" g poured", " g left the hand")


def probed(probe: str, receipt: Receipt, declared: Mapping[str, Value], poured_g: Mapping[str, float], at: Body) -> str:
    """Return what a probe found, with what was expected beside it; ``at`` is the robot when the alarm was raised."""
    found = receipt.finding
    if not receipt.succeeded:
        return f"{PROBES[probe]}: failed, {found}"
    if probe == LOCALISE:
        return f"finding the cups: {found}" + (", as expected" if found == IN_PLACE else f"; {IN_PLACE} was expected")
    if probe == CHECK_CAMERA:
        as_declared = found == declared[CAMERA]
        return f"the camera's self test: {found}" + (
            ", as declared" if as_declared else f"; {declared[CAMERA]} was declared"
        )
    for cup in dim.CUPS:
        expected = f"{float(declared[quantity(cup)]):.1f} g were declared"
        dose = poured_g.get(cup, 0.0)
        less = f", less the {dose:.1f} g believed poured there," if dose else ""
        if probe == look(cup):
            return f"look at {cup}: {found:.1f} g{less}; {expected}".replace(",;", ";")
        if probe == weigh(cup):
            reads = f"the scale at {_whose_place(cup, declared, at)} reads {found:.1f} g{less}"
            return f"{reads}; {expected}".replace(",;", ";")
    return f"{probe}: {found}"


def _whose_place(cup: str, declared: Mapping[str, Value], at: Body) -> str:
    """Return whose declared place a cup is weighed at: the one where it was last seen."""
    place = at.seen_place(cup)
    homes = {nearest_place(float(declared[binding(each)]) / 1000): each for each in dim.CUPS}
    owner = homes.get(place)
    if owner == cup:
        return f"{cup}'s place"
    there = f"place {place + 1}" if owner is None else f"{owner}'s place"
    return f"{there}, where {cup} was seen,"


def step_name(step: Step, state: InformationState) -> str:
    """Return what a step does with hand and eye, and what is believed from then on."""
    match step:
        case Reprobe(probe=probe):
            return PROBES.get(probe, probe)
        case Continue():
            return "go on as planned"
        case Escalate():
            return "stop safely, call a person"
        case Restart():
            return "start over"
        case RollBack(plan=str(plan)):
            return plan
        case RollBack():
            undo = [words for action, words in UNDOING.items() if action in step.undo]
            return "; ".join([", ".join(undo) or "undo nothing", *_believing(step, state)])


def _believing(step: RollBack, state: InformationState) -> list[str]:
    """Return what a correction says is so."""
    said = {new.belief: new.value for new in step.declare}
    placed = [cup for cup in dim.CUPS if binding(cup) in step.correct]
    kept = [cup for cup in placed if not _moves(binding(cup), said.get(binding(cup)), state)]
    moved = [cup for cup in placed if cup not in kept]
    parts = [f"{' and '.join(moved)} exchanged"] if len(moved) == 2 else []
    parts += [f"{listed(moved)} elsewhere"] if len(moved) in (1, 3) else []
    parts += [f"{listed(kept)} in place"] if kept else []
    for cup in dim.CUPS:
        if quantity(cup) in step.correct:
            grams = said.get(quantity(cup))
            parts.append(f"{cup} holds {grams:.1f} g" if isinstance(grams, float) else f"{cup} holds something else")
    if TARGET in step.correct:
        parts.append(f"pour into {said.get(TARGET) or 'another cup'}")
    parts += ["distrust the camera"] if CAMERA in step.correct else []
    return parts + (["distrust a scale"] if SCALES in step.correct else [])


def _moves(belief: str, value: Value | None, state: InformationState) -> bool:
    """Return whether a cup is declared to stand somewhere else than at first; to declare that again is no move."""
    graph = state.problem.graph
    first = graph.beliefs[graph.belief_index[belief]]
    return value is None or differs(value, first.declared, first.tolerance)


def receipts(
    judged: Judged, *, alarm: Sequence[Receipt], declared_g: Mapping[str, float], end_s: float
) -> Iterator[Receipt]:
    """Yield what was paid for, primitive by primitive, and what failed although it cost nothing; each with its time.

    What was measured for the alarm itself was measured then, and what was left wrong shows in the end.
    """
    own = iter(alarm)
    for receipt in judged.receipts:
        for leaf in (leaf for leaf in receipt.leaves if leaf.cost > 0 or not leaf.succeeded):
            if leaf.charge is Charge.RESIDUAL:
                left = f"left wrong: {BELIEFS.get(leaf.what, leaf.what)}"
                yield replace(leaf, what=left, start_s=end_s, end_s=end_s)
            elif leaf.start_s is None:
                then = next(own)
                yield replace(primitive(leaf, declared_g), start_s=then.start_s, end_s=then.end_s)
            else:
                yield primitive(leaf, declared_g)


_ALONE = {
    Happening.LITTLE: "water added to {target}, still the least full",
    Happening.MUCH: "water added to {target}, no longer the least full",
    Happening.RIVAL: "water added to {rival}",
    Happening.THIRD: "water added to {third}",
    Happening.SWAPPED: "{one} and {other} swapped",
}
_NOTHING, _SCALE, _BOTH = "nothing is wrong", "only a scale is off", "two things at once"
_CAMERA = {CameraState.FROZEN: "the camera is frozen", CameraState.MIXED_UP: "the camera mixes up {target} and {rival}"}
_MISREAD = "the camera misreads a cup"
NAMES = (_NOTHING, *_ALONE.values(), _MISREAD, *_CAMERA.values(), _BOTH, _SCALE)


def explanations(state: InformationState, model: AlarmModel) -> dict[str, float]:
    """Return the posterior over what may be the matter, in the same order at every state; it sums to one.

    A scale that is off beside something else counts for the something else.
    """
    target, rival, third = model.order
    one, other = (model.order[role] for role in model.table.exchanged)
    names = {n: n.format(target=target, rival=rival, third=third, one=one, other=other) for n in NAMES}
    shares = dict.fromkeys(names.values(), 0.0)
    for supposed, p in zip(model.supposed, state.posterior, strict=True):
        shares[names[_which(supposed.configuration)]] += float(p)
    return shares


def _which(configuration: Configuration) -> str:
    happened, camera, scales = configuration
    if happened is Happening.NOTHING and camera is CameraState.SOUND:
        return _NOTHING if scales is Scales.SOUND else _SCALE
    if happened is not Happening.NOTHING and camera is not CameraState.SOUND:
        return _BOTH
    if happened in ADDED_TO or happened is Happening.SWAPPED:
        return _ALONE[happened]
    return _MISREAD if camera in MISREADS else _CAMERA[camera]
