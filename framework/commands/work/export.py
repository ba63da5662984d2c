"""Command export: writes the policy of a saved model as a file for other programs, and compares it with the agent."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from algos.base import UnfitError
from config.program import version
from config.read.loader import RunConfig
from config.read.paths import as_written, fixed
from config.read.tasks import group_of
from config.tell.language import tr
from config.tell.names import did_you_mean
from framework.assemble.identity import with_seed
from framework.commands.work.evaluate import check_new_file, check_place
from framework.disk.atomic import write_together
from framework.errors import JoystickError
from framework.export import example, onnx_file, tensors_file
from framework.export.check import compare
from framework.export.policy import FileModule, network_facts, parts_facts, space_facts, text_facts
from framework.export.recordings import Seen, play
from framework.policies.policy_plan import PolicyPlan, plan
from framework.runs.model import Model, opened
from framework.runs.signals import StopSignals
from framework.screen.stages import each, stage
from framework.screen.terminal import fitted

OBSERVATIONS = 1000
"""Number of observations that the file is compared on."""
LEAST_EQUAL = 0.99
"""Share of equal actions below which nothing is written."""


def run(config: RunConfig, request: Namespace, signals: StopSignals) -> int:
    """Exports one policy, or each one of several to a file of its own. Returns the exit status."""
    kind = request.to
    if kind == "onnx":
        with stage(tr("loading ONNX")):
            onnx_file.check_packages()
    assert config.task is not None
    out = Path(request.out) if request.out else _place(config.task.resolve(), kind)
    target = fixed(out, config.start)
    if target.suffix != f".{kind}":
        raise JoystickError("--out: {out} does not end in .{kind}", out=out, kind=kind)
    check_place("--out", target, config.task)
    config = with_seed(config.with_general(device="cpu")).of_evaluation()

    with opened(config) as model:
        if model.note:
            print(model.note)
        chosen = _chosen(config, model, request.policy)
        several = len(chosen) > 1
        modules = _modules(chosen, model)
        chosen = [policy for policy in chosen if policy.name in modules]
        places = [target.with_stem(f"{target.stem}.{policy.name}") if several else target for policy in chosen]
        _check_new(places, kind)
        seen = play(model.agent, model.evaluator(config, signals.check), OBSERVATIONS)
        for policy in chosen:
            if not seen[policy.name]:
                raise JoystickError(
                    "policy {name} did not act in the {observations:,} steps that were played, so "
                    "its file cannot be compared with it; --policy NAME exports another one",
                    name=policy.name or policy.package.NAME,
                    observations=OBSERVATIONS,
                )
        exports = [_Export(config, model, policy, place, out) for policy, place in zip(chosen, places, strict=True)]
        files = [export.files(modules[export.policy.name], seen[export.policy.name]) for export in exports]
        write_together({place: data for several in files for place, data in several.items()})
        for export in exports:
            export.tell()
    return 0


def _place(task: Path, kind: str) -> Path:
    """Returns the file of a run, in the current folder; that of a member of a group is named after both."""
    group = group_of(task)
    names = [group.name, *task.relative_to(group).parts] if group else [task.name]
    return Path(f"{'_'.join(names)}.{kind}")


def _check_new(places: Iterable[Path], kind: str) -> None:
    """Raises JoystickError if a file would be replaced."""
    for place in places:
        for file in (place, place.with_suffix(".json")) if kind == "safetensors" else (place,):
            check_new_file("--out", file)


def _chosen(config: RunConfig, model: Model, name: str | None) -> list[PolicyPlan]:
    """Returns the policies to export."""
    policies = {policy.name: policy for policy in plan(config, model.agent.spec).policies}
    if name is None:
        return list(policies.values())
    if "" in policies:
        raise JoystickError("--policy: the run has a single agent, and no policies to choose from")
    if name not in policies:
        raise JoystickError(
            "--policy: there is no policy {name!r}{nearest}", name=name, nearest=did_you_mean(name, policies)
        )
    return [policies[name]]


def _modules(policies: Iterable[PolicyPlan], model: Model) -> dict[str, Any]:
    """Returns the policies as modules. One that is none, such as a scripted opponent, is told of and left out; raises
    JoystickError if no other is left."""
    modules, faults = {}, []
    for policy in policies:
        try:
            modules[policy.name] = _module(policy, model)
        except JoystickError as error:
            faults.append(error)
    if not modules:
        raise faults[0]
    for fault in faults:
        print(fault)
    return modules


def _module(policy: PolicyPlan, model: Model) -> Any:
    """Returns the policy as a module. Raises JoystickError with the reason if it is none."""
    try:
        return model.agent.by_policy()[policy.name].as_module()
    except UnfitError as error:
        which = (
            tr("{algorithm}, policy {name},", algorithm=policy.package.NAME, name=policy.name)
            if policy.name
            else policy.package.NAME
        )
        raise JoystickError(
            "{which} cannot be exported: {error}; joystick.load(NAME) acts with it, "
            "and its weights() returns the arrays (docs/python.md)",
            which=which,
            error=error,
        ) from None


class _Export:
    """One policy and its file."""

    def __init__(self, config: RunConfig, model: Model, policy: PolicyPlan, place: Path, out: Path) -> None:
        """out: a file in the same folder, as it was written."""
        self.config, self.model, self.policy, self.place, self.out = config, model, policy, place, out
        self.agent = model.agent.by_policy()[policy.name]
        self.starts = (0, 0) if policy.name else (model.env.observation_start, model.env.action_start)

    def files(self, policy: Any, seen: list[Seen]) -> dict[Path, bytes]:
        """Returns the files by their places, after a comparison with the agent."""
        mask = seen[0].mask
        module = FileModule(policy, mask is not None, *self.starts).eval()
        program = self._example(module, () if mask is None else mask.shape[1:])
        facts = {
            **self._facts(),
            "inputs": list(module.inputs),
            "outputs": list(module.outputs),
            "program": program,
        }
        files = dict(self._files(module, seen, facts))
        names = [str(self.out.with_name(file.name)) for file in files]
        self.said = (
            tr(
                "{path}: written as {files}",
                path=as_written(self.model.saved.path),
                files=tr(" and ").join(names),
            ),
            str(self.checked),
            tr("\nTo use it:\n"),
            program,
        )
        return files

    def tell(self) -> None:
        """Prints how the files compare with the agent, and an example."""
        written, checked, *example = self.said
        print(fitted(written), fitted(checked), *example, sep="\n")

    def _files(self, module: FileModule, seen: list[Seen], facts: dict[str, Any]) -> Iterator[tuple[Path, bytes]]:
        """Yields the files; compares what is in them with the agent first."""
        if self.place.suffix == ".onnx":
            with stage(tr("tracing the policy as ONNX")):
                data = onnx_file.content(module, self._first(module, seen[0]), text_facts(facts))
                run = onnx_file.Session(data).run
        else:
            data = tensors_file.content(module, text_facts(facts))
            run = tensors_file.loaded(module, data).run
        steps = each(tr("comparing the file with the agent"), seen, tr("steps"))
        self.checked = compare(run, module, steps, *self.starts)
        if self.checked.equal < LEAST_EQUAL:
            raise JoystickError(
                "the file does not choose the agent's actions, and was not written: {checked}", checked=self.checked
            )
        yield self.place, data
        if self.place.suffix != ".onnx":
            algorithm = self.policy.algo.model_dump(mode="json")
            facts |= {"network": network_facts(module, self.agent), "settings": algorithm}
            yield self.place.with_suffix(".json"), tensors_file.description(module, facts)

    def _first(self, module: FileModule, step: Seen) -> dict[str, Any]:
        """Returns inputs of one row."""
        arrays = {"obs": step.obs[:1], "state": np.zeros((1, module.policy.state_size), np.float32)}
        return arrays if step.mask is None else {**arrays, "action_mask": step.mask[:1]}

    def _facts(self) -> dict[str, Any]:
        """Returns where the policy comes from, and what it sees and does."""
        saved, spec = self.model.saved, self.agent.spec
        of_policy = {"policy": self.policy.name} if self.policy.name else {}
        return {
            "run": saved.path.parent.parent.name,
            "algorithm": self.policy.package.NAME,
            **of_policy,
            "environment": spec.id,
            **{name: int(saved.facts[name]) for name in ("step", "episode", "update")},
            "joystick": version(),
            "observation": space_facts(spec.observation_space, self.starts[0]),
            **({"parts": parts_facts(spec.parts)} if spec.parts else {}),
            "action": space_facts(spec.action_space, self.starts[1]),
        }

    def _example(self, module: FileModule, masks: tuple[int, ...]) -> str:
        place = self.out.with_name(self.place.name)
        if self.place.suffix != ".onnx":
            return example.tensors_example(place)
        env, spec = self.model.env, self.agent.spec
        played = None
        if env.recipe and env.source_space is not None:
            action = env.decode(np.zeros((1, *(spec.action_space.shape or ())), spec.action_space.dtype))[0]
            number = isinstance(spec.action_space, Box) and np.ndim(action) == 0
            general, phase = self.config.general, self.model.phases(self.config).evaluation()
            recipe = env.recipe
            if general.curriculum and phase is not None:
                recipe = recipe.in_phase(general.curriculum.method, phase)
            played = example.Played(recipe.cut_after(general.max_step), env.source_space, number)
        return example.onnx_example(
            place, module, (spec.observation_space, spec.action_space), masks, played, bool(spec.parts)
        )
