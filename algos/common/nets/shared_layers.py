"""Layers that several networks share, by the name that the setting `shared` of a layer gives."""

from torch import nn

from algos.common.nets.chain import Chain
from config.model.layers import Layer, Layers

Registry = dict[str, nn.Module]
"""Modules with weights of each shared layer, by its name (EnvSpec.shared)."""


def name_of(layer: Layer) -> str | None:
    """Returns the name under which the weights of a layer are shared; None if they are its own."""
    return getattr(layer, "shared", None)


def any_in(layers: Layers) -> bool:
    """Returns True if one of the layers is shared."""
    return any(name_of(layer) for layer in layers)


def share(chain: Chain, start: int, layer: Layer, registry: Registry) -> None:
    """Replaces the modules that a shared layer has added to a chain, from number `start` on, by those of the first
    network that used its name. Modules without weights stay."""
    name = name_of(layer)
    if name is None:
        return
    places = [at for at in range(start, len(chain.modules)) if chain.modules[at].state_dict()]
    own = nn.ModuleList(chain.modules[at] for at in places)
    first = registry.setdefault(name, own)
    if _shapes(first) != _shapes(own):
        reason = f"the layer shared as {name} has {_shapes(first)} in another network, and {_shapes(own)} here"
        raise chain.error(layer.layer_type, reason)
    for at, module in zip(places, first.children(), strict=True):
        chain.modules[at] = module


def _shapes(modules: nn.Module) -> str:
    """Returns the types of modules and the shapes of their weights, as text."""
    return ", ".join(
        f"{type(module).__name__} {' and '.join(str(tuple(weight.shape)) for weight in module.state_dict().values())}"
        for module in modules.children()
    )


def parts(registry: Registry) -> set[nn.Module]:
    """Returns all modules within the shared layers so far."""
    return {part for module in registry.values() for part in module.modules()}
