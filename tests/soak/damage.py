"""Damage done to files, by a seed: what disks, copies and crashes do to them."""

from __future__ import annotations

import random
from pathlib import Path

PAGE = 4096


def flip(data: bytearray, rng: random.Random) -> str:
    at, bit = rng.randrange(len(data)), rng.randrange(8)
    data[at] ^= 1 << bit
    return f"bit {bit} of byte {at} flipped"


def flips(data: bytearray, rng: random.Random) -> str:
    return ", ".join(flip(data, rng) for _ in range(rng.randint(2, 20)))


def zeros(data: bytearray, rng: random.Random) -> str:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice([1, 16, 512, PAGE, 4 * PAGE]))
    data[start:end] = bytes(end - start)
    return f"bytes {start} to {end} zeroed"


def zero_page(data: bytearray, rng: random.Random) -> str:
    start = PAGE * rng.randrange(-(-len(data) // PAGE))
    end = min(len(data), start + PAGE)
    data[start:end] = bytes(end - start)
    return f"the page at {start} zeroed"


def noise(data: bytearray, rng: random.Random) -> str:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice([1, 16, 512, PAGE]))
    data[start:end] = rng.randbytes(end - start)
    return f"noise from {start} to {end}"


def cut(data: bytearray, rng: random.Random) -> str:
    length = rng.randrange(len(data))
    if rng.random() < 0.5:
        length -= length % PAGE
    del data[length:]
    return f"cut off at {length}"


def swap(data: bytearray, rng: random.Random) -> str:
    pages = len(data) // PAGE
    one, two = (PAGE * rng.randrange(max(1, pages)) for _ in range(2))
    here, there = data[one : one + PAGE], data[two : two + PAGE]
    data[one : one + PAGE], data[two : two + PAGE] = there, here
    return f"the pages at {one} and {two} exchanged"


KINDS = (flip, flip, flips, zeros, zero_page, noise, cut, cut, swap)


def damage(path: Path, seed: int) -> str:
    """Damage one file in one way, and return which."""
    rng = random.Random(seed)
    data = bytearray(path.read_bytes())
    damaged = rng.choice(KINDS)(data, rng)
    path.write_bytes(data)
    return f"{path.name}: {damaged}"
