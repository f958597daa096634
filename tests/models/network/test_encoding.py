"""Encoders compute what the modules compute, and a latent depends on its record alone, to the last bit."""

import random

import pytest
import torch
from odd_models import SIZES, model_of, records
from torch import Tensor

from adept.models.network.batching import pad
from adept.models.network.encoding import READ, RecurrentEncoder
from adept.models.network.rounding import CHUNK
from adept.models.tokenizer.tokenizer import END, FIRST_LABEL


@pytest.mark.parametrize("name", SIZES)
def test_a_latent_is_the_same_bit_for_bit_alone_and_anywhere_in_any_batch(name: str, threads: int) -> None:
    model = model_of(name)
    reader, rows = RecurrentEncoder(model), records(100, longest=min(14, model.config.max_length) + 1)[1:]
    rows += records(model.config.max_length + 1, longest=model.config.max_length + 1)[15:]
    rows = rows[:: 1 if threads == 1 else 4]  # threads that wait for one another are slow on a busy machine
    alone = torch.cat([reader([row]) for row in rows[::3]])
    assert len(alone.unique(dim=0)) > 0.8 * len(alone), "the records are told apart"
    for seed, size in enumerate((len(rows), 33)):
        order = random.Random(seed).sample(range(len(rows)), len(rows))
        parts = [order[i : i + size] for i in range(0, len(order), size)]
        together = torch.cat([reader([rows[i] for i in part]) for part in parts])
        assert torch.equal(together[torch.tensor(order).argsort()][::3], alone)


def test_a_latent_is_the_same_bit_for_bit_at_each_place_of_a_chunk(threads: int) -> None:
    reader, row = RecurrentEncoder(model_of("default")), [7, 8, 9, 10, 11, END]
    others = records(CHUNK - 1, longest=6, seed=3)
    latents = [reader([*others[:place], row, *others[place:]])[place] for place in range(0, CHUNK, threads**2)]
    assert all(torch.equal(latent, latents[0]) for latent in latents)


@pytest.mark.parametrize("name", SIZES)
def test_a_latent_is_the_same_in_chunks_of_all_sizes(name: str) -> None:
    reader, rows = RecurrentEncoder(model_of(name)), records(2 * READ[-1], longest=6, seed=4)[4::6]
    expected = reader(rows * 4)[: len(rows)]
    for count in range(1, len(rows) + 1, 3):
        assert torch.equal(reader(rows[:count]), expected[:count])


@pytest.mark.parametrize("other", [frozenset(READ) - {CHUNK}, frozenset({4, 24, 40, 60})])
def test_rows_that_the_machine_rounds_otherwise_are_not_used(
    monkeypatch: pytest.MonkeyPatch, other: frozenset[int]
) -> None:
    """A product whose terms are added in another order, for some numbers of rows, is found out by the trial."""
    product, used = torch.baddbmm, []

    def otherwise(added: Tensor, left: Tensor, right: Tensor, *, out: Tensor) -> Tensor:
        used.append(left.shape[1])
        if left.shape[1] in other:
            return product(added, left.flip(2).contiguous(), right.flip(1).contiguous(), out=out)
        return product(added, left, right, out=out)

    expected = RecurrentEncoder(model_of("default"))(rows := records(150, longest=10))
    monkeypatch.setattr(torch, "baddbmm", otherwise)
    reader = RecurrentEncoder(model_of("default"))
    reader(rows)
    assert other & set(used), "some are tried"
    used.clear()
    assert torch.equal(reader(rows), expected)
    assert torch.equal(torch.cat([reader([row]) for row in rows[40:80:7]]), expected[40:80:7])
    assert not other & set(used)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
def test_latents_are_those_of_the_modules(name: str, clip: str) -> None:
    model = model_of(name, clip=clip)
    rows = records(90, longest=model.config.max_length + 1)
    with torch.no_grad():
        expected = model.encode(pad(rows, length=model.config.max_length + 2))
    assert torch.allclose(RecurrentEncoder(model)(rows), expected, atol=2e-5)


def test_the_longest_record_is_read() -> None:
    for name in SIZES:
        row = [FIRST_LABEL] * (SIZES[name].max_length + 1) + [END]
        assert RecurrentEncoder(model_of(name))([row, [END]]).isfinite().all()
