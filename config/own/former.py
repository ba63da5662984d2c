"""Former names of modules that a user's own algorithms, layers, environments and programs import: they keep
answering."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

FORMER = {
    "config.schema": ("config.model.fields", "config.model.layers", "config.model.memory_spec", "config.model.schema"),
    "algos.a3c": ("algos.impala",),
    "algos.a3c.config": ("algos.impala.config",),
    "algos.common.actor_critic": ("algos.common.parts.actor_critic",),
    "algos.common.adam": ("algos.common.fast.optimizers",),
    "algos.common.chain": ("algos.common.nets.chain",),
    "algos.common.continuous": ("algos.common.parts.continuous",),
    "algos.common.critics": ("algos.common.nets.critics",),
    "algos.common.custom": ("algos.common.nets.custom",),
    "algos.common.device": ("algos.common.fast.tensors",),
    "algos.common.distributions": ("algos.common.maths.distributions", "algos.common.maths.gaussian"),
    "algos.common.encoder": ("algos.common.nets.observations",),
    "algos.common.exploration": ("algos.common.maths.exploration",),
    "algos.common.fast.adam": ("algos.common.fast.optimizers",),
    "algos.common.fast.device": ("algos.common.fast.tensors",),
    "algos.common.fast.few_rows": ("algos.common.parts.passes",),
    "algos.common.fast.functions": ("algos.common.fast.kernels",),
    "algos.common.fast.gradient_step": ("algos.common.parts.optim",),
    "algos.common.fast.lists": ("algos.common.fast.tensors",),
    "algos.common.fast.packages": ("algos.common.fast.compiled_steps",),
    "algos.common.fast.product": ("algos.common.fast.kernels", "algos.common.fast.layers"),
    "algos.common.fast_layers": ("algos.common.fast.kernels", "algos.common.fast.layers"),
    "algos.common.few_rows": ("algos.common.parts.passes",),
    "algos.common.first_weights": ("algos.common.nets.networks",),
    "algos.common.gradient_step": ("algos.common.parts.optim",),
    "algos.common.greedy": ("algos.common.parts.acting",),
    "algos.common.imitation": ("algos.gail.discriminator",),
    "algos.common.imitation_settings": ("algos.gail.config",),
    "algos.common.joint": ("algos.common.parts.team",),
    "algos.common.keep": ("algos.common.parts.state",),
    "algos.common.layer_lists": ("algos.common.nets.networks", "algos.common.nets.chain"),
    "algos.common.maths.bins": ("algos.common.maths.distributions",),
    "algos.common.maths.masking": ("algos.common.maths.exploration",),
    "algos.common.maths.mixture": ("algos.bc.mixture",),
    "algos.common.maths.normalize": ("algos.common.nets.observations", "algos.common.maths.returns"),
    "algos.common.maths.planning": ("algos.common.parts.tables", "algos.policyiteration.agent"),
    "algos.common.maths.state_noise": ("algos.common.maths.gaussian",),
    "algos.common.maths.temperature": ("algos.sac.temperature", "algos.sac.losses"),
    "algos.common.mixture": ("algos.bc.mixture",),
    "algos.common.modules": ("algos.common.nets.layers",),
    "algos.common.nets.encoder": ("algos.common.nets.observations",),
    "algos.common.nets.initial_weights": ("algos.common.nets.networks",),
    "algos.common.nets.joint": ("algos.common.parts.team",),
    "algos.common.nets.layer_lists": ("algos.common.nets.networks", "algos.common.nets.chain"),
    "algos.common.nets.own_layers": ("config.model.layers",),
    "algos.common.nets.renorm": ("algos.common.nets.layers",),
    "algos.common.nets.shared_layers": ("algos.common.nets.chain",),
    "algos.common.nets.shifts": ("algos.common.nets.observations",),
    "algos.common.nets.unit": ("algos.sac.actor_critic",),
    "algos.common.networks": ("algos.common.nets.networks",),
    "algos.common.normalize": ("algos.common.nets.observations", "algos.common.maths.returns"),
    "algos.common.optim": ("algos.common.parts.optim", "algos.common.parts.state"),
    "algos.common.own_layers": ("config.model.layers",),
    "algos.common.own_loss": ("algos.common.nets.custom",),
    "algos.common.parts.greedy": ("algos.common.parts.acting",),
    "algos.common.parts.imitation": ("algos.gail.discriminator",),
    "algos.common.parts.keep": ("algos.common.parts.state",),
    "algos.common.parts.optimizers": ("algos.common.fast.optimizers",),
    "algos.common.parts.own_loss": ("algos.common.nets.custom",),
    "algos.common.parts.scheduled": ("algos.base",),
    "algos.common.parts.sequences": ("algos.common.parts.passes",),
    "algos.common.parts.soft_policy": ("algos.sac.policy", "algos.sac.losses"),
    "algos.common.parts.unroll": ("algos.common.nets.recurrent", "algos.common.parts.passes"),
    "algos.common.parts.views": ("algos.common.nets.recurrent",),
    "algos.common.parts.weightless": ("algos.common.parts.acting",),
    "algos.common.parts.weights": ("algos.common.parts.state",),
    "algos.common.planning": ("algos.common.parts.tables", "algos.policyiteration.agent"),
    "algos.common.product": ("algos.common.fast.kernels", "algos.common.fast.layers"),
    "algos.common.recurrent": ("algos.common.nets.recurrent",),
    "algos.common.renorm": ("algos.common.nets.layers",),
    "algos.common.returns": ("algos.common.maths.returns",),
    "algos.common.shared_layers": ("algos.common.nets.chain",),
    "algos.common.soft_policy": ("algos.sac.policy", "algos.sac.losses"),
    "algos.common.tables": ("algos.common.parts.tables",),
    "algos.common.targets": ("algos.common.maths.targets",),
    "algos.common.temperature": ("algos.sac.temperature", "algos.sac.losses"),
    "algos.common.unroll": ("algos.common.nets.recurrent", "algos.common.parts.passes"),
    "algos.common.weightless": ("algos.common.parts.acting",),
    "algos.common.weights": ("algos.common.parts.state",),
    "algos.random_policy": ("algos.random",),
    "algos.random_policy.agent": ("algos.random.agent",),
    "algos.random_policy.config": ("algos.random.config",),
    "config.model.run_length": ("config.model.course",),
    "config.tune.domain_kinds": ("config.model.domain_kinds",),
    "config.tune.section": ("config.read.tuning",),
    "config.tune.space": ("config.read.search_space",),
    "envs.gym.known": ("envs.common.facts",),
    "envs.gym.masks": ("envs.common.masks",),
    "envs.gym.probe": ("envs.common.probe",),
    "envs.gym.recipe": ("envs.common.recipe",),
    "envs.gym.registry": ("envs.common.registry",),
    "envs.gym.rows": ("envs.common.rows",),
    "envs.gym.spaces": ("envs.common.spaces",),
    "envs.gym.vector": ("envs.common.vector",),
    "envs.gym.wrappers": ("envs.common.wrappers",),
    "envs.multi_agent": ("envs.several.multi_agent",),
    "framework.data.growing": ("framework.data.list_buffer",),
    "framework.output.tensorboard": ("framework.record.tensorboard",),
    "framework.output.trajectories": ("framework.dataset.trajectories",),
}
"""Former name of a module -> the modules that have its contents now."""
PACKAGES = frozenset(name.rpartition(".")[0] for name in FORMER)
"""Packages in which these modules were."""


class _Former(MetaPathFinder, Loader):
    """Finds modules by their former names. It comes last, so that it sees a name only if there is no such module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in FORMER or fullname in PACKAGES:
            return spec_from_loader(fullname, self, is_package=fullname in PACKAGES)
        return None

    def exec_module(self, module: ModuleType) -> None:
        for name in FORMER.get(module.__name__, ()):
            contents = vars(import_module(name))
            vars(module).update({key: value for key, value in contents.items() if not key.startswith("__")})


_FINDER = _Former()


def answer() -> None:
    """Makes former names importable from now on."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
