"""The conformance check: every shipped policy passes, and each broken promise is told apart."""

import math
import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from tests.reference.generator import valued_problem

from aquamend.belief import InformationState
from aquamend.decision import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack, best_terminal, price
from aquamend.errors import AquaMendError, NotStructured
from aquamend.files import parse_problem
from aquamend.policies import POLICIES, LinearChain, policy_named
from aquamend.problem import Plan, Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Gaussian, Hypothesis, JointModel
from aquamend.testing import PolicyFault, check_policy, sample_problems

# `structured` refuses what its assumptions do not hold for; `veritrace` neither looks nor asks what may be left.
SHIPPED = [name for name in POLICIES if name not in ("structured", "veritrace")] + ["lookahead-1", "lookahead-2"]


def gaussian_problem():
    graph = RecoveryGraph(
        [Belief("level", 10.0)],
        [Action("pour", undo=4.0, executed=True)],
        [Probe("weigh", 0.1, max_uses=2)],
        [("weigh", "level", "detection"), ("level", "pour", "belief_to_action")],
    )
    kernel = Gaussian({"same": (120.0, 1.5), "water": (124.0, 1.5)})
    hypotheses = [Hypothesis("same", 0.6), Hypothesis("water", 0.4, ("level",))]
    return Problem(graph, JointModel(hypotheses, {"weigh": kernel}))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_policy_keeps_the_contract(name, random_problem):
    problems = [random_problem(random.Random(seed), gaussian=seed % 2 == 0) for seed in range(25)]
    check = check_policy(policy_named(name), [*sample_problems(), gaussian_problem(), *problems])
    assert check.problems == 30
    assert check.states >= 30


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in ("exact", "certified")])
def test_every_shipped_policy_keeps_it_where_corrections_need_values(name):
    files = [valued_problem(random.Random(seed), gaussian=seed % 4 == 0) for seed in range(24)]
    assert check_policy(policy_named(name), [parse_problem(file) for file in files]).states >= 24


def test_a_policy_that_is_blind_to_what_may_be_left_is_named(random_problem):
    problems = [random_problem(random.Random(seed)) for seed in range(25)]
    with pytest.raises(PolicyFault, match="which is inadmissible here"):
        check_policy(policy_named("veritrace"), problems)


def test_the_structured_policy_refuses_the_sample_problems():
    with pytest.raises(NotStructured):
        check_policy(policy_named("structured"))


def test_without_problems_the_four_samples_are_used_and_all_states_are_visited():
    class LookOnce:
        def next_step(self, state):
            return best_terminal(state).decision if state.evidence else Reprobe("look")

    check = check_policy(LookOnce())
    assert (check.problems, check.states) == (4, 3 * (1 + 2) + (1 + 3))


@dataclass
class Says:
    """Answer with whatever a function of the state says."""

    answer: object

    def next_step(self, state):
        return self.answer(state)


def fault(answer, problems=None):
    with pytest.raises(PolicyFault) as error:
        check_policy(Says(answer), problems)
    return str(error.value)


def test_a_probe_without_uses_left_is_reported_with_the_legal_ones():
    message = fault(lambda state: Reprobe("weigh"))
    assert "re-probes 'weigh', which is not legal" in message
    assert "legal: ['look']" in message
    assert "with weigh = " in message


def test_a_probe_that_does_not_exist_is_reported():
    assert "'ghost', which is not legal" in fault(lambda state: Reprobe("ghost"))


def test_a_probe_over_the_budget_is_reported():
    tight = sample_problems()[2]
    assert "tight budget" in fault(lambda state: Reprobe("weigh"), [tight])


@pytest.mark.parametrize("undo", [("grasp",), (), ("grasp", "pour", "pour")])
def test_a_rollback_that_undoes_less_than_the_minimal_closure_or_twice_is_reported(undo):
    message = fault(lambda state: RollBack(("target",), undo))
    assert f"undoes {list(undo)}" in message
    assert "minimal upper closure is ['grasp', 'pour']" in message


def test_undoing_what_was_never_executed_is_reported():
    assert "undoes ['wipe'], which was not executed" in fault(
        lambda state: RollBack(("target",), ("grasp", "pour", "wipe"))
    )


def test_undoing_more_than_the_closure_is_allowed():
    assert check_policy(LinearChain()).states > 3


def test_the_order_in_which_a_rollback_lists_its_actions_is_free():
    check_policy(Says(lambda state: RollBack(("target",), ("pour", "grasp"))), sample_problems()[:1])


@pytest.mark.parametrize("correct", [("lid",), ("target", "lid"), ("target", "target")])
def test_a_rollback_of_an_unknown_belief_or_one_named_twice_is_reported(correct):
    assert "name beliefs of the graph, each once" in fault(lambda state: RollBack(correct, ()))


def test_a_rollback_may_undo_without_correcting_but_not_do_neither():
    assert "names no belief to correct and no action to undo" in fault(lambda state: RollBack((), ()))
    check_policy(Says(lambda state: RollBack((), ("pour", "grasp"))), sample_problems()[:1])


def test_a_rollback_across_an_irreversible_action_is_reported():
    problem = sample_problems()[1]
    assert "irreversible" in fault(lambda state: RollBack(("target",), ("grasp", "pour")), [problem])


def values_problem():
    return sample_problems()[3]


def rolling_back(*declare, correct=("target",)):
    return lambda state: Reprobe("look") if not state.evidence else RollBack(correct, ("grasp",), declare)


def test_a_new_value_must_be_one_that_may_be_declared():
    message = fault(rolling_back(NewDeclaration("target", "C")), [values_problem()])
    assert "declares NewDeclaration(belief='target', value='C'" in message
    assert "may be declared now: [NewDeclaration(belief='target', value=" in message
    again = rolling_back(NewDeclaration("level", 18.0), correct=("level",))
    assert "may be declared now" in fault(again, [values_problem()])
    untrue = rolling_back(NewDeclaration("level", 31.0), correct=("level",))
    assert "may be declared now" in fault(untrue, [values_problem()])


def test_only_what_is_corrected_is_declared_and_once():
    assert "which it does not correct" in fault(rolling_back(NewDeclaration("camera", "sound")), [values_problem()])
    twice = rolling_back(NewDeclaration("level", 18.0), NewDeclaration("level", 45.0), correct=("level",))
    assert "or declares it twice" in fault(twice, [values_problem()])


def test_a_value_that_is_not_said_is_filled_in_and_one_that_is_true_somewhere_may_be_declared():
    problem = replace(values_problem(), escalate=60.0)
    said = rolling_back(NewDeclaration("level", 45.0), correct=("level", "target"))
    check_policy(Says(lambda state: said(state) if not state.evidence else _or_escalate(state, said(state))), [problem])


def _or_escalate(state, step):
    return Escalate() if math.isinf(price(state, step).loss) else step


def test_a_correction_without_any_value_to_declare_is_reported():
    """Nothing supports the target once its camera is probably biased, and nothing has answered since."""
    problem = values_problem()
    biased = replace(problem.model, alarm=Alarm({name: float(name == "camera off") for name in problem.model.names}))
    message = fault(lambda state: RollBack(("target",), ("grasp",)), [replace(problem, model=biased)])
    assert "corrects 'target', which no value may be declared for now" in message


def test_an_inadmissible_decision_is_reported():
    """The level may not be kept at any price while it may have failed."""
    graph = RecoveryGraph([Belief("level", 10.0, may_keep=False)])
    model = JointModel([Hypothesis("same", 0.6), Hypothesis("water", 0.4, ("level",))])
    assert "inadmissible" in fault(lambda state: Continue(), [Problem(graph, model)])


def plans_only():
    graph = RecoveryGraph(
        [Belief("x", 10.0)], [Action("ax", undo=1.0, executed=True)], [], [("x", "ax", "belief_to_action")]
    )
    model = JointModel([Hypothesis("fine", 0.5), Hypothesis("bad", 0.5, ("x",))])
    return Problem(graph, model, plans=[Plan("wash", np.array([0.5, 0.5]), ("x",), ("ax",))], corrections=False)


def test_a_plan_is_named_with_all_that_it_does():
    check_policy(Says(lambda state: RollBack(("x",), ("ax",), plan="wash")), [plans_only()])
    assert "but it corrects ['x'], undoes ['ax']" in fault(lambda state: RollBack((), plan="wash"), [plans_only()])


@pytest.mark.parametrize("step", [Continue(), RollBack(("x",), ("ax",))])
def test_where_only_plans_end_a_recovery_correction_sets_do_not(step):
    assert "only plans, restart and escalation end a recovery" in fault(lambda state: step, [plans_only()])


def test_a_restart_that_the_problem_does_not_allow_is_reported():
    check_policy(Says(lambda state: Restart()), sample_problems()[:1])
    assert "restarts, which this problem does not allow" in fault(lambda state: Restart(), [sample_problems()[1]])
    assert "restarts" in fault(lambda state: Restart(), [gaussian_problem()])


@pytest.mark.parametrize("answer", [None, "continue", Reprobe, ("look",)])
def test_anything_but_a_step_is_reported(answer):
    assert f"returns {answer!r}, which is not a step" in fault(lambda state: answer)


def test_a_policy_that_answers_differently_the_second_time_is_reported():
    @dataclass
    class Wavers:
        asked: list = field(default_factory=list)

        def next_step(self, state):
            self.asked.append(state)
            return Continue() if len(self.asked) % 2 else Escalate()

    with pytest.raises(PolicyFault, match=r"returns Continue\(\) and then, at the same state, Escalate\(\)"):
        check_policy(Wavers())


def overwrite_posterior(state):
    state.posterior.setflags(write=True)
    state.posterior[:] = np.roll(state.posterior, 1)
    return Continue()


def forge_evidence(state):
    object.__setattr__(state, "evidence", ())
    return Continue() if state.evidence != () else best_terminal(state).decision


def swap_problem(state):
    object.__setattr__(state, "problem", sample_problems()[0])
    return Continue()


@pytest.mark.parametrize("meddle", [overwrite_posterior, swap_problem])
def test_a_policy_that_changes_the_state_is_reported(meddle):
    assert "changes the information state" in fault(meddle)


def test_a_policy_that_forgets_evidence_is_reported():
    looked = Says(lambda state: Reprobe("look") if not state.evidence else forge_evidence(state))
    with pytest.raises(PolicyFault, match="changes the information state"):
        check_policy(looked)


def test_the_message_says_in_which_problem_and_after_what():
    message = fault(lambda state: None if state.evidence else Reprobe("look"))
    assert message.startswith("in 'reversible pour', with look = ")
    assert "nothing observed yet" in fault(lambda state: None)


def test_a_fault_is_an_assertion_error_and_one_of_ours():
    assert issubclass(PolicyFault, AssertionError)
    assert issubclass(PolicyFault, AquaMendError)


def test_an_error_of_the_policy_itself_is_not_hidden():
    def crash(state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        check_policy(Says(crash))


def test_the_samples_are_sound_and_different():
    first, irreversible, tight, values = sample_problems()
    assert irreversible.graph.irreversible_executed == ("pour",)
    assert tight.sensing_budget < first.sensing_budget
    assert "weigh" not in InformationState.alarmed(tight).legal_probes
    assert any(belief.declares and belief.needs_support for belief in values.graph.beliefs)
    assert all(belief.declares for belief in values.graph.beliefs)
    assert len({problem.name for problem in (first, irreversible, tight, values)}) == 4
