"""Episodes of the pouring task varied on purpose: noise, stakes, a wrong prior, a worse monitor, more cups."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from aquamend_lab.benchmarks.scenario import Scenario, generator
from aquamend_lab.benchmarks.t4.episodes import Setting, declared_amounts, episode, poured
from aquamend_lab.pouring.discrete import Assumptions, Noise, Shares
from aquamend_lab.pouring.discrete.event_model import DiscreteMonitor
from aquamend_lab.pouring.discrete.perturbations import standard_events
from aquamend_lab.pouring.task import Residuals


@dataclass(frozen=True, slots=True)
class Variation:
    """What is different: in the task, in the world, and in what the robot assumes of it."""

    name: str
    n_cups: int = 3
    linear_chain: bool | None = None
    residual_scale: float = 1.0
    noise: Noise = field(default_factory=Noise)
    """How readings scatter in the world."""
    known_noise: bool = True
    """Whether the robot knows it."""
    monitor: DiscreteMonitor = field(default_factory=DiscreteMonitor)
    shares: Shares = field(default_factory=Shares)
    """How events share in the world."""
    assumed_shares: Shares | None = None
    """What the robot takes them to be; the truth by default."""


def varied(suite: str, seed: int, base: int, number: int, variation: Variation, *, irreversible: bool) -> Scenario:
    """Return one episode under a variation.

    The same base episode has the same table, event and noise in each, unless the number of cups or the alarms vary:
    then something else may happen.
    """
    rng = generator(suite, seed, base)
    task = replace(
        poured(declared_amounts(rng, n_cups=variation.n_cups)),
        pour_reversible=not irreversible,
        linear_chain=bool(base % 2) if variation.linear_chain is None else variation.linear_chain,
        residuals=Residuals().scaled(variation.residual_scale),
    )
    noise = variation.noise if variation.known_noise else Noise()
    assumed = Assumptions(
        standard_events(task.declared.quantity_g),
        variation.assumed_shares or variation.shares,
        noise,
        variation.monitor,
    )
    return episode(
        suite,
        seed,
        number,
        task=task,
        assumed=assumed,
        setting=Setting(noise=variation.noise, shares=variation.shares, answers=base),
        rng=rng,
        group={"setting": variation.name},
    )


def louder(factor: float) -> Noise:
    """Return all noise multiplied; errors of the two camera routines no further than one in two."""
    plain = Noise()
    return Noise(
        plain.look_g * factor,
        plain.weigh_g * factor,
        min(0.5, plain.localise_error * factor),
        min(0.5, plain.check_error * factor),
    )


SETTINGS = (
    Variation("standard"),
    Variation("fine graph", linear_chain=False),
    Variation("chain graph", linear_chain=True),
    Variation("noisy probes", noise=louder(4.0)),
    Variation("noisy probes, unknown", noise=louder(4.0), known_noise=False),
    Variation("residuals halved", residual_scale=0.5),
    Variation("residuals doubled", residual_scale=2.0),
)

_GOOD = Shares(swap=0.36, add=0.36, drift=0.22, false_alarm=0.06)
_POOR = Shares(swap=0.2, add=0.2, drift=0.1, false_alarm=0.5)

SWEEP = (
    *(Variation(f"{n} cups", n_cups=n) for n in range(3, 9)),
    *(Variation(f"noise × {factor:g}", noise=louder(factor)) for factor in (0.5, 2.0, 4.0, 8.0)),
    Variation("good alarm", monitor=DiscreteMonitor(points_right=0.95), shares=_GOOD),
    Variation("poor alarm", monitor=DiscreteMonitor(points_right=0.4), shares=_POOR),
    Variation("prior: four times the false alarms", assumed_shares=Shares(false_alarm=0.8)),
    Variation("prior: a quarter of the false alarms", assumed_shares=Shares(false_alarm=0.05)),
    Variation("prior: no camera faults to speak of", assumed_shares=Shares(drift=0.01)),
)


def settings(seed: int, number: int) -> Scenario:
    """Return one episode of the settings suite: every base episode under every setting."""
    base, which = divmod(number, len(SETTINGS))
    return varied("t4-settings-v3", seed, base, number, SETTINGS[which], irreversible=base % 61 >= 49)


def sweep(seed: int, number: int) -> Scenario:
    """Return one episode of the sweep: every base episode under every variation."""
    base, which = divmod(number, len(SWEEP))
    return varied("t4-sweep-v3", seed, base, number, SWEEP[which], irreversible=False)


def ablation(seed: int, number: int) -> Scenario:
    """Return one episode of the ablation set: reversible and irreversible ones as 4,900 to 1,200."""
    plain = varied("t4-ablation-v3", seed, number, number, SETTINGS[0], irreversible=number % 61 >= 49)
    return replace(plain, group={})
