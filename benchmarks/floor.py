"""Shortest possible learning time: the matrix products (or convolutions) of all updates, and one pass of Adam for each.

python benchmarks/floor.py floor|fast THREADS WORK
WORK: dqn STEPS WIDTH | ppo STEPS ROWS MINIBATCH | sac UPDATES | td3 UPDATES | images STEPS | ppo_images STEPS
Prints {"steps": ..., "seconds": ...}. Nothing is acted, sampled, logged or summed up: no framework can be faster with
the same kernels. floor: products as torch makes them; fast: as fast/layers.py does here (general_cfg.kernels).
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
from torch import Tensor, nn

from algos.common.fast import kernels, layers, measuring
from algos.common.fast.layers import Linear

Work = Callable[[], object]
FAST = sys.argv[1:2] == ["fast"]
if FAST:
    kernels.use(measuring.chosen().kernels)


def mlp(batch: int, *sizes: int, learns: bool = True, inputs: bool = False) -> list[Work]:
    """Returns the products of a network in an update: forward; if it learns, the gradients of its weights and of the
    inputs of its layers. inputs: the gradients of all inputs, also those of the network."""
    works: list[Work] = []
    for number, (before, after) in enumerate(pairwise(sizes)):
        x, w, g = torch.randn(batch, before), torch.randn(after, before), torch.randn(batch, after)
        y, dw, dx = torch.empty(batch, after), torch.empty(after, before), torch.empty(batch, before)
        works.append(times(x, w.t(), y))
        if learns:
            works.append(times(g.t(), x, dw))
        if inputs or (learns and number):
            works.append(times(g, w, dx))
    return works


def times(a: Tensor, b: Tensor, out: Tensor) -> Work:
    """Returns a product."""
    if FAST and layers.pays(a, b):
        return torch.no_grad()(lambda: kernels.addmm(None, a, b))
    return lambda: torch.mm(a, b, out=out)


def adam(*networks: tuple[int, ...]) -> Work:
    """Returns one pass of the fused Adam over the weights of these networks."""
    shapes = [(after, before) for sizes in networks for before, after in pairwise(sizes)]
    return adam_of([torch.randn(shape) for shape in shapes])


def adam_of(weights: list[Tensor]) -> Work:
    optimizer = torch.optim.Adam([w.requires_grad_() for w in weights], 1e-4, fused=True)
    for w in weights:
        w.grad = torch.randn_like(w)
    return optimizer.step


def dqn(updates: int, width: int) -> tuple[int, list[Work]]:
    """Two layers of this width, batch 64: target and online network."""
    sizes = (4, width, width, 2)
    return updates, [*mlp(64, *sizes, learns=False), *mlp(64, *sizes), adam(sizes)]


def ppo(steps: int, rows: int, minibatch: int) -> tuple[int, list[Work]]:
    """64x64 for actor and critic, four epochs: the updates of a window of 128 steps of all rows."""
    actor, critic = (4, 64, 64, 2), (4, 64, 64, 1)
    update = [*mlp(minibatch, *actor), *mlp(minibatch, *critic), adam(actor, critic)]
    return steps // (128 * rows), 4 * (128 * rows // minibatch) * update


def sac(updates: int) -> tuple[int, list[Work]]:
    """Pendulum, 256x256, batch 256: two critics and their targets, the actor for the target and for its own loss."""
    actor, critic = (3, 256, 256, 2), (4, 256, 256, 1)
    target = [*mlp(256, *actor, learns=False), *2 * mlp(256, *critic, learns=False)]
    improved = [*mlp(256, *actor), *2 * mlp(256, *critic, learns=False, inputs=True)]
    return updates, [*target, *2 * mlp(256, *critic), adam(critic, critic), *improved, adam(actor)]


def td3(updates: int) -> tuple[int, list[Work]]:
    """The same with a deterministic actor, which learns in each second update; here two updates."""
    actor, critic = (3, 256, 256, 1), (4, 256, 256, 1)
    target = [*mlp(256, *actor, learns=False), *2 * mlp(256, *critic, learns=False)]
    critics = [*target, *2 * mlp(256, *critic), adam(critic, critic)]
    improved = [*mlp(256, *actor), *mlp(256, *critic, learns=False, inputs=True), adam(actor)]
    return updates // 2, [*critics, *critics, *improved]


def images(steps: int) -> tuple[int, list[Work]]:
    """The Nature network on 32 observations of 84x84x4 in each fourth step after 100: target and online network,
    without activations."""
    look, learn, step = nature(32, 2)
    return (steps - 100) // 4, [look, learn, step]


def ppo_images(steps: int) -> tuple[int, list[Work]]:
    """The Nature network on 256 observations, four epochs: the updates of a window of 128 steps of 8 rows."""
    _, learn, step = nature(256, 3)
    return steps // 1024, 16 * [learn, step]


def nature(batch: int, outputs: int) -> tuple[Work, Work, Work]:
    """Returns a pass of the Nature network, one with its gradients, and a step of Adam."""
    network = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 64, 3, 1), nn.Flatten())
    linear = Linear if FAST else nn.Linear
    network += nn.Sequential(linear(3136, 512), linear(512, outputs))
    x = torch.randn(batch, 4, 84, 84).to(memory_format=torch.channels_last)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def learn() -> None:
        network(x).sum().backward()

    learn()
    optimizer = torch.optim.Adam(network.parameters(), 1e-4, fused=True)
    return torch.inference_mode()(lambda: network(x)), learn, optimizer.step


def main() -> None:
    """Times the work that the command line names."""
    torch.manual_seed(0)
    torch.set_flush_denormal(True)
    if threads := int(sys.argv[2]):
        torch.set_num_threads(threads)
    kinds = {"dqn": dqn, "ppo": ppo, "sac": sac, "td3": td3, "images": images, "ppo_images": ppo_images}
    numbers = [int(word) for word in sys.argv[4:]]
    times, works = kinds[sys.argv[3]](*numbers)  # type: ignore[operator]
    for work in works:
        work()
    begin = time.perf_counter()
    for _ in range(times):
        for work in works:
            work()
    print(json.dumps({"steps": numbers[0], "seconds": time.perf_counter() - begin}))


if __name__ == "__main__":
    main()
