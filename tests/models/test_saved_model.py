"""A latent depends on its own record alone, lies in its set, and is all that the decoder sees."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import SqrtNLaplace
from adept.models.config import LATER_SIZES, DecodingConfig, ModelConfig, TrainingData
from adept.models.decoding import decode
from adept.models.saved_model import Autoencoder, write_tensors
from adept.models.tokenizer import END, PAD, START, UNKNOWN, Tokenizer
from adept.models.untrusted_files import ModelFiles
from adept.rewriting.rewriter import Rewriter

SIZES = ModelConfig(embedding_dim=12, hidden_dim=24, latent_dim=6, max_length=9)
V = 50


@pytest.fixture
def model() -> Autoencoder:
    torch.manual_seed(0)
    return Autoencoder(SIZES, vocabulary_size=V, clip="l2", training_data=TrainingData("test", True, 7)).eval()


def random_tokens(rows: int, length: int, seed: int = 0) -> torch.Tensor:
    """Rows of random words closed by END at random places and padded."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, V, (rows, length), generator=generator)
    ends = torch.randint(0, length, (rows, 1), generator=generator)
    positions = torch.arange(length)
    return torch.where(positions < ends, tokens, torch.where(positions == ends, END, PAD))


def test_a_latent_is_bit_for_bit_the_same_whatever_its_neighbours_are(model: Autoencoder) -> None:
    first, second = random_tokens(64, 10, seed=1), random_tokens(64, 10, seed=2)
    second[17] = first[17]
    with torch.no_grad():
        assert torch.equal(model.encode(first)[17], model.encode(second)[17])


def test_padding_does_not_change_a_latent_beyond_rounding(model: Autoencoder) -> None:
    tokens = random_tokens(8, 10)
    with torch.no_grad():
        short, long = model.encode(tokens), model.encode(torch.nn.functional.pad(tokens, (0, 13), value=PAD))
    assert torch.allclose(short, long, atol=1e-6)


def test_every_word_before_the_end_counts_in_both_directions(model: Autoencoder) -> None:
    tokens = torch.tensor([[5, 6, 7, 8, END, PAD, PAD]])
    with torch.no_grad():
        latent = model.encode(tokens)
        for position in range(4):
            changed = tokens.clone()
            changed[0, position] = 9
            assert not torch.allclose(model.encode(changed), latent, atol=1e-4)


@pytest.mark.parametrize(("clip", "order"), [("l1", 1), ("l2", 2), ("sphere", 2)])
def test_latents_lie_in_the_set_that_the_model_is_trained_for(clip: str, order: int) -> None:
    sizes = ModelConfig(embedding_dim=12, hidden_dim=24, latent_dim=6, max_length=9, clip_norm=0.05)
    model = Autoencoder(sizes, vocabulary_size=V, clip=clip).eval()
    with torch.no_grad():
        norms = model.encode(random_tokens(100, 10)).norm(p=order, dim=1)
    assert norms.max() <= 0.05 * (1 + 1e-6)
    assert clip != "sphere" or norms.min() >= 0.05 * (1 - 1e-6)


def test_decoding_is_a_function_of_the_latent(model: Autoencoder) -> None:
    latents = torch.randn(20, 6)
    assert torch.equal(decode(model, latents), decode(model, latents))
    assert not torch.equal(decode(model, latents), decode(model, -latents))


@pytest.mark.parametrize(
    "decoding",
    [DecodingConfig(), DecodingConfig(strategy="sample", temperature=5.0), DecodingConfig(strategy="sample", top_k=3)],
)
def test_decoding_writes_no_unknown_word_and_ends_in_time(model: Autoencoder, decoding: DecodingConfig) -> None:
    written = decode(model, torch.randn(200, 6), decoding)
    assert written.shape[1] <= SIZES.max_length
    assert not set(written.unique().tolist()) & {UNKNOWN, START}
    for row in written.tolist():
        assert PAD not in row or END in row[: row.index(PAD)]


def test_sampling_follows_the_temperature_and_the_cuts(model: Autoencoder) -> None:
    latents = torch.randn(1, 6).expand(500, 6)
    greedy = decode(model, latents)
    first_words = {
        name: len(decode(model, latents, DecodingConfig(strategy="sample", **options))[:, 0].unique())  # type: ignore[arg-type]
        for name, options in {
            "hot": {"temperature": 20.0},
            "k": {"top_k": 3},
            "p": {"top_p": 1e-6},
            "cold": {"temperature": 1e-4},
        }.items()
    }
    assert first_words["hot"] > 30
    assert first_words["k"] <= 3
    assert first_words["p"] == 1
    assert first_words["cold"] == 1
    assert torch.equal(greedy, greedy[:1].expand_as(greedy))


def test_sampled_words_have_the_probabilities_of_the_model(model: Autoencoder) -> None:
    # The mean distance of 20,000 draws among 47 words is below .02; that it is .04 more has probability exp(-2 n .04^2) = 2e-28.
    latents = torch.randn(1, 6)
    with torch.no_grad():
        logits = model(latents, torch.tensor([[5]]))[0, 0]
    logits[[PAD, UNKNOWN, START]] = -torch.inf
    words = decode(model, latents.expand(20_000, 6), DecodingConfig(strategy="sample"))[:, 0]
    observed = torch.bincount(words, minlength=V) / 20_000
    assert (observed - logits.softmax(0)).abs().sum() / 2 < 0.06


def test_a_saved_model_comes_back_whole(model: Autoencoder, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    loaded = Autoencoder.from_pretrained(tmp_path)
    tokens = random_tokens(4, 10)
    with torch.no_grad():
        assert torch.equal(loaded.encode(tokens), model.encode(tokens))
    assert (loaded.clip, loaded.config, loaded.training_data) == (model.clip, model.config, model.training_data)
    assert not loaded.training
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".safetensors", ".md"}


@pytest.mark.parametrize("defect", ["missing", "unexpected", "shape"])
def test_weights_that_do_not_fit_are_refused(model: Autoencoder, tmp_path: Path, defect: str) -> None:
    model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    match defect:
        case "missing":
            del weights["to_latent.bias"]
        case "unexpected":
            weights["extra"] = torch.zeros(1)
        case "shape":
            weights["to_latent.bias"] = torch.zeros(7)
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"do not fit.*(extra|to_latent.bias)"):
        Autoencoder.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.safetensors", b"garbage", "corrupt"),
        ("config.json", b"{", "corrupt"),
        ("config.json", b"[]", "corrupt"),
        ("config.json", b'{"format_version": 99}', "format 99"),
    ],
)
def test_damaged_files_are_refused(model: Autoencoder, tmp_path: Path, file: str, content: bytes, message: str) -> None:
    model.save_pretrained(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ModelError, match=message):
        Autoencoder.from_pretrained(tmp_path)


def test_an_lstm_of_an_earlier_format_is_refused_by_its_format(model: Autoencoder, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    place = tmp_path / "config.json"
    place.write_text(place.read_text().replace('"format_version": 2', '"format_version": 1'))
    with pytest.raises(ModelError, match="has format 1, this version of adept reads format 2 of this encoder"):
        Autoencoder.from_pretrained(tmp_path)


def test_impossible_sizes_in_a_saved_model_are_refused(model: Autoencoder, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    description = json.loads((tmp_path / "config.json").read_text())
    for key, value in {"latent_dim": 0, "surprise": 1}.items():
        changed = {**description, "model": {**description["model"], key: value}}
        (tmp_path / "config.json").write_text(json.dumps(changed))
        with pytest.raises(ModelError, match=key):
            Autoencoder.from_pretrained(tmp_path)


def test_an_absent_directory_or_missing_weights_are_refused(model: Autoencoder, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a model directory"):
        Autoencoder.from_pretrained(tmp_path / "none")
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        Autoencoder.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"latent_dim": 0},
        {"dropout": 1.0},
        {"word_dropout": -0.1},
        {"clip_norm": float("nan")},
        {"clip_norm": 1e9},
        {"max_length": 0},
    ],
)
def test_impossible_model_settings_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=f"model.{next(iter(options))}"):
        ModelConfig(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", [{"strategy": "beam"}, {"temperature": 0.0}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.1}]
)
def test_impossible_decoding_settings_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=f"decoding.{next(iter(options))}"):
        DecodingConfig(**options)  # type: ignore[arg-type]


def test_two_codebooks_that_are_one_tensor_are_saved(tmp_path: Path) -> None:
    """Little text has fewer latents than a large codebook has words: codebooks of both sizes are all of them."""
    words = torch.arange(6.0).reshape(3, 2)
    write_tensors(tmp_path / "codebooks.safetensors", {"256": words, "512": words})
    wanted = dict.fromkeys(["256", "512"], ("float32", (3, 2)))
    held = ModelFiles(tmp_path).tensors("codebooks.safetensors", wanted, described="config.json")
    assert torch.equal(held["256"], words)
    assert torch.equal(held["512"], words)


def test_a_model_that_is_saved_over_another_one_leaves_none_of_its_files(
    model: Autoencoder, tiny_run: Path, tmp_path: Path
) -> None:
    """Neither its sentences and codewords, which statements would list, nor its card, which would call the text public."""
    shutil.copytree(tiny_run / "model", tmp_path / "model")
    assert (tmp_path / "model" / "codec.json").is_file()
    model.training_data = TrainingData("mine", False, 7)
    model.save_pretrained(tmp_path / "model")
    Tokenizer.train([" ".join(f"w{i}" for i in range(V))] * 2).save_pretrained(tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "README.md", "config.json", "model.safetensors", "tokenizer.json"
    }  # fmt: skip
    assert "`mine` (PRIVATE: do not share this directory)" in (tmp_path / "model" / "README.md").read_text()


def test_a_tokenizer_of_another_model_is_refused(model: Autoencoder) -> None:
    other = Tokenizer.train(["show flights"] * 2)
    with pytest.raises(ModelError, match=r"tokenizer\.json does not fit the model"):
        model.reconstruct(["show flights"], other)
    with pytest.raises(ModelError, match=r"tokenizer\.json does not fit the model"):
        Rewriter(model, other, mechanism=SqrtNLaplace(epsilon=8.0))


def test_layers_are_saved_and_a_single_one_is_described_as_in_earlier_versions(tmp_path: Path) -> None:
    for layers in (1, 2):
        model = Autoencoder(
            ModelConfig(
                embedding_dim=8,
                hidden_dim=12,
                latent_dim=4,
                num_layers=layers,
                directions=3 - layers,
                tied_embeddings=layers == 2,
            ),
            vocabulary_size=9,
            clip="l1",
        )
        model.save_pretrained(tmp_path / f"{layers}")
        described = json.loads((tmp_path / f"{layers}" / "config.json").read_text())["model"]
        later = {"num_layers": 2, "directions": 1, "tied_embeddings": True} if layers == 2 else {}
        assert {name: described[name] for name in LATER_SIZES if name in described} == later
        unchanged = set(load_file(tmp_path / f"{layers}" / "model.safetensors"))
        assert ("to_words.weight" in unchanged) == (layers == 1)
        loaded = Autoencoder.from_pretrained(tmp_path / f"{layers}")
        assert loaded.config == model.config
        assert torch.equal(loaded.encode_records([[5, 6, 3]]), model.eval().encode_records([[5, 6, 3]]))
