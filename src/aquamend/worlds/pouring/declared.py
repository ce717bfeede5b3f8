"""What the robot declares: how much is in every cup, where each stands, and which one to fill; each with a version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from aquamend.worlds.pouring import dimensions as dim

ROLES = ("target", "rival", "third")
"""The cups by what was measured before the pour, least full first."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations in force; immutable, each refreshed one counts its version up."""

    quantity_g: Mapping[str, float]
    """What every cup is said to hold now."""
    place: Mapping[str, int]
    """Where every cup is said to stand."""
    order: tuple[str, ...]
    """Least full first, before anything is poured: the first is the target."""
    poured_g: float = 0.0
    """What the target's place has received."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """Of every declaration; 1 where not listed."""
    support: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which probes every declaration rests on."""
    poured_at: int | None = None
    """The place that was poured into; the target found elsewhere later does not change that."""

    @classmethod
    def measured(cls, level_g: Mapping[str, float], place: Mapping[str, int]) -> Declared:
        """Return what follows from a look at every cup and where they stand."""
        order = ordered(level_g)
        support: dict[str, tuple[str, ...]] = {f"quantity_{cup}": (f"look_{cup}",) for cup in dim.CUPS}
        support |= {f"binding_{cup}": ("localise",) for cup in dim.CUPS}
        support |= {f"rank_{cup}": (f"look_{order[0]}", f"look_{cup}") for cup in order[1:]}
        support["target"] = tuple(f"look_{cup}" for cup in dim.CUPS)
        support["camera"] = ()
        return cls(dict(level_g), dict(place), order, support=support)

    @property
    def target(self) -> str:
        """The cup to fill."""
        return self.order[0]

    @property
    def pouring_place(self) -> int:
        """The place that was poured into, or will be."""
        return self.place[self.target] if self.poured_at is None else self.poured_at

    def version(self, name: str) -> int:
        """Return the version of a declaration."""
        return self.versions.get(name, 1)

    def role(self, cup: str) -> str:
        """Return what a cup is in this table's order."""
        return ROLES[self.order.index(cup)]

    def after_pouring(self, grams: float) -> Declared:
        """Return the declarations once so much has been poured into the target."""
        name = f"quantity_{self.target}"
        return replace(
            self,
            quantity_g={**self.quantity_g, self.target: self.quantity_g[self.target] + grams},
            poured_g=self.poured_g + grams,
            poured_at=self.place[self.target],
            versions={**self.versions, name: self.version(name) + 1},
            support={**self.support, name: (*self.support.get(name, ()), f"weigh_{self.target}")},
        )

    def refreshed(self, name: str, support: tuple[str, ...]) -> Declared:
        """Return the declarations with one of them counted as made anew, from this evidence."""
        return replace(
            self,
            versions={**self.versions, name: self.version(name) + 1},
            support={**self.support, name: support},
        )

    def with_quantity(self, cup: str, grams: float) -> Declared:
        """Return the declarations with a cup weighed anew."""
        weighed = replace(self, quantity_g={**self.quantity_g, cup: grams})
        return weighed.refreshed(f"quantity_{cup}", (f"weigh_{cup}",))

    def with_place(self, cup: str, place: int) -> Declared:
        """Return the declarations with a cup found anew."""
        return replace(self, place={**self.place, cup: place}).refreshed(f"binding_{cup}", ("localise",))

    def with_order(self, order: tuple[str, ...]) -> Declared:
        """Return the declarations with target and ranks chosen anew, from weights."""
        chosen = replace(self, order=order).refreshed("target", tuple(f"weigh_{cup}" for cup in dim.CUPS))
        for cup in order[1:]:
            chosen = chosen.refreshed(f"rank_{cup}", (f"weigh_{order[0]}", f"weigh_{cup}"))
        return chosen


def ordered(quantity_g: Mapping[str, float]) -> tuple[str, ...]:
    """Return the cups by what they hold, least first; by name where they tie."""
    return tuple(sorted(dim.CUPS, key=lambda cup: (quantity_g[cup], cup)))
