"""Problems and worlds as environments: clean by Gymnasium's own check, and paid exactly what a recovery costs."""

import json
import math
import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tests.adapters.problems import CUP, cup_problem
from tests.tiers import cases

from aquamend.adapters.gym import ID, Agent, Encoding, LearnedPolicy, RecoveryEnv, losses
from aquamend.belief import InformationState
from aquamend.errors import BadArgument, BadStep, UnknownName
from aquamend.policies import policy_named
from aquamend.policies.evaluation import evaluate
from aquamend.recovery import UNATTENDED, recover, recovered
from aquamend.testing import check_policy
from aquamend.testing.model_world import ModelWorld
from aquamend_lab.pouring.discrete import Add, Assumptions, Scene, TableWorld, fresh_task, problem_of
from aquamend_lab.pouring.discrete.perturbations import standard_events
from aquamend_lab.pouring.task import Stage

EPISODES = cases(150, 1500)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cup.json"
    path.write_text(json.dumps(CUP))
    return str(path)


def random_agent(seed):
    rng = np.random.default_rng(seed)
    return lambda observation, mask: int(rng.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("corrections", ["all", "best"])
def test_gymnasiums_own_check_finds_nothing(corrections):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        check_env(gymnasium.make(ID, problem=cup_problem(), corrections=corrections).unwrapped)
    assert [str(one.message) for one in found] == []


def test_it_is_made_by_its_name_from_a_file(file):
    env = gymnasium.make(f"aquamend.adapters.gym:{ID}", problem=file)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert info["action_mask"].shape == (env.action_space.n,)


def test_an_episode_costs_to_the_last_bit_what_the_recovery_costs():
    """The realised loss of our own judge, for policies that end in different ways, truth by truth."""
    env = RecoveryEnv(cup_problem())
    for name in ("best", "restart", "no-reprobe", "rollback-only", "greedy", "troubleshooting"):
        act = Agent.named(env, name)
        for seed in range(12):
            _, info = env.reset(seed=seed)
            world, over, total = env._simulated, False, 0.0
            same = ModelWorld(world.start, world.truth, world.seed)
            while not over:
                _, reward, over, _, info = env.step(act())
                total -= reward
            judged = recovered(policy_named(name), same)
            assert total == pytest.approx(judged.loss, abs=1e-12)
            assert info["loss"] == pytest.approx(judged.loss, abs=1e-12)
            assert (info["success"], info["ending"]) == (judged.verdict.success, str(judged.recovery.ending))


def test_the_mean_loss_of_a_policy_is_its_exact_expected_loss_and_none_beats_the_optimum():
    problem = cup_problem()
    env = RecoveryEnv(problem)
    optimum = env.optimum()
    assert optimum.lower == pytest.approx(optimum.upper)
    for name in ("exact", "best", "no-reprobe", "restart"):
        expected = evaluate(InformationState.alarmed(problem), policy_named(name)).expected_loss
        assert expected >= optimum.lower - 1e-9
        found = losses(env, Agent.named(env, name), episodes=EPISODES)
        error = found.std(ddof=1) / np.sqrt(len(found))
        assert abs(found.mean() - expected) <= 4 * error + 1e-9, name
    assert evaluate(InformationState.alarmed(problem), policy_named("exact")).expected_loss == pytest.approx(
        optimum.lower
    )


def test_every_action_that_the_mask_allows_can_be_taken_and_means_what_it_says():
    env = RecoveryEnv(cup_problem())
    env.reset(seed=1)
    corrections = ("correct level", "correct cup", "correct level, cup")
    assert env.encoding.actions == ("run weigh", "run look", "continue", *corrections, "restart", "escalate")
    for action in np.flatnonzero(env.action_masks()):
        env.reset(seed=1)
        state = env.state
        step = env.encoding.step(state, int(action))
        assert env.encoding.action_of(state, step) == action
        _, _, over, _, _ = env.step(int(action))
        assert over == (action >= 2)


def test_the_mask_shuts_out_what_may_not_be_done():
    env = RecoveryEnv(cup_problem(restart="inf", sensing_budget=0.7))
    _, info = env.reset(seed=0)
    allowed = dict(zip(env.encoding.actions, info["action_mask"], strict=True))
    assert allowed["restart"] == 0
    _, _, _, _, info = env.step(0)  # weighing leaves 0.1, and looking takes 0.2
    allowed = dict(zip(env.encoding.actions, info["action_mask"], strict=True))
    assert (allowed["run weigh"], allowed["run look"], allowed["escalate"]) == (0, 0, 1)


def test_an_action_that_is_not_allowed_hands_over_at_its_price():
    env = RecoveryEnv(cup_problem(restart="inf"), render_mode="ansi")
    env.reset(seed=0)
    _, reward, over, _, info = env.step(env.encoding.actions.index("restart"))
    assert (reward, over, info["ending"], info["success"]) == (-60.0, True, "handed over", False)
    assert "not allowed: handed over" in env.render()


def test_what_is_infinitely_dear_counts_as_the_worst():
    data = {key: value for key, value in CUP.items() if key != "escalate"}
    from aquamend.files import parse_problem

    env = RecoveryEnv(parse_problem(data), worst=500.0)
    env.reset(seed=0)
    _, reward, over, _, _ = env.step(env.encoding.actions.index("escalate"))
    assert (reward, over) == (-500.0, True)


def test_a_truth_can_be_named_and_is_nowhere_in_what_is_seen():
    env = RecoveryEnv(cup_problem())
    first, one = env.reset(seed=3, options={"truth": "more"})
    assert env._simulated.truth == 1
    second, other = env.reset(seed=3, options={"truth": "nothing"})
    assert all((first[key] == second[key]).all() for key in first)
    assert (one["action_mask"] == other["action_mask"]).all()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_many_run_at_once_and_each_is_the_one_that_runs_alone(file, mode):
    together = gymnasium.make_vec(ID, num_envs=3, vectorization_mode=mode, problem=file)
    try:
        seen, _ = together.reset(seed=5)
        alone = [gymnasium.make(ID, problem=file) for _ in range(3)]
        each = [env.reset(seed=5 + i)[0] for i, env in enumerate(alone)]
        assert all((seen["posterior"][i] == each[i]["posterior"]).all() for i in range(3))
        seen, rewards, _, _, infos = together.step(np.zeros(3, int))
        for i, env in enumerate(alone):
            own, reward, _, _, info = env.step(0)
            assert (seen["posterior"][i] == own["posterior"]).all()
            assert rewards[i] == reward
            assert (infos["action_mask"][i] == info["action_mask"]).all()
    finally:
        together.close()


def test_a_world_is_an_environment_too(fresh_table):
    env = RecoveryEnv(world=fresh_table)
    found = losses(env, Agent.named(env, "best"), episodes=3)
    for seed in range(3):
        env.reset(seed=seed)
        judged = recovered(policy_named("best"), env._simulated)
        assert found[seed] == pytest.approx(judged.loss)
    assert np.isfinite(losses(env, random_agent(0), episodes=3)).all()


@pytest.fixture
def fresh_table():
    """Return a maker of worlds of the pouring task, in which somebody may have poured into a cup."""
    declared_g = (100.0, 130.0, 170.0)
    task = replace(fresh_task(declared_g), stage=Stage.BESIDE)
    start = InformationState.alarmed(problem_of(task, Assumptions(standard_events(declared_g)), flagged=0))
    as_declared = Scene.as_declared(declared_g)

    def make(rng):
        scene = as_declared if rng.random() < 0.5 else Add(0, 45.0).applied(as_declared)
        return TableWorld(start, task, scene, seed=(int(rng.integers(1000)),))

    return make


def test_what_was_trained_decides_like_any_other_policy(tmp_path):
    """Q-learning on the posterior, rounded: in a session, exactly evaluated, and by the check of policies."""
    problem = cup_problem()
    env = RecoveryEnv(problem, corrections="best")
    table, rng = {}, np.random.default_rng(0)

    def values(observation):
        key = (*np.round(observation["posterior"], 2), *observation["uses_left"])
        return table.setdefault(key, np.zeros(env.action_space.n))

    def greedy(observation, mask):
        return int(np.argmax(np.where(mask == 1, values(observation), -np.inf)))

    visits = {}
    for episode in range(cases(1500, 6000)):
        observation, info = env.reset(seed=episode)
        over = False
        while not over:
            mask = info["action_mask"]
            action = greedy(observation, mask) if rng.random() > 0.3 else int(rng.choice(np.flatnonzero(mask)))
            q = values(observation)
            observation, reward, over, _, info = env.step(action)
            after = 0.0 if over else np.where(info["action_mask"] == 1, values(observation), -np.inf).max()
            count = visits[id(q), action] = visits.get((id(q), action), 0) + 1
            q[action] += (reward + after - q[action]) / count**0.8
    learned = LearnedPolicy(env.encoding, greedy)
    state = InformationState.alarmed(problem)
    exact = evaluate(state, learned).expected_loss
    at_once = evaluate(state, policy_named("no-reprobe")).expected_loss
    assert env.optimum().lower - 1e-9 <= exact < at_once  # it has learnt to look, and the optimum is one
    check_policy(learned, [problem])
    assert recover(learned, ModelWorld(state, 1, (0,)), rules=UNATTENDED).ending == "finished"


def test_what_was_trained_may_not_leave_the_mask():
    encoding = Encoding.of(cup_problem(restart="inf"))
    stubborn = LearnedPolicy(encoding, lambda observation, mask: encoding.actions.index("restart"))
    with pytest.raises(BadStep, match="not allowed here"):
        stubborn.next_step(InformationState.alarmed(encoding.problem))


def test_where_beliefs_are_many_one_action_ends_in_the_best_way(many_state):
    encoding = Encoding.of(many_state.problem)
    assert encoding.actions[-1] == "end in the best way"
    assert encoding.action_space.n == 41
    best = policy_named("no-reprobe").next_step(many_state)
    assert encoding.step(many_state, encoding.action_of(many_state, best)) == best
    with pytest.raises(BadArgument, match="no action stands for"):
        encoding.action_of(many_state, policy_named("rollback-only").next_step(many_state))
    with pytest.raises(BadArgument, match="too many actions"):
        Encoding.of(many_state.problem, corrections="all")


def test_bad_arguments_say_what_to_give(file):
    for given, said in [
        ({}, "one of the two"),
        ({"problem": file, "corrections": "some"}, "say 'all', 'best' or 'auto'"),
        ({"problem": file, "render_mode": "human"}, "knows"),
        ({"problem": file, "worst": math.nan}, "give a finite loss"),
    ]:
        with pytest.raises(BadArgument, match=said):
            RecoveryEnv(**given)
    env = RecoveryEnv(file)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    for options, said in (({"truth": "nothng"}, "did you mean 'nothing'"), ({"trth": "nothing"}, "unknown option")):
        with pytest.raises(UnknownName, match=said):
            env.reset(options=options)
    for action in (-1, 1000, 2.5, "weigh", None):
        env.reset(seed=1)
        with pytest.raises(BadArgument, match="none of the 8 actions"):
            env.step(action)
