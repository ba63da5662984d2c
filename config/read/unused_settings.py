"""Notes on settings that are set and that nothing reads."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from config.config import OF_COLLECTED
from config.model import policies
from config.program import PROGRAM
from config.read import sources
from config.read.source_stack import SourceStack
from config.tell.language import tr
from config.tell.names import COMMAND_LINE, DEFAULT

_MANY = tr("env_cfg.n_envs: N steps N environments in this process, mp_backend: ray starts processes")


def notes(
    stack: SourceStack, built: Mapping[str, Any], where: Mapping[str, str], accepted: Iterable[str]
) -> Iterator[str]:
    """Yields the notes on the written settings that nothing reads or loads, in one line each kind. accepted: JoyRL's
    keys that need nothing here."""
    by_reason: dict[str, list[str]] = {}
    for section in built:
        for key, why in _unread(stack, section, built):
            if not where.get(f"{section}.{key}", DEFAULT).endswith(DEFAULT):  # of another library or an older run
                more = tr("; {remark}", remark=_MANY) if key == "n_workers" else ""
                by_reason.setdefault(why + more, []).append(f"{section}.{key}")
    if named := ", ".join(dict.fromkeys(accepted)):
        yield tr("JoyRL's keys that need nothing here: {keys}", keys=named)
    if by_reason:
        parts = [tr("{name} ({remark})", name=", ".join(keys), remark=why) for why, keys in by_reason.items()]
        settings = tr("; ").join(parts)
        yield tr("not used: {settings}", settings=settings)
    if where.get("general_cfg.load_path") == COMMAND_LINE and not built["general_cfg"].load_checkpoint:
        yield tr(
            "load_path is not used (load_checkpoint is false); {PROGRAM} test NAME or resume NAME loads one",
            PROGRAM=PROGRAM,
        )


def _unread(stack: SourceStack, section: str, built: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the settings of a section that nothing reads, and why: of algo_cfg those that no policy reads either, of a
    policy those that it does not inherit."""
    instance = built[section]
    if policies.name_of(section) is not None:
        has, _ = sources.merge(stack.sources, section, type(instance))
        yield from ((key, why) for key, why in instance.unread() if key in has)
    elif section == "general_cfg" and instance.mode == "train" and built["algo_cfg"].offline_updates_of() < 0:
        why = tr("nothing is collected: the run learns from algo_cfg.data alone")
        reasons = dict(instance.unread())
        yield from ({key: why for key in OF_COLLECTED if instance.changed(key)} | reasons).items()
    elif section != "algo_cfg" or not stack.policy_names():
        yield from instance.unread()
    elif stack.heirs:
        by_policies = [dict(built[heir].unread()) for heir in stack.heirs]
        yield from ((key, why) for key, why in instance.unread() if all(key in reasons for reasons in by_policies))
    else:
        why = tr("no policy has algo_name {algo}", algo=stack.algo_of(section))
        yield from ((key, why) for key in type(instance).model_fields)
