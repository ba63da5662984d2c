"""pip install: the package contains all of Joystick and nothing else, and behaves like a clone in any folder."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from config import program
from framework.jobs import children
from tests.tools import requirements
from tests.tools.paths import in_the_suite

ROOT = Path(__file__).parents[2]
PARTS = ("algos", "config", "envs", "framework")
BUILD_FILES = ("main.py", "joystick.py", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
SOURCES = [path.relative_to(ROOT) for part in PARTS for path in (ROOT / part).rglob("*.py")]
PRESETS = [path.relative_to(ROOT) for path in (ROOT / "presets").rglob("*.yaml")]
TABLES = [path.relative_to(ROOT) for path in (ROOT / "config").rglob("tables/*")]
CATALOGS = [path.relative_to(ROOT) for path in (ROOT / "config" / "tell").glob("*.po")]
DATABASES = [path.relative_to(ROOT) for path in (ROOT / "envs").rglob("*.json")]
PAGES = [
    path.relative_to(ROOT)
    for folder in ("live", "pages")
    for path in (ROOT / "framework" / folder).iterdir()
    if path.suffix in (".html", ".css", ".js")
]


def pip(*words: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a build reads; the name of the folder is not that of the package."""
    folder = tmp_path_factory.mktemp("clone")
    for part in (*PARTS, "presets"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in BUILD_FILES:
        shutil.copy(ROOT / name, folder)
    for stray in ("tests/test_x.py", "tasks/run/config.yaml", "build/lib/joystick/algos/removed/config.py"):
        (folder / stray).parent.mkdir(parents=True)
        (folder / stray).touch()
    return folder


def built(kind: str, source: Path, folder: Path) -> Path:
    """Builds a `wheel`, an `editable` or an `sdist` from a folder with the sources, as a front end does."""
    code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    words = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(words, cwd=source, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the archive of the sources, so that nothing is missing there."""
    folder = tmp_path_factory.mktemp("sources")
    with tarfile.open(built("sdist", clone, tmp_path_factory.mktemp("sdist"))) as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    [source] = folder.iterdir()
    return built("wheel", source, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site-packages of a fresh environment. It lies inside a checkout of another project, as .venv often does."""
    project = tmp_path_factory.mktemp("project")
    git = ["git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    venv = project / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    pip("--python", venv / "bin" / "python", "install", "--no-deps", "--no-compile", wheel)
    [site] = venv.glob("lib/python3*/site-packages")
    return site


def python(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in a folder that has nothing to do with the clone."""
    env = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def program_in(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command `joystick` of the environment. What it needs is that of this environment."""
    others = os.pathsep.join(path for path in sys.path if path.endswith("-packages"))
    env = {**os.environ, "PYTHONPATH": others, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [str(site.parents[2] / "bin" / "joystick"), *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def metadata(site: Path) -> Distribution:
    [found] = [found for found in distributions(path=[str(site)]) if found.name == "joystick"]
    return found


def test_the_wheel_contains_one_folder_with_the_sources_the_presets_the_databases_and_the_page(wheel: Path) -> None:
    top = ["__init__.py", "__main__.py", "joystick.py", "main.py"]
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert len(SOURCES) > 200
    assert len(PRESETS) > 100
    assert len(DATABASES) == 7
    assert len(PAGES) >= 8
    assert len(CATALOGS) == 2
    stubs = [path.with_suffix(".pyi") for path in (Path("__init__.py"), *SOURCES)]
    typed = ["py.typed", *(f"{part}/py.typed" for part in PARTS)]
    files = (*top, *SOURCES, *stubs, *typed, *PRESETS, *TABLES, *CATALOGS, *DATABASES, *PAGES)
    assert names == {f"joystick/{path}" for path in files}


def test_a_type_checker_follows_the_imports_of_the_stubs_into_the_package(wheel: Path) -> None:
    """A program finds our packages beside joystick.py; a type checker knows only the package joystick."""
    ours, package = re.compile(rf"({'|'.join(PARTS)})(\.|$)"), zipfile.ZipFile(wheel)
    names = [name for name in package.namelist() if name.endswith(".pyi")]
    assert len(names) > 200
    modules = {re.sub(r"(/__init__)?\.pyi$", "", name).replace("/", ".") for name in names}
    for name in names:
        for node in ast.walk(ast.parse(package.read(name))):
            if isinstance(node, ast.Import):
                assert not [alias.name for alias in node.names if ours.match(alias.name)], name
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                assert not ours.match(node.module), f"{name}: {node.module}"
                assert node.module in modules or not node.module.startswith("joystick."), f"{name}: {node.module}"


def test_version_and_requirements_have_one_home(installed: Path, tmp_path: Path) -> None:
    done = python(installed, tmp_path, "-m", "joystick", "--version")
    assert done.stdout == f"Joystick {program.version()}\n", done.stderr
    found = metadata(installed)
    assert found.version == program.version()
    needed = [Requirement(line) for line in found.requires or ()]
    lines = requirements.project()["dependencies"]
    assert [str(each) for each in needed if not each.marker] == [str(Requirement(line)) for line in lines]
    assert {each.name for each in needed if str(each.marker) == 'extra == "atari"'} == {"ale-py"}
    [whole] = [each for each in needed if str(each.marker) == 'extra == "extra"']
    assert (whole.name, whole.extras) == ("joystick", set(requirements.parts_of_all()))
    assert found.metadata["Description"].startswith("# Joystick")
    [entry] = found.entry_points
    assert (entry.name, entry.group) == ("joystick", "console_scripts")


def test_an_installed_copy_trains_in_an_unrelated_folder_and_writes_nothing_to_its_own(
    installed: Path, tmp_path: Path
) -> None:
    before = sorted(installed.rglob("*"))
    words = ["--algo", "DQN", "--env", "CartPole-v1", "general_cfg.max_episode=3"]
    done = program_in(installed, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    [task] = (tmp_path / "tasks").iterdir()
    assert f"to watch it  joystick film {task.name}" in done.stdout
    assert "python main.py" not in done.stdout + (task / "report.html").read_text(encoding="utf-8")
    facts = json.loads((task / "run.json").read_text(encoding="utf-8"))
    assert facts["finished"]
    assert facts["git_commit"] is None, "the commit is that of the project around the installed copy"
    assert sorted(installed.rglob("*")) == before


@pytest.mark.parametrize(
    "words", in_the_suite([f"joystick {word}" for word in ("--help", "lst", "list", "describe")], "joystick lst")
)
def test_an_installed_copy_names_its_own_command(installed: Path, tmp_path: Path, words: str) -> None:
    done = python(installed, tmp_path, "-m", *words.split())
    assert "joystick" in done.stdout + done.stderr
    assert "main.py" not in done.stdout + done.stderr


def test_importing_is_light_and_makes_the_packages_importable_in_other_processes_too(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(
        "import multiprocessing, sys\n"
        "import joystick\n"
        "def work(queue):\n"
        "    import envs\n"
        "    queue.put(envs.__file__)\n"
        "if __name__ == '__main__':\n"
        "    assert not {'torch', 'ray', 'gymnasium', 'config'} & set(sys.modules), 'heavy'\n"
        "    spawn = multiprocessing.get_context('spawn')\n"
        "    queue = spawn.Queue()\n"
        "    process = spawn.Process(target=work, args=(queue,))\n"
        "    process.start()\n"
        "    print(queue.get(timeout=30))\n"
        "    process.join()\n"
    )
    done = python(installed, tmp_path, "script.py")
    assert done.stdout == f"{installed / 'joystick' / 'envs' / '__init__.py'}\n", done.stderr


@pytest.mark.parametrize("code", ["import config, joystick", "import joystick, config"])
@pytest.mark.parametrize("file", ["config.py", "config/__init__.py"])
def test_a_file_of_the_user_with_the_name_of_a_package_is_named(
    installed: Path, tmp_path: Path, file: str, code: str
) -> None:
    """Imported or only found: in either order one of the two programs would get the other's module."""
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("lr = 1\n")
    done = python(installed, tmp_path, "-c", code)
    assert done.returncode == 1
    expected = f"joystick has a package 'config', and in this program that name means {tmp_path / file}; rename"
    assert expected in done.stderr.splitlines()[-1]


def test_folders_of_the_user_without_modules_and_other_files_are_no_obstacle(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "settings.yaml").touch()
    (tmp_path / "main.py").write_text(
        "import joystick\nimport envs\nimport main\nprint(envs.__file__, main.__file__)\n"
    )
    done = python(installed, tmp_path, "-c", "import main")
    assert done.stdout == f"{installed / 'joystick' / 'envs' / '__init__.py'} {tmp_path / 'main.py'}\n", done.stderr


def test_an_editable_install_makes_only_joystick_importable_and_runs_the_clone(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    file = built("editable", clone, tmp_path / "dist")
    zipfile.ZipFile(file).extractall(tmp_path / "site")
    code = (
        "import site, sys; site.addsitedir(sys.argv.pop(1)); from importlib.util import find_spec as find; "
        "assert not find('config') and not find('main'); import joystick, config; print(config.__file__); "
        "sys.argv[0] = 'joystick'; joystick.command()"
    )
    done = python(tmp_path, tmp_path, "-c", code, str(tmp_path / "site"), "lst")
    assert done.stdout == f"{clone / 'config' / '__init__.py'}\n", done.stderr
    assert done.stderr.endswith("did you mean list?\nSee: joystick --help\n")


def test_runs_that_a_run_starts_are_called_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They are started as main.py, in a clone and in an editable install."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from config import program; sys.exit(program.PROGRAM)"
    monkeypatch.setattr(children, "PROGRAM", "joystick")
    with open(tmp_path / "errors.txt", "wb") as errors:
        assert children.of_command([sys.executable, "-c", code])(errors, errors.fileno()).wait() == 1
    assert (tmp_path / "errors.txt").read_text() == "joystick\n"


def docstrings(tree: ast.Module) -> set[int]:
    """The identities of the strings that are statements."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def test_only_one_module_decides_how_the_program_is_called() -> None:
    for path in {*SOURCES, Path("main.py"), Path("joystick.py")} - {Path("config/program.py")}:
        code = (ROOT / path).read_text(encoding="utf-8")
        if "main.py" not in code:  # as in most
            continue
        tree = ast.parse(code)
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        named = [node.value for node in texts if "python main.py" in node.value and id(node) not in docstrings(tree)]
        assert not named, f"{path}: use config.program.PROGRAM in {named}"
