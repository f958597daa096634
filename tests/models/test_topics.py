"""Topics are a linear map of a record's own words, fitted on public text before any training."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import Tensor

from adept.data.corpus import Corpus, DataConfig, load
from adept.errors import DataError
from adept.mechanisms import LearnedCodebook
from adept.models.config import ModelConfig, TrainerConfig, TrainingConfig, TrainSpec
from adept.models.lstm_autoencoder import pad
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import END, PAD, UNKNOWN, Tokenizer
from adept.models.topics import WIDEST, TopicEncoder, _information, cooccurrence_vectors, supported_topics
from adept.models.training import randomiser, train_model


@pytest.fixture(scope="module")
def splits() -> dict[str, Corpus]:
    return load(DataConfig(sizes=[1500, 10, 300]))


@pytest.fixture(scope="module")
def fitted(splits: dict[str, Corpus]) -> tuple[TopicEncoder, Tokenizer]:
    tokenizer = Tokenizer.train(splits["train"].texts)
    encoder = TopicEncoder(len(tokenizer), 64)
    encoder.fit(tokenizer.encode(splits["train"].texts, max_length=40), seed=0)
    return encoder, tokenizer


def topics(fitted: tuple[TopicEncoder, Tokenizer], texts: list[str]) -> Tensor:
    encoder, tokenizer = fitted
    return torch.nn.functional.normalize(encoder(pad(tokenizer.encode(texts, max_length=40), length=42)), dim=1)


def test_neighbours_share_their_intent(splits: dict[str, Corpus], fitted: tuple[TopicEncoder, Tokenizer]) -> None:
    train, test = splits["train"], splits["test"]
    nearest = (topics(fitted, test.texts) @ topics(fitted, train.texts).T).argmax(dim=1).tolist()
    guesses = [(train.labels or [])[i] for i in nearest]
    assert (
        np.mean([a == b for a, b in zip(guesses, test.labels or [], strict=True)]) > 0.75
    )  # the commonest label alone has .66


def test_the_words_of_a_text_are_weighted_as_tf_idf_does(
    splits: dict[str, Corpus], fitted: tuple[TopicEncoder, Tokenizer]
) -> None:
    """Directions that keep every word apart show the weights themselves: they are scikit-learn's."""
    _, tokenizer = fitted
    texts = [" ".join(text.lower().split()[:12]) for text in splits["train"].texts]
    texts = [text.translate(str.maketrans("", "", ".,;:!?()[]\"'")) for text in texts] + ["to to to denver to denver"]
    encoder = TopicEncoder(len(tokenizer), len(tokenizer))
    encoder.fit(tokenizer.encode(texts, max_length=40), seed=0)
    encoder.directions.copy_(torch.eye(len(tokenizer)))
    encoder.offset.zero_()
    weights = encoder(pad(tokenizer.encode(texts[-1:], max_length=40), length=42))[0]
    oracle = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\S+", min_df=2).fit(texts)
    expected = oracle.transform(texts[-1:])
    for word in ("to", "denver"):
        assert float(weights[tokenizer.vocabulary[word]]) == pytest.approx(
            expected[0, oracle.vocabulary_[word]], abs=1e-3
        )
    assert int((weights != 0).sum()) == 2


def test_a_text_counts_for_itself_alone(fitted: tuple[TopicEncoder, Tokenizer], splits: dict[str, Corpus]) -> None:
    encoder, tokenizer = fitted
    rows = tokenizer.encode(splits["test"].texts[:40], max_length=40)
    together, alone = encoder(pad(rows, length=42)), encoder(pad(rows[7:8], length=42))
    assert torch.equal(together[7], alone[0])
    assert torch.allclose(encoder(pad(rows[7:8])), alone, atol=1e-6)  # nor does padding count


def test_texts_without_known_words_point_along_the_first_axis(fitted: tuple[TopicEncoder, Tokenizer]) -> None:
    encoder, _ = fitted
    latents = encoder(torch.tensor([[END, PAD, PAD], [UNKNOWN, UNKNOWN, END]]))
    assert torch.equal(latents, torch.eye(64)[:1].expand(2, -1))


@pytest.mark.parametrize(("texts", "number"), [(5, 2), (80, 10), (3000, 375), (9000, 400)])
def test_one_topic_for_every_eight_texts(texts: int, number: int) -> None:
    assert supported_topics(texts, most=400) == number


def test_topics_that_the_text_does_not_have_stay_zero() -> None:
    encoder = TopicEncoder(9, 6)
    encoder.fit([[4, 5, END], [5, 6, END], [4, 6, END], [8, END]], seed=0)  # the word 8 stands in one text
    assert encoder.directions[:, :2].any()
    assert not encoder.directions[:, 2:].any()
    assert float(encoder.rarity[8]) == 0


def test_topics_that_hardly_tell_texts_apart_are_left_out() -> None:
    """Texts from one template have few topics; made as wide as the others, the rest would be noise."""
    texts = [f"move item {number % 20} to shelf {number * 7 % 23} please" for number in range(460)]
    tokenizer = Tokenizer.train(texts)
    encoder = TopicEncoder(len(tokenizer), 57)
    encoder.fit(tokenizer.encode(texts, max_length=40), seed=0, words=tokenizer.words)
    assert encoder.directions[:, :20].any(dim=0).all()
    assert 0 < (encoder.rarity[:, None] * encoder.directions).abs().max() <= WIDEST
    assert encoder.directions.abs().max() < 250


def test_words_of_a_like_spelling_point_the_same_way() -> None:
    """The two words never stand together nor beside the same ones: their letters alone can tell."""
    texts = [
        "cancel alpha",
        "cancelled beta",
        "cancelling gamma",
        "weather delta",
        "whether epsilon",
        "wethers zeta",
    ] * 3
    tokenizer = Tokenizer.train(texts)
    rows = tokenizer.encode(texts, max_length=40)

    def likeness(words: list[str]) -> float:
        encoder = TopicEncoder(len(tokenizer), 4)
        encoder.fit(rows, seed=0, words=words)
        one, other = (encoder.directions[tokenizer.vocabulary[word]] for word in ("cancel", "cancelled"))
        return float(torch.nn.functional.cosine_similarity(one, other, dim=0))

    assert likeness(tokenizer.words) > likeness([]) + 0.3


def test_text_that_shares_no_words_is_refused() -> None:
    with pytest.raises(DataError, match="texts that share words"):
        TopicEncoder(9, 3).fit([[4, END], [5, END], [END]], seed=0)


def test_content_is_topics_for_a_learned_codebook_and_they_are_saved_with_the_model(tmp_path: Path) -> None:
    """The encoder is fitted before the decoder is trained, and training leaves it as it was."""
    splits = load(DataConfig(sizes=[400, 60, 60]))
    sizes = ModelConfig(embedding_dim=8, hidden_dim=16, latent_dim=5)
    training = TrainingConfig().for_mechanism(LearnedCodebook)
    spec = TrainSpec(clip="sphere", model=sizes, training=training, trainer=TrainerConfig(max_epochs=1))
    model, _, _ = train_model(splits["train"], splits["validation"], spec, output_dir=tmp_path)
    assert (model.config.encoder, model.config.latent_dim) == ("topics", 50)
    assert sorted(model.codebooks) == [32, 64, 128]
    again = TopicEncoder(model.vocabulary_size, 50)
    tokenizer = Tokenizer.from_pretrained(tmp_path / "model")
    rows = tokenizer.encode(splits["train"].texts, max_length=40)
    again.fit(rows, seed=0, words=tokenizer.words)
    loaded = Autoencoder.from_pretrained(tmp_path / "model")
    assert torch.equal(loaded.encode(pad(rows)), model.encode(pad(rows)))
    assert torch.equal(loaded.topics.directions, again.directions)


def test_a_decoder_learns_from_codewords_near_its_text() -> None:
    model = Autoencoder(ModelConfig(latent_dim=8, clip_norm=2.0), vocabulary_size=20, clip="sphere")
    words, latents = torch.nn.functional.normalize(torch.randn(6064, 8), dim=1).split([64, 6000])
    model.codebooks = {64: words}
    randomise = randomiser(model, TrainSpec(clip="sphere"))
    assert randomise
    met = randomise(2 * latents)
    itself = (met == 2 * latents).all(dim=1)
    assert abs(float(itself.float().mean()) - 0.5) < 8 * 0.5 / 6000**0.5  # a false alarm in 1e15
    met, latents = met[~itself], latents[~itself]
    places = (met[:, None] / 2 == model.codebooks[64]).all(dim=2).long().argmax(dim=1)
    ranks = (latents @ model.codebooks[64].T).argsort(dim=1, descending=True).argsort(dim=1)
    chosen = ranks.gather(1, places[:, None])[:, 0]
    assert int(chosen.max()) <= 7
    assert abs(float((chosen == 0).float().mean()) - 0.5) < 8 * 0.5 / len(chosen) ** 0.5


def test_what_is_released_depends_on_its_own_record_alone_to_the_last_bit(
    fitted: tuple[TopicEncoder, Tokenizer], splits: dict[str, Corpus]
) -> None:
    encoder, tokenizer = fitted
    sizes = ModelConfig(latent_dim=64, encoder="topics")
    model = Autoencoder(sizes, vocabulary_size=len(tokenizer), clip="sphere").eval()
    model.topics = encoder
    rows = tokenizer.encode([*splits["test"].texts[:70], "", "zebra"], max_length=40)
    read = model.encode_records
    together = read(rows)
    assert torch.equal(together.flip(0), read(rows[::-1]))
    assert all(torch.equal(together[i : i + 1], read(rows[i : i + 1])) for i in range(0, 72, 7))
    assert torch.allclose(together, model.encode(pad(rows)), atol=1e-6)


def test_words_that_keep_the_same_company_point_the_same_way() -> None:
    """The two words share no letter and never stand together."""
    things, names = ("heating", "volume", "lights", "fan"), ("jazz", "rock", "folk", "soul")
    texts = [f"{verb} the {thing} now" for verb in ("raise", "boost") for thing in things]
    texts += [f"{verb} some {name} again" for verb in ("play", "hum") for name in names]
    tokenizer = Tokenizer.train(texts)

    def likeness(weight: float) -> float:
        encoder = TopicEncoder(len(tokenizer), 6)
        encoder.fit(tokenizer.encode(texts, max_length=40), seed=0, cooccurrence=weight)
        one, other = (encoder.directions[tokenizer.vocabulary[word]] for word in ("raise", "boost"))
        return float(torch.nn.functional.cosine_similarity(one, other, dim=0))

    assert likeness(1.5) > likeness(0.0) + 0.3


def test_words_that_mean_the_same_point_the_same_way_where_meaning_counts() -> None:
    """In these texts nothing else says so: each vehicle shares its only neighbour with a food."""
    pairs = {
        "pqa": ("car", "soup"),
        "xrb": ("truck", "cheese"),
        "mzc": ("automobile", "pasta"),
        "wvd": ("bus", "bread"),
    }
    texts = [f"{word} {beside}" for beside, words in pairs.items() for word in words] * 2
    tokenizer = Tokenizer.train(texts)

    def apart(weight: float) -> float:
        encoder = TopicEncoder(len(tokenizer), 3)
        rows = tokenizer.encode(texts[:8], max_length=40)
        encoder.fit(rows * 2, seed=0, words=tokenizer.words, cooccurrence=0.0, meaning=weight)
        topics = encoder(torch.tensor(rows))
        vehicles, foods = topics[::2], topics[1::2]
        within = (vehicles - vehicles.mean(dim=0)).norm() + (foods - foods.mean(dim=0)).norm()
        return float((vehicles.mean(dim=0) - foods.mean(dim=0)).norm() / within)

    assert apart(1.5) > 3 * apart(0.0)


def test_information_is_how_much_more_often_two_words_meet_than_chance_would_have_it() -> None:
    """Worked by hand: 0 and 1 meet once as neighbours, 0 and 2 once two places apart, 1 and 2 once as neighbours."""
    found = _information([[0, 1, 2], [3, 4]], words=5).toarray()
    of_word = np.array([1.5, 2.0, 1.5, 1.0, 1.0])
    chance = of_word[:, None] * (of_word**0.75 / (of_word**0.75).sum())
    near = np.zeros((5, 5))
    for one, other, weight in ((0, 1, 1.0), (0, 2, 0.5), (1, 2, 1.0), (3, 4, 1.0)):
        near[one, other] = near[other, one] = weight
    expected = np.where(near > 0, np.log(np.where(near > 0, near, 1.0) / chance), 0.0)
    assert found == pytest.approx(np.maximum(expected, 0))


def test_words_with_the_same_neighbours_have_the_same_vector_though_they_never_meet() -> None:
    rows = [[verb, thing] for verb in (0, 1) for thing in (2, 3, 4)] + [[5, 6], [6, 7], [7, 5]]
    vectors = cooccurrence_vectors(rows, words=8, seed=0)
    assert vectors[0] @ vectors[1] == pytest.approx(1.0)
    assert vectors[0] @ vectors[5] < 0.1


def test_words_without_a_vector_keep_their_place_and_say_nothing() -> None:
    near, apart = _information([[0, 1]], words=2).toarray(), _information([[0, -1, 1], [0, 1]], words=2).toarray()
    assert near[0, 1] > 0
    assert apart[0, 1] > 0
    assert not cooccurrence_vectors([[0, -1], [-1, 1]], words=2, seed=0).any()  # no two words ever meet
    assert not cooccurrence_vectors([], words=3, seed=0).any()


def test_the_window_ends() -> None:
    far = [[0, *[-1] * 8, 1], [0, 2]]
    assert _information(far, words=3)[0, 1] == 0
    assert _information([[0, *[-1] * 7, 1], [0, 2]], words=3)[0, 1] != 0
