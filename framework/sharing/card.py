"""The card of a repository: README.md with metadata that a hub reads, scores, seeds, versions, and commands."""

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import yaml

from config.program import PROGRAM, version
from config.tell.language import tr
from framework.archive import statistics
from framework.archive.groups import begun
from framework.archive.members import group_facts
from framework.archive.run import RecordedRun
from framework.disk.checkpoints import Saved
from framework.screen.formatting import number, short, spread
from framework.sharing.address import Address
from framework.sharing.bundle import sha256_of


class Shared(NamedTuple):
    """A run, and the model of it that is uploaded."""

    run: RecordedRun
    """The run, as one of which that model is the best."""
    saved: Saved
    prefix: str
    """Folder of the run in the repository, with a slash; empty for a run of its own."""


def text(address: Address, shared: Sequence[Shared], lacks_replay: bool) -> bytes:
    """Returns the card of one run, or of a group."""
    algorithms, environments = (tr(" and ").join(names) for names in _subjects(shared))
    parts = [
        f"---\n{yaml.safe_dump(_metadata(shared), sort_keys=False, allow_unicode=True)}---",
        f"# {algorithms} · {environments}",
        tr(
            "A policy of {algorithm} for {environment}, trained with Joystick {version}.",
            algorithm=algorithms,
            environment=environments,
            version=version(),
        ),
        _scores(shared),
        _picture(shared),
        _commands(address, shared, lacks_replay),
        _made_with(shared[0].run),
        tr("Files are verified by `checksums.sha256`; the model of each run is `models/best/`."),
    ]
    return ("\n\n".join(part for part in parts if part) + "\n").encode()


def _subjects(shared: Sequence[Shared]) -> tuple[list[str], list[str]]:
    """Returns the algorithms and the environments, each once."""
    algorithms = dict.fromkeys(each.run.algorithm for each in shared)
    return list(algorithms), list(dict.fromkeys(each.run.environment for each in shared))


def _are_experiments(shared: Sequence[Shared]) -> bool:
    """Returns True for runs that differ in more than their seed: they have no common score."""
    return bool(shared[0].prefix) and group_facts(shared[0].run.folder.parent).has("runs")


def _metadata(shared: Sequence[Shared]) -> dict[str, Any]:
    """Returns what a hub reads of a card."""
    models = [{"name": shared[0].run.algorithm, "results": [_result(shared)]}]
    if _are_experiments(shared):
        models = [{"name": each.prefix.rstrip("/"), "results": [_result([each])]} for each in shared]
    algorithms, environments = _subjects(shared)
    return {
        "library_name": "joystick",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["reinforcement-learning", "deep-reinforcement-learning", *algorithms, *environments, "joystick"],
        "model-index": models,
    }


def _result(shared: Sequence[Shared]) -> dict[str, Any]:
    """Returns the score of runs that differ in their seed alone, as a hub reads it."""
    environment = shared[0].run.environment
    means = [mean for mean, _ in map(_score, shared) if mean is not None]
    metrics = []
    if means:
        deviation = float(np.std(means)) if len(means) > 1 else _score(shared[0])[1]
        value = f"{np.mean(means):.2f}" + ("" if deviation is None else f" +/- {deviation:.2f}")
        metrics = [{"type": "mean_reward", "name": "mean_reward", "value": value, "verified": False}]
    return {
        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
        "dataset": {"name": environment, "type": environment},
        "metrics": metrics,
    }


def _score(shared: Shared) -> tuple[float | None, float | None]:
    """Returns mean and standard deviation of the evaluation of the model, as far as they are known."""
    row = shared.run.best
    return (float(row["mean"]), number(row.get("std"))) if row else (None, None)


def _scores(shared: Sequence[Shared]) -> str:
    experiments = _are_experiments(shared)
    first = tr("run") if experiments else tr("seed")
    heads = (first, tr("score"), tr("update"), tr("step"), tr("SHA-256 of the model"))
    rows = [" | ".join(heads), " | ".join("---" for _ in heads)]
    for each in shared:
        score = spread(each.run.best) if each.run.best else tr("not evaluated")
        digest = sha256_of(each.saved.path / "state.safetensors")
        facts = each.saved.facts
        name = each.prefix.rstrip("/") if experiments else each.run.facts.seed
        values = (name, score, facts["update"], facts["step"], f"`{digest[:16]}…`")
        rows.append(" | ".join(map(str, values)))
    table = "\n".join(f"| {row} |" for row in rows)
    means = np.array([mean for mean, _ in map(_score, shared) if mean is not None])
    if experiments or len(means) < 2:
        return table
    between = statistics.interval(means, statistics.mean)
    sentence = tr("Mean over {count} seeds: {mean}", count=len(means), mean=short(float(means.mean())))
    if between is not None:
        name = statistics.name_of_interval(len(means))
        sentence += f" ({name}: {short(between[0])} … {short(between[1])})"
    return f"{table}\n\n{sentence}"


def _picture(shared: Sequence[Shared]) -> str:
    first = shared[0]
    name, folder = ("learning_curves.png", first.run.folder.parent) if first.prefix else (
        "results/learning_curve.png", first.run.folder
    )  # fmt: skip
    return f"![{tr('learning curve')}]({name})" if (folder / name).is_file() else ""


def _commands(address: Address, shared: Sequence[Shared], lacks_replay: bool) -> str:
    name = address.name + ("/" + shared[0].prefix.rstrip("/") if shared[0].prefix else "")
    folder = shared[0].run.group if shared[0].prefix else None
    lines = [
        f"{PROGRAM} pull {address}",
        f"{PROGRAM} film {name}",
        f"{PROGRAM} test {name}",
    ]
    if not _are_experiments(shared):  # whose settings are beside those of each run
        lines.append(f"{PROGRAM} --yaml tasks/{address.name}/config.yaml" + (_seeds(shared) if folder else ""))
    block = "\n".join(f"    {line}" for line in lines)
    began = (begun(folder) if folder else shared[0].run.facts).command_line
    parts = [tr("## To play it, to score it, and to train it again"), block]
    if began:
        parts.append(tr("It was trained with `{command}`.", command=f"{PROGRAM} {shlex.join(_without_place(began))}"))
    if lacks_replay:
        parts.append(
            tr("The replay buffer was not uploaded, so `resume` cannot go on; the weights can be trained further.")
        )
    return "\n\n".join(parts)


def _seeds(shared: Sequence[Shared]) -> str:
    seeds = [str(each.run.facts.seed) for each in shared if each.run.facts.seed is not None]
    return f" --seeds {','.join(seeds)}" if seeds else ""


def _without_place(words: Sequence[str]) -> list[str]:
    """Returns a command line without --into and its folder, which may have the name of a user."""
    kept, skips = [], False
    for word in words:
        if not skips and not word.startswith("--into"):
            kept.append(word)
        skips = word == "--into"
    return kept


def _made_with(run: RecordedRun) -> str:
    versions = {"python": run.facts.python, **(run.facts.versions or {})}
    listed = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    commit = f" ({run.facts.git_commit})" if run.facts.git_commit else ""
    return tr("Trained with {versions}{commit}.", versions=listed, commit=commit) if listed else ""
