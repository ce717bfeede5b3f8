"""Every decoder that reads what somebody else may have written: damage it at random, and only our own errors come."""

import copy
import gzip
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from aquamend.errors import AquaMendError
from aquamend.files import load_problem
from aquamend.recovery import Tracker
from aquamend_lab.analysis.report.build import analysed_runs, report_of
from aquamend_lab.analysis.report.rendering import as_html
from aquamend_lab.analysis.table import merged
from aquamend_lab.pouring.recording import Geom, RecordedBody, Recording, load_recording, to_bytes
from aquamend_lab.records import UNSEALED, load_run, write_lines

ROOT = Path(__file__).parent.parent
ODD = (b"null", b"[]", b"{}", b'"x"', b"1e999", b"-1", b"NaN", b"true", b"1e-320", b'""', b"[[[]]]", b"9" * 30)
TIMES = 150


def damaged(raw: bytes, dice: random.Random) -> bytes:
    """Return bytes with one or a few things wrong: cut, doubled, flipped, or one value put for another."""
    for _ in range(dice.choice((1, 1, 1, 3))):
        start = dice.randrange(len(raw) + 1)
        end = min(len(raw), start + dice.choice((1, 3, 20, 300)))
        match dice.randrange(6):
            case 0:
                raw = raw[:start]
            case 1:
                raw = raw[:start] + raw[end:]
            case 2:
                raw = raw[:end] + raw[start:end] + raw[end:]
            case 3:
                raw = (
                    raw[:start] + bytes(b ^ (1 << dice.randrange(8)) for b in raw[start : start + 1]) + raw[start + 1 :]
                )
            case _:
                values = list(re.finditer(rb'(?<=[:\[,])\s*(?:"[^"]*"|-?[0-9.e+-]+|true|false|null)', raw))
                if values:
                    found = dice.choice(values)
                    raw = raw[: found.start()] + dice.choice(ODD) + raw[found.end() :]
    return raw


def recording_sample() -> bytes:
    geom = Geom("box", (0.1, 0.1, 0.1), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0))
    turned, still, drops = np.tile([1.0, 0.0, 0.0, 0.0], (3, 1, 1)), np.zeros((3, 1, 3)), np.zeros((3, 2, 3))
    bodies = (RecordedBody("cup_A", (geom,)),)
    return to_bytes(Recording(bodies, 0.004, (0.2, 0.4, 0.9, 1.0), np.arange(3.0), still, turned, drops))


def test_recordings(tmp_path):
    sound = recording_sample()
    path = tmp_path / "a.aqr"
    for seed in range(TIMES):
        path.write_bytes(damaged(sound, random.Random(seed)))
        accept_or_refuse(load_recording, path)


@pytest.mark.parametrize("name", ["manifest.json", "records.jsonl", "annotations.jsonl"])
def test_benchmark_runs(tmp_path, name):
    source = ROOT / "results" / "m1-depth-scaled-v1"
    (tmp_path / "manifest.json").write_bytes((source / "manifest.json").read_bytes())
    for lines in ("records.jsonl", "annotations.jsonl"):
        whole = gzip.decompress((source / f"{lines}.gz").read_bytes())
        (tmp_path / lines).write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    sound = (tmp_path / name).read_bytes()
    for seed in range(TIMES):
        (tmp_path / name).write_bytes(damaged(sound, random.Random(seed)))
        accept_or_refuse(load_run, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("suite", ["pouring-v3", "m1-v2", "m1-proxy-v2", "m1-depth-v1"])
def test_whatever_a_run_holds_a_report_is_made_of_it_or_refused(tmp_path, suite):
    source = ROOT / "results" / suite
    run = load_run(source)
    files = {"records.jsonl": run.records, "annotations.jsonl": run.annotations, "timings.jsonl": run.timings}
    few = {
        name: [line for line in lines if line["scenario"] < 3 and line["seed"] == 0] for name, lines in files.items()
    }
    for seed in range(30):
        dice = random.Random(seed)
        manifest, sound = copy.deepcopy((run.manifest | {"format": UNSEALED}, few))
        for _ in range(dice.choice((1, 1, 3))):
            misplace_something(dice.choice([manifest, *(lines for lines in sound.values() if lines)]), dice)
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        for name, lines in sound.items():
            (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        accept_or_refuse(lambda folder: as_html(report_of(analysed_runs(merged([load_run(folder)])))), tmp_path)


def misplace_something(data, dice):
    """Put something odd in one place of plain data, or leave it out."""
    at = dice.choice(list(data) if isinstance(data, dict) else range(len(data)))
    if isinstance(data[at], dict | list) and data[at] and dice.random() < 0.8:
        misplace_something(data[at], dice)
    elif dice.random() < 0.2:
        del data[at]
    else:
        data[at] = copy.deepcopy(
            dice.choice((None, [], {}, "x", "inf", -1, 1e308, True, [[1]], 10**400, {"a": 1}, [None]))
        )


def test_packed_runs(tmp_path):
    source = ROOT / "results" / "m1-depth-scaled-v1"
    (tmp_path / "manifest.json").write_bytes((source / "manifest.json").read_bytes())
    whole = gzip.decompress((source / "records.jsonl.gz").read_bytes())
    sound = gzip.compress(b"".join(whole.splitlines(keepends=True)[:4]))
    for seed in range(TIMES):
        (tmp_path / "records.jsonl.gz").write_bytes(damaged(sound, random.Random(seed)))
        accept_or_refuse(load_run, tmp_path)


def test_the_model_of_the_pouring_robot(tmp_path):
    fitted = pytest.importorskip("aquamend_lab.pouring.model.fitted")
    fitted.save_fitted(fitted.uncalibrated(), tmp_path / "sound.json")
    sound = (tmp_path / "sound.json").read_bytes()
    assert fitted.load_fitted(tmp_path / "sound.json") == fitted.uncalibrated()
    for seed in range(TIMES):
        path = tmp_path / f"{seed}.json"
        path.write_bytes(damaged(sound, random.Random(seed)))
        accept_or_refuse(fitted.load_fitted, path)


def test_calibration_records_of_the_pouring_robot(tmp_path):
    records = pytest.importorskip("tests.lab.pouring.calibration_records")
    campaign = pytest.importorskip("aquamend_lab.pouring.calibration_run").campaign
    path = tmp_path / "records.jsonl"
    write_lines(path, [each.as_data() for each in records.records(3)])
    sound = path.read_bytes()
    assert len(campaign(path, runs=0, jobs=1)) == 0
    for seed in range(TIMES):
        path.write_bytes(damaged(sound, random.Random(seed)))
        accept_or_refuse(lambda file: campaign(file, runs=0, jobs=1), path)


def test_a_tracker_that_was_kept(tmp_path):
    problem = load_problem(ROOT / "examples" / "pouring.yaml")
    path = tmp_path / "task.json"
    template = without_open_ends(problem)
    tracker = Tracker.kept(template, path)
    for action in template.graph.actions[:2]:
        tracker.done(action.name)
    for belief in template.graph.beliefs[:2]:
        tracker.declare(belief.name, belief.declared, evidence=[template.graph.probes[0].name])
    sound = path.read_bytes()
    assert json.loads(sound)
    for seed in range(TIMES):
        path.write_bytes(damaged(sound, random.Random(seed)))
        accept_or_refuse(lambda file: Tracker.kept(template, file), path)


def without_open_ends(problem):
    """Return the problem with a price of undoing for every action, as a template needs."""
    from dataclasses import replace

    priced = [
        a if a.operations or a.undo is not None or not a.reversible else replace(a, undo=0.0)
        for a in problem.graph.actions
    ]
    return replace(problem, graph=replace(problem.graph, actions=tuple(priced)))


def accept_or_refuse(decode, path):
    try:
        decode(path)
    except AquaMendError:
        return
