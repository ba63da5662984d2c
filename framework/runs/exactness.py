"""Decides whether a resumed run equals an uninterrupted one to the byte, and if not, why."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from algos.common.fast import compiled_steps, kernels, switch
from config.config import HARMLESS, PLANNED_LIMITS
from config.read.loader import RunConfig
from config.tell.language import tr
from framework.archive import sentences
from framework.disk.task_dir import installed_version

_UNRECORDED = {"compile": "off", "fast": "on", "compiler": None}
"""Facts of checkpoints that are older than their record."""
_LIMITS = {f"general_cfg.{key}" for key in PLANNED_LIMITS}
UNIMPORTANT = {*(f"general_cfg.{key}" for key in HARMLESS), "env_cfg.render_mode", "algo_cfg.data"}
"""Settings that are no reason for a resume not to be exact; data have the same content by whatever path."""
ENVS_CHANGED = "foreach_env"
"""Fact of a checkpoint: sentence on changes that the program has made to the environments; absent without one."""
UNSEEDED = "unseeded"
"""Fact of a checkpoint: sentence on episodes of one seed that differed; absent if none did."""

DRAWN = "drawn"
"""Fact of a checkpoint: sentence on layers of the user's own that draw while they act; absent without one."""

CODE = "code"
"""Fact of a checkpoint: files of the user's own code, with their SHA-256; absent without any."""


class Exactness(NamedTuple):
    """Verdict on a resume."""

    exact: bool | None
    """True if the run equals an uninterrupted one to the byte; None if the checkpoint does not allow a verdict."""
    because: tuple[str, ...] = ()
    """Reasons why it does not, or why that is unknown."""

    def to_json(self) -> dict[str, Any]:
        """Returns the entries of a resume in run.json."""
        return {"exact": self.exact, "inexact_because": list(self.because)}

    def __str__(self) -> str:
        if self.exact:
            return tr("the resume is exact to the byte")
        reasons = tr("; ").join(sentences.shown(reason) for reason in self.because)
        if self.exact is None:
            return tr("it is unknown whether the resume is exact: {reasons}", reasons=reasons)
        return tr("the resume is not exact: {reasons}", reasons=reasons)


def of_limits(config: RunConfig, changed: Sequence[str]) -> Iterator[str]:
    """Yields what changed limits of a run mean for its schedules. changed: settings, as `key: old -> new`."""
    limits = [key for change in changed if (key := change.partition(":")[0]) in _LIMITS]
    if not limits:
        return
    models = {"algo_cfg": config.algo, **config.policies}
    followers = [f"{name}.{key}" for name, model in models.items() for key in _schedules(model)]
    names = ", ".join(followers)
    if followers:
        yield tr(
            "{names}: from here on as in a run that was planned with {limits} as now",
            names=names,
            limits=", ".join(limits),
        )
    else:
        yield tr("{limits}: changes when the run ends, and no schedule", limits=", ".join(limits))


def _schedules(model: Any) -> Iterator[str]:
    """Yields the settings of an algorithm that follow the planned length of the run."""
    rising = str(getattr(model, "buffer_type", "")).startswith("PER")
    yield from dict.fromkeys((*model.schedules(), *(("per_beta",) if rising else ())))


def facts(config: RunConfig, device: torch.device) -> dict[str, Any]:
    """Returns what the last bits of all numbers depend on, besides the settings. Stored in each checkpoint."""
    cfg = config.general
    ray = cfg.mp_backend == "ray"
    return {
        "device": str(device),
        "torch_threads": torch.get_num_threads(),
        **{name: installed_version(name) for name in ("torch", "numpy", "gymnasium")},
        "machine": platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "kernels": kernels.state(),
        "fast": switch.state(),
        "mp_backend": cfg.mp_backend,
        "n_workers": cfg.n_workers if ray else 1,
        "n_learners": cfg.n_learners if ray else 1,
        "run_ahead": config.run_ahead if ray else 0,
        "compile": cfg.compile,
        "compiler": compiled_steps.compiler() if cfg.compile == "on" and device.type == "cpu" else None,
    }


def compare(
    before: Mapping[str, Any] | None, now: Mapping[str, Any], changed: Sequence[str] = (), rows: Sequence[str] = ()
) -> Exactness:
    """Compares the facts of a checkpoint with the facts of this session. changed: settings, as `key: old -> new`. rows:
    those whose running episodes could not be replayed, or `all`."""
    reasons = []
    if rows:
        reasons.append(sentences.ALL_ROWS if rows == ["all"] else sentences.ROWS.format(rows=", ".join(rows)))
    if not str(now["device"]).startswith("cpu"):
        reasons.append(sentences.SUMS.format(device=now["device"]))
    if now["run_ahead"]:
        reasons.append(sentences.AHEAD.format(run_ahead=now["run_ahead"]))
    reasons += [change for change in changed if change.partition(":")[0] not in UNIMPORTANT]
    if before is not None:
        earlier = kernels.state(kernels.older({"exactness": before}))
        before = {**_UNRECORDED, "kernels": earlier, **before}
        reasons += [str(before[key]) for key in (ENVS_CHANGED, UNSEEDED, DRAWN) if before.get(key)]
        reasons += [
            sentence.format(before=before.get(key), now=now[key])
            for key, sentence in sentences.CHANGES.items()
            if before.get(key) != now[key]
        ]
        code = before.get(CODE, {})
        if other := sorted(path for path, digest in now.get(CODE, {}).items() if code.get(path, digest) != digest):
            reasons.append(sentences.CODE.format(files=", ".join(other)))
    if reasons:
        return Exactness(False, tuple(reasons))
    if before is None:
        return Exactness(None, (sentences.UNRECORDED,))
    return Exactness(True)
