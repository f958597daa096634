"""The fast arithmetic computes what the modules compute, and a latent depends on its record alone, to the last bit."""

import random
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from adept.models.network import decoding as decoding_module
from adept.models.network import inference
from adept.models.network.autoencoder import Autoencoder, ModelConfig
from adept.models.network.batching import pad
from adept.models.network.decoding import DecodingConfig, _drawn
from adept.models.network.inference import READ, WRITTEN, Reader, Writer
from adept.models.network.rounding import CHUNK
from adept.models.tokenizer.tokenizer import END, FIRST_LABEL, PAD, START

V = 60
SIZES = {
    "default": ModelConfig(),
    "odd": ModelConfig(embedding_dim=13, hidden_dim=37, latent_dim=7, max_length=40),
    "short": ModelConfig(embedding_dim=12, hidden_dim=24, latent_dim=6, max_length=9),
    "published": ModelConfig(embedding_dim=300, hidden_dim=128, latent_dim=256),
}


def model_of(name: str, *, labels: int = 0, clip: str = "sphere") -> Autoencoder:
    torch.manual_seed(0)
    model = Autoencoder(SIZES[name], vocabulary_size=V, clip=clip, labels=labels).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # untrained weights hardly tell one record from another
    return model


def records(count: int, *, longest: int, seed: int = 0) -> list[list[int]]:
    """Rows of every length from 1 to ``longest``, closed by END."""
    rng = random.Random(seed)
    lengths = [1 + number % longest for number in range(count)]
    return [[rng.randrange(4, V) for _ in range(length - 1)] + [END] for length in lengths]


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", SIZES)
def test_a_latent_is_the_same_bit_for_bit_alone_and_anywhere_in_any_batch(name: str, threads: int) -> None:
    model = model_of(name)
    reader, rows = Reader(model), records(100, longest=min(14, model.config.max_length) + 1)[1:]
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
    reader, row = Reader(model_of("default")), [7, 8, 9, 10, 11, END]
    others = records(CHUNK - 1, longest=6, seed=3)
    latents = [reader([*others[:place], row, *others[place:]])[place] for place in range(0, CHUNK, threads**2)]
    assert all(torch.equal(latent, latents[0]) for latent in latents)


@pytest.mark.parametrize("name", SIZES)
def test_a_latent_is_the_same_in_chunks_of_all_sizes(name: str) -> None:
    reader, rows = Reader(model_of(name)), records(2 * READ[-1], longest=6, seed=4)[4::6]
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

    expected = Reader(model_of("default"))(rows := records(150, longest=10))
    monkeypatch.setattr(torch, "baddbmm", otherwise)
    reader = Reader(model_of("default"))
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
    assert torch.allclose(Reader(model)(rows), expected, atol=2e-5)


def test_the_longest_record_is_read() -> None:
    for name in SIZES:
        row = [FIRST_LABEL] * (SIZES[name].max_length + 1) + [END]
        assert Reader(model_of(name))([row, [END]]).isfinite().all()


def slowly_written(model: Autoencoder, latents: Tensor) -> Tensor:
    """Greedy decoding through the modules, one word at a time, ended rows and all: what ``Writer`` must write."""
    state = tuple(part[None] for part in model.initial_state(latents))
    words = torch.full((len(latents), 1), START)
    numbers = torch.arange(model.vocabulary_size)
    label = (numbers >= FIRST_LABEL) & (numbers < FIRST_LABEL + model.labels)
    ended, written = torch.zeros_like(words, dtype=torch.bool), []
    for position in range(model.config.max_length + (model.labels > 0)):
        inputs = torch.cat([model.embedding(words), model.scaled(latents)[:, None]], dim=2)
        outputs, state = model.decoder(inputs, state)
        allowed = label if model.labels and position == 0 else (numbers >= END) & ~label
        logits = model.to_words(outputs[:, 0]).masked_fill(~allowed, -torch.inf)
        words = logits.argmax(dim=1, keepdim=True).masked_fill(ended, PAD)
        written.append(words)
        ended = ended | (words == END)
        if ended.all():
            break
    return torch.cat(written, dim=1)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("labels", [0, 5])
def test_texts_written_greedily_are_those_of_the_modules(name: str, labels: int) -> None:
    model = model_of(name, labels=labels)
    with torch.no_grad():
        model.to_words.bias[END] += 2.0  # so that rows end at different places
        latents = torch.nn.functional.normalize(torch.randn(300, model.config.latent_dim))
        expected = slowly_written(model, latents)
    ends = (expected == END).sum()
    assert ends > 0
    assert torch.equal(Writer(model)(latents), expected)


def chaotic(logits: Tensor, decoding: DecodingConfig) -> Tensor:
    """Choose by the last bits of all logits: whatever is rounded otherwise is written otherwise."""
    bits = logits.masked_fill(logits.isinf(), 0.0).view(torch.int32).long()
    return (bits * torch.arange(1, bits.shape[1] + 1)).sum(dim=1) % (V - END) + END


@pytest.mark.parametrize("name", SIZES)
def test_a_text_is_the_same_wherever_its_latent_stands(
    name: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit of every logit: places in a shuffled file must not be told by how its texts were rounded."""
    monkeypatch.setattr(inference, "choose", chaotic)
    model = model_of(name)
    writer, latents = Writer(model), torch.nn.functional.normalize(torch.randn(300, model.config.latent_dim))
    width = model.config.max_length

    def texts(part: Tensor) -> Tensor:
        tokens = writer(part)
        return torch.nn.functional.pad(tokens, (0, width - tokens.shape[1]), value=PAD)

    expected = texts(latents)
    assert len(expected.unique(dim=0)) > 250
    for seed, size in enumerate((1, 5, 33, 70, 256) if threads == 1 else (33,)):  # two threads wait for one another
        order = torch.randperm(300, generator=torch.Generator().manual_seed(seed))[: 20 * size if threads == 1 else 40]
        found = torch.cat([texts(part) for part in torch.split(latents[order], size)])
        assert torch.equal(found, expected[order]), size


def test_numbers_of_rows_that_the_machine_rounds_otherwise_are_not_written_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    product = torch.addmm

    def otherwise(bias: Tensor, left: Tensor, right: Tensor) -> Tensor:
        if len(left) in {4, 64, 128, 256}:
            return product(bias, left.flip(1).contiguous(), right.flip(0).contiguous())
        return product(bias, left, right)

    monkeypatch.setattr(inference, "choose", chaotic)
    model, latents = model_of("default"), torch.nn.functional.normalize(torch.randn(200, 32))
    as_it_is = Writer(model)
    expected, alike = as_it_is(latents), {as_it_is._size(count) for count in WRITTEN}
    monkeypatch.setattr(torch, "addmm", otherwise)
    writer = Writer(model)
    assert torch.equal(writer(latents), expected)
    assert {writer._size(count) for count in WRITTEN} == alike - {4, 64, 128, 256}


def test_a_row_is_written_the_same_after_others_have_left_the_batch() -> None:
    model = model_of("default")
    with torch.no_grad():
        model.to_words.bias[END] += 2.0
    latents = torch.nn.functional.normalize(torch.randn(64, 32))
    together = Writer(model)(latents)
    for place in (0, 31, 63):
        alone = Writer(model)(latents[place : place + 1])[0].tolist()
        assert together[place].tolist()[: len(alone)] == alone


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1 - 2**-24])
def test_inversion_never_draws_a_word_without_probability(monkeypatch: pytest.MonkeyPatch, uniform: float) -> None:
    weights = torch.rand(500, 11, generator=torch.Generator().manual_seed(1)) + 0.01
    weights[:, [0, 1, 5, 9, 10]] = 0.0
    weights[:3] = torch.tensor([[0.0] * 4 + [1.0] + [0.0] * 6])
    monkeypatch.setattr(
        decoding_module, "fresh_uniform", lambda count: torch.full((count,), uniform, dtype=torch.float64)
    )
    drawn = _drawn(weights)
    assert bool((weights.gather(1, drawn[:, None]) > 0).all())
    if uniform == 0:
        assert drawn.tolist()[3:] == [2] * 497


def test_sampled_texts_end_and_hold_no_special_token() -> None:
    model = model_of("default", labels=3)
    latents = torch.nn.functional.normalize(torch.randn(200, 32))
    for decoding in (DecodingConfig(strategy="sample"), DecodingConfig(strategy="sample", top_p=0.5, temperature=2.0)):
        for row in Writer(model)(latents, decoding).tolist():
            words = row[: row.index(END)] if END in row else row
            assert FIRST_LABEL <= words[0] < FIRST_LABEL + 3
            assert all(word >= FIRST_LABEL + 3 for word in words[1:])
            assert set(row[len(words) + 1 :]) <= {PAD}
