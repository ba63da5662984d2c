"""push and pull against a small server that speaks the calls of the Hugging Face hub, and what a stranger's repository
may not do. ModelScope is tested with a client in memory."""

import errno
import hashlib
import importlib
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from framework.errors import JoystickError
from framework.sharing import address, bundle, hub
from main import main
from tests.tools import hub as server_tool

RUN = ["--algo", "QLearning", "--env", "FrozenLake-v1", "general_cfg.max_total_step=300", "general_cfg.seed=3",
       "general_cfg.online_eval_episode=2", "general_cfg.loggers=[csv]", "general_cfg.iteration_steps=100"]  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and a folder that looks like a group of two seeds of it."""
    root = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr("framework.pages.figures.learning_curve", lambda *args, **options: None)
        assert main([*RUN, "--into", "tasks/run"]) == 0
    for seed in (1, 2):
        shutil.copytree(root / "tasks" / "run", root / "tasks" / "group" / f"seed_{seed}")
    group = root / "tasks" / "group"
    (group / "group.json").write_text(json.dumps({"command_line": ["--algo", "QLearning", "--seeds", "1..2"]}))
    shutil.copy(group / "seed_1" / "config.yaml", group / "config.yaml")
    (group / "seeds.csv").write_text("seed,folder\n1,seed_1\n2,seed_2\n")
    return root


@pytest.fixture
def here(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(trained / "tasks", tmp_path / "tasks")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[server_tool.Server]:
    pytest.importorskip("huggingface_hub")
    with server_tool.served() as server:
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        constants = {"ENDPOINT": server.url, "HUGGINGFACE_CO_URL_TEMPLATE": template, "HF_HUB_DISABLE_XET": True}
        for name, value in constants.items():  # read from the environment when the package was imported
            monkeypatch.setattr(importlib.import_module("huggingface_hub.constants"), name, value)
        monkeypatch.setenv("HF_TOKEN", "write")
        yield server


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main([*words]) == status
    captured = capsys.readouterr()
    return captured.err if status else captured.out


# ----------------------------------------------------------------------------------------------------- both ways


def test_a_run_goes_there_and_back(server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{server.url}/me/lake/commit/" in said(capsys, "push", "run", "--to", "hf://me/lake", "--private")
    repository = server.repositories["me/lake"]
    assert repository.private
    files = repository.branches["main"]
    assert not [path for path in files if "log" in path and "journal" not in path]
    card = files["README.md"].decode()
    metadata = yaml.safe_load(card.split("---")[1])
    assert metadata["library_name"] == "joystick"
    assert metadata["model-index"][0]["results"][0]["dataset"]["name"] == "FrozenLake-v1"
    assert "| 3 |" in card
    assert "python main.py pull hf://me/lake" in card
    assert "--into" not in card
    assert hashlib.sha256(files["models/best/state.safetensors"]).hexdigest()[:16] in card
    assert "tasks/lake:" in said(capsys, "pull", "hf://me/lake")
    pulled = here / "tasks" / "lake"
    assert {path.relative_to(pulled).as_posix() for path in pulled.rglob("*") if path.is_file()} == set(files)
    assert main(["test", "lake", "--episodes", "2"]) == 0
    assert main(["resume", "lake", "general_cfg.max_total_step=400"]) == 0
    assert "lost rows" not in "".join(capsys.readouterr())
    assert json.loads((pulled / "results" / "result.json").read_text().splitlines()[0])["iteration"] == 1
    assert "exists" in said(capsys, "pull", "hf://me/lake", status=2)


def test_the_command_that_is_printed_after_a_pull_names_the_folder_in_a_shell(
    server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "push", "run", "--to", "hf://me/lake")
    assert said(capsys, "pull", "hf://me/lake").endswith("film lake\n")
    assert said(capsys, "pull", "hf://me/lake", "--into", "tasks/a lake").endswith("film 'a lake'\n")
    assert said(capsys, "pull", "hf://me/lake", "--into", "lake").endswith(f"film {here / 'lake'}\n")
    said(capsys, "push", "group", "--to", "hf://me/lakes")
    assert said(capsys, "pull", "hf://me/lakes").endswith("film tasks/lakes/seed_1\n")


def test_a_run_without_deviations_of_its_evaluations_goes_there(
    server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = here / "tasks" / "run" / "results" / "eval.csv"
    table.write_text(table.read_text().replace(",std,", ",spread,"))
    said(capsys, "push", "run", "--to", "hf://me/lake")
    card = server.repositories["me/lake"].branches["main"]["README.md"].decode()
    assert "±" not in card
    assert " +/- " not in card
    assert "mean_reward" in card


def test_a_group_goes_with_all_seeds(
    server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "push", "group", "--to", "hf://me/lakes")
    files = server.repositories["me/lakes"].branches["main"]
    assert {path.partition("/")[0] for path in files if "/" in path} == {"seed_1", "seed_2"}
    card = files["README.md"].decode()
    assert "Mean over 2 seeds" in card
    assert "--yaml tasks/lakes/config.yaml --seeds 3,3" in card
    assert "lakes/seed_1" in said(capsys, "pull", "hf://me/lakes")
    assert main(["test", "lakes/seed_2", "--episodes", "2"]) == 0


def test_the_card_of_a_group_of_experiments_has_no_common_score(
    server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group = here / "tasks" / "group"
    for number, name in enumerate(("greedy", "careful"), start=1):
        (group / f"seed_{number}").rename(group / name)
        shutil.copy(group / "config.yaml", group / f"{name}.yaml")
    (group / "config.yaml").unlink()
    (group / "seeds.csv").rename(group / "runs.csv")
    (group / "runs.csv").write_text("run,folder\ngreedy,greedy\ncareful,careful\n")
    (group / "group.json").write_text(json.dumps({"runs": ["greedy", "careful"]}))
    said(capsys, "push", "group", "--to", "hf://me/lakes")
    card = server.repositories["me/lakes"].branches["main"]["README.md"].decode()
    assert [model["name"] for model in yaml.safe_load(card.split("---")[1])["model-index"]] == ["greedy", "careful"]
    assert "| greedy |" in card
    assert "Mean over" not in card
    assert "config.yaml" not in card, "there is none to train it again with"


def test_files_that_are_there_are_replaced_when_that_is_said(
    server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.repositories["me/old"] = server_tool.Repository(private=False)
    files = server.repositories["me/old"].branches["main"]
    files |= {"models/7/manifest.json": b"{}", "notes.txt": b"mine", "README.md": b"old"}
    before = dict(files)
    assert "--overwrite replaces them" in said(capsys, "push", "run", "--to", "hf://me/old", status=2)
    assert files == before
    said(capsys, "push", "run", "--to", "hf://me/old", "--overwrite")
    assert files["notes.txt"] == b"mine"
    assert "models/7/manifest.json" not in files
    assert "left out: 1 file, such as notes.txt" in said(capsys, "pull", "hf://me/old")


def test_a_branch_and_another_model(server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    number = max(int(path.name) for path in (here / "tasks" / "run" / "models").iterdir() if path.name.isdecimal())
    said(capsys, "push", "run", "--to", "hf://me/lake", "--model", str(number), "--revision", "try")
    assert server.repositories["me/lake"].branches["main"] == {}
    said(capsys, "pull", "hf://me/lake", "--revision", "try", "--into", "tasks/other")
    manifest = (here / "tasks" / "other" / "models" / "best" / "manifest.json").read_bytes()
    assert manifest == (here / "tasks" / "run" / "models" / str(number) / "manifest.json").read_bytes()


@pytest.mark.parametrize("evaluated", [True, False])
def test_what_is_pushed_has_the_score_of_its_model(
    evaluated: bool, server: server_tool.Server, here: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("framework.pages.figures.learning_curve", lambda *args, **options: None)
    assert main([*RUN, "general_cfg.model_save_fre=9", "--into", "tasks/two"]) == 0
    run = here / "tasks" / "two"
    chosen, *_, best = sorted(int(path.name) for path in (run / "models").iterdir() if path.name.isdecimal())
    assert json.loads((run / "run.json").read_text())["best_update"] == best
    head, *rows = (run / "results" / "eval.csv").read_text().splitlines()
    scores = {str(chosen): "0.25", str(best): "0.75"}
    cells = [row.split(",") for row in rows if evaluated or row.split(",")[0] != str(chosen)]
    rows = [",".join([*row[:3], scores.get(row[0], "0.0"), *row[4:]]) for row in cells]
    (run / "results" / "eval.csv").write_text("\n".join([head, *rows, ""]))
    said(capsys, "push", "two", "--to", "hf://me/lake", "--model", str(chosen))
    said(capsys, "pull", "hf://me/lake")
    pulled = here / "tasks" / "lake"
    facts = json.loads((pulled / "run.json").read_text())
    assert facts["best_update"] == chosen
    assert facts.get("best") == (0.25 if evaluated else None)
    assert facts["finished"]
    for _ in ("as it was pushed", "as a test draws it anew"):
        page = (pulled / "report.html").read_text()
        assert (f"<td>update {chosen}: 0.25 ± 0 over 2 episodes</td>" in page) == evaluated
        assert ("<dt>best model</dt><dd>0.25</dd>" in page) == evaluated
        assert "<dt>best model</dt><dd>0.75</dd>" not in page
        assert main(["test", "lake", "--episodes", "2"]) == 0
    assert json.loads((run / "run.json").read_text())["best_update"] == best, "what is here stays as it is"


# ------------------------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(
    ("token", "words", "sentence"),
    [
        ("", ["push", "run", "--to", "hf://me/x"], "there is no valid token"),
        ("wrong-token", ["push", "run", "--to", "hf://me/x"], "there is no valid token"),
        ("read", ["push", "run", "--to", "hf://me/x"], "make one with write permission"),
        ("read", ["pull", "hf://me/x"], "there is no such repository, or the token may not see it"),
        ("read", ["pull", "hf://me/x", "--revision", "v2"], "there is no revision 'v2'"),
        ("write", ["push", "nothing", "--to", "hf://me/x"], "'nothing' does not exist"),
        ("write", ["push", "run", "--to", "hf://me"], "is no address of a repository"),
        ("write", ["push", "run", "--to", "hf://me/../x"], "is no address of a repository"),
        ("write", ["push", "run", "--to", "file:///tmp/x"], "sync NAME file:///FOLDER/NAME)"),
        ("write", ["push", "run", "--to", "hf://me/x", "--model", "99999"], "no checkpoint 99999"),
    ],
)
def test_one_sentence(
    token: str, words: list[str], sentence: str, server: server_tool.Server, here: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("HF_TOKEN", token)
    text = said(capsys, *words, status=2)
    assert sentence in text
    assert text.count("error: ") == 1
    assert "wrong-token" not in text
    assert not any(repository.branches["main"] for repository in server.repositories.values())
    assert not [path for path in (here / "tasks").iterdir() if path.name.startswith("x")]


def test_a_full_account_and_the_offline_mode(
    server: server_tool.Server, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.full = True
    text = said(capsys, "push", "run", "--to", "hf://me/x", status=2)
    assert "Hugging Face refuses" in text
    assert "storage limit" in text
    monkeypatch.setattr(importlib.import_module("huggingface_hub.constants"), "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set" in said(capsys, "pull", "hf://me/x", status=2)


def test_a_run_that_trains_is_not_uploaded(
    server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from framework.disk.task_dir import held_lock

    lock = held_lock(here / "tasks" / "run")
    assert lock is not None
    with lock:
        assert "is being written by a run" in said(capsys, "push", "run", "--to", "hf://me/x", status=2)
    assert not server.asked or not any("commit" in asked for asked in server.asked)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda files: files.update({"models/best/state.safetensors": b"other"}), "does not match its checksum"),
        (lambda files: files.pop("run.json"), "run.json is missing"),
        (lambda files: files.update({"params.json": b"{}", "results/more.csv": b"x"}), "checksum"),
        (lambda files: files.update({"checksums.sha256": b"no lines of it"}), "checksums.sha256 is damaged: line 1 is"),
        (lambda files: files.update({"checksums.sha256": b"x" * 2**21}), "checksums.sha256 is damaged: is larger than"),
        (lambda files: files.update({"run.json/config.yaml": b""}), "run.json is a file and a folder at once"),
        (lambda files: files.pop("checksums.sha256"), "was not uploaded by push"),
    ],
)
def test_a_repository_that_was_changed_is_not_kept(
    change: Any, sentence: str, server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "push", "run", "--to", "hf://me/lake")
    change(server.repositories["me/lake"].branches["main"])
    text = said(capsys, "pull", "hf://me/lake", status=2)
    assert sentence in text
    assert text.startswith("error: hf://me/lake")
    assert text.count("\n") == 1
    assert sorted(path.name for path in (here / "tasks").iterdir()) == ["group", "run"]


def test_a_pull_deletes_no_folder_of_the_user_and_shows_no_control_characters(
    server: server_tool.Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "push", "run", "--to", "hf://me/v1")
    server.repositories["me/v1"].branches["main"]["\x1b[2Jfile.bin"] = b"x"
    mine = here / "tasks" / "v1.tmp" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    killed = here / "tasks" / ".v1.tmp"  # what a pull that was killed has left
    shutil.copytree(here / "tasks" / "run", killed)
    assert ".v1.tmp" not in said(capsys, "runs")
    assert "\x1b" not in said(capsys, "pull", "hf://me/v1")
    assert mine.read_text() == "mine"
    assert not killed.exists()


def test_nothing_but_files_of_runs_is_downloaded() -> None:
    for path in (
        "../x", "a/../config.yaml", "/etc/passwd", "walk.py", "seed_1/walk.py", "models/best/x.pkl",
        "models/best/../../x", f"models/{'9' * 5000}/manifest.json", f"{'a' * 256}/run.json",
        ".git/config", "results/a/b.csv", "..", "a/b/config.yaml", "config.yaml\n",
    ):  # fmt: skip
        assert not bundle.is_known(path), path
    for path in ("config.yaml", "seed_1/models/500/state.safetensors", "models/journal/00000.log", "README.md"):
        assert bundle.is_known(path), path


def test_a_full_disk_is_no_answer_of_the_hub(
    server: server_tool.Server, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "push", "run", "--to", "hf://me/lake")

    def download(*given: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(importlib.import_module("huggingface_hub").HfApi, "hf_hub_download", download)
    text = said(capsys, "pull", "hf://me/lake", status=2)
    assert re.search(r"error: .*/tasks/\.lake\.tmp/.*: No space left on device", text)
    assert not [path for path in (here / "tasks").iterdir() if "lake" in path.name]


def test_an_error_shows_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELSCOPE_API_TOKEN", "secret-of-mine")
    text = hub.said(RuntimeError("Bearer abc.def failed\nfor hf_aBcDeFgHiJ and secret-of-mine"))
    assert "\n" not in text
    assert not [secret for secret in ("abc.def", "aBcDeF", "secret-of-mine") if secret in text]


# ---------------------------------------------------------------------------------------------------- ModelScope


@pytest.fixture
def model_scope(here: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files of the only repository of a client in memory."""
    for name, module in server_tool.model_scope().items():
        monkeypatch.setitem(sys.modules, name, module)
    files: dict[str, bytes] = sys.modules["modelscope_hub"].HubApi.files
    return files


def test_model_scope_there_and_back(model_scope: dict[str, bytes], capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "push", "run", "--to", "ms://me/lake", "--private")
    assert sys.modules["modelscope_hub"].HubApi.private == "private"
    assert "README.md" in model_scope
    said(capsys, "pull", "ms://me/lake")
    assert main(["test", "lake", "--episodes", "2"]) == 0
    api, errors = sys.modules["modelscope_hub"].HubApi, sys.modules["modelscope_hub.errors"]
    for name, sentence in {
        "AuthenticationError": "there is no valid token for ModelScope; set MODELSCOPE_API_TOKEN",
        "PermissionDeniedError": "may not write there",
        "QuotaExceededError": "ModelScope refuses: full",
        "NetworkError": "no answer from",
    }.items():
        api.fails = getattr(errors, name)("full")
        assert sentence in said(capsys, "push", "run", "--to", "ms://me/lake", "--overwrite", status=2)
    api.fails = OSError(errno.ENOSPC, "No space left on device")
    text = said(capsys, "push", "run", "--to", "ms://me/lake", "--overwrite", status=2)
    assert "No space left on device" in text
    assert "refuses" not in text


@pytest.mark.parametrize(("scheme", "module"), [("hf", "huggingface_hub"), ("ms", "modelscope_hub")])
def test_a_missing_package_is_named(scheme: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(JoystickError, match="is not installed here: pip install"):
        hub.hub_of(address.parse(f"{scheme}://me/x"))
