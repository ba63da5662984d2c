"""Files of JoyRL's users: keys that are spelled otherwise, need nothing, or have a value to move; and convert."""

from pathlib import Path

import jsonschema
import pytest

import main
from config.foreign import convert, joyrl, joyrl_settings
from config.foreign.table import Row
from config.read import sources, yaml_reader
from config.read.loader import ConfigError, RunConfig, load
from config.tell import json_schema, language
from framework.catalog import ALGOS, ENVS
from tests.tools import foreign_pages

DATA = Path(__file__).parents[2] / "data" / "joyrl"


def loaded(path: Path | None, *settings: str) -> RunConfig:
    return load(path, settings, find_algo=ALGOS, find_env=ENVS)


def refused(*settings: str) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(None, *settings)
    return str(caught.value)


ROWS = [(section, name, row) for section, rows in joyrl.KEYS.items() for name, row in rows.items()]


@pytest.mark.parametrize(("section", "name", "row"), ROWS, ids=lambda part: part if isinstance(part, str) else "")
def test_every_key_is_an_alias_or_accepted_or_answered(section: str, name: str, row: Row) -> None:
    if key := row.spelling(section):
        models = [ALGOS.get(algo).Config for algo in ALGOS.available()] if section == "algo_cfg" else []
        models += [type(part) for part in loaded(None).sections().values()]
        assert any(model.ALIASES.get(name) == key for model in models)
    elif row.needless:
        value = {True: "true", False: "false", None: "null"}.get(row.values[0], row.values[0]) if row.values else "1"
        [note] = [note for note in loaded(None, f"{section}.{name}={value}").notes if "JoyRL's keys" in note]
        assert f"{section}.{name} ({row.needless})" in note
    elif row.is_renaming and not row.settings:
        assert f"{name}: unknown setting; JoyRL's key, here: {row.remark}" in refused(f"{section}.{name}=1")


@pytest.mark.parametrize(
    ("algo", "word", "path", "value"),
    [
        ("TD3", "algo_cfg.critic1_lr=0.002", "algo.critic_lr", 0.002),
        ("TD3", "algo_cfg.tau_soft_update=0.02", "algo.tau", 0.02),
        ("DQN", "algo_cfg.memory_capacity=3000", "algo.buffer_size", 3000),
        ("DQN", "algo_cfg.n_steps_per_learn=3", "algo.updates_per_train", 3),
        ("DQN", "algo_cfg.enable_soft_update=true", "algo.target_update", 1),
        ("PPO", "algo_cfg.return_form=td", "algo.gae_lambda", 1.0),
        ("SAC", "algo_cfg.automatic_entropy_tuning=true", "algo.alpha", "auto"),
        ("PPO", "algo_cfg.return_form=GAE", "algo.gae_lambda", 0.95),
        ("DDPG_HER", "algo_cfg.her_sample_num=4", "algo.her_ratio", 0.8),
    ],
)
def test_a_word_of_joyrl_sets_ours_with_a_note(algo: str, word: str, path: str, value: object) -> None:
    config = loaded(None, "general_cfg.preset=null", f"general_cfg.algo_name={algo}", word)
    section, _, key = path.partition(".")
    assert getattr(getattr(config, section), key) == value
    assert any(f"{section}_cfg.{key}".replace("general_cfg_cfg", "general_cfg") in note for note in config.notes)
    assert config.where[f"{section}_cfg.{key}"] == "command line"


def test_a_word_of_joyrl_replaces_no_other_word() -> None:
    words = ("general_cfg.algo_name=A2C", "algo_cfg.update_freq=10", "algo_cfg.batch_size=20")
    assert "update_freq: unknown setting; JoyRL's key, here: batch_size" in refused(*words)
    assert loaded(None, *words[:2], "algo_cfg.batch_size=10").algo.batch_size == 10


def test_a_value_that_two_settings_get_is_one_problem() -> None:
    assert refused("general_cfg.algo_name=PPO", "algo_cfg.hidden_dim=0").count("hidden_dim: got 0") == 1


def test_test_eps_counts_in_mode_test_only() -> None:
    assert any("test_eps (max_episode is the" in note for note in loaded(None, "general_cfg.test_eps=7").notes)
    assert loaded(None, "general_cfg.test_eps=7").general.max_episode == loaded(None).general.max_episode


def test_aliases_of_general_cfg_come_from_the_table() -> None:
    assert loaded(None, "general_cfg.train_eps=7", "general_cfg.max_steps=9").general.max_episode == 7


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("algo_cfg.share_optimizer=true", "unknown setting; JoyRL's key, here: actor and critic have separate"),
        ("general_cfg.algo_name=FirstVisitMC", "unknown name 'FirstVisitMC'; it is MonteCarlo here"),
        ("env_cfg.id=FrozenLakeNoSlippery-v1", "is FrozenLake-v1 with is_slippery: false"),
        ("general_cfg.env_name=FrozenLakeNoSlippery-v1", "env_cfg.id: FrozenLake-v1 with is_slippery: false"),
        ("general_cfg.env_name=CartPole-v1", "is an environment; write env_name: gym and env_cfg.id: CartPole-v1"),
        ("env_cfg.wrappers=[AtariWrapper]", "AtariWrapper cannot be used: ALE environments include it with "
         "env_cfg.vectorization: native"),
        ("general_cfg.max_epi_len=5", "general_cfg.max_epi_len: unknown setting\n"),
    ],
)  # fmt: skip
def test_names_of_joyrl_are_answered_with_ours(setting: str, message: str) -> None:
    assert message in refused(setting) + "\n"


def test_identity_wrappers_are_left_out_with_a_note() -> None:
    config = loaded(None, "env_cfg.wrappers=[MultiHeadObsWrapper, {wrapper_name: MultiHeadActionWrapper}]")
    assert config.env.wrappers == []
    assert any("MultiHeadObsWrapper (changes nothing)" in note for note in config.notes)


def test_the_schema_accepts_what_needs_nothing_and_rejects_the_rest() -> None:
    validator = jsonschema.Draft202012Validator(json_schema.schema(ALGOS, ENVS))
    validator.validate({"general_cfg": {"joyrl_version": "0.6", "wrapper": None}, "algo_cfg": {"action_type": "x"}})
    validator.validate({"algo_cfg": {"branch_layers": []}})
    assert list(validator.iter_errors({"algo_cfg": {"branch_layer": []}}))
    assert list(validator.iter_errors({"algo_cfg": {"share_optimizer": True}}))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_converted_file_loads(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["convert", str(path)]) == 0
    new = tmp_path / "new.yaml"
    new.write_text(capsys.readouterr().out)
    loaded(new)


def test_networks_of_0_6_become_lists_of_layers(tmp_path: Path) -> None:
    text = convert.converted(str(DATA / "ppo_0_6.yaml"), ALGOS, ENVS)
    algo = yaml_reader.parse(text, "new").value["algo_cfg"]
    assert [layer["layer_type"] for layer in algo["critic_layers"]] == ["linear", "layernorm", "linear"]
    assert [layer.get("layer_size") for layer in algo["actor_layers"]] == [[128], [64]]
    assert algo["gae_lambda"] == 1
    assert "# was actor_branch_layers and actor_merge_layers" in text


def test_several_branches_stay_branches(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    layer = "{layer_type: linear, layer_dim: [8], activation: relu}"
    branches = f"[{{name: a, layers: [{layer}]}}, {{name: b, layers: [{layer}]}}]"
    old.write_text(f"algo_cfg:\n  branch_layers: {branches}\n  merge_layers: [{layer}]\n")
    algo = yaml_reader.parse(convert.converted(str(old), ALGOS, ENVS), "new").value["algo_cfg"]
    assert {name: layers[0]["layer_size"] for name, layers in algo["branches"].items()} == {"a": [8], "b": [8]}
    assert [layer["layer_size"] for layer in algo["value_layers"]] == [[8]]


def test_values_move_with_a_comment_each() -> None:
    text = convert.converted(str(DATA / "workers.yaml"), ALGOS, ENVS)
    for line in (
        "  env_name: gym  # was CartPole-v1, now env_cfg.id",
        "  updates_per_train: 3  # was n_steps_per_learn, under general_cfg",
        "  epsilon_decay: 200  # was 0.995 per step; this is its time constant in steps",
        "  n_envs: 2  # was n_workers, stepped in one process",
    ):
        assert line in text.splitlines()


def test_what_is_not_converted_comes_first_and_what_is_not_needed_after_it() -> None:
    text = convert.converted(str(DATA / "mc_old.yaml"), ALGOS, ENVS)
    assert text.splitlines()[:3] == [
        "# Left out, since nothing is needed here:",
        "#   general_cfg.test_eps: 20 (max_episode is the number of test episodes in mode test)",
        "#   general_cfg.eval_per_episode: 5 (online_eval: true evaluates every model_save_fre updates)",
    ]
    assert "#   algo_cfg.hidden_dim: 64 (the algorithm has no such network)\n" in text
    text = convert.converted(str(DATA / "workers.yaml"), ALGOS, ENVS)
    heading = "# Left out, since the algorithm does not read it:\n"
    assert f"{heading}#   algo_cfg.critic_lr: 0.1 (a setting of A2C, AIRL, APPO and others; DQN has none)\n" in text
    assert "#   algo_cfg.action_type: 'dqn' (follows from the environment)\n" in text
    text = convert.converted(str(DATA / "ppo_0_6.yaml"), ALGOS, ENVS)
    assert "Not converted" not in text
    assert "#   general_cfg.n_steps_per_learn: 4 (the number of updates follows from the algorithm)\n" in text


def test_convert_writes_no_empty_section_and_says_how_wrappers_were_named(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text("general_cfg: {algo_name: DQN}\nenv_cfg: {wrappers: [MultiHeadObsWrapper]}\nalgo_cfg:\n")
    text = convert.converted(str(old), ALGOS, ENVS)
    assert [line for line in text.splitlines() if line.endswith("cfg:")] == ["general_cfg:", "algo_cfg:"]
    assert loaded_text(text, tmp_path).env == loaded(None).env
    old.write_text("env_cfg: {wrappers: [{wrapper_name: joyrl.FrameStack, num_stack: 2}, ClipReward, my_mod:Mine]}")
    line = convert.converted(str(old), ALGOS, ENVS).splitlines()[-1]
    new = "  wrappers: [{wrapper_name: FrameStack, stack_size: 2}, SignReward, 'my_mod:Mine']"
    assert line == f"{new}  # was FrameStack, ClipReward, my_mod:Mine"
    old.write_text("env_cfg: {wrappers: [FlattenObservation]}")
    assert convert.converted(str(old), ALGOS, ENVS).splitlines()[-1] == "  wrappers: [FlattenObservation]"


def loaded_text(text: str, folder: Path) -> RunConfig:
    (folder / "new.yaml").write_text(text)
    return loaded(folder / "new.yaml")


@pytest.mark.parametrize("algo", ["DQN", "PQN", "QLearning"])
def test_a_decay_per_step_is_refused_with_the_same_number_that_convert_writes(algo: str) -> None:
    message = refused(f"general_cfg.algo_name={algo}", "algo_cfg.epsilon_decay=0.995", "algo_cfg.gamma=2")
    assert "epsilon_decay: got 0.995, a factor per step; expected a number of environment steps: write 200," in message
    assert "gamma: got 2" in message, "together with the other problems"


@pytest.mark.parametrize(("factor", "steps"), [("0.9", 10), ("0.99", 100), ("0.999", 1000), ("1e-9", 1)])
def test_a_decay_per_step_becomes_a_time_constant(factor: str, steps: int) -> None:
    assert f"write {steps}, which is 1 / (1 - {float(factor)})" in refused(f"algo_cfg.epsilon_decay={factor}")
    assert loaded(None, f"algo_cfg.epsilon_decay={steps}").algo.epsilon_decay == steps
    assert "epsilon_decay: got 0; expected a number at least 1" in refused("algo_cfg.epsilon_decay=0")


def test_processes_without_ray_become_environments_of_one_process(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text("general_cfg: {algo_name: DQN, mp_backend: mp, n_workers: 2}")
    text = convert.converted(str(old), ALGOS, ENVS)
    assert "  mp_backend: single  # was mp\n" in text
    assert "  n_envs: 2  # was n_workers, stepped in one process\n" in text


def test_a_file_that_is_already_new_keeps_its_settings() -> None:
    path = DATA.parent / "quickstart.yaml"
    new = yaml_reader.parse(convert.converted(str(path), ALGOS, ENVS), "new").value
    assert new["algo_cfg"]["value_layers"][0] == {"layer_type": "linear", "layer_size": [256], "activation": "relu"}
    assert new["general_cfg"]["max_episode"] == 100


@pytest.mark.parametrize("text", ["- a", "a: [", "5"])
def test_convert_answers_a_file_that_is_no_configuration(tmp_path: Path, text: str) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(text)
    assert main.main(["convert", str(old)]) == 2


def test_convert_survives_odd_shapes(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text("general_cfg: 5\nalgo_cfg: {branch_layers: 3, actor_layers: x, her_sample_num: y}\nenv_cfg: [1]\n")
    with pytest.raises(ConfigError, match="expected lines of the form name: value"):
        convert.converted(str(old), ALGOS, ENVS)
    old.write_text("algo_cfg: {branch_layers: 3, merge_layers: x, value_layers: x, her_sample_num: y}\n")
    assert "value_layers" in convert.converted(str(old), ALGOS, ENVS)


@pytest.mark.parametrize(
    "name", ["continuous", "action_type", "action_type_list", "eval_per_episode", "independ_actor"]
)
def test_a_key_of_another_section_belongs_to_the_environment(name: str) -> None:
    assert f"env_cfg.{name}: unknown" in refused(f"env_cfg.{name}=true"), "CartPole-v1 has no such argument"


def test_an_argument_of_the_environment_reaches_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--algo", "PPO", "--env", "LunarLander-v3", "env_cfg.continuous=true", "--dry-run"]
    assert main.main(words) == 0
    assert "action        Box, shape 2" in capsys.readouterr().out


def new_settings(text: str, tmp_path: Path) -> dict:
    """Returns what convert makes of a file."""
    (tmp_path / "old.yaml").write_text(text)
    return yaml_reader.parse(convert.converted(str(tmp_path / "old.yaml"), ALGOS, ENVS), "new").value


def test_a_critic_s_branch_of_the_action_ends_where_the_action_joins(tmp_path: Path) -> None:
    layer = "{layer_type: linear, layer_size: [8], activation: relu}"
    none = "[{name: state, layers: [{layer_type: none}]}, {name: action, layers: [{layer_type: none}]}]"
    head = "general_cfg: {algo_name: DDPG}\nenv_cfg: {id: Pendulum-v1}\n"
    new = new_settings(f"{head}algo_cfg:\n  critic_branch_layers: {none}\n  critic_merge_layers: [{layer}]\n", tmp_path)
    assert "branches" not in new["algo_cfg"]
    assert [layer["layer_size"] for layer in new["algo_cfg"]["critic_layers"]] == [[8]]
    both = f"[{{name: state_branch, layers: [{layer}]}}, {{name: action_branch, layers: [{layer}]}}]"
    text = f"{head}algo_cfg:\n  critic_branch_layers: {both}\n  critic_merge_layers: [{layer}]\n"
    assert len(new_settings(text, tmp_path)["algo_cfg"]["critic_layers"]) == 2
    converted = convert.converted(str(tmp_path / "old.yaml"), ALGOS, ENVS)
    assert "'action_branch' (the action joins the observation before the critic's last layers)" in converted


def test_sizes_of_inputs_and_outputs_are_those_of_the_environment(tmp_path: Path) -> None:
    sizes = ("[n_states, 64]", "[64, 32]", "[32, n_actions]")
    layers = ", ".join(f"{{layer_type: linear, layer_dim: {size}, activation: relu}}" for size in sizes)
    new = new_settings(f"algo_cfg: {{value_layers: [{layers}]}}", tmp_path)
    assert [layer["layer_size"] for layer in new["algo_cfg"]["value_layers"]] == [[64], [32]]


@pytest.mark.parametrize(
    ("old", "section", "expected"),
    [
        ("general_cfg: {device: cuda}", "general_cfg", {"device": "auto"}),
        ("env_cfg: {id: CliffWalking-v0}", "env_cfg", {"id": "CliffWalking-v1"}),
        ("env_cfg: {id: LunarLanderContinuous-v2, render: false}", "env_cfg", {"id": "LunarLanderContinuous-v3"}),
        ("env_cfg: {id: HalfCheetah-v2}", "env_cfg", {"id": "HalfCheetah-v5"}),
        ("env_cfg: {wrappers: [{wrapper_name: ResizeObservation, shape: 84}]}", "env_cfg",
         {"wrappers": [{"wrapper_name": "ResizeObservation", "shape": [84, 84]}]}),
        ("general_cfg: {algo_name: BC, max_episode: 5}\nalgo_cfg: {train_iterations: 500, expert_path: x.pkl}",
         "general_cfg", {"max_update": 500, "max_episode": None}),
        ("general_cfg: {algo_name: BC}\nalgo_cfg: {expert_path: x.pkl}", "algo_cfg", {"data": "x.pkl"}),
        ("general_cfg: {algo_name: PPO}\nalgo_cfg: {buffer_type: REPLAY_QUE, lr: 0.1}", "algo_cfg",
         {"buffer_type": None, "lr": 0.1}),
        ("general_cfg: {algo_name: DDPG}\nalgo_cfg: {actor_hidden_dim: 32}", "algo_cfg",
         {"actor_layers": [{"layer_type": "linear", "layer_size": [32, 32], "activation": "relu"}]}),
        ("algo_cfg: {value_layers: [{layer_type: pooling, kernel_size: 2, padding: 0}]}", "algo_cfg",
         {"value_layers": [{"layer_type": "pooling", "kernel_size": 2}]}),
    ],
)  # fmt: skip
def test_convert_writes_what_the_loader_would_ask_for(old: str, section: str, expected: dict, tmp_path: Path) -> None:
    settings = new_settings(old, tmp_path).get(section, {})
    assert {key: settings.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "CartPole-v1:\n  n_timesteps: 1e5\n  policy: MlpPolicy\n",
            "it looks like hyperparameters of rl-baselines3-zoo",
        ),
        ("a: {b: 1}\n", "it is not a file of JoyRL"),
    ],
)
def test_convert_refuses_a_file_of_another_library(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.yml").write_text(text)
    assert main.main(["convert", str(tmp_path / "other.yml")]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert said in captured.err


@pytest.mark.parametrize("letters", foreign_pages.FOLDERS)
def test_the_page_has_the_table_of_the_keys(letters: str) -> None:
    page = (foreign_pages.FOLDERS[letters] / foreign_pages.OF_JOYRL).read_text(encoding="utf-8")
    with language.chosen(letters):
        assert foreign_pages.joyrl_written(page) == page, "write it anew: python -m tests.tools.foreign_pages"
        assert foreign_pages.of_joyrl() in page


LAYER = "{layer_type: linear, layer_size: [8], activation: relu}"


def loaded_file(text: str, tmp_path: Path, *settings: str) -> RunConfig:
    (tmp_path / "theirs.yaml").write_text(text)
    return loaded(tmp_path / "theirs.yaml", *settings)


def test_a_file_of_joyrl_loads_as_it_is_and_says_what_has_become_of_it(tmp_path: Path) -> None:
    text = f"""
general_cfg: {{algo_name: TD3, env_name: Pendulum-v1, device: cuda, mp_backend: mp, n_workers: 2, test_eps: 5, seed: 1}}
algo_cfg:
  actor_branch_layers: [{{name: state, layers: [{LAYER}]}}]
  actor_merge_layers: [{LAYER}]
  critic1_lr: 0.002
  lr: 0.1
"""
    config = loaded_file(text, tmp_path)
    assert (config.env.id, config.env.n_envs, config.general.device) == ("Pendulum-v1", 2, "auto")
    assert (len(config.algo.actor_layers), config.algo.critic_lr) == (2, 0.002)
    [moved] = [note for note in config.notes if note.startswith("JoyRL's settings by our names")]
    for part in ("env_cfg.n_envs (was n_workers, stepped in one process)", "algo_cfg.critic_lr (was critic1_lr)"):
        assert part in moved
    assert "JoyRL's keys that TD3 does not read, left out: algo_cfg.lr" in config.notes
    assert any("general_cfg.test_eps" in note for note in config.notes)
    assert config.where["algo_cfg.critic_lr"].endswith("theirs.yaml:6"), "a problem names the line that was written"


@pytest.mark.parametrize(
    ("settings", "tau", "interval"),
    [
        ("enable_soft_update: true", 0.005, 1),
        ("enable_soft_update: true, target_update: 4", 0.005, 1),
        ("tau_soft_update: 0.02, enable_soft_update: true", 0.02, 1),
        ("enable_soft_update: true, tau_soft_update: 0.02", 0.02, 1),
        ("enable_soft_update: false, tau_soft_update: 0.02, target_update: 7", 1.0, 7),
    ],
)
def test_soft_updates_of_targets_are_made_after_every_update(
    settings: str, tau: float, interval: int, tmp_path: Path
) -> None:
    config = loaded_file(f"general_cfg: {{algo_name: C51}}\nalgo_cfg: {{{settings}}}\n", tmp_path)
    assert (config.algo.tau, config.algo.target_update) == (tau, interval)


def test_a_setting_in_another_section_too_counts_in_its_own(tmp_path: Path) -> None:
    text = "general_cfg: {test_eps: 5, gamma: 0.9}\nalgo_cfg: {gamma: 0.8}\n"
    config = loaded_file(text, tmp_path)
    assert config.algo.gamma == 0.8
    assert any("general_cfg.gamma (algo_cfg has it)" in note for note in config.notes)


def test_one_rate_is_that_of_all_networks(tmp_path: Path) -> None:
    def rates(algo: str, settings: str) -> tuple[float, ...]:
        text = f"general_cfg: {{algo_name: {algo}, test_eps: 5}}\nalgo_cfg: {{lr: 0.01{settings}}}\n"
        config = loaded_file(text, tmp_path).algo
        return config.actor_lr, config.critic_lr, config.alpha_lr

    assert rates("SAC", "") == rates("SAC_D", "") == (0.01, 0.01, 0.01)
    assert rates("SAC", ", alpha: 0.1") == (0.01, 0.01, 1e-4), "alpha is not tuned"
    assert rates("SAC", ", actor_lr: 0.02") == (0.02, 1e-3, 1e-4), "lr was not read there; JoyRL's defaults"


def test_a_test_plays_test_eps_episodes_and_collecting_writes_trajectories(tmp_path: Path) -> None:
    general = ("mode: collect, load_checkpoint: true", "test_eps: 20, train_eps: 100", "train_eps: 100, test_eps: 20")
    for order in general[1:]:
        (tmp_path / "old.yaml").write_text(f"general_cfg: {{{general[0]}, {order}}}\n")
        text = convert.converted(str(tmp_path / "old.yaml"), ALGOS, ENVS)
        assert "  max_episode: 20  # was test_eps" in text
        assert "  collect_traj: true  # added: mode was collect" in text
        assert "Not converted" not in text


@pytest.mark.parametrize(
    ("general", "device"),
    [
        ("device: custom, learner_device: cuda", "auto"),
        ("learner_device: cuda, interactor_device: cpu", "auto"),
        ("device: custom, interactor_device: cpu, learner_device: cpu", "cpu"),
        ("device: custom", "cpu"),
        ("device: cpu, learner_device: cuda", "cpu"),
        ("device: cuda, learner_device: cpu", "auto"),
        ("device: custom, learner_device:", "cpu"),
    ],
)
def test_the_device_of_the_learner_is_read_where_device_leaves_it_to_it(
    general: str, device: str, tmp_path: Path
) -> None:
    assert loaded_file(f"general_cfg: {{{general}}}\n", tmp_path).general.device == device
    assert main.main(["convert", str(tmp_path / "theirs.yaml")]) == 0


@pytest.mark.parametrize("general", ["n_workers: 3", "mp_backend: single, n_workers: 3", "n_interactors: 3"])
def test_ray_on_the_command_line_has_the_workers_of_the_file(general: str, tmp_path: Path) -> None:
    text = f"general_cfg: {{train_eps: 5, {general}}}\n"
    config = loaded_file(text, tmp_path, "general_cfg.mp_backend=ray")
    assert (config.general.mp_backend, config.general.n_workers, config.env.n_envs) == ("ray", 3, 1)


def test_a_file_that_says_single_starts_no_processes(tmp_path: Path) -> None:
    config = loaded_file("general_cfg: {mp_backend: single, n_interactors: 3}\n", tmp_path)
    assert (config.general.mp_backend, config.general.n_workers, config.env.n_envs) == ("single", 1, 3)
    config = loaded_file("general_cfg: {n_interactors: 3}\n", tmp_path)
    assert (config.general.mp_backend, config.general.n_workers) == ("ray", 3)


@pytest.mark.parametrize(
    ("general", "env", "mode"),
    [
        ("render: false, render_mode: human", "id: CartPole-v1", None),
        ("render_mode: human, render: false", "id: CartPole-v1", None),
        ("seed: 1", "render_mode: rgb_array, render: false", None),
        ("render: true, render_mode: rgb_array", "id: CartPole-v1", "rgb_array"),
        ("seed: 1", "render: true, render_mode: rgb_array", "rgb_array"),
        ("render: false", "render: false", None),
    ],
)
def test_a_file_that_is_not_to_render_shows_nothing(general: str, env: str, mode: str | None, tmp_path: Path) -> None:
    """JoyRL's first presets say `render: false, render_mode: human`."""
    config = loaded_file(f"general_cfg: {{{general}}}\nenv_cfg: {{{env}}}\n", tmp_path)
    assert config.env.render_mode == mode


def test_a_test_that_the_command_line_asks_for_plays_test_eps_episodes(tmp_path: Path) -> None:
    for order in ("train_eps: 100, test_eps: 20", "test_eps: 20, train_eps: 100"):
        text = f"general_cfg: {{{order}}}\n"
        assert loaded_file(text, tmp_path).general.max_episode == 100
        work = joyrl_settings.Rewriting(
            sources.from_document(yaml_reader.parse(text, "old"), written=True), ALGOS, ENVS, {"mode": "test"}
        )
        assert work.run().new["general_cfg"]["max_episode"] == 20


def test_the_quick_start_has_joyrls_defaults_where_it_leaves_out_a_setting(tmp_path: Path) -> None:
    config = loaded(DATA.parent / "quickstart.yaml")
    values = {"loss": "mse", "double": False, "train_fre": 1, "updates_per_train": 1, "learning_starts": 0, "tau": 1.0,
              "epsilon_schedule": "exponential"}  # fmt: skip
    assert {key: getattr(config.algo, key) for key in values} == values
    [note] = [note for note in config.notes if note.startswith("JoyRL's defaults: ")]
    assert "algo_cfg.loss" in note
    assert "tau" not in note, "it is the same here"
    text = convert.converted(str(DATA.parent / "quickstart.yaml"), ALGOS, ENVS)
    assert "  loss: mse  # JoyRL's default" in text


@pytest.mark.parametrize("algo", joyrl.DEFAULTS)
def test_joyrls_defaults_are_valid_and_give_way_to_what_is_written(algo: str, tmp_path: Path) -> None:
    text = f"general_cfg: {{algo_name: {algo}, train_eps: 7}}\nalgo_cfg: {{gamma: 0.5}}\n"
    config = loaded_file(text, tmp_path).algo
    theirs = {key: value for key, value in joyrl.defaults(algo).items() if key in type(config).model_fields}
    assert theirs
    assert {key: getattr(config, key) for key in ("gamma", *theirs)} == {**theirs, "gamma": 0.5}


def test_a_run_that_is_loaded_has_its_own_settings_and_no_defaults_of_joyrl(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("general_cfg: {algo_name: DQN_new, load_checkpoint: true, load_path: x}\n")
    assert "loss" not in convert.converted(str(tmp_path / "old.yaml"), ALGOS, ENVS)


def test_the_loader_and_convert_agree(tmp_path: Path) -> None:
    for path in sorted(DATA.glob("*.yaml")):
        text = convert.converted(str(path), ALGOS, ENVS)
        assert loaded_text(text, tmp_path).sections() == loaded(path).sections(), path.name


def test_actor_and_critic_share_layers_unless_independ_actor_is_true(tmp_path: Path) -> None:
    layers = f"branch_layers: [{{name: state, layers: [{LAYER}]}}], merge_layers: [{LAYER}]"
    both = f"{layers}, actor_branch_layers: [{{name: s, layers: []}}], actor_lr: 0.5, critic_lr: 0.5, lr: 0.001"
    config = loaded_file(f"general_cfg: {{algo_name: PPO}}\nalgo_cfg: {{{both}}}\n", tmp_path)
    assert [layer.shared for layer in config.algo.actor_layers] == ["trunk_1", "trunk_2"]
    assert config.algo.critic_layers == config.algo.actor_layers
    assert (config.algo.actor_lr, config.algo.critic_lr) == (0.001, 0.001)
    own = f"independ_actor: true, actor_branch_layers: [{{name: s, layers: [{LAYER}]}}], {layers}, actor_lr: 0.5"
    config = loaded_file(f"general_cfg: {{algo_name: PPO}}\nalgo_cfg: {{{own}}}\n", tmp_path)
    assert [layer.shared for layer in config.algo.actor_layers] == [None]
    assert config.algo.actor_lr == 0.5
    config = loaded_file("general_cfg: {algo_name: PPO}\nalgo_cfg: {independ_actor: false}\n", tmp_path)
    assert [layer.shared for layer in config.algo.critic_layers] == ["trunk_1", "trunk_2"]
    assert config.algo.critic_layers == config.algo.actor_layers


def test_an_activation_that_joyrl_does_not_read_is_left_out(tmp_path: Path) -> None:
    layers = "[{layer_type: embed, embedding_dim: 8, activation: relu}]"
    config = loaded_file(f"env_cfg: {{id: FrozenLake-v1}}\nalgo_cfg: {{branch_layers: {layers}}}\n", tmp_path)
    assert config.algo.value_layers[0].embedding_dim == 8


def test_the_wrapper_of_atari_comes_with_the_only_id_that_has_its_own(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    config = loaded_file("env_cfg: {id: BreakoutNoFrameskip-v4, wrapper: [AtariWrapper]}\n", tmp_path)
    assert (config.env.id, config.env.vectorization) == ("ALE/Breakout-v5", "native")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("general_cfg: {test_eps: 5}\nalgo_cfg: {gama: 0.9}\n", "algo_cfg.gama: unknown setting; did you mean gamma?"),
        ("general_cfg: {test_eps: 5, seeds: 1}\n", ":1: general_cfg.seeds: unknown setting; did you mean seed?"),
        ("algo_cfg: {merege_layers: [], branch_layers: []}\n", ":1: algo_cfg.merege_layers: unknown setting"),
        ("algo_cfg: {share_optimizer: true}\n",
         "JoyRL's key, here: actor and critic have separate optimizers; write lr as actor_lr and critic_lr"),
        ("general_cfg: {test_eps: 5, algo_name: DNQ}\n", "unknown name 'DNQ'; did you mean DQN?"),
        ("general_cfg: {test_eps: 5, env_name: Racetrack-v0}\n", "there is no environment 'Racetrack-v0'"),
        ("general_cfg: {test_eps: 5, load_checkpoint: true, load_path: Train_x}\n", "'Train_x' does not exist"),
        ("general_cfg: {train_eps: -7}\n", ":1: general_cfg.max_episode: got -7"),
        ("general_cfg: {algo_name: PPO}\nalgo_cfg: {return_form: best}\n", ":2: algo_cfg.return_form: got 'best'"),
        ("algo_cfg: {branch_layers: [{layer_type: nonsense}]}\n", "algo_cfg.value_layers: got 'nonsense'"),
        ("general_cfg: {test_eps: 5}\nenv_cfg: {wrapper: NoWrapper}\n", ":2: env_cfg.wrappers: "),
        ("general_cfg: {test_eps: 5}\nenv_cfg: {continuous: true}\n", "env_cfg.continuous: unknown"),
        ("general_cfg: {test_eps: 5, epsilon_decay: 0.5}\nalgo_cfg: {lr: x}\n", ":2: algo_cfg.lr: got 'x'"),
        ("algo_cfg: {branch_layers: [{layer_type: linear, layer_size: [4], size: 4}]}\n",
         "algo_cfg.value_layers.size: unknown setting"),
        ("algo_cfg: {branch_layers: 5}\n", ":1: algo_cfg.branch_layers: got 5; expected a list of layers"),
        ("algo_cfg: {merge_layers: [{name: a, layers: 5}]}\n", "algo_cfg.merge_layers: got ["),
        ("algo_cfg: {max_buffer_size: 500, buffer_size: 700}\n", "another spelling of max_buffer_size"),
        ("general_cfg: {algo_name: TD3}\nalgo_cfg: {critic1_lr: 0.1, critic2_lr: 0.2}\n",
         ":2: algo_cfg.critic2_lr: sets critic_lr, which has another value already; keep one"),
        ("general_cfg: {env_name: CartPole-v1}\nenv_cfg: {id: Acrobot-v1}\n",
         ":1: general_cfg.env_name: is an environment, and env_cfg.id is Acrobot-v1; keep one"),
        ("general_cfg: {env_name: CartPole-v7}\n", "there is no CartPole-v7; the current version is CartPole-v1"),
        ("algo_cfg: {enable_soft_update: 3}\n", ":1: algo_cfg.enable_soft_update: got 3; expected true or false"),
        ("general_cfg: {algo_name: DDPG_HER}\nalgo_cfg: {her_sample_num: x}\n", "got 'x' (text); expected a number n"),
        ("general_cfg: {algo_name: DDPG_HER}\nalgo_cfg: {her_sample_num: -1}\n", "got -1; expected a number n, 0 or"),
        ("general_cfg: {algo_name: DDPG_HER}\nalgo_cfg: {her_sample_num: true}\n", "got true; expected a number n"),
        ("general_cfg: {algo_name: PPO}\nalgo_cfg: {return_form: [gae]}\n", ":2: algo_cfg.return_form: got ["),
        ("general_cfg: {algo_name: SAC}\nalgo_cfg: {automatic_entropy_tuning: 1}\n", "expected true or false"),
        ("general_cfg: {algo_name: SAC}\nalgo_cfg: {automatic_entropy_tuning: false}\n", "write alpha, the number"),
        ("general_cfg: {algo_name: SAC}\nalgo_cfg: {automatic_entropy_tuning: true, alpha: 0.2}\n",
         ":2: algo_cfg.alpha: has another value already (was automatic_entropy_tuning: True); keep one"),
        ("general_cfg: {algo_name: A2C}\nalgo_cfg: {update_freq: 20, batch_size: 40}\n",
         ":2: algo_cfg.batch_size: has another value already (was update_freq); keep one"),
        ("general_cfg: {algo_name: A2C}\nalgo_cfg: {batch_size: 40, update_freq: 20}\n",
         ":2: algo_cfg.update_freq: sets batch_size, which has another value already; keep one"),
        ("general_cfg: {test_eps: 5, n_workers: 3}\nenv_cfg: {n_envs: 2}\n",
         ":1: general_cfg.n_workers: sets n_envs, which has another value already; keep one"),
        ("general_cfg: {render: rgb_array}\n", ":1: general_cfg.render: got 'rgb_array' (text); expected true"),
        ("algo_cfg: {return_form: x}\ngeneral_cfg: {algo_name: PPO, joyrl_version: 1}\n", ":1: algo_cfg.return_form: "),
        ("general_cfg: {test_epss: 5}\n", ":1: general_cfg.test_epss: unknown setting; did you mean test_eps?"),
        ("general_cfg: {algo_name: PPO, test_eps: 5}\nalgo_cfg: {buffer_type: REPLAY_QUE}\n",
         ":2: algo_cfg.buffer_type: got 'REPLAY_QUE' (text); expected ONPOLICY_QUE"),
        ("general_cfg: {test_eps: 5}\nalgo_cfg: 7\n", ":2: algo_cfg: got 7; expected lines of the form name: value"),
    ],
)  # fmt: skip
def test_a_file_of_joyrl_is_checked_like_any_other(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded_file(text, tmp_path)
    assert said in str(caught.value)
