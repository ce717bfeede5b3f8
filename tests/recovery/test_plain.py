"""Events as plain data: exactly the same after writing and reading, and only our own errors for whatever else comes."""

import json
import math
import random
import string
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import cases

from aquamend import Continue, Escalate, InformationState, NewDeclaration, Reprobe, Restart, RollBack, load_problem
from aquamend.belief import Observation
from aquamend.decision.steps import step_from_data, step_to_data
from aquamend.errors import AquaMendError, InvalidData
from aquamend.files import parse_problem, problem_to_data
from aquamend.problem import Redeclared
from aquamend.recovery import (
    UNATTENDED,
    Act,
    Charge,
    Decide,
    Declare,
    End,
    Ending,
    Finish,
    Follow,
    HandOver,
    Instant,
    Measure,
    MemoryLog,
    NoReceipt,
    Perform,
    Receipt,
    Recovery,
    Redo,
    Request,
    Rules,
    RunProbe,
    Stop,
    Undo,
    Verify,
    Wait,
    recover,
)
from aquamend.recovery.events import (
    Alarmed,
    AlarmedAgain,
    Approved,
    Asked,
    Cancelled,
    Decided,
    Done,
    Ended,
    Event,
    Expired,
    Intended,
    Lost,
    NotStopped,
    Observed,
    Resumed,
    Settled,
    Stopping,
    Unknown,
)
from aquamend.recovery.plain import (
    event_from_data,
    event_to_data,
    from_json,
    message_from_data,
    message_to_data,
    reply_from_data,
    reply_to_data,
    request_from_data,
    request_to_data,
    session_schema,
    to_json,
)
from aquamend.recovery.requests import AlarmRaised, Answer, Cancel, Observe, Settle

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))

names = st.text(max_size=12)
lists = st.lists(names, max_size=3).map(tuple)
numbers = st.floats(allow_nan=False, allow_infinity=False)
amounts = st.floats(min_value=0.0, allow_nan=False)
values = st.one_of(names, numbers)
cost = {"cost": amounts}
acts = st.one_of(
    st.builds(Measure, names, **cost),
    st.builds(Undo, names, lists, **cost),
    st.builds(Declare, names, st.none() | values, **cost),
    st.builds(Redo, names, st.booleans(), **cost),
    st.builds(Follow, names, lists, lists, **cost),
    st.builds(Finish, lists, st.booleans(), **cost),
    st.builds(HandOver, names, **cost),
)
new = st.builds(NewDeclaration, names, values)
steps = st.one_of(
    st.builds(Reprobe, names),
    st.builds(
        RollBack, lists, lists, st.lists(new, max_size=3, unique_by=lambda n: n.belief).map(tuple), st.none() | names
    ),
    st.sampled_from([Continue(), Restart(), Escalate()]),
)


def receipts(parts):
    moment = st.none() | numbers
    charge = st.sampled_from(Charge)
    found = st.none() | values
    return st.builds(Receipt, charge, names, amounts, moment, moment, st.booleans(), found, st.booleans(), parts)


any_receipt = st.recursive(receipts(st.just(())), lambda r: receipts(st.lists(r, max_size=3).map(tuple)), max_leaves=5)
plain = st.recursive(
    st.none() | st.booleans() | names | numbers | st.integers(-(2**53), 2**53),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(names, inside, max_size=3),
    max_leaves=8,
)
instants = st.builds(Instant, numbers, st.none() | numbers, names)
events = st.one_of(
    st.builds(AlarmedAgain, st.none() | names, st.none() | names),
    st.builds(Observed, st.builds(Observation, names, values, st.booleans())),
    st.builds(Decided, steps, names, st.none() | st.dictionaries(names, plain, max_size=3)),
    st.builds(Asked, acts, names, names),
    st.builds(Approved, st.booleans(), names, names, names, instants),
    st.builds(Expired, names),
    st.builds(Intended, acts),
    st.builds(Stopping, names, st.booleans()),
    st.builds(NotStopped, names),
    st.builds(Lost, names, st.booleans()),
    st.builds(Unknown, names),
    st.builds(Settled, st.booleans(), names, names),
    st.builds(Cancelled, names),
    st.builds(Done, any_receipt, st.booleans()),
    st.builds(Resumed, names),
    st.builds(Ended, st.sampled_from(Ending), names),
)
rules = st.builds(
    Rules,
    attempts=st.integers(0, 9),
    decisions=st.integers(0, 10**9),
    timeouts=st.dictionaries(names, amounts, max_size=2),
    **dict.fromkeys(("seconds", "timeout_s", "stop_s", "surprising", "approval_s"), amounts),
    **{name: st.booleans() for name in ("probes_move", "ask_before_handing_over", "ask_before_irreversible")},
)


def read_again(event, problem=None):
    return event_from_data(from_json(to_json(event_to_data(event))), problem=problem)


@given(events)
def test_every_event_is_the_same_after_writing_and_reading(event):
    assert read_again(event) == event


@given(acts, any_receipt)
def test_acts_and_receipts_are_too(act, receipt):
    assert read_again(Intended(act)).act == act
    assert read_again(Done(receipt)).receipt == receipt


@settings(max_examples=20)
@given(given_rules=rules)
def test_rules_are_too(given_rules):
    state = InformationState.alarmed(load_problem(EXAMPLES[0]))
    assert read_again(Alarmed(state, "aquamend", given_rules, Instant(1e9))).rules == given_rules


@given(events | acts | any_receipt)
def test_no_field_is_left_out(thing):
    if isinstance(thing, Act):
        data = event_to_data(Intended(thing))["act"]
    elif isinstance(thing, Receipt):
        data = event_to_data(Done(thing))["receipt"]
    else:
        data = event_to_data(thing)
    assert {field.name for field in fields(thing)} == data.keys() - {"kind"}


def test_no_field_of_the_first_event_is_left_out():
    state = InformationState.alarmed(load_problem(EXAMPLES[0]))
    data = event_to_data(Alarmed(state, "aquamend", Rules(), Instant(1e9, 5.0, "boot")))
    assert {field.name for field in fields(Alarmed)} == data.keys() - {"kind", "problem", "redeclared"}
    assert {field.name for field in fields(Rules)} == data["rules"].keys()


def test_infinity_is_written_as_text_and_read_as_infinity():
    data = event_to_data(Done(HandOver("nobody", cost=math.inf).done()))
    assert data["receipt"]["cost"] == "inf"
    assert event_from_data(data).receipt.cost == math.inf


def test_a_finding_that_reads_inf_stays_a_text():
    assert read_again(Done(Measure("p").done("inf"))).receipt.finding == "inf"


def answered(state, rng, most):
    """Return the state after a few answers, drawn under random hypotheses."""
    for _ in range(most):
        if state.legal:
            view = rng.choice(state.legal)
            numbers = np.random.default_rng(rng.randrange(2**32))
            answer = view.channel.sample(rng.randrange(len(state.posterior)), numbers)
            state = state.after(Observation(view.name, answer))
    return state


@pytest.mark.parametrize("seed", range(30))
def test_a_session_begins_with_exactly_the_posterior_it_was_given(random_problem, seed):
    rng = random.Random(seed)
    state = answered(InformationState.alarmed(random_problem(rng, gaussian=seed % 2 == 0)), rng, seed % 4)
    again = read_again(Alarmed(state, "aquamend", Rules(), Instant(1e9, 5.0, "boot"))).state
    assert again.posterior.tobytes() == state.posterior.tobytes()
    assert again.evidence == state.evidence
    assert (again.origin is None) == (state.origin is None)
    if state.origin is not None:
        assert again.origin.posterior.tobytes() == state.origin.posterior.tobytes()


@pytest.mark.parametrize("seed", range(30))
def test_a_problem_read_twice_gives_the_very_same_likelihoods(random_problem, valued_problem, seed):
    problem = valued_problem(seed) if seed % 3 == 0 else random_problem(random.Random(seed), gaussian=True)
    text = to_json(problem_to_data(problem))
    once, twice = parse_problem(from_json(text)), parse_problem(from_json(text))
    assert to_json(problem_to_data(once)) == text
    rng = np.random.default_rng(seed)
    for probe, channel in once.model.channels.items():
        for hypothesis in range(len(once.model.hypotheses)):
            answer = channel.sample(hypothesis, rng)
            other = twice.model.channels[probe].likelihood(answer)
            assert channel.likelihood(answer).tobytes() == other.tobytes()


def test_what_was_declared_anew_before_the_alarm_is_kept(cup_state):
    state = cup_state()
    problem = replace(state.problem, redeclared={"level": Redeclared(45.0, ("weigh",), 2)})
    again = read_again(
        Alarmed(replace(state, problem=problem), "aquamend", Rules(), Instant(1e9, 5.0, "boot"))
    ).state.problem.redeclared["level"]
    assert (again.value, again.support, again.times) == (45.0, ("weigh",), 2)


@given(steps)
def test_steps_are_checked_and_the_same(step):
    assert step_from_data(json.loads(json.dumps(step_to_data(step)))) == step


WRONG = [
    None,
    True,
    -1,
    1.5,
    2**70,
    10**400,
    math.nan,
    math.inf,
    "",
    "inf",
    "\ud800",
    [],
    [[]],
    {},
    {"kind": "done"},
    [None] * 5,
    "x" * 10_000,
]


def places(data, path=()):
    """Yield the path of everything inside some plain data."""
    yield path
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in inside:
        yield from places(item, (*path, key))


def changed(rng, data):
    """Return plain data with one thing in them replaced, removed, repeated or renamed."""
    copy = json.loads(json.dumps(data))
    path = rng.choice(list(places(copy)))
    if not path:
        return rng.choice(WRONG)
    around = copy
    for key in path[:-1]:
        around = around[key]
    key = path[-1]
    match rng.randrange(4):
        case 0 | 1:
            around[key] = rng.choice(WRONG)
        case 2:
            del around[key]
        case _ if isinstance(around, list):
            around.append(around[key])
        case _:
            around["".join(rng.choices(string.ascii_letters, k=5))] = around[key]
    return copy


class Scripted:
    def __init__(self, state, seed):
        self.state, self.rng = state, np.random.default_rng(seed)
        self.truth = int(self.rng.choice(len(state.posterior), p=state.posterior))

    def alarm(self):
        return self.state

    def measure(self, step):
        channel = self.state.problem.model.channels[step.probe]
        return step.done(channel.sample(self.truth, self.rng), alarm=self.rng.random() < 0.1)

    def perform(self, act):
        return act.done() if self.rng.random() < 0.8 else act.failed("slipped")


@pytest.fixture(scope="module")
def histories():
    """Return the data of the events of some sessions on the examples."""
    log, sessions = MemoryLog(), []
    for seed, path in enumerate(EXAMPLES * 2):
        rules = replace(UNATTENDED, timeouts={"finish": 5.0})
        state = InformationState.alarmed(load_problem(path))
        recover("aquamend", Scripted(state, seed), journal=log, session=str(seed), rules=rules)
        sessions.append([from_json(to_json(event_to_data(entry.event))) for entry in log.read(str(seed))])
    return sessions


def test_a_session_read_again_comes_to_the_same(histories):
    for data in histories:
        events = [event_from_data(d) for d in data]
        assert Recovery.of(events).ending is not None


@pytest.mark.parametrize("seed", range(12))
def test_changed_data_give_an_event_or_one_of_our_errors(histories, seed):
    rng = random.Random(seed)
    refused = 0
    for _ in range(150):
        data = rng.choice(rng.choice(histories))
        refused += 1
        with suppress(AquaMendError):
            event_from_data(changed(rng, data))
            refused -= 1
    assert refused > 50


@pytest.mark.parametrize("seed", range(cases(5, 12)))
def test_changed_sessions_come_to_something_or_give_one_of_our_errors(histories, seed):
    rng = random.Random(seed)
    problems = [event_from_data(data[0]).state.problem for data in histories]
    for _ in range(60):
        which = rng.randrange(len(histories))
        session = list(histories[which])
        match rng.randrange(4):
            case 0:
                del session[rng.randrange(len(session))]
            case 1:
                session.insert(rng.randrange(len(session)), rng.choice(session))
            case 2:
                session.insert(rng.randrange(len(session)), rng.choice(rng.choice(histories)[1:]))
            case _:
                i = rng.randrange(1, len(session))
                session[i] = changed(rng, session[i])
        with suppress(AquaMendError):
            now = Recovery.of([event_from_data(data, problem=problems[which]) for data in session])
            assert math.isclose(now.state.posterior.sum(), 1.0)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_random_bytes_are_data_or_one_of_our_errors(raw):
    with suppress(AquaMendError):
        event_from_data(from_json(raw))


@settings(max_examples=200)
@given(plain)
def test_any_plain_data_are_an_event_or_one_of_our_errors(data):
    with suppress(AquaMendError):
        step_from_data(data)
    for event in (data, {"kind": "intended", "act": data}, {"kind": "done", "receipt": data, "known": True}):
        with suppress(AquaMendError):
            event_from_data(event)


def nested(depth):
    receipt = Receipt(Charge.SENSING, "p", 0.0)
    for _ in range(depth):
        receipt = Receipt(Charge.SENSING, "p", 0.0, parts=(receipt,))
    return receipt


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"kind":"decided","step":' + '{"a":' * 5_000 + "1" + "}" * 5_001,
        '{"kind":"done","receipt":{"cost":NaN}}',
        '{"kind":"done","receipt":{"cost":' + "9" * 5_000 + "}}",
        '{"kind":"resumed","by":"x","by2":1}',
        "",
        "null",
    ],
    ids=["deep list", "deep mapping", "nan", "digits", "strange key", "empty", "null"],
)
def test_absurd_texts_are_refused(text):
    with pytest.raises(AquaMendError):
        event_from_data(from_json(text))


def test_what_is_refused_says_where_and_what():
    data = event_to_data(Done(Measure("look").done("yes")))
    data["receipt"]["cost"] = "much"
    with pytest.raises(InvalidData, match=r"event\.receipt\.cost: the text 'much' is not a number"):
        event_from_data(data)


def test_what_could_not_be_read_is_not_written():
    for event in (
        Done(Receipt(Charge.SENSING, "p", math.nan)),
        Done(nested(200)),
        Decided(Reprobe("p"), explanation={"odd": object()}),
        Decided("dance"),
        Intended(Measure(3)),
    ):
        with pytest.raises(InvalidData):
            event_to_data(event)


def test_data_nested_too_deeply_for_python_are_refused():
    deep = {}
    for _ in range(5_000):
        deep = {"parts": [deep]}
    with pytest.raises(InvalidData):
        event_from_data({"kind": "decided", "step": {"kind": "continue"}, "reason": "", "explanation": deep})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_state_of_the_examples_is_refused_with_a_wrong_number(path):
    state = InformationState.alarmed(load_problem(path))
    for key, value in (
        ("posterior", [2.0]),
        ("posterior", [math.nan] * len(state.posterior)),
        ("alarms", -1),
        ("evidence", [{"probe": "none such", "outcome": 1.0}]),
        ("contradiction", 7),
        ("origin", []),
        ("format", "other"),
    ):
        with pytest.raises(InvalidData):
            InformationState.from_data(state.problem, {**state.to_data(), key: value})


requests = st.one_of(
    st.builds(RunProbe, st.integers(0, 99), st.builds(Measure, names, **cost), amounts),
    st.builds(Perform, st.integers(0, 99), acts, amounts),
    st.builds(Stop, st.integers(0, 99), acts, names, amounts),
    st.builds(Verify, st.integers(0, 99), acts, names, amounts),
    st.builds(Wait, st.integers(0, 99), acts, names, names, st.none() | acts),
    st.builds(Decide, st.integers(0, 99)),
    st.builds(End, st.integers(0, 99), st.sampled_from(Ending), names),
)
replies = st.one_of(any_receipt, st.builds(NoReceipt, names), st.builds(Decided, steps, names))
messages = st.one_of(
    st.builds(Answer, st.booleans(), names, names, names),
    st.builds(Settle, st.booleans(), names, names),
    st.builds(AlarmRaised, st.none() | names),
    st.builds(Observe, names, values),
    st.builds(Cancel, names),
)
SCHEMA = jsonschema.Draft202012Validator(session_schema())


@given(requests)
def test_every_request_is_the_same_after_writing_and_reading(request):
    data = from_json(to_json(request_to_data(request)))
    assert request_from_data(data) == request
    assert data["kind"] == request.kind


@given(replies)
def test_every_reply_is_too(reply):
    data = from_json(to_json(reply_to_data(reply)))
    assert reply_from_data(data) == reply
    assert data["kind"] == reply.kind


@given(replies | messages)
def test_every_message_is_too_and_so_is_a_reply_among_them(message):
    data = from_json(to_json(message_to_data(message)))
    assert message_from_data(data) == message
    assert data["kind"] == message.kind


def test_of_a_message_only_what_has_no_default_need_be_said():
    assert message_from_data({"kind": "alarm"}) == AlarmRaised()
    assert message_from_data({"kind": "answer", "granted": True, "by": "Ada", "token": "t"}) == Answer(True, "Ada", "t")
    with pytest.raises(InvalidData, match=r"message\.token"):
        message_from_data({"kind": "answer", "granted": True, "by": "Ada"})
    with pytest.raises(InvalidData, match=r"message\.granted"):
        message_from_data({"kind": "answer", "granted": "no", "by": "Ada", "token": "t"})


def test_of_a_receipt_only_what_is_uncommon_need_be_said():
    data = {"kind": "receipt", "charge": "rollback", "what": "undo: lift", "cost": 2.5}
    assert reply_from_data(data) == Receipt(Charge.ROLLBACK, "undo: lift", 2.5)
    with pytest.raises(InvalidData, match=r"reply\.cost"):
        reply_from_data({key: value for key, value in data.items() if key != "cost"})
    with pytest.raises(InvalidData, match=r"reply\.kind"):
        reply_from_data({"kind": "reciept"})


@given(requests | replies | messages | events)
def test_the_schema_allows_all_that_is_written(message):
    write = {True: request_to_data, False: message_to_data}
    data = event_to_data(message) if isinstance(message, Event) else write[isinstance(message, Request)](message)
    SCHEMA.validate(from_json(to_json(data)))


@given(requests | messages | events, st.data())
def test_the_schema_refuses_what_is_misspelt_or_missing(message, data):
    write = {True: request_to_data, False: message_to_data}
    said = event_to_data(message) if isinstance(message, Event) else write[isinstance(message, Request)](message)
    key = data.draw(st.sampled_from(sorted(said)))
    assert not SCHEMA.is_valid({**said, "surplus": 1})
    if key == "kind":
        assert not SCHEMA.is_valid({**said, "kind": "surplus"})


def test_the_schema_is_sound_and_allows_whole_sessions(histories):
    jsonschema.Draft202012Validator.check_schema(session_schema())
    for data in histories:
        for event in data:
            SCHEMA.validate(event)
