"""Environments of one's own, by class, function and registered name: where they are made, and what is refused."""

import functools
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import gymnasium
import numpy as np
import own_parts
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from own_parts import Halved, Line, OldLine, Placed

import envs
import main
from algos.base import Progress
from config.own import objects as own
from config.read.loader import ConfigError, RunConfig, load
from envs import python
from envs.base import EnvContext, EnvError, VectorEnv
from envs.common.rows import no_environment
from envs.python.old_gym import OldGym
from envs.python.validate import problems
from envs.several.multi_agent import several
from framework.assemble import build
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.disk.csv_table import read_csv
from framework.distributed import launch
from framework.errors import JoystickError
from framework.runs.experiment import Experiment
from tests.tools.distributed import remote
from tests.tools.envs import everyone

ALLOWED = ("--allow-import", "own_parts")
SMALL = (
    "general_cfg.env_name=python", "general_cfg.seed=3", "general_cfg.max_episode=-1", "general_cfg.save_fig=false",
    "general_cfg.max_step=30", "general_cfg.online_eval_episode=2", "general_cfg.model_save_fre=50",
    "general_cfg.model_save_unit=step",
)  # fmt: skip
TABLE = ("general_cfg.algo_name=PPO", "algo_cfg.batch_size=20", "algo_cfg.sgd_batch_size=10")


def config_of(*words: str, allow: tuple[str, ...] = ("own_parts",)) -> RunConfig:
    return load(
        None, [*SMALL, *TABLE, "general_cfg.preset=null", *words], find_algo=ALGOS, find_env=ENVS, allow_import=allow
    )


def refused(*words: str, allow: tuple[str, ...] = ("own_parts",)) -> str:
    with pytest.raises(ConfigError) as caught:
        config_of(*words, allow=allow)
    return str(caught.value)


def made(rows: int = 1, context: EnvContext | None = None, **settings: object) -> VectorEnv:
    return envs.make(python, python.Config(**settings), rows, context)


def train(folder: Path, *words: str) -> Path:
    assert main.main([*ALLOWED, *SMALL, *TABLE, *words, "--into", str(folder)]) == 0
    return folder


def csv(folder: Path) -> bytes:
    return (folder / "results" / "train.csv").read_bytes()


# ------------------------------------------------------------------------------------------------------- runs


def test_a_class_trains_and_resumes_to_the_byte(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ("env_cfg.id=own_parts:Line", "env_cfg.size=4")
    straight = train(tmp_path / "a", *words, "general_cfg.max_total_step=120")
    broken = train(tmp_path / "b", *words, "general_cfg.max_total_step=60")
    assert main.main([*ALLOWED, "--resume", str(broken), "general_cfg.max_total_step=120"]) == 0
    assert csv(broken) == csv(straight)
    assert "id: 'own_parts:Line'" in (straight / "config.yaml").read_text()
    assert all(-30 <= float(row["return"]) <= 0 for row in read_csv(straight / "results" / "train.csv"))
    capsys.readouterr()
    assert main.main(["--resume", str(broken), "general_cfg.max_total_step=300"]) == 2
    assert "env_cfg.id: imports own_parts; to allow it, add --allow-import own_parts" in capsys.readouterr().err
    assert main.main([*ALLOWED, "--test", str(broken), "--into", str(tmp_path / "t"), "--video"]) == 0
    assert (tmp_path / "t" / "videos" / "video.gif").stat().st_size > 0


def test_a_registered_name_trains_and_a_resume_without_it_names_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own, "_REGISTERED", {})
    own.register("short line", lambda size: Line(size))
    run = train(tmp_path / "a", "env_cfg.id=short line", "env_cfg.size=3", "general_cfg.max_total_step=60")
    own._REGISTERED.clear()
    assert main.main(["--resume", str(run), "general_cfg.max_total_step=90"]) == 2
    message = capsys.readouterr().err
    assert "env_cfg.id: 'short line' is not registered in this process; call joystick.register('short line', ...)" in (
        message
    )


def test_contexts_count_workers_from_one_and_rows_from_zero():
    """Pairs (1, 0) (1, 1) (2, 0) (2, 1) with two workers of two rows; the driver and the data server are 0."""
    words = ("env_cfg.id=own_parts:Placed", "env_cfg.size=3", "env_cfg.n_envs=2", "env_cfg.vectorization=sync")
    config = config_of(*words, "general_cfg.mp_backend=ray", "general_cfg.n_workers=2")
    Placed.made.clear()
    backend = remote(config)
    placed = {(one.worker_index, one.vector_index) for one in Placed.made}
    assert placed - {(0, 0), (0, 1)} == {(1, 0), (1, 1), (2, 0), (2, 1)}
    assert {(one["size"], one.num_workers, one.recreated) for one in Placed.made} == {(3, 2, False)}
    assert {one.num_envs for one in Placed.made if one.worker_index} == {2}
    backend.end()
    Placed.made.clear()
    build.make_env(config_of(*words), 2).close()
    assert [(one.worker_index, one.vector_index, one.num_workers) for one in Placed.made] == [(0, 0, 0), (0, 1, 0)]


def test_the_context_marks_the_replacement_of_a_worker():
    config = config_of("env_cfg.id=own_parts:Placed", "env_cfg.size=3", "general_cfg.mp_backend=ray")
    Placed.made.clear()
    build.make_env(config, 1, worker=1, recreated=True)
    assert Placed.made[-1].recreated


def test_a_function_that_no_process_could_import_travels_by_value(monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    cells = 3
    own.register("mine", lambda env_config: Line(cells, env_config["start"]))
    ray = ("general_cfg.mp_backend=ray", "general_cfg.n_workers=2")
    config = config_of("env_cfg.id=mine", "env_cfg.start=2", *ray, allow=())
    assert set(config.objects) == {"mine"}
    own._REGISTERED.clear()
    backend = remote(config)
    events = list(backend.round(lambda: Progress()))
    assert events
    assert own.find("mine").__closure__[0].cell_contents == 3
    backend.end()


def test_a_creator_that_cannot_be_sent_is_refused_before_ray_starts(monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    lock = threading.Lock()
    own.register("locked", lambda: (lock, Line(3))[1])
    config = config_of("env_cfg.id=locked", "general_cfg.mp_backend=ray", "general_cfg.n_workers=1")
    with (
        build.opened_env(config, 1, build.Watch()) as env,
        pytest.raises(JoystickError, match=r"^'locked' cannot be sent to Ray workers \(TypeError: .*lock.*$"),
        launch.backend(config, build.env_spec(config, env), lambda: False),
    ):
        pass


def test_a_default_dtype_that_an_environment_has_set_is_told_before_networks_are_made_of_it(monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    own.register("double", lambda: (torch.set_default_dtype(torch.float64), Line(3))[1])
    config = config_of("env_cfg.id=double", allow=())
    try:
        with pytest.raises(JoystickError, match=r"torch\.float64, and networks here are float32: .*set_default_dtype"):
            build.make_env(config, 1)
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_package_of_ones_own_need_not_take_the_context(monkeypatch):
    seen = []

    class Module:
        __name__ = "somewhere"

    monkeypatch.setattr(
        envs,
        "import_module",
        lambda name: type("", (), {"make": lambda cfg, rows: seen.append(rows) or SimpleNamespace()}),
    )
    envs.make(Module, python.Config(id="own_parts:Placed"), 3, EnvContext())
    assert seen == [3]


# ------------------------------------------------------------------------------------------------ what is made


def test_settings_are_keywords_or_one_mapping_and_each_row_has_its_own():
    env = made(2, EnvContext(worker_index=3), id="own_parts:Placed", size=5, cells=[1], vectorization="sync")
    one, other = Placed.made[-2:]
    assert (dict(one), one.worker_index, one.vector_index, other.vector_index) == ({"size": 5, "cells": [1]}, 3, 0, 1)
    one["cells"].append(2)
    assert other["cells"] == [1]
    assert env.observation_space.high.tolist() == [5]
    assert made(id="own_parts:Line", size=7).observation_space.high.tolist() == [7]


def test_the_class_of_the_page_works(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text(encoding="utf-8")
    [(file, code)] = re.findall(r"```python\n# (\S+)\n(.*?)```", page, re.DOTALL)
    (tmp_path / f"page_{file}").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    env = made(2, id="page_my_module:MyEnv", size=5, vectorization="sync")
    assert env.reset(everyone(env), np.array([1, 2])).shape == (2, 5)


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_a_vector_environment_of_gymnasium_has_as_many_rows_as_are_needed(mode):
    env = made(3, id="own_parts:lines", size=2, mode=mode)
    assert env.rows == 3
    obs = env.reset(everyone(env), np.array([1, 2, 3]))
    expected = [Line(2).reset(seed=int(seed))[0] for seed in (1, 2, 3)]
    np.testing.assert_array_equal(obs, expected)


def test_our_own_vector_environment_is_taken_as_it_is(monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    own.register("ours", lambda num_envs: made(num_envs, id="own_parts:Line", size=2, vectorization="sync"))
    own.register("always two", lambda: made(2, id="own_parts:Line", size=2, vectorization="sync"))
    assert made(3, id="ours").rows == 3
    with pytest.raises(EnvError, match="always two has 2 rows, and 3 are needed here: take their number from the arg"):
        made(3, id="always two")
    with pytest.raises(EnvError, match=r"wrappers are for a gymnasium\.Env, and ours gives a SyncVector"):
        made(3, id="ours", wrappers=["FrameStack"])


class Specified(OldLine):
    """An environment with the interface of dm_env."""

    def observation_spec(self): ...
    def action_spec(self): ...


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (own_parts.Several, r"mine is an environment of several agents \(Several\) without possible_agents, obs"),
        (
            OldLine,
            r"mine is not a gymnasium.Env \(OldLine\): inherit from it; one of several agents needs methods "
            r"observation_space\(agent\) and action_space\(agent\); joystick.OldGym\(env\) accepts the old step of 4",
        ),
        (
            Specified,
            r"mine is an environment of dm_env \(Specified\), whose step gives a TimeStep: write a gymnasium.Env",
        ),
        (dict, r"mine is not an environment \(dict\): inherit from gymnasium.Env"),
    ],
)
def test_what_is_no_environment_is_refused_as_a_class_and_as_what_a_function_gives(thing, message, monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    own.register("mine", thing)
    [problem] = problems(python.Config(id="mine"))
    assert problem.key == "id"
    own.register("mine", lambda: thing())
    assert list(problems(python.Config(id="mine"))) == []
    with pytest.raises(EnvError, match=message):
        made(id="mine")


def test_spaces_in_mappings_by_agent_are_answered_with_what_takes_them():
    """RLlib's MultiAgentEnv has them."""

    class Spaced:
        def __init__(self):
            self.agents = self.possible_agents = ["a", "b"]
            self.observation_spaces = dict.fromkeys("ab", Box(-1, 1, (1,)))
            self.action_spaces = dict.fromkeys("ab", Discrete(2))

        def reset(self, *, seed=None, options=None): ...

        def step(self, actions): ...

    assert no_environment(Spaced()) == (
        "is an environment of several agents (Spaced) without observation_space(agent), action_space(agent); "
        "joystick.OldGym(env) accepts the old form, and spaces in mappings by agent"
    )
    assert several(OldGym(Spaced()))


def test_the_old_step_ends_in_a_termination_unless_its_info_has_a_time_limit():
    """By hand: from cell 2 two steps to the right end at 4; steps to the left are cut off after 6."""
    env = OldGym(OldLine())
    seed = next(seed for seed in range(99) if np.random.RandomState(seed).randint(3) == 2)
    assert env.reset(seed=seed) == (np.array([2.0]), {})
    assert env.step(1)[1:] == (-1.0, False, False, {})
    assert env.step(1)[1:] == (-1.0, True, False, {})
    env.reset(seed=seed + 2**32)
    steps = [env.step(0) for _ in range(6)]
    assert [step[2:4] for step in steps] == [(False, False)] * 5 + [(False, True)]
    assert steps[-1][4] == {"TimeLimit.truncated": True}
    rows = made(2, id="own_parts:old_line", limit=3, vectorization="sync")
    assert rows.reset(everyone(rows), np.array([seed, seed])).tolist() == [[2.0], [2.0]]


def test_spaces_and_resets_of_old_versions_are_converted():
    kinds = {
        "Box": {"low": np.zeros(2, np.float32), "high": np.ones(2, np.float32), "dtype": np.dtype(np.float32)},
        "Discrete": {"n": 3},
        "MultiDiscrete": {"nvec": np.array([2, 3])},
        "MultiBinary": {"n": 4},
    }
    old = {name: type(name, (), values)() for name, values in kinds.items()}
    old["Dict"] = type("Dict", (), {"spaces": {"a": old["Box"], "b": old["Discrete"]}})()
    old["Tuple"] = type("Tuple", (), {"spaces": [old["Box"], old["MultiBinary"]]})()
    for name, space in old.items():
        env = type("Env", (), {"observation_space": space, "action_space": old["Discrete"]})()
        found = OldGym(env).observation_space
        assert isinstance(found, gymnasium.Space)
        assert type(found).__name__ == name
    between = type("Between", (OldLine,), {"reset": lambda self, seed=None: (np.array([seed], np.float32), {"x": 1})})
    assert OldGym(between()).reset(seed=4) == (np.array([4.0]), {"x": 1})


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "env_cfg.id: must be given: a class or function as my_module:MyEnv, or a registered name"),
        (["id=own_parts:Lin"], "env_cfg.id: module own_parts has no 'Lin'; did you mean Line?"),
        (["id=own_parts:Line.what"], "env_cfg.id: module own_parts has no 'Line.what'"),
        (["id=nowhere"], "env_cfg.id: 'nowhere' is not registered in this process; call joystick.register('nowhere',"),
        (["id=CartPole-v1"], "(it exists with general_cfg.env_name=gym env_cfg.id=CartPole-v1)"),
        (["id=own_parts:NOT_CALLABLE"], "is of type int; expected a class or a function that makes one"),
        (
            ["id=own_parts:Line"],
            "env_cfg.size: is required, and not set: add env_cfg.size=VALUE, or name the parameter",
        ),
        (["id=own_parts:Line", "size=3", "stat=1"], "env_cfg.stat: unknown; did you mean start?"),
        (["id=own_parts:Line", "size=3", "zzz=1"], "env_cfg.zzz: unknown; known are: render_mode, size, start"),
        (["id=own_parts:Halved"], "env_cfg.env: is required"),
        (["id=own_parts:Line", "size=3", "render_mode=human"], "env_cfg.render_mode: human needs a display"),
        (["id=own_parts:old_line", "render_mode=rgb_array"], "own_parts:old_line has no parameter render_mode"),
        (
            ["id=own_parts:Line", "size=3", "wrappers=[own_parts:Line]"],
            "own_parts:Line is not a class that inherits from",
        ),
        (
            ["id=own_parts:Line", "size=3", "wrappers=[own_parts:Halve]"],
            "module own_parts has no 'Halve'; did you mean",
        ),
        (
            ["id=own_parts:Line", "size=3", "wrappers=[{wrapper_name: own_parts:Halved, facto: 1}]"],
            "env_cfg.wrappers: own_parts:Halved: facto: unknown; did you mean factor?",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_to_write(words, message, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    assert message in refused(*[f"env_cfg.{word}" for word in words])


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["general_cfg.env_name=python", "env_cfg.id=unknown_here:Line"], "id"),
        (["general_cfg.env_name=gym", "env_cfg.wrappers=[unknown_here:Halved]"], "wrappers"),
        (["general_cfg.env_name=gym", "env_cfg.wrappers=[{wrapper_name: unknown_here:Halved, factor: 2}]"], "wrappers"),
    ],
)
def test_nothing_is_imported_without_permission(words, key):
    """SEC-3"""
    message = refused(*words)
    assert f"env_cfg.{key}: imports unknown_here; to allow it, add --allow-import unknown_here" in message
    assert "No module named" not in message
    assert "No module named 'unknown_here'" in refused(*words, allow=("unknown_here",))


def test_a_module_that_is_not_there_is_answered_with_the_folder_to_be_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(own.OwnError) as absent:
        own.find("left_behind:Walk")
    assert str(absent.value) == (
        "the module of left_behind:Walk cannot be imported: No module named 'left_behind'; start the program in the "
        f"folder that has left_behind (this one is {tmp_path}), or name that folder in PYTHONPATH"
    )
    (tmp_path / "needs_more.py").write_text("import not_installed")
    with pytest.raises(own.OwnError) as broken:
        own.find("needs_more:Walk")
    assert str(broken.value).endswith("cannot be imported: No module named 'not_installed'")


def test_a_class_where_gym_expects_an_id_is_answered_with_the_kind_that_takes_it():
    message = refused("general_cfg.env_name=gym", "env_cfg.id=own_parts:Line")
    assert "own_parts has a class Line: general_cfg.env_name=python takes it" in message


def test_a_constructor_that_raises_is_named_with_its_line():
    config = config_of("env_cfg.id=own_parts:Line", "env_cfg.size=text")
    with pytest.raises(EnvError, match=r"own_parts:Line could not be made: .* at "):
        compatibility.check(config)


# ------------------------------------------------------------------------------------------------------- wrappers


@pytest.mark.parametrize("kind", ["gym", "python"])
def test_a_wrapper_of_ones_own_is_seen_in_training_and_test(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    which = {"gym": ["env_cfg.id=CartPole-v1"], "python": ["env_cfg.id=own_parts:Line", "env_cfg.size=3"]}[kind]
    words = [f"general_cfg.env_name={kind}", *which, "general_cfg.max_total_step=60"]
    run = train(tmp_path / "a", *words, "env_cfg.wrappers=[{wrapper_name: own_parts:Halved, factor: 0.25}]")
    main.main([*ALLOWED, "--test", str(run), "--into", str(tmp_path / "t")])
    for path, name in ((run, "train.csv"), (tmp_path / "t", "test.csv")):
        for row in read_csv(path / "results" / name):
            assert abs(float(row["return"])) == float(row["length"]) / 4


def test_a_wrapper_of_ones_own_is_seen_in_workers():
    words = ("env_cfg.id=own_parts:Line", "env_cfg.size=3", "env_cfg.wrappers=own_parts:Halved")
    backend = remote(config_of(*words, "general_cfg.mp_backend=ray", "general_cfg.n_workers=2"))
    [worker, *_] = [actor.object for actor in backend.ray.actors if actor.kind.__name__ == "Worker"]
    env = worker.env
    env.reset(everyone(env), np.array([1]))
    assert env.step(np.array([0])).reward.tolist() == [-0.5]
    backend.end()


# ------------------------------------------------------------------------------------------------- names of objects


def test_objects_of_python_are_named_by_their_module_or_registered(monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    monkeypatch.setattr(own, "_BY_PYTHON", set())

    class Local(Line): ...

    settings = {"id": Line, "size": 3, "wrappers": [{"wrapper_name": Halved, "factor": 2}, "FrameStack"], "x": (Local,)}
    assert own.by_name(settings) == {
        "id": "own_parts:Line",
        "size": 3,
        "wrappers": [{"wrapper_name": "own_parts:Halved", "factor": 2}, "FrameStack"],
        "x": ["Local"],
    }
    assert (own.find("Local"), own.find("own_parts:Line")) == (Local, Line)
    assert own.by_name(lambda: 0) == "lambda"
    one, other = (lambda: 0), (lambda: 1)
    assert own.by_name([one, other, one]) == ["lambda_2", "lambda_3", "lambda_2"]
    config = config_of("env_cfg.id=own_parts:Line", "env_cfg.size=3", allow=())
    assert config.allow_import == ("own_parts",)
    assert config.objects == {}


@pytest.mark.parametrize("name", ["", " ", "a:b", "a\nb", 3])
def test_a_name_that_settings_could_not_hold_is_not_registered(name):
    with pytest.raises(ValueError, match="cannot be registered as a name; use text without a colon"):
        own.register(name, Line)


def test_only_what_can_be_called_is_registered():
    with pytest.raises(TypeError, match="'mine': 3 cannot be registered; use a class or a function"):
        own.register("mine", 3)


def test_a_function_of_one_config_gets_all_settings_as_rllib_gives_them(monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    own.register("placed", lambda config: Placed(config))
    made(1, EnvContext(worker_index=2), id="placed", size=4, vectorization="sync")
    assert (Placed.made[-1]["size"], Placed.made[-1].worker_index) == (4, 2)


@pytest.mark.parametrize(
    "maker",
    [
        lambda cfg: Placed(cfg),
        lambda c: Placed(c),
        lambda ctx: Placed(ctx),
        lambda env_ctx: Placed(env_ctx),
        lambda _: Placed(_),
    ],
    ids=["cfg", "c", "ctx", "env_ctx", "_"],
)
def test_so_does_a_function_with_another_name_for_it(monkeypatch, maker):
    monkeypatch.setattr(own, "_REGISTERED", {})
    own.register("placed", maker)
    made(1, EnvContext(worker_index=2), id="placed", size=4, vectorization="sync")
    assert (Placed.made[-1]["size"], Placed.made[-1].worker_index) == (4, 2)


def test_a_wrapper_as_the_class_of_an_environment_is_not_asked_for_its_render_modes(monkeypatch):
    """Its metadata are a property: only an instance has them."""

    class Wrapped(gymnasium.Wrapper):
        def __init__(self, render_mode=None):
            super().__init__(gymnasium.make("CartPole-v1", render_mode=render_mode))

    monkeypatch.setattr(own, "_REGISTERED", {"wrapped": Wrapped})
    assert list(problems(python.Config(id="wrapped", render_mode="rgb_array"))) == []


def test_render_mode_may_be_passed_on_with_other_arguments(monkeypatch):
    monkeypatch.setattr(own, "_REGISTERED", {})
    own.register("passed on", lambda size=3, **others: Line(size, **others))
    assert list(problems(python.Config(id="passed on", render_mode="rgb_array"))) == []
    assert made(id="passed on", render_mode="rgb_array").info(0) == {}


def test_a_class_without_modes_of_drawing_is_told_how_it_says_them(monkeypatch):
    """It was told that it offers none, also with a method render and a parameter render_mode."""

    class Undrawn(gymnasium.Env):
        observation_space, action_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)

        def __init__(self, render_mode=None):
            self.render_mode = render_mode

        def render(self):
            return np.zeros((4, 4, 3), np.uint8)

    monkeypatch.setattr(own, "_REGISTERED", {"undrawn": Undrawn})
    [problem] = problems(python.Config(id="undrawn", render_mode="rgb_array"))
    assert 'a class of your own offers it with metadata = {"render_modes": ["rgb_array"]} and' in problem.message


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["env_cfg.n_envs=8", "general_cfg.online_eval_episode=20"], 19),
        (["env_cfg.n_envs=1", "general_cfg.online_eval_episode=2"], 4),
        (["env_cfg.n_envs=2", "general_cfg.online_eval_episode=3", "general_cfg.online_eval=false"], 6),
    ],
)
def test_an_environment_is_made_as_often_as_the_page_says_before_the_first_step(words, count, tmp_path, monkeypatch):
    made_so_far, at_first_step = [], []
    create, whole = Line.__init__, Experiment.train

    @functools.wraps(create)
    def counted(self, *args, **more):
        made_so_far.append(self)
        create(self, *args, **more)

    def watched(self):
        at_first_step.append(len(made_so_far))
        return whole(self)

    monkeypatch.setattr(Line, "__init__", counted)
    monkeypatch.setattr(Experiment, "train", watched)
    train(tmp_path / "run", "env_cfg.id=own_parts:Line", "env_cfg.size=3", "general_cfg.max_total_step=20", *words)
    assert at_first_step == [count]
