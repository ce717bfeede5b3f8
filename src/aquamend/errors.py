"""Every failure AquaMend raises on purpose, under one base class."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice


class AquaMendError(Exception):
    """Base class of every domain failure in this package."""


def meant(word: str, valid: Iterable[str]) -> str | None:
    """Return the valid word that this one was probably meant to be."""
    from difflib import get_close_matches  # here, since hardly any run needs it

    names = [name for name in valid if abs(len(name) - len(word)) <= len(word)]
    near = get_close_matches(word, names, n=1) if len(word) <= 60 and len(names) <= 5_000 else []
    if not near:  # get_close_matches minds capitals, people do not
        near = [name for name in names if name.casefold() == word.casefold()]
    return near[0] if near else None


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a problem: where it stands, what is wrong with which value, what to do."""

    where: str
    """Place in the problem, written as a path: ``edges[3]``, ``hypotheses[0].prior``."""
    problem: str
    remedy: str
    word: str = field(default="", compare=False)
    """A name that means nothing, where that is what is wrong."""
    valid: Collection[str] = field(default=(), compare=False, repr=False)
    """Those that would mean something in its place."""
    sections: Collection[str] = field(default=(), compare=False, repr=False)
    """Where in a file it would stand if it meant something: ``beliefs``, ``actions``, …"""
    line: int | None = field(default=None, compare=False)
    """Where it stands in the text that the problem was read from, counted from 1; None where there was no text."""
    column: int | None = field(default=None, compare=False)

    @property
    def advice(self) -> str:
        """The remedy, with the name that was probably meant."""
        near = meant(self.word, self.valid) if self.word else None
        return self.remedy if near is None else f"did you mean {near!r}? {self.remedy}"

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}; {self.advice}"


def with_article(noun: str) -> str:
    """Return a noun with its article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def first_of(names: Iterable[str]) -> str:
    """Return the first few names in their own order: cheap even where thousands are wrong."""
    shown = list(islice(names, 9))
    return ", ".join(repr(n) for n in shown[:8]) + (", …" if len(shown) > 8 else "") if shown else "(none given)"


class InvalidProblem(AquaMendError, ValueError):
    """A graph, model or problem that cannot be meant; lists every fault found, not just the first."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class UnknownName(AquaMendError, ValueError):
    """A name that nothing in the problem carries; lists the valid ones."""

    def __init__(self, kind: str, name: str, valid: Iterable[str]) -> None:
        self.kind, self.name, self.valid = kind, name, tuple(valid)
        listed = ", ".join(repr(v) for v in self.valid[:30]) or "none"
        more = ", …" if len(self.valid) > 30 else ""
        near = meant(name, self.valid)
        hint = f"; did you mean {near!r}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}; valid names: {listed}{more}{hint}")


class BadArgument(AquaMendError, ValueError):
    """Something was given where something else belongs."""


_INSTEAD = {
    "!=": "write `not BELIEF = VALUE`",
    "==": "write a single =",
    " and ": "write & for and",
    " or ": "write | for or",
    "(": "write it without parentheses; `not` goes first, then &, then |",
}
"""What a condition has in the place of what other languages write."""


class UnknownCondition(AquaMendError, ValueError):
    """A condition with a word in it that names no cause, no state, no belief and no hypothesis."""

    def __init__(self, word: str, valid: Iterable[str]) -> None:
        self.word, self.near = word, meant(word, valid)
        hint = f"; did you mean {self.near!r}?" if self.near else ""
        foreign = word[:1] + word[1:].partition("(")[0]  # parts of spreads have parentheses in their names
        self.instead = next((instead for sign, instead in _INSTEAD.items() if sign in foreign), "")
        super().__init__(f"{word!r} names no cause, belief or hypothesis{hint}")


class UnknownValue(AquaMendError, ValueError):
    """A value of a belief that no hypothesis of the problem allows; lists those that some do."""

    def __init__(self, belief: str, value: object, known: Iterable[object]) -> None:
        self.belief, self.value, self.known = belief, value, tuple(known)
        listed = ", ".join(repr(v) for v in self.known)
        super().__init__(
            f"{belief!r} cannot be declared {value!r}: it would be wrong under every hypothesis, which know {listed}; "
            "add a hypothesis, widen the tolerance, or give the template as a function of the values"
        )


class SecondAlarm(AquaMendError):
    """An alarm was offered again, and the model does not say how likely one more is: it would count double."""

    def __init__(self, monitor: str = "alarm") -> None:
        self.monitor = monitor
        named, place = (
            ("alarm", "alarm.again") if monitor == "alarm" else (f"alarm {monitor!r}", f"alarms.{monitor}.again")
        )
        super().__init__(
            f"the {named} has already been conditioned on, and counts once until something is corrected; "
            f"for one more to be evidence, say how likely that is under every hypothesis ({place})"
        )


class RungAndSilent(AquaMendError):
    """A monitor was said to have rung and to have stayed silent, with nothing corrected in between."""

    def __init__(self, monitor: str) -> None:
        self.monitor = monitor
        super().__init__(
            f"the monitor {monitor!r} cannot have rung and stayed silent with nothing corrected in between; say one of "
            "the two"
        )


class IllegalProbe(AquaMendError):
    """A probe that may not run now: no uses left, or over the sensing budget."""

    def __init__(self, probe: str, reason: str) -> None:
        self.probe, self.reason = probe, reason
        super().__init__(f"probe {probe!r} is not legal here: {reason}")


class ImpossibleEvidence(AquaMendError):
    """Evidence that no hypothesis allows; raised where no state can carry it on as UNKNOWN."""


class NotStructured(AquaMendError):
    """The closed form of Proposition 1 does not apply; says which assumptions fail and who breaks them."""

    def __init__(self, violations: Iterable[str]) -> None:
        self.violations = tuple(violations)
        super().__init__("the structured rule does not apply:\n" + "\n".join(f"- {v}" for v in self.violations))


class NotDiscrete(AquaMendError):
    """An exact enumeration was asked of a problem with probes that read numbers."""

    def __init__(self, what: str, probes: Iterable[str]) -> None:
        self.probes = tuple(probes)
        listed = ", ".join(repr(p) for p in self.probes)
        super().__init__(
            f"{what} enumerates all outcomes, but these probes read numbers: {listed}; "
            "give them discrete kernels (bins), or ask `decide` for the next step instead"
        )


class TooLarge(AquaMendError):
    """An exact answer was asked for that does not fit the size limits; keeps the bounds reached."""

    def __init__(self, message: str, *, lower: float | None = None, upper: float | None = None) -> None:
        self.lower, self.upper = lower, upper
        super().__init__(message)


class TooManyScenarios(AquaMendError, ValueError):
    """More scenarios are asked for than a suite has."""


class BadFile(AquaMendError):
    """A file or folder that cannot be read, or not be written: which one, what is wrong, what to do."""

    def __init__(self, path: object, problem: str, remedy: str) -> None:
        self.path, self.problem, self.remedy = path, problem, remedy
        super().__init__(f"{path}: {problem}; {remedy}")


class InvalidRun(BadFile):
    """A benchmark's folder that cannot be read, or not be continued: which file, what is wrong, what to do."""


class InvalidData(AquaMendError, ValueError):
    """Plain data that are not what they should be: where in them, and what is wrong."""

    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(f"{where}: {problem}")


class BadJournal(BadFile):
    """A journal that cannot be read, or not be written: which file, what is wrong, what to do."""


class MissingLibrary(AquaMendError):
    """An optional library is not installed; says how to get it, and what works without."""

    def __init__(self, library: str, extra: str, instead: str, *, package: str = "aquamend") -> None:
        self.library, self.extra = library, extra
        super().__init__(f"{library} is not installed; install it with `pip install '{package}[{extra}]'`, {instead}")


class Unreachable(AquaMendError):
    """Something outside this process that does not answer as it should."""

    def __init__(self, what: str, problem: str, remedy: str) -> None:
        self.what = what
        super().__init__(f"{what}: {problem}; {remedy}")


class BadStep(AquaMendError):
    """A policy returned something that is no step, or probes without end."""


class StaleReply(AquaMendError):
    """A reply came to a request that nobody waits for any more."""

    def __init__(self, to: int, number: int, wanted: str) -> None:
        super().__init__(
            f"nobody waits for a reply to request {to} any more; what is asked for is {number}: {wanted!r}"
        )
        self.to, self.number, self.wanted = to, number, wanted


class ForeignSession(AquaMendError):
    """Somebody else has written to a session meanwhile, and conducts it now."""

    def __init__(self, session: str, said: str = "") -> None:
        self.session = session
        others = "somebody else has written to it meanwhile; let them finish, or resume it after them"
        super().__init__(said or f"session {session!r}: {others}")


class HeldSession(ForeignSession):
    """Another program conducts a session at this moment; nobody else may until it lets go."""

    def __init__(self, session: str, holder: str) -> None:
        self.holder = holder
        super().__init__(
            session, f"session {session!r} is conducted by {holder}; let it finish, or end it, and resume then"
        )


class LostLease(ForeignSession):
    """The log of a session could not be reached for so long that somebody else may conduct it by now."""

    def __init__(self, session: str) -> None:
        super().__init__(
            session,
            f"session {session!r}: its log could not be reached for so long that somebody else may conduct it by now; "
            "see to the log, then resume it",
        )


class UsedName(ForeignSession):
    """A session was to begin under the name of one that is there already."""

    def __init__(self, session: str, standing: str) -> None:
        super().__init__(
            session, f"there is already a session {session!r} ({standing}); give another name, or resume that one"
        )
