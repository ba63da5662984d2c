"""Several policies in one run: transitions of agents, memories, resume and processes."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from config.model.memory_spec import ReplaySpec, RolloutSpec
from config.read.loader import ConfigError, load
from envs.several.joint import AgentType, JointLayout
from framework.assemble import build
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Fragment, Origin
from framework.memory.replay import Replay
from framework.policies.assignment import moved_by_others
from framework.policies.policy_plan import plan
from framework.policies.rollout import SlotRollout
from framework.policies.slots import JointSlots, Slots, as_vector, mixed, vector_bounds
from framework.policies.splitter import Splitter, Transitions
from tests.framework.distributed.test_distributed_faults import dies_once
from tests.tools.distributed import Run, local, nothing_twice, remote, without_pauses
from tests.tools.fake_ray import FakeRay

LAYOUT = JointLayout((AgentType(("a", "b"), Box(-9, 9, (1,), np.float32), Discrete(3)),))


def joint_config(*words, env="traffic", workers=0, ahead=0, rows=2, steps=400, **policies):
    many = ["general_cfg.mp_backend=ray", f"general_cfg.n_workers={workers}", f"general_cfg.run_ahead={ahead}"]
    general = [
        "general_cfg.env_name=toy",
        f"env_cfg.id={env}",
        *(["env_cfg.cars=5", "env_cfg.lights=2"] if env == "traffic" else []),
        f"env_cfg.n_envs={rows}",
        "general_cfg.seed=3",
    ]
    general += [f"general_cfg.max_total_step={steps}", "general_cfg.env_timeout=0", *(many if workers else [])]
    return load(None, [*general, *words], find_algo=ALGOS, find_env=ENVS, values={"policies_cfg": policies})


SMALL = {"batch_size": 16, "sgd_batch_size": 8, "k_epochs": 2}
PPO = {"agents": "car_*", "algo_name": "PPO", "normalize_reward": True, **SMALL}
DRQN = {"agents": "car_*", "algo_name": "DRQN", "learning_starts": 20, "batch_size": 4, "lookup_step": 3, "burn_in": 1,
        "train_fre": 8}  # fmt: skip
PER = {"agents": ["light_*"], "algo_name": "PER_DQN", "learning_starts": 20, "batch_size": 8, "n_step": 3}
THREE = {"car1": {**PPO, "batch_size": 100}, "car2": DRQN, "light": PER}
"""Two policies that draw the same agents, and one that acts at every third step."""


# ---------------------------------------------------------------------------------------------- transitions


def fragment(steps, first=False, terminated=(), truncated=()):
    """A fragment of one environment. steps: for each step, (a, b) before and after, each a dict of fields."""
    before, after = LAYOUT.new(len(steps), 1), LAYOUT.new(len(steps), 1)
    for t, (now, then) in enumerate(steps):
        for records, agents in ((before, now), (after, then)):
            for place, fields in enumerate(agents):
                for name, value in fields.items():
                    records["t0"][t, 0][place][name] = value
    action = LAYOUT.new_action(len(steps), 1)
    action["t0"][:, 0] = np.arange(2 * len(steps)).reshape(-1, 2) % 3
    columns = {
        "obs": LAYOUT.encode(before),
        "next_obs": LAYOUT.encode(after),
        "action": LAYOUT.encode(action),
        "reward": np.zeros((len(steps), 1), np.float32),
        "terminated": np.array([[t in terminated] for t in range(len(steps))]),
        "truncated": np.array([[t in truncated] for t in range(len(steps))]),
        "p/log_prob": np.arange(2 * len(steps), dtype=np.float32).reshape(-1, 1, 2),
    }
    return Fragment(columns, {"state": None, "first": np.array([first])}, Origin())


def splitter(agents=("a", "b")):
    return Splitter("p", Slots(LAYOUT, agents, [["p"]] * len(agents), "p", agent_id=False), LAYOUT, False)


ACT, IDLE = {"acts": True}, {}


def rows_of(transitions):
    c = transitions.columns
    return [
        (int(slot), c["obs"][i, 0], int(c["action"][i]), c["reward"][i], c["next_obs"][i, 0], bool(c["terminated"][i]),
         bool(c["truncated"][i]), c["log_prob"][i])
        for i, slot in enumerate(transitions.slot)
    ]  # fmt: skip


def test_a_transition_lasts_until_its_agent_acts_again_and_sums_the_rewards_in_between():
    """a acts at every step; b at steps 0 and 2, and gets 10, 20 and 40."""
    steps = [
        (({"obs": 1, **ACT}, {"obs": 5, **ACT}), ({"obs": 2, "reward": 1, **ACT}, {"obs": 6, "reward": 10})),
        (({"obs": 2, **ACT}, {"obs": 6}), ({"obs": 3, "reward": 2, **ACT}, {"obs": 7, "reward": 20, **ACT})),
        (({"obs": 3, **ACT}, {"obs": 7, **ACT}), ({"obs": 4, "reward": 3, **ACT}, {"obs": 8, "reward": 40})),
    ]
    split = splitter()
    assert rows_of(split.split(fragment(steps))) == [
        (0, 1, 0, 1, 2, False, False, 0),
        (0, 2, 2, 2, 3, False, False, 2),
        (1, 5, 1, 30, 7, False, False, 1),
        (0, 3, 1, 3, 4, False, False, 4),
    ]
    # b's second transition goes on in the next fragment, also through a checkpoint
    other = splitter()
    other.load_state(split.state())
    last = [(({"obs": 4, **ACT}, {"obs": 8}), ({"obs": 9, "reward": 5}, {"obs": 9, "reward": 80, "terminated": True}))]
    for one in (split, other):
        assert rows_of(one.split(fragment(last, truncated=[0]))) == [
            (0, 4, 0, 5, 9, False, True, 0),
            (1, 7, 2, 120, 9, True, False, 5),
        ]
        assert not one.state()["open"].any()


def test_the_end_of_an_agent_ends_its_trajectory_while_others_play_on():
    steps = [
        (({"obs": 1, **ACT}, {"obs": 5, **ACT}), ({"obs": 2, **ACT}, {"obs": 6, "reward": 4, "truncated": True})),
        (({"obs": 2, **ACT}, IDLE), ({"obs": 3, "terminated": True}, IDLE)),
    ]
    assert rows_of(splitter().split(fragment(steps, terminated=[1]))) == [
        (0, 1, 0, 0, 2, False, False, 0),
        (1, 5, 1, 4, 6, False, True, 1),
        (0, 2, 2, 0, 3, True, False, 2),
    ]


def test_what_a_lost_worker_began_is_dropped_and_its_trajectory_is_broken_off():
    begun = [(({"obs": 1, **ACT}, IDLE), ({"obs": 2, "reward": 1}, IDLE))]
    again = [(({"obs": 7, **ACT}, IDLE), ({"obs": 8, "reward": 2, **ACT}, IDLE))]
    split = splitter()
    assert rows_of(split.split(fragment(begun))) == []
    found = split.split(fragment(again, first=True))
    assert rows_of(found) == [(0, 7, 0, 2, 8, False, False, 0)]
    assert found.lost.tolist() == [0]


def test_a_lost_worker_breaks_off_the_trajectories_whose_transitions_are_all_complete():
    step = [(({"obs": 1, **ACT}, {"obs": 5, **ACT}), ({"obs": 2, **ACT}, {"obs": 6, "terminated": True}))]
    split = splitter()
    assert len(split.split(fragment(step)).slot) == 2
    assert split.split(fragment(step, first=True)).lost.tolist() == [0]  # b's had ended
    assert split.split(fragment(step)).lost.tolist() == []


def test_all_agents_of_a_joint_policy_are_one_row_with_the_sum_of_their_rewards():
    slots = JointSlots(LAYOUT, ("a", "b"), "p")
    records = LAYOUT.new(1)
    records["t0"][0]["obs"] = [[1], [2]]
    records["t0"][0]["reward"] = [3, 4]
    records["t0"][0]["active"] = True
    records["t0"][0]["terminated"] = [True, False]
    seen = slots.observe(records)
    assert seen.obs.tolist() == [[[1, 2]]]
    assert seen.reward.tolist() == [[7]]
    assert not seen.terminated.any()  # b plays on
    records["t0"][0]["terminated"] = True
    assert slots.observe(records).terminated.all()


def test_the_seed_of_an_episode_draws_one_of_the_policies_that_match_an_agent():
    names = ("one", "two", "three")
    slots = [Slots(LAYOUT, ("a", "b"), [names, names], name, agent_id=False) for name in names]
    records = LAYOUT.new(3000)
    records["seed"] = np.arange(3000)
    control = np.array([each.controls(records) for each in slots])
    assert (control.sum(0) == 1).all()
    assert np.abs(control.mean((1, 2)) - 1 / 3).max() < 0.02
    assert abs((control[0, :, 0] & control[0, :, 1]).mean() - 1 / 9) < 0.02  # agents are drawn independently
    assert mixed(np.array([1], np.uint32), 2).tolist() == mixed(np.array([1], np.uint32), 2).tolist()


# --------------------------------------------------------------------------------------------------- windows


def transitions(*steps, lost=()):
    """(slot, obs, truncated) each."""
    slot, obs, cut = (np.array(part) for part in zip(*steps, strict=True))
    columns = {
        "obs": obs.astype(np.float32),
        "reward": obs.astype(np.float32),
        "terminated": np.zeros(len(slot), bool),
        "truncated": cut.astype(bool),
    }
    return Transitions(columns, slot, np.array(lost, int))


def test_a_window_is_full_with_as_many_transitions_as_its_rows_have_steps():
    rollout = SlotRollout(RolloutSpec(3), rows=2)
    rollout.add(transitions((0, 1, 0), (1, 5, 1), (0, 2, 0), (0, 3, 0), (0, 4, 0)), 0.25)
    assert not rollout.full()
    rollout.add(transitions((1, 6, 0)), 0.5)
    chunk = rollout.take()
    assert chunk.columns["obs"].tolist() == [[1, 5], [2, 6], [3, 0], [4, 0]]
    assert chunk.columns["valid"].tolist() == [[True, True], [True, True], [True, False], [True, False]]
    # the trajectories of both slots go on: the successor's value counts
    assert chunk.columns["truncated"].tolist() == [[False, True], [False, True], [False, False], [True, False]]
    assert chunk.columns["cut"].tolist() == [[False, False], [False, True], [False, False], [True, False]]
    assert chunk.fraction == 0.25
    assert rollout.take() is None


def test_the_latest_transition_of_a_lost_worker_is_truncated():
    """No advantage and no n-step return may reach from one trajectory into the next."""
    rollout = SlotRollout(RolloutSpec(2), rows=2)
    rollout.add(transitions((0, 1, 0), (1, 5, 0)), 0.0)
    rollout.add(transitions((0, 2, 0), (1, 6, 0), lost=[0]), 0.0)
    assert rollout.take().columns["truncated"].tolist() == [[True, False], [False, False]]
    replay = Replay(ReplaySpec(8, 64, 2, 1.0, n_step=2, gamma=0.5), np.random.default_rng(0), None, 2)
    replay.add_slots(transitions((0, 1, 0), (1, 1, 0)).columns | NEXT, np.array([0, 1]), np.array([], int))
    replay.add_slots(transitions((0, 4, 0), (1, 4, 0)).columns | NEXT, np.array([0, 1]), np.array([0]))
    drawn = replay.take(0.0).columns
    first = drawn["obs"] == 1
    assert set(drawn["reward"][first].tolist()) == {1.0, 1 + 0.5 * 4}


NEXT = {"next_obs": np.zeros(2, np.float32), "action": np.zeros(2, np.int64)}


def test_a_window_of_episodes_holds_whole_trajectories_and_keeps_the_rest():
    rollout = SlotRollout(RolloutSpec(2, unit="episodes"), rows=2)
    rollout.add(transitions((0, 1, 0), (1, 5, 1), (0, 2, 1), (0, 3, 0)), 0.0)
    assert rollout.take().columns["obs"].tolist() == [[1, 5], [2, 0]]
    assert rollout.state()["pending"]["obs"].tolist() == [3]


def test_n_step_returns_take_the_global_state_of_the_successor_too():
    """Steps 0, 1, 2 with n 3: the state after the last one."""
    replay = Replay(ReplaySpec(8, 64, 3, 1.0, n_step=3), np.random.default_rng(0), None, 1)
    now = np.arange(3, dtype=np.float32)
    columns = transitions((0, 0, 0), (0, 1, 0), (0, 2, 1)).columns
    columns |= {"next_obs": now + 1, "global_state": now + 10, "next_global_state": now + 11, "action": now}
    replay.add_slots(columns, np.zeros(3, int), np.array([], int))
    drawn = replay.take(0.0).columns
    assert set(drawn["next_obs"].flat) == {3.0}
    assert set(drawn["next_global_state"].flat) == {13.0}
    assert set((drawn["global_state"] - drawn["obs"]).flat) == {10.0}


def test_a_window_has_the_share_of_the_run_at_which_its_first_transition_was_collected():
    """A learning rate follows it: it must not stand still while trajectories are left over."""
    rollout = SlotRollout(RolloutSpec(1, unit="episodes"), rows=2)
    fractions = []
    for fraction in (0.0, 0.25, 0.5):
        rollout.add(transitions((0, 1, 1), (1, 2, 0)), fraction)
        fractions.append(rollout.take().fraction)
    assert fractions == [0.0, 0.0, 0.25]


def test_windows_of_whole_trajectories_always_mark_what_is_valid():
    """REINFORCE and MonteCarlo read it."""
    rollout = SlotRollout(RolloutSpec(2, unit="episodes"), rows=2)
    rollout.add(transitions((0, 1, 1), (1, 2, 1)), 0.0)
    assert rollout.take().columns["valid"].all()


def test_an_action_mask_counts_also_where_an_episode_is_cut_off():
    kind = AgentType(("a", "b"), Box(-9, 9, (1,)), Discrete(3), masked=True)
    records = JointLayout((kind,)).new(1)
    records["t0"][0]["mask"] = [[True, False, False], [False, False, False]]
    for slots in (
        Slots(JointLayout((kind,)), ("a", "b"), [["p"]] * 2, "p", agent_id=False),
        JointSlots(JointLayout((kind,)), ("a", "b"), "p"),
    ):
        assert slots.observe(records).mask.reshape(2, 3).tolist() == [[True, False, False], [True, True, True]]


def test_an_agent_that_joins_a_joint_policy_begins_no_trajectory():
    """It would reset the recurrent states of the others."""
    slots, records = JointSlots(LAYOUT, ("a", "b"), "p"), LAYOUT.new(1)
    records["t0"][0]["active"] = [True, True]
    records["t0"][0]["first"] = [False, True]
    assert not slots.observe(records).first.any()
    records["t0"][0]["first"] = [True, True]
    assert slots.observe(records).first.all()


def test_algorithms_of_single_steps_get_a_line_as_soon_as_an_agent_has_made_one():
    """With an overlap, a transition waits for the next one, unless its trajectory has ended."""
    rollout = SlotRollout(RolloutSpec(1), rows=2)
    rollout.add(transitions((0, 1, 0), (0, 2, 0)), 0.0)
    assert [rollout.take().columns["obs"].tolist() for _ in range(2)] == [[[1, 0]], [[2, 0]]]
    rollout = SlotRollout(RolloutSpec(1, overlap=1), rows=2)
    rollout.add(transitions((0, 1, 0)), 0.0)
    assert not rollout.full()
    rollout.add(transitions((0, 2, 0), (1, 5, 1)), 0.0)
    columns = rollout.take().columns
    assert columns["obs"].tolist() == [[1, 5], [2, 0]]
    assert columns["valid"].tolist() == [[True, True], [False, False]]
    assert not rollout.full()
    rollout = SlotRollout(RolloutSpec(1, minibatch=4), rows=2)
    rollout.add(transitions((0, 1, 0)), 0.0)
    assert not rollout.full()


def test_a_line_of_single_steps_cuts_no_trajectory_where_a_slot_is_empty():
    """The next window goes on with it: traces would be dropped after each step of agents that take turns."""
    rollout = SlotRollout(RolloutSpec(1), rows=2)
    rollout.add(transitions((0, 1, 0)), 0.0)
    columns = rollout.take().columns
    assert columns["valid"].tolist() == [[True, False]]
    assert not columns["truncated"].any()
    assert "cut" not in columns


def test_the_steps_after_the_fresh_line_keep_their_action_masks():
    """n-step returns of tables take the best legal action after the last of their steps."""
    rollout, mask = SlotRollout(RolloutSpec(1, overlap=1), rows=2), np.array([[True, False]])
    for obs in range(2):
        step = transitions((0, obs, 0))
        columns = {**step.columns, "action_mask": mask, "next_action_mask": mask}
        rollout.add(step._replace(columns=columns), 0.0)
    columns = rollout.take().columns
    assert columns["next_action_mask"].tolist() == [[[True, False], [True, True]]] * 2, "all are legal in an empty slot"


def test_choices_in_a_grid_become_a_vector():
    space = MultiDiscrete([[2, 3], [2, 2]])
    assert as_vector(space, np.array([[[1, 2], [0, 1]]])).tolist() == [[0, 1, 0, 0, 1, 1, 0, 0, 1]]
    assert len(vector_bounds(space)[0]) == 9


def test_the_scaled_rewards_of_a_slot_follow_its_last_valid_step():
    """gamma 0.5: a return of 4 is carried as 2, though the slot has no transition in the last line."""
    import torch

    from algos.common.maths.returns import RewardScaler

    scaler = RewardScaler(1, 0.5)
    flags = torch.tensor([[True], [False]])
    scaler.scale(torch.tensor([[4.0], [0.0]]), flags, valid=flags, cut=flags)
    assert scaler.carry.tolist() == [2.0]
    scaler.scale(torch.zeros(2, 1), flags, valid=torch.zeros(2, 1, dtype=torch.bool))
    assert scaler.carry.tolist() == [2.0]  # a window without a transition changes nothing
    scaler.scale(torch.tensor([[4.0], [0.0]]), flags, valid=flags)
    assert scaler.carry.tolist() == [0.0]  # an end of the trajectory carries nothing


# ------------------------------------------------------------------------------------------- whole small runs


def test_a_run_continues_with_the_same_bits_at_every_point():
    """RES-2: PPO, prioritized n-step replay, sequences, and agents that are drawn by two policies."""
    config = joint_config(**THREE)
    whole = Run(config, local(config)).until(100)
    saved, before = whole.saved(), len(whole.learned)
    whole.until(180)
    again = Run(config, local(config)).load(saved).until(180)
    assert whole.state() == again.state()
    policies = {name.partition("/")[0] for learned in whole.learned[before:] for name in learned.metrics}
    assert policies == {"car1", "car2", "light"}


def test_one_worker_in_lockstep_is_one_process_to_the_bit_with_several_policies():
    """RAY-7"""
    config = joint_config(**THREE)
    one = Run(config, local(config)).until(100)
    config = joint_config(workers=1, **THREE)
    other = Run(config, remote(config)).until(100)
    assert one.state() == other.state()
    assert {name.partition("/")[0] for learned in one.learned for name in learned.metrics} == {*THREE}
    assert [learned.metrics for learned in one.learned] == [learned.metrics for learned in other.learned]


def test_two_workers_in_lockstep_do_the_same_in_any_order_and_after_a_resume():
    config = joint_config(workers=2, **THREE)
    first, second = (Run(config, remote(config, FakeRay(seed))).until(100) for seed in (1, 2))
    assert first.state() == second.state()
    resumed = Run(config, remote(config)).load(first.saved()).until(160)
    assert resumed.state() == first.until(160).state()


def test_workers_that_run_ahead_have_splitters_of_their_own():
    light = {**PER, "n_step": 1, "algo_name": "DQN"}
    car = {**DRQN, "algo_name": "DQN", "lookup_step": 2}
    config = joint_config(workers=2, ahead=2, steps=600, car=car, light=light)
    run = Run(config, remote(config, FakeRay(4))).until(100).rest()
    assert {name.partition("/")[0] for learned in run.learned for name in learned.metrics} == {"car", "light"}


@pytest.mark.parametrize("ahead", [0, 2])
def test_a_lost_worker_takes_no_transition_twice(ahead, monkeypatch):
    without_pauses(monkeypatch)
    config = joint_config(workers=2, ahead=ahead, steps=600, car={**DRQN, "algo_name": "DQN"}, light=PER)
    run = Run(config, remote(config, FakeRay(5, dies_once("Worker", 1, "collect", 5, "after")))).until(200).rest()
    assert run.backend.pool.workers[1].incarnation == 1
    assert run.learned
    nothing_twice(run.episodes())


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ({"car": {"agents": "car_*"}}, "no policy for light_0, light_1;"),
        ({"all": {"agents": "*"}}, "policies_cfg.all.agents: these have different spaces"),
        (
            {"car": {"agents": "car_*"}, "light": {"agents": "light_*"}, "bus": {"agents": "bus_*"}},
            "policies_cfg.bus.agents: no agent matches 'bus_*'; the environment has car_0, ",
        ),
        (
            {"car": {**PPO, "train": False}, "light": {**PER, "train": False}},
            "Python: policies_cfg.car.train: no policy would learn",
        ),
        (
            {"car": {**PPO, "agents": ["car_*", "bike"]}, "light": PER},
            "policies_cfg.car.agents: no agent matches 'bike'; the environment has car_0, ",
        ),
        ({}, "need policies of their own; add policies_cfg: {policy_0: {agents: [car_0, "),
    ],
)
def test_policies_that_do_not_suit_the_agents_are_refused_with_names(policies, message):
    with pytest.raises(ConfigError) as caught:
        compatibility.check(joint_config(**policies))
    assert message in str(caught.value)


def test_several_policies_that_do_not_learn_may_take_turns():
    """A pool of opponents: each episode draws one of them for its agent."""
    cars = {name: {**PPO, "train": False} for name in ("one", "two")}
    config = joint_config(**cars, light=PER)
    compatibility.check(config)
    assert Run(config, local(config)).until(40).rest().learned


def test_policies_need_several_agents():
    config = joint_config(env="match", a={"agents": "*"})
    with pytest.raises(ConfigError, match="match has a single agent"):
        compatibility.check(config)


def test_a_policy_that_does_not_train_keeps_its_weights_and_acts():
    config = joint_config(car={**PPO, "train": False}, light=PER)
    backend = local(config)
    before = {name: value.copy() for name, value in backend.agent.weights().items()}
    Run(config, backend).until(120)
    changed = {
        name.partition("/")[0] for name, value in backend.agent.weights().items() if (value != before[name]).any()
    }
    assert changed == {"light"}


def test_an_opponent_that_draws_its_actions_plays_beside_a_policy_that_learns():
    config = joint_config(car=PPO, light={"agents": "light_*", "algo_name": "Random"})
    run = Run(config, local(config)).until(120)
    assert {name.partition("/")[0] for learned in run.learned for name in learned.metrics} == {"car"}


def test_streams_of_a_policy_depend_on_its_name_alone():
    config = joint_config(car=PPO, light=PER)
    more = joint_config(first={**PPO, "agents": "car_*"}, car=PPO, light=PER)
    weights = []
    for one in (config, more):
        env = build.make_env(one, 2)
        weights.append(build.make_agent(one, build.env_spec(one, env), 3, build.CPU).agents["light"].weights())
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])


def test_a_policy_counts_its_slots_as_rows():
    config = joint_config(car=PPO, light=PER)
    spec = build.env_spec(config, build.make_env(config, 2))
    car, light = plan(config, spec).policies
    assert (car.spec.rows, light.spec.rows) == (2 * 5, 2 * 2)


def test_agents_of_a_run_share_named_layers_among_themselves_alone():
    layers = [{"layer_type": "linear", "layer_size": [8], "shared": "trunk"}]
    one = {**PPO, "agents": "car_*", "actor_layers": layers, "critic_layers": layers}
    config = joint_config(car=one, light=PER)
    spec = build.env_spec(config, build.make_env(config, 2))
    first, second = (build.make_agent(config, spec, 3, build.CPU) for _ in range(2))
    weights = {name: value.copy() for name, value in second.weights().items()}
    first.load_weights({name: value + 1 for name, value in first.weights().items()})
    assert all((value == weights[name]).all() for name, value in second.weights().items())


def test_a_policy_that_does_not_learn_and_shares_layers_with_one_that_does_is_told():
    """All layers with one name are one, so that its weights change in spite of train: false."""
    layers = [{"layer_type": "linear", "layer_size": [8], "shared": "trunk"}]
    car = {**PPO, "actor_layers": layers, "critic_layers": layers}
    rest = {**car, "train": False}
    [text] = moved_by_others(joint_config(car=car, light=rest))
    assert text.startswith("policy light has train: false, and its layers with shared: trunk change all the same")
    assert not moved_by_others(joint_config(car=car, light=car))
    assert not moved_by_others(joint_config(car=PER, light=rest))
