"""Records as they come: what programs and people write is understood, and what cannot be is said, all of it at once."""

import contextlib
import datetime
import json
import random
from decimal import Decimal

import numpy as np
import pytest
from tests.tiers import cases

from aquamend.errors import AquaMendError
from aquamend.learning import InvalidRecords, Record, drifts, learned, read_records
from aquamend.learning.record_files import read_labels

CUP = {
    "format": "aquamend-problem/1",
    "beliefs": [{"name": "level", "residual": 9, "declared": 20, "tolerance": 3}, {"name": "camera", "residual": 4}],
    "actions": [{"name": "pour", "undo": 2, "status": "executed"}],
    "probes": [{"name": "weigh", "cost": 1}, {"name": "look", "cost": 0.5}],
    "edges": [["weigh", "level", "detection"], ["look", "level", "detection"], ["level", "pour", "belief_to_action"]],
    "hypotheses": [
        {"name": "fine", "prior": 0.6},
        {"name": "more", "prior": 0.3, "truth": {"level": {"normal": [40, 8]}}},
        {"name": "off", "prior": 0.1, "failed": ["camera"]},
    ],
    "kernels": {
        "weigh": {"gaussian": {"default": ["level", 1.0]}},
        "look": {"outcomes": ["low", "high"], "likelihood": {"default": [0.8, 0.2], "more": [0.1, 0.9]}},
    },
    "alarm": {"likelihood": {"default": 0.5}},
}  # fmt: skip


def read(tmp_path, text, name="past.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_records(path, **options)


@pytest.mark.parametrize("marked", ["utf-8-sig", "utf-16"])
def test_what_a_spreadsheet_saves_in_a_country_of_decimal_commas(tmp_path, marked):
    text = "Found ;alarm;when;weigh;look;cost:pour\n".replace("Found ", "found ")
    text += "fine;WAHR;1;20,5;low;3,25\n".replace("WAHR", "yes") + "more;no;2;41;;\n;;;;;\n"
    found = read(tmp_path, text.encode(marked))
    assert found.records == (
        Record("fine", {"weigh": ("20.5",), "look": ("low",)}, {"pour": 3.25}, True, 1.0, place="row 2"),
        Record("more", {"weigh": ("41",)}, {}, False, 2.0, place="row 3"),
    )


def test_times_may_be_iso_with_and_without_a_zone_and_stand_in_their_order(tmp_path):
    found = read(tmp_path, "found,when\nfine,2026-03-01T12:00:00\nfine,2026-03-01T12:00:00+02:00\nfine,2026-03-02\n")
    first, second, third = (record.when for record in found.records)
    assert (first - second, third - first) == (7200.0, 12 * 3600.0)
    assert found.dated


def test_blanks_of_every_kind_are_unknown_and_an_outcome_of_that_name_is_one(tmp_path):
    rows = "".join(f"fine,{blank},20\n" for blank in ("", "NaN", "n/a", "NULL", "-"))
    found = learned(CUP, read(tmp_path, f"found,look,weigh\n{rows}").records)
    assert not any("look" in where for where in found.estimates if found.estimates[where].records)
    named = json.loads(json.dumps(CUP))
    named["kernels"]["look"] = {"outcomes": ["low", "none"], "likelihood": {"default": [0.8, 0.2]}}
    found = learned(named, [Record("fine", {"look": ("none",)})] * 20)
    assert found.data["kernels"]["look"]["likelihood"]["default"][1] > 0.9


def test_every_fault_is_said_at_once_with_row_and_column(tmp_path):
    found = read(
        tmp_path,
        "found,alarm,when,weigh,look,cost:pour\n"
        "fine,perhaps,1,20,low,3\nfien,true,2,20,low,3\nfine,true,yesterday,20,low,-3\nfine,true,4,heavy,lw,3\n",
        skip_faulty=True,
    )
    with pytest.raises(InvalidRecords) as error:
        learned(CUP, found.records, source="past.csv", faults=found.faults)
    assert str(error.value).splitlines() == [
        "past.csv: row 2, column 'alarm': 'perhaps' is neither true nor false",
        "past.csv: row 4, column 'cost:pour': '-3' is not a cost",
        "past.csv: row 4, column 'when': 'yesterday' is not a number, and no time such as 2026-03-01T14:05:00",
        "past.csv: row 3, column 'found': found is 'fien', which the problem does not know; did you mean 'fine'?",
        "past.csv: row 5, column 'weigh': it reads numbers: 'heavy' is none",
        "past.csv: row 5, column 'look': 'lw' is none of its outcomes; did you mean 'low'?",
    ]
    kept = learned(CUP, [Record("fine", {"weigh": ("20",)}), *found.records], skip_faulty=True, faults=found.faults)
    assert sum(said.startswith("left out: row") for said in kept.said) == 6


def test_infinite_readings_are_left_out_and_said():
    said = [
        Record("fine", {"weigh": (value,)}, place=f"row {i}") for i, value in enumerate(["20", "inf", "-inf", "21"])
    ]
    found = learned(CUP, said)
    assert any("2 infinite (row 1, row 2), left out" in one for one in found.said), found.said


def test_kilograms_among_grams_are_asked_about_and_not_learned():
    plain = json.loads(json.dumps(CUP))
    plain["kernels"]["weigh"] = {"gaussian": {"default": [20, 1]}}
    rng = np.random.default_rng(0)
    grams = rng.normal(20, 1, 60)
    grams[::3] /= 1000.0
    found = learned(plain, [Record("fine", {"weigh": (float(g),)}, place=f"row {i}") for i, g in enumerate(grams, 2)])
    (warning,) = [said for said in found.warnings if "kilograms" in said]
    assert "a third of 'weigh' (20 of 60: row 2, row 5" in warning
    assert "1/1,000 of the rest: kilograms and grams, or the like?" in warning
    assert found.data["kernels"]["weigh"] == plain["kernels"]["weigh"]


def test_columns_that_are_nothing_in_the_problem_are_named_and_what_was_probably_meant():
    found = learned(
        CUP, [Record("fine", {"wiegh": ("20",), "colour": ("red",)}, {"por": 3.0}, truth={"levl": 4.0})] * 8
    )
    assert any("'wiegh' is not used" in one and "did you mean weigh?" in one for one in found.warnings)
    assert any("'truth:levl' is not used" in one and "did you mean truth:level?" in one for one in found.warnings)
    assert any("'por', did you mean 'pour'?" in one for one in found.warnings)
    assert any("'colour' is not used" in one for one in found.said)


def test_parquet_has_odd_types(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({
        "found": pa.array(["fine", "more"]).dictionary_encode(),
        "alarm": [True, None],
        "when": pa.array([datetime.datetime(2026, 3, 1), datetime.datetime(2026, 3, 2)], pa.timestamp("ns", "UTC")),
        "weigh": [[20.0, 21.0], None],
        "look": pa.array([b"low", None], pa.binary()),
        "cost:pour": pa.array([Decimal("3.25"), None], pa.decimal128(9, 2)),
        "age": pa.array([datetime.timedelta(minutes=2), None], pa.duration("ms")),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "past.parquet")
    first, second = read_records(tmp_path / "past.parquet").records
    assert first.readings == {"weigh": (20.0, 21.0), "look": ("low",)}
    assert (first.costs, first.ages, first.alarm) == ({"pour": 3.25}, {"": 120.0}, True)
    assert second.readings == second.costs == {}
    assert second.when - first.when == 86400.0


def test_labels_are_read_as_records_are_and_all_their_faults_are_said(tmp_path):
    good = tmp_path / "found.csv"
    good.write_bytes("\ufeffsession;found\na;fine\nb;more\n".encode())
    assert read_labels(good) == {"a": "fine", "b": "more"}
    good.write_text("session,found\na,fine\na,more\n,fine\nb,\n")
    with pytest.raises(InvalidRecords) as error:
        read_labels(good)
    assert [line.split(":")[1].strip() for line in str(error.value).splitlines()] == [
        "row 3, column 'session'", "row 4, column 'session'", "row 5, column 'found'",
    ]  # fmt: skip


def test_a_change_is_reported_with_its_day():
    rng, start = np.random.default_rng(1), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp()
    days = [start + 86400.0 * day for day in range(100)]
    records = [
        Record("fine", {"weigh": (float(rng.normal(20 if i < 80 else 24)),)}, when=when) for i, when in enumerate(days)
    ]
    (said,) = drifts(records, dated=True)
    assert said.startswith("what 'weigh' reads under 'fine' has changed since about 2026-03-")
    assert 20 <= int(said.split("2026-03-")[1][:2]) <= 28, "the change was on the 22nd"
    assert "since about time" in next(drifts(records))
    rng.shuffle(records)
    assert not list(drifts([Record(r.found, r.readings, when=float(i)) for i, r in enumerate(records)]))


# Whatever a file holds, it is records, or an error of ours.

PIECES = ["found", "alarm", "when", "weigh", "look", "cost:pour", "truth:level", "age:level", "fine", "more", "nothing",
          "true", "20", "20,5", "1e308", "-1e308", "nan", "inf", "-inf", "1e999", "2026-03-01", "9999-12-31T23:59:59Z",
          "0001-01-01", "\x00", "\ufeff", '"', "'", ";", ",", "\t", "|", "\n", "\r\n", "[1, 2]", "{}", "null", " ",
          "9" * 400, "é", "\ud800", "low", "high", "+", "fine + more", "=1+1"]  # fmt: skip


def mangled(dice):
    """Return the bytes of a file that began as sound records, or never was."""
    rows = [["found", "alarm", "when", "weigh", "look", "cost:pour", "truth:level", "age"]]
    rows += [["fine", "true", "1", "20", "low", "3", "20", "5"] for _ in range(dice.randint(0, 6))]
    for _ in range(dice.randint(0, 8)):
        row = dice.choice(rows)
        row[dice.randrange(len(row))] = "".join(dice.choices(PIECES, k=dice.randint(0, 3)))
    mark = dice.choice([",", ",", ";", "\t"])
    raw = "\n".join(mark.join(row) for row in rows).encode("utf-8", "surrogatepass")
    for _ in range(dice.choice([0, 0, 1, 3])):
        at = dice.randrange(len(raw) + 1)
        raw = raw[:at] + bytes(dice.randrange(256) for _ in range(dice.randint(0, 4))) + raw[at + dice.randint(0, 4) :]
    return raw


def mangled_json(dice):
    def value(depth=0):
        kind = dice.randrange(9 if depth < 3 else 6)
        if kind < 3:
            return dice.choice(PIECES)
        if kind < 6:
            return dice.choice([None, True, 0, -1, 1e308, 10**400, 2.5, float("nan"), float("inf")])
        if kind < 8:
            return [value(depth + 1) for _ in range(dice.randint(0, 3))]
        return {dice.choice(PIECES): value(depth + 1) for _ in range(dice.randint(0, 3))}

    rows = [{"found": "fine", "weigh": 20, "look": "low"} for _ in range(dice.randint(0, 4))]
    for _ in range(dice.randint(0, 6)):
        if rows:
            dice.choice(rows)[dice.choice(PIECES[:8])] = value()
    lines = [json.dumps(row) if dice.random() < 0.95 else json.dumps(value()) for row in rows]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
def test_whatever_a_file_holds_is_learned_or_refused_in_words(tmp_path, kind):
    path, labels, done = tmp_path / f"past{kind}", tmp_path / "labels.csv", 0
    whole = parquet() if kind == ".parquet" else b""
    for seed in range(cases(40, 400)):
        dice = random.Random(seed)
        raw = mangled_json(dice) if kind == ".jsonl" else mangled(dice) if kind == ".csv" else flipped(whole, dice)
        path.write_bytes(raw)
        labels.write_bytes(mangled(dice))
        for skip in (False, True):
            with contextlib.suppress(AquaMendError):  # any other is a fault
                found = read_records(path, skip_faulty=skip)
                learned(CUP, found.records, skip_faulty=skip, faults=found.faults, intervals=False)
                list(drifts(found.records, dated=found.dated))
                done += 1
        with contextlib.suppress(AquaMendError):
            read_labels(labels)
    assert done, "some of them are sound"


def parquet():
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"found": ["fine"] * 9, "weigh": [20.0] * 9, "look": ["low"] * 9}), sink)
    return sink.getvalue().to_pybytes()


def flipped(raw, dice):
    raw = bytearray(raw)
    for _ in range(dice.choice([0, 1, 1, 2, 8])):
        raw[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
    return bytes(raw[: dice.choice([len(raw), len(raw), dice.randrange(len(raw))])])
