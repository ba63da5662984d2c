"""Settings of kernels: from what amount of work on a faster one takes the place of torch's own."""

from typing import Annotated

from pydantic import Field

from config.model.fields import Int, Strict

Amount = Annotated[Int, Field(ge=1)] | None


class Kernels(Strict):
    """Amounts of work from which a kernel takes the place of torch's own, whose numbers it gives up to rounding. null:
    never."""

    products: Amount = None
    """Least number of multiplications of a matrix product that oneDNN makes."""
    compiled_products: Amount = None
    """The same in compiled gradient steps, where a call costs less."""
    tanh: Amount = None
    """Least number of tanh that numpy computes in learning."""
    acting_tanh: Amount = None
    """The same without gradients."""
    narrow_gradients: Amount = None
    """Least number of outputs of a layer with at most 12 inputs whose gradient is computed as (x^T g)^T."""
    single_outputs: Amount = None
    """Least number of multiplications of a critic's last layer from which each of an ensemble makes its own product."""
    few_rows: Amount = None
    """Largest number of multiplications of a layer, over all rows, up to which numpy computes the networks that act."""
