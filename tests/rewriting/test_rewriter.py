"""The record reaches the output through its released latent alone, and the statement says what that guarantees."""

import pickle
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from tiny import tiny_config

from adept.cli import train
from adept.data.texts import say_once
from adept.errors import ConfigurationError, DataError, ModelError
from adept.mechanisms import (
    Codebook,
    Description,
    Identity,
    JointResponse,
    L1Laplace,
    LearnedCodebook,
    Mechanism,
    Random,
    SqrtNLaplace,
)
from adept.mechanisms.base import MechanismChoice
from adept.models.config import DecodingConfig
from adept.models.decoding import decode, decode_best, likelihood
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter, best_exact, resolve_decoding

TEXTS = ["show me flights to boston", "", "what is the cheapest fare", "zebra 😀", "flights " * 10_000]
OTHERS = ["a completely different and much longer record that says nothing of the kind", "x", "", "fare", "y"]


@pytest.fixture
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))


def test_every_record_gets_one_rewrite_whatever_it_says(rewriter: Rewriter) -> None:
    texts = [*TEXTS, "\x00\x07 control", "word\u2028word", "[END] [PAD]"]
    rewrites = rewriter.rewrite(texts)
    assert len(rewrites) == len(texts)
    assert all("\n" not in text and "[UNK]" not in text for text in rewrites)


def test_replaying_a_frozen_release_gives_the_same_text_whatever_the_record_was(
    rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = rewriter.release(TEXTS)
    monkeypatch.setattr(SqrtNLaplace, "privatize", lambda self, latents: frozen)
    assert rewriter.rewrite(TEXTS) == rewriter.rewrite(OTHERS)


def test_a_decoder_that_peeks_at_the_length_would_be_caught(
    rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = rewriter.release(TEXTS)
    monkeypatch.setattr(SqrtNLaplace, "privatize", lambda self, latents: frozen)

    def leaky(texts: list[str]) -> list[str]:
        return [text[: len(raw)] for raw, text in zip(texts, rewriter.rewrite(texts), strict=True)]

    assert leaky(TEXTS) != leaky(OTHERS)


def test_a_latent_is_the_same_whatever_else_is_in_the_batch(rewriter: Rewriter) -> None:
    together = rewriter.encode(["fare to boston", *OTHERS[1:]])
    assert torch.equal(together[0], rewriter.encode(["fare to boston", *TEXTS[1:]])[0])


def test_two_releases_differ_whatever_the_seed(rewriter: Rewriter) -> None:
    # 40 coordinates with a noise scale of millions of grid steps: they coincide with probability below 1e-200.
    def release() -> torch.Tensor:
        torch.manual_seed(7)
        np.random.seed(7)
        random.seed(7)
        return rewriter.release(TEXTS)

    assert not torch.equal(release(), release())


def test_sampling_is_not_seeded_by_accident(tiny_run: Path) -> None:
    sampler = Rewriter.from_pretrained(
        tiny_run,
        mechanism=Identity(),
        accept_broken_claim=True,
        decoding=DecodingConfig(strategy="sample", temperature=3.0),
    )
    torch.manual_seed(7)
    first = sampler.rewrite(TEXTS * 4)
    torch.manual_seed(7)
    assert sampler.rewrite(TEXTS * 4) != first


def test_samples_of_a_record_are_consecutive_and_come_from_one_release(tiny_run: Path) -> None:
    greedy = Rewriter.from_pretrained(tiny_run, mechanism=Random(), batch_size=2)
    rewrites = greedy.rewrite(TEXTS, samples=3)
    assert len(rewrites) == 3 * len(TEXTS)
    assert all(len(set(rewrites[3 * i : 3 * i + 3])) == 1 for i in range(len(TEXTS)))


@pytest.mark.parametrize(
    "name", ["mechanism", "model", "tokenizer", "decoding", "alphabet", "joint", "choice", "epsilon", "samples"]
)
def test_no_part_of_a_rewriter_can_be_exchanged(name: str, tiny_run: Path) -> None:
    """Another mechanism would state its own epsilon, while the first one went on to draw."""
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=Random())
    with pytest.raises(ConfigurationError, match=f"{name} of a Rewriter cannot be changed: make a new one"):
        setattr(rewriter, name, None)
    rewriter.batch_size = 7
    assert pickle.loads(pickle.dumps(rewriter)).batch_size == deepcopy(rewriter).batch_size == 7


def test_a_class_derived_from_a_rewriter_may_hold_options_of_its_own(tiny_run: Path) -> None:
    class Own(Rewriter):
        samples = 1

    rewriter = Own.from_pretrained(tiny_run, mechanism=Random())
    rewriter.samples = 2
    assert rewriter.samples == 2
    with pytest.raises(ConfigurationError, match="mechanism of a Own cannot be changed"):
        rewriter.mechanism = Random()


def test_no_record_is_released_without_a_text(tiny_run: Path) -> None:
    greedy = Rewriter.from_pretrained(tiny_run, mechanism=Random())
    for samples in (0, -1, 1.5):
        with pytest.raises(ConfigurationError, match="samples must be an integer between 1 and"):
            greedy.rewrite(TEXTS, samples=samples)  # type: ignore[arg-type]


def test_random_knows_nothing_of_the_record_and_identity_everything(tiny_run: Path) -> None:
    identity = Rewriter.from_pretrained(tiny_run, mechanism=Identity(), accept_broken_claim=True)
    assert identity.rewrite(TEXTS) == identity.rewrite(TEXTS)
    chance = Rewriter.from_pretrained(tiny_run, mechanism=Random())
    latents = chance.release(["fare"] * 500)
    assert latents.norm(dim=1).allclose(torch.ones(500))
    assert latents.mean(dim=0).abs().max() < 0.25  # 8 coordinates of variance 1/8: beyond 15 standard errors
    assert chance.guarantee.epsilon == 0


def test_the_guarantee_is_that_of_the_mechanism_at_the_models_dimension(rewriter: Rewriter) -> None:
    assert rewriter.guarantee == SqrtNLaplace(epsilon=8.0).guarantee(8)


def test_a_model_serves_only_mechanisms_of_its_clip_and_radius(tiny_run: Path, tiny_l1_run: Path) -> None:
    with pytest.raises(ModelError, match="trained for clip l2"):
        Rewriter.from_pretrained(tiny_run, mechanism=L1Laplace(epsilon=8.0))
    with pytest.raises(ModelError, match="trained for clip l1"):
        Rewriter.from_pretrained(tiny_l1_run, mechanism=SqrtNLaplace(epsilon=8.0))
    with pytest.raises(ConfigurationError, match=r"clip_norm must be 1\.0"):
        Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0, clip_norm=2.0))
    Rewriter.from_pretrained(tiny_l1_run, mechanism=Identity(), accept_broken_claim=True)


def test_a_tokenizer_that_is_not_the_models_is_refused(tiny_run: Path, tmp_path: Path) -> None:
    from adept.models.tokenizer import Tokenizer

    for file in (tiny_run / "model").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    Tokenizer.train(["another text", "another text"]).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="does not fit"):
        load_model(tmp_path)


def test_words_of_the_rewritten_file_never_enter_the_output(rewriter: Rewriter) -> None:
    texts = ["xylophone quagga", "xylophone xylophone"] * 50
    assert not {"xylophone", "quagga"} & set(" ".join(rewriter.rewrite(texts)).split())
    assert "xylophone" not in rewriter.tokenizer.vocabulary


def test_a_bare_string_is_refused_and_not_taken_for_many_records(rewriter: Rewriter) -> None:
    for method in (rewriter.rewrite, rewriter.encode, rewriter.release):
        with pytest.raises(DataError, match="list of strings"):
            method("show me flights")


def test_all_texts_and_labels_are_checked_before_the_first_release(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = JointResponse(mechanism=LearnedCodebook(epsilon=8.0), labels=("fare", "meal"))
    for mechanism in (SqrtNLaplace(epsilon=8.0), pairs):
        rewriter = Rewriter.from_pretrained(tiny_run, mechanism=mechanism, batch_size=2)
        monkeypatch.setattr(rewriter, "draw", lambda *_: pytest.fail("released"))
        for value in (None, float("nan"), 3, b"fare"):
            with pytest.raises(DataError, match="at position 5:"):
                rewriter.rewrite_pairs([*TEXTS[:2] * 2, value], ["fare"] * 5)
    for label in (None, "other", b"fare"):
        with pytest.raises(ConfigurationError, match="in record 5"):
            rewriter.rewrite_pairs(["a fare"] * 5, ["fare"] * 4 + [label])
    for labels in ("fare", ["fare"], {"fare"}):
        with pytest.raises(DataError, match="labels must be"):
            rewriter.rewrite_pairs(["a fare"] * 5, labels)


def test_labels_may_be_a_column_of_any_library(tiny_run: Path) -> None:
    pairs = JointResponse(mechanism=LearnedCodebook(epsilon=8.0), labels=("1", "2"))
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=pairs)
    texts = pd.Series(["a fare", "a meal"], index=[3, 3])
    for labels in (
        pd.Series([1, 2]),
        pd.Series(["1", "2"], dtype="category"),
        np.array([1, 2]),
        pd.DataFrame({"a": ["1", "2"]}),
    ):
        assert {label for _, label in rewriter.rewrite_pairs(texts, labels)} <= {"1", "2"}


def test_a_latent_is_bit_for_bit_the_same_alone_and_among_others(rewriter: Rewriter) -> None:
    texts = ["flights to boston", "", "cheap fare please", "b " * 500, "what does ap mean"] * 10
    together = rewriter.encode(texts)
    for place in range(5):
        alone = rewriter.encode([texts[place]])[0]
        assert all(torch.equal(latent, alone) for latent in together[place::5])


def test_records_with_the_same_codeword_share_one_pool_of_texts(tiny_run: Path) -> None:
    decoding = DecodingConfig(pool=6, temperature=2.0)
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=LearnedCodebook(epsilon=2.0, size=32), decoding=decoding)
    released = rewriter.release(["fare to boston"] * 300)
    texts = [text for text, _ in rewriter.write(released, samples=6)]
    pools: dict[bytes, list[str]] = {}
    for i, row in enumerate(released):
        pool = pools.setdefault(row.numpy().tobytes(), sorted(texts[6 * i : 6 * i + 6]))
        assert sorted(texts[6 * i : 6 * i + 6]) == pool
    assert 1 < len(pools) <= 32
    assert len(rewriter.write(released[:1], samples=20)) == 20


def test_a_pool_depends_on_its_codeword_alone_and_is_drawn_from_at_random(tiny_run: Path) -> None:
    rewriter = Rewriter.from_pretrained(
        tiny_run, mechanism=LearnedCodebook(epsilon=4.0), decoding=DecodingConfig(pool=50)
    )
    codeword = rewriter.release(["fare"])
    drawn = [text for text, _ in rewriter.write(codeword.expand(200, -1))]
    # 200 draws out of 50 texts miss most of the pool with negligible probability, and never leave it.
    (pool,) = rewriter.alphabet.latents.pools.texts.values()
    assert set(drawn) == {text for text, _ in pool.values()}
    assert 25 < len(pool) <= 50


@pytest.mark.parametrize(
    ("mechanism", "decoding", "strategy", "pool"),
    [
        (LearnedCodebook(epsilon=4.0), DecodingConfig(), "sample", 40),
        (LearnedCodebook(epsilon=4.0), DecodingConfig(strategy="greedy"), "greedy", 0),
        (LearnedCodebook(epsilon=4.0), DecodingConfig(pool=0), "sample", 0),
        (SqrtNLaplace(epsilon=4.0), DecodingConfig(), "greedy", 0),
        (SqrtNLaplace(epsilon=4.0), DecodingConfig(strategy="sample"), "sample", 0),
    ],
)
def test_texts_are_pooled_only_where_releases_repeat(
    tiny_run: Path, mechanism: Mechanism, decoding: DecodingConfig, strategy: str, pool: int
) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=mechanism, decoding=decoding)
    assert (rewriter.decoding.strategy, rewriter.decoding.pool) == (strategy, pool)


@pytest.mark.parametrize(
    ("mechanism", "decoding", "said"),
    [
        (SqrtNLaplace(epsilon=4.0), DecodingConfig(top_k=3), "decoding.top_k has no effect for sqrt_n with decoding.strat"),
        (SqrtNLaplace(epsilon=4.0), DecodingConfig(strategy="sample", top_k=3), None),
        (SqrtNLaplace(epsilon=4.0), DecodingConfig(strategy="sample", pool=3), "decoding.pool has no effect for sqrt_n"),
        (LearnedCodebook(epsilon=4.0), DecodingConfig(temperature=2.0, pool=3), None),
        (LearnedCodebook(epsilon=4.0), DecodingConfig(strategy="nearest", candidates=2), "decoding.candidates has no effect"),
    ],
)  # fmt: skip
def test_an_option_that_decodes_nothing_is_named_once(
    tiny_run: Path, mechanism: Mechanism, decoding: DecodingConfig, said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    say_once.cache_clear()
    model, _ = load_model(tiny_run)
    for _ in range(2):
        resolve_decoding(decoding, model, mechanism)
    assert len(caplog.messages) == (said is not None)
    assert said is None or said in caplog.messages[0]


def test_a_learned_codebook_is_the_models_and_a_model_without_one_says_so(tiny_run: Path) -> None:
    model, tokenizer = load_model(tiny_run)
    rewriter = Rewriter(model, tokenizer, mechanism=LearnedCodebook(epsilon=4.0))
    codewords = rewriter.mechanism.layout(model.config.latent_dim)[
        0
    ].codewords  # the model's, at unit length to the last bit
    assert torch.allclose(codewords, model.codebooks[128], rtol=0, atol=1e-6)
    for _ in range(20):
        assert all(0 <= row < len(codewords) for [row] in rewriter.release(TEXTS).tolist())
    assert best_exact(model) is best_exact(model, epsilon=9.9) is LearnedCodebook
    assert best_exact(model, epsilon=10.0) is Description
    model.codebooks = {}
    assert best_exact(model) is Codebook
    with pytest.raises(ModelError, match="no codebooks"):
        Rewriter(model, tokenizer, mechanism=LearnedCodebook(epsilon=4.0))


def test_damaged_codebooks_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    for file in (tiny_run / "model").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    save_file({"32": torch.ones(32, 5)}, tmp_path / "codebooks.safetensors")
    with pytest.raises(ModelError, match="do not fit config"):
        load_model(tmp_path)
    (tmp_path / "codebooks.safetensors").write_bytes(b"damage")
    with pytest.raises(ModelError, match="corrupt"):
        load_model(tmp_path)


def test_the_fittest_candidate_is_kept(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twenty candidates the one kept is likelier than a single sample 20 times of 21, and reads the latent alone."""
    mechanism = SqrtNLaplace(epsilon=64.0)
    plain, chosen = (
        Rewriter.from_pretrained(
            tiny_run, mechanism=mechanism, decoding=DecodingConfig(strategy="sample", candidates=n)
        )
        for n in (1, 20)
    )
    released = plain.release(["fare to boston"] * 50)
    single, best = (
        likelihood(plain.model, released, decode_best(rewriter.model, released, rewriter.decoding))
        for rewriter in (plain, chosen)
    )
    assert float((best > single).double().mean()) > 0.75
    candidates = decode(plain.model, released[:1].expand(20, -1), DecodingConfig(strategy="sample"))
    monkeypatch.setattr("adept.models.decoding.decode", lambda *_: candidates)
    assert torch.allclose(
        likelihood(plain.model, released[:1], decode_best(chosen.model, released[:1], chosen.decoding)),
        max(likelihood(plain.model, released[:1], row[None]) for row in candidates),
        atol=1e-4,
    )


@pytest.fixture(scope="module")
def topics_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model whose latents are topics, as they are for a learned codebook."""
    config = tiny_config(tmp_path_factory.mktemp("topics") / "run", epochs=1)
    config.mechanism = MechanismChoice(LearnedCodebook)
    train.run(config)
    return Path(config.output_dir)


def test_if_latents_are_topics_the_kept_candidate_is_about_the_latents_subject(topics_run: Path) -> None:
    """Of twenty candidates the one kept is nearer to the released latent, by its own topics, than a single sample is."""
    plain, chosen = (
        Rewriter.from_pretrained(
            topics_run, mechanism=LearnedCodebook(epsilon=64.0), decoding=DecodingConfig(candidates=n, pool=0)
        )
        for n in (1, 20)
    )
    released = plain.mechanism.vectors(
        plain.release(TEXTS * 20)[:, 0], like=torch.empty(0, plain.model.config.latent_dim)
    )  # type: ignore[union-attr]

    def nearness(rewriter: Rewriter) -> torch.Tensor:
        tokens = decode_best(rewriter.model, released, rewriter.decoding)
        return torch.nn.functional.cosine_similarity(rewriter.model.encode(tokens), released)

    assert float((nearness(chosen) > nearness(plain)).double().mean()) > 0.8


@pytest.mark.parametrize("size", [0, 2.5, "8", None, True, np.int64(8)])
def test_a_batch_size_is_a_number_of_records(tiny_run: Path, size: Any) -> None:
    with pytest.raises(ConfigurationError, match="batch_size must be an integer between 1 and 1000000, got "):
        Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0), batch_size=size)


@pytest.mark.parametrize("mechanism", ["l1", "mine:Mine", 3, None, L1Laplace])
def test_what_is_no_mechanism_is_refused_with_what_it_lacks(tiny_run: Path, mechanism: object) -> None:
    with pytest.raises(ConfigurationError, match=r"mechanism of your own must have a number epsilon, got none"):
        Rewriter.from_pretrained(tiny_run, mechanism=mechanism)  # type: ignore[arg-type]
