"""JSON Lines: exact text, whole files, faults with their place."""

import gzip
import json
import math
import os
import subprocess
import sys

import pytest
from tests.waiting import PATIENCE_S

from aquamend.errors import InvalidRun
from aquamend.files.atomic import write_atomically
from aquamend_lab.records import as_line, read_lines, sealed_line, write_lines


def test_a_line_is_one_json_object_with_keys_in_the_order_given():
    assert as_line({"b": 1, "a": [True, None, "x"]}) == '{"b":1,"a":[true,null,"x"]}\n'


def test_floats_are_shortened_to_what_machines_agree_on():
    assert as_line({"x": 0.1 + 0.2}) == '{"x":0.3}\n'
    assert as_line({"x": 1 / 3}) == '{"x":0.333333333333}\n'


def test_infinity_is_written_out_and_what_is_not_a_number_is_null():
    assert json.loads(as_line({"x": math.inf, "y": math.nan, "z": (math.inf,)})) == {
        "x": "inf",
        "y": None,
        "z": ["inf"],
    }


def test_what_was_written_is_read_back_packed_or_not(tmp_path):
    records = [{"n": 1, "name": "Käse"}, {"n": 2.5, "name": "x"}]
    write_lines(tmp_path / "plain.jsonl", records)
    write_lines(tmp_path / "packed.jsonl.gz", records)
    assert read_lines(tmp_path / "plain.jsonl") == read_lines(tmp_path / "packed.jsonl") == records


def test_packing_gives_the_same_bytes_every_time(tmp_path):
    for name in ("one.gz", "two.gz"):
        write_lines(tmp_path / name, [{"n": 1}])
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


def test_a_file_that_is_not_there_has_no_lines(tmp_path):
    assert read_lines(tmp_path / "nothing.jsonl") == []


@pytest.mark.parametrize(
    ("text", "message"), [("{}\nnope\n", "line 2 is not JSON"), ("[1]\n", "line 1 is not a JSON object")]
)
def test_a_broken_line_is_reported_with_its_number(tmp_path, text, message):
    path = tmp_path / "records.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidRun, match=message) as error:
        read_lines(path)
    assert str(path) in str(error.value)


def test_a_damaged_archive_is_reported(tmp_path):
    (tmp_path / "records.jsonl.gz").write_bytes(gzip.compress(b"{}\n")[:-6])
    with pytest.raises(InvalidRun, match="cannot be read"):
        read_lines(tmp_path / "records.jsonl")


def test_an_archive_with_a_flipped_bit_is_reported(tmp_path):
    packed = bytearray(gzip.compress(b'{"n": 1}\n' * 100))
    packed[20] ^= 0xFF
    (tmp_path / "records.jsonl.gz").write_bytes(bytes(packed))
    with pytest.raises(InvalidRun, match="cannot be read"):
        read_lines(tmp_path / "records.jsonl")


def test_a_folder_where_a_file_should_be_is_reported(tmp_path):
    (tmp_path / "records.jsonl").mkdir()
    with pytest.raises(InvalidRun, match="cannot be read"):
        read_lines(tmp_path / "records.jsonl")


def test_a_write_that_fails_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path):
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(target)
    for data in (b"new", b"newer"):
        write_atomically(link, data)
        assert link.is_symlink()
        assert target.read_bytes() == data


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_standard_output_can_be_named_as_a_file(tmp_path):
    named = tmp_path / "stdout"
    named.symlink_to("/proc/self/fd/1")  # as /dev/stdout is one
    there = "from aquamend.files.atomic import write_atomically as w"
    code = f"{there}; from pathlib import Path as P; w(P({str(named)!r}), b'told')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=PATIENCE_S)
    assert run.stdout == b"told"
    assert named.is_symlink()


@pytest.fixture
def umask():
    """Set the umask for a test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path, umask, mask, mode):
    umask(mask)
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o400])
def test_a_file_keeps_its_permissions(tmp_path, umask, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_bytes() == b"new"


def test_a_sealed_line_is_the_same_line_with_a_seal(tmp_path):
    records = [{"n": 1, "name": 'Käse","seal":"00000000"'}, {"loss": math.inf}]
    write_lines(tmp_path / "sealed.jsonl", records, sealed=True)
    assert read_lines(tmp_path / "sealed.jsonl", sealed=True) == [records[0], {"loss": "inf"}]
    assert sealed_line({"n": 1}).startswith('{"n":1,"seal":"')


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"loss":3.5', '"loss":3.4'), ('"loss":3.5', '"loss":null'), ('"loss":3.5', '"loss":"inf"'),
        ('"loss":3.5', '"loss":"much"'), ('"loss":3.5', '"loss": 3.5'), ('"seal"', '"sealed"'),
        ("aquamend", "restart"),
    ],
)  # fmt: skip
def test_a_sealed_line_that_was_changed_is_reported_with_its_number(tmp_path, old, new):
    path = tmp_path / "records.jsonl"
    write_lines(path, [{"loss": 1.0}, {"policy": "aquamend", "loss": 3.5}], sealed=True)
    path.write_text(path.read_text().replace(old, new, 2 if old == '"seal"' else 1))
    number = 1 if old == '"seal"' else 2
    with pytest.raises(InvalidRun, match=rf"line {number} is not as it was written: its seal is broken or missing"):
        read_lines(path, sealed=True)


def test_a_line_without_a_seal_is_not_taken_for_a_sealed_one(tmp_path):
    write_lines(tmp_path / "records.jsonl", [{"loss": 1.0}])
    with pytest.raises(InvalidRun, match="line 1 is not as it was written"):
        read_lines(tmp_path / "records.jsonl", sealed=True)
