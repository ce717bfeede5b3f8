"""The conformance check for worlds: the shipped ones pass, and each broken promise is told apart."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from aquamend.decision import Continue, Reprobe, RollBack
from aquamend.errors import AquaMendError, IllegalProbe
from aquamend.execution import Charge, Ledger, Receipt
from aquamend.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model import Gaussian, Hypothesis, JointModel
from aquamend.problem import Plan, Problem
from aquamend.testing import WorldFault, check_world, sample_problems
from aquamend.worlds import ModelWorld
from aquamend.worlds.cups import CupTask, CupWorld, Nothing, Stage
from aquamend.worlds.cups.baselines import BlindRetry, ExecutedRestart, Rewind, TmsRevision
from aquamend.worlds.cups.events import common_cause_events, standard_events
from aquamend.worlds.cups.model import Assumptions, Shares

START = InformationState.alarmed(sample_problems()[0])
WATER_ADDED = 1
CUPS_ML = (100.0, 130.0, 170.0)
EVENTS = (*standard_events(CUPS_ML), *common_cause_events(CUPS_ML))


def scale():
    graph = RecoveryGraph(
        [Belief("level", 10.0)],
        [Action("pour", undo=4.0, executed=True)],
        [Probe("weigh", 0.1, max_uses=math.inf)],
        [("weigh", "level", "detection"), ("level", "pour", "belief_to_action")],
    )
    kernel = Gaussian({"same": (120.0, 1.5), "water": (124.0, 1.5)})
    hypotheses = [Hypothesis("same", 0.6), Hypothesis("water", 0.4, ("level",))]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"weigh": kernel}), sensing_budget=0.5))


@pytest.mark.parametrize("problem", sample_problems(), ids=lambda problem: problem.name)
def test_a_world_drawn_from_the_model_keeps_the_contract_whatever_is_true(problem):
    start = InformationState.alarmed(problem)
    for truth in range(len(problem.model.hypotheses)):
        check = check_world(lambda truth=truth: ModelWorld(start, truth, (truth,)))
        assert check.episodes == (6 if problem.restart_plan is None else 7)
        assert check.probes > 0


def test_random_problems_keep_the_contract(random_problem):
    for seed in range(60):
        problem = random_problem(random.Random(seed), gaussian=seed % 2 == 0)
        start = InformationState.alarmed(problem)
        truth = int(start.posterior.argmax())
        check_world(lambda start=start, truth=truth, seed=seed: ModelWorld(start, truth, (seed,)))


def test_gaussian_probes_and_evidence_from_before_are_no_hindrance():
    start = scale().after(Observation("weigh", 121.0))
    assert check_world(lambda: ModelWorld(start, 0)).probes > 0


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_the_pouring_task_keeps_the_contract(event, stage):
    task = CupTask(CUPS_ML, stage=stage, pour_reversible=stage is not Stage.POURED)
    assumed = Assumptions(EVENTS, Shares(common_cause=0.4))
    own = [BlindRetry(), Rewind(), ExecutedRestart(), TmsRevision()]
    check = check_world(lambda: CupWorld(task, event, 0, assumed), own)
    restarts = int(stage is not Stage.POURED)
    assert check.episodes == len(own) + restarts + 2, "it is restarted, and everything is asked twice over"


def test_all_shipped_policies_are_followed_where_none_are_given():
    world = ModelWorld(START, WATER_ADDED)
    assert check_world(lambda: replace(world)).episodes == 7
    assert check_world(lambda: replace(world), []).episodes == 3
    priced = replace(START.problem, plans=[Plan("by hand", np.array([1.0, 2.0, math.inf]))])
    assert check_world(lambda: ModelWorld(InformationState.alarmed(priced), 2), []).episodes == 4


class Broken(ModelWorld):
    """A sound world to break one promise of."""

    def __init__(self, start=START):
        super().__init__(start, WATER_ADDED)


def fault(world, policies=None):
    with pytest.raises(WorldFault) as told:
        check_world(world, policies)
    return str(told.value)


def test_the_world_that_is_broken_below_is_sound():
    check_world(Broken)


def altered(**changes):
    """Return a world whose outcomes differ from the true ones in these fields, each worked out from the true one."""

    class Altered(Broken):
        def commit(self, decision):
            outcome = super().commit(decision)
            return replace(outcome, **{name: change(outcome, decision) for name, change in changes.items()})

    return Altered


def with_receipts(*receipts):
    return altered(receipts=lambda outcome, decision: (*outcome.receipts, *receipts))


def without(charge):
    def kept(outcome, decision):
        return tuple(receipt for receipt in outcome.receipts if receipt.charge is not charge)

    return altered(receipts=kept)


def dearer_probes(outcome, decision):
    return tuple(replace(r, cost=r.cost + (r.charge is Charge.SENSING)) for r in outcome.receipts)


def paid_twice(outcome, decision):
    return (*outcome.receipts, *(r for r in outcome.receipts if r.charge is Charge.RECOVERY))


@pytest.mark.parametrize(
    ("world", "told"),
    [
        (with_receipts(Receipt(Charge.RECOVERY, "tip", -1.0)), "no receipt of a cost of at least 0"),
        (with_receipts(Receipt(Charge.RECOVERY, "tip", math.nan)), "no receipt of a cost of at least 0"),
        (with_receipts(("sensing", 1.0)), "no receipt of a cost"),
        (with_receipts(Receipt(Charge.SENSING, "look", 0.2)), "sensing receipts of 0.2 for 'look'"),
        (with_receipts(Receipt(Charge.RESIDUAL, "damage", math.inf)), "charges infinity for .*, which was feasible"),
        (without(Charge.SENSING), "has 0 sensing receipts of 0.6 for 'weigh'; 1 such probes were run"),
        (altered(receipts=dearer_probes), "has 0 sensing receipts of 0.6 for 'weigh'; 1 such"),
        (altered(receipts=paid_twice), r"charges the operation 'undo: \w+' 2 times"),
        (altered(undone=lambda outcome, decision: ("wash up",)), r"undid \['wash up'\]; name executed actions"),
        (altered(undone=lambda outcome, decision: ("pour", "pour")), "each once"),
        (altered(undone=lambda outcome, decision: ()), r"left \['grasp', 'pour'\] done, which RollBack"),
        (altered(uncorrected=lambda outcome, decision: ("weather",)), "which is no belief of the graph"),
        (altered(success=lambda outcome, decision: True), r"success and left \['level', 'target'\] uncorrected"),
        (
            altered(success=lambda outcome, decision: True, uncorrected=lambda outcome, decision: ()),
            "calls it a success that somebody was called",
        ),
    ],
)
def test_an_outcome_that_cannot_be_is_told(world, told):
    with pytest.raises(WorldFault, match=told):
        check_world(world)


def test_something_else_than_an_outcome_is_told():
    class Silent(Broken):
        def commit(self, decision):
            return None

    assert "returns None after" in fault(Silent)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("low", "return an Observation of the probe asked"),
        (Observation("weigh", "light"), "answers Observation(probe='weigh', outcome='light') to 'look'"),
        (Observation("look", "sideways"), "answers 'sideways' to 'look', which is none of ['low', 'high']"),
    ],
)
def test_an_answer_that_the_model_does_not_know_is_told(answer, told):
    class Odd(Broken):
        def measure(self, step):
            super().measure(step)
            return answer

    assert told in fault(Odd, [Ask("look")])


class Ask:
    """Run one probe, then go on."""

    def __init__(self, probe):
        self.probe = probe

    def next_step(self, state):
        return Continue() if state.evidence else Reprobe(self.probe)


@pytest.mark.parametrize("reading", [math.nan, math.inf, "heavy", None])
def test_a_reading_that_is_no_number_is_told(reading):
    class Odd(Broken):
        def measure(self, step):
            super().measure(step)
            return Observation(step.probe, reading)

    assert "which is not a finite number" in fault(lambda: Odd(scale()))


def test_answers_that_depend_on_what_was_asked_before_are_told():
    class OneStream(Broken):
        def measure(self, step):
            super().measure(step)
            asked = sum(self._ledger.uses.values())
            outcomes = {"look": ("low", "high"), "weigh": ("light", "heavy")}[step.probe]
            return Observation(step.probe, outcomes[asked % 2])

    assert "where else was asked before" in fault(OneStream, [])


def test_worlds_that_answer_differently_each_time_are_told():
    seeds = itertools.count()

    def another():
        return ModelWorld(START, 2, (next(seeds),))

    assert "to use 1 of 'look', but" in fault(another, [Ask("look")] * 20)


def test_worlds_that_share_one_ledger_are_told():
    ledger = Ledger(START.problem.graph)

    class Shared(Broken):
        def __init__(self):
            super().__init__()
            self._ledger = ledger

    assert "sensing receipts" in fault(Shared)


def test_an_alarm_that_is_no_information_state_is_told():
    class Siren(Broken):
        def alarm(self):
            return "fire"

    assert "returns 'fire' as its alarm" in fault(Siren)


def test_an_alarm_that_was_not_heard_or_heard_twice_is_told():
    deaf = InformationState.start(START.problem)
    assert "has not heard the alarm" in fault(lambda: Broken(deaf))
    twice = replace(START, alarm_heard=False).after_alarm()
    assert "alarm (once)" in fault(lambda: Broken(twice))


def test_an_alarm_that_tells_the_truth_in_the_posterior_is_told():
    certain = replace(START, posterior=np.array([0.0, 1.0, 0.0]))
    assert "starts from a posterior other than" in fault(lambda: Broken(certain))


def test_an_alarm_that_changes_is_told():
    class Fickle(Broken):
        def alarm(self):
            said, self.start = self.start, self.start.after(Observation("look", "high"))
            return said

    assert "another alarm when it is asked again" in fault(Fickle)
    starts = itertools.cycle([START, InformationState.alarmed(replace(START.problem, escalate=61.0))])
    assert "another alarm than an earlier world" in fault(lambda: Broken(next(starts)))


@pytest.mark.parametrize("moment", ["measure", "commit"])
def test_a_world_that_changes_the_state_it_gave_is_told(moment):
    def meddle(world):
        object.__setattr__(world.start, "evidence", (Observation("look", "high"),))

    class Meddling(Broken):
        def __init__(self):
            super().__init__(replace(START))

        def measure(self, step):
            answer = super().measure(step)
            if moment == "measure":
                meddle(self)
            return answer

        def commit(self, decision):
            outcome = super().commit(decision)
            meddle(self)
            return outcome

    assert "changes the information state" in fault(Meddling)


def test_an_unknown_probe_has_to_be_refused_by_name():
    class Obliging(Broken):
        def measure(self, step):
            return Observation(step.probe, "low")

    class Crashing(Broken):
        def measure(self, step):
            raise KeyError(step.probe)

    assert "answers Observation" in fault(Obliging)
    assert "raises KeyError" in fault(Crashing)


def test_an_object_that_is_no_world_is_told_which_method_it_lacks():
    class Half:
        def alarm(self):
            return START

        def measure(self, step):
            return Observation(step.probe, "low")

    assert "has no commit()" in fault(Half)


def test_the_message_says_in_which_problem_and_after_what():
    class Odd(Broken):
        def measure(self, step):
            answer = super().measure(step)
            return replace(answer, outcome="odd") if step.probe == "weigh" else answer

    assert fault(Odd, []).startswith("in 'reversible pour', with look = ")
    assert "nothing observed yet" in fault(with_receipts("tip"), [FinishAtOnce()])


class FinishAtOnce:
    def next_step(self, state):
        return Continue()


def test_a_fault_is_an_assertion_error_and_one_of_ours():
    assert issubclass(WorldFault, AssertionError)
    assert issubclass(WorldFault, AquaMendError)


def test_a_decision_that_is_infeasible_may_cost_infinity():
    class Stubborn:
        def next_step(self, state):
            return RollBack(("target",), ("grasp", "pour"))

    irreversible = InformationState.alarmed(sample_problems()[1])
    check_world(lambda: Broken(irreversible), [Stubborn()])


def test_a_policy_that_makes_no_sense_is_not_blamed_on_the_world():
    class TooOften:
        def next_step(self, state):
            return Reprobe("weigh")

    with pytest.raises(IllegalProbe):
        check_world(Broken, [TooOften()])


def test_undoing_a_pour_that_was_never_made_is_told():
    task, assumed = CupTask(CUPS_ML, stage=Stage.DECIDED), Assumptions(standard_events(CUPS_ML))

    class Hasty(CupWorld):
        def commit(self, decision):
            outcome = super().commit(decision)
            return replace(outcome, undone=(*outcome.undone, "pour"))

    assert "name executed actions" in fault(lambda: Hasty(task, Nothing(), 0, assumed))
