"""The architecture: who may import whom, what is imported where, and how deep classes inherit."""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.tools import house

ROOT = Path(__file__).parents[2]
OURS = ("config", "algos", "envs", "framework")
FILES = sorted([ROOT / "main.py", *(path for name in OURS for path in (ROOT / name).rglob("*.py"))])
CONTRACTS = (
    "algos.base",
    "envs.base",
    "envs.several.joint",
    "config.model.schema",
    "config.tell.language",
    "algos.common.settings",
    "algos.common.parts.acting",
    "algos.common.parts.actor_critic",
    "algos.common.parts.tables",
    "algos.sac.actor_critic",
    "framework.data.policy",
    "framework.dataset.store",
    "framework.disk.appended",
    "framework.errors",
    "framework.record.service",
    "framework.loop.observer",
    "framework.runs.policy",
    "framework.storage.errors",
)
"""Classes of these modules are there to be inherited from."""
EXTENDS = {
    "algos.airl": ("algos.gail.config", "algos.ppo.config"),
    "algos.crossq": ("algos.sac.actor_critic", "algos.sac.losses"),
    "algos.gail": ("algos.ppo.agent", "algos.ppo.config"),
    "algos.maddpg": ("algos.td3.agent", "algos.td3.config"),
    "algos.sac_d": ("algos.sac.temperature",),
    "algos.tqc": ("algos.sac.actor_critic",),
}
"""Algorithms with an agent that adds a part to that of their family, or is built of its parts."""
FAMILY = re.compile(r"algos\.\w+\.config\.Config|algos\.(ppo|td3)\.agent\.Agent")
"""So is an algorithm's config: its variants give other defaults (test_settings_have_at_most_two_families)."""
BUILT_UPON = ("torch.nn", "gymnasium")
"""Libraries whose classes count like a contract."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


def imports(module: str) -> frozenset[str]:
    """Everything that a module imports, at its top or inside a function."""
    return house.source(module).imports


def inside(target: str, *packages: str) -> bool:
    return any(target == package or target.startswith(package + ".") for package in packages)


SETTINGS = (
    "config.model", "config.own", "config.machine", "config.system", "config.tell.language", "config.tell.traceback",
)  # fmt: skip
"""What algorithms and environments see of config: types of settings, objects that settings name, and the language of
what they say."""


def allowed(module: str, target: str) -> bool:
    package = module.split(".")[0]
    if package == "config":
        return inside(target, "config")
    if package == "envs":
        return inside(target, "envs", *SETTINGS)
    if package == "framework":
        if inside(module, "framework.data") and target == "algos.common.maths.returns":
            return True  # returns in a loop of the user's own are those of training
        return inside(target, "framework", "config", "algos.common.fast") or target in (
            "algos",
            "algos.base",
            "envs",
            "envs.base",
            "envs.several.joint",
        )
    if package == "algos":
        own = [".".join(module.split(".")[:2])] if module.count(".") else []
        if is_variant(module) and target.endswith(".config"):
            return True
        shared = target == "algos" and own  # `from algos import base`
        if own and target in EXTENDS.get(own[0], ()):
            return True
        return bool(shared) or inside(target, *own, "algos.base", "algos.common", *SETTINGS)
    return inside(target, "config", "framework")


def is_variant(module: str) -> bool:
    """The config of an algorithm without an agent of its own: it is built on the config of its family."""
    name, _, file = module.rpartition(".")
    return file == "config" and f"{name}.agent" not in MODULES


def test_a_module_imports_only_what_its_layer_may():
    foreign = {module: {t for t in imports(module) if inside(t, *OURS, "main")} for module in MODULES}
    assert not [f"{module} may not import {t}" for module in foreign for t in foreign[module] if not allowed(module, t)]


@pytest.mark.parametrize(
    ("package", "homes"),
    [
        ("ray", ("framework.distributed",)),
        ("matplotlib", ("framework.pages.figures", "framework.pages.axes", "framework.pages.fonts")),
        ("imageio", ("framework.film.gif_stream", "framework.film.mp4")),
        ("gymnasium.vector", ("envs.common.rows", "envs.common.vector", "envs.gym")),
        ("pickle", ("framework.dataset.safe_pickle", "framework.dataset.trajectories")),
    ],
)
def test_a_package_is_imported_only_in_its_own_place(package, homes):
    """SEC-1 for pickle: one restricted reader, and one writer of plain values."""
    users = [module for module in MODULES if any(inside(target, package) for target in imports(module))]
    assert not [module for module in users if not inside(module, *homes)]


ASKED = ("names", "table", "dialect", "dialects", "convert", "experiments", "flags", "cases", "vocabularies")
"""Modules of config.foreign that name no library, or are the lists of all."""


def test_only_the_foreign_room_names_another_library():
    """Whoever needs foreign words asks config.foreign.names; whoever needs foreign files, config.foreign.dialects."""
    room = "config.foreign"
    users = {module: imports(module) for module in MODULES if not inside(module, room)}
    targets_there = {(module, target) for module in users for target in users[module] if inside(target, room)}
    assert targets_there
    assert not [pair for pair in targets_there if not inside(pair[1], *(f"{room}.{name}" for name in ASKED))]
    libraries = {module for module in MODULES if inside(module, room)} - {f"{room}.{name}" for name in ("", *ASKED)}
    asking = [f"{room}.{name}" for name in ("names", "table", "dialect", "experiments", "cases")]
    assert not [(module, target) for module in asking for target in imports(module) & (libraries - {room})]


def test_rooms_of_the_framework_import_from_the_ground_up():
    """tests/tools/house.py lists the rooms, and the imports that climb with their reasons."""
    assert house.climbing() == house.CLIMBING.keys()
    assert len(house.top("framework")) <= 4
    assert len(house.top("config")) <= 3
    assert len(house.rooms_of("config")) == 6


def test_rooms_of_config_import_from_the_ground_up():
    """But for the modules that all rooms share, and the imports that are listed with their reasons."""
    found = house.climbing("config", house.CONFIG_ROOMS, house.CONFIG_SHARED)
    assert found == house.CONFIG_CLIMBING.keys()


def test_only_the_fast_room_uses_private_parts_of_torch():
    assert not [module for module in house.private_reaches() if not inside(module, "algos.common.fast")]


@pytest.mark.run
def test_a_transition_of_dqn_is_followed_in_few_files():
    """From env.step to the weights; docs/design/loop.md says what each is for."""
    files, lines = re.fullmatch(r"(\d+) files, ([\d,]+) lines", printed_by_program()[-1]).groups()
    assert int(files) <= 23, "python -m tests.tools.house --path lists them"
    assert int(lines.replace(",", "")) <= 4200


def test_algorithms_share_few_files():
    """A new one joins the module of its subject, or belongs to the family that has it alone."""
    assert len(house.common()) <= 31


def test_one_room_reads_the_files_of_a_run():
    """framework/archive, by means of framework/disk. All others ask it, but for those that are listed with a reason."""
    assert house.readers_of_runs() == [*house.READING_BESIDES]


@pytest.mark.parametrize(
    "code",
    [
        "json.loads((folder / RUN).read_text())['outcome']",
        "json.loads(files.run.read_bytes()).get('outcome')",
        "read_facts(files.group).get('seeds')",
        "task_dir.read_facts(files.tuning)['trials']",
        "[row['seed'] for row in csv.DictReader(open(files.table('seed')))]",
        "[row['score'] for row in read_csv(path)]",
    ],
)
def test_a_reader_of_keys_is_found(code):
    assert house.reads_a_run_by_keys(ast.parse(f"def of(folder, files, path):\n    return {code}"))


def test_no_agent_does_a_chore_of_the_learner():
    assert list(house.chores().values()) == [0, 0, 0, 1]


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions and for type checkers count too: a knot does not come loose by hiding it."""
    graph = {module: imports(module) & MODULES.keys() - {module} for module in MODULES}
    while leaves := [module for module, needed in graph.items() if not needed & graph.keys()]:
        for module in leaves:
            del graph[module]
    assert not graph, f"a circle among {sorted(graph)}"


def test_nothing_of_ours_evaluates_text_as_code():
    """SEC-3: no eval, exec or compile, and no loader that builds objects."""
    for module in MODULES:
        assert not house.source(module).calls & {"eval", "exec", "compile", "__import__"}, module


def levels() -> dict[str, int]:
    """How many steps each class stands below a contract class, or below a class of a library."""
    bases = {
        f"{module}.{name}": [full_name(module, base) for base in written]
        for module in MODULES
        for name, written in house.source(module).bases.items()
    }

    def level(name: str) -> int:
        if name.rpartition(".")[0] in CONTRACTS or FAMILY.fullmatch(name):
            return 0
        if name not in bases:
            return 0
        return max((level(base) + (base in bases or inside(base, *BUILT_UPON)) for base in bases[name]), default=0)

    return {name: level(name) for name in bases}


def full_name(module: str, base: str) -> str:
    first, dot, rest = base.split("[")[0].partition(".")
    return house.source(module).names.get(first, f"{module}.{first}" if not dot else first) + dot + rest


def test_nothing_inherits_deeper_than_one_level_below_a_contract():
    found = levels()
    assert found["algos.dqn.agent.Agent"] == found["envs.common.sync.SyncVector"] == 1
    assert found["algos.common.maths.returns.Moments"] == found["envs.common.sync.Row"] == 1
    assert {name: level for name, level in found.items() if level > 1} == {}


def test_settings_have_at_most_two_families():
    """A variant's defaults are those of its family but for a few: what a reader has to open is bounded."""
    for path in ROOT.glob("algos/*/config.py"):
        name = f"algos.{path.parent.name}.config"
        families = [
            cls.__module__ for cls in importlib.import_module(name).Config.__mro__ if FAMILY.fullmatch(full(cls))
        ]
        assert families[0] == name
        assert len(families) <= 3, families


def full(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


PROGRAM = (
    "import joystick; joystick.Run; joystick.train; joystick.compare; joystick.load; "
    "import framework.commands.work.train, framework.film.film"
)
"""Imports what a program of the user's own asks for, and what trains and films."""


NAMES = "print(*{name.split('.')[0] for name in sys.modules})"


def lines_of(code: str, *words: str) -> list[str]:
    """Returns what a new process prints."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def loaded_after(statement: str) -> set[str]:
    """Returns the packages that a new process has imported after a statement."""
    return set(lines_of(f"import sys; {statement}; {NAMES}")[0].split())


@cache
def printed_by_program() -> list[str]:
    """Returns the packages that a new process has imported after PROGRAM, in a line, and then what
    `python -m tests.tools.house --path` prints."""
    return lines_of(f"import sys; {PROGRAM}; {NAMES}; from tests.tools import house; house.main()", "--path")


def test_a_config_is_checked_without_anything_heavy():
    """A wrong config is answered in less than a second: nothing that takes longer to import is touched."""
    statement = "from config.read import loader; from config.tell import describe, json_schema; import main; "
    statement += "from framework.catalog import ALGOS, ENVS; "
    statement += "loader.load(None, [], find_algo=ALGOS, find_env=ENVS); ENVS.available(); "
    statement += "[ALGOS.get(name) for name in ALGOS.available()]"
    heavy = {"torch", "matplotlib", "tensorboard", "ray", "scipy", "pandas", "safetensors", "imageio"}
    assert not loaded_after(statement) & heavy
    own = "from config import config; from config.read import loader; from config.tell import describe, json_schema"
    assert not loaded_after(own) & (heavy | {"gymnasium", "numpy", "algos", "envs", "framework"})


def test_nothing_of_a_notebook_is_imported_in_any_other_program():
    assert not set(printed_by_program()[0].split()) & {"IPython", "ipykernel", "jupyter_client", "nbformat"}


FORMER = {
    "from algos.a3c import Config": "algos.impala.config",
    "from algos.random_policy.config import Config": "algos.random.config",
    "from framework.output.trajectories import read as Config": "framework.dataset.trajectories",
    "from envs.gym.masks import Legal as Config": "envs.common.masks",
}
"""Import of a former name -> the module that it leads to now."""


def test_a_program_of_the_users_own_imports_former_names() -> None:
    code = "\n".join(f"{statement}; print(Config.__module__)" for statement in FORMER)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [*FORMER.values()]


def test_the_writers_of_videos_are_imported_when_a_film_begins():
    assert not set(printed_by_program()[0].split()) & {"imageio", "imageio_ffmpeg"}
