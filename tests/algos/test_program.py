"""Gradient steps as programs (algos/common/fast/program.py): the same text for the same function, the same numbers, and
what is no program."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from algos.common.fast import kernels, program
from algos.common.fast.program import ProgramError, record


def step_of(factor: float, weight: Tensor) -> Callable[[Tensor], Any]:
    """A step down the gradient of mean (factor x w)^2, in place, by a tenth of it."""

    def step(x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        loss = (factor * x @ weight).square().mean()
        [gradient] = torch.autograd.grad(loss, [weight])
        with torch.no_grad():
            weight.sub_(0.1 * gradient)
        return loss.detach(), {"norm": gradient.square().sum().sqrt()}

    return step


def test_a_program_does_what_the_step_does_in_place() -> None:
    """By hand: x = (1, 2), w = (1, 1), factor 2: the loss is (2 * 3)^2, its gradient 2 * 6 * 2 * (1, 2)."""
    weight, x = torch.ones(2, requires_grad=True), torch.tensor([[1.0, 2.0]])
    recording = record(step_of(2.0, weight), [x])
    assert weight.tolist() == [1.0, 1.0], "a recording changes nothing"
    [first, second] = recording.inputs
    assert {id(first), id(second)} == {id(weight), id(x)}
    step, sizes = program.module(recording.text)
    assert [list(each.shape) for each in sizes] == [list(each.shape) for each in recording.inputs]
    loss, numbers = program.with_tensors(recording.outputs, step(*(each.detach() for each in recording.inputs)))
    assert loss.item() == 36.0
    assert numbers["norm"].item() == pytest.approx(24 * 5**0.5)
    assert weight.tolist() == pytest.approx([1 - 2.4, 1 - 4.8])


def test_the_text_names_the_function() -> None:
    """Other weights are other inputs of the same program; another number of Python, another size or type is another
    program."""
    texts = [
        record(step_of(factor, torch.full((2,), value, requires_grad=True)), [torch.ones(rows, 2)]).text
        for factor, value, rows in ((2.0, 1.0, 3), (2.0, 5.0, 3), (2.5, 1.0, 3), (2.0, 1.0, 4))
    ]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_numbers_of_python_are_constants_of_the_program() -> None:
    recording = record(lambda x: x * torch.tensor([2.0, 3.0]) + torch.tensor(1.0).add_(1), [torch.ones(2)])
    step, _ = program.module(recording.text)
    for _ in range(2):
        assert step(torch.tensor([1.0, 10.0]))[0].tolist() == [4.0, 32.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[torch.tensor([1, 0])] * 2,
        lambda x: torch.stack([*x.split([1, 1]), x[1:]]).amax(0),
        lambda x: torch.where(x > 1, x, float("-inf")),
        lambda x: x.to(torch.float64).cumsum(0).float(),
        lambda x: nn.functional.relu(x, inplace=False).view(1, 2).t().contiguous(),
        lambda x: x.max(0)[0].expand(2),
    ],
)
def test_arguments_of_all_types_are_written_and_read(function: Any) -> None:
    recording = record(function, [torch.ones(2)])
    step, _ = program.module(recording.text)
    x = torch.tensor([-1.0, 3.0])
    assert torch.equal(step(x)[0], function(x))


def test_drawn_numbers_are_inputs_that_are_drawn_for_each_call() -> None:
    """From the same generators in the same order as by autograd, and recording draws none of them."""
    of_numpy, of_torch = np.random.default_rng(1), torch.Generator()

    def step(x: Tensor) -> Tensor:
        shift = program.drawn(of_numpy, lambda: torch.from_numpy(of_numpy.random(2)))
        kept = program.drawn(of_torch, lambda: torch.empty(2).bernoulli_(0.5, generator=of_torch))
        return x * kept + shift - program.drawn(of_numpy, lambda: torch.from_numpy(of_numpy.standard_normal(2)))

    def seed() -> None:
        of_numpy.bit_generator.state = np.random.default_rng(7).bit_generator.state
        of_torch.manual_seed(7)

    seed()
    expected = [step(torch.full((2,), 10.0)) for _ in range(3)]
    seed()
    recording = record(step, [torch.ones(2)])
    assert len(recording.draws) == 3
    module, _ = program.module(recording.text)
    for result in expected:
        drawn = {place: make() for place, make in recording.draws.items()}
        read = [drawn.get(place, torch.full((2,), 10.0)) for place in range(4)]
        assert torch.equal(module(*read)[0], result)


CALLS, RNG = iter(range(1000)), np.random.default_rng(1)


def test_a_change_that_another_input_sees_is_no_program() -> None:
    whole = torch.zeros(4)
    part = whole[1:3]

    def step(x: Tensor) -> Tensor:
        whole.add_(1)
        return x * part

    with pytest.raises(ProgramError, match="shares memory"):
        record(step, [torch.ones(2)])
    assert whole.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x * torch.rand(2), "the step draws random numbers"),
        (lambda x: nn.functional.dropout(x, 0.5), "the step draws random numbers"),
        (lambda x: x[x > 0], "sizes in the step depend"),
        (lambda x: x * float(x[0]), "the step reads numbers of tensors"),
        (lambda x: x * next(CALLS), "two calls of the step are different operations"),
        (lambda x: x * torch.from_numpy(RNG.random(2)), "two calls of the step are different operations"),
        (lambda x: x * torch.from_numpy(RNG.random(2000))[:2], "another way than by torch"),
    ],
)
def test_what_another_call_would_do_otherwise_is_no_program(function: Any, why: str) -> None:
    x = torch.ones(2)
    with pytest.raises(ProgramError, match=why):
        record(function, [x])
    assert x.tolist() == [1.0, 1.0]
    assert not kernels.recording


def test_a_step_that_fails_leaves_its_weights_as_they_were() -> None:
    weight = torch.ones(2)

    def fails(x: Tensor) -> None:
        weight.add_(x)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        record(fails, [torch.ones(2)])
    assert weight.tolist() == [1.0, 1.0]


# products in a library


@pytest.mark.parametrize(
    ("m", "k", "n", "loops"),
    [
        (64, 4, 256, True),  # a layer of few inputs
        (64, 16, 32, True),
        (64, 17, 32, False),
        (64, 256, 2, True),  # one of few outputs
        (2, 256, 64, True),
        (64, 256, 17, False),
        (64, 2, 256, True),  # the gradient of its inputs
        (1, 1, 1, True),
        (64, 256, 256, False),
    ],
)
def test_narrow_products_are_loops(m: int, k: int, n: int, loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every order of the numbers of both matrices in memory, one and several products, with and without biases."""
    monkeypatch.setattr(program, "_in_rows", Tensor.contiguous)
    generator = torch.Generator().manual_seed(1)
    for several in ((), (3,)):
        x, y = (torch.rand(*several, *size, generator=generator) - 0.5 for size in ((m, k), (k, n)))
        bias = torch.rand(*several, 1, n, generator=generator)
        for x_of, y_of in itertools.product((x, in_columns(x)), (y, in_columns(y))):
            for product, expected in (
                (program._loops(x_of, y_of), x @ y),
                (program._loops(x_of, y_of, bias), bias + x @ y),
            ):
                if not loops:
                    assert product is None
                elif product is not None:
                    torch.testing.assert_close(product, expected, rtol=1e-5, atol=1e-5)
                else:  # a sum over rows, which are in columns
                    assert min(m, n) > program.NARROW_IN_SUMS


@pytest.mark.parametrize(
    ("rows", "narrow", "loops"), [(64, 4, True), (64, 8, True), (64, 9, False), (1024, 2, True), (1025, 2, False)]
)
def test_gradients_of_narrow_layers_are_loops_up_to_some_size(
    rows: int, narrow: int, loops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradients of the weights, g^T x, of a layer with few inputs and of one with few outputs."""
    monkeypatch.setattr(program, "_in_rows", Tensor.contiguous)
    few, many = torch.rand(rows, narrow), torch.rand(rows, 32)
    for g, x in ((few, many), (many, few)):
        product = program._loops(g.t(), x)
        assert (product is not None) == loops
        if product is not None:
            torch.testing.assert_close(product, g.t() @ x)


def in_columns(x: Tensor) -> Tensor:
    """The same matrices, with the numbers of a column side by side."""
    return x.mT.contiguous().mT


def test_every_product_of_a_program_may_be_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their names in the text: that of a layer, of a group of layers, and their gradients."""
    monkeypatch.setattr(program, "_in_rows", Tensor.contiguous)
    weight, group = torch.rand(4, 3, requires_grad=True), torch.rand(2, 4, 3, requires_grad=True)
    bias, biases = torch.rand(3), torch.rand(2, 1, 3)

    def step(x: Tensor) -> Any:
        hidden = torch.addmm(bias, x, weight).relu()
        both = torch.baddbmm(biases, x.expand(2, -1, -1), group)
        return torch.autograd.grad((hidden.sum() + (both @ both.mT).sum()).square(), [weight, group])

    x = torch.rand(5, 4)
    recording = record(step, [x])
    used: list[str] = []

    def counted(name: str) -> Callable[..., Tensor]:
        return lambda *arguments: (used.append(name), program.PRODUCTS[name](*arguments))[1]

    module, _ = program.module(recording.text, {name: counted(name) for name in program.PRODUCTS})
    results = module(*(each.detach() for each in recording.inputs))
    for result, expected in zip(results, step(x), strict=True):
        torch.testing.assert_close(result, expected)
    assert set(used) == {f"aten.{name}.default" for name in ("mm", "addmm", "bmm", "baddbmm")}
