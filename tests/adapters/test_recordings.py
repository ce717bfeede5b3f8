"""A session as an MCAP file: read by anybody's reader, and read back to the last bit."""

import json
from itertools import pairwise

import jsonschema
import pytest
from mcap.reader import make_reader
from mcap.writer import Writer

from aquamend.adapters.recordings import BELIEFS, COSTS, EVENTS, STORY, read_recording, write_recording
from aquamend.errors import AquaMendError, UnknownName
from aquamend.recovery import Journal, MemoryLog, Recovery, Rules, recover
from aquamend.recovery.plain import event_to_data, to_json
from aquamend.story.of_session import with_moments
from aquamend.testing import Fails, FakeRobot


@pytest.fixture(scope="module", params=[MemoryLog, Journal])
def log(request, cup, tmp_path_factory):
    """A log of one session in which a belief was corrected, after something had failed."""
    own = MemoryLog() if request.param is MemoryLog else Journal(tmp_path_factory.mktemp("log") / "a.journal")
    robot = FakeRobot(cup(), truth="more", failures=[Fails("undo: grasp", times=1)])
    rules = Rules(ask_before_irreversible=False, ask_before_handing_over=False)
    recover("best", robot, journal=own, session="cup", rules=rules)
    return own


@pytest.fixture
def file(log, tmp_path):
    write_recording(tmp_path / "cup.mcap", log, "cup")
    return tmp_path / "cup.mcap"


def messages(file, topic=None):
    with file.open("rb") as stream:
        return [(s, c, m) for s, c, m in make_reader(stream).iter_messages(topic, log_time_order=False)]


def test_the_session_read_back_is_the_session_to_the_last_bit(log, file):
    recording = read_recording(file)
    entries = list(log.read("cup"))
    assert recording.session == "cup"
    assert [(e.number, e.time) for e in recording.entries] == [(e.number, e.time) for e in entries]
    assert [to_json(event_to_data(e.event)) for e in recording.entries] == [
        to_json(event_to_data(e.event)) for e in entries
    ]
    kept = Recovery.of([e.event for e in entries], "cup")
    assert recording.recovery.receipts == kept.receipts
    assert recording.recovery.state.posterior.tobytes() == kept.state.posterior.tobytes()


def test_every_message_is_what_the_schema_of_its_channel_says(file):
    found = messages(file)
    assert {channel.topic for _, channel, _ in found} == {EVENTS, BELIEFS, COSTS, STORY}
    validators = {}
    for schema, channel, message in found:
        assert (channel.message_encoding, schema.encoding) == ("json", "jsonschema")
        if schema.name not in validators:
            described = json.loads(schema.data)
            assert described["type"] == "object"  # which the registry of MCAP demands
            jsonschema.Draft202012Validator.check_schema(described)
            validators[schema.name] = jsonschema.Draft202012Validator(described)
        validators[schema.name].validate(json.loads(message.data))


def test_a_message_that_says_something_else_breaks_its_schema(file):
    schema, _, message = messages(file, EVENTS)[-1]
    data = json.loads(message.data)
    data["event"]["kind"] = "danced"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json.loads(schema.data))


def test_messages_stand_at_the_time_of_their_events(log, file):
    times = {entry.number: entry.time for entry in log.read("cup")}
    for _, _, message in messages(file):
        assert message.log_time == message.publish_time == pytest.approx(times[message.sequence] * 1e9, abs=1000)


def test_beliefs_and_costs_are_those_of_the_recovery(log, file):
    now = read_recording(file).recovery
    beliefs = [json.loads(m.data) for _, _, m in messages(file, BELIEFS)]
    assert beliefs[0] == pytest.approx(
        dict(zip((b.name for b in now.start.problem.graph.beliefs), now.start.failure_probabilities, strict=True))
    )
    assert beliefs[-1]["level"] < 0.1 < beliefs[0]["level"]
    costs = [json.loads(m.data) for _, _, m in messages(file, COSTS)]
    assert sum(costs[-1].values()) == pytest.approx(now.cost)
    assert all(a["rollback"] <= b["rollback"] for a, b in pairwise(costs))


def test_the_story_is_reported_as_a_log_panel_reads_it(log, file):
    lines = [moment for _, moment in with_moments(log.read("cup")) if moment]
    shown = [json.loads(m.data) for _, _, m in messages(file, STORY)]
    assert [one["message"] for one in shown] == [f"{line.title}: {line.text}" for line in lines]
    assert [one["level"] == 3 for one in shown] == [line.bad for line in lines]
    assert any(line.bad for line in lines)


def test_a_session_that_goes_on_is_written_as_far_as_it_has_come(cup, tmp_path):
    with Journal(tmp_path / "a.journal") as journal:
        recover("best", FakeRobot(cup(), truth="more"), journal=journal, session="x", wait_s=0)
        write_recording(tmp_path / "x.mcap", journal, "x")
        entries = list(journal.read("x"))
    assert len(read_recording(tmp_path / "x.mcap").entries) == len(entries)


def test_a_session_that_is_not_there_writes_no_file(log, tmp_path):
    with pytest.raises(UnknownName):
        write_recording(tmp_path / "none.mcap", log, "nobody")
    assert not (tmp_path / "none.mcap").exists()


def test_a_file_that_is_cut_off_is_refused(file):
    whole = file.read_bytes()
    for at in (len(whole) // 3, len(whole) - 20):
        file.write_bytes(whole[:at])
        with pytest.raises(AquaMendError, match="not a whole MCAP file"):
            read_recording(file)


def test_after_any_flipped_bit_a_file_is_refused_or_means_the_same(file):
    whole, refused = file.read_bytes(), 0
    before = [to_json(event_to_data(e.event)) for e in read_recording(file).entries]
    for at in range(0, len(whole), max(1, len(whole) // 30)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        try:
            after = read_recording(file)
        except AquaMendError:
            refused += 1
        else:  # in a schema, or in an index that nobody needed
            assert [to_json(event_to_data(e.event)) for e in after.entries] == before, at
    assert refused > 1


def test_a_recording_of_something_else_is_refused(tmp_path):
    path = tmp_path / "camera.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        writer.finish()
    with pytest.raises(AquaMendError, match="no message on the channel /aquamend/events"):
        read_recording(path)
