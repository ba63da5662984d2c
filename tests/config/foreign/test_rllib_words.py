"""Each of RLlib's words does what docs/rllib.md says of it, and what is wrong is one sentence with its place."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config.foreign import names as foreign_names
from config.foreign import rllib
from config.foreign.cases import NoCounterpartError
from config.foreign.convert import converted
from config.foreign.experiments import load_all
from config.foreign.rllib_keys import CONFIG, HINTS, MAPPINGS, PARTS, RULES, TABLES, plain
from config.foreign.rllib_values import same_padding
from config.foreign.table import Scope
from config.own import objects as own
from config.read.loader import ConfigError
from framework.catalog import ALGOS, ENVS
from main import main
from tests.config.foreign.test_rllib_names import FIND, file, loaded, of, problems

MODEL_DEFAULTS: dict[str, Any] = {
    "conv_filters": None, "conv_activation": "relu", "fcnet_activation": "tanh", "fcnet_hiddens": [256, 256],
    "free_log_std": False, "squash_to_range": False, "use_lstm": False, "max_seq_len": 20, "lstm_cell_size": 256,
    "lstm_use_prev_action_reward": False, "framestack": True, "dim": 84, "grayscale": False, "zero_mean": True,
    "custom_preprocessor": None, "custom_model": None, "custom_options": {},
}  # fmt: skip
ATARI = pytest.mark.skipif(find_spec("ale_py") is None, reason="needs ale-py")
FILTERS = [[16, [4, 4], 2], [32, [4, 4], 2], [512, [11, 11], 1]]


def scope(algo: str = "PPO") -> Scope:
    config = of(algo)
    models = {"general_cfg": type(config.general), "algo_cfg": type(config.algo), "env_cfg": type(config.env)}
    return Scope(models)


# ---------------------------------------------------------------------------------------------------- the table


@pytest.mark.parametrize("table", [CONFIG, RULES, PARTS], ids=["config", "stop", "parts"])
def test_null_is_accepted_for_every_word(table: dict[str, Any]) -> None:
    known = scope()
    settings = {word: rllib.meaning_of(word, None, known).settings for word in table}
    expected = {word: ours for word, ours in NULLS.items() if word in table}
    expected |= {word: settings[word] for word in NULLS_OF_LAYERS if word in table}
    assert {word: ours for word, ours in settings.items() if ours} == expected


NULLS = {
    "grad_clip": {"algo_cfg.max_grad_norm": None},
    "grad_norm_clipping": {"algo_cfg.max_grad_norm": None},
    "horizon": {"general_cfg.max_step": -1},
}
"""Words whose null is another one than the default here."""
NULLS_OF_LAYERS = ("fcnet_activation", "model.fcnet_activation")
"""Words whose null is an activation of layers: none."""


def test_a_word_that_needs_nothing_is_accepted_at_every_value_for_which_that_is_so() -> None:
    known = scope()
    for word, row in CONFIG.items():
        if row.needless:
            for value in row.values or (True, False, 3, "x", [], {}):
                assert rllib.meaning_of(word, value, known).settings == {}, word


def test_a_word_that_is_refused_is_refused_with_the_remark_of_its_row() -> None:
    known = scope()
    refused = {word: row for word, row in CONFIG.items() if row.refused and not row.settings and row.values}
    assert len(refused) > 40
    for word, row in refused.items():
        with pytest.raises(NoCounterpartError) as caught:
            rllib.meaning_of(word, "another value", known)
        assert str(caught.value) == plain(row.refused), word


def test_every_setting_of_a_row_exists_somewhere() -> None:
    fields = {key for name in ALGOS.available() for key in ALGOS.get(name).Config.model_fields}
    known = {"general_cfg": set(type(of("PPO").general).model_fields), "algo_cfg": fields}
    known["env_cfg"] = set(type(of("PPO").env).model_fields)
    for table in (*TABLES.values(), *MAPPINGS.values()):
        assert [path for row in table.values() for path in row.paths() if path[1] not in known[path[0]]] == []


def test_the_names_of_messages_mean_the_same_as_the_table() -> None:
    """Names that other libraries have, too, are in tables of their own."""
    assert {word.lower() for word in {**CONFIG, **RULES, **PARTS} if "." not in word} <= set(HINTS)
    for word in set(CONFIG) & set(foreign_names.NAMES):
        ours = set(CONFIG[word].paths())
        theirs = {(section, key) for section, key, _ in foreign_names.ours(word)}
        assert not ours or not theirs or ours & theirs, word


def test_what_messages_say_of_a_word_is_a_sentence_without_the_links_of_the_page() -> None:
    for word, row in HINTS.items():
        assert not re.search(r"`|\]\(|here it is -|below|see above", f"{row.remark} {row.refused}"), word


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("algo_cfg.conv_filters=[]", "conv_filters: unknown setting; here it is {layer_type: conv2d, "),
        ("algo_cfg.exploration_config={}", "it is called exploration_type here, a setting of "),
        ("algo_cfg.epsilon_timesteps=9", "it is called epsilon_decay here, a setting of "),
        ("general_cfg.num_envs=2", "it is called env_cfg.n_envs here"),
        ("general_cfg.evaluation_interval=2", "here it is general_cfg.online_eval: true: at each checkpoint"),
    ],
)
def test_a_word_in_a_section_is_answered_from_the_table(word: str, answer: str) -> None:
    [problem] = problems(word, algo="PPO")
    assert answer in problem


# --------------------------------------------------------------------------------------------------------- model


@pytest.mark.parametrize(
    ("algo", "env"),
    [*((algo, "CartPole-v1") for algo in ("PPO", "A2C", "DQN", "IMPALA")), ("SAC", "Pendulum-v1")],
)
def test_the_defaults_of_a_model_are_accepted_whole_and_one_by_one(algo: str, env: str) -> None:
    config = of(algo, env=env, model=MODEL_DEFAULTS)
    for key in {"value_layers", "actor_layers", "critic_layers"} & set(type(config.algo).model_fields):
        [layer] = getattr(config.algo, key)
        assert (layer.layer_size, layer.activation) == ([256, 256], "tanh")
    assert config.env.wrappers is None
    for word, value in MODEL_DEFAULTS.items():
        assert of(algo, env=env, model={word: value})


def test_the_defaults_of_a_model_are_accepted_as_they_are_in_a_program() -> None:
    text = f"{{'model': {{  # a comment\n {str(MODEL_DEFAULTS)[1:-1]},\n}}}}"
    assert "None" in text
    assert loaded(algo="PPO", config=text) == of("PPO", model=MODEL_DEFAULTS)


@pytest.mark.parametrize(
    ("model", "path", "expected"),
    [
        ({"fcnet_hiddens": [32]}, "algo.actor_layers", [("linear", [32])]),
        ({"use_lstm": True, "lstm_cell_size": 64}, "algo.actor_layers", [("linear", [256, 256]), ("lstm", [64])]),
        ({"use_lstm": True, "fcnet_hiddens": []}, "algo.critic_layers", [("lstm", [256])]),
        ({"max_seq_len": 9}, "algo.lookup_step", 9),
        ({"dim": 42}, "env.wrappers", [{"wrapper_name": "Resize", "shape": 42}]),
        ({"grayscale": True}, "env.wrappers", ["GrayScale"]),
        ({"grayscale": True, "dim": 64}, "env.wrappers", ["GrayScale", {"wrapper_name": "Resize", "shape": 64}]),
        ({"num_framestacks": 3}, "env.wrappers", [{"wrapper_name": "FrameStack", "stack_size": 3}]),
        ({"lstm_cell_size": 64}, "algo.actor_layers", [("linear", [64]), ("linear", [64])]),
        ({"post_fcnet_hiddens": [32]}, "algo.actor_layers", [("linear", [256, 256, 32])]),
        ({"fcnet_hiddens": 64, "post_fcnet_hiddens": 32}, "algo.actor_layers", [("linear", [64, 32])]),
        ({"use_attention": True}, "algo.critic_layers", [("linear", [256, 256]), ("attention", [64])]),
        (
            {"use_attention": True, "attention_num_transformer_units": 2, "attention_dim": 32, "max_seq_len": 20},
            "algo.actor_layers",
            [("linear", [256, 256]), ("attention", [32]), ("attention", [32])],
        ),
    ],
)
def test_a_word_of_a_model_sets_what_the_page_says(model: dict[str, Any], path: str, expected: Any) -> None:
    section, _, key = path.partition(".")
    value = getattr(getattr(of("PPO", model=model), section), key)
    if key.endswith("_layers"):
        value = [(layer.layer_type, layer.layer_size) for layer in value]
    assert value == expected


@pytest.mark.parametrize(
    ("model", "activations"),
    [
        ({"fcnet_activation": None}, ["none"]),
        ({"fcnet_hiddens": [], "post_fcnet_hiddens": [32]}, ["relu"]),
        ({"fcnet_hiddens": [], "post_fcnet_hiddens": [32], "post_fcnet_activation": None}, ["none"]),
        ({"post_fcnet_hiddens": [32], "post_fcnet_activation": "relu"}, ["tanh"]),
        ({"conv_filters": FILTERS, "conv_activation": None}, ["none", "none", "none"]),
    ],
    ids=str,
)
def test_an_activation_is_that_of_the_layers_that_rllib_gives_it_to(
    model: dict[str, Any], activations: list[str]
) -> None:
    assert [layer.activation for layer in of("PPO", model=model).algo.actor_layers] == activations


def test_words_of_a_model_beside_it_set_what_they_set_within_it() -> None:
    for model in (
        {"fcnet_hiddens": [32], "fcnet_activation": "relu"},
        {"fcnet_hiddens": [32], "fcnet_activation": None},
        {"use_lstm": True},
    ):
        assert of("PPO", **model).algo == of("PPO", model=model).algo


def test_the_window_and_the_heads_of_attention_are_those_of_rllib() -> None:
    words = {"attention_num_heads": 2, "attention_memory_inference": 10, "attention_head_dim": 16}
    layer = of("PPO", model={"use_attention": True, **words}).algo.actor_layers[-1]
    assert (layer.window, layer.heads) == (10, 2)
    assert of("PPO", model={"use_attention": True}).algo.actor_layers[-1].window == 50
    [problem, _] = problems(algo="PPO", config={"model": {"use_attention": True, "use_lstm": True}})
    assert "use_lstm and use_attention are both true; keep one of them" in problem


@pytest.mark.parametrize("word", ["lstm_weights_initializer", "log_std_clip_param", "attention_use_n_prev_actions"])
def test_a_word_that_would_do_nothing_is_refused(word: str) -> None:
    [problem] = problems(algo="PPO", config={"model": {word: 7}})
    assert problem.startswith(f"Python: config: model.{word}: ")


@pytest.mark.parametrize(
    "word",
    ["remote_worker_envs", "rmsprop", "use_gae", "vtrace", "use_huber", "prioritized_replay", "twin_q"]
    + ["smooth_target_policy"]
    + [f"model.{word}" for word in ("vf_share_layers", "use_lstm", "framestack", "no_framestack", "grayscale")],
)
@pytest.mark.parametrize("value", ["nonsense", 7, -3, [1], {}], ids=str)
def test_a_switch_takes_true_and_false_alone(word: str, value: Any) -> None:
    with pytest.raises(NoCounterpartError, match=r"^expected true or false$"):
        rllib.meaning_of(word, value, scope())


@pytest.mark.parametrize(
    ("algo", "config"),
    [
        ("PPO", {"observation_filter": []}),
        ("DQN", {"training_intensity": float("inf")}),
        ("DQN", {"target_network_update_freq": float("inf")}),
        ("DQN", {"exploration_fraction": float("inf")}),
        ("DQN", {"exploration_fraction": -3}),
        ("DQN", {"exploration_fraction": 7}),
        ("DQN", {"exploration_config": {"epsilon_timesteps": -3}}),
        ("PPO", {"lr_schedule": [[0, 1], [float("inf"), 0]]}),
        ("PPO", {"lr": [[100, 1e-3], [0, 1e-4]]}),
        ("PPO", {"entropy_coeff_schedule": [0.01, 0.0]}),
        ("PPO", {"preprocessor_pref": "nonsense"}),
    ],
    ids=str,
)
def test_a_value_that_means_nothing_is_one_sentence(algo: str, config: dict[str, Any]) -> None:
    [problem] = problems(algo=algo, config=config)
    word = next(iter(config))
    assert problem.startswith(f"Python: config: {word}")


def test_a_word_for_the_layers_of_a_value_network_is_none_of_ppo() -> None:
    [problem] = problems(algo="PPO", config={"hiddens": [64]})
    assert problem.startswith("Python: config: hiddens: it is called value_layers here, a setting of ")


def test_an_activation_alone_leaves_the_sizes_at_the_default_of_rllib() -> None:
    config = loaded(algo="DDPG", env="Pendulum-v1", config={"actor_hidden_activation": "tanh"})
    assert [(layer.layer_size, layer.activation) for layer in config.algo.actor_layers] == [([400, 300], "tanh")]


def test_a_model_of_ones_own_is_a_custom_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_of_rllib.py").write_text("import torch\nclass Net(torch.nn.Module): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    model = {"custom_model": "mine_of_rllib:Net", "custom_options": {"width": 8}}
    config = loaded(algo="PPO", config=json.dumps({"model": model}), allow_import=["mine_of_rllib"])
    [layer] = config.algo.actor_layers
    assert (layer.layer_type, layer.module, layer.options) == ("custom", "mine_of_rllib:Net", {"width": 8})


def test_the_options_are_those_of_the_preprocessor_and_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "both_of_rllib.py").write_text(
        "import gymnasium, torch\n"
        "class Net(torch.nn.Module):\n    def __init__(self, in_shape, width): super().__init__()\n"
        "class Prep(gymnasium.Wrapper):\n    def __init__(self, env, width): super().__init__(env)\n"
        "class OfRllib(torch.nn.Module):\n"
        "    def __init__(self, obs_space, action_space, num_outputs, model_config, name): super().__init__()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run = {"algo": "PPO", "allow_import": ["both_of_rllib"]}
    options = {"custom_preprocessor": "both_of_rllib:Prep", "custom_options": {"width": 8}}
    config = loaded(**run, config={"model": options})
    assert config.env.wrappers == [{"wrapper_name": "both_of_rllib:Prep", "width": 8}]
    both = loaded(**run, config={"model": {**options, "custom_model": "both_of_rllib:Net"}})
    assert both.env.wrappers == config.env.wrappers
    assert both.algo.actor_layers[0].options == {"width": 8}
    said = problems(**run, config={"model": {"custom_model": "both_of_rllib:OfRllib"}})
    assert all("OfRllib is made as a model of RLlib; a layer is made as Class(in_shape" in one for one in said)
    said = problems(**run, config={"model": {**options, "custom_options": [8]}})
    assert all("expected a mapping (name: value)" in one for one in said)


def test_recorded_data_are_learned_from_alone() -> None:
    length = {"general_cfg": {"max_update": 5}}
    alone = of("DQN", input="traces", explore=False, input_evaluation=[], **length)
    assert (alone.algo.data, alone.algo.offline_updates) == ("traces", -1)
    assert of("DQN", input={"traces": 1.0}, **length).algo == alone.algo
    assert of("DQN", input="dataset", input_config={"paths": "traces"}, **length).algo == alone.algo
    mixed = of("DQN", input={"sampler": 3, "traces": 1}).algo
    assert (mixed.data, mixed.offline_updates, mixed.data_share) == ("traces", None, 0.25)
    assert of("DQN", input="traces").general.max_update == 10_000, "the limit of the preset counts what is collected"
    [problem] = problems("general_cfg.max_total_step=9", algo="DQN", config={"input": "traces"})
    assert "this run learns from algo_cfg.data alone; set max_update" in problem
    for collects in ("sampler", {"sampler": 1}, {"sampler": 1.0}):
        assert of("DQN", input=collects).algo.data is None
    assert of("BC", input="traces", explore=False).algo.data == "traces"
    [problem] = problems(algo="DQN", config={"exploration_config": {"eta": 0.1}})
    assert "exploration_config.eta: exploration by a bonus is algo_cfg.bonus, with bonus_coef and bonus_lr" in problem
    for value in ({"a": 0.5, "b": 0.5}, {"sampler": 0.5, "a": "half"}, {"a": 0, "sampler": 0}):
        [problem] = problems(algo="DQN", config={"input": value})
        assert "a mixture of data is algo_cfg.data: [FILES] with algo_cfg.data_share" in problem
    [problem] = problems(algo="DQN", config={"explore": False})
    assert "training explores" in problem
    for word in ("input", "output"):
        [problem] = problems(algo="DQN", config=own.by_name({word: lambda context: None}))
        assert f"{word}: expected a path, and no function" in problem


def test_all_faults_of_a_model_are_reported_at_once() -> None:
    said = problems(algo="PPO", config=json.dumps({"model": {"dimm": 42, "use_attention": 1, "use_lstm": 3}}))
    assert len(said) == 3
    assert "--config: model.dimm: is not a word of model; did you mean dim?" in said


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding"), [(42, 4, 2, 1), (21, 4, 2, 2), (84, 8, 4, 2), (9, 3, 1, 1)]
)
def test_the_padding_of_a_convolution_divides_the_size_by_the_stride(
    size: int, kernel: int, stride: int, padding: int
) -> None:
    assert same_padding(size, kernel, stride) == padding
    assert (size + 2 * padding - kernel) // stride + 1 == -(-size // stride)


# --------------------------------------------------------------------------------------------------------- games


@ATARI
@pytest.mark.parametrize("dim", [42, 84])
def test_the_convolutions_of_a_game_are_built(dim: int, capsys: pytest.CaptureFixture[str]) -> None:
    filters = FILTERS if dim == 42 else [[16, [8, 8], 4], [32, [4, 4], 2], [256, [11, 11], 1]]
    words = ["--run", "A2C", "--env", "PongDeterministic-v4", "--dry-run"]
    assert main([*words, "--config", json.dumps({"model": {"dim": dim, "conv_filters": filters}})]) == 0
    out, err = capsys.readouterr()
    assert f"shape 4x{dim}x{dim}" in out
    assert "env PongDeterministic-v4 -> id ALE/Pong-v5, vectorization native" in err


@ATARI
@pytest.mark.parametrize("env", ["PongDeterministic-v4", "PongNoFrameskip-v4", "Pong-v0", "ale_py:ALE/Pong-v5"])
def test_a_game_by_an_earlier_id_is_played_on_its_own_vector_environment(tmp_path: Path, env: str) -> None:
    text = f"game: {{run: DQN, env: '{env}', config: {{model: {{dim: 42, grayscale: true}}, hiddens: [512]}}}}"
    [config] = load_all(file(tmp_path, text), **FIND).values()
    assert (config.env.id, config.env.vectorization) == ("ALE/Pong-v5", "native")
    assert config.env.model_extra == {"img_height": 42, "img_width": 42}
    assert [layer.layer_size for layer in config.algo.value_layers] == [[512]]


def test_an_id_that_has_gone_is_replaced_with_a_note(tmp_path: Path) -> None:
    path = file(tmp_path, "a: {run: SAC, env: Pendulum-v0}")
    [config] = load_all(path, **FIND).values()
    assert config.env.id == "Pendulum-v1"
    assert f"{path}:1: env Pendulum-v0 -> id Pendulum-v1" in config.notes
    assert loaded(algo="SAC", env="Pendulum-v0", of_rllib=True).env.id == "Pendulum-v1"
    with pytest.raises(ConfigError, match="the current version is Pendulum-v1"):
        loaded(algo="SAC", env="Pendulum-v0")


# --------------------------------------------------------------------------------------------- algorithms and files


@pytest.mark.parametrize(
    ("run", "env", "config", "ours", "settings"),
    [
        ("PG", "CartPole-v1", "{}", "REINFORCE", {}),
        ("APEX", "CartPole-v1", "{}", "DQN", {"buffer_type": "PER", "n_step": 3, "double": True}),
        ("APEX", "CartPole-v1", "{n_step: 1, double_q: false}", "DQN", {"n_step": 1, "double": False}),
        ("APPO", "CartPole-v1", "{vtrace: true}", "APPO", {"vtrace": True}),
        ("DQN", "CartPole-v1", "{num_atoms: 51}", "C51", {"n_atoms": 51}),
        ("SAC", "CartPole-v1", "{}", "SAC_D", {}),
        ("A3C", "CartPole-v1", "{}", "IMPALA", {}),
        ("SimpleQ", "CartPole-v1", "{}", "DQN", {"double": False, "dueling": False}),
    ],
)  # fmt: skip
def test_an_algorithm_with_another_name_is_replaced_with_a_note(
    tmp_path: Path, run: str, env: str, config: str, ours: str, settings: dict[str, Any]
) -> None:
    path = file(tmp_path, f"a: {{run: {run}, env: {env}, config: {config}}}")
    [found] = load_all(path, **FIND).values()
    assert ours == found.algo_package.NAME
    assert {key: getattr(found.algo, key) for key in settings} == settings
    assert [note for note in found.notes if f"{run} " in note and (ours in note or "num_atoms" in note)], found.notes


def test_exploration_of_old_files_is_a_line_in_steps() -> None:
    old = {"schedule_max_timesteps": 2_000_000, "exploration_fraction": 0.1, "exploration_final_eps": 0.01}
    algo = of("DQN", **old).algo
    assert (algo.epsilon_decay, algo.epsilon_end, algo.epsilon_schedule) == (200_000, 0.01, "linear")
    assert of("DQN", exploration_fraction=0.5).algo.epsilon_decay == 50_000


LINE = [[0, 5e-4], [20_000_000, 1e-12]]
STEPS = [[0, 1e-3], [1000, 1e-3], [4000, 4e-4]]


@pytest.mark.parametrize(
    ("words", "limit", "setting", "schedule", "steps"),
    [
        ({"lr_schedule": LINE}, None, "lr", {"linear": [5e-4, 1e-12]}, 20_000_000),
        ({"lr": LINE}, None, "lr", {"linear": [5e-4, 1e-12]}, 20_000_000),
        ({"lr": STEPS}, None, "lr", {"piecewise": [[0, 1e-3], [0.25, 1e-3], [1, 4e-4]]}, 4000),
        ({"lr": STEPS}, 2000, "lr", {"piecewise": [[0, 1e-3], [0.5, 1e-3], [1, 8e-4]]}, 2000),  # a third of the fall
        ({"lr": STEPS}, 8000, "lr", {"piecewise": [[0, 1e-3], [0.125, 1e-3], [0.5, 4e-4]]}, 8000),
        ({"lr": 1e-4, "lr_schedule": STEPS[1:]}, 500, "lr", {"constant": 1e-3}, 500),
        ({"entropy_coeff": [[0, 0.01], [100, 0.0]]}, 100, "entropy_coef", {"linear": [0.01, 0.0]}, 100),
        ({"entropy_coeff_schedule": [[0, 0.01], [100, 0.0]]}, None, "entropy_coef", {"linear": [0.01, 0.0]}, 100),
    ],
)  # fmt: skip
def test_points_in_steps_are_a_schedule_over_the_run(
    words: dict[str, Any], limit: int | None, setting: str, schedule: dict[str, Any], steps: int
) -> None:
    stop = {} if limit is None else {"stop": json.dumps({"timesteps_total": limit})}
    run = loaded(algo="IMPALA", config=json.dumps(words), **stop)
    [(kind, numbers)], [(expected, values)] = getattr(run.algo, setting).items(), schedule.items()
    assert kind == expected
    np.testing.assert_allclose(numbers, values)
    assert run.general.max_total_step == steps


def test_points_in_steps_need_a_run_that_is_counted_in_steps() -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(algo="PPO", config=json.dumps({"lr": LINE}), stop='{"episodes_total": 500}')
    assert "its points are steps, and max_episode may end the run; write algo_cfg.lr" in str(refused.value)


def test_parts_of_an_experiment_that_need_nothing_are_notes(tmp_path: Path) -> None:
    text = "a: {run: PPO, env: CartPole-v1, repeat: 3, trial_resources: {cpu: 1}, local_dir: x, checkpoint_freq: 0}"
    [config] = load_all(file(tmp_path, text), **FIND).values()
    assert len([note for note in config.notes if "needs nothing here" in note]) == 4
    assert [note for note in config.notes if "--seeds 1..3 trains 3" in note]


def test_values_to_try_are_for_tune_and_their_number_of_samples_is_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "a:\n  run: PPO\n  env: CartPole-v1\n  num_samples: 2\n  stop: {timesteps_total: 3000}\n"
    path = file(tmp_path, f"{text}  config:\n    lr: {{grid_search: [0.01, 0.001]}}\n")
    assert main(["-f", str(path), "--dry-run"]) == 2
    assert f"{path}:7: a.config.lr: values to try are for: python main.py tune -f {path}" in capsys.readouterr().err
    assert main(["tune", "-f", str(path), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "2 seeds" in out or "4 runs" in out, out
    assert [other.name for other in tmp_path.iterdir()] == ["tuned.yaml"]


def test_a_file_of_settings_alone_needs_the_name_of_its_algorithm(tmp_path: Path) -> None:
    path = tmp_path / "params.json"
    path.write_text(json.dumps({"env": "CartPole-v1", "lr": 0.125, "num_workers": 0, "framework": "tf"}))
    with pytest.raises(ConfigError, match=r"without the name of an algorithm: python main\.py --run NAME -f"):
        load_all(path, **FIND)
    [config] = load_all(path, algo="PPO", **FIND).values()
    assert (config.env.id, config.algo.lr) == ("CartPole-v1", 0.125)


def test_an_experiment_becomes_a_file_of_ours(tmp_path: Path) -> None:
    text = """\
one:
  run: PPO
  env: Pendulum-v0
  stop: {timesteps_total: 3000}
  config: {num_workers: 0, lr: 0.01, framework: tf, nonsense: 1, train_batch_size: 64}
two: {run: DQN, env: CartPole-v1}
"""
    path = str(file(tmp_path, text))
    with pytest.raises(ConfigError, match=r"has 2 experiments, one, two; .* convert FILE NAME"):
        converted(path, ALGOS, ENVS)
    with pytest.raises(ConfigError, match=r"has no experiment 'twoo'; did you mean two"):
        converted(path, ALGOS, ENVS, name="twoo")
    new = converted(path, ALGOS, ENVS, name="one")
    for line in (
        "  id: Pendulum-v1  # was env",
        "  max_total_step: 3000  # was timesteps_total",
        "  mp_backend: single  # was num_workers",
        "  batch_size: 64  # was train_batch_size",
        "  lr: 0.01\n",
    ):
        assert line in new
    assert "# Not converted" in new
    assert "one.config.nonsense: has no counterpart here" in new
    path = tmp_path / "new.yaml"
    path.write_text(new)
    [config] = load_all(path, **FIND).values()
    [same] = load_all(file(tmp_path, text.replace("nonsense: 1, ", "").partition("two:")[0]), **FIND).values()
    assert config.algo == same.algo
    assert config.env == same.env


# ------------------------------------------------------------------------------------------------------- commands


def test_a_checkpoints_folder_names_run_and_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["train", "--run", "QLearning", "--env", "FrozenLake-v1", "--stop", '{"timesteps_total": 120}']
    assert main([*words, "--checkpoint-freq", "0", "--into", "tasks/one", "general_cfg.save_fig=false"]) == 0
    assert "--checkpoint-freq 0: checkpoints are written as general_cfg.model_save_fre says" in capsys.readouterr().out
    [number] = [path.name for path in Path("tasks/one/models").iterdir() if path.name.isdecimal()]
    checkpoint = f"tasks/one/models/{number}"
    assert (
        main(["rollout", checkpoint, "--run", "QLearning", "--env", "FrozenLake-v1", "--steps", "9", "--no-render"])
        == 0
    )
    assert checkpoint in capsys.readouterr().out
    assert main(["evaluate", f"{checkpoint}/", "--run", "QLearning", "--env", "FrozenLake-v1", "--steps", "9"]) == 0
    for sentence, wrong in {
        "tasks/one was trained with QLearning, and algo_name is Sarsa": [checkpoint, "--run", "Sarsa"],
        "tasks/one was trained in FrozenLake-v1, and --env is Taxi-v3": [checkpoint, "--env", "Taxi-v3"],
        "names a model, and --model another one": [checkpoint, "--model", "best"],
        "unknown flag --use-shelve; use --out FILE.jsonl": ["one", "--use-shelve"],
        "unknown flag --video-dir; use python main.py film NAME --into FOLDER": ["one", "--video-dir", "x"],
    }.items():
        assert sentence in refused(capsys, "rollout", *wrong)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command that exits with 2 says."""
    capsys.readouterr()
    try:
        status = main(list(words))
    except SystemExit as end:
        status = end.code
    assert status == 2
    return capsys.readouterr().err


def test_words_of_an_algorithm_that_is_not_named_are_listed_as_not_converted(tmp_path: Path) -> None:
    text = converted(str(file(tmp_path, "num_workers: 0\nlr: 0.001\ngama: 0.9\n")), ALGOS, ENVS)
    assert "mp_backend: single" in text
    assert ": lr: a word of an algorithm, which has to be named first" in text
    assert ": gama: did you mean gamma?" in text
