"""Hints in place of a word that is not understood: words of other programs, and typing mistakes."""

from collections.abc import Iterator, Sequence

from config.program import PROGRAM
from config.tell.names import FULL_WIDTH, did_you_mean, full_width, halved
from framework.commands.line import words

_INSTEAD = {
    "play": f"{PROGRAM} film NAME", "eval": f"{PROGRAM} test NAME", "evaluate": f"{PROGRAM} evaluate NAME",
    "enjoy": f"{PROGRAM} film NAME", "film": f"{PROGRAM} film NAME", "render": "--video",
    "train": f"{PROGRAM} train", "file": "--yaml FILE", "name": "--into FOLDER", "output": "--into FOLDER",
    "resume_path": f"{PROGRAM} resume NAME", "watch": f"{PROGRAM} watch, or film NAME",
    "load": f"{PROGRAM} resume NAME or test NAME", "checkpoint": f"{PROGRAM} resume NAME or test NAME",
    "trained_agent": f"{PROGRAM} resume NAME", "i": f"{PROGRAM} resume NAME",
    "video_dir": f"{PROGRAM} film NAME --into FOLDER", "use_shelve": "--out FILE.jsonl",
    "save_info": "--out FILE.jsonl", "track_progress": "nothing: progress is always shown",
    "local_mode": "general_cfg.mp_backend=single, the default",
    "params": "section.key=VALUE, such as algo_cfg.lr=0.001", "hyperparams": "section.key=VALUE, or --yaml FILE",
    "n_trials": f"--samples N of {PROGRAM} tune --yaml FILE", "n_jobs": "--jobs N",
    "optimize": f"{PROGRAM} tune --yaml FILE", "optimize_hyperparameters": f"{PROGRAM} tune --yaml FILE",
    "no_render": f"{PROGRAM} test NAME, which opens no window", "load_best": f"{PROGRAM} test NAME",
    "load_checkpoint": "--model N, with test NAME", "load_last_checkpoint": "--model latest, with test NAME",
    "folder": f"{PROGRAM} test NAME; {PROGRAM} runs lists the names",
    "exp_id": f"{PROGRAM} test NAME; {PROGRAM} runs lists the names",
    "track": "general_cfg.loggers=[csv,tensorboard,wandb]; nothing is sent unless WANDB_MODE says so",
}  # fmt: skip
"""Flags of other programs, and what to type here."""
_LONG = {"n": "n_timesteps", "tb": "tensorboard_log", "conf": "conf_file", "P": "progress"}
"""Short flags of other programs -> their long form."""
_ELSEWHERE = {
    "help": f"{PROGRAM} describe WHAT explains a setting, --help the commands",
    "play": f"{PROGRAM} film NAME makes a video, talk NAME talks to it, and watch shows how it learns",
    "enjoy": f"use {PROGRAM} film NAME", "eval": f"use {PROGRAM} test NAME",
    "render": f"use {PROGRAM} film NAME", "predict": f"use {PROGRAM} test NAME",
    "optimize": f"use {PROGRAM} tune --yaml FILE", "plot": f"use {PROGRAM} watch, or compare RUN RUN",
    "learn": f"use {PROGRAM} train", "fit": f"use {PROGRAM} train", "rllib": "leave it out",
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


def of_flag(flag: str, value: str, algo: str) -> str:
    """Returns the end of a sentence: what to type in place of a flag of another program; empty for other flags."""
    word = flag.lstrip("-").replace("-", "_")
    word = _LONG.get(word, word)
    if word in _INSTEAD:
        return f"; use {_INSTEAD[word]}"
    setting = setting_of(word, algo)
    if setting is None or (word == "seed" and not value.isdecimal()):
        return ""
    path, remark = setting
    if not path:
        return f"; {remark}"
    settings = " ".join(f"{part}={'VALUE' if remark else value}" for part in path.split())
    return f"; a setting is written {settings}{remark and f' ({remark})'}"


def not_settings(overrides: Sequence[str]) -> Iterator[str]:
    """Yields what is wrong with words that are neither flags nor settings."""
    for place, word in enumerate(overrides):
        after = overrides[place + 1 :]
        if "=" not in word or word.startswith("=") or (word.endswith("=") and after and "=" not in after[0]):
            yield _not_a_setting(word, after)


def _not_a_setting(word: str, after: Sequence[str]) -> str:
    """Returns what is wrong with a word that is neither a flag nor a setting, and what to type."""
    if mark := next((mark for mark in word if mark in FULL_WIDTH), None):
        plain = halved(word) if "=" in halved(word) else halved(word).replace(":", "=", 1)
        if "=" in plain or plain.startswith("-"):
            return f"{full_width(mark).partition(';')[0]}; write {plain}"
    if word.lower().endswith((".yaml", ".yml")):
        return f"{word!r}: a file is given as --yaml {word}"
    if word in words.names():
        return f"{word!r} comes first: {PROGRAM} {word} ..."
    if word.endswith("=") or (after and after[0].startswith("=")):
        value = next((other.lstrip("=") for other in after if other != "="), "VALUE")
        return f"no blanks around the =; write {word.rstrip('=')}={value}"
    if path := word if "." in word else next(iter(setting_of(word, "") or ()), ""):
        settings = " ".join(f"{part}={next(iter(after), 'VALUE')}" for part in path.split())
        return f"{word!r} has no value; write {settings}"
    if word.lower() in _ELSEWHERE:
        hint = _ELSEWHERE[word.lower()].replace("NAME", next(iter(after), "NAME"))
        return f"{word!r} is not a command here; {hint.replace('WHAT', next(iter(after), 'TOPIC'))}"
    return f"{word!r} is neither a command nor section.key=value{did_you_mean(word, words.names())}"
