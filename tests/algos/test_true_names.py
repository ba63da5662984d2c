"""An algorithm is what its name says: what would make it another one, and what nothing reads, is refused."""

from pathlib import Path

import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

from algos.base import EnvSpec
from config.read.loader import ConfigError, load
from framework.assemble import build
from framework.catalog import ALGOS, ENVS
from framework.errors import JoystickError

PLAIN = "[{layer_type: linear, layer_size: [8]}]"


def refused(algo: str, *settings: str) -> str:
    words = [f"general_cfg.algo_name={algo}", "general_cfg.preset=null"]
    words += [f"algo_cfg.{setting}" for setting in settings]
    with pytest.raises(ConfigError) as caught:
        load(None, words, find_algo=ALGOS, find_env=ENVS)
    return str(caught.value)


@pytest.mark.parametrize(
    ("algo", "setting", "said"),
    [
        ("DoubleDQN", "double=false", "double: must be true in this algorithm"),
        ("PER_DQN", "buffer_type=REPLAY", "buffer_type: REPLAY has no priorities: without them this is DQN"),
        ("PER_DQN", "per_alpha=0", "per_alpha: 0 draws uniformly: without priorities this is DQN"),
        ("DDPG_HER", "her_ratio=0", "her_ratio: 0 disables hindsight: this is DDPG then"),
        ("SAC_HER", "her_ratio=0", "her_ratio: 0 disables hindsight: this is SAC then"),
        ("DRQN", f"value_layers={PLAIN}", "value_layers: has no lstm or gru: without a memory this is DQN"),
        ("CrossQ", f"critic_layers={PLAIN}", "critic_layers: has no batchrenorm, which takes the place of target"),
        ("SoftQ", "double=true", "double: a soft value chooses no next action"),
        ("C51", "soft=true", "soft: is for single values and quantiles"),
        ("BTR", "soft=false", "soft: must be true in this algorithm"),
        ("BTR", "munchausen_alpha=0", "munchausen_alpha: 0 adds nothing to the rewards"),
        ("APPO", "vtrace=false", "vtrace: must be true in this algorithm"),
        ("R2D2", "buffer_type=REPLAY", "buffer_type: REPLAY has no priorities: without them this is DRQN"),
        ("DynaQPlus", "kappa=0", "kappa: 0 adds no bonus: this is DynaQ then"),
        ("SarsaLambda", "trace_lambda=0", "trace_lambda: 0 has no traces: this is Sarsa then"),
        ("SarsaLambda", "n_step=2", "n_step: traces of trace_lambda reach over all steps already; set it to 1"),
        ("SarsaLambda", "double=true", "double: traces are of one table"),
        ("DoubleQLearning", "double=false", "double: must be true in this algorithm"),
        ("PrioritizedSweeping", "kappa=1", "kappa: its bonus grows with time, and priorities do not"),
        ("QRDQN", "value_rescale=true", "value_rescale: is for single values"),
        ("SoftQ", "value_rescale=true", "value_rescale: the soft maximum is one of returns"),
        ("MunchausenDQN", "munchausen_alpha=0", "munchausen_alpha: 0 adds nothing to the rewards: this is SoftQ then"),
        ("MunchausenDQN", "soft=false", "soft: must be true in this algorithm"),
        ("MunchausenDQN", "double=true", "double: a soft value chooses no next action"),
    ],
)
def test_what_would_make_it_another_algorithm_is_refused(algo: str, setting: str, said: str) -> None:
    assert f"algo_cfg.{said}" in refused(algo, setting)


def test_a_bonus_needs_soft_values() -> None:
    assert "algo_cfg.munchausen_alpha: adds the log policy of soft values" in refused("DQN", "munchausen_alpha=0.9")
    assert "munchausen_floor" in refused("MunchausenDQN", "munchausen_floor=0.5")


def test_a_default_that_does_not_suit_is_told_as_one_and_what_is_written_with_its_place() -> None:
    lstm = "value_layers=[{layer_type: lstm, layer_size: 8}]"
    said = "algo_cfg.n_step: returns are summed within sequences, which have 2 steps"
    assert f"default of RainbowDQN: {said}" in refused("RainbowDQN", lstm, "lookup_step=2")
    assert f"command line: {said}" in refused("RainbowDQN", lstm, "lookup_step=2", "n_step=4")


def test_noise_on_the_weights_is_found_where_exploration_is_looked_for() -> None:
    assert "set noisy: true" in refused("DQN", "exploration_type=noisy")
    assert "expected e-greedy, softmax, ucb or none" in refused("QLearning", "exploration_type=noisy")


def test_ppo_without_a_memory_is_not_recurrent() -> None:
    message = refused("RecurrentPPO", f"actor_layers={PLAIN}", f"critic_layers={PLAIN}")
    assert "algo_cfg.actor_layers: has no lstm or gru layer: this is PPO then" in message


@pytest.mark.parametrize("algo", ["C51", "QRDQN", "IQN", "RainbowDQN"])
def test_a_loss_of_single_values_is_refused_for_distributions(algo: str) -> None:
    assert "algo_cfg.loss: is for single values" in refused(algo, "loss=huber")


@pytest.mark.parametrize(
    ("algo", "settings", "unread"),
    [
        ("DQN", ["per_beta=0.5"], "per_beta (buffer_type is REPLAY_QUE)"),
        ("SAC", ["burn_in=4"], "burn_in (no lstm or gru layers)"),
        ("DQN", ["lookup_step=4"], "lookup_step (no lstm or gru layers)"),
        ("PPO", ["lookup_step=4"], "lookup_step (no lstm or gru layers)"),
        ("QRDQN", ["optimizer=sgd", "adam_epsilon=0.1"], "adam_epsilon (optimizer is sgd)"),
        ("CrossQ", ["optimizer=sgd", "adam_beta1=0.9"], "adam_betas (optimizer is sgd)"),
        ("PPO", ["kl_lambda=2"], "kl_lambda (ppo_type is clip)"),
        ("DQN", ["exploration_type=none", "epsilon_start=0.5"], "epsilon_start (exploration_type is none)"),
        ("PQN", ["exploration_type=softmax", "epsilon_decay=9"], "epsilon_decay (exploration_type is softmax)"),
        ("NoisyDQN", ["epsilon_start=0.2"], "epsilon_start (exploration_type is none)"),
        ("SoftQ", ["epsilon_end=0.2"], "epsilon_end (exploration_type is softmax)"),
        ("DQN", ["temperature=3"], "temperature (no softmax or soft values)"),
        ("SoftQ", ["munchausen_floor=-2"], "munchausen_floor (munchausen_alpha is 0.0)"),
        ("PQN", ["temperature=3"], "temperature (exploration_type is e-greedy)"),
        ("DQN", ["std_init=0.3"], "std_init (noisy is false)"),
        ("SAC", ["expl_noise=0.5"], "expl_noise (exploration_type is none)"),
        ("TD3", ["ou_theta=0.5"], "ou_theta (exploration_type is gaussian)"),
        ("SAC", ["alpha=0.2", "alpha_init=3"], "alpha_init (alpha is 0.2)"),
        ("TQC", ["alpha=0.2", "alpha_lr=1e-3"], "alpha_lr (alpha is 0.2)"),
        ("SAC", ["alpha=0.2", "target_entropy=-1"], "target_entropy (alpha is 0.2)"),
        ("DDPG", ["noise_clip=3"], "noise_clip (policy_noise is 0.0)"),
        ("AWAC", ["data=x.npz", "advantage_baseline=max"], "advantage_baseline (advantage_actions is 1)"),
        ("REINFORCE", ["baseline=mean", "critic_lr=0.1"], "critic_lr (baseline is mean)"),
        ("QLearning", ["exploration_type=ucb", "temperature=3"], "temperature (exploration_type is ucb)"),
        ("Sarsa", ["exploration_type=ucb", "epsilon_start=0.5"], "epsilon_start (exploration_type is ucb)"),
        ("DynaQ", ["ucb_c=2"], "ucb_c (exploration_type is e-greedy)"),
    ],
)
def test_a_setting_that_nothing_reads_is_a_warning(algo: str, settings: list[str], unread: str) -> None:
    words = [f"general_cfg.algo_name={algo}", "general_cfg.preset=null"]
    words += [f"algo_cfg.{setting}" for setting in settings]
    assert f"not used: algo_cfg.{unread}" in load(None, words, find_algo=ALGOS, find_env=ENVS).notes


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("DQN", ("exploration_type=none", "epsilon_start=1.0")),
        ("DQN", ("exploration_type=none", "epsilon_start=null")),
        ("SoftQ", ("exploration_type=e-greedy", "temperature=3", "epsilon_end=0.2")),
        ("DQN", ("soft=true", "double=false", "temperature=3")),
        ("DQN", ("noisy=true", "std_init=0.3")),
        ("TD3", ("exploration_type=ou", "ou_theta=0.5", "noise_clip=3")),
        ("SAC", ("alpha_init=3", "target_entropy=-1")),
        ("SAC", ("alpha=0.2", "target_entropy=null")),
    ],
)
def test_what_is_read_or_at_its_default_or_taken_back_is_no_warning(algo: str, settings: tuple[str, ...]) -> None:
    words = [f"general_cfg.algo_name={algo}", "general_cfg.preset=null"]
    words += [f"algo_cfg.{setting}" for setting in settings]
    assert not any("not used" in note for note in load(None, words, find_algo=ALGOS, find_env=ENVS).notes)


@pytest.mark.parametrize(
    ("algo", "setting"),
    [("SAC_D", "target_entropy_scale=1.5"), ("PPO", "eps_clip=1.0"), ("PPO", "eps_clip=0"), ("QLearning", "lr=0")],
)
def test_what_cannot_be_meant_is_refused(algo: str, setting: str) -> None:
    assert f"algo_cfg.{setting.partition('=')[0]}" in refused(algo, setting)


def test_a_table_that_no_machine_can_hold_is_refused_before_it_is_made() -> None:
    config = load(None, ["general_cfg.algo_name=QLearning", "env_cfg.id=Taxi-v4"], find_algo=ALGOS, find_env=ENVS)
    spec = EnvSpec("huge", MultiDiscrete([1000] * 30), Discrete(6), 1)
    with pytest.raises(JoystickError, match="states and 6 actions is too large; DQN needs no table"):
        build.make_agent(config, spec, 0, build.CPU)


def test_a_setting_of_a_file_or_a_preset_that_becomes_unread_keeps_its_value_and_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("general_cfg: {algo_name: PPO}\nalgo_cfg: {eps_clip: 0.3, lr: 0.1}\n")
    config = load(file, ["algo_cfg.ppo_type=kl"], find_algo=ALGOS, find_env=ENVS)
    assert (config.algo.eps_clip, config.algo.lr) == (0.3, 0.1)
    assert "not used: algo_cfg.eps_clip (ppo_type is kl)" in config.notes
    words = ["algo_cfg.exploration_type=softmax"]
    config = load(None, words, find_algo=ALGOS, find_env=ENVS, algo="DQN", env="CartPole-v1")
    assert config.algo.epsilon_start == 1.0
    [note] = [note for note in config.notes if note.startswith("not used: ")]
    assert "algo_cfg.epsilon_end, " in note
    assert note.endswith("(exploration_type is softmax)")
