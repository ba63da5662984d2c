"""Prints how the code is divided into rooms, in numbers: python -m tests.tools.house

Each line has a number of the present code and the goal that it is held to.
"""

import ast
import gc
import os
import re
import subprocess
import sys
from collections.abc import Container, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("config", "algos", "envs", "framework")
ROOMS = (
    ("errors", "log", "seeding", "catalog"),
    ("disk",),
    ("screen",),
    ("storage",),
    ("collect",),
    ("dataset",),
    ("memory",),
    ("policies",),
    ("archive",),
    ("loop",),
    ("record",),
    ("pages",),
    ("sharing",),
    ("film",),
    ("assemble",),
    ("data",),
    ("dialog",),
    ("export",),
    ("runs",),
    ("jobs",),
    ("live",),
    ("commands",),
    ("distributed",),
)
"""Rooms of framework/ from the ground up: a module imports from its own room and from those before it."""
CLIMBING = {
    ("runs.experiment", "distributed.launch"): "only a run with mp_backend: ray needs the package ray",
    ("jobs.runners", "distributed.stage_tasks"): "only a tuning or a group with ray_address needs it",
}
"""Imports of a room above, each with its reason. They stand inside functions."""
CONFIG_ROOMS = (
    ("program", "machine", "system"),
    ("model",),
    ("config",),
    ("own",),
    ("tell",),
    ("read",),
    ("foreign",),
)
"""Rooms of config/ from the ground up."""
CONFIG_SHARED = (
    "foreign.names",
    "own.objects",
    "read.finder",
    "read.opening",
    "read.paths",
    "read.stores",
    "read.yaml_reader",
    "tell.language",
    "tell.names",
)
"""Modules of config/ that every room uses: spellings, nearest names, sentences in the language of the process, objects
that settings name, files and their paths."""
CONFIG_CLIMBING = {
    ("own.packages", "read.presets"): "a package of the user's own may have presets",
    ("own.values", "tell.error_text"): "a wrong value of a wrapper is told in the words of any other setting",
    ("own.packages", "tell.error_text"): "what is wrong with the settings of a package of the user's own",
    ("own.trust", "read.task_config"): "the code that a task directory names",
    ("own.trust", "read.task_files"): "the code that a task directory names",
    ("own.trust", "read.tasks"): "the folder of a task directory",
    ("read.loader", "foreign.dialect"): "a file of another library is read as one of ours",
    ("read.loader", "foreign.dialects"): "a file of another library is read as one of ours",
    ("read.loader", "foreign.flags"): "flags of another library are read as ours",
    ("read.loader", "foreign.table"): "a value that has no counterpart here",
    ("read.tuning", "foreign.dialects"): "a file of another library may have values to try",
    ("tell.describe", "read.presets"): "the reference page lists presets",
    ("tell.describe", "read.tuning"): "the reference page has all sections",
    ("tell.hints", "foreign.dialects"): "which library has a key that is not one of ours",
    ("tell.hints", "read.sources"): "where a key was written",
    ("tell.json_schema", "read.tuning"): "the schema has all sections",
}
"""Imports of a room of config/ above, each with its reason."""
FACTS_OF_RUNS = re.compile(r"run\.json|(train|eval|progress|models|seeds|runs|trials)\.csv|(tune|group|result)\.json")
"""Names of the files that say what a run is."""
READING = ("framework.archive", "framework.disk")
"""Rooms that read these files; they give typed objects to all others."""
READERS = {"read_facts", "read_csv", "read_table", "last_row", "read_objects", "last_objects"}
"""Functions of framework/disk that return the content of such a file by its keys."""
PARSERS = {"json.loads", "json.load", "csv.reader", "csv.DictReader"}
PLACES = {"RUN", "GROUP", "TUNING", "run", "group", "tuning", "train", "eval", "progress", "result", "test", "table"}
"""Names of such files in config/read/task_files.py."""
READING_BESIDES = {
    "config.read.task_files": "it has the names",
    "config.read.tasks": "config imports nothing of framework, and asks one key: which run a test has tested",
    "framework.record.system_log": "it cuts back the file that it writes",
}
"""Modules elsewhere that know files of runs, each with its reason."""
CHORES = {
    "seed_dropout": re.compile(r"\bseed_dropout\("),
    "following of learning rates": re.compile(r"(?<!targets\.)\bfollow(_schedule)?\("),  # target networks follow, too
    "views of sequences": re.compile(r"\bwith_views\("),
    "the signature of acting": re.compile(r"rng: np\.random\.Generator, mask: Array \| None = None\s*\) -> Act"),
}
PRIVATE = re.compile(r"torch\._|torch\.ops\.|from torch\._")


class Goal(NamedTuple):
    """A number of the code, and what it is to be."""

    what: str
    now: str
    goal: str


@cache
def modules() -> dict[str, Path]:
    """Returns the product's modules: dotted name -> file."""
    files = [ROOT / "main.py", ROOT / "joystick.py"]
    files += [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    return {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in sorted(files)}


class Source(NamedTuple):
    """What a module says, wherever the statement stands."""

    imports: frozenset[str]
    """Modules that it imports; `from package import module` means the module."""
    names: dict[str, str]
    """Full name of each name that it imports by `from`."""
    bases: dict[str, list[str]]
    """Class -> its bases, as they are written."""
    calls: frozenset[str]
    """Functions that it calls, as they are written."""


@cache
def source(module: str) -> Source:
    """Returns what a module says. It is read once, and its syntax tree, which is large, is not kept."""
    nodes = list(ast.walk(tree_of(modules()[module])))
    by_from = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    assert not any(node.level for node in by_from), f"imports are absolute: {module}"
    inner = [(f"{node.module}.{alias.name}", str(node.module), alias) for node in by_from for alias in node.names]
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return Source(
        frozenset([*plain, *(name if name in modules() else package for name, package, _ in inner)]),
        {alias.asname or alias.name: name for name, _, alias in inner},
        {node.name: [ast.unparse(base) for base in node.bases] for node in nodes if isinstance(node, ast.ClassDef)},
        frozenset(written(node.func) for node in nodes if isinstance(node, ast.Call)),
    )


def tree_of(path: Path) -> ast.Module:
    """Returns the syntax tree of a module. The garbage collector would look through its many nodes again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if collecting:
            gc.enable()


def written(function: ast.expr) -> str:
    """Returns what is called, as it is written, after its last part that is no name: a().b.c is .b.c."""
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=of, attr=name):
            return f"{written(of)}.{name}"
    return ""


def climbing(
    package: str = "framework", order: Sequence[Sequence[str]] = ROOMS, shared: Container[str] = ()
) -> set[tuple[str, str]]:
    """Returns the imports inside a package that lead from a room to one above it: (module, imported module). shared:
    modules that every room may import."""
    level = {room: at for at, rooms in enumerate(order) for room in rooms}
    pairs = set()
    for module in modules():
        for target in source(module).imports if module.startswith(f"{package}.") else ():
            here, there = (name.removeprefix(f"{package}.") for name in (module, target))
            rooms = here.split(".")[0], there.split(".")[0]
            if target.startswith(f"{package}.") and there not in shared and level[rooms[1]] > level[rooms[0]]:
                pairs.add((here, there))
    return pairs


def top(folder: str) -> list[str]:
    """Returns the modules that lie in a folder itself."""
    return sorted(path.name for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py")


def common() -> list[Path]:
    """Returns the modules that algorithms share."""
    return sorted(path for path in (ROOT / "algos" / "common").rglob("*.py") if path.name != "__init__.py")


def rooms_of(package: str) -> list[str]:
    """Returns the names of the folders in a package."""
    return sorted(path.parent.name for path in (ROOT / package).glob("*/__init__.py"))


def code_lines() -> int:
    """Returns the number of lines of product code, with docstrings."""
    return sum(lines_of(path) for path in modules().values())


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def readers_of_runs() -> list[str]:
    """Returns the modules outside the rooms for it that name a file of a run, or read one by its keys. Algorithms and
    environments know of no runs (tests/project/test_imports.py)."""
    asked = [name for name in modules() if not name.startswith((*READING, "algos", "envs"))]
    return [name for name in asked if knows_runs(tree_of(modules()[name]))]


def knows_runs(tree: ast.AST) -> bool:
    """Returns True if a file of a run is named, or read by its keys."""
    return names_a_file_of_a_run(tree) or reads_a_run_by_keys(tree)


def names_a_file_of_a_run(tree: ast.AST) -> bool:
    """Returns True if one is named in a string that is no docstring."""
    nodes = list(ast.walk(tree))
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in told]
    return any(isinstance(text.value, str) and FACTS_OF_RUNS.fullmatch(text.value) for text in texts)


def reads_a_run_by_keys(tree: ast.AST) -> bool:
    """Returns True if a function that returns content by keys is called: one of framework/disk, or a parser in a
    function that names the place of such a file."""
    calls = called(tree)
    if {name.rpartition(".")[2] for name in calls} & READERS:
        return True
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] if calls & PARSERS else []
    return any(called(function) & PARSERS and names_in(function) & PLACES for function in functions)


def called(tree: ast.AST) -> set[str]:
    """Returns the functions that are called, as they are written."""
    return {written(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def names_in(tree: ast.AST) -> set[str]:
    """Returns the names of variables and attributes."""
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def chores() -> dict[str, int]:
    """Returns how many files of algorithms contain each chore; algos/base.py and algos/common do them for all."""
    files = [path for path in (ROOT / "algos").glob("*/*.py") if path.parent.name != "common"]
    texts = [path.read_text(encoding="utf-8") for path in files]
    return {what: sum(bool(pattern.search(text)) for text in texts) for what, pattern in CHORES.items()}


def private_reaches() -> list[str]:
    """Returns the modules that use what torch does not document."""
    return [name for name, path in modules().items() if PRIVATE.search(path.read_text(encoding="utf-8"))]


def path_of_a_transition(algo: str = "DQN") -> set[Path]:
    """Returns the files whose functions are called while a run collects and learns, from env.step to the weights."""
    sys.path.insert(0, str(ROOT))
    import tempfile

    import joystick

    files: set[str] = set()

    def called(frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    with tempfile.TemporaryDirectory() as folder:
        run = joystick.Run(
            algo, "CartPole-v1", into=f"{folder}/run", general_cfg={"max_total_step": 10_000, "device": "cpu"}
        )
        with run:
            trainer = run._experiment.trainer  # a round is not part of the interface
            for at in range(9):
                if at == 7:  # the first rounds learn nothing
                    sys.setprofile(called)
                list(trainer.backend.round(trainer.counter.progress))
            sys.setprofile(None)
    return {Path(name) for name in files if Path(name).is_relative_to(ROOT) and "tests" not in Path(name).parts}


def counted_path(variable: str) -> str:
    """Returns the number of files and of lines between env.step and the weights, counted in a process of its own in
    which this variable is 1, if there is one."""
    command = [sys.executable, "-m", "tests.tools.house", "--path"]
    env = {**os.environ, **dict.fromkeys(filter(None, [variable]), "1")}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.splitlines()[
        -1
    ]


def words() -> list[str]:
    """Returns the words of the command line, each of which is a file."""
    return [path.stem for path in sorted((ROOT / "framework" / "commands").glob("*.py")) if path.stem != "__init__"]


def goals() -> Iterator[Goal]:
    """Yields all numbers."""
    above = climbing()
    yield Goal("imports of framework/ that climb to a room above", str(len(above)), "at most 2, with their reasons")
    files = top("framework")
    yield Goal("files at the top of framework/", f"{len(files)}: {', '.join(files)}", "at most 4")
    rooms, flat = rooms_of("config"), top("config")
    yield Goal("files at the top of config/, and its rooms", f"{len(flat)}; {', '.join(rooms)}", "at most 3; six rooms")
    yield Goal("files in algos/common/", str(len(common())), "about 25, never above 31, in nets, maths, parts, fast")
    yield Goal("lines of product code", f"{code_lines():,}", "at most 49,000")
    for variable in ("", "JOYSTICK_FIXED_KERNELS", "JOYSTICK_PLAIN"):  # where oneDNN pays, kernels.py comes to it
        what = f" with {variable}=1" if variable else ""
        yield Goal(f"DQN, from env.step to the weights{what}", counted_path(variable), "at most 23 files, 4,200 lines")
    yield Goal("chores in algorithms", ", ".join(f"{what} {n}" for what, n in chores().items()), "0, 0, 0, 1")
    readers = readers_of_runs()
    yield Goal(
        "modules that know files of a run, outside archive/ and disk/",
        f"{len(readers)}: {', '.join(readers)}",
        f"{len(READING_BESIDES)}, with their reasons",
    )
    reaches = private_reaches()
    yield Goal("modules with private parts of torch", f"{len(reaches)}: {', '.join(reaches)}", "algos.common.fast")
    yield Goal("words of the command line, each one file", str(len(words())), "a new word is a new file")
    tests = [path for path in (ROOT / "tests").glob("test_*.py")]
    yield Goal("test files at the top of tests/", str(len(tests)), "0")


def main() -> None:
    """Prints a line for each number; with --path, the files that a transition passes through."""
    if "--path" in sys.argv:
        path = path_of_a_transition()
        for file in sorted(path):
            print(f"{lines_of(file):5} {file.relative_to(ROOT)}")
        print(f"{len(path)} files, {sum(map(lines_of, path)):,} lines")
        return
    for goal in goals():
        print(f"{goal.what}\n    now   {goal.now}\n    goal  {goal.goal}")


if __name__ == "__main__":
    main()
