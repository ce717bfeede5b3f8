"""Every primitive of the ledger on the axis of simulated time, one lane for each charge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aquamend.recovery.receipts import Charge, Receipt
from aquamend.story.ledger_table import outcome
from aquamend.story.markup import number, portion, safe, seconds
from aquamend.story.moment_list import KIND_WORDS
from aquamend.story.story import Kind, Moment, Story
from aquamend.text import quantity

_TOP, _LANE, _AXIS = 20, 40, 24
"""Pixels above the lanes, of one lane, and below them."""
_TOLD = (Kind.ALARM, Kind.DECIDED, Kind.ENDED)
_TEXT_APART = 0.13
"""Two words on one line need this share of a phone's width between them."""
_NUMBERED, _TIGHT = 0.018, 0.045
"""Shares of the width below which a bar has no room for its number: anywhere, on a phone."""


@dataclass(frozen=True, slots=True)
class Span:
    """The stretch of time that is drawn."""

    start_s: float
    end_s: float

    def place(self, time_s: float) -> float:
        """Return where a time stands, from 0 at the left to 1 at the right."""
        return (time_s - self.start_s) / (self.end_s - self.start_s)


def ledger_strip(story: Story) -> str:
    """Return the strip; nothing where no receipt has a time."""
    timed = [
        (i, receipt, receipt.start_s, receipt.end_s)
        for i, receipt in enumerate(story.ledger, start=1)
        if receipt.start_s is not None and receipt.end_s is not None
    ]
    if not timed:
        return ""
    span = _span([time for _, _, start, end in timed for time in (start, end)], story.moments)
    lanes = [charge for charge in Charge if any(receipt.charge is charge for _, receipt, _, _ in timed)]
    height = _TOP + _LANE * len(lanes) + _AXIS
    bars = "".join(
        _bar(i, receipt, (start, end), lanes.index(receipt.charge), span, story.unit)
        for i, receipt, start, end in timed
    )
    label = (
        f"{len(timed)} primitives between {seconds(span.start_s)} and {seconds(span.end_s)}; the table below lists them"
    )
    return (
        f'<figure class="strip"><svg width="100%" height="{height}" role="img" aria-label="{safe(label)}">'
        f"{_axis(span, height)}{_markers(story.moments, span, height)}{_names(lanes)}{bars}</svg></figure>"
    )


def ticks(start: float, end: float, *, about: int = 6) -> list[float]:
    """Return round numbers between two times, about as many as asked for."""
    rough = (end - start) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough)
    return [step * i for i in range(math.ceil(start / step), math.floor(end / step) + 1)]


def _span(times: Sequence[float], moments: Sequence[Moment]) -> Span:
    told = [moment.time_s for moment in moments if moment.kind in _TOLD]
    start, end = min((*times, *told)), max((*times, *told))
    return Span(start, end if end > start else start + 1.0)


def _bar(index: int, receipt: Receipt, times: tuple[float, float], lane: int, span: Span, unit: str) -> str:
    start, end = (span.place(time) for time in times)
    y, wide = _TOP + _LANE * lane + 16, max(0.0, end - start)
    failed = "" if receipt.succeeded else " failed"
    title = f"{index}. {receipt.what}, {quantity(receipt.cost, unit)}, {outcome(receipt)}".rstrip(", ")
    tight = ' class="tight"' if wide < _TIGHT else ""
    text = f'<text{tight} x="{portion((start + end) / 2.0)}" y="{y + 14}">{index}</text>' if wide >= _NUMBERED else ""
    return (
        f'<g class="primitive{failed}"><title>{safe(title)}</title><rect class="{receipt.charge}" '
        f'x="{portion(start)}" y="{y}" width="{portion(max(wide, 0.004))}" height="20"/>{text}</g>'
    )


def _names(lanes: Sequence[Charge]) -> str:
    return "".join(
        f'<text class="lane" x="5" y="{_TOP + _LANE * i + 12}">{charge}</text>' for i, charge in enumerate(lanes)
    )


def _axis(span: Span, height: int) -> str:
    floor = height - _AXIS
    pieces = [f'<line class="base" x1="0%" x2="100%" y1="{floor}" y2="{floor}"/>']
    for time in ticks(span.start_s, span.end_s):
        x = span.place(time)
        side = "start" if x < 0.05 else "end" if x > 0.95 else "middle"
        pieces.append(
            f'<line class="grid" x1="{portion(x)}" x2="{portion(x)}" y1="{_TOP}" y2="{floor}"/>'
            f'<text class="tick" x="{portion(x)}" y="{floor + 16}" text-anchor="{side}">{number(time)} s</text>'
        )
    return "".join(pieces)


def _markers(moments: Sequence[Moment], span: Span, height: int) -> str:
    pieces, taken = [], -1.0
    for moment in sorted((m for m in moments if m.kind in _TOLD), key=lambda m: m.time_s):
        x = span.place(moment.time_s)
        line = f'<line class="marker" x1="{portion(x)}" x2="{portion(x)}" y1="{_TOP - 4}" y2="{height - _AXIS}"/>'
        side = "start" if x < 0.5 else "end"
        word = KIND_WORDS[moment.kind]
        text = f'<text class="marker" x="{portion(x)}" y="{_TOP - 7}" text-anchor="{side}">{word}</text>'
        room = x - taken >= _TEXT_APART
        taken = x if room else taken
        pieces.append(f"<g><title>{safe(moment.title)}</title>{line}{text if room else ''}</g>")
    return "".join(pieces)
