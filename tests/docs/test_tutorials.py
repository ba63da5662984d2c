"""A reader can follow the tutorials and the tour of the README: each command ends well, after those before it."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from config.own import trust
from tests.tools.pages import NOT_RUN, ROOT, blocks
from tests.tools.process import forked, forked_program, forking, without_figures

__all__ = ["forking", "without_figures"]
TUTORIALS = sorted(path for path in ROOT.glob("docs/tutorials/*.md") if path.name != "README.md")
SOURCES = ROOT / "docs" / "sources.md"
"""Page with what the documents say that the program follows."""
FIRST = ROOT / "docs" / "tutorials" / "first_run.md"
"""Page with most of the commands of the README's tour, which are run once."""
LOOKS = {"runs", "data", "test", "film", "compare", "describe", "convert"}
"""Commands that train nothing."""
SHORT = {"general_cfg.max_total_step": "100", "general_cfg.online_eval_episode": "1", "general_cfg.save_fig": "false"}
"""Settings that make every training of the pages short."""
OTHERS = {
    "resume": {**SHORT, "general_cfg.max_total_step": "200"},
    "tune": {**SHORT, "general_cfg.max_total_step": "90", "tune_cfg.samples": "1"},
}
FROM_DATA = {"general_cfg.max_update": "20", "general_cfg.online_eval_episode": "1", "general_cfg.save_fig": "false"}
"""The same for what learns from given data alone."""


def shortened(words: list[str]) -> list[str]:
    """Returns the words of a command for a run of a few steps; any other command as it is."""
    if words[0] in LOOKS or "film" in words or "test" in words or "--dry-run" in words:
        return words
    if "test.yaml" in words:
        return [*words, "general_cfg.max_episode=3"]
    from_data = re.search(r"--algo (BC|TD3_BC)\b|presets/multiwoz/BC", " ".join(words))
    short = FROM_DATA if from_data else OTHERS.get(words[0], SHORT)
    words = [re.sub(r"^(\d+)\.\.\d+$", r"\1", word) for word in words]  # one seed is a group, too
    words = [re.sub(r"(n_workers)=\d+$", r"\1=2", word) for word in words]
    return [word for word in words if word.partition("=")[0] not in short] + [f"{k}={v}" for k, v in short.items()]


def lines_of(page: Path) -> list[str]:
    """Returns the commands of a page that can be run."""
    return [line for block in blocks(page) if block.runs for line in block.text.splitlines()]


def follow(line: str) -> None:
    """Runs a line of a page in the current folder. The rest of a page is skipped if a package is missing."""
    if " export " in line and not all(map(find_spec, ("onnx", "onnxscript", "onnxruntime"))):
        pytest.skip("needs onnx, onnxscript and onnxruntime")
    words = shlex.split(line.partition(" > ")[0])
    assert words[0] == "python", line
    if words[1] == "main.py":
        done = forked(*shortened(words[2:]))
    else:
        done = forked_program(Path(words[1]).read_text(encoding="utf-8"))
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    if " > " in line:
        Path(line.partition(" > ")[2]).write_text(done.stdout, encoding="utf-8")


@pytest.mark.parametrize("page", [ROOT / "README.md", *TUTORIALS, SOURCES], ids=lambda page: page.stem)
@pytest.mark.usefixtures("forking", "without_figures")
def test_the_commands_of_the_page_end_well_one_after_the_other(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("user")))
    if page.stem == "README":  # somebody has answered y to its first command with code of one's own
        trust.remember(Path.cwd())
    if page.stem == "agents":  # imported here, once, for all forked commands
        pytest.importorskip("pettingzoo.utils")
        pytest.importorskip("mpe2.simple_tag_v3")
    for block in blocks(page):
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        for line in block.text.splitlines() if block.runs else ():
            if page == FIRST or line not in lines_of(FIRST):
                follow(line)


@pytest.mark.parametrize("page", [*TUTORIALS, SOURCES], ids=lambda page: page.stem)
def test_a_block_that_no_test_runs_says_why(page: Path) -> None:
    for block in blocks(page):
        assert not block.mark or re.fullmatch(rf"{NOT_RUN}\S.+", block.mark), block
        if block.language == "sh":
            assert all(line.startswith(("python main.py ", "python ", "ray ")) for line in block.text.splitlines())
        else:
            assert not block.mark, "only commands are run"
