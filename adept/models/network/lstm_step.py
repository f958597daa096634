"""One step of an LSTM at release, without gradients.

What a word adds to the gates does not change, so it is looked up in a table of the whole vocabulary (by ``embedding``, which copies
rows seven times as fast as an index does). What is left of a step is one matrix product, which is added to the gates in place,
and a few sigmoids: the new cell's tanh(x) is 2 sigmoid(2x) - 1, so that all four gates are one call.
"""

from torch import Tensor, nn

from adept.models.network.rounding import filled


def gates_of_words(lstm: nn.LSTM, products: Tensor, *, width: int = 1) -> Tensor:
    """What each word adds to the gates (V, 4H), both biases included."""
    return doubled(products + (lstm.get_parameter("bias_ih_l0") + lstm.get_parameter("bias_hh_l0")), width=width)


def doubled(gates: Tensor, *, width: int = 1) -> Tensor:
    """Gates (..., 4H), in the order input, forget, cell, output, with the cell's doubled for ``step``: exact in floats."""
    four = gates.reshape(*gates.shape[:-1], 4, -1).clone()
    four[..., 2, :] *= 2
    return filled(four, dim=-1, width=width).flatten(-2)


def step(gates: Tensor, cell: Tensor) -> Tensor:
    """Advance an LSTM's cell (..., H) in place by its gates (..., 4H), which are used up; returns the hidden state (..., H)."""
    read, forget, new, output = gates.sigmoid_().chunk(4, dim=-1)
    cell.mul_(forget).addcmul_(read, new, value=2).sub_(read)  # + read * (2 new - 1)
    return cell.tanh().mul_(output)
