"""What somebody declared and heard, and a model with round numbers, all written by hand."""

from aquamend_lab.pouring.model.alarm_problem import AlarmModel, AtAlarm
from aquamend_lab.pouring.model.configurations import (
    AS_BELIEVED,
    ROLES,
    Amount,
    CameraState,
    Configuration,
    CupsByRole,
    Happening,
    Scales,
    Shifts,
    Supposed,
)
from aquamend_lab.pouring.model.fitted import KINDS, Duration, Fitted, FittedReadings, Group, cells
from aquamend_lab.pouring.task import OF_A_CUP, ROUTINE, SIGNED, CupValues, Report, Signal, Stage, decided

DECLARED = decided("ABC", (28.0, 18.0, 35.0), (-220.0, 0.0, 220.0))
"""B is the target, A its rival, C the third."""
ORDER = ("B", "A", "C")
LEVEL_HIGH = Report(Signal.LEVEL, "B", 9.0)

SHIFTS = Shifts(
    little=Amount(5.0, 0.8),
    beyond_rival=Amount(5.0, 1.4),
    elsewhere=Amount(8.0, 2.0),
    bias=Amount(8.0, 1.5),
    scale=Amount(8.5, 1.5),
)
SECONDS = {
    "fetch": 5.0, "move": 1.5, "draw back": 2.0, "pour": 15.0, "put back": 4.0, "pour back": 35.0,
}  # fmt: skip


def uneven(names) -> dict[str, float]:
    """Return probabilities that all differ."""
    return {name: 2 * i / len(names) / (len(names) + 1) for i, name in enumerate(names, start=1)}


AMOUNTS = [f"{sense}_{role}" for sense in ("look", "weigh") for role in ROLES]

FITTED = Fitted(
    readings=FittedReadings(
        look_same_sd_g=0.6,
        look_new_sd_g=1.0,
        weigh_sd_g=0.9,
        localise_right=0.98,
        finds_faulty={"sound": 0.03, "misreads": 0.04, "frozen": 0.96, "mixed_up": 0.97},
        scale_off=0.15,
    ),
    shifts=SHIFTS,
    alarms={kind: uneven(cells(some_affected=kind not in (Happening.NOTHING, CameraState.FROZEN))) for kind in KINDS},
    durations={what: Duration(seconds, 0.1, 9) for what, seconds in SECONDS.items()},
    groups=tuple(
        Group(name, 12, (*AMOUNTS, "localise", "check_camera"), (10.0, 17.0), (5.0, 5.0, 5.0))
        for name in ("level+ of the target", "level- of the target", "sight of another cup")
    ),
    records=144,
    calibration={},
)
"""A model with round numbers; every kind of trouble is noticed alike."""

REPORTS = (
    *(
        Report(signal, cup, 10.0 * sign)
        for signal in OF_A_CUP
        for cup in "ABC"
        for sign in ((1, -1) if signal in SIGNED else (1,))
    ),
    Report(Signal.STAMP, "", 2.0),
    ROUTINE,
)
"""One report of every kind that there can be."""


def model(
    declared: CupValues = DECLARED,
    stage: Stage = Stage.LIFTED,
    report: Report = LEVEL_HIGH,
    fitted: Fitted = FITTED,
    restarts: bool = False,
    **heard,
) -> AlarmModel:
    """Return the model of an alarm."""
    return AlarmModel(declared, AtAlarm(stage, report, **heard), fitted, restarts)


def configuration(*parts: Happening | CameraState | Scales) -> Configuration:
    """Return a configuration in which these things are the matter, and nothing else."""
    found = Configuration()
    for part in parts:
        name = {Happening: "happened", CameraState: "camera", Scales: "scales"}[type(part)]
        found = found._replace(**{name: part})
    return found


def supposed(
    *parts: Happening | CameraState | Scales,
    located: tuple[int, ...] = AS_BELIEVED,
    scales: tuple[bool, ...] = (True, True, True),
    poured_g: float = 0.0,
) -> Supposed:
    """Return what a configuration makes of 18, 28 and 35 g, with the shifts written above."""
    return Supposed(configuration(*parts), CupsByRole((18.0, 28.0, 35.0), located, scales, poured_g), SHIFTS)
