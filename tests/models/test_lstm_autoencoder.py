"""ADePT's network: what is released depends on its own record alone, to the last bit, and is what the modules compute."""

import random
import textwrap
from pathlib import Path

import pytest
import torch
from odd_models import SIZES, V, model_of, records
from torch import Tensor, nn

from adept.mechanisms import L1Laplace
from adept.models import decoding as decoding_module
from adept.models.config import DecodingConfig
from adept.models.decoding import decode
from adept.models.lstm_autoencoder import ROWS, Adept, multiply, noise_between, pad, step
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import END, FIRST_LABEL, PAD, START, UNKNOWN


@pytest.mark.parametrize("name", SIZES)
def test_a_latent_is_the_same_bit_for_bit_alone_and_anywhere_in_any_batch(name: str, threads: int) -> None:
    model = model_of(name)
    rows = records(100, longest=min(14, model.config.max_length) + 1)[1:]
    rows += records(model.config.max_length + 1, longest=model.config.max_length + 1)[15:]
    rows = rows[:: 1 if threads == 1 else 8]  # threads that wait for one another are slow on a busy machine
    alone = torch.cat([model.encode_records([row]) for row in rows[::3]])
    assert len(alone.unique(dim=0)) > 0.8 * len(alone), "the records are told apart"
    for seed, size in enumerate((len(rows), 33)):
        order = random.Random(seed).sample(range(len(rows)), len(rows))
        parts = [order[i : i + size] for i in range(0, len(order), size)]
        together = torch.cat([model.encode_records([rows[i] for i in part]) for part in parts])
        assert torch.equal(together[torch.tensor(order).argsort()][::3], alone)


def test_a_latent_is_the_same_bit_for_bit_at_each_place_of_a_chunk(threads: int) -> None:
    model, row = model_of("default"), [7, 8, 9, 10, 11, END]
    others = records(ROWS - 1, longest=6, seed=3)
    latents = [
        model.encode_records([*others[:place], row, *others[place:]])[place] for place in range(0, ROWS, 3 * threads**2)
    ]
    assert all(torch.equal(latent, latents[0]) for latent in latents)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("clip", ["l1", "l2", "sphere"])
def test_latents_are_those_of_the_modules(name: str, clip: str) -> None:
    model = model_of(name, clip=clip)
    rows = records(90, longest=model.config.max_length + 1)
    with torch.no_grad():
        expected = model.encode(pad(rows, length=model.config.max_length + 2))
    assert torch.allclose(model.encode_records(rows), expected, atol=2e-5)


def test_the_longest_record_is_read() -> None:
    for name in SIZES:
        row = [FIRST_LABEL] * (SIZES[name].max_length + 1) + [END]
        assert model_of(name).encode_records([row, [END]]).isfinite().all()


@pytest.mark.parametrize("mkldnn", [True, False])
@pytest.mark.parametrize("name", SIZES)
def test_a_step_rounds_a_row_the_same_at_each_place_beside_any_others(
    name: str, mkldnn: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one step of the claim that is not proved: all products of a release, with their rows in any order."""
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", mkldnn)
    model, count = model_of(name), 4 * ROWS
    units, dim = model.config.hidden_dim, model.config.latent_dim
    words, latents = torch.arange(count) % V, torch.randn(count, dim)
    state = torch.randn(count, units), torch.randn(count, units)

    def moved(places: Tensor) -> Tensor:
        some = state[0][places], state[1][places]
        layers = [part.repeat(1, model.config.num_layers) for part in some]
        logits, (hidden, cell) = model.next_word(words[places], latents[places], (layers[0], layers[1]))
        read = [step(model.encoder, model.embedding(words[places]), some, suffix=suffix) for suffix in model.suffixes]
        ends = multiply(model.to_latent, torch.cat([hidden for hidden, _ in read], dim=1))
        states = [part for state in read for part in state]
        return torch.cat([logits, hidden, cell, ends, *states, *model.initial_state(latents[places])], dim=1)

    with torch.inference_mode():
        expected = torch.cat([moved(places) for places in torch.arange(count).split(ROWS)])
        for seed in range(6 if threads == 1 else 2):
            order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
            found = torch.cat([moved(places) for places in order.split(ROWS)])
            assert torch.equal(found[order.argsort()], expected)


def test_a_latent_does_not_depend_on_the_longest_text_of_its_batch() -> None:
    model, short, longest = model_of("default"), [7, 8, END], [9] * 41 + [END]
    alone = model.encode_records([short])
    assert torch.equal(model.encode_records([short, longest])[:1], alone)
    assert torch.equal(model.encode_records([longest, [END], short])[2:], alone)


def test_the_core_learns_to_write_what_it_reads_and_needs_no_other_file() -> None:
    torch.manual_seed(0)
    model = Adept(vocabulary_size=12, embedding_dim=8, hidden_dim=24, latent_dim=4, dropout=0.0, word_dropout=0.0)
    records = [[4 + number, 4 + (number + step) % 8, END] for number in range(8) for step in (1, 3)]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        model.loss(pad(records)).backward()
        optimizer.step()
    model.eval()
    written = model.write(model.encode_records(records), max_length=5)
    assert (written[:, :3] == pad(records)).all(dim=1).float().mean() > 0.8
    assert model.encode_records(records).abs().sum(dim=1).max() <= 1 + 1e-6


def test_greedy_decoding_writes_neither_padding_nor_start_nor_an_unknown_word() -> None:
    model = model_of("default")
    with torch.no_grad():
        model.to_words.bias[[PAD, UNKNOWN, START]] += 100.0
        model.to_words.bias[END] -= 100.0
    for row in model.write(torch.randn(70, 32), max_length=9).tolist():
        assert len(row) == 9
        assert min(row) > END


def test_noise_of_training_is_that_of_the_mechanism_at_budgets_between_two() -> None:
    # 20,000 absolute values of Laplace noise of scale 2 / epsilon have a mean within 6 standard errors of it.
    randomise = noise_between(lambda epsilon: L1Laplace(epsilon=epsilon), 4.0, 4.0)
    noise = randomise(torch.zeros(20_000, 1)).abs()
    assert abs(float(noise.mean()) - 0.5) < 6 * 0.5 / 20_000**0.5


@pytest.mark.parametrize("name", SIZES)
def test_training_reads_what_a_bidirectional_module_reads_from_packed_records(name: str) -> None:
    model, rows = model_of(name), records(30, longest=9)
    packed = nn.utils.rnn.pack_sequence([model.embedding(torch.tensor(row)) for row in rows], enforce_sorted=False)
    with torch.no_grad():
        _, (hidden, _) = model.encoder(packed)
        expected = model.to_latent(torch.cat([*hidden[-len(model.suffixes) :]], dim=1))  # of the last layer
        assert torch.allclose(model.read(pad(rows)), expected, atol=1e-5)


def test_bfloat16_is_for_training_alone_and_near_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    model, tokens = model_of("default"), pad(records(30, longest=9))
    model.dropout.p = model.word_dropout = 0.0
    with torch.no_grad():
        exact, again = model.read(tokens), model.read(tokens)
        rough = model.train().read(tokens)
    assert torch.equal(exact, again)
    multiplies = torch.ops.mkldnn._is_mkldnn_bf16_supported()  # on other CPUs, LSTMs in bfloat16 fail
    assert torch.equal(rough, exact) != multiplies
    assert (rough - exact).abs().max() < 0.05 * exact.abs().max()
    model.loss(tokens).backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())


def slowly_written(model: Autoencoder, latents: Tensor) -> Tensor:
    """Decode greedily through the modules, one word at a time, also rows that have ended; ``write`` must agree."""
    layers = model.config.num_layers
    state = tuple(torch.stack(part.chunk(layers, dim=1)) for part in model.initial_state(latents))
    words = torch.full((len(latents), 1), START)
    numbers = torch.arange(model.vocabulary_size)
    label = (numbers >= FIRST_LABEL) & (numbers < FIRST_LABEL + model.labels)
    ended, written = torch.zeros_like(words, dtype=torch.bool), []
    for position in range(model.config.max_length + (model.labels > 0)):
        inputs = torch.cat([model.embedding(words), model.scale(latents)[:, None]], dim=2)
        outputs, state = model.decoder(inputs, state)
        allowed = label if model.labels and position == 0 else (numbers >= END) & ~label
        logits = model.score(outputs[:, 0], torch.nn.functional.linear).masked_fill(~allowed, -torch.inf)
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
        (model.word_bias if model.tied else model.to_words.bias)[END] += 2.0  # so that rows end at different places
        latents = torch.nn.functional.normalize(torch.randn(300, model.config.latent_dim))
        expected = slowly_written(model, latents)
    ends = (expected == END).sum()
    assert ends > 0
    assert torch.equal(decode(model, latents), expected)


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
    latents = torch.nn.functional.normalize(torch.randn(300, model.config.latent_dim))
    width = model.config.max_length

    def texts(part: Tensor) -> Tensor:
        tokens = decode(model, part)
        return torch.nn.functional.pad(tokens, (0, width - tokens.shape[1]), value=PAD)

    expected = texts(latents)
    assert len(expected.unique(dim=0)) > 250
    for seed, size in enumerate((1, 5, 33, 70, 256) if threads == 1 else (33,)):  # two threads wait for one another
        order = torch.randperm(300, generator=torch.Generator().manual_seed(seed))[: 20 * size if threads == 1 else 40]
        found = torch.cat([texts(part) for part in torch.split(latents[order], size)])
        assert torch.equal(found, expected[order]), size


def test_a_row_is_written_the_same_after_others_have_left_the_batch() -> None:
    model = model_of("default")
    with torch.no_grad():
        model.to_words.bias[END] += 2.0
    latents = torch.nn.functional.normalize(torch.randn(64, 32))
    together = decode(model, latents)
    for place in (0, 31, 63):
        alone = decode(model, latents[place : place + 1])[0].tolist()
        assert together[place].tolist()[: len(alone)] == alone


def test_sampled_texts_end_and_hold_no_special_token() -> None:
    model = model_of("default", labels=3)
    latents = torch.nn.functional.normalize(torch.randn(200, 32))
    for decoding in (DecodingConfig(strategy="sample"), DecodingConfig(strategy="sample", top_p=0.5, temperature=2.0)):
        for row in decode(model, latents, decoding).tolist():
            words = row[: row.index(END)] if END in row else row
            assert FIRST_LABEL <= words[0] < FIRST_LABEL + 3
            assert all(word >= FIRST_LABEL + 3 for word in words[1:])
            assert set(row[len(words) + 1 :]) <= {PAD}


def test_the_excerpt_in_the_docs_is_the_source() -> None:
    root = Path(__file__).parents[2]
    page, source = (root / name for name in ("docs/mechanisms.md", "adept/models/lstm_autoencoder.py"))
    excerpt = page.read_text("utf-8").split("## The core")[1].split("```py\n")[1].split("```")[0]
    assert "def loss" in excerpt
    assert len(excerpt.splitlines()) <= 40
    # A formatter sets two empty lines between functions that stand alone.
    assert textwrap.indent(excerpt.replace("\n\n\n", "\n\n"), "    ") in source.read_text("utf-8")


def test_inside_a_callers_autocast_each_call_uses_the_weights_as_they_are() -> None:
    """PyTorch would keep copies in bfloat16 of weights that training changes, up to the end of the outermost autocast."""
    model = Adept(vocabulary_size=30, latent_dim=8, clip="l2", clip_norm=1.0)
    latents, tokens = torch.randn(2, 8), torch.randint(4, 30, (2, 5))
    with torch.autocast("cpu", torch.bfloat16):
        before = model.eval()(latents, tokens)
        with torch.no_grad():
            for weights in model.parameters():
                weights *= 3
        after = model(latents, tokens)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(after, model(latents, tokens))
    assert not torch.equal(after, before)
