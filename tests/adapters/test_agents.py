"""Agents recover by tools: a scripted client, which has files and a ticket of its own, against the real server."""

import json
import math
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult
from tests.waiting import PATIENCE_S

from aquamend.adapters.agents import Recoveries, server
from aquamend.belief import InformationState
from aquamend.errors import AquaMendError
from aquamend.files import parse_problem
from aquamend.recovery import Journal, MemoryLog, Recovery, Rules, approve
from aquamend.recovery.events import Done, Intended
from aquamend.testing import Fails, FakeRobot, StopBehaviour, TimesOut

TICKET = {
    "format": "aquamend-problem/1",
    "name": "a ticket taken to be about another service",
    "unit": "min",
    "beliefs": [{"name": "service", "residual": 120, "declared": "billing"}],
    "actions": [
        {"name": "edit_config", "undo": 0.2, "redo": 1},
        {"name": "edit_code", "undo": 0.2, "redo": 6},
        {"name": "reply_in_ticket", "undo": 3, "redo": 2},
        {"name": "release", "reversible": False},
    ],
    "probes": [{"name": "read_ownership", "cost": 0.5}, {"name": "rerun_test", "cost": 1}],
    "edges": [
        ["read_ownership", "service", "detection"],
        ["rerun_test", "service", "detection"],
        ["service", "edit_config", "belief_to_action"],
        ["service", "edit_code", "belief_to_action"],
        ["service", "reply_in_ticket", "belief_to_action"],
        ["edit_code", "release", "action_causal"],
    ],
    "hypotheses": [
        {"name": "right", "prior": 0.8},
        {"name": "wrong", "prior": 0.2, "truth": {"service": "invoicing"}},
    ],
    "kernels": {"read_ownership": {"of": "service", "right": 0.98}, "rerun_test": {"of": "service", "right": 0.7}},
    "alarm": {"suspects": ["service"], "likelihood": {"right": 0.1, "wrong": 0.7}},
    "escalate": 45,
}
DONE = ["edit_config", "edit_code", "reply_in_ticket"]


class Agent:
    """A scripted agent with two files and a ticket: it does what is to be done, with tools of its own."""

    def __init__(self, folder):
        self.folder, self.deeds = folder, []
        (folder / "config.yaml").write_text("service: billing\n", encoding="utf-8")
        (folder / "code.py").write_text("import billing\n", encoding="utf-8")
        (folder / "ticket").write_text("It was billing.\n", encoding="utf-8")

    @property
    def ticket(self):
        return (self.folder / "ticket").read_text(encoding="utf-8").splitlines()

    def carry_out(self, act):
        """Have an effect in the world, and remember it."""
        self.deeds.append(act)
        kind, _, what = act.partition(": ")
        service = "invoicing" if kind == "redo" else "none"
        match what:
            case "edit_config":
                (self.folder / "config.yaml").write_text(f"service: {service}\n", encoding="utf-8")
            case "edit_code":
                (self.folder / "code.py").write_text(f"import {service}\n", encoding="utf-8")
            case "reply_in_ticket":
                with (self.folder / "ticket").open("a", encoding="utf-8") as ticket:
                    ticket.write("It was invoicing.\n" if kind == "redo" else "Sorry: it was not billing.\n")

    def was_done(self, act):
        return act in self.deeds

    async def go_on(self, client, now, *, dies=lambda act: False, most=60):
        """Do what is to be done, one thing after another; return how it stands when there is nothing left."""
        for _ in range(most):
            to_do = now["to_do"]
            number, act = to_do["number"], to_do["act"]
            match to_do["kind"]:
                case "end":
                    return now
                case "measure":
                    now = await call(client, "observe", probe=act, value="invoicing")
                case "perform":
                    await call(client, "act", number=number)
                    self.carry_out(act)
                    if dies(act):
                        return None
                    now = await call(client, "report", number=number, outcome="done")
                case "verify":
                    outcome = "done" if self.was_done(act) else "not done"
                    now = await call(client, "report", number=number, outcome=outcome)
                case "ask_person":
                    now = await call(client, "ask_person")
                case kind:
                    raise AssertionError(kind)
        raise AssertionError("it does not end")


async def call(client, tool, **arguments):
    """Call a tool and return its structured result; what the model would read as an error is raised."""
    result = await client.call_tool(tool, {"session": "fix", **arguments})
    if result.is_error:
        raise AquaMendError(result.content[0].text)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def says(**answer):
    """Return a person who answers every question so, and keeps what was asked."""
    asked = []

    async def person(context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content=answer) if answer else ElicitResult(action="cancel")

    return person, asked


def recoveries(log, **options):
    return Recoveries({"ticket": parse_problem(TICKET)}, log, **options)


def run(scenario):
    async def limited():
        with anyio.fail_after(PATIENCE_S):
            return await scenario()

    return anyio.run(limited)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_agent_that_changed_files_and_a_ticket_on_a_wrong_assumption_recovers(tmp_path, mode):
    agent, log = Agent(tmp_path), MemoryLog()
    person, asked = says(allow=True, name="Ada")

    async def scenario():
        async with Client(server(recoveries(log)), mode=mode, elicitation_callback=person) as client:
            now = await call(client, "describe_situation", problem="ticket", believed={"service": "billing"}, done=DONE)
            assert now["to_do"]["act"] == "read_ownership"
            assert "one of 'billing', 'invoicing'" in now["to_do"]["how"]
            return await agent.go_on(client, now)

    now = run(scenario)
    assert now["ending"] == "finished"
    assert now["beliefs"] == [{"name": "service", "declared": "invoicing", "wrong": pytest.approx(0.0, abs=0.02)}]
    assert agent.deeds == [
        "undo: reply_in_ticket", "undo: edit_code", "undo: edit_config",
        "redo: edit_config", "redo: edit_code", "redo: reply_in_ticket", "finish the task",
    ]  # fmt: skip
    assert (tmp_path / "config.yaml").read_text(encoding="utf-8") == "service: invoicing\n"
    assert agent.ticket == ["It was billing.", "Sorry: it was not billing.", "It was invoicing."]
    (question,) = asked  # before what cannot be undone
    assert "'release'" in question
    assert "it cannot be undone" in question
    now = Recovery.of([entry.event for entry in log.read("fix")])
    assert [receipt.what for receipt in now.receipts if receipt.what in agent.deeds] == agent.deeds


@pytest.mark.parametrize("act", ["undo: reply_in_ticket", "redo: edit_code", "finish the task"])
@pytest.mark.parametrize("reported", [True, False])
def test_an_agent_that_died_with_its_server_repeats_no_side_effect(tmp_path, act, reported):
    """It died after it had done something; or after the server had written that down, and before it was told."""
    agent = Agent(tmp_path)
    person, _ = says(allow=True)

    async def scenario():
        with Journal(tmp_path / "agent.journal") as log:
            async with Client(server(recoveries(log)), elicitation_callback=person) as client:
                now = await call(client, "describe_situation", problem="ticket", believed={}, done=DONE)
                assert await agent.go_on(client, now, dies=act.__eq__) is None
                if reported:
                    number = (await call(client, "look"))["to_do"]["number"]
                    await call(client, "report", number=number, outcome="done")
        with Journal(tmp_path / "agent.journal") as log:
            async with Client(server(recoveries(log)), elicitation_callback=person) as client:
                before = await call(client, "look")
                assert before["to_do"]["kind"] in ("decide", "end")
                now = await call(client, "decide")
                if not reported:
                    assert (now["to_do"]["kind"], now["to_do"]["act"]) == ("verify", act)
                    assert "without doing it" in now["to_do"]["how"]
                return await agent.go_on(client, now)

    assert run(scenario)["ending"] == "finished"
    assert len(set(agent.deeds)) == len(agent.deeds) == 7
    assert agent.ticket == ["It was billing.", "Sorry: it was not billing.", "It was invoicing."]


def test_an_agent_that_has_forgotten_what_it_did_is_not_told_to_do_it_again(tmp_path):
    agent = Agent(tmp_path)
    own = recoveries(MemoryLog())

    async def scenario():
        person, _ = says(what="it was done", name="Ada", allow=True)
        async with Client(server(own)) as client:
            now = await call(client, "describe_situation", problem="ticket", believed={}, done=DONE)
            await agent.go_on(client, now, dies="undo: edit_code".__eq__)
        async with Client(server(own), elicitation_callback=person) as client:  # another conversation, the same server
            now = await call(client, "decide")
            assert (now["to_do"]["act"], now["to_do"]["begun"]) == ("undo: edit_code", True)
            number = now["to_do"]["number"]
            with pytest.raises(AquaMendError, match="was begun already: do not do it again"):
                await call(client, "act", number=number)
            now = await call(client, "report", number=number, outcome="unknown")
            assert now["to_do"]["kind"] == "verify"
            now = await call(client, "report", number=now["to_do"]["number"], outcome="unknown")
            assert now["to_do"]["kind"] == "ask_person"
            now = await call(client, "ask_person")
            assert now["to_do"]["act"] == "undo: edit_config"

    run(scenario)
    assert agent.deeds.count("undo: edit_code") == 1


def test_what_a_person_is_asked_only_a_person_answers(tmp_path):
    async def scenario():
        log = MemoryLog()
        person, asked = says()
        async with Client(server(recoveries(log)), elicitation_callback=person) as client:
            now = await call(client, "describe_situation", problem="ticket")  # as the file says: nothing was done
            now = await call(client, "observe", probe="read_ownership", value="billing")
            assert now["to_do"]["kind"] == "ask_person"
            with pytest.raises(AquaMendError, match="cannot be begun now"):
                await call(client, "act", number=now["to_do"]["number"])
            with pytest.raises(AquaMendError, match="nothing of 'fix' is under way"):
                await call(client, "report", number=now["to_do"]["number"], outcome="done")
            again = await call(client, "ask_person")  # the person went away
            assert again["to_do"] == now["to_do"]
        async with Client(server(recoveries(log))) as client:  # this one has nobody to ask
            await call(client, "decide")
            with pytest.raises(AquaMendError, match=r"aquamend session approve 'fix' --token \w+"):
                await call(client, "ask_person")
            token = Recovery.of([entry.event for entry in log.read("fix")]).asked.token
            approve(log, "fix", token=token, by="Ada")
            assert (await call(client, "decide"))["to_do"]["kind"] == "perform"
            with pytest.raises(AquaMendError, match="nobody is asked in 'fix': call act"):
                await call(client, "ask_person")
        assert len(asked) == 1

    run(scenario)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_person_who_declines_does_not_allow_it(mode):
    async def declines(context, params):
        return ElicitResult(action="decline")

    async def scenario():
        log = MemoryLog()
        async with Client(server(recoveries(log)), mode=mode, elicitation_callback=declines) as client:
            await call(client, "describe_situation", problem="ticket")
            await call(client, "observe", probe="read_ownership", value="billing")
            now = await call(client, "ask_person")
            assert now["to_do"]["kind"] == "ask_person"  # whether somebody takes over
            assert (await call(client, "ask_person"))["ending"] == "stopped"
        assert not any(isinstance(entry.event, Intended) and entry.event.act.irreversible for entry in log.read("fix"))

    run(scenario)


def test_the_hints_are_true():
    def hints(**options):
        async def scenario():
            async with Client(server(recoveries(MemoryLog(), **options))) as client:
                return {tool.name: (tool.annotations, tool) for tool in (await client.list_tools()).tools}

        return run(scenario)

    own, by_robot = hints(), hints(robot=object())
    assert {name for name, (hint, _) in own.items() if hint.read_only_hint} == {"look"}
    assert not any(hint.destructive_hint for hint, _ in own.values())  # the agent's own tools do it
    assert {name for name, (hint, _) in by_robot.items() if hint.destructive_hint} == {"act", "alarm", "call_off"}
    assert "report" not in by_robot
    for _, tool in (*own.values(), *by_robot.values()):
        assert tool.description
        assert set(tool.output_schema["required"]) >= {"session", "beliefs", "to_do"}
        parameters = set(tool.input_schema["properties"])
        assert not parameters & {"policy", "module", "path", "granted", "token", "permission", "question"}


def test_looking_changes_nothing(tmp_path):
    async def scenario():
        log = MemoryLog()
        async with Client(server(recoveries(log))) as client:
            await call(client, "describe_situation", problem="ticket", believed={}, done=DONE)
        before = len(list(log.read("fix")))
        async with Client(server(recoveries(log))) as client:
            for _ in range(3):
                assert (await call(client, "look"))["to_do"]["kind"] == "decide"
        assert len(list(log.read("fix"))) == before

    run(scenario)


def test_a_problem_may_be_written_by_the_agent_and_what_is_wrong_with_it_is_said():
    async def scenario():
        async with Client(server(recoveries(MemoryLog()))) as client:
            wrong = {**TICKET, "kernels": {}}
            with pytest.raises(AquaMendError, match="'read_ownership' has no kernel; say in kernels how it answers"):
                await call(client, "describe_situation", problem=wrong)
            with pytest.raises(AquaMendError, match="at most 200,000 characters"):
                await call(client, "describe_situation", problem={"name": "x" * 200_000})
            now = await call(client, "describe_situation", problem=TICKET, believed={}, done=["edit_code"])
            assert now["problem"] == TICKET["name"]

    run(scenario)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "describe_situation",
            {"problem": "tickets"},
            "unknown problem 'tickets'; valid names: 'ticket'; did you mean",
        ),
        ("describe_situation", {"problem": "ticket", "done": ["dance"]}, "unknown action 'dance'"),
        ("describe_situation", {"problem": "ticket", "believed": {"service": "x"}}, "cannot be declared 'x'"),
        ("describe_situation", {"problem": "os:system"}, "unknown problem"),
        ("decide", {"session": "other"}, "unknown session 'other'; valid names: 'fix'"),
        ("observe", {"probe": "read_ownership", "value": "nobody"}, "cannot have shown 'nobody'; it shows one of"),
        ("observe", {"probe": "smell", "value": "x"}, "unknown probe 'smell'"),
        ("report", {"number": 3, "outcome": "done"}, "say what 'read_ownership' has shown, as the finding"),
        ("report", {"number": 99, "outcome": "not done"}, "nobody waits for a reply to request 99"),
        ("report", {"number": 3, "outcome": "perhaps"}, "done"),
        ("act", {"number": 99}, "99 cannot be begun now; what is to be done is 3: run the probe"),
        ("ask_person", {}, "nobody is asked"),
    ],
)
def test_an_error_says_what_to_do(tool, arguments, said):
    async def scenario():
        person, _ = says(allow=True)
        async with Client(server(recoveries(MemoryLog())), elicitation_callback=person) as client:
            before = await call(client, "describe_situation", problem="ticket", believed={}, done=DONE)
            other = {"session": "again"} if tool == "describe_situation" else {}
            with pytest.raises((AquaMendError, MCPError), match=said):
                await call(client, tool, **{**other, **arguments})
            assert await call(client, "look") == before

    run(scenario)


# With a robot


def test_a_robot_does_what_is_begun_and_nothing_is_done_twice():
    problem = parse_problem({**TICKET, "actions": [{**a, "status": "executed"} for a in TICKET["actions"][:3]]
                             + TICKET["actions"][3:]})  # fmt: skip
    log, rules = MemoryLog(), Rules(ask_before_irreversible=False)

    async def scenario():
        robot = FakeRobot(
            InformationState.alarmed(problem), truth="wrong", failures=[Fails("undo: edit_code", times=1)]
        )
        own = Recoveries({"ticket": problem}, log, rules=rules, robot=robot)
        async with Client(server(own)) as client:
            now = await call(client, "describe_situation", problem="ticket")
            while now["to_do"]["kind"] != "end":
                number = now["to_do"]["number"]
                assert "call act" in now["to_do"]["how"]
                now = await call(client, "act", number=number)
                with pytest.raises(AquaMendError, match="cannot be begun now"):
                    await call(client, "act", number=number)
            return now, robot

    now, robot = run(scenario)
    assert now["ending"] == "finished"
    did = [str(act) for act in robot.did]
    assert len([act for act in did if act == "undo: edit_code"]) == 1
    receipts = [entry.event.receipt for entry in log.read("fix") if isinstance(entry.event, Done)]
    assert [receipt.what for receipt in receipts if not receipt.succeeded] == ["undo: edit_code"]


def test_what_a_robot_does_is_stopped_when_it_is_called_off():
    problem = parse_problem(TICKET | {"actions": [{**a, "status": "executed"} for a in TICKET["actions"][:3]]
                                      + TICKET["actions"][3:]})  # fmt: skip

    async def scenario():
        robot = FakeRobot(
            InformationState.alarmed(problem), truth="wrong",
            failures=[TimesOut("undo: edit_code", seconds=math.inf)], stops=StopBehaviour.AT_ONCE,
        )  # fmt: skip
        async with Client(server(Recoveries({"ticket": problem}, MemoryLog(), robot=robot))) as client:
            now = await call(client, "describe_situation", problem="ticket")
            while now["to_do"]["act"] != "undo: edit_code":
                now = await call(client, "act", number=now["to_do"]["number"])
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: call(client, "act", number=now["to_do"]["number"]))
                while not robot.moving:
                    await anyio.sleep(0.002)
                assert (await call(client, "look"))["to_do"]["begun"]
                now = await call(client, "call_off", why="Ada said so")
            assert (now["ending"], robot.moving) == ("cancelled", False)

    run(scenario)


# The program


@pytest.mark.slow
def test_the_program_serves_over_standard_input_and_output(tmp_path):
    (tmp_path / "ticket.yaml").write_text(json.dumps(TICKET), encoding="utf-8")
    program = [sys.executable, "-c", "from aquamend.cli.main import main; main()"]

    async def scenario():
        for _ in range(2):  # the second one takes up what the first has begun
            parameters = StdioServerParameters(
                command=program[0], args=[*program[1:], "mcp", "ticket.yaml", "--journal", "a.journal"], cwd=tmp_path
            )
            async with Client(parameters) as client:
                tools = {tool.name for tool in (await client.list_tools()).tools}
                assert tools >= {"describe_situation", "decide", "act", "report", "observe", "ask_person"}
                if not Path(tmp_path / "a.journal-seals").exists() or not sessions(tmp_path):
                    now = await call(client, "describe_situation", problem="ticket", believed={}, done=DONE)
                else:
                    now = await call(client, "decide")
        return now

    now = run(scenario)
    assert (now["to_do"]["kind"], now["to_do"]["act"]) == ("verify", "read_ownership")


def sessions(folder):
    with Journal.open(folder / "a.journal", read_only=True) as journal:
        return [line.name for line in journal.sessions()]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.yaml"], "nowhere.yaml"),
        (["--policy", "bets"], "did you mean 'best'"),
        (["--robot", "nothing:here"], "name it as module:Class"),
        (["--robot", "json:JSONDecoder"], "has no measure"),
        (["--journal", "nowhere/a.journal"], "its folder does not exist"),
    ],
)
def test_the_program_says_what_is_wrong_before_it_serves(run_program, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    result = run_program("mcp", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not Path("a.journal").exists()
