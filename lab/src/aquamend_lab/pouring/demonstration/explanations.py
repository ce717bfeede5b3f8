"""What may be the matter, in few words: the posterior with alike configurations taken together."""

from __future__ import annotations

from aquamend.belief import InformationState
from aquamend_lab.pouring.model.configurations import (
    ADDED_TO,
    MISREADS,
    CameraState,
    Configuration,
    Happening,
    Scales,
)
from aquamend_lab.pouring.model.problem import AlarmModel

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
