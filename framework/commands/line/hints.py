"""Hints in place of a word that is not understood: words of other programs, and typing mistakes."""

import os
from collections.abc import Iterator, Sequence

from config.program import PROGRAM
from config.read.task_files import GROUPS, RUN
from config.system.terminal import quoted
from config.tell.language import tr
from config.tell.names import FULL_WIDTH, did_you_mean, full_width, halved
from framework.commands.line import words

_FILM, _RESUME, _TEST, _TUNE = (f"{PROGRAM} {typed}" for typed in ("film NAME", "resume NAME", "test NAME", "tune"))
_OR_TEST = tr("{resume} or test NAME", resume=_RESUME)
_NAMES = tr("{test}; {program} runs lists the names", test=_TEST, program=PROGRAM)
_INSTEAD = {
    "play": _FILM, "eval": _TEST, "evaluate": f"{PROGRAM} evaluate NAME",
    "enjoy": _FILM, "film": _FILM, "render": "--video",
    "train": f"{PROGRAM} train", "file": "--yaml FILE", "name": "--into FOLDER", "output": "--into FOLDER",
    "resume_path": _RESUME, "watch": tr("{program} watch, or film NAME", program=PROGRAM),
    "load": _OR_TEST, "checkpoint": _OR_TEST, "trained_agent": _RESUME, "i": _RESUME,
    "video_dir": f"{_FILM} --into FOLDER", "use_shelve": "--out FILE.jsonl", "save_info": "--out FILE.jsonl",
    "track_progress": tr("nothing: progress is always shown"),
    "local_mode": tr("general_cfg.mp_backend=single, the default"),
    "params": tr("section.key=VALUE, such as algo_cfg.lr=0.001"),
    "hyperparams": tr("section.key=VALUE, or --yaml FILE"),
    "n_trials": tr("--samples N of {tune} --yaml FILE", tune=_TUNE), "n_jobs": "--jobs N",
    "optimize": f"{_TUNE} --yaml FILE", "optimize_hyperparameters": f"{_TUNE} --yaml FILE",
    "no_render": tr("{test}, which opens no window", test=_TEST), "load_best": _TEST,
    "load_checkpoint": tr("--model N, with test NAME"), "load_last_checkpoint": tr("--model latest, with test NAME"),
    "storage_path": "--into s3://BUCKET/PREFIX/NAME", "upload_dir": "--into s3://BUCKET/PREFIX/NAME",
    "tasks": "--into s3://BUCKET/PREFIX/NAME",
    "folder": _NAMES, "exp_id": _NAMES,
    "track": tr("general_cfg.loggers=[csv,tensorboard,wandb]; nothing is sent unless WANDB_MODE says so"),
}  # fmt: skip
"""Flags of other programs, and what to type here."""
_LENGTHS = ("n_timesteps", "total_timesteps", "n_eval_episodes", "eval_episodes")
"""Flags that say how long other programs play a trained model."""
_LONG = {"n": "n_timesteps", "tb": "tensorboard_log", "conf": "conf_file", "P": "progress"}
"""Short flags of other programs -> their long form."""
_USE_FILM, _USE_TEST, _USE_TRAIN, _USE_TUNE = (
    tr("use {command}", command=command) for command in (_FILM, _TEST, f"{PROGRAM} train", f"{_TUNE} --yaml FILE")
)
_USE_COMPARE = tr("use {command}", command=f"{PROGRAM} compare NAME OTHER")
_USE_WATCH = tr("use {program} watch, or compare RUN RUN", program=PROGRAM)
_USE_PUSH = tr("use {program} push NAME --to hf://USER/REPO (docs/sharing.md)", program=PROGRAM)
_USE_PULL = tr("use {program} pull hf://USER/REPO (docs/sharing.md)", program=PROGRAM)
_ELSEWHERE = {
    "help": tr("{program} describe WHAT explains a setting, --help the commands", program=PROGRAM),
    "play": tr("{film} makes a video, talk NAME talks to it, and watch shows how it learns", film=_FILM),
    "enjoy": _USE_FILM, "eval": _USE_TEST, "render": _USE_FILM, "predict": _USE_TEST, "optimize": _USE_TUNE,
    **dict.fromkeys(("plot", "ui", "dashboard", "board", "view"), _USE_WATCH),
    **dict.fromkeys(("report", "show", "open"), tr("open report.html in the folder of the run with a browser")),
    **dict.fromkeys(("ls", "status"), tr("use {command}", command=f"{PROGRAM} runs")),
    **dict.fromkeys(
        ("serve", "deploy"),
        tr("use {program} export NAME --to onnx, or joystick.load(...) in Python (docs/export.md)", program=PROGRAM),
    ),
    "record": _USE_FILM, "video": _USE_FILM, "upload": _USE_PUSH, "download": _USE_PULL,
    "replay": _USE_FILM, "record_video": _USE_FILM, "record_training": _USE_FILM, "evaluate_policy": _USE_TEST,
    "plot_train": _USE_WATCH, "all_plots": _USE_WATCH, "push_to_hub": _USE_PUSH, "load_from_hub": _USE_PULL,
    "训练": _USE_TRAIN, "测试": _USE_TEST, "调参": _USE_TUNE,
    **dict.fromkeys(("note", "tag"), tr("the page of {program} watch takes tags and a note", program=PROGRAM)),
    **dict.fromkeys(("rm", "delete", "remove", "rename", "mv"), tr("a run is its folder: delete or move that")),
    **dict.fromkeys(("learn", "fit", "run", "start", "begin", "launch"), _USE_TRAIN),
    **dict.fromkeys(("sweep", "hpo", "search"), _USE_TUNE), "diff": _USE_COMPARE,
    **dict.fromkeys(("continue", "restart", "retrain"), tr("use {command}", command=_RESUME)),
    "finetune": tr("use {program} train general_cfg.start_from=NAME", program=PROGRAM),
    **dict.fromkeys(
        ("stop", "kill", "cancel", "abort"),
        tr("Ctrl+C in the terminal of a run stops it and saves it; {resume} goes on", resume=_RESUME),
    ),
    **dict.fromkeys(("log", "logs", "tail"), tr("open logs/log.txt in the folder of the run; {use}", use=_USE_WATCH)),
    **dict.fromkeys(
        ("config", "settings", "init", "new", "create"),
        tr("use {program} --print-config > my.yaml for a file of all settings", program=PROGRAM),
    ),
    **dict.fromkeys(("check", "validate"), tr("use {program} --yaml FILE --dry-run", program=PROGRAM)),
    "demo": tr("{program} alone trains DQN on CartPole-v1", program=PROGRAM),
    "version": tr("use {command}", command=f"{PROGRAM} --version"), "rllib": tr("leave it out"),
}  # fmt: skip
"""Commands of other programs, and what to type here."""


def setting_of(name: str, algo: str) -> tuple[str, str] | None:
    """Returns section.key for the name of a setting, preferably one of an algorithm, and a remark; several with blanks
    between them where a name sets them all; None for others."""
    from config.foreign.names import all_at_once
    from config.tell import hints
    from framework.catalog import ALGOS, ENVS

    path, remark = hints.setting_of(name, ALGOS, ENVS, algo) or ("", "")
    return (all_at_once(name, path, ALGOS, algo), remark) if path or remark else None


def of_flag(flag: str, value: str, algo: str, plays: bool = False) -> str:
    """Returns the end of a sentence: what to type in place of a flag of another program; empty for other flags. plays:
    True for a command that plays a trained model."""
    word = flag.lstrip("-").replace("-", "_")
    word = _LONG.get(word, word)
    if plays and word in _LENGTHS:
        return tr("; use {instead}", instead="--episodes N")
    if word in _INSTEAD:
        return tr("; use {instead}", instead=_INSTEAD[word])
    setting = setting_of(word, algo)
    if setting is None or (word == "seed" and not value.isdecimal()):
        return ""
    path, remark = setting
    if not path:
        return f"; {remark}"
    settings = " ".join(f"{part}={'VALUE' if remark else value}" for part in path.split())
    return tr("; a setting is written {settings}{remark}", settings=settings, remark=remark and f" ({remark})")


def not_settings(overrides: Sequence[str]) -> Iterator[str]:
    """Yields what is wrong with words that are neither flags nor settings."""
    for place, word in enumerate(overrides):
        after = overrides[place + 1 :]
        if "=" not in word or word.startswith("=") or (word.endswith("=") and after and "=" not in after[0]):
            yield _not_a_setting(word, after)


def without_quotes(argv: Sequence[str]) -> str:
    """Returns a sentence about words that are the name of one file or folder with blanks; empty if there are none."""
    for place, word in enumerate(argv):
        if _exists(word):
            continue
        names = (" ".join(argv[place:end]) for end in range(place + 2, len(argv) + 1))
        if near := next(filter(_exists, names), ""):
            return tr("there is no {word!r}; did you mean {near}?", word=word, near=quoted(near))
    return ""


def _exists(name: str) -> bool:
    """Returns True for a file or a folder, here or under tasks/."""
    return any(os.path.exists(place) for place in (name, os.path.join("tasks", name)))


def of_command(word: str, after: Sequence[str] = ()) -> str:
    """Returns a sentence about a command of another program: what to type in its place; empty for other words."""
    if word.lower() not in _ELSEWHERE:
        return ""
    hint = _ELSEWHERE[word.lower()].replace("NAME", next(iter(after), "NAME"))
    hint = hint.replace("WHAT", next(iter(after), "TOPIC"))
    return tr("{word!r} is not a command here; {hint}", word=word, hint=hint)


def _not_a_setting(word: str, after: Sequence[str]) -> str:
    """Returns what is wrong with a word that is neither a flag nor a setting, and what to type."""
    if mark := next((mark for mark in word if mark in FULL_WIDTH), None):
        plain = halved(word) if "=" in halved(word) else halved(word).replace(":", "=", 1)
        if "=" in plain or plain.startswith("-"):
            return tr("{character}; write {plain}", character=full_width(mark).partition(tr("; "))[0], plain=plain)
    if word.lower().endswith((".yaml", ".yml")):
        return tr("{word!r}: a file is given as --yaml {word}", word=word)
    if word.lower().endswith(".py"):
        return tr(
            "{word!r}: a program is not run here; --algo NAME names an algorithm, and --env {word} a file with an "
            "environment",
            word=word,
        )
    if word in words.names():
        return tr("{word!r} comes first: {program} {word} ...", word=word, program=PROGRAM)
    if word.endswith("=") or (after and after[0].startswith("=")):
        value = next((other.lstrip("=") for other in after if other != "="), "VALUE")
        return tr("no blanks around the =; write {setting}={value}", setting=word.rstrip("="), value=value)
    if elsewhere := of_command(word, after):
        return elsewhere
    name, colon, value = word.partition(":")
    if path := name if "." in name else next(iter(setting_of(name, "") or ()), ""):
        value = (colon and value) or next(iter(after), "VALUE")
        settings = " ".join(f"{part}={value}" for part in path.split())
        return tr("{word!r} has no =; write {settings}", word=word, settings=settings)
    places = word, os.path.join("tasks", word)
    kind = next((name for name in (RUN, *GROUPS) for place in places if os.path.isfile(os.path.join(place, name))), "")
    if kind:
        possible = ("test", "film", "resume") if kind == RUN else ("compare", "resume")
        return tr(
            "{word!r} is not a command, but a run; write {commands}",
            word=word,
            commands=", ".join(f"{PROGRAM} {command} {quoted(word)}" for command in possible),
        )
    return tr(
        "{word!r} is neither a command nor section.key=value{nearest}",
        word=word,
        nearest=did_you_mean(word, words.names()),
    )
