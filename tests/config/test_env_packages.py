"""Packages of environments that are named by their ids: imported by the table alone, and never from the current
folder. The packages are fakes in a folder of installed packages."""

import os
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from config.own import env_packages, packages
from config.own.env_packages import PACKAGES, of_id
from config.read import presets
from config.read.loader import ConfigError, load
from envs import vector_of
from envs.base import EnvError
from envs.common import registry
from envs.gym import Config, check, remark
from envs.gym import env as gym_env
from envs.gym.agents import Agents
from envs.gym.fresh import FORGETS, Fresh
from framework.catalog import ALGOS, ENVS
from framework.commands.work import doctor
from main import main
from tests.tools.envs import everyone
from tests.tools.ray import TINY

ROOT = Path(__file__).parents[2]
GRID = """
import gymnasium, numpy as np
from pathlib import Path
import helper_of_grids

class Grid(gymnasium.Env):
    observation_space = gymnasium.spaces.Dict({
        "image": gymnasium.spaces.Box(0, 255, (3, 3, 3), np.uint8), "direction": gymnasium.spaces.Discrete(4),
        "mission": gymnasium.spaces.Text(9)})
    action_space = gymnasium.spaces.Discrete(3)
    metadata = {"render_modes": ["rgb_array"]}
    def __init__(self, render_mode=None):
        self.render_mode, self.time = render_mode, 0
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self.seen(), {}
    def seen(self):
        return {"image": np.full((3, 3, 3), self.time, np.uint8), "direction": self.time % 4, "mission": "go"}
    def step(self, action):
        self.time += 1
        return self.seen(), float(action), self.time == 5, False, {}
    def render(self):
        return np.zeros((32, 32, 3), np.uint8)

if "MiniGrid-Empty-5x5-v0" not in gymnasium.registry:
    gymnasium.register("MiniGrid-Empty-5x5-v0", Grid)
"""
EVIL = "from pathlib import Path; Path(__file__).with_name('imported').touch()"
NAMES = ("minigrid", "helper_of_grids", "lbforaging", "envpool")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder, and a process that has none of the packages."""
    monkeypatch.setattr(
        sys, "path", [place for place in sys.path if not any(Path(place, name).exists() for name in NAMES)]
    )
    monkeypatch.setattr(registry, "_registered", set(registry._registered))
    before, lab = dict(gymnasium.registry), tmp_path / "lab"
    for name in [name for name in sys.modules if name.partition(".")[0] in NAMES]:
        monkeypatch.delitem(sys.modules, name)
    lab.mkdir()
    monkeypatch.chdir(lab)
    for name in [name for name in before if name.startswith("MiniGrid-")]:
        del gymnasium.registry[name]
    yield lab
    for name in [name for name in sys.modules if name.partition(".")[0] in NAMES]:
        del sys.modules[name]
    # a package that stays imported registers its environments no second time
    atari = {name: spec for name, spec in gymnasium.registry.items() if str(spec.entry_point).startswith("ale_py")}
    gymnasium.registry.clear()
    gymnasium.registry.update(before | atari)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder of installed packages that has minigrid, and what it imports."""
    place = tmp_path / "site-packages"
    (place / "minigrid").mkdir(parents=True)
    (place / "minigrid" / "__init__.py").write_text(GRID)
    (place / "minigrid" / "wrappers.py").write_text("import gymnasium\nclass Other(gymnasium.Wrapper): pass\n")
    (place / "helper_of_grids.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(place)])
    return place


def loaded(*words: str, **flags: Any) -> Any:
    return load(None, words, find_algo=ALGOS, find_env=ENVS, **flags)


# -------------------------------------------------------------------------------------------------- the table


def test_each_row_has_its_own_example_and_its_own_presets():
    for row in PACKAGES:
        assert of_id(row.example) is row, row.name
        assert row.kind in ENVS.available()
        assert not row.forgets or row.forgets in FORGETS
        assert presets.family(row.example) == row.family
        assert not row.family or presets.algos_with(row.family), row.family


@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Ant-v5", "HalfCheetah-v5", "poles", "my_module:MyEnv-v0", "Pong", "x"]
)
def test_ids_of_gymnasium_and_of_ones_own_belong_to_no_package(name):
    assert of_id(name) is None
    assert not env_packages.is_listed(f"{name}:Thing")


def test_what_pip_installs_is_in_the_files_of_requirements_too():
    text = "".join((ROOT / f"requirements-{name}.txt").read_text().lower() for name in ("extra", "envs", "robotics"))
    for row in PACKAGES:
        words = [re.split(r"[\[=<>]", word)[0] for word in row.pip.replace('"', "").split() if word[0] != "-"]
        if "--no-deps" not in row.pip and row.name not in ("panda_gym", "pybullet_envs_gymnasium"):
            assert all(re.search(rf"^{word}\b", text, re.MULTILINE) for word in words), row.pip


# -------------------------------------------------------------------------------------------------- what is imported


def test_the_package_of_an_id_is_imported_without_a_word_and_gets_its_wrapper(installed):
    config = loaded(algo="PPO", env="MiniGrid-Empty-5x5-v0")
    assert config.env.wrappers == [{"wrapper_name": "FilterObservation", "filter_keys": ["image", "direction"]}]
    assert config.allow_import == ()
    (note,) = [note for note in config.notes if note.startswith("minigrid: env_cfg.wrappers: ")]
    assert "FilterObservation" in note
    with closing(gym_env.make(config.env, 2)) as env:
        assert env.observation_space.shape == (31,)
        assert env.reset(everyone(env), np.arange(2)).shape == (2, 31)


def test_an_id_in_the_hands_of_a_program_gets_its_package_and_wrapper_too(installed, monkeypatch):
    with closing(vector_of("MiniGrid-Empty-5x5-v0")) as env:
        assert env.observation_space.shape == (31,)
    with pytest.raises(EnvError, match="the current version is MiniGrid-Empty-5x5-v0"):
        vector_of("MiniGrid-Empty-5x5-v3")


@pytest.mark.parametrize("written", ["null", "[FlattenObservation]"])
def test_wrappers_that_are_written_take_the_place_of_the_default(installed, written):
    config = loaded(f"env_cfg.wrappers={written}", algo="PPO", env="MiniGrid-Empty-5x5-v0")
    assert config.env.wrappers == (None if written == "null" else ["FlattenObservation"])
    assert not [note for note in config.notes if note.startswith("minigrid: ")]


def test_the_name_with_the_module_of_the_table_is_the_same(installed):
    config = loaded(algo="PPO", env="minigrid:MiniGrid-Empty-5x5-v0")
    assert config.allow_import == ()
    with closing(gym_env.make(config.env, 1)) as env:
        assert env.observation_space.shape == (31,)


def test_an_id_of_a_package_that_is_not_installed_says_what_to_type():
    (problem,) = check(Config(id="MiniGrid-Empty-5x5-v0"))
    end = "needs the package minigrid, which is not installed: pip install minigrid"
    assert problem.message == f"MiniGrid-Empty-5x5-v0 {end}"


def test_a_typing_error_and_an_old_version_are_answered_with_the_id(installed):
    for wrong in ("MiniGrid-Emty-5x5-v0", "Minigrid-empty-5x5-v0"):
        (problem,) = check(Config(id=wrong))
        assert "MiniGrid-Empty-5x5-v0" in problem.message, wrong
    (problem,) = check(Config(id="MiniGrid-Empty-5x5-v7"))
    assert problem.message.endswith("the current version is MiniGrid-Empty-5x5-v0")


def test_a_package_that_cannot_be_imported_is_a_problem_of_the_id(installed):
    (installed / "helper_of_grids.py").write_text("raise OSError('no library')")
    (problem,) = check(Config(id="MiniGrid-Empty-5x5-v0"))
    assert "the module of MiniGrid-Empty-5x5-v0 cannot be imported: OSError: no library" in problem.message


@pytest.mark.parametrize("front", ["", ".", "here", "link"])
@pytest.mark.parametrize("form", ["minigrid.py", "minigrid/__init__.py"])
def test_a_file_of_that_name_in_the_current_folder_is_never_imported(folder, front, form, monkeypatch):
    """The injection: the current folder is first on the path, as for `python main.py` in a clone, or last."""
    (folder / form).parent.mkdir(exist_ok=True)
    (folder / form).write_text(EVIL)
    (folder.parent / "link").symlink_to(folder)
    first = {"here": str(folder), "link": str(folder.parent / "link")}.get(front, front)
    for path in ([first, *sys.path], [*sys.path, first]):
        monkeypatch.setattr(sys, "path", path)
        for name in ("MiniGrid-Empty-5x5-v0", "minigrid:MiniGrid-Empty-5x5-v0"):
            (problem,) = check(Config(id=name))
            assert "pip install minigrid" in problem.message
            assert f"({form.partition('/')[0]} in this folder is not imported in its place)" in problem.message
        assert sys.path == path
    assert not list(folder.rglob("imported"))


@pytest.mark.parametrize("name", ["minigrid", "helper_of_grids"])
def test_the_installed_package_wins_over_a_file_that_comes_first(folder, installed, name, monkeypatch):
    """The same for what the package imports itself."""
    (folder / f"{name}.py").write_text(EVIL)
    monkeypatch.setattr(sys, "path", [str(folder), "", *sys.path])
    assert not check(Config(id="MiniGrid-Empty-5x5-v0"))
    assert sys.modules[name].__file__.startswith(str(installed))
    assert not (folder / "imported").exists()


def test_a_run_of_a_stranger_imports_what_the_table_has_and_nothing_else(folder, installed, monkeypatch, capsys):
    words = ["--algo", "PPO", "--env", "MiniGrid-Empty-5x5-v0", *TINY, "general_cfg.max_total_step=64", "--into", "run"]
    assert main(words) == 0
    run = folder / "run"
    (run / "minigrid.py").write_text(EVIL)
    (run / "helper_of_grids.py").write_text(EVIL)
    for name in ("minigrid", "helper_of_grids"):
        del sys.modules[name]
    registry._registered.clear()
    del gymnasium.registry["MiniGrid-Empty-5x5-v0"]
    monkeypatch.chdir(run)
    monkeypatch.setattr(sys, "path", [str(run), "", *sys.path])
    assert main(["evaluate", str(run)]) == 0
    assert sys.modules["minigrid"].__file__.startswith(str(installed))
    assert not list(folder.rglob("imported"))
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(
        text.replace("wrapper_name: FilterObservation", "wrapper_name: minigrid.wrappers:Other")
    )
    capsys.readouterr()
    assert main(["evaluate", str(run)]) == 2
    assert "imports minigrid.wrappers; to allow it, add --allow-import minigrid" in capsys.readouterr().err


def test_only_the_wrappers_of_the_table_need_no_word():
    listed = "minigrid.wrappers:DictObservationSpaceWrapper"
    assert packages.forbidden(listed, ()) is None
    for name in (
        "minigrid.wrappers:Other",
        "minigrid:Other",
        "os:system",
        "minigrid.wrappers:",
        "evil:MiniGrid-Empty-5x5-v0",
    ):
        assert packages.forbidden(name, ()) is not None, name
    with pytest.raises(ConfigError, match=r"imports minigrid\.wrappers; to allow it, add --allow-import minigrid"):
        loaded('env_cfg.wrappers=["minigrid.wrappers:Other"]', algo="PPO", env="CartPole-v1")


# -------------------------------------------------------------------------------------------------- kinds, versions


def test_the_kind_of_environment_follows_from_the_id():
    pytest.importorskip("mpe2")
    assert loaded(algo="PPO", env="mpe/simple_spread_v3").general.env_name == "pettingzoo"
    assert loaded("env_cfg.id=mpe/simple_adversary_v3").general.env_name == "pettingzoo"
    with pytest.raises(ConfigError, match=r"general_cfg\.env_name=pettingzoo"):
        loaded("general_cfg.env_name=gym", algo="PPO", env="mpe/simple_adversary_v3")


def test_another_version_than_the_environments_were_tried_with_is_said(monkeypatch):
    versions = {"mujoco": "4.0.0"}
    monkeypatch.setattr(env_packages, "_version", lambda name: versions.get(name, ""))
    sentence = "gymnasium_robotics was tried with mujoco==3.3.0, and mujoco 4.0.0 is installed: pip install"
    assert registry.tried_with("FetchReach-v4").startswith(sentence)
    assert registry.tried_with("Ant-v5") is None
    monkeypatch.setattr(registry, "outdated", lambda env_id: None)
    assert remark(Config(id="FetchReach-v4")).startswith(sentence)
    versions["mujoco"] = "3.3.0"
    assert registry.tried_with("FetchReach-v4") is None


def test_the_doctor_says_what_is_installed_and_what_to_type(installed, monkeypatch):
    row = of_id("MiniGrid-Empty-5x5-v0")
    assert doctor._environment(row)[:2] == ("ok", "minigrid")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(installed)])
    finding = doctor._environment(row)
    assert (finding.state, finding.mend) == ("note", "pip install minigrid")
    assert "environments such as MiniGrid-DoorKey-5x5-v0" in finding.text
    monkeypatch.setattr(env_packages, "is_installed", lambda module: True)
    monkeypatch.setattr(env_packages, "_version", lambda name: "9.9")
    finding = doctor._environment(of_id("FetchReach-v4"))
    assert finding.state == "note"
    assert "tried with mujoco==3.3.0, and mujoco 9.9 is here" in finding.text


# -------------------------------------------------------------------------------------------------- agents, episodes


class Foragers(gymnasium.Env):
    """Two agents as tuples: the reward of each is its action, and an episode has three steps."""

    observation_space = gymnasium.spaces.Tuple([gymnasium.spaces.Box(0, 9, (2,), np.float32)] * 2)
    action_space = gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(4)])
    ends = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._seen(), {}

    def _seen(self):
        return tuple(np.full(2, self.time + number, np.float32) for number in range(2))

    def step(self, action):
        self.time += 1
        done = self.time == 3
        cut = [done, done] if isinstance(self.ends, list) else done
        return self._seen(), [float(part) for part in action], self.ends, cut, {}


def test_tuples_of_agents_are_agents_by_name():
    env = Agents(Foragers())
    assert env.possible_agents == ["agent_0", "agent_1"]
    assert (env.action_space("agent_1").n, env.observation_space("agent_0").shape) == (4, (2,))
    obs, _ = env.reset(seed=1)
    assert {name: part.tolist() for name, part in obs.items()} == {"agent_0": [0, 0], "agent_1": [1, 1]}
    for last in (False, False, True):
        obs, rewards, terminated, truncated, _ = env.step({"agent_1": 3, "agent_0": 2})
        assert rewards == {"agent_0": 2.0, "agent_1": 3.0}
        assert (terminated, truncated) == ({"__all__": False}, {"__all__": last})
    assert obs["agent_1"].tolist() == [4, 4]
    with pytest.raises(Exception, match="expected tuples with a part for each agent"):
        Agents(gymnasium.make("CartPole-v1"))


@pytest.mark.parametrize("ends", [True, [True, True], [True, False]])
def test_an_episode_of_tuples_ends_when_all_agents_have(ends):
    env = Agents(type("Ending", (Foragers,), {"ends": ends})())
    env.reset(seed=1)
    *_, terminated, truncated, _ = env.step({"agent_0": 0, "agent_1": 0})
    over = ends != [True, False]
    assert (terminated["__all__"], truncated["__all__"]) == (over, False)


@pytest.fixture
def foragers(tmp_path, monkeypatch):
    place = tmp_path / "site-packages"
    place.mkdir(exist_ok=True)
    (place / "lbforaging.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(place)])
    gymnasium.registry.pop("Foraging-8x8-2p-1f-v3", None)
    gymnasium.register("Foraging-8x8-2p-1f-v3", Foragers)


def test_an_id_of_several_agents_makes_joint_rows(foragers):
    with closing(gym_env.make(Config(id="Foraging-8x8-2p-1f-v3"), 2)) as env:
        assert env.joint is not None
        assert [len(kind.agents) for kind in env.joint.types] == [1, 1]
    problems = check(Config(id="Foraging-8x8-2p-1f-v3", wrappers=["FlattenObservation"], vectorization="async"))
    assert sorted(problem.key for problem in problems) == ["vectorization", "wrappers"]


class Drawing(gymnasium.Env):
    """Draws its start before it takes the seed."""

    observation_space, action_space = gymnasium.spaces.Box(0, 1, (1,)), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        start = np.float32(self.np_random.random())
        super().reset(seed=seed)
        return np.array([start]), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, True, False, {}


@pytest.mark.parametrize("forgets", [True, False])
def test_an_episode_that_is_drawn_before_the_seed_is_seeded_before(forgets):
    env = Fresh(Drawing(), FORGETS["generator"]) if forgets else Drawing()
    starts = [env.reset(seed=seed)[0][0] for seed in (1, 2, 1)]
    assert bool(starts[0] == starts[2]) is forgets


def test_the_first_action_of_a_game_of_minatar_is_not_that_of_the_episode_before():
    pytest.importorskip("minatar")
    env = gym_env.make_scalar(Config(id="MinAtar/Breakout-v1"), 0)
    env.reset(seed=1)
    env.step(2)
    assert env.unwrapped.game.last_action != 0
    env.reset(seed=1)
    assert env.unwrapped.game.last_action == 0


POOL = """
import numpy as np
from gymnasium.spaces import Box, Discrete

class Rows:
    single_observation_space, single_action_space = Box(-1e9, 1e9, (2,), np.float32), Discrete(2)
    metadata, render_mode = {"autoreset_mode": "NextStep"}, None
    def __init__(self, seeds):
        self.num_envs, self.seeds, self.times = len(seeds), np.array(seeds), np.zeros(len(seeds), int)
        self.unwrapped = self
    def seen(self):
        return np.stack([self.seeds % 1000, self.times], 1).astype(np.float32)
    def reset(self, options=None):
        mask = np.ones(self.num_envs, bool) if options is None else options["reset_mask"]
        self.times[mask] = 0
        return self.seen()[mask], {}
    def step(self, action):
        self.times += 1 + action
        none = np.zeros(self.num_envs, bool)
        return self.seen(), np.ones(self.num_envs), self.times >= 3, none, {}
    def close(self):
        pass

def make(name, env_type, num_envs, seed):
    assert (name, env_type, num_envs) == ("Pong-v5", "gymnasium", len(seed))
    return Rows(seed)
"""


def test_rows_of_envpool_begin_from_their_seeds_and_are_reset_by_a_mask(tmp_path, monkeypatch):
    place = tmp_path / "site-packages" / "envpool"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(POOL)
    (place / "registration.py").write_text("def list_all_envs(): return ['Pong-v5']")
    cfg = Config(id="ALE/Pong-v5", vectorization="envpool")
    (problem,) = check(cfg)
    assert problem.message.endswith("needs the package envpool, which is not installed: pip install envpool")
    monkeypatch.setattr(sys, "path", [*sys.path, str(place.parent)])
    assert not check(cfg)
    both = check(Config(id="ALE/Pang-v5", vectorization="envpool", wrappers=["FlattenObservation"]))
    assert [problem.key for problem in both] == ["id", "vectorization"]
    assert both[0].message == "envpool has no Pang-v5; did you mean Pong-v5?"
    with closing(gym_env.make(cfg, 3)) as env:
        assert not env.replayable
        assert env.reset(everyone(env), np.array([11, 12, 13])).tolist() == [[11, 0], [12, 0], [13, 0]]
        assert env.step(np.array([0, 1, 0])).terminated.tolist() == [False, False, False]
        assert env.step(np.array([0, 0, 0])).terminated.tolist() == [False, True, False]
        after = env.reset(np.array([False, True, False]), np.array([0, 99, 0]))
        assert after.tolist() == [[11, 2], [12, 0], [13, 2]], "the others go on, and a seed cannot be given"
        assert env.reset(everyone(env), np.array([21, 22, 23])).tolist() == [[21, 0], [22, 0], [23, 0]]


def test_the_list_names_one_id_of_a_package_and_all_that_are_asked_for(installed, capsys):
    assert main(["list", "envs"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^MiniGrid-DoorKey-5x5-v0 .*one of minigrid; list envs TEXT shows others$", out, re.MULTILINE)
    assert "MiniGrid-Empty-5x5-v0" not in out
    assert main(["list", "envs", "MiniGrid-E"]) == 0
    assert capsys.readouterr().out.split()[0] == "MiniGrid-Empty-5x5-v0"


def test_packages_of_the_environment_are_python_s_own_folders(tmp_path, monkeypatch):
    assert env_packages._holds_packages(os.path.dirname(os.path.dirname(np.__file__)))
    assert env_packages._holds_packages(os.path.dirname(os.__file__))
    for name in ("", ".", str(tmp_path), str(tmp_path / "lab"), str(ROOT)):
        assert not env_packages._holds_packages(name), name
    (tmp_path / "site-packages").mkdir()
    assert env_packages._holds_packages(str(tmp_path / "site-packages"))
    monkeypatch.chdir(tmp_path / "site-packages")
    assert not env_packages._holds_packages(str(tmp_path / "site-packages")), "the current folder, whatever its name"
