r"""Release of a public sentence near to the record, or of the number that stands for it.

A model lists public sentences. The *descriptions* of a record are the numbers of its t nearest
sentences. The release, its claim and its proof are those of ``adept.mechanisms.selection``. If the
output copies labels, the list may be the *cell* of the record's label: K public sentences that depend
on the label, the budget and public text alone (``adept.models.names``). Then the
claim holds for any two records with the same label. The first sentences of the list are in every cell,
so that a misleading name of a label cannot decide alone what is released.

The rules of ``adept.mechanisms.policy`` set K and t.

Checked proof: ``proofs/Symbols.v``, ``descriptions_are_private``, ``same_label_is_private``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adept.errors import ConfigurationError, printable
from adept.mechanisms import policy
from adept.mechanisms.base import LocalRandomizer
from adept.mechanisms.guarantee import ANY_TWO_RECORDS, TEXT, TEXT_BY_LABEL, Guarantee, Part, often, words
from adept.mechanisms.selection import MAX_SIZE, Selection
from adept.ranges import BUDGETS, check_between, check_integer


@dataclass(frozen=True, kw_only=True)
class Description(LocalRandomizer):
    """A pure eps-LDP release of the number of a public sentence, in exact arithmetic.

    Attributes:
        epsilon: the budget in nats, from 1e-3 to 600.
        size: the number K of sentences, at least 2; by default, it follows from the budget.
        top: the number t of descriptions that each record has, from 1 to K - 1; by default 1.
        by_label: if True, the sentences are those of the cell of the record's label, and the output
            copies this label.
    """

    size: int | None = None
    top: int | None = None
    by_label: bool = False
    name: ClassVar[str] = "description"
    clip: ClassVar[str] = "sphere"  # of the latents of the model beside the list of sentences
    serves: ClassVar[frozenset[str]] = frozenset({"l1", "l2", "sphere"})  # a list comes with any model
    randomises: ClassVar[str] = "description"

    def __post_init__(self) -> None:
        check_between(*BUDGETS, epsilon=self.epsilon)
        if self.by_label not in (False, True):
            raise ConfigurationError(f"by_label must be true or false, got {printable(self.by_label)}")
        if self.size is not None:
            check_integer(2, MAX_SIZE, size=self.size)
        if self.top is not None:
            check_integer(1, self.count - 1, top=self.top)

    @property
    def count(self) -> int:
        """The number K of sentences."""
        return self.size or (policy.cell_size if self.by_label else policy.best_size)(self.epsilon)

    @property
    def selection(self) -> Selection:
        """The draw of a sentence's number."""
        return Selection(epsilon=self.epsilon, size=self.count, heavy_count=self.top or 1)

    @property
    def odds(self) -> tuple[int, int]:
        """The integer weights (A, B) of a record's own description and of any other description."""
        return self.selection.odds

    @property
    def heavy(self) -> int:
        """The number t of descriptions that each record has, as an audit reads it."""
        return self.selection.heavy_count

    def certificate(self, dim: int | None = None) -> list[Part]:
        return self.selection.certificate(TEXT_BY_LABEL if self.by_label else TEXT)

    def selections(self, dim: int | None = None) -> tuple[Selection, ...]:
        return (self.selection,)

    def privatize(self, descriptions: Sequence[int | Sequence[int]]) -> list[int]:
        """Release one number for each record, given its description or its t descriptions."""
        numbers: list[int] = self.selection.draw(descriptions).tolist()
        return numbers

    def heavy_symbols(self, number: int) -> set[int]:
        """Return ``number`` and the t - 1 numbers after it (0 follows K - 1), for an audit's record."""
        return {(number + place) % self.count for place in range(self.heavy)}

    def guarantee(self, dim: int | None = None) -> Guarantee:
        """Return the guarantee of one release; ``dim`` is ignored."""
        own = "the record's own" if self.heavy == 1 else f"one of the record's own {self.heavy:,}"
        neighbours = f"{ANY_TWO_RECORDS}{' with the same label' * self.by_label}"
        return self.selection.guarantee(
            f"The released description is {words(self.epsilon)}-LDP (pure) for {neighbours}. It is a number below "
            f"{self.count:,}: in {often(self.selection.heavy_probability)} {own}, and otherwise one of the others.",
            neighbours=neighbours,
        )
