"""Adapting places topics, codewords and texts where public examples are, and keeps what the model could do."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import travel

from adept.data.corpus import Corpus
from adept.errors import DataError, ModelError
from adept.mechanisms import LearnedCodebook
from adept.mechanisms.policy import ADAPTED_CODEWORDS, REDUNDANT_COSINE
from adept.models.adapt import adapt, codebooks_about, codebooks_at, fine_tune
from adept.models.config import OptimiserConfig, TrainerConfig, TrainingData
from adept.models.decoding import pool_size
from adept.models.lstm_autoencoder import pad
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer, join_words
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

KINDS = ["turn the {} off", "please play some {}", "wake me at {}", "what is the price of {}"]
THINGS = ["lamp", "heating", "jazz", "folk", "six", "noon", "bread", "milk"]
EXAMPLES = [kind.format(thing) for kind in KINDS for thing in THINGS]
Loaded = tuple[Autoencoder, Tokenizer]


@pytest.fixture(scope="module")
def public(topic_run: Path) -> Loaded:
    return load_model(topic_run)


@pytest.fixture(scope="module")
def adapted(public: Loaded) -> Loaded:
    return adapt(*public, EXAMPLES, source="examples.txt")


def test_records_are_answered_with_the_examples_they_resemble(adapted: Loaded) -> None:
    """At eps = 40 another codeword than one's own comes with probability below 1e-15."""
    rewriter = Rewriter(*adapted, mechanism=LearnedCodebook(epsilon=40.0))
    assert rewriter.decoding.strategy == "nearest"
    first, second, *several = [
        *rewriter.rewrite(["the heating must be turned off", "PLEASE some jazz now"]),
        *rewriter.rewrite(["wake me at noon"], samples=3),
    ]
    assert {first, second, *several} <= set(EXAMPLES)
    assert first.startswith("turn the")
    assert second.startswith("please play some")
    assert len(set(several)) == 3


def test_a_release_has_as_many_texts_as_a_codeword_however_many_are_asked_for(adapted: Loaded) -> None:
    mechanism = LearnedCodebook(epsilon=40.0)
    rewriter = Rewriter(*adapted, mechanism=mechanism)
    most = pool_size(rewriter.mechanism.count)  # type: ignore[union-attr]
    texts = rewriter.rewrite(["wake me at noon"], samples=2 * most)
    assert len(set(texts)) == most
    assert texts[:most] == texts[most:]


def test_codewords_and_utterances_begin_with_the_examples(adapted: Loaded) -> None:
    """But for a few of them, which nothing was learned from."""
    model, _ = adapted
    assert model.sentences is not None
    held_out = {join_words(words) for words in model.sentences.held_out}
    count = len(EXAMPLES) - len(held_out)
    assert len(held_out) == 2
    assert torch.equal(model.codebooks[count], model.codebooks[max(model.codebooks)][:count])
    assert {join_words(words) for words in model.sentences.utterances[:count]} == set(EXAMPLES) - held_out


def test_few_examples_share_their_codewords_with_texts_near_to_them_and_with_others() -> None:
    """Half of what the examples leave is near to them, half is not, and every smaller codebook is a part of the larger ones."""
    generator = torch.Generator().manual_seed(0)
    given = torch.nn.functional.normalize(torch.randn(1000, 400, generator=generator), dim=1)
    near = given.repeat(9, 1) + 0.06 * torch.randn(9000, 400, generator=generator)
    far = torch.nn.functional.normalize(torch.randn(9000, 400, generator=generator), dim=1)
    books = codebooks_about(given, near, far, seed=0)
    assert sorted(books) == [1 << power for power in range(5, 14)]
    largest, places = books[8192], torch.arange(8192)
    likeness = (largest @ given.T).max(dim=1).values
    assert int((likeness > 0.9999).sum()) == 1000
    assert int((likeness < 0.4).sum()) == (8192 - 1000) // 2
    assert torch.equal(books[1024], largest[:1024])
    assert 80 < int((likeness[places < 1024] > 0.9999).sum()) < 170  # an eighth, by chance


def test_behind_the_examples_stand_public_texts_near_to_them_and_unlike_each_other() -> None:
    """Of a text and its double one is taken, and those that are farther away come later, until the codebook is full."""
    generator = torch.Generator().manual_seed(0)
    examples = torch.eye(16)[:9]
    near = torch.nn.functional.normalize(examples[:4] + 0.5 * torch.eye(16)[9:13], dim=1)
    far = torch.nn.functional.normalize(torch.randn(3000, 16, generator=generator), dim=1)
    books = codebooks_at(examples, torch.cat([far, 2 * near, near]), most=ADAPTED_CODEWORDS[0], seed=0)
    assert torch.equal(books[9], torch.unique(examples, dim=0))
    largest = books[max(books)]
    assert 9 + 4 < len(largest) <= ADAPTED_CODEWORDS[0]
    assert torch.equal(largest[:9], books[9])
    assert (largest[9:] @ near.T > 0.999).sum(dim=0).tolist() == [1] * 4
    alike = largest[9:] @ largest[9:].T - torch.eye(len(largest) - 9)
    assert float(alike.max()) < REDUNDANT_COSINE + 1e-6
    nearness = (largest[9:] @ examples.T).max(dim=1).values
    assert torch.equal(nearness, nearness.sort(descending=True).values)


@torch.no_grad()
def test_the_decoder_reads_the_new_topics_as_it_read_the_old_ones(public: Loaded, adapted: Loaded) -> None:
    """On the model's own text; without the map its weights would read them as noise."""
    texts = travel.texts(100, start=1000)
    tokens = pad(public[1].encode(texts, max_length=40))
    latents = [model.encode(tokens) for model, _ in (public, adapted)]
    written = zip((public[0], adapted[0], adapted[0]), (*latents, latents[1].flip(0)), strict=True)
    *logits, stranger = (model(latent, tokens)[..., : public[0].vocabulary_size] for model, latent in written)
    near, far = ((logits[0] - other).square().mean().item() for other in (logits[1], stranger))
    assert near < 0.5 * far, (near, far)


def test_the_result_is_as_public_as_the_model_and_says_where_examples_come_from(
    public: Loaded, adapted: Loaded
) -> None:
    data = adapted[0].training_data
    assert data == TrainingData("air_travel, adapted to 32 examples of examples.txt", True, 232, 32)
    model, tokenizer = public
    closed = Autoencoder(model.config, vocabulary_size=model.vocabulary_size, clip=model.clip)
    closed.training_data, closed.sentences = replace(data, public=False), model.sentences
    with pytest.raises(ModelError, match="model of public text"):
        adapt(closed, tokenizer, EXAMPLES, source="examples.txt")


def test_few_or_equal_examples_are_refused(public: Loaded) -> None:
    with pytest.raises(DataError, match="at least 8 different texts, got 2"):
        adapt(*public, ["a lamp", "a radio"] * 20 + ["", " "], source="examples.txt")


def test_a_model_without_topics_cannot_be_adapted(tiny_run: Path) -> None:
    with pytest.raises(ModelError, match="with topics"):
        adapt(*load_model(tiny_run), EXAMPLES, source="examples.txt")


def test_no_text_that_is_held_out_is_trained_on(
    adapted: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An estimate calls these texts public ones that the model has not seen."""
    read: list[str] = []

    def fit(model: object, tokenizer: object, texts: Corpus, watched: Corpus, *given: object, **more: object) -> None:
        read.extend([*texts.texts, *watched.texts])

    monkeypatch.setattr("adept.models.training.fit", fit)
    one = TrainerConfig(max_epochs=1)
    fine_tune(*adapted, Corpus(EXAMPLES), optimiser=OptimiserConfig(), trainer=one, output_dir=tmp_path)
    held_out = {join_words(words) for words in adapted[0].sentences.held_out}
    assert held_out
    assert not held_out & set(read)
    assert set(EXAMPLES) - held_out <= set(read)


def test_an_adapted_model_is_saved_and_can_be_trained_on(adapted: Loaded, tmp_path: Path) -> None:
    model, tokenizer = adapted
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    again = load_model(tmp_path / "model")
    before = again[0].to_words.weight.clone()
    rows = tokenizer.encode(EXAMPLES, max_length=40)
    assert torch.equal(again[0].encode(pad(rows)), model.encode(pad(rows)))
    one = TrainerConfig(max_epochs=1)
    fine_tune(*again, Corpus(EXAMPLES), optimiser=OptimiserConfig(), trainer=one, output_dir=tmp_path)
    assert torch.equal(again[0].encode(pad(rows)), model.encode(pad(rows)))
    assert not torch.equal(again[0].to_words.weight, before)
