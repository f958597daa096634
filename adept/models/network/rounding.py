"""Numbers of rows that are rounded alike, so that what is computed of a row does not depend on its batch.

A matrix product may round a row differently when the number of rows changes. So a record encoded alone and in a batch would differ
in its last bits, and a release would depend on its neighbours; and a decoder might write two texts from one release, by its place.

A row of a product is a function of that row alone once the number of rows is fixed and its sides are multiples of a register's
width (tested bit for bit). So there are always CHUNK rows, where dummies fill the last chunk, or another number where that rounds
as CHUNK rows do: fewer, so that a lone row does not pay for 31 dummies and rows that are finished leave the chunk, and more, as
larger products are faster. Whether it does is a matter of the order in which a product's terms are added, which a kernel chooses
by the shapes, the number of threads and the processor, never by the values. So it is tried out, once for each number of threads,
on random rows: thousands of sums in two orders do not all agree to the last bit.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

CHUNK = 32
WIDTH = 16  # floats of a vector register: rows of another width begin at different places in one, and may be rounded otherwise


class RowCounts:
    """With how many rows to compute some rows.

    Args:
        compute: what is computed of rows (B, ...), with all products on the way in the result (B, n).
        rows: random rows to try, as many as the largest size.
        sizes: numbers of rows to try, in order; CHUNK is one of them.
    """

    def __init__(self, compute: Callable[[Tensor], Tensor], rows: Tensor, sizes: Sequence[int]) -> None:
        self._compute, self._rows, self._sizes = compute, rows, sizes
        self._alike: dict[int, list[int]] = {}  # by the number of threads

    def __call__(self, count: int) -> int:
        """The least number of rows that holds ``count``, or the largest where none does, of those that are rounded as CHUNK are."""
        threads = torch.get_num_threads()
        if threads not in self._alike:
            self._alike[threads] = self._tried()  # all at once: the lengths of records decide which are asked for
        return next((size for size in self._alike[threads] if size >= count), self._alike[threads][-1])

    def chunks(self, rows: Tensor) -> Iterator[tuple[Tensor, int]]:
        """Split rows (B, ...) into chunks to compute, filled up with zeros; with each goes how many rows of it are real."""
        while len(rows):
            size = self(len(rows))
            yield filled(rows[:size], dim=0, width=size), min(size, len(rows))
            rows = rows[size:]

    def _tried(self) -> list[int]:
        expected = torch.cat([self._compute(part) for part in torch.split(self._rows, CHUNK)])
        alike = (size for size in self._sizes if torch.equal(self._compute(self._rows[:size]), expected[:size]))
        return sorted({CHUNK, *alike})


def random_rows(*shape: int, like: Tensor) -> Tensor:
    """Rows to try, the same ones always."""
    return (torch.rand(shape, generator=torch.Generator().manual_seed(0)) - 0.5).to(like)


def filled(tensor: Tensor, *, dim: int, width: int = WIDTH) -> Tensor:
    """Fill a dimension with zeros to a multiple of ``width``: units that are zero stay zero and add nothing."""
    missing = -tensor.shape[dim] % width
    zeros = tensor.new_zeros(
        [missing if place == dim % tensor.dim() else size for place, size in enumerate(tensor.shape)]
    )
    return torch.cat([tensor, zeros], dim=dim).contiguous()
