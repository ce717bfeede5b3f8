"""How probes answer. A sensor model is one file here: what a person writes, its faults, and its compiled channel."""

from importlib import import_module
from pkgutil import iter_modules

from aquamend.problem.model.kernels.discrete_outcomes import Discrete, NoisyOr, Outcomes
from aquamend.problem.model.kernels.kernel import Answer, Channel, Kernel, rows_by_name, rows_of, with_rows
from aquamend.problem.model.kernels.normal_mixture import (
    DEFAULT_OUTLIERS,
    Gaussian,
    Mixture,
    Readings,
    Samples,
    interval_tables,
)
from aquamend.problem.model.kernels.value_of import ValueOf

KERNELS: tuple[type[Kernel], ...] = tuple(
    kind
    for module in iter_modules(__path__, f"{__name__}.")
    for kind in vars(import_module(module.name)).values()
    if isinstance(kind, type) and kind.__module__ == module.name and {"table", "faults", "channel"} <= vars(kind).keys()
)
"""Every kind of kernel that a problem file may hold, those that the files here define; the first key of each tells them
apart."""

__all__ = [
    "DEFAULT_OUTLIERS",
    "KERNELS",
    "Answer",
    "Channel",
    "Discrete",
    "Gaussian",
    "Kernel",
    "Mixture",
    "NoisyOr",
    "Outcomes",
    "Readings",
    "Samples",
    "ValueOf",
    "interval_tables",
    "rows_by_name",
    "rows_of",
    "with_rows",
]
