"""What the pages say is true: links lead somewhere, commands are understood, the example trains."""

import re
import shlex
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

import algos
import main
from config.foreign import names as foreign_names
from config.own import trust
from config.read.yaml_reader import read
from config.tell import language
from framework.commands import parse
from framework.disk.csv_table import read_csv
from tests.tools import foreign_pages
from tests.tools.compare import make_run
from tests.tools.pages import anchors, blocks
from tests.tools.paths import EVERY
from tests.tools.process import forked, forked_program, forking, without_figures

__all__ = ["forking", "without_figures"]
ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("algos/*/README.md")])
README, CHINESE = ROOT / "README.md", ROOT / "README.zh.md"
COMMANDS = ROOT / "docs" / "commands.md"
ZH = ROOT / "docs" / "zh"
ENGLISH = {
    CHINESE: README,
    **{path: ROOT / "docs" / path.relative_to(ZH) for path in ZH.rglob("*.md") if path.parent.name != "algos"},
    **{path: ROOT / "algos" / path.stem / "README.md" for path in (ZH / "algos").glob("*.md")},
}
"""Page in English by its page in Chinese."""
NOTEBOOKS = {path: path.with_name(path.name.replace(".zh", "")) for path in ROOT.glob("docs/notebooks/*.zh.*")}
"""Notebook in English by the one in Chinese."""
PICTURES = {path: path.with_name(path.name.replace("_zh", "")) for path in ROOT.glob("docs/images/*_zh.*")}
"""Picture with English words by the one with Chinese ones."""
QUICKSTART = ROOT / "tests" / "data" / "quickstart.yaml"

COMMAND = re.compile(r"(?:^|`)python main\.py\b([^`\n]*)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(page: Path) -> list[list[str]]:
    """The words after main.py, up to a redirection, of every command on a page, but the help."""
    lines = [shlex.split(found.partition(" > ")[0], comments=True) for found in COMMAND.findall(text(page))]
    return [words for words in lines if "FILE" not in words and words != ["--help"]]


def levels(page: Path) -> list[str]:
    """The signs before the headings, in their order."""
    return re.findall(r"^#+ ", text(page), re.MULTILINE)


def code_of_the_example() -> dict[str, str]:
    """Path -> content of each Python file in docs/algorithms.md."""
    return dict(re.findall(r"```python\n# (\S+\.py)\n(.*?)```", text(ROOT / "docs" / "algorithms.md"), re.DOTALL))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_line_within_a_paragraph_begins_a_list(page: Path) -> None:
    """Such as one that begins with the end of a sentence, `1. All settings`: GitHub shows it as an item."""
    words = re.sub(r"```.*?```", "", text(page), flags=re.DOTALL)
    assert not re.findall(r"(?:\A|\n\s*\n)(?![*+-] |\d+[.)] | )[^\n]+\n(?:\S[^\n]*\n)*?((?:[*+-]|\d+[.)]) .*)", words)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(text(page)):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.is_file(), f"{name(page)}: {link}"  # the site has no folders
        assert not anchor or anchor in anchors(target), f"{name(page)}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_is_understood(page: Path) -> None:
    for words in commands(page):
        parse(words)


ELSEWHERE = (["watch"], ["resume", "GROUP"], ["resume", "s3://BUCKET/PREFIX/NAME"], ["sync", "NAME"])
"""Commands that other tests give: the first serves its page until Ctrl-C, the others need a group to go on with, or a
store."""


@pytest.mark.parametrize("words", [words for words in commands(COMMANDS) if words[:2] not in ELSEWHERE], ids=" ".join)
def test_every_command_of_the_list_gives_a_valid_configuration(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Run where the files of the pages and a task are, and no further than the configuration."""
    if any("pettingzoo" in word for word in words):
        pytest.importorskip("mpe2")
    [(file, settings)] = re.findall(r"```yaml\n# (\S+)\n(.*?)```", text(COMMANDS), re.DOTALL)
    [(module, code)] = re.findall(r"```python\n# (\S+)\n(.*?)```", text(ROOT / "docs" / "environments.md"), re.DOTALL)
    (tmp_path / file).write_text(settings)
    (tmp_path / module).write_text(code)
    (tmp_path / "old.yaml").write_text(settings)
    (tmp_path / "ppo.yml").write_text("CartPole-v1: {n_timesteps: 100, policy: MlpPolicy}\n")
    (tmp_path / "tasks" / "NAME" / "models").mkdir(parents=True)
    (tmp_path / "tasks" / "NAME" / "config.yaml").write_text(settings)
    (tmp_path / "tasks" / "NAME" / "results").mkdir()
    zeros = {name: np.zeros(2) for name in ("observations", "actions", "rewards", "terminals")}
    np.savez(tmp_path / "tasks" / "NAME" / "results" / "trajs.npz", **zeros | {"terminals": [False, True]})
    for run, algo in (("NAME", "PPO"), ("OTHER", "DQN")) if "compare" in words else ():
        make_run(tmp_path / "tasks" / run, algo=algo)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("user")))
    trust.remember(tmp_path)  # as a yes to the question of a command
    lookup = "overrides" not in parse(words) or words[:1] == ["cluster"]
    if words[:1] in (["push"], ["pull"], ["bench"]):  # the words are right; what follows needs a hub, or trains
        return
    more = [] if lookup or "--print-config" in words else ["--print-config"]
    words = [word for word in words if word != "--dry-run"]
    assert main.main([*words, *more]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} <= {file, module, "old.yaml", "ppo.yml", "tasks", "__pycache__"}


def target(page: Path, link: str) -> str:
    """Where a link leads: for a page in Chinese, to the page in English and its heading at the same place."""
    if link.startswith("http"):
        return link
    path, _, anchor = link.partition("#")
    aim = (page.parent / path).resolve() if path else page.resolve()
    pairs = (ENGLISH | NOTEBOOKS | PICTURES).items()
    english = {chinese.resolve(): page.resolve() for chinese, page in pairs}.get(aim, aim)
    if anchor and english != aim:
        anchor = anchors(english)[anchors(aim).index(anchor)]
    return f"{english}#{anchor}"


def targets(page: Path) -> list[str]:
    return sorted(target(page, link) for link in LINK.findall(text(page)))


@pytest.mark.parametrize("chinese", ENGLISH, ids=name)
def test_a_chinese_page_has_the_headings_commands_links_and_blocks_of_the_english_one(chinese: Path) -> None:
    english = ENGLISH[chinese]
    assert levels(chinese) == levels(english)
    assert commands(chinese) == commands(english)
    assert targets(chinese) == targets(english)
    assert list(blocks(chinese)) == list(blocks(english))


@pytest.mark.parametrize("chinese", ENGLISH, ids=name)
def test_a_chinese_page_leaves_out_no_paragraph_item_row_or_number_of_the_english_one(chinese: Path) -> None:
    def counts(page: Path) -> Counter[str]:
        words = re.sub(r"```.*?```", "", LINK.sub("", text(page)), flags=re.DOTALL)
        paragraphs = [part for part in re.split(r"\n\s*\n", words) if part.strip()]
        items = re.findall(r"^ *([*-]|\d+\.) ", words, re.MULTILINE)
        numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)+|(?<![\w.])\d{2,}(?!\w)", re.sub(r"(?<=\d),(?=\d{3})", "", words))
        rows = re.findall(r"^\|", words, re.MULTILINE)
        return Counter(
            {**Counter(numbers), "paragraphs": len(paragraphs), "items": len(items), "rows of tables": len(rows)}
        )

    assert counts(ENGLISH[chinese]) - counts(chinese) == Counter()


@pytest.mark.parametrize("chinese", ENGLISH, ids=name)
def test_a_chinese_page_leads_to_chinese_pages_where_there_are_some(chinese: Path) -> None:
    """But for its own page in English, and for the settings, which `describe all` writes."""
    translated = {english.resolve() for page, english in ENGLISH.items() if page != chinese}
    links = [link.partition("#")[0] for link in LINK.findall(text(chinese)) if "://" not in link]
    aims = {(chinese.parent / link).resolve() for link in links if link}
    assert not aims & translated or chinese.name == "config.md"


def test_every_chinese_page_has_an_english_one_and_every_tutorial_a_chinese_one() -> None:
    assert all(english.is_file() for english in ENGLISH.values())
    assert {*ROOT.glob("docs/tutorials/*.md")} <= set(ENGLISH.values())


def test_the_chinese_index_says_which_pages_are_in_english() -> None:
    rows, algorithms = text(ZH / "README.md").split("\n## 算法\n")
    for cell in re.findall(r"^\| (\[.*?) \|", rows, re.MULTILINE):
        in_english = {link.endswith(".md") and link.startswith("../") for link in LINK.findall(cell)}
        assert in_english == {cell.endswith("（英文）")}, cell
    pages = {path.stem for path in (ZH / "algos").glob("*.md")}
    assert set(re.findall(r"\]\((.*?)\)", algorithms)) == {f"algos/{page}.md" for page in pages}
    assert pages == {path.parent.name for path in (ROOT / "algos").glob("*/README.md")}


@pytest.mark.parametrize(("picture", "kib"), [("lunar_lander.gif", 400), ("report.png", 200)])
def test_the_pictures_of_the_readme_are_small(picture: str, kib: int) -> None:
    assert 0 < (ROOT / "docs" / "images" / picture).stat().st_size < kib * 1024


def test_both_readmes_name_what_is_in_the_root() -> None:
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    for page in (README, CHINESE):
        assert folders <= set(re.findall(r"^    (\w+)/ ", text(page), re.MULTILINE))


def test_both_readmes_name_the_same_folders_and_every_kind_of_environment() -> None:
    trees = [
        {
            line.split()[0]: set(re.findall(r"[a-z]+/", line))
            for line in re.findall(r"^    \w+/ .*", text(page), re.MULTILINE)
        }
        for page in (README, CHINESE)
    ]
    assert trees[0] == trees[1]
    assert {f"{path.parent.name}/" for path in ROOT.glob("envs/*/env.py")} <= trees[0]["envs/"]


def test_the_index_names_every_page() -> None:
    index = set(LINK.findall(text(ROOT / "docs" / "README.md")))
    folder = ROOT / "docs"
    pages = {path.relative_to(folder).as_posix() for path in folder.glob("**/*.md") if ZH not in path.parents}
    assert pages - {"README.md"} <= index
    assert {f"../{name(path)}" for path in ROOT.glob("algos/*/README.md")} <= index


DESIGN = [page for docs in (ROOT / "docs", ZH) for page in (docs / "design.md", *sorted(docs.glob("design/*.md")))]
SOURCES = [path for name in ("config", "algos", "envs", "framework", "tests") for path in (ROOT / name).rglob("*.py")]
EXAMPLE = "algos/actor_critic/"
"""Folder that docs/algorithms.md writes."""


@pytest.mark.parametrize("page", [*DESIGN, ROOT / "docs" / "algorithms.md", ROOT / "CONTRIBUTING.md", README], ids=name)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    known = {path.name for path in [*SOURCES, *ROOT.glob("*.py"), *ROOT.glob("framework/*/*.*")]}
    for named in re.findall(r"`([\w/.]+)`", text(page)):
        if re.match(r"(config|algos|envs|framework|tests|docs|presets|benchmarks)/\w", named) and named != EXAMPLE:
            assert (ROOT / named).exists(), f"{name(page)}: {named}"
        elif re.fullmatch(r"\w+\.(py|js|css)", named):
            assert named in known, f"{name(page)}: {named}"


@cache
def names_of_the_code() -> tuple[set[str], set[str]]:
    """Returns the names of classes, functions and variables of modules, and all words."""
    code = "\n".join(map(text, SOURCES))
    return set(re.findall(r"^(?: *(?:class|def) |(?=\w+ = ))(\w+)", code, re.MULTILINE)), set(re.findall(r"\w+", code))


@pytest.mark.parametrize("page", DESIGN, ids=name)
def test_the_classes_functions_and_tests_that_a_page_of_the_design_names_exist(page: Path) -> None:
    """`Class`, `Class.method`, and words with underscores, which may also be columns or settings."""
    defined, words = names_of_the_code()
    for named in re.findall(r"`([A-Z][a-z]+[A-Za-z]*(?:\.\w+)?|test_\w+)`", text(page)):
        assert set(named.split(".")) <= (defined if "." not in named else defined | words), f"{name(page)}: {named}"
    for named in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text(page)):
        assert named in words, f"{name(page)}: {named}"


@pytest.mark.parametrize("algo", algos.available())
def test_every_algorithm_has_a_page_with_its_preset_if_there_is_one(algo: str) -> None:
    folder = Path(algos.get(algo).__path__[0])
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert 15 <= len(lines) <= 60
    named = any(re.search(rf"presets/[\w-]+/{algo}\.yaml", line) for line in lines)
    assert named == any(ROOT.glob(f"presets/*/{algo}.yaml"))


def test_the_pages_on_the_task_directory_name_what_the_folder_of_a_test_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_figures: None
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--algo", "QLearning", "--env", "FrozenLake-v1", "general_cfg.max_episode=2", "--into", "tasks/trained"]
    assert main.main(words) == 0
    assert main.main(["test", "trained", "--episodes", "1", "--into", "tasks/tested"]) == 0
    trained, tested = tmp_path / "tasks" / "trained", tmp_path / "tasks" / "tested"
    files = {path.relative_to(trained) for path in trained.rglob("*") if "results" not in path.parts}
    lacking = {path for path in files if not (tested / path).exists()}
    names = {f"{path.as_posix()}{'/' * (trained / path).is_dir()}" for path in lacking if path.parent not in lacking}
    for page in ("docs/task_directory.md", "docs/zh/task_directory.md"):
        [sentence] = re.findall(r"^.*`models/`[^.。]*(?:\.\w[^.。]*)*", text(ROOT / page), re.MULTILINE)
        assert {*re.findall("`(.*?)`", sentence)} == names


OF_CONSTRUCTORS = {"config", "distribution_mode", "env_name", "frame_skip", "n_agents", "num_levels", "seed"}
"""Arguments of environments of packages that the pages name."""
OF_TUTORIALS = {"power"}
"""Settings of algorithms that a tutorial writes."""


def test_the_settings_that_the_pages_name_exist() -> None:
    """A dotted setting in any page is one of the models', or of an environment's constructor."""
    from config.config import GeneralConfig
    from framework.catalog import ENVS

    fields = {field for kind in ENVS.available() for field in ENVS.get(kind).Config.model_fields}
    known = {
        "general_cfg": set(GeneralConfig.model_fields),
        "env_cfg": {*fields, "max_episode_steps", "size", *OF_CONSTRUCTORS},
    }
    fields = {field for algo in algos.available() for field in algos.get(algo).Config.model_fields}
    known["algo_cfg"] = fields | OF_TUTORIALS
    for page in PAGES:
        for section, key in re.findall(r"\b(general_cfg|algo_cfg|env_cfg)\.(\w+)", text(page)):
            assert key in known[section], f"{name(page)}: {section}.{key}"


@pytest.mark.parametrize("letters", foreign_pages.FOLDERS)
def test_the_tables_of_foreign_names_are_those_of_the_messages(letters: str) -> None:
    page = text(foreign_pages.FOLDERS[letters] / foreign_pages.OF_NAMES)
    with language.chosen(letters):
        assert foreign_pages.names_written(page) == page, "write it anew: python -m tests.tools.foreign_pages"
    assert set(foreign_names.TABLES) - {"RLlib"} <= set(
        re.findall(r"^## (.*)$", text(ROOT / "docs" / "names.md"), re.MULTILINE)
    )


def test_the_quick_start_of_joyrl_is_a_valid_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """COMPAT 0"""
    assert main.main(["--yaml", str(QUICKSTART), "--print-config"]) == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["general_cfg"]["algo_name"] == "DQN"
    assert [layer["layer_size"] for layer in printed["algo_cfg"]["value_layers"]] == [[256], [256]]
    assert set(read(QUICKSTART).value) == {"general_cfg", "algo_cfg", "env_cfg"}


def test_the_algorithm_of_the_page_trains_and_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy gives 1 for the right of two actions, so knowing nothing is worth 0."""
    files = code_of_the_example()
    assert {Path(path).name for path in files} == {"__init__.py", "config.py", "agent.py"}
    for path, code in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(code)
    words = (
        "--allow-import mine general_cfg.algo_name=mine.actor_critic general_cfg.env_name=toy env_cfg.n_envs=8 "
        "general_cfg.max_episode=3000 general_cfg.seed=1 general_cfg.save_fig=false algo_cfg.lr=0.01"
    )
    monkeypatch.chdir(tmp_path)
    done = forked(*words.split())
    assert done.returncode == 0, done.stderr
    [task] = (tmp_path / "tasks").iterdir()
    assert "ActorCritic" in task.name
    assert float(read_csv(task / "results" / "eval.csv")[-1]["mean"]) == 1.0


THOUSANDS = re.compile(r"(?<=run\.train\()\d+000|(?<=run\.sample\()\d+000|(?<=max_total_step\": )\d+000")
"""Lengths of trainings and samples in steps."""


def shortened(program: str) -> str:
    """Returns a program of a page with short trainings, and two seeds in place of three."""
    return THOUSANDS.sub(lambda steps: str(int(steps[0]) // 10), program).replace("seeds=3", "seeds=2")


@pytest.mark.usefixtures("forking", "without_figures")
def test_the_programs_of_the_python_page_run(tmp_path: Path) -> None:
    """Each block of code is a whole program, and the runs are in tasks/ afterwards. The suite shortens the trainings;
    `python -m tests.stress.every_case` runs them as they are printed."""
    blocks = re.findall(r"```python\n(.*?)```", text(ROOT / "docs" / "python.md"), re.DOTALL)
    assert len(blocks) == 7
    for block in blocks:
        done = forked_program(block if EVERY else shortened(block))
        assert done.returncode == 0, done.stderr
    first, *_, last = sorted((tmp_path / "tasks").iterdir(), key=lambda path: path.stat().st_ctime)
    assert [row["iteration"] for row in read_csv(first / "results" / "progress.csv")] == list(range(1, 11))
    assert "pole_angle_max" in read_csv(last / "results" / "progress.csv")[0]
