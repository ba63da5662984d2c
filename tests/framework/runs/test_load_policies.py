"""joystick.load of a run with several agents: by name, all of them or one, with masks and recurrent state."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium.spaces import Box

import joystick
from envs.toy.several import Levels
from framework.runs import experiment, resume
from main import main
from tests.framework.record.test_agent_records import DQN, PPO, SMALL, words

DRQN = ["algo_name=DRQN", "learning_starts=20", "batch_size=4", "lookup_step=3", "burn_in=1"]


def loaded(folder: Path, toy: str, policies: dict[str, list[str]], **options: Any) -> Any:
    if not folder.exists():
        given = words(toy, policies, 120)
        assert main([*given, "--into", str(folder)]) == 0
    return joystick.load(folder, "latest", **options)


POLES = {"a": ["agents=pole_0", *DRQN], "b": ["agents=pole_1", *DQN]}


@pytest.fixture(scope="module")
def poles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a policy for each of two poles, trained once."""
    folder = tmp_path_factory.mktemp("poles") / "run"
    loaded(folder, "poles", POLES)
    return folder


def test_agents_act_by_name_and_keep_their_own_state(poles: Path) -> None:
    """What an agent does not see changes nothing for it; the recurrent policy remembers only its own calls."""
    policies, alone, other = (joystick.load(poles, "latest", policy=policy) for policy in (None, "a", "b"))
    rng = np.random.default_rng(0)
    seen, states = rng.normal(size=(12, 2, 4)).astype(np.float32), []
    for _episode in range(2):
        policies.reset()
        alone.reset()
        for step, (first, second) in enumerate(seen):
            if step % 3 == 2:  # pole_0 does not act
                assert set(policies.act({"pole_1": second})) == {"pole_1"}
                continue
            actions = policies.act({"pole_0": first, "pole_1": second})
            assert actions == {"pole_0": alone.act(first), "pole_1": other.act(second)}
            states.append(alone._state.copy())
            start = policies.agent._states["a"][0]
            assert np.allclose(policies._state[0, start : start + states[-1].size], states[-1])
    assert not np.allclose(states[0], states[1])
    assert np.allclose(states[0], states[len(states) // 2])


def test_an_observation_that_is_not_finite_is_refused_as_in_training(poles: Path, tmp_path: Path) -> None:
    policies, alone = joystick.load(poles, "latest"), joystick.load(poles, "latest", policy="a")
    short = ["general_cfg.max_total_step=40", "general_cfg.save_fig=false"]
    assert main(["env_cfg.id=CartPole-v1", *short, "--into", str(tmp_path / "one")]) == 0
    single = joystick.load(tmp_path / "one", "latest")
    good = np.zeros(4, np.float32)
    for bad in (np.nan, np.inf):
        with pytest.raises(joystick.JoystickError, match=r"^act: agent 'pole_1': the observation is not finite: \[ ?0"):
            policies.act({"pole_0": good, "pole_1": np.array([0, 0, bad, 0], np.float32)})
        with pytest.raises(joystick.JoystickError, match=r"^act: agent 'pole_0': the observation is not finite"):
            alone.act([0.0, bad, 0.0, 0.0])
        assert set(policies.act({"pole_0": good})) == {"pole_0"}
        with pytest.raises(joystick.JoystickError, match=r"^act: the observation is not finite: \[ ?0"):
            single.act([0.0, bad, 0.0, 0.0])
        assert single.act([0.0, 0.0, 0.0, 0.0]) in (0, 1)


@pytest.mark.parametrize("obs", [0.5, [0.5], [0] * 3, [0] * 5, [[0.5] * 4], "a", None])
def test_an_observation_of_another_shape_is_refused(poles: Path, obs: Any) -> None:
    policies, alone = joystick.load(poles, "latest"), joystick.load(poles, "latest", policy="a")
    for call in (lambda: policies.act({"pole_0": obs}), lambda: alone.act(obs)):
        with pytest.raises(joystick.EnvError, match="agent 'pole_0': the observation"):
            call()
    assert set(policies.act({"pole_0": [0.0] * 4})) == {"pole_0"}


def test_what_is_no_value_for_each_agent_is_refused(poles: Path) -> None:
    policies, good = joystick.load(poles, "latest"), {"pole_0": [0.0] * 4}
    for arguments in ((None,), ([0.0] * 4,), (good, [1, 0])):
        with pytest.raises(joystick.JoystickError, match="expected a value for each agent, by its name"):
            policies.act(*arguments)
    with pytest.raises(joystick.JoystickError, match="agent 'pole_1' has a mask and no observation"):
        policies.act(good, {"pole_1": [1, 0]})


def test_masks_are_obeyed(tmp_path: Path) -> None:
    pytest.importorskip("pettingzoo")
    both = {"x": ["agents=player_1", *PPO], "o": ["agents=player_2", *PPO]}
    given = [word for word in words("x", both, 100) if not word.startswith(("env_cfg.id", "general_cfg.env_name"))]
    game = ["general_cfg.env_name=pettingzoo", "env_cfg.id=classic/tictactoe_v3", "--into", str(tmp_path / "run")]
    assert main([*given, *game]) == 0
    policies, one = joystick.load(tmp_path / "run"), joystick.load(tmp_path / "run", policy="o")
    board = np.zeros((3, 3, 2), np.int8)
    for legal in range(9):
        obs = {"observation": board, "action_mask": (np.arange(9) == legal).astype(np.int8)}
        assert policies.act({"player_1": obs}) == {"player_1": legal}
        assert one.act(obs) == legal
    mask = np.arange(9) == 4
    free = {"observation": board, "action_mask": np.ones(9, np.int8)}
    assert policies.act({"player_2": free}, {"player_2": mask}) == {"player_2": 4}
    assert one.act(free, mask) == 4
    for wrong in ([mask], [mask, mask], np.where(mask, np.nan, 1.0), ["x"] * 9, "a", mask[:4]):
        with pytest.raises(joystick.EnvError, match="action_mask"):
            one.act(free, wrong)


def test_agents_with_changing_names_take_turns_in_a_slot(tmp_path: Path) -> None:
    levels = {"high": ["agents=high_level", *PPO], "low": ["agents=low_level_*", *DRQN]}
    policies = loaded(tmp_path / "run", "levels", levels)
    goal = np.array([1, 0, 0], np.float32)
    start = policies.agent._states["low"][0]

    def state() -> np.ndarray:
        return policies._state[0, start:].copy()

    policies.act({"low_level_0": goal})
    first = state()
    policies.act({"low_level_0": goal})
    assert not np.array_equal(state(), first)
    assert set(policies.act({"low_level_1": goal})) == {"low_level_1"}
    assert np.array_equal(state(), first)  # another agent, so another trajectory
    assert set(policies.act({"high_level": goal})) == {"high_level"}
    with pytest.raises(joystick.JoystickError, match=r"more agents act than env_cfg\.max_agents allows"):
        policies.act({"low_level_1": goal, "low_level_2": goal})
    with pytest.raises(joystick.EnvError, match="'middle' is not in possible_agents"):
        policies.act({"middle": goal})


def test_what_cannot_be_loaded_is_named(poles: Path, tmp_path: Path) -> None:
    with pytest.raises(joystick.JoystickError, match="no policy 'aa'; did you mean a"):
        joystick.load(poles, "latest", policy="aa")
    with pytest.raises(joystick.JoystickError, match="no policy 'pole_0'; the run has a, b"):
        joystick.load(poles, "latest", policy="pole_0")
    with pytest.raises(joystick.JoystickError, match="policy a has pole_0"):
        joystick.load(poles, "latest", policy="a", agent="pole_1")
    joint = {"both": ["agents=pole_*", "joint=true", "algo_name=PPO", f"actor_layers={SMALL}"]}
    with pytest.raises(joystick.JoystickError, match="controls its agents as one"):
        loaded(tmp_path / "joint", "poles", joint, policy="both")
    policies = loaded(tmp_path / "joint", "poles", joint)
    assert set(policies.act({"pole_0": np.zeros(4), "pole_1": np.zeros(4)})) == {"pole_0", "pole_1"}


def test_a_policy_that_sees_the_index_of_its_agent_acts_as_this_agent(tmp_path: Path) -> None:
    shared = {"all": ["agents=pole_*", *DQN, "agent_id=true"]}
    policies = loaded(tmp_path / "run", "poles", shared)
    second = loaded(tmp_path / "run", "poles", shared, policy="all", agent="pole_1")
    for obs in np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32):
        assert policies.act({"pole_0": obs, "pole_1": obs})["pole_1"] == second.act(obs)


def test_a_new_agent_takes_the_place_of_the_one_that_acted_longest_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that acts at every second step may still be there: its recurrent state is kept."""
    monkeypatch.setattr(Levels, "max_agents", {"low_level_*": 2})
    both = {"high": ["agents=high_level", *DQN], "low": ["agents=low_level_*", *DRQN]}
    policies = loaded(tmp_path / "run", "levels", both)
    alone = loaded(tmp_path / "run", "levels", both, policy="low")
    space = Levels().observation_space("low_level_0")
    space.seed(1)
    obs = space.sample()
    for name in ("low_level_0", "low_level_1", "low_level_0", "low_level_2", "low_level_0"):
        policies.act({name: obs})
        if name == "low_level_0":
            alone.act(obs)
    (size,) = alone._state.shape[1:]
    rounding = np.finfo(np.float32).eps  # of a state in -1..1: products of two rows have other last bits than of one
    distances = [np.abs(part - alone._state).max() for part in policies._state.reshape(-1, 1, size)]
    assert min(distances) <= rounding < max(distances)


def test_agents_with_changing_names_get_the_policies_of_the_episode_with_this_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slot of an agent that has ended is free for the next one, and the seed draws the policy of a slot."""
    monkeypatch.setattr(Levels, "max_agents", {"low_level_*": 2})
    lows = {name: ["agents=low_level_*", *DQN] for name in ("one", "two")}
    policies = loaded(tmp_path / "run", "levels", {"high": ["agents=high_level", *DQN], **lows})
    env, wrong = policies._env, 0
    for seed in range(12):
        seen, over = env.reset(np.ones(env.rows, bool), np.full(env.rows, seed)), False
        policies.reset(seed)
        while not over:
            record = env.joint.decode(seen)["t0"][0]
            names = env.agents(0)
            acting = {names[i]: record["obs"][i] for i in np.flatnonzero(record["acts"])}
            ended = [names[i] for i in np.flatnonzero(record["terminated"])]
            act = policies.agent.predict_action(seen, None)
            joint = dict(zip(names, env.decode(act.action)[0].values(), strict=True))
            wrong += policies.act(acting, ended=ended) != {name: joint[name] for name in acting}
            seen, _, terminated, truncated = env.step(act.action)[:4]
            over = bool(terminated[0] or truncated[0])
    assert not wrong


class Steering:
    """Two agents that see where to steer."""

    metadata: ClassVar[dict[str, Any]] = {}
    possible_agents: ClassVar[list[str]] = ["left", "right"]
    render_mode = None

    def observation_space(self, agent: str) -> Box:
        return Box(-1, 1, (2,), np.float32)

    def action_space(self, agent: str) -> Box:
        return Box(-1, 1, (1,), np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self.time, self.random = list(self.possible_agents), 0, np.random.default_rng(seed)
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, np.ndarray]) -> Any:
        self.time += 1
        names, over = list(self.agents), self.time == 5
        rewards = {name: -abs(float(actions[name][0])) for name in names}
        self.agents = [] if over else names
        ends = dict.fromkeys(names, False), dict.fromkeys(names, over)
        return self._seen(), rewards, *ends, {name: {} for name in names}

    def _seen(self) -> dict[str, np.ndarray]:
        return {name: self.random.uniform(-1, 1, 2).astype(np.float32) for name in self.possible_agents}


def test_a_run_of_before_agents_had_actors_of_their_own_is_played_and_goes_on_with_the_shared_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def older(settings: Any) -> dict[str, Any]:
        sections = resume.plain(settings)
        for section in (sections["algo_cfg"], sections["policies_cfg"]["team"]):
            section.pop("shared_actor", None)
        return sections

    layers = "[{layer_type: linear, layer_size: [4], activation: relu}]"
    small = ["learning_starts=10", "batch_size=4", f"actor_layers={layers}", f"critic_layers={layers}"]
    general = ["algo_name=MADDPG", "env_name=python", "seed=3", "save_fig=false", "max_total_step=40"]
    given = [
        f"env_cfg.id={__name__}:Steering",
        "policies_cfg.team.agents=*",
        "algo_cfg.shared_actor=true",
    ]
    given += [f"general_cfg.{word}" for word in general] + [f"algo_cfg.{word}" for word in small]
    allowed = ["--allow-import", __name__]
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "plain", older)
        assert main([*allowed, *given, "--into", str(tmp_path / "run")]) == 0
    config = tmp_path / "run/config.yaml"
    lines = [line for line in config.read_text().splitlines(keepends=True) if "shared_actor" not in line]
    config.write_text("".join(lines))
    policies = joystick.load(tmp_path / "run", allow_import=[__name__])
    obs = {"left": np.zeros(2, np.float32), "right": np.zeros(2, np.float32)}
    assert policies.act(obs).keys() == obs.keys()
    more = [*allowed, "resume", str(tmp_path / "run"), "general_cfg.max_total_step=60"]
    capsys.readouterr()
    assert main(more) == 2
    assert "before this setting existed; algo_cfg.shared_actor=true goes on as it began" in capsys.readouterr().err
    assert main([*more, "algo_cfg.shared_actor=true"]) == 0
    assert main([*allowed, "test", str(tmp_path / "run"), "--into", str(tmp_path / "tested")]) == 0
