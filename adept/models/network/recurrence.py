"""The decoder's LSTM in training, on a processor: products in bfloat16 where there are units for them, one product of the latent.

``nn.LSTM`` multiplies each position's whole input, for the decoder the word and the latent. Here what the latent adds to the gates
is one product a record and not one a word, and the products of all positions (words into gates, and three of the four of the
gradient) are one each, which AMX units compute up to ten times as fast in bfloat16. States, the steps from one position to the
next, sums, weights and the optimiser stay in float32, and so does everything where nothing is trained. The function and its
gradient are those of ``nn.LSTM`` (tested), which does the work on other devices.
"""

from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

State = tuple[Tensor, Tensor]


@cache
def has_bfloat16_units() -> bool:
    """Whether this processor multiplies in bfloat16 much faster than in float32."""
    return bool(torch.cpu.get_capabilities().get("amx_bf16", False))


def rough(module: nn.Module) -> torch.autocast:
    """A context in which a module that is trained multiplies in bfloat16, if that is faster on this processor."""
    return torch.autocast("cpu", torch.bfloat16, enabled=module.training and has_bfloat16_units())


class Dropout(nn.Module):
    """``nn.Dropout`` with sixteen random bits for each number, where it takes a slow draw: the share is a multiple of 2^-16."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.dropped = round(share * 2**16)

    def forward(self, numbers: Tensor) -> Tensor:
        if not (self.training and self.dropped and numbers.is_cpu):
            return nn.functional.dropout(numbers, self.share, self.training)
        quarter = -(-numbers.numel() // 4)
        bits = torch.empty(quarter, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        kept = bits[: numbers.numel()].view(numbers.shape) >= self.dropped - 2**15
        return numbers * (kept * (2**16 / (2**16 - self.dropped)))


def read(lstm: nn.LSTM, words: Tensor, beside: Tensor, state: State) -> Tensor:
    """Return the outputs (T, B, H) of an LSTM that reads words (T, B, E), each with ``beside`` (B, n), from a state (B, H)."""
    if not words.is_cpu:
        inputs = torch.cat([words, beside.expand(len(words), -1, -1)], dim=2)
        outputs: Tensor = lstm(inputs.transpose(0, 1), tuple(part[None] for part in state))[0]
        return outputs.transpose(0, 1)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    weight, recurrent, first, second = (lstm.get_parameter(name) for name in names)
    constant = torch.addmm(first + second, beside, weight[:, words.shape[2] :].T)
    precision = torch.bfloat16 if lstm.training and has_bfloat16_units() else torch.float32
    given = (words, constant, *state, weight[:, : words.shape[2]], recurrent, precision)
    result: Tensor = Recurrence.apply(*given)  # type: ignore[no-untyped-call]
    return result


class Recurrence(torch.autograd.Function):
    """Outputs (T, B, H) of words (T, B, E) and of gates (B, 4H) that are the same at all positions: input, forget, cell, output."""

    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        constant: Tensor,
        hidden: Tensor,
        cell: Tensor,
        reading: Tensor,
        recurrent: Tensor,
        precision: torch.dtype,
    ) -> Tensor:
        inputs, weight, units = words.flatten(0, 1).to(precision), reading.to(precision), recurrent.shape[1]
        gates = torch.add(constant, (inputs @ weight.T).view(*words.shape[:2], -1))  # float32 again
        outputs, cells, bent = (cell.new_empty(len(words) + 1, *cell.shape) for _ in range(3))
        outputs[0], cells[0] = hidden, cell
        sigmoids, tanhs, last = (part.unbind() for part in torch.split(gates, [2 * units, units, units], dim=2))
        transposed = recurrent.T
        states = pairwise(outputs.unbind()), pairwise(cells.unbind())
        places = zip(gates.unbind(), sigmoids, tanhs, last, *states, bent[1:].unbind(), strict=True)
        for gate, both, new, shown, (output, following), (state, next_state), curve in places:
            gate.addmm_(output, transposed)
            taken, kept = both.sigmoid_().chunk(2, dim=1)
            torch.mul(state, kept, out=next_state).addcmul_(taken, new.tanh_())
            torch.mul(torch.tanh(next_state, out=curve), shown.sigmoid_(), out=following)
        ctx.save_for_backward(inputs, weight, recurrent, gates, cells, bent, outputs)
        return outputs[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, recurrent, gates, cells, bent, outputs = ctx.saved_tensors
        grads = torch.empty_like(gates)  # of the gates before their sigmoids
        hidden, cell = torch.zeros_like(cells[0]), torch.zeros_like(cells[0])
        parts = [part.unbind() for whole in (gates, grads) for part in whole.chunk(4, dim=2)]
        places = list(
            zip(*parts, cells[:-1].unbind(), bent[1:].unbind(), upstream.unbind(), grads.unbind(), strict=True)
        )
        for taken, kept, new, shown, of_taken, of_kept, of_new, of_shown, before, curve, above, all_four in reversed(
            places
        ):
            torch.mul(hidden.add_(above), shown, out=of_shown)
            cell.add_(of_shown)
            of_shown.mul_(curve)
            cell.addcmul_(of_shown, curve, value=-1)
            of_shown.addcmul_(of_shown, shown, value=-1)
            torch.mul(cell, taken, out=of_new)
            torch.mul(of_new, new, out=of_taken)
            of_new.addcmul_(of_taken, new, value=-1)
            of_taken.addcmul_(of_taken, taken, value=-1)
            torch.mul(cell.mul_(kept), before, out=of_kept)
            of_kept.addcmul_(of_kept, kept, value=-1)
            torch.mm(all_four, recurrent, out=hidden)
        flat = grads.flatten(0, 1)
        rounded = flat.to(inputs.dtype)
        return (
            (rounded @ weight).view(*gates.shape[:2], -1).float(),
            grads.sum(dim=0),
            hidden,
            cell,
            (rounded.T @ inputs).float(),
            (rounded.T @ outputs[:-1].flatten(0, 1).to(rounded.dtype)).float(),
            None,
        )
