"""Earlier versions of a policy as opponents, and policies that start from the weights of another run."""

import json

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import joystick
from config.read.loader import ConfigError
from envs.several.joint import AgentType, JointLayout
from envs.toy.several import Levels
from framework.assemble import build
from framework.assemble import fit as compatibility
from framework.errors import JoystickError
from framework.policies.slots import Slots
from framework.runs import initial_weights
from tests.framework.policies.test_several_policies import PER, PPO, joint_config
from tests.tools.distributed import Run, local

SELF = {**PPO, "opponents": {"past": 0.5, "every": 4, "keep": 3}}


def records_of(seeds, rivals=(["p"],) * 3):
    kind = AgentType(("a", "b", "c"), Box(-1, 1, (2,)), Discrete(2))
    slots = Slots(JointLayout((kind,)), kind.agents, rivals, "p", agent_id=False)
    records = JointLayout((kind,)).new(len(seeds))
    records["seed"] = seeds
    return slots, records


def test_in_a_share_of_the_episodes_an_earlier_version_plays_all_agents_but_one():
    slots, records = records_of(np.arange(4000))
    slots.past_share = 0.25
    past = slots.opponents(records, training=True)
    count = past.sum(1)
    assert set(count.tolist()) == {0, 2}
    assert abs((count == 2).mean() - 0.25) < 0.02
    learners = (~past[count == 2]).mean(0)
    assert np.abs(learners - 1 / 3).max() < 0.05
    slots.past_share = 0.0
    assert not slots.opponents(records, training=True).any()
    slots.past_share = 1.0
    assert (slots.opponents(records, training=True).sum(1) == 2).all()
    assert not slots.opponents(records, training=False).any()
    slots.meets_random = True
    assert (slots.opponents(records, training=False).sum(1) == 2).all()


def test_one_of_the_agents_that_the_policy_controls_learns_whichever_a_rival_controls():
    slots, records = records_of(np.arange(4000), rivals=(["p", "q"], ["p"], ["q", "p"]))
    slots.past_share = 1.0
    past = slots.opponents(records, training=True)
    learners = slots.controls(records) & ~past
    assert (learners.sum(1) == 1).all()
    assert not (past & ~slots.controls(records)).any()
    assert abs(learners[:, 1].mean() - (1 / 4 + 1 / 2 * 1 / 2 + 1 / 4 * 1 / 3)) < 0.03


def test_agents_whose_names_change_have_no_earlier_versions_as_opponents(monkeypatch):
    """The slot that the seed draws to learn would be empty in most episodes."""
    monkeypatch.setattr(Levels, "max_agents", {"low_level_*": 3})
    low = {**PPO, "agents": "low_level_*", "opponents": {"past": 0.5}}
    config = joint_config(env="levels", high={**PPO, "agents": "high_level"}, low=low)
    with pytest.raises(ConfigError, match=r"low\.opponents: .*\(low_level_#0, low_level_#1, low_level_#2\) may be"):
        local(config)


def test_versions_are_kept_at_every_so_many_updates_the_newest_ones():
    config = joint_config(car=SELF, light=PER)
    backend = local(config)
    league = backend.agent.leagues["car"]
    first = {name: value.copy() for name, value in backend.agent.agents["car"].weights().items()}
    assert all((league.weights()[f"past/0/{name}"] == value).all() for name, value in first.items())
    league.learned(3)
    assert len(league._weights) == 1
    league.learned(1)
    league.learned(9)  # a chunk of many updates keeps one version
    assert len(league._weights) == 3
    league.learned(4)
    assert len(league._weights) == 3
    assert (league.updates, league.versions) == (17, 4)


def test_a_version_keeps_its_place_until_it_is_replaced():
    """With places for 3, an episode that drew the second version meets it until the fifth one is kept."""
    config = joint_config(car=SELF, light=PER)
    agent = local(config).agent
    league, own = agent.leagues["car"], agent.agents["car"]
    for version in range(1, 5):
        own.load_weights({name: np.full_like(value, version) for name, value in own.weights().items()})
        league.learned(4)
    versions = [next(iter(weights.values())).flat[0] for weights in league._weights]
    assert versions == [3, 4, 2]


def test_what_an_earlier_version_does_is_not_learned_from():
    config = joint_config(car={**SELF, "opponents": {"past": 1.0}}, light=PER)
    backend = local(config)
    fragment, _ = backend.collector.collect(1, Run(config, backend).now())
    backend.memory.add(fragment)
    rollout = backend.memory._parts["car"]._rollouts[0]
    assert len(rollout.state()["slot"]) == 2  # of five cars in each of two environments, one learns


def weights_for(agent, action):
    """Weights with which a policy always chooses this one of two actions."""
    weights = {name: np.zeros_like(value) for name, value in agent.weights().items()}
    last = max(name for name in weights if name.endswith("bias") and len(weights[name]) == 2)
    return {**weights, last: np.where(np.arange(2) == action, 100, -100).astype(np.float32)}


def test_the_actions_of_opponents_are_those_of_their_version():
    config = joint_config(car={**SELF, "opponents": {"past": 1.0}}, light=PER)
    env = build.make_env(config, 2)
    agent = build.make_agent(config, build.env_spec(config, env), 3, build.CPU)
    obs = env.reset(np.ones(2, bool), np.array([1, 2]))
    slots, records = agent.slots["car"], agent.layout.decode(obs)
    always_0 = weights_for(agent.agents["car"], 0)
    agent.leagues["car"].load_weights({f"past/0/{name}": value for name, value in always_0.items()})
    agent.agents["car"].load_weights(weights_for(agent.agents["car"], 1))
    act = agent.sample_action(obs, None, Run(config, local(config)).now(), np.random.default_rng(0))
    actions = slots.actions(agent.layout.decode_action(act.action))
    assert (actions == np.where(slots.opponents(records, training=True), 0, 1)).all()
    best = slots.actions(agent.layout.decode_action(agent.predict_action(obs, None).action))
    assert (best == 1).all()  # its own choice for all agents, without opponents


@pytest.mark.parametrize("explores", [False, True])
@pytest.mark.parametrize(
    ("settings", "scored", "random"),
    [
        (SELF, True, True),
        (SELF, False, False),  # the score is that of others, or of all
        ({**SELF, "evaluate_against": "itself"}, True, False),
        (PPO, True, False),
        ({**PPO, "evaluate_against": "random"}, False, True),
    ],
)
def test_in_an_evaluation_the_agents_that_the_policy_does_not_play_act_at_random(settings, scored, random, explores):
    config = joint_config(*["general_cfg.score_policy=car"] * scored, car=settings, light=PER)
    env = build.make_env(config, 2)
    agent = build.make_agent(config, build.env_spec(config, env), 3, build.CPU)
    obs = env.reset(np.ones(2, bool), np.array([1, 2]))
    slots, records = agent.slots["car"], agent.layout.decode(obs)
    agent.agents["car"].load_weights(weights_for(agent.agents["car"], 1))
    evaluating, rng, taken = Run(config, local(config)).now()._replace(evaluating=True), np.random.default_rng(0), []
    for _ in range(50):
        act = agent.sample_action(obs, None, evaluating, rng) if explores else agent.evaluate_action(obs, None, rng)
        taken.append(slots.actions(agent.layout.decode_action(act.action)))
    mean, theirs = np.mean(taken, axis=0), slots.opponents(records, training=False)
    assert (theirs.sum(1) == (4 if random else 0)).all()
    assert (mean[~theirs] == 1).all()
    assert ((mean[theirs] > 0.2) & (mean[theirs] < 0.8)).all()


class Coin:
    """One step of two agents; the second one is paid for action 1."""

    possible_agents = ("a", "b")

    def observation_space(self, agent):
        return Box(0, 1, (1,))

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed, options):
        return {agent: np.zeros(1, np.float32) for agent in "ab"}, {}

    def step(self, actions):
        return self.reset(0, None)[0], {"b": float(actions["b"])}, {"__all__": True}, {}, {}


def test_the_random_policy_meets_the_policies_that_do_not_learn(tmp_path, monkeypatch):
    """Its return stands beside that of a run that met them. Random actions of b would give a mean between 0 and 1."""
    monkeypatch.chdir(tmp_path)
    policies = {"a": {"agents": "a"}, "b": {"agents": "b", "train": False}}
    general = {"max_total_step": 64, "score_policy": "b", "save_fig": False, "seed": 1}
    with joystick.Run("PPO", Coin, general_cfg=general, policies_cfg=policies, into=str(tmp_path / "run")) as run:
        run.train()
    assert json.loads((tmp_path / "run" / "run.json").read_text())["random_return"] in (0.0, 1.0)


def test_a_policy_keeps_its_recurrent_state_in_an_evaluation_against_random_agents():
    recurrent = {**PPO, "algo_name": "RecurrentPPO", "evaluate_against": "random"}
    config = joint_config(car=recurrent, light=PER)
    env = build.make_env(config, 2)
    agent = build.make_agent(config, build.env_spec(config, env), 3, build.CPU)
    obs = env.reset(np.ones(2, bool), np.array([1, 2]))
    state = agent.initial_state(2)
    act = agent.evaluate_action(obs, state, np.random.default_rng(0))
    assert act.state is not None
    own = ~agent.slots["car"].opponents(agent.layout.decode(obs), training=False)
    start, size = agent._states["car"]
    after = act.state[:, start : start + size * agent.slots["car"].count].reshape(*own.shape, size)
    assert (np.abs(after[own]).sum(-1) > 0).all()


def test_the_return_of_an_evaluation_is_that_of_the_one_agent_which_the_policy_plays():
    slots, records = records_of(np.arange(100))
    records["t0"]["reward"], records["t0"]["first"] = [1, 10, 100], True
    slots.meets_random = True
    total, count = slots.returns(records, training=False)
    own = ~slots.opponents(records, training=False)
    assert set(total.tolist()) == {1, 10, 100}
    assert (total == (own * [1, 10, 100]).sum(1)).all()
    assert (count == 1).all()
    total, count = slots.returns(records, training=True)
    assert (total == 111).all()
    assert (count == 3).all()


def test_a_policy_of_one_agent_cannot_be_evaluated_against_random_ones():
    alone = {**PPO, "agents": "car_0", "evaluate_against": "random"}
    with pytest.raises(
        ConfigError, match=r"policies_cfg\.car\.evaluate_against: all agents of the policy but one act at random"
    ):
        compatibility.check(joint_config(car=alone, rest=PPO, light=PER))


def test_agents_whose_names_change_are_not_evaluated_against_random_ones(monkeypatch):
    monkeypatch.setattr(Levels, "max_agents", {"low_level_*": 3})
    low = {**PPO, "agents": "low_level_*", "evaluate_against": "random"}
    config = joint_config(env="levels", high={**PPO, "agents": "high_level"}, low=low)
    with pytest.raises(ConfigError, match=r"low\.evaluate_against: .*\(low_level_#0, low_level_#1, low_level_#2\)"):
        local(config)


def test_a_resumed_league_has_the_same_versions_to_the_bit():
    config = joint_config(car=SELF, light=PER)
    whole = Run(config, local(config)).until(100)
    saved = whole.saved()
    assert len(whole.backend.agent.leagues["car"]._weights) > 1
    again = Run(config, local(config)).load(saved).until(150)
    assert again.state() == whole.until(150).state()


def test_a_policy_of_one_agent_has_no_agents_for_earlier_versions():
    config = joint_config(car={**PPO, "agents": "car_0", "opponents": {"past": 0.5}}, rest=PPO, light=PER)
    with pytest.raises(ConfigError, match=r"policies_cfg\.car\.opponents: earlier versions play some of the agents"):
        compatibility.check(config)


# -------------------------------------------------------------------------------------------------- policies_cfg.load

WORDS = ["env_cfg.cars=5", "env_cfg.lights=2", "env_cfg.n_envs=2"]
GIVEN = {
    "env_name": "toy",
    "general_cfg": {"max_total_step": 200, "save_fig": False},
    "env_cfg": {"id": "traffic"},
    "words": WORDS,
}


def trained(into, **policies):
    with joystick.Run(**GIVEN, policies_cfg=policies, into=str(into)) as run:
        run.train(60)
        weights = {name: value.copy() for name, value in run.weights().items()}
    return weights


@pytest.fixture
def earlier(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return trained(tmp_path / "earlier", car=PPO, light=PER)


def test_a_policy_starts_from_the_weights_of_another_run(earlier, tmp_path):
    other = {
        "car": {**PPO, "load": str(tmp_path / "earlier"), "train": False},
        "lamp": {**PER, "load": "earlier:light"},
    }
    with joystick.Run(**GIVEN, policies_cfg=other, into=str(tmp_path / "later")) as run:
        now = run.weights()
    for name in earlier:
        assert (now[name.replace("light/", "lamp/")] == earlier[name]).all(), name


def test_what_another_run_has_counted_is_taken_over(tmp_path, monkeypatch):
    """A new policy has no visits, and the earlier one had some: an array of another length is no misfit."""
    monkeypatch.chdir(tmp_path)
    counting = {**PER, "bonus": "count", "n_step": 1}
    trained(tmp_path / "counted", car=PPO, light=counting)
    policies = {"car": PPO, "light": {**counting, "load": "counted"}}
    with joystick.Run(**GIVEN, policies_cfg=policies, into=str(tmp_path / "later")) as run:
        assert run.agent.by_policy()["light"].bonus.counts


def test_a_league_begins_with_the_weights_that_were_loaded(earlier, tmp_path):
    policies = {"car": {**SELF, "load": str(tmp_path / "earlier")}, "light": PER}
    with joystick.Run(**GIVEN, policies_cfg=policies, into=str(tmp_path / "later")) as run:
        now = run.weights()
    for name in earlier:
        if name.startswith("car/"):
            assert (now[name.replace("car/", "car/past/0/")] == earlier[name]).all(), name


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ("nothing", "policies_cfg.lamp.load: .*nothing"),
        ("earlier", "has the policies car, light; write earlier:POLICY"),
        ("earlier:car", "does not fit this policy"),
    ],
)
def test_weights_that_are_not_there_or_do_not_fit_are_refused_before_there_is_a_folder(
    earlier, load, message, tmp_path
):
    policies = {"car": PPO, "lamp": {**PER, "load": load}}
    with pytest.raises((ConfigError, JoystickError), match=message):
        joystick.Run(**GIVEN, policies_cfg=policies, into=str(tmp_path / "later"))
    assert not (tmp_path / "later").exists()


def test_weights_that_do_not_fit_are_named_before_the_moments_of_their_optimizer() -> None:
    ours, theirs = ({"optimizer": {"moments": {"0": {"exp_avg": rows}}}, "networks": {"0.weight": rows}}
                    for rows in (np.zeros((64, 4)), np.zeros((64, 6))))  # fmt: skip
    misfit = initial_weights._misfit(ours, theirs)
    assert misfit == "networks.0.weight has shape (64, 6), and needs (64, 4)"
    assert initial_weights._misfit(ours, {**theirs, "networks": ours["networks"]}).startswith("optimizer.moments.0.")
