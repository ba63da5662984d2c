"""Settings of kernels: the amounts of work from which one takes the place of torch's own."""

from typing import Annotated

from pydantic import Field

from config.model.fields import Int, Strict

Amount = Annotated[Int, Field(ge=1)] | None


class Kernels(Strict):
    """Amounts of work from which a kernel takes the place of torch's own, whose numbers it gives up to rounding. null:
    never."""

    products: Amount = None
    """Number of multiplications of a matrix product from which oneDNN computes it."""
    compiled_products: Amount = None
    """Number of multiplications from which oneDNN computes the products of compiled gradient steps."""
    tanh: Amount = None
    """Number of values from which numpy computes tanh where gradients are needed."""
    acting_tanh: Amount = None
    """Number of values from which numpy computes tanh where none are needed."""
    narrow_gradients: Amount = None
    """Number of outputs, over the samples, from which the gradient of a layer with at most 12 inputs is (x^T g)^T."""
    single_outputs: Amount = None
    """Number of multiplications of a critic's last layer from which each critic of an ensemble has its own product."""
    few_rows: Amount = None
    """Number of multiplications of the largest layer, over the rows, up to which numpy computes a network that acts."""
