"""A wrong configuration never trains: it is answered in one message, with places and nearest names."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import algos
from config import machine
from config.foreign import names as foreign_names
from config.program import ROOT
from config.read import presets, tasks, yaml_reader
from config.read.loader import ConfigError, load
from config.read.yaml_reader import DocumentError
from config.tell import hints, json_schema, names
from envs import gym
from framework import catalog
from framework.archive.find import find
from tests.tools.config_fixtures import ALGOS, QUICKSTART, loaded, preset_root, task_root

__all__ = ["preset_root", "task_root"]


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "run.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refused(path: Path | None = None, *overrides: str, **options: Any) -> str:
    """The whole message, without the folder of the file."""
    with pytest.raises(ConfigError) as caught:
        loaded(path, *overrides, **options)
    return str(caught.value).replace(f"{path.parent}/" if path else "\0", "")


def test_a_missing_gpu_is_reported_with_the_other_problems(file: Callable[..., Path], monkeypatch: Any) -> None:
    """CFG-1: in the same round, and with Ray before Ray starts. A cluster may have what this machine lacks."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    path = file("general_cfg:\n  device: cuda\n  seed: -1\nalgo_cfg:\n  gamma: 2")
    problem = "run.yaml:2: general_cfg.device: torch finds no CUDA device here; use cpu, or auto (cuda if available)"
    ray = "general_cfg.mp_backend=ray"
    for words in ([], [ray], ["general_cfg.ray_address=127.0.0.1:9"]):
        assert refused(path, *words).startswith(f"{problem}\n")
        assert refused(path, *words).count("\n") == 2
    assert "general_cfg.device" not in refused(path, ray, "general_cfg.ray_address=127.0.0.1:9")
    assert loaded(None, "general_cfg.device=auto").general.device == "auto"


@pytest.mark.parametrize(
    ("count", "device", "found"),
    [
        (1, "cuda", None), (1, "cuda:0", None), (1, "cuda:1", "only cuda:0 here"), (2, "cuda:1", None),
        (2, "cuda:2", "only cuda:0 to cuda:1 here"), (0, "cuda:0", "no CUDA device here"), (0, "auto", None),
    ],
)  # fmt: skip
def test_a_gpu_with_another_number_is_missing_too(count: int, device: str, found: str | None, monkeypatch: Any) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: count > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: count)
    why = machine.missing_device(device)
    assert why is None if found is None else why is not None and f"torch finds {found};" in why


# ------------------------------------------------------------------------------------------ reading YAML


def test_the_quick_start_loads_verbatim() -> None:
    """COMPAT 0: aliases DQN_new and layer_dim, save_best_model without a value, an unread load_path."""
    config = loaded(QUICKSTART)
    assert (config.general.algo_name, config.general.env_name) == ("DQN", "gym")
    assert config.general.save_best_model is True
    assert [layer.layer_size for layer in config.algo.value_layers] == [[256], [256]]
    assert config.algo.lr == 1e-4
    assert config.where["algo_cfg.lr"] == f"{QUICKSTART}:36"
    assert config.task is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("1e-4", 1e-4), ("1E-4", 1e-4), (".5", 0.5), ("1_000", 1000), ("1e5", 1e5), ("+1.5E+3", 1500.0), ("1.", 1.0)],
        *[("010", 10), ("0x1F", 31), ("0o17", 15), ("-3", -3), ("-.inf", float("-inf")), ("1_000.5", 1000.5)],
        *[("true", True), ("False", False), ("~", None), ("null", None), ("", None)],
        *[
            (word, word)
            for word in ("on", "off", "yes", "No", "y", "2024-01-01", "1:30", "12:30:45", "1__0", "e5", "=")
        ],
        *[('"true"', "true"), ("'1e-4'", "1e-4"), ("[1, a]", [1, "a"]), ("{a: {b: .5}}", {"a": {"b": 0.5}})],
    ],
)
def test_scalars_mean_what_a_person_means(text: str, value: Any) -> None:
    """CFG-4"""
    got = yaml_reader.parse(f"key: {text}", "f").value["key"]
    assert (got, type(got)) == (value, type(value))


def test_numbers_reach_their_fields(file: Callable[..., Path]) -> None:
    """CFG-4: 1e5 is a whole number where one is wanted."""
    config = loaded(
        file("algo_cfg:\n  lr: 1E-4\n  tau: .5\n  buffer_size: 1_000\n  epsilon_decay: 1e3\n  batch_size: 1e2")
    )
    assert (config.algo.lr, config.algo.tau, config.algo.buffer_size, config.algo.batch_size) == (1e-4, 0.5, 1000, 100)


@pytest.mark.parametrize("word", ["off", "no", "yes", "on", "1", "0"])
def test_only_true_and_false_are_booleans(file: Callable[..., Path], word: str) -> None:
    """CFG-4"""
    assert "run.yaml:2: general_cfg.online_eval: got" in (
        message := refused(file(f"general_cfg:\n  online_eval: {word}"))
    )
    assert "expected true or false" in message


@pytest.mark.long
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("general_cfg:\n\tseed: 1", "run.yaml:2:1: a tab; indent with spaces"),
        ("a: [1,", "run.yaml:1:7: ends too early: a bracket or a quote is not closed"),
        ("a: b: c", "run.yaml:1:5: a ':' too many"),
        ("a: [{b:c, d: 1}]", "run.yaml:1:6: a blank is missing after the colon in 'b:c'"),
        ("a: *b", "run.yaml:1:4: an alias (*name) without its anchor"),
        ("a: 1\n---\nb: 1", "run.yaml:2:1: a second document"),
        (b"\x89PNG\r\n\x1a\n\x00", "run.yaml:1:1: not UTF-8 text"),
        (b"general_cfg:\n  seed: \x00", "run.yaml:2:9: character U+0000; this is not a text file"),
        (b"general_cfg:\n  id: caf\xe9", "run.yaml:2:10: not UTF-8 text; save the file as UTF-8"),
        ("algo_cfg: " + "[" * 5000, "run.yaml:1:60: more than 50 levels of nesting"),
        ("algo_cfg: [" + "1," * 20_001, "more than 20000 values"),
        ("algo_cfg: &a [*a]", "run.yaml:1:11: its aliases (*name) expand to too many values"),
        ("x" * (1 << 20) + "x", "run.yaml: is larger than 1 MiB"),
        ("general_cfg: {seed: " + "9" * 5000 + "}", "run.yaml:1:21: '9999"),
        ("1: 2", "run.yaml:1:1: a key must be a name, not 1"),
        ("algo_cfg: {a: [{true: 1}]}", "run.yaml:1:17: algo_cfg.a[0]: a key must be a name, not true"),
        ("general_cfg: {max_update: 1,000,000, seed: 1}", "a key must be a name, not 000; write max_update: 1000000"),
        ("general_cfg:\n  max_update: 1,000", "got '1,000' (text); expected a whole number at least -1; write 1000"),
        ("algo_cfg: {[a]: 1}", "run.yaml:1:12: algo_cfg: a key must be a name"),
        ("algo_cfg: {lr: {0.1, 0.2}}", "algo_cfg.lr: a key must be a name, not 0.1; a list needs brackets: [0.1, 0.2]"),
        ("- a", 'run.yaml:1: got ["a"]; expected the sections general_cfg, algo_cfg, env_cfg'),
        ("general_cfg: 5", "run.yaml:1: general_cfg: got 5; expected lines of the form name: value"),
        ("algo_cfg: !!set {a}", "is not allowed; write plain values"),
        ("general_cfg:\n  <<: 3", "run.yaml:2:7: << takes the keys of a mapping, such as *name with &name before it"),
        ("general_cfg: &a\n  <<: *a\n  seed: 1", "its aliases (*name) expand to too many values"),
    ],
)
def test_a_broken_file_is_one_clean_message(file: Callable[..., Path], content: str | bytes, message: str) -> None:
    """CFG-6"""
    assert message in (got := refused(file(content)))
    assert "\n" not in got


def test_an_alias_bomb_stays_small(file: Callable[..., Path]) -> None:
    """CFG-6: nine levels of nine aliases would be 387 million values."""
    lines = ["general_cfg: &x0 [a, a, a, a, a, a, a, a, a]"]
    lines += [f"k{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "its aliases (*name) expand to too many values" in refused(file("\n".join(lines)))


def test_a_merge_takes_keys_that_are_not_written(file: Callable[..., Path]) -> None:
    """The first mapping of a list is the stronger one, and a key that is written stronger than both."""
    first, second = (
        "&first {layer_type: linear, layer_size: 8}",
        "&second {layer_type: linear, layer_size: 16, activation: tanh}",
    )
    merged = "{<<: [*first, *second], layer_type: noisy_linear}"
    config = loaded(file(f"algo_cfg:\n  value_layers: [{first}, {second}, {merged}]"), "general_cfg.algo_name=DQN")
    layer = config.algo.value_layers[2]
    assert (layer.layer_type, layer.layer_size, layer.activation) == ("noisy_linear", [8], "tanh")
    text = "general_cfg: &one\n  max_episode: 1\n  seed: 1\nenv_cfg:\n  id: CartPole-v1\nalgo_cfg: {<<: *one}"
    message = refused(file(text))
    assert "run.yaml:2: algo_cfg.max_episode: unknown setting" in message  # the line where it is written
    assert "run.yaml:3: algo_cfg.seed: unknown setting" in message


def test_anchors_that_are_meant_well_work(file: Callable[..., Path]) -> None:
    text = "algo_cfg:\n  actor_layers: &net [{layer_type: linear, layer_size: 32}]\n  critic_layers: *net"
    config = loaded(file(text), "general_cfg.algo_name=PPO")
    assert config.algo.actor_layers == config.algo.critic_layers


def test_duplicate_keys_and_sections_name_both_lines(file: Callable[..., Path]) -> None:
    """CFG-6"""
    message = refused(file("algo_cfg:\n  lr: 1\n  lr: 2\nenv_cfg:\nalgo_cfg:\n  lr: 3"))
    assert "run.yaml:3: algo_cfg.lr: written twice, first at" in message
    assert "run.yaml:5: algo_cfg: written twice, first at" in message
    message = refused(file("general_cfg:\n  max_step: 1\n  max_steps: 2"))
    assert message == "run.yaml:3: general_cfg.max_steps: another spelling of max_step, which is set too; keep one"


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbfgeneral_cfg:\n  seed: 7\n", b"general_cfg:\r\n  seed: 7\r\n", b"general_cfg:\r  seed: 7"]
)
def test_byte_order_marks_and_line_ends_do_not_matter(file: Callable[..., Path], content: bytes) -> None:
    """CFG-6, OSX-3"""
    config = loaded(file(content))
    assert config.general.seed == 7
    assert config.where["general_cfg.seed"].endswith("run.yaml:2")
    with_comment = loaded(file(content.replace(b"general_cfg", b"# Return 5\ngeneral_cfg")))
    assert with_comment.expected_return == 5


def test_a_preset_that_is_named_from_another_folder_is_answered_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    preset = Path("presets") / "Pendulum-v1" / "collect" / "random.yaml"
    with pytest.raises(ConfigError) as caught:
        loaded(preset)
    assert str(caught.value) == f"{preset}: no such file; did you mean {ROOT / preset}?"


def test_odd_paths_work_and_missing_ones_are_answered(tmp_path: Path) -> None:
    """OSX-3: blanks and other scripts in a path; near file names; a directory; a folder that is not there."""
    folder = tmp_path / "ein Verzeichnis 目录"
    folder.mkdir()
    (folder / "mein lauf.yaml").write_text("general_cfg: {seed: 3}")
    assert loaded(folder / "mein lauf.yaml").general.seed == 3
    assert refused(folder / "mein laufe.yaml").endswith("mein lauf.yaml?")
    assert refused(folder).endswith(f"is a directory; name a file, such as {Path(folder.name) / 'mein lauf.yaml'}")
    (tmp_path / "logs").mkdir()
    assert refused(tmp_path / "logs").endswith("is a directory; name a YAML file, or write --into logs for results")
    assert "no such file; the folder" in refused(tmp_path / "none" / "a.yaml")
    assert "cannot be read" in refused(Path("a\0b.yaml"))


# ---------------------------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("general_cfg:\n  sead: 1", "run.yaml:2: general_cfg.sead: unknown setting; did you mean seed?"),
        ("algo_cfg:\n  batch_sise: 1", "run.yaml:2: algo_cfg.batch_sise: unknown setting; did you mean batch_size?"),
        ("env_cfg:\n  is_sliper: 1", "run.yaml:2: env_cfg.is_sliper: CartPole-v1 has no such argument"),
        ("algo_cfg:\n  zzzz: 1", "run.yaml:2: algo_cfg.zzzz: unknown setting"),
        (
            "algo_cfgs:\n  lr: 1",
            "run.yaml:1: algo_cfgs: not inside a section (general_cfg, algo_cfg or env_cfg); did you mean algo_cfg?",
        ),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest(file: Callable[..., Path], text: str, message: str) -> None:
    """CFG-1"""
    assert refused(file(text)) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("general_cfg:\n  lr: 1", "run.yaml:2: general_cfg.lr: unknown setting; it belongs under algo_cfg"),
        ("algo_cfg:\n  max_steps: 1", "run.yaml:2: algo_cfg.max_steps: unknown setting; it belongs under general_cfg"),
        (
            "general_cfg:\n  batch_sise: 1",
            "run.yaml:2: general_cfg.batch_sise: unknown setting; did you mean algo_cfg.batch_size?",
        ),
        (
            "algo_cfg:\n  ppo_type: clip",
            "run.yaml:2: algo_cfg.ppo_type: unknown setting; it is a setting of AIRL, APPO, GAIL, MAPPO and others, "
            "and algo_name is DQN",
        ),
        ("lr: 1", "run.yaml:1: lr: not inside a section (general_cfg, algo_cfg or env_cfg); did you mean algo_cfg.lr?"),
    ],
)
def test_a_key_in_the_wrong_place_is_sent_to_the_right_one(file: Callable[..., Path], text: str, message: str) -> None:
    """CFG-2"""
    assert refused(file(text)) == message


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("algo_cfg.lr=fast", "got 'fast' (text); expected a number above 0 or a schedule"),
        ("algo_cfg.batch_size=64.5", "got 64.5; expected a whole number at least 1"),
        ("general_cfg.seed=true", "got true; expected a whole number at least 0"),
        ("general_cfg.seed='1'", "got '1' (text); expected a whole number at least 0; write it without quotes: 1"),
        (
            "algo_cfg.lr='1E-4'",
            "got '1E-4' (text); expected a number above 0 or a schedule; write it without quotes: 1e-4",
        ),
        (
            "algo_cfg.max_grad_norm='.5'",
            "got '.5' (text); expected a number above 0 or null; write it without quotes: .5",
        ),
        ("general_cfg.max_total_step=2k", "got '2k' (text); expected a whole number at least -1; write 2000"),
        ("general_cfg.max_total_step=1.5M", "got '1.5M' (text); expected a whole number at least -1; write 1500000"),
        ("general_cfg.max_total_step=2kk", "got '2kk' (text); expected a whole number at least -1"),
        ("general_cfg.max_time=10m", "got '10m' (text); expected a number at least -1; it is in seconds: write 600"),
        (
            "general_cfg.max_time=1.5 h",
            "got '1.5 h' (text); expected a number at least -1; it is in seconds: write 5400",
        ),
        ("general_cfg.mp_backend='2'", "got '2' (text); expected single or ray"),
        ("algo_cfg.gamma=1.5", "got 1.5; expected a number from 0 to 1"),
        ("algo_cfg.gamma=.nan", "got NaN; expected a number from 0 to 1"),
        ("general_cfg.reward_threshold=.inf", "got Infinity; expected a number or null"),
        ("general_cfg.mode=trian", "got 'trian' (text); expected train or test; did you mean train?"),
        ("general_cfg.device=gpu", "got 'gpu' (text); expected cpu, cuda, cuda:1, or auto (cuda if available)"),
        ("general_cfg.load_model_step=bst", "got 'bst' (text); expected best, latest or a whole number at least 0"),
        ("general_cfg.load_model_step=-1.0", "got -1.0; expected best, latest or a whole number at least 0"),
        (
            "general_cfg.curriculum.metric=evaluation",
            "unknown setting; curriculum is one value, a mapping is written curriculum='{metric: ...}'",
        ),
        (
            "algo_cfg.value_layers[0].layer_size=64",
            "unknown setting; value_layers is one value, a list is written value_layers='[...]'",
        ),
        (
            "algo_cfg.value_layers.0.layer_size=64",
            "unknown setting; value_layers is one value, a list is written value_layers='[...]'",
        ),
        ("algo_cfg.value_layers=3", "got 3; expected a list, each item a mapping with layer_type"),
        ("algo_cfg.adam_betas=[0.9]", "got [0.9]; expected a list of 2, each a number at least 0 and below 1 or null"),
        ("algo_cfg.loss={a: 1}", 'got {"a": 1}; expected mse or huber'),
    ],
)
def test_a_wrong_value_says_value_type_and_range(setting: str, message: str) -> None:
    """CFG-3"""
    assert refused(None, setting) == f"command line: {setting.partition('=')[0]}: {message}"


def test_nested_problems_have_their_own_lines(file: Callable[..., Path]) -> None:
    """CFG-3: paths as written, aliases included."""
    message = refused(
        file("""algo_cfg:
  value_layers:
    - layer_type: liner
      layer_size: 5
    - layer_type: Linear
      layer_dim: [64, x]
      activation: rellu
    - layer_size: 3
    - layer_type: conv2d
      out_chanel: 3
""")
    )
    kinds = (
        "activation, attention, batchnorm, batchrenorm, conv2d, custom, dropout, embed, flatten, gru, impala_cnn, "
        "layernorm, linear, lstm, noisy_linear, parts, pooling, residual or rmsnorm"
    )
    words = "relu, tanh, sigmoid, softmax, leakyrelu, gelu, silu, elu or none"
    assert message.splitlines() == [
        f"run.yaml:3: algo_cfg.value_layers[0].layer_type: got 'liner' (text); expected {kinds}; did you mean linear?",
        "run.yaml:6: algo_cfg.value_layers[1].layer_dim[1]: got 'x' (text); expected a whole number at least 1",
        f"run.yaml:7: algo_cfg.value_layers[1].activation: got 'rellu' (text); expected {words}; did you mean relu?",
        f"run.yaml:8: algo_cfg.value_layers[2]: layer_type is missing; expected {kinds}",
        "run.yaml:9: algo_cfg.value_layers[3]: out_channel is missing; expected a whole number at least 1",
        "run.yaml:10: algo_cfg.value_layers[3].out_chanel: unknown setting; did you mean out_channel?",
    ]


def test_all_problems_come_in_one_message(file: Callable[..., Path]) -> None:
    """CFG-7: contradictions too, also beside wrong keys, but none that a wrong key may have caused."""
    text = """general_cfg:
  load_checkpoint: true
  sead: 1
algo_cfg:
  gamma: 1.5
  batch_sise: 8
  buffer_size: 32
  learning_starts: 0
  epsilon_start: 0.1
  epsilon_end: 0.5
"""
    assert refused(file(text), "algo_cfg.buffer_type=ONPOLICY", "lr=3e-4").splitlines() == [
        "run.yaml:1: general_cfg.load_path: load_checkpoint is true, so load_path must name a task directory",
        "run.yaml:3: general_cfg.sead: unknown setting; did you mean seed?",
        "run.yaml:5: algo_cfg.gamma: got 1.5; expected a number from 0 to 1",
        "run.yaml:6: algo_cfg.batch_sise: unknown setting; did you mean batch_size?",
        "run.yaml:10: algo_cfg.epsilon_end: 0.5 is more than epsilon_start, 0.1",
        "command line: lr: not inside a section (general_cfg, algo_cfg or env_cfg); did you mean algo_cfg.lr=3e-4?",
        "command line: algo_cfg.buffer_type: got 'ONPOLICY' (text); expected REPLAY_QUE, REPLAY, PER or PER_QUE",
    ]


def test_a_word_may_be_a_whole_section(file: Callable[..., Path]) -> None:
    path = file("general_cfg: {algo_name: DQN}\nalgo_cfg: {lr: 0.01, gamma: 0.9}")
    config = loaded(path, "algo_cfg={lr: 0.1}", "env_cfg={id: Acrobot-v1}", "algo_cfg.batch_size=8")
    assert (config.algo.lr, config.algo.gamma, config.algo.batch_size) == (0.1, 0.9, 8)
    assert config.env.id == "Acrobot-v1"
    assert refused(path, "algo_cfg=3") == "command line: algo_cfg: got 3; expected lines of the form name: value"
    assert "algo_cfg.lrr: unknown setting; did you mean lr?" in refused(path, "algo_cfg={lrr: 1}")
    assert "algo_cfg.: not inside a section" in refused(path, "algo_cfg.={lr: 1}")
    assert "policies_cfg.a: got 3; expected lines" in refused(path, "policies_cfg={a: 3}")


def test_a_section_that_there_is_not_is_named(file: Callable[..., Path]) -> None:
    assert refused(file(""), "no_cfg.x=5") == (
        "command line: no_cfg.x: not inside a section (general_cfg, algo_cfg or env_cfg)"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["algo_cfg.batch_size=64", "algo_cfg.buffer_size=32"], "algo_cfg.batch_size: 64 is more than buffer_size, 32"),
        (["general_cfg.mode=test"], "general_cfg.load_checkpoint: mode test needs a model"),
        (
            ["general_cfg.algo_name=PPO", "algo_cfg.buffer_type=REPLAY"],
            "got 'REPLAY' (text); expected ONPOLICY_QUE or ONPOLICY",
        ),
        (["general_cfg.max_episode=0"], "general_cfg.max_episode: a limit of 0 trains nothing"),
    ],
)
def test_settings_that_contradict_one_another_are_refused(settings: list[str], message: str) -> None:
    """CFG-7"""
    assert message in refused(None, *settings)


def test_a_value_of_a_preset_that_does_not_go_with_what_the_user_wrote_is_to_be_set_too() -> None:
    """Nobody is to edit the preset for that."""
    words = [
        "general_cfg.algo_name=PPO",
        "env_cfg.id=CartPole-v1",
        "general_cfg.preset=auto",
        "algo_cfg.batch_size=100",
    ]
    said = refused(None, *words)
    assert said.endswith(
        "presets/CartPole-v1/PPO.yaml:13: algo_cfg.sgd_batch_size: 256 is more than batch_size, 100; you have set "
        "algo_cfg.batch_size (command line): change that, or set algo_cfg.sgd_batch_size, too"
    )
    said = refused(None, *words, "algo_cfg.sgd_batch_size=300")
    assert said == "command line: algo_cfg.sgd_batch_size: 300 is more than batch_size, 100"


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "general_cfg:\n", "general_cfg:\nalgo_cfg: {}\nenv_cfg: null\n", "---\n"]
)
def test_what_is_missing_is_the_default_and_is_said(file: Callable[..., Path], text: str) -> None:
    """CFG-5"""
    config = loaded(file(text))
    defaults = loaded(None, "general_cfg.preset=null")
    assert config.as_dict() == defaults.as_dict()
    assert "sets nothing under general_cfg, algo_cfg, env_cfg: the defaults are used" in config.notes[0]
    assert defaults.notes == ("no limit is set: max_episode is 100, max_step is 200",)


def test_without_a_file_a_run_begins_with_the_preset_of_its_algorithm_and_environment() -> None:
    """No word, --algo and a setting choose in the same way; null takes the Python defaults."""
    [line] = [note for note in loaded().notes if note.startswith("preset: ")]
    assert line == "preset: presets/CartPole-v1/DQN.yaml"
    assert loaded().expected_return == 500
    assert loaded(None, "general_cfg.eval_env={wrappers: [SignReward]}").expected_return is None, (
        "of another evaluation"
    )
    assert loaded().as_dict() == loaded(algo="DQN", env="CartPole-v1").as_dict()
    assert loaded(None, "general_cfg.algo_name=PPO").as_dict() == loaded(algo="PPO").as_dict()
    assert not any("preset" in note for note in loaded(None, "general_cfg.preset=null").notes)


def test_an_unknown_algorithm_or_environment_is_answered_with_the_nearest() -> None:
    """CFG-8"""
    message = refused(None, "general_cfg.algo_name=PPOO", "general_cfg.env_name=gim")
    assert (
        "general_cfg.algo_name: unknown name 'PPOO'; did you mean PPO? (python main.py list algos shows all)" in message
    )
    assert "general_cfg.env_name: unknown name 'gim'; did you mean gym? (python main.py list envs shows all)" in message


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("[PPO, DQN]", 'got ["PPO", "DQN"]; expected text; for a run with each of them: --algo PPO,DQN'),
        ("PPO, DQN", "unknown name 'PPO, DQN'; for a run with each of them: --algo PPO,DQN"),
        ("3", "got 3; expected text"),
        ("{a: 1}", 'got {"a": 1}; expected text'),
    ],
)
def test_several_algorithms_or_none_in_place_of_a_name_are_answered(file: Callable[..., Path], value, sentence) -> None:
    path = file(f"general_cfg:\n  algo_name: {value}\nalgo_cfg:\n  lr: 0.1")
    assert refused(path) == f"run.yaml:2: general_cfg.algo_name: {sentence}"
    path.write_text("general_cfg:\n  algo_name: DQN\nalgo_cfg:\n  lr: 0.1")
    assert refused(path, f"general_cfg.algo_name={value}") == f"command line: general_cfg.algo_name: {sentence}"
    values = {"general_cfg": {"algo_name": yaml.safe_load(value)}}
    assert refused(path, values=values) == f"Python: general_cfg.algo_name: {sentence}"
    assert "got [" in refused(path, "general_cfg.env_name=[gym]")
    assert "got 3" in refused(path, "policies_cfg.a.algo_name=3")


# --------------------------------------------------------------------------------------------- security


@pytest.fixture
def own_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that leaves a file where it is imported."""
    (tmp_path / "my_pkg").mkdir()
    canary = tmp_path / "imported"
    (tmp_path / "my_pkg" / "__init__.py").write_text(f"open({str(canary)!r}, 'w').close()\n")
    (tmp_path / "my_pkg" / "my_algo.py").write_text("from algos.dqn import Config\nNAME = 'Mine'\n")
    (tmp_path / "my_pkg" / "broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield canary
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_pkg"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "name", ["my_pkg.my_algo", "os.system", "logging.os.system", "my_pkg.", "..my_pkg", "algos.dqn"]
)
def test_a_dotted_name_is_never_imported_without_permission(own_package: Path, name: str) -> None:
    """SEC-3"""
    settings = (f"general_cfg.algo_name={name}", f"general_cfg.env_name={name}", f"env_cfg.id={name}:Thing")
    message = refused(None, *settings, allow_import=["my_pk", "other"])
    assert message.count("is not built in; to run a package of your own, add --allow-import") == 2
    assert not own_package.exists()


def test_a_setting_of_an_own_algorithm_without_a_type_is_said_to_lack_one(own_package: Path) -> None:
    (own_package.parent / "my_pkg" / "my_algo.py").write_text(
        "from algos.dqn.config import Config as Family\nNAME = 'Mine'\nclass Config(Family):\n    power = 0.5\n"
    )
    message = refused(None, "general_cfg.algo_name=my_pkg.my_algo", allow_import=["my_pkg"])
    assert "my_pkg.my_algo: power = 0.5 is a setting without a type; write power: float = 0.5" in message


def test_the_folder_of_a_package_is_answered_with_its_dotted_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "fast").mkdir(parents=True)
    (tmp_path / "mine" / "fast" / "__init__.py").touch()
    assert "did you mean mine.fast?" in refused(None, "general_cfg.algo_name=mine/fast")


def test_a_package_whose_name_has_no_dot_is_answered_with_one_that_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fast").mkdir()
    (tmp_path / "fast" / "__init__.py").touch()
    message = refused(None, "general_cfg.algo_name=fast", allow_import=["fast"])
    assert "needs a dotted name; move it to mine/fast, and write mine.fast, also in its imports" in message
    (tmp_path / "fast" / "first").mkdir()
    (tmp_path / "fast" / "first" / "__init__.py").touch()
    message = refused(None, "general_cfg.algo_name=fast", allow_import=["fast"])
    assert "'fast' is a folder of packages; write the one that is meant, such as fast.first" in message


def test_a_module_in_an_environment_id_needs_permission(own_package: Path) -> None:
    """SEC-3"""
    assert "env_cfg.id: imports my_pkg; to allow it, add --allow-import my_pkg" in refused(
        None, "env_cfg.id=my_pkg:Thing"
    )
    assert not own_package.exists()
    assert loaded(None, "env_cfg.id=my_pkg:Thing", allow_import=["my_pkg"]).env.id == "my_pkg:Thing"


def test_a_package_of_ones_own_runs_with_permission(own_package: Path) -> None:
    """SEC-3"""
    config = loaded(None, "general_cfg.algo_name=my_pkg.my_algo", "algo_cfg.lr=1", allow_import=["my_pkg"])
    assert (config.general.algo_name, config.algo_package.NAME, config.algo.lr) == ("my_pkg.my_algo", "Mine", 1)
    message = refused(None, "general_cfg.algo_name=my_pkg.broken", allow_import=["my_pkg"])
    assert "my_pkg.broken cannot be imported: ZeroDivisionError: division by zero" in message


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("", "algo_name: my_pkg.lacking lacks Config and NAME; define it in its __init__.py"),
        ("from algos.dqn import Config", "algo_name: my_pkg.lacking lacks NAME; define it in its __init__.py"),
        (
            "from algos.dqn import Config\nNAME = 'PPO'",
            "my_pkg.lacking has the NAME of an algorithm that is built in, PPO, and would be taken for it in presets "
            "and comparisons; write another NAME in its __init__.py",
        ),
        ("Config, NAME = dict, 'X'", "my_pkg.lacking.Config must inherit from config.model.schema.AlgoConfig"),
        (
            "from algos.dqn import Config as DQN\nNAME = 'X'\nclass Config(DQN):\n    'X.'\n    lr = -1",
            "defaults of my_pkg.lacking: algo_cfg.lr: got -1; expected a number above 0",
        ),
    ],
)
def test_an_algorithm_of_ones_own_is_told_what_it_lacks(own_package: Path, code: str, reason: str) -> None:
    (own_package.parent / "my_pkg" / "lacking.py").write_text(code)
    assert reason in refused(None, "general_cfg.algo_name=my_pkg.lacking", allow_import=["my_pkg"])


@pytest.mark.parametrize("path", [QUICKSTART, *sorted(presets.PRESETS.glob("*/PPO.yaml"))], ids=str)
def test_libyaml_reads_a_file_as_the_parser_in_python_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = yaml_reader.read(path)
    monkeypatch.setattr(yaml_reader, "_FastComposer", None)
    assert yaml_reader.read(path) == fast


@pytest.mark.skipif(yaml_reader._FastComposer is None, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize("text", ["a:\tb", "{a?b: 1}", "a: [", "\ud800: 1", "a: &x [*x]", f"a: {'[' * 60}{']' * 60}"])
def test_what_libyaml_might_take_otherwise_is_left_to_the_parser_in_python(text: str) -> None:
    assert yaml_reader._parse_fast("a: 1", "a.yaml", "", True) is not None
    assert yaml_reader._parse_fast(text, "a.yaml", "", True) is None


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system", "!!python/name:os.system", "!!python/module:my_pkg"]
)
def test_yaml_tags_never_run_code(own_package: Path, file: Callable[..., Path], tag: str) -> None:
    """SEC-1"""
    for text in (f"general_cfg: {tag} [touch {own_package}]", f"general_cfg:\n  seed: {tag} 'touch {own_package}'"):
        assert "is not allowed; write plain values" in refused(file(text))
    assert not own_package.exists()


# -------------------------------------------------------------------------------- layers and the way back


def test_mp_backend_single_on_the_command_line_is_all_that_a_run_of_many_needs(file: Callable[..., Path]) -> None:
    """What the file sets for processes keeps its value, and one line says that it is not used."""
    many = "n_interactors: 3\n  n_learners: 1\n  run_ahead: 2\n  ray_address: auto\n"
    path = file(f"general_cfg:\n  mp_backend: ray\n  {many}")
    assert not any("not used" in note for note in loaded(path).notes)
    config = loaded(path, "general_cfg.mp_backend=single")
    assert (config.general.mp_backend, config.general.n_workers, config.general.run_ahead) == ("single", 3, 2)
    [note] = [note for note in config.notes if note.startswith("not used: ")]
    assert "general_cfg.n_workers (mp_backend is single; env_cfg.n_envs: N steps N environments in this process" in note
    assert note.endswith("general_cfg.run_ahead, general_cfg.ray_address (mp_backend is single)")


@pytest.mark.parametrize(
    ("settings", "unread"),
    [
        (["algo_cfg.per_alpha=0.3"], "algo_cfg.per_alpha (buffer_type is REPLAY_QUE)"),
        (["algo_cfg.per_alpha=0.3", "algo_cfg.buffer_type=PER"], None),
        (["algo_cfg.per_alpha=0.6"], None),
        (["algo_cfg.temperature=2", "algo_cfg.std_init=0.1"], "algo_cfg.temperature (no softmax or soft "
         "values); algo_cfg.std_init (noisy is false)"),
        (["algo_cfg.temperature=2", "algo_cfg.soft=true", "algo_cfg.double=false"], None),
        (["algo_cfg.burn_in=3"], "algo_cfg.burn_in (no lstm or gru layers)"),
        (["algo_cfg.burn_in=3", "algo_cfg.value_layers=[{layer_type: gru, layer_size: 8}]"], None),
        (["general_cfg.algo_name=TD3", "algo_cfg.policy_noise=0", "algo_cfg.noise_clip=1"],
         "algo_cfg.noise_clip (policy_noise is 0.0)"),
        (["general_cfg.algo_name=SAC_D", "algo_cfg.alpha=0.2", "algo_cfg.target_entropy_scale=0.7"],
         "algo_cfg.target_entropy_scale (alpha is 0.2)"),
        (["general_cfg.algo_name=SAC_D", "algo_cfg.target_entropy=1", "algo_cfg.target_entropy_scale=0.7"],
         "algo_cfg.target_entropy_scale (target_entropy is 1.0)"),
        (["general_cfg.algo_name=PPO", "algo_cfg.ppo_type=kl", "algo_cfg.eps_clip=0.1"],
         "algo_cfg.eps_clip (ppo_type is kl)"),
        (["general_cfg.num_gpus_per_worker=0.5", "general_cfg.mp_backend=ray"],
         "general_cfg.num_gpus_per_worker (ray_address is null)"),
        (["general_cfg.num_gpus_per_worker=0.5", "general_cfg.mp_backend=ray", "general_cfg.ray_address=auto"], None),
        (["general_cfg.reward_threshold=0", "general_cfg.num_gpus_per_learner=1"],
         "general_cfg.num_gpus_per_learner (no gpu device); general_cfg.reward_threshold (online_eval is false)"),
        (["general_cfg.collect_format=npz"], "general_cfg.collect_format (collect_traj is false)"),
        (["general_cfg.collect_format=npz", "general_cfg.collect_traj=true"], None),
        (["algo_cfg.data=x", "algo_cfg.data_share=0.7", "algo_cfg.offline_updates=-1", "general_cfg.max_update=9"],
         "algo_cfg.data_share (no steps beside given data)"),
        (["algo_cfg.data=x", "algo_cfg.data_share=0.7", "algo_cfg.offline_updates=2"], None),
        (["general_cfg.algo_name=BC", "algo_cfg.data=x", "general_cfg.max_update=9", "general_cfg.collect_traj=true",
          "general_cfg.traces=results/traces", "general_cfg.video_fre=2", "general_cfg.reward_threshold=0"],
         "general_cfg.collect_traj, general_cfg.traces, general_cfg.video_fre (nothing is collected: the run learns "
         "from algo_cfg.data alone); general_cfg.reward_threshold (online_eval is false)"),
        (["algo_cfg.data=x", "algo_cfg.offline_updates=2", "general_cfg.collect_traj=true"], None),
    ],
)  # fmt: skip
def test_a_setting_that_nothing_reads_is_a_warning(settings: list[str], unread: str | None) -> None:
    config = loaded(None, "general_cfg.preset=null", *settings)
    notes = [note for note in config.notes if note.startswith("not used")]
    assert notes == ([f"not used: {unread}"] if unread else [])


def test_an_unread_setting_keeps_its_value() -> None:
    config = loaded(None, "algo_cfg.per_alpha=0.3")
    assert config.algo.per_alpha == 0.3
    assert "per_alpha: 0.3" in config.to_yaml()


def test_the_command_line_wins_over_yaml_and_yaml_over_defaults(file: Callable[..., Path]) -> None:
    """CFG-9: an alias and its field are one setting; a null takes the default back."""
    path = file("algo_cfg:\n  max_buffer_size: 5000\n  batch_size: 32\n  lr: 1e-3\ngeneral_cfg:\n  seed: 5")
    config = loaded(path, "algo_cfg.buffer_size=7000", "algo_cfg.lr=null", "general_cfg.seed=6", "general_cfg.seed=7")
    assert (config.algo.buffer_size, config.algo.batch_size, config.algo.lr, config.general.seed) == (7000, 32, 5e-4, 7)
    assert config.where["algo_cfg.buffer_size"] == "command line"
    assert config.where["algo_cfg.batch_size"] == f"{path}:3"
    assert config.explicit == {
        *{"algo_cfg.buffer_size", "algo_cfg.batch_size", "algo_cfg.lr", "general_cfg.seed"},
    }


@pytest.mark.parametrize(
    "settings",
    [
        [],
        ["general_cfg.algo_name=ppo", "algo_cfg.lr=1e-5", "general_cfg.max_time=1e300"],
        ["algo_cfg.value_layers=[{layer_type: conv2d, out_channel: 8}, {layer_type: linear, layer_size: [4, 2]}]"],
        ["algo_cfg.branches={image: [{layer_type: flatten}], 'a: b': []}"],
        [
            'env_cfg.is_slippery=[{a: "on", b: "1e-4"}, "# no", " x ", "a\\n  b: c", null, -.inf, "010", "1:30"]',
            'env_cfg.word="é目\u2028b\u0085"',
        ],
        ['env_cfg.is_slippery={"true": "~", "1": "", "k": [[], {}]}'],
    ],
)
def test_the_printed_configuration_gives_the_same_again(file: Callable[..., Path], settings: list[str]) -> None:
    """CFG-9: for our reader, and the same values for any YAML 1.1 reader where it writes 1.0e-05."""
    config = loaded(QUICKSTART if not settings else None, *settings)
    again = loaded(file(config.to_yaml()))
    assert (again.general, again.algo, again.env) == (config.general, config.algo, config.env)
    assert again.as_dict() == config.as_dict() == yaml.safe_load(config.to_yaml())


def test_the_printed_configuration_keeps_the_promised_return(file: Callable[..., Path]) -> None:
    config = loaded(file("# Return -62.5 in about 20 s: a walk\ngeneral_cfg: {seed: 1}"))
    assert config.expected_return == -62.5
    assert loaded(file(config.to_yaml())).expected_return == -62.5
    assert loaded(QUICKSTART).expected_return is None
    assert loaded(file("# yaml-language-server: $schema=x.json\n# Return 9.5: a walk\n")).expected_return == 9.5
    assert loaded(file("general_cfg:\n# Return 9.5: too late\n")).expected_return is None


# ------------------------------------------------------------------------------------------ earlier runs


def test_a_resumed_run_keeps_its_settings(task_root: Path) -> None:
    name = "Train_CartPole-v1_DQN_20260131-101500"
    config = loaded(None, "general_cfg.max_episode=500", resume=name, task_root=task_root)
    assert (config.algo.lr, config.general.max_episode, config.expected_return) == (0.5, 500, 200)
    assert config.where["algo_cfg.lr"].startswith(f"{task_root / name / 'config.yaml'}:")
    assert (config.general.mode, config.general.load_checkpoint, config.general.load_model_step) == (
        "train",
        True,
        "latest",
    )
    assert config.task == task_root / name
    assert "algo_cfg.lr" not in config.explicit
    assert "general_cfg.max_episode" in config.explicit


def test_load_checkpoint_in_yaml_takes_the_settings_of_that_run(file: Callable[..., Path], task_root: Path) -> None:
    name = "Train_Pendulum-v1_PPO_20260131-101501"
    path = file(f"general_cfg:\n  load_checkpoint: true\n  load_path: {name}\nalgo_cfg:\n  k_epochs: 3")
    trained = loaded(path, task_root=task_root)
    assert (trained.general.algo_name, trained.algo.k_epochs) == ("PPO", 3)
    assert (trained.general.mode, trained.general.load_model_step) == ("train", "latest")
    tested = loaded(path, "general_cfg.mode=test", task_root=task_root)
    assert (tested.general.mode, tested.general.load_model_step) == ("test", "best")
    by_path = loaded(path, f"general_cfg.load_path={task_root / name}", task_root=Path("elsewhere"))
    assert by_path.task == task_root / name


def test_a_run_may_lie_below_a_folder_called_models(file: Callable[..., Path], task_root: Path) -> None:
    name = "Train_CartPole-v1_DQN_20260131-101500"
    below = task_root.parent / "models" / "tasks"
    below.parent.mkdir()
    task_root.rename(below)
    path = file("general_cfg:\n  load_checkpoint: true")
    assert loaded(path, f"general_cfg.load_path={below / name}").task == below / name
    got = refused(path, f"general_cfg.load_path={below / name / 'models' / '500'}")
    assert "name the run, " in got
    got = refused(path, f"general_cfg.load_path={below / 'other'}")
    assert "does not exist" in got


def test_load_path_is_read_only_when_load_checkpoint_is_true(file: Callable[..., Path]) -> None:
    assert loaded(file("general_cfg:\n  load_path: ../../etc")).task is None


@pytest.mark.parametrize(
    ("load_path", "message"),
    [
        ("Train_CartPole-v1_DQN_20260131-10150", "does not exist; did you mean Train_CartPole-v1_DQN_20260131-101500?"),
        ("zzz", "'zzz' does not exist; newest under"),
        ("../nowhere", "'../nowhere' does not exist; newest under"),
        ("/etc", "'/etc' is not a task directory: it needs config.yaml and models/"),
        ("Train_old", "'Train_old' is not a task directory: it needs config.yaml and models/"),
        ("link", "'link' is a link out of"),
        ('"a\\0b"', "cannot be read"),
        ("Train_CartPole-v1_DQN_20260131-101500/models/500", "name the run, Train_CartPole-v1_DQN_20260131-101500, and "
         "set general_cfg.load_model_step=500"),
        ("tasks/", "'tasks/' is the folder of all runs; newest under"),
        ("Test_CartPole-v1_DQN_20260131-111500", "is a test and has no model; it tested Train_CartPole-v1_DQN_2026"),
    ],
)  # fmt: skip
def test_a_load_path_that_leads_nowhere_is_explained(
    file: Callable[..., Path], task_root: Path, load_path: str, message: str
) -> None:
    """EVL-4, SEC-2"""
    outside = task_root.parent / "outside"
    (outside / "models").mkdir(parents=True)
    (outside / "config.yaml").write_text("")
    (task_root / "link").symlink_to(outside)
    tested = task_root / "Test_CartPole-v1_DQN_20260131-111500"
    tested.mkdir(parents=True)
    (tested / "config.yaml").write_text("general_cfg: {mode: test}")
    checkpoint = task_root / "Train_CartPole-v1_DQN_20260131-101500" / "models" / "best"
    (tested / "run.json").write_text(json.dumps({"checkpoint": str(checkpoint)}))
    path = file(f"general_cfg:\n  load_checkpoint: true\n  load_path: {load_path}")
    got = refused(path, task_root=task_root)
    assert got.startswith("run.yaml:3: general_cfg.load_path: ")
    assert message in got


def test_a_path_with_two_points_counts_from_the_current_folder_in_every_command(
    tmp_path: Path, task_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two runs of that name, the one is meant that a shell would find."""
    here = tmp_path / "here"
    for folder in (tmp_path / "run", here / "run", tmp_path / "group" / "seed_1"):
        (folder / "models").mkdir(parents=True)
        (folder / "config.yaml").write_text("")
    (tmp_path / "group" / "group.json").write_text("{}")
    (here / "tasks").mkdir()
    monkeypatch.chdir(here)
    assert tasks.find("../run", Path("tasks")) == tmp_path / "run"
    assert tasks.find("../run", Path("tasks"), start=here / "tasks") == here / "run"
    assert tasks.group_named("../group", Path("tasks")) == tmp_path / "group"
    [compared] = find(["../run"], Path("tasks"))
    assert compared.resolve() == tmp_path / "run"
    links = {here / "tasks" / "out": "run", here / "tasks" / "others": "group", tmp_path / "group" / "seed_2": "run"}
    for link, target in links.items():
        link.symlink_to(tmp_path / target)
    for path, answer in (("../here/tasks/out", "is a link out of"), ("../group/seed_2", "a link in a group of runs")):
        with pytest.raises(tasks.TaskError, match=answer):
            tasks.find(path, Path("tasks"))
    assert tasks.group_named("../here/tasks/others", Path("tasks")) is None


@pytest.mark.parametrize("name", ["docs", "./docs", "notes.txt"])
def test_what_lies_in_the_current_folder_and_is_no_run_is_not_said_to_be_absent(
    task_root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "notes.txt").touch()
    assert f"'{name}' is not a task directory" in refused(None, resume=name, task_root=task_root)


def test_a_path_to_a_task_directory_may_lie_anywhere(file: Callable[..., Path], task_root: Path) -> None:
    """SEC-2: what the person spells out is meant."""
    outside = task_root.parent / "outside"
    (task_root / "Train_CartPole-v1_DQN_20260131-101500").rename(outside)
    assert loaded(None, resume=str(outside), task_root=task_root).algo.lr == 0.5


def test_a_run_of_a_group_has_the_name_that_the_list_of_runs_gives_it(
    task_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = task_root / "seeds"
    group.mkdir()
    (group / "group.json").write_text("{}")
    run = (task_root / "Train_CartPole-v1_DQN_20260131-101500").rename(group / "seed_1")
    assert loaded(None, resume="seeds/seed_1", task_root=task_root).task == run
    assert "did you mean seeds?" in refused(None, resume="seed", task_root=task_root)
    here = task_root.parent / "here"
    (here / "seeds").mkdir(parents=True)
    run.rename(here / "seeds" / "seed_1")
    monkeypatch.chdir(here)
    assert loaded(None, resume="seeds/seed_1", task_root=task_root).task == here / "seeds" / "seed_1"


def test_an_empty_tasks_folder_is_named(tmp_path: Path) -> None:
    """EVL-4"""
    assert f"'x' does not exist; there is no run in {tmp_path}/" in refused(None, resume="x", task_root=tmp_path)
    none = tmp_path / "none"
    assert f"; there is no folder {none}/ in {Path.cwd()}" in refused(None, resume="x", task_root=none)


# ------------------------------------------------------------------------------------------------ limits


def limits_of(*settings: str, path: Path | None = None, **options: Any) -> tuple[int, int, tuple[str, ...]]:
    defaults = () if path else ("general_cfg.preset=null",)
    config = load(path, (*defaults, *settings), find_algo=ALGOS, find_env=catalog.ENVS, **options)
    notes = tuple(note for note in config.notes if "max_" in note)
    return config.general.max_episode, config.general.max_step, notes


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], (100, 200)),
        (["algo_cfg.lr=0.1"], (100, 200)),
        (["general_cfg.max_total_step=100000"], (-1, -1)),
        (["general_cfg.max_update=1000"], (-1, -1)),
        (["general_cfg.max_time=60"], (-1, -1)),
        (["general_cfg.max_total_step=-1"], (100, 200)),
        (["general_cfg.max_total_step=null"], (100, 200)),
        (["general_cfg.max_total_step=100", "general_cfg.max_episode=null"], (-1, -1)),
        (["general_cfg.max_total_step=100", "general_cfg.max_step=50"], (-1, 50)),
        (["general_cfg.max_total_step=100", "general_cfg.max_episode=7"], (7, 200)),
        (["general_cfg.max_episode=7"], (7, 200)),
        (["general_cfg.max_episode=-1"], (-1, -1)),
        (["general_cfg.max_step=500"], (100, 500)),
    ],
)
def test_a_limit_that_was_written_is_not_cut_short_by_a_default(settings: list[str], expected: tuple) -> None:
    assert limits_of(*settings)[:2] == expected


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ([], "no limit is set: max_episode is 100, max_step is 200 (CartPole-v1 itself ends after 500; "
             "general_cfg.max_step=-1)"),
        (["general_cfg.max_total_step=100"], "max_episode is -1, since max_total_step is set; max_step is -1: episodes "
         "of CartPole-v1 end by its own limit of 500 steps"),
        (["general_cfg.max_episode=7"], "max_step is 200 (CartPole-v1 itself ends after 500; general_cfg.max_step=-1), "
         "JoyRL's default"),
        (["general_cfg.max_episode=7", "env_cfg.id=Pendulum-v1", "general_cfg.algo_name=SAC"], None),
        (["general_cfg.max_episode=7", "env_cfg.max_episode_steps=90"], None),
        (["general_cfg.max_episode=7", "general_cfg.max_step=20"], None),
    ],
)  # fmt: skip
def test_what_was_decided_about_limits_is_one_note(settings: list[str], note: str | None) -> None:
    assert limits_of(*settings)[2] == ((note,) if note else ())


@pytest.mark.parametrize(
    ("words", "options", "unused", "limits"),
    [
        (["general_cfg.max_total_step=1000000"], {}, "max_episode 2,000", (-1, 1_000_000, -1, -1)),
        (["general_cfg.max_update=9", "general_cfg.max_iteration=4"], {}, "max_episode 2,000", (-1, -1, 9, 4)),
        ([], {"stop": '{"timesteps_total": 500}'}, "max_episode 2,000", (-1, 500, -1, -1)),
        ([], {"values": {"general_cfg": {"max_update": 5}}}, "max_episode 2,000", (-1, -1, 5, -1)),
        (["general_cfg.max_update=5", "general_cfg.max_episode=7"], {}, None, (7, -1, 5, -1)),
        (["general_cfg.max_time=60"], {}, None, (2000, -1, -1, -1)),
        (["general_cfg.max_total_step=-1"], {}, None, (2000, -1, -1, -1)),
        (["general_cfg.max_episode=9"], {"algo": "PPO", "env": "MountainCar-v0"}, "max_total_step ", (9, -1, -1, -1)),
    ],
)
def test_limits_of_a_preset_or_of_a_usual_run_end_where_another_amount_is_written(
    words: list[str], options: dict[str, Any], unused: str | None, limits: tuple[int, ...]
) -> None:
    config = loaded(None, *words, **{"algo": "QLearning", "env": "Taxi-v4", **options})
    cfg = config.general
    assert (cfg.max_episode, cfg.max_total_step, cfg.max_update, cfg.max_iteration) == limits
    notes = [note for note in config.notes if note.startswith("not used, since ")]
    assert len(notes) == (unused is not None)
    assert (unused or "") in "".join(notes)


def test_a_run_that_is_loaded_keeps_its_limits(task_root: Path) -> None:
    name = "Train_CartPole-v1_DQN_20260131-101500"
    limits = loaded(None, resume=name, task_root=task_root).general.max_episode
    longer = loaded(None, "general_cfg.max_total_step=5000", resume=name, task_root=task_root)
    assert (longer.general.max_episode, longer.general.max_total_step) == (limits, 5000)
    assert limits > 0


def test_the_quick_start_and_every_preset_decide_nothing() -> None:
    assert limits_of(path=QUICKSTART) == (100, 200, ())
    for path in presets.PRESETS.glob("*/*.yaml"):
        assert {"max_episode", "max_step"} <= yaml_reader.read(path).value["general_cfg"].keys(), path


def test_the_printed_limits_are_the_effective_ones_and_decide_nothing_again(file: Callable[..., Path]) -> None:
    config = loaded(None, "general_cfg.preset=null", "general_cfg.max_total_step=100")
    assert limits_of(path=file(config.to_yaml())) == (-1, -1, ())


def test_a_test_plays_the_episodes_that_were_asked_for_or_ten(task_root: Path) -> None:
    name = "Train_CartPole-v1_DQN_20260131-101500"
    config = loaded(None, test=name, task_root=task_root)
    assert (config.general.mode, config.general.max_episode, config.general.load_checkpoint) == ("test", 10, True)
    assert "test episodes: 10 (online_eval_episode); general_cfg.max_episode=N plays another number" in config.notes
    asked = loaded(None, "general_cfg.max_episode=3", test=name, task_root=task_root)
    assert asked.general.max_episode == 3
    assert not any("test episodes" in note for note in asked.notes)


@pytest.mark.parametrize("key", ["max_episode", "max_total_step", "max_update", "max_time"])
def test_a_limit_of_zero_is_reported_under_its_own_name(key: str) -> None:
    assert f"general_cfg.{key}: a limit of 0 trains nothing" in refused(None, f"general_cfg.{key}=0")


# ---------------------------------------------------------------------------------------------- presets


@pytest.mark.parametrize(
    ("algo", "env", "taken"),
    [
        ("PPO", "Acrobot-v1", "Acrobot-v1/PPO"),
        ("ppo", "acrobot-V1", "Acrobot-v1/PPO"),
        ("DQN_new", "ALE/Pong-v5", "ALE-Pong-v5/DQN"),
        ("PPO", "ALE/Pong-v5", "_atari/PPO"),
        ("PPO", "BreakoutNoFrameskip-v4", "_atari/PPO"),
        ("PPO", "HalfCheetah-v5", "_mujoco/PPO"),
        ("PPO", "MinAtar/Breakout-v1", "_minatar/PPO"),
        ("PPO", None, None),
        ("DQN", "Acrobot-v1", None),
        (None, "Acrobot-v1", None),
    ],
)
def test_the_nearest_preset_is_taken_and_named(preset_root: Path, algo: str, env: str, taken: str | None) -> None:
    config = loaded(None, algo=algo, env=env, preset_root=preset_root)
    assert config.preset == (str(preset_root / f"{taken}.yaml") if taken else None)
    assert config.general.algo_name == algos.get(algo or "DQN").NAME
    assert config.env.id == ("Acrobot-v1" if env and "crobot" in env else env or "CartPole-v1")
    if taken:
        assert config.notes[0] == f"preset: {preset_root / taken}.yaml"
        promised = None if env and taken.startswith("_") else -85
        assert (config.algo.lr, config.expected_return) == (0.01, promised)
        assert "algo_cfg.lr" not in config.explicit
    else:
        asked = f"{algo or 'DQN'} on {env or 'CartPole-v1'}"
        assert f"no preset for {asked}: the Python defaults are used" in config.notes[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("algo", "env", "words", "promised"),
    [
        ("PPO", "MinAtar/Breakout-v1", (), 44),
        ("PPO", "MinAtar/Freeway-v1", (), None),
        ("PPO", "MinAtar/Breakout-v1", ("env_cfg.sticky_action_prob=0.5",), None),
        ("PPO", "MinAtar/Breakout-v1", ("env_cfg.n_envs=8", "algo_cfg.lr=1e-4"), 44),
        ("QLearning", "FrozenLake-v1-notslippery", (), 1.0),
        ("QLearning", "FrozenLake-v1-notslippery", ("env_cfg.is_slippery=false",), 1.0),
        ("QLearning", "FrozenLake-v1-notslippery", ("env_cfg.is_slippery=true",), None),
        ("QLearning", "FrozenLake-v1", ("env_cfg.is_slippery=false",), 1.0),
        ("QLearning", "FrozenLake-v1", ("env_cfg.is_slippery=false", "env_cfg.n_envs=2"), 1.0),
        ("DRQN", "CartPole-v1-hidden", (), 499),
    ],
)
def test_no_return_is_promised_of_another_environment(
    algo: str, env: str, words: tuple[str, ...], promised: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gym, "check", lambda cfg: [])  # MinAtar need not be installed
    config = load(None, words, algo=algo, env=env, find_algo=ALGOS, find_env=catalog.ENVS)
    assert config.expected_return == promised


def test_an_algorithm_that_is_not_here_is_answered_with_the_nearest() -> None:
    said = "unknown name 'ApeX'; Ape-X is PER_DQN with n_step 3, dueling and several workers (mp_backend: ray) here"
    assert said in refused(None, algo="ApeX")


def test_a_flag_wins_over_the_yaml_and_no_preset_is_taken(preset_root: Path) -> None:
    config = loaded(QUICKSTART, env="Acrobot-v1", preset_root=preset_root)
    assert (config.env.id, config.preset, config.where["env_cfg.id"]) == ("Acrobot-v1", None, "--env")


# ------------------------------------------------------------------------------------------- JSON Schema


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema.schema(ALGOS, catalog.ENVS))


@pytest.mark.long
def test_the_schema_is_one(validator: jsonschema.Draft202012Validator) -> None:
    validator.check_schema(each_once(validator.schema, set()))


def each_once(part: Any, seen: set[str]) -> Any:
    """Returns a schema with each of its parts in one place: algorithms have most of their settings in common."""
    if isinstance(part, list):
        return [each_once(each, seen) for each in part]
    if not isinstance(part, dict):
        return part
    if (text := json.dumps(part, sort_keys=True)) in seen:
        return {}
    seen.add(text)
    return {key: each_once(value, seen) for key, value in part.items()}


@pytest.mark.parametrize("path", [QUICKSTART, *presets.PRESETS.rglob("*.yaml")], ids=str)
def test_the_schema_accepts_every_preset_and_the_quick_start(
    validator: jsonschema.Draft202012Validator, path: Path
) -> None:
    """CFG-10"""
    validator.validate(yaml_reader.read(path).value)


@pytest.mark.parametrize(
    "text",
    [
        *["", "{}", "general_cfg:", "algo_cfg: {lr: null}", "env_cfg: {is_slippery: true, wrapper: null}"],
        *["general_cfg: {algo_name: ppo}\nalgo_cfg: {k_epochs: 3, buffer_type: onpolicy, max_norm: 0.5}"],
        *["general_cfg: {algo_name: my_pkg.my_algo}\nalgo_cfg: {anything: 1}", "general_cfg: {algo_name: q-Learning}"],
        *["algo_cfg: {value_layers: [{layer_type: Linear, layer_size: 64, activation: ReLU}]}"],
        *["general_cfg: {max_steps: 5, load_model_step: 500, model_save_unit: STEP, seed: 1e3}"],
    ],
)
def test_the_schema_accepts_what_the_loader_accepts(
    validator: jsonschema.Draft202012Validator, file: Callable[..., Path], text: str
) -> None:
    """CFG-10"""
    validator.validate(yaml_reader.parse(text, "f").value)
    if "my_pkg" not in text:
        loaded(file(text))


@pytest.mark.parametrize(
    "text",
    [
        *["general_cfg: {sead: 1}", "algo_cfg: {batch_sise: 1}", "algo_cfgs: {lr: 1}", "lr: 1", "general_cfg: {lr: 1}"],
        *[
            "algo_cfg: {lr: fast}",
            "algo_cfg: {batch_size: 64.5}",
            "general_cfg: {seed: true}",
            "algo_cfg: {gamma: 1.5}",
        ],
        *["general_cfg: {online_eval: off}", "general_cfg: {algo_name: PPOO}", "general_cfg: {env_name: gim}"],
        *[
            "algo_cfg: {k_epochs: 1}",
            "general_cfg: {algo_name: ppo}\nalgo_cfg: {buffer_type: REPLAY}",
            "general_cfg: 5",
        ],
        *["general_cfg:\nalgo_cfg: {k_epochs: 1}", "general_cfg: {algo_name: null}\nalgo_cfg: {k_epochs: 1}"],
        *["algo_cfg: {value_layers: [{layer_type: liner}]}", "algo_cfg: {value_layers: [{layer_size: 3}]}"],
        *[
            "algo_cfg: {value_layers: [{layer_type: linear}]}",
            "general_cfg: {mode: trian}",
            "env_cfg: {render_mode: x}",
        ],
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(
    validator: jsonschema.Draft202012Validator, file: Callable[..., Path], text: str
) -> None:
    """CFG-10: whatever a schema can express of CFG-1, 2, 3, 4, 7 and 8."""
    assert list(validator.iter_errors(yaml_reader.parse(text, "f").value))
    refused(file(text))


def test_a_document_error_is_not_a_crash() -> None:
    with pytest.raises(DocumentError, match="f:1:4: the tag"):
        yaml_reader.parse("a: !own x", "f")


# ------------------------------------------------------------------------------------------ messages and names


@pytest.mark.long
def test_messages_are_bounded_and_show_no_control_characters(file: Callable[..., Path]) -> None:
    long = refused(file(f"general_cfg:\n  {'k' * 10_000}: 1"))
    assert len(long) < 1_100
    text = refused(file('general_cfg:\n  "a\u202eb\u200fc": 1\n'))
    assert "a\\u202eb\\u200fc: unknown setting" in text
    assert "\u202e" not in text
    many = refused(file("general_cfg:\n" + "".join(f"  k{n}: 1\n" for n in range(500))))
    assert many.splitlines()[-1] == "and 400 more"


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, "9" * 5000])
def test_a_number_with_thousands_of_digits_is_answered(number: str) -> None:
    assert "cannot be read as int" in refused(None, f"general_cfg.seed={number}")


@pytest.mark.parametrize("env_id", ['""', '"  "', r'"a\nb"'])
def test_an_id_that_is_no_name_is_answered(env_id: str) -> None:
    with pytest.raises(ConfigError, match=r"env_cfg\.id: .* is not the name of an environment"):
        load(None, [f"env_cfg.id={env_id}"], find_algo=ALGOS, find_env=catalog.ENVS)


def test_a_misspelt_layer_type_does_not_hide_the_next_fault() -> None:
    message = refused(None, "algo_cfg.value_layers=[{layer_type: liner, layer_size: 5, activation: rleu}]")
    assert "layer_type: got 'liner' (text)" in message
    assert "activation: got 'rleu' (text)" in message
    assert message.count("\n") == 1


def test_a_kind_of_environment_as_an_id_is_answered() -> None:
    with pytest.raises(ConfigError, match=r"toy is a kind of environment: general_cfg\.env_name=toy"):
        load(None, [], env="toy", find_algo=ALGOS, find_env=catalog.ENVS)


@pytest.mark.parametrize(
    ("a", "b", "mistakes"), [("DQN", "DNQ", 1), ("lr", "lr", 0), ("abc", "", 3), ("trian", "train", 1), ("ab", "ba", 1)]
)
def test_swapped_letters_are_one_typing_mistake(a: str, b: str, mistakes: int) -> None:
    assert names.distance(a, b) == mistakes
    assert names.distance(b, a) == mistakes


@pytest.mark.long
def test_every_foreign_name_leads_to_a_setting_that_exists() -> None:
    for name in foreign_names.NAMES:
        assert hints.setting_of(name, ALGOS, catalog.ENVS), name
        for section, key, _ in foreign_names.ours(name):
            if section == "algo_cfg":
                assert ALGOS.with_setting(key), (name, key)


def test_an_error_that_follows_from_a_wrong_setting_is_not_reported(file: Callable[..., Path]) -> None:
    """The default epsilon_start is below 1; only what was written wrongly is reported, whatever the words of others."""
    message = refused(None, "algo_cfg.epsilon_start=2", "algo_cfg.epsilon_end=0.99")
    assert message == "command line: algo_cfg.epsilon_start: got 2; expected a number from 0 to 1"
