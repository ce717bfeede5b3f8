"""A recovery made up for tests and for looking at the page: two cups were swapped while the robot was not looking."""

import base64
import math
import struct
import zlib
from functools import cache

from aquamend.recovery import Charge, Receipt
from aquamend.story.story import AfterAnswer, Choice, Flip, Kind, Moment, Node, Option, Statement, Story, Update

BLUE, ORANGE, GREEN = (70, 130, 180), (214, 120, 40), (90, 150, 90)
EXPLANATIONS = (
    "nothing happened",
    "A and B swapped",
    "B and C swapped",
    "A and C swapped",
    "water added to A",
    "water added to B",
    "camera reads A wrong",
    "camera shows an old picture",
    "water added to C",
    "camera takes A for B",
)


@cache  # its pictures take a while to draw
def sample_story() -> Story:
    """Return the story; the parts of every option add up to its loss."""
    return Story(
        title="Two cups change places behind the robot's back",
        lead="A robot is to fill the emptiest of three cups. It measures all three, picks up the pitcher and moves to "
        "cup A. Then its monitor hears something: someone has swapped A and B. The robot looks twice, understands, and "
        "switches to the place where A now stands.",
        facts={
            "scene": "pour-12 (three cups)",
            "stage": "moved, nothing poured yet",
            "seed": "7",
            "policy": "AquaMend",
            "hypotheses": "72",
            "model hash": "9f2c41d07ab3",
            "simulated": "47.2 s",
        },
        statements=_statements(),
        updates=_updates(),
        moments=_moments(),
        nodes=_nodes(),
        edges=_edges(),
        receipts=_receipts(),
        unit="s",
        success=True,
        verdict="Cup A got its 20 g where it now stands; nothing was spilt, and no belief held in the end is wrong.",
    )


def picture(places: tuple[float, ...], colours: tuple[tuple[int, int, int], ...], *, pitcher: float = 0.5) -> str:
    """Return a small picture of cups on a table with a pitcher above, all as rectangles."""
    width, height = 240, 150
    rows = [[(206, 214, 222) if y < 95 else (176, 152, 122) for _ in range(width)] for y in range(height)]
    boxes = [(int(x * width) - 17, 62, 34, 48, colour) for x, colour in zip(places, colours, strict=True)]
    boxes.append((int(pitcher * width) - 14, 14, 28, 34, (120, 126, 134)))
    for left, top, wide, tall, colour in boxes:
        for y in range(top, top + tall):
            for x in range(max(0, left), min(width, left + wide)):
                rows[y][x] = colour
    return f"data:image/png;base64,{base64.b64encode(png(rows)).decode()}"


def png(rows: list[list[tuple[int, int, int]]]) -> bytes:
    """Return an image of red, green and blue pixels as a PNG file."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    pixels = b"".join(b"\x00" + bytes(value for pixel in row for value in pixel) for row in rows)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b"")
    )


def _updates() -> tuple[Update, ...]:
    weights = (
        (0.0, "prior", (60, 5, 5, 5, 6, 6, 5, 5, 2, 1)),
        (19.6, "alarm at cup A", (16, 22, 6, 13, 17, 6, 10, 7, 2, 1)),
        (23.1, "look A: 31.2 g", (11, 33, 4, 19, 2, 5, 17, 8, 0.6, 0.4)),
        (27.9, "weigh place A: 48.0 g", (0.4, 92, 0.3, 3.4, 0.2, 0.4, 1.4, 1.2, 0.2, 0.5)),
    )
    doubts = {
        "amount A": (0.11, 0.30, 0.27, 0.03), "amount B": (0.11, 0.16, 0.14, 0.02),
        "amount C": (0.07, 0.09, 0.08, None),
        "place A": (0.10, 0.36, 0.53, 0.96), "place B": (0.10, 0.29, 0.38, 0.93), "target": (0.2, 0.6, 0.7, 0.97),
    }  # fmt: skip
    return tuple(
        Update(
            time,
            after,
            {n: w / math.fsum(row) for n, w in zip(EXPLANATIONS, row, strict=True)},
            {name: each[i] for name, each in doubts.items()},
        )
        for i, (time, after, row) in enumerate(weights)
    )


def _statements() -> tuple[Statement, ...]:
    return (
        Statement("amount A", "31.4 g in cup A", ("look A",), wrong=False),
        Statement("amount B", "47.8 g in cup B", ("look B",), wrong=False),
        Statement("amount C", "62.0 g in cup C", ("look C",), wrong=False),
        Statement("place A", "cup A stands left", ("localise",), wrong=True),
        Statement("place B", "cup B stands in the middle", ("localise",), wrong=True),
        Statement("target", "pour at the left place", ("amount A", "place A"), wrong=True),
    )


def _moments() -> tuple[Moment, ...]:
    left, middle, right = 0.2, 0.5, 0.8
    colours = (BLUE, ORANGE, GREEN)
    before, after = (left, middle, right), (middle, left, right)

    def acted(time_s: float, title: str) -> Moment:
        return Moment(time_s, Kind.ACTED, title)

    return (
        Moment(
            3.2,
            Kind.BELIEVED,
            "Three cups are measured: A holds least",
            "The camera reads 31.4 g in A, 47.8 g in B and 62.0 g in C. "
            "The robot decides to pour 20 g into A, the left cup.",
            picture=picture(before, colours),
        ),
        acted(4.0, "reach for the pitcher"),
        acted(7.9, "grasp the pitcher"),
        acted(10.2, "lift"),
        acted(12.6, "move above the left place"),
        Moment(
            18.9,
            Kind.UNSEEN,
            "Someone swaps cups A and B",
            "The robot looks at its pitcher and does not see it. It now hovers over cup B.",
            picture=picture((0.45, 0.25, right), colours, pitcher=left),
        ),
        Moment(
            19.6,
            Kind.ALARM,
            "The monitor hears something near cup A",
            "A sound at the left place. It may be a swap, some water, a camera fault, or nothing at all.",
            picture=picture(after, colours, pitcher=left),
        ),
        Moment(
            19.7,
            Kind.DECIDED,
            "Look at cup A first",
            "Looking costs 3.1 s and separates a swap from added water.",
            choice=_choice(
                Option("look A, then the best", "", 21.4, 5.6, 14.2, 1.6, chosen=True),
                Option("weigh place A, then the best", "", 22.8, 6.9, 14.1, 1.8, chosen=False),
                Option("carry on", "", 30.7, 0.0, 5.1, 25.6, chosen=False),
                Option("switch to the middle place", "", 33.0, 0.0, 13.3, 19.7, chosen=False),
                Option("start over", "", 44.0, 0.0, None, None, chosen=False),
                Option("call a person", "", 60.0, 0.0, 60, 0.0, chosen=False),
                Option("carry on blindly", "", math.inf, 0.0, None, None, chosen=False),
            ),
        ),
        Moment(
            23.1,
            Kind.MEASURED,
            "Look A: 31.2 g",
            "Cup A still holds what it did, so nobody added water to it. "
            "But the camera finds cups by their looks, not by where they stand.",
            picture=picture(after, colours, pitcher=0.12),
        ),
        Moment(
            27.9,
            Kind.MEASURED,
            "Weigh the left place: 48.0 g",
            "What stands on the left weighs as much as cup B. A swap of A and B is now 92% likely.",
        ),
        Moment(
            28.0,
            Kind.DECIDED,
            "Switch to the middle place",
            "Another look could save at most 0.9 s and costs at least 3 s: enough is known.",
            choice=_choice(
                Option("switch to the middle place", "", 14.6, 0.0, 13.3, 1.3, chosen=True),
                Option("localise, then the best", "", 17.2, 3.0, 13.3, 0.9, chosen=False),
                Option("start over", "", 29.6, 0.0, None, None, chosen=False),
                Option("carry on", "", 41.9, 0.0, 5.1, 36.8, chosen=False),
                Option("call a person", "", 60.0, 0.0, 60, 0.0, chosen=False),
            ),
        ),
        acted(28.1, "raise the pitcher"),
        acted(30.4, "move away from the left place (slipped)"),
        acted(32.0, "tighten the grasp"),
        acted(33.1, "move above the middle place"),
        Moment(
            38.5,
            Kind.ACTED,
            "Pour 20 g into cup A",
            "The pitcher tilts above the middle place, where A stands now.",
            picture=picture(after, colours, pitcher=middle),
        ),
        acted(44.0, "set the pitcher down"),
        Moment(
            47.2,
            Kind.ENDED,
            "Cup A holds 51.0 g",
            "The task is done where it was meant to be done.",
            picture=picture(after, colours, pitcher=0.93),
        ),
    )


def _choice(*options: Option) -> Choice:
    best = next(option for option in options if option.chosen)
    return Choice(
        "aquamend", best.name, "", "It separates a swap from added water.", options,
        answers=(AfterAnswer("low", 0.7, "carry on", "", 5.1), AfterAnswer("high", 0.3, "switch", "undo move", 13.3)),
        flips=(Flip("place A", 0.36, 0.5, "carry on"),),
        nearest_flip="The nearest flip is to carry on: it takes moving 8% of the probability.",
        lower=best.loss - 2.0, upper=best.loss, certificate="No policy can do better by more than 2 s on average.",
    )  # fmt: skip


def _nodes() -> tuple[Node, ...]:
    return (
        Node("look A", "probe", "3.1 s", marks=("used",)),
        Node("look B", "probe", "3.1 s"),
        Node("look C", "probe", "3.1 s"),
        Node("weigh place A", "probe", "4.6 s", marks=("used",)),
        Node("localise", "probe", "3.0 s"),
        Node("check camera", "probe", "3.4 s"),
        Node("amount A", "belief", "3% doubt", 0.03, ("suspected",)),
        Node("amount B", "belief", "2% doubt", 0.02),
        Node("amount C", "belief", "unavailable"),
        Node("place A", "belief", "96% doubt", 0.96, ("suspected", "wrong", "corrected")),
        Node("place B", "belief", "93% doubt", 0.93, ("wrong", "corrected")),
        Node("camera", "belief", "3% doubt", 0.03, ("suspected",)),
        Node("rank B", "belief", "4% doubt", 0.04),
        Node("rank C", "belief", "2% doubt", 0.02),
        Node("target", "belief", "97% doubt", 0.97, ("suspected", "wrong", "corrected")),
        Node("decide", "action", "undo 0.1 s", marks=("undone",)),
        Node("grasp", "action", "undo 3.2 s"),
        Node("lift", "action", "undo 2.4 s"),
        Node("move above left", "action", "undo 6.3 s", marks=("undone",)),
        Node("pour", "action", "", marks=("planned",)),
        Node("set down", "action", "", marks=("planned",)),
    )


def _edges() -> tuple[tuple[str, str, str], ...]:
    detection = [(f"look {cup}", f"amount {cup}", "detection") for cup in "ABC"]
    aggregation = [("weigh place A", "amount A", "aggregation"), ("weigh place A", "place A", "aggregation")]
    places = [("localise", f"place {cup}", "detection") for cup in "AB"] + [("check camera", "camera", "detection")]
    ranks = [("amount A", f"rank {cup}", "inference") for cup in "BC"]
    ranks += [(f"amount {cup}", f"rank {cup}", "inference") for cup in "BC"]
    target = [(name, "target", "inference") for name in ("rank B", "rank C", "place A", "camera")]
    causal = [("grasp", "lift"), ("lift", "move above left"), ("move above left", "pour"), ("pour", "set down")]
    return (
        *detection,
        *aggregation,
        *places,
        *ranks,
        *target,
        ("target", "decide", "belief_to_action"),
        ("target", "move above left", "belief_to_action"),
        ("place A", "move above left", "belief_to_action"),
        ("decide", "move above left", "action_causal"),
        ("decide", "grasp", "temporal"),
        *((source, after, "action_causal") for source, after in causal),
    )


def _receipts() -> tuple[Receipt, ...]:
    return (
        Receipt(Charge.SENSING, "turn to cup A", 1.2, 19.7, 20.9),
        Receipt(Charge.SENSING, "look A", 2.2, 20.9, 23.1, finding="31.2 g"),
        Receipt(Charge.SENSING, "lower onto the scale", 2.1, 23.2, 25.3),
        Receipt(Charge.SENSING, "weigh place A", 2.6, 25.3, 27.9, finding="48.0 g"),
        Receipt(Charge.ROLLBACK, "raise the pitcher", 2.3, 28.1, 30.4),
        Receipt(
            Charge.ROLLBACK,
            "move away from the left place",
            1.6,
            30.4,
            32.0,
            succeeded=False,
            finding="the pitcher slipped by 4 mm",
        ),
        Receipt(Charge.ROLLBACK, "tighten the grasp", 1.1, 32.0, 33.1),
        Receipt(Charge.ROLLBACK, "move above the middle place", 4.4, 33.1, 37.5),
        Receipt(Charge.ROLLBACK, "measure cup A again", 0.9, 37.5, 38.4, finding="31.3 g"),
        Receipt(Charge.CONTINUATION, "tilt", 2.0, 38.5, 40.5),
        Receipt(Charge.CONTINUATION, "pour 20 g", 2.3, 40.5, 42.8, finding="19.8 g poured"),
        Receipt(Charge.CONTINUATION, "tilt back", 1.2, 42.8, 44.0),
        Receipt(Charge.CONTINUATION, "set the pitcher down", 3.2, 44.0, 47.2),
        Receipt(Charge.RESIDUAL, "camera offset of 1.2 g left uncorrected", 0.5),
    )
