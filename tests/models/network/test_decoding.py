"""The decoder writes what the modules write, and a text depends on its latent and its draws alone."""

import pytest
import torch
from odd_models import SIZES, V, model_of
from torch import Tensor

from adept.models.network import decoding as decoding_module
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.decoding import WRITTEN, Decoder, DecodingConfig, _drawn
from adept.models.tokenizer.tokenizer import END, FIRST_LABEL, PAD, START


def slowly_written(model: Autoencoder, latents: Tensor) -> Tensor:
    """Greedy decoding through the modules, one word at a time, ended rows and all: what ``Decoder`` must write."""
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
    assert torch.equal(Decoder(model)(latents), expected)


def chaotic(logits: Tensor, decoding: DecodingConfig) -> Tensor:
    """Choose by the last bits of all logits: whatever is rounded otherwise is written otherwise."""
    bits = logits.masked_fill(logits.isinf(), 0.0).view(torch.int32).long()
    return (bits * torch.arange(1, bits.shape[1] + 1)).sum(dim=1) % (V - END) + END


@pytest.mark.parametrize("name", SIZES)
def test_a_text_is_the_same_wherever_its_latent_stands(
    name: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit of every logit: places in a shuffled file must not be told by how its texts were rounded."""
    monkeypatch.setattr(decoding_module, "choose", chaotic)
    model = model_of(name)
    writer, latents = Decoder(model), torch.nn.functional.normalize(torch.randn(300, model.config.latent_dim))
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

    monkeypatch.setattr(decoding_module, "choose", chaotic)
    model, latents = model_of("default"), torch.nn.functional.normalize(torch.randn(200, 32))
    as_it_is = Decoder(model)
    expected, alike = as_it_is(latents), {as_it_is._size(count) for count in WRITTEN}
    monkeypatch.setattr(torch, "addmm", otherwise)
    writer = Decoder(model)
    assert torch.equal(writer(latents), expected)
    assert {writer._size(count) for count in WRITTEN} == alike - {4, 64, 128, 256}


def test_a_row_is_written_the_same_after_others_have_left_the_batch() -> None:
    model = model_of("default")
    with torch.no_grad():
        model.to_words.bias[END] += 2.0
    latents = torch.nn.functional.normalize(torch.randn(64, 32))
    together = Decoder(model)(latents)
    for place in (0, 31, 63):
        alone = Decoder(model)(latents[place : place + 1])[0].tolist()
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
        for row in Decoder(model)(latents, decoding).tolist():
            words = row[: row.index(END)] if END in row else row
            assert FIRST_LABEL <= words[0] < FIRST_LABEL + 3
            assert all(word >= FIRST_LABEL + 3 for word in words[1:])
            assert set(row[len(words) + 1 :]) <= {PAD}
