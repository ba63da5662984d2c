"""JOYSTICK_PLAIN=1: every algorithm learns the same by torch's public functions alone."""

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from algos.common.fast import switch, tensors
from algos.common.fast.layers import Linear, Tanh, accelerate
from algos.common.fast.optimizers import FusedAdam
from algos.common.nets.custom import Custom
from algos.common.parts import optim
from algos.common.parts.state import load_state_tree, state_tree
from algos.common.settings import NetworkConfig
from config.program import ROOT
from framework.assemble import compiling
from framework.runs import exactness
from tests.tools import house, other_torch
from tests.tools.config_fixtures import loaded
from tests.tools.plain import learned, tried
from tests.tools.process import forked_program

UNCERTAIN = {"CrossQ": 1e-2}
"""Largest difference of weights. The gradient of a bias before a normalization is nothing but rounding, by which Adam
moves it as far as by any other."""
TRIED = [part for part, needs in switch.PARTS.items() if needs.trial]
OFF = "off: all parts because JOYSTICK_PLAIN is set"


@pytest.fixture(scope="module")
def early() -> None:
    """What torch's own Adam imports for a second is there in all forked processes."""
    importlib.import_module("torch._dynamo")


@pytest.fixture(scope="module")
def plain(early: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the weights that all algorithms have learned without the room."""
    folder = tmp_path_factory.mktemp("plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(switch.VARIABLE, "1")
        done = forked_program(f"from tests.tools import plain\nplain.main({str(folder)!r})")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(("algo", "toy"), tried().items())
def test_every_algorithm_learns_the_same_without_the_room(algo: str, toy: str, plain: Path) -> None:
    """Nothing private was called, or the process had failed."""
    weights = learned(algo, toy)
    with np.load(plain / f"{algo}.npz") as others:
        assert set(others) == set(weights)
        for name, expected in weights.items():
            np.testing.assert_allclose(others[name], expected, 1e-4, UNCERTAIN.get(algo, 1e-6), err_msg=name)


def test_what_torch_does_not_document_stands_in_the_room_alone() -> None:
    assert {name.rpartition(".")[0] for name in house.private_reaches()} == {"algos.common.fast"}


def test_every_private_function_is_asked_for_before_it_is_used() -> None:
    """But those of the compiler, which a run tries before it compiles, and operators of our own."""
    others = "torch._inductor", "torch._dynamo", "torch._functorch", "torch.ops.joystick"
    asked = {f"torch.{name}" for needs in switch.PARTS.values() for name in needs.names}
    for path in ROOT.glob("algos/common/fast/*.py"):
        used = set(re.findall(r"torch\.(?:_\w+(?:\.\w+)*|ops\.\w+\.\w+)", path.read_text(encoding="utf-8")))
        assert {name for name in used if not name.startswith(others)} <= asked, path.name


HARMS: list[tuple[Callable[[Any], Any] | None, str]] = [
    (None, "torch has no {name}"),
    (
        other_torch.with_other_arguments,
        "a trial call fails: TypeError: .*missing 1 required keyword-only argument: 'one_more'",
    ),
    (other_torch.with_other_numbers, r"a trial call fails: ValueError: {last} gives \[.*\] for \[.*\]"),
]


@pytest.mark.parametrize(("change", "why"), HARMS, ids=["missing", "other arguments", "other numbers"])
@pytest.mark.parametrize(("part", "name"), [(part, name) for part in TRIED for name in switch.PARTS[part].names])
def test_a_part_is_off_in_a_torch_whose_functions_are_others(
    part: str, name: str, change: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert switch._why_off(switch.PARTS[part]) is None
    other = other_torch.Altered(torch, name, change)
    monkeypatch.setattr(switch, "torch", other)
    expected = why.format(name=name, last=name.removeprefix("ops.mkldnn.").removeprefix("ops.aten."))
    assert re.fullmatch(expected, str(switch._why_off(switch.PARTS[part])))


@pytest.mark.usefixtures("early")
def test_training_goes_on_by_the_public_path_in_a_torch_that_lacks_what_a_part_needs() -> None:
    done = forked_program("from tests.tools import other_torch\nother_torch.main()")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["part"] for line in lines] == [part for part in switch.PARTS if part != "few rows" and switch.on(part)]
    for line in lines:
        assert line["off"] == {line["part"]: f"torch has no {line['name']}"}
        assert line["apart"] < 1e-5, line


def test_without_our_adam_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "OFF", {"Adam": "torch has no _fused_adam_"})
    assert compiling._without_compiler() == "steps are not compiled here: torch has no _fused_adam_"


def test_the_line_about_the_room_says_what_is_off_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "OFF", {})
    assert switch.state() == "on"
    monkeypatch.setattr(switch, "OFF", {"Adam": switch._why_off(switch.Needs(("add", "_no_such_kernel")))})
    assert not switch.on("Adam")
    assert switch.on("lists")
    assert switch.state() == "off: Adam because torch has no _no_such_kernel"
    optimizer = optim.make([nn.Parameter(torch.ones(1))], NetworkConfig(), 0.1)
    assert isinstance(optimizer, torch.optim.Adam)
    monkeypatch.setattr(switch, "PLAIN", True)
    assert switch._why_off(switch.Needs()) == "JOYSTICK_PLAIN is set"
    assert switch.state() == OFF


def test_without_the_room_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "OFF", {"compile": "JOYSTICK_PLAIN is set"})
    assert compiling._without_compiler() == "steps are not compiled here: JOYSTICK_PLAIN is set"


def test_the_other_choice_makes_a_resume_inexact() -> None:
    now = exactness.facts(loaded(None, "general_cfg.seed=1"), torch.device("cpu"))
    older = {name: now[name] for name in now if name != "fast"}
    assert exactness.compare(older, {**now, "fast": "on"}).exact
    assert exactness.compare(now, {**now, "fast": OFF}).because == (f"faster parts: {now['fast']} -> {OFF}",)


def test_operations_on_lists_are_loops_over_them() -> None:
    def some() -> list[torch.Tensor]:
        return [torch.arange(6.0).reshape(2, 3), torch.tensor(-3.0)]

    assert torch.equal(torch.stack(tensors._norms(some())), torch.stack(tensors.norms(some())))
    pairs: list[tuple[Any, Any, list[Any]]] = [
        (tensors._multiply, tensors.multiply, [torch.tensor(0.3)]),
        (tensors._pairwise(torch.Tensor.copy_), tensors.copy, [[torch.ones(2, 3), torch.ones(())]]),
        (tensors._pairwise(torch.Tensor.lerp_), tensors.lerp, [[torch.ones(2, 3), torch.ones(())], 0.3]),
    ]
    for loop, whole, arguments in pairs:
        one, other = some(), some()
        loop(one, *arguments)
        whole(other, *arguments)
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
        assert not torch.equal(one[0], some()[0])


@pytest.mark.parametrize("steps", [0, 3])
def test_both_kinds_of_adam_go_on_from_the_state_of_the_other(steps: int) -> None:
    """Also from that of a run which has not learned yet, or of a parameter that never had a gradient."""
    for first, second in ((FusedAdam, torch.optim.Adam), (torch.optim.Adam, FusedAdam)):
        parameters = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))]
        optimizers = [
            FusedAdam(parameters, 0.1, 1e-8, 0.0, False) if kind is FusedAdam else kind(parameters, 0.1, fused=True)
            for kind in (first, second)
        ]
        for _ in range(steps):
            parameters[0].grad = torch.tensor([1.0, -2.0, 3.0])
            optimizers[0].step()
        load_state_tree(optimizers[1], state_tree(optimizers[0]))
        after = []
        for optimizer in optimizers:
            with torch.no_grad():
                parameters[0].fill_(1.0)
            parameters[0].grad = torch.tensor([-1.0, 0.5, 0.0])
            optimizer.step()
            after.append(parameters[0].detach().clone())
        assert torch.equal(*after)


class Own(nn.Module):
    """A layer of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


def test_a_network_keeps_names_and_weights_when_it_becomes_faster() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh(), nn.ReLU()), Custom(Own()))
    parameters, names = list(network.parameters()), list(network.state_dict())
    accelerate(network)
    assert type(network[0]) is Linear
    assert type(network[1][0]) is Tanh
    assert type(network[2].module.inner) is nn.Linear, "its owner may ask for its type"
    assert list(network.state_dict()) == names
    assert all(a is b for a, b in zip(network.parameters(), parameters, strict=True))
