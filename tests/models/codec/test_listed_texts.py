"""Claims about the first numbers of a codec: the likeliest texts, one each, and the way to the nearest of them."""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch
import travel
from distributions import after
from safetensors.torch import load_file, save_file

from adept.errors import ModelError
from adept.models.codec import listed_texts as likely_texts
from adept.models.codec.arithmetic_code import ArithmeticCode
from adept.models.codec.beam_search import BeamSearch
from adept.models.codec.codec import Codec, words_of
from adept.models.codec.codec_files import DESCRIPTION, TABLES, load_codec, save_codec
from adept.models.codec.codec_learning import learn_codec
from adept.models.codec.listed_texts import list_likely, next_shares
from adept.models.config import CodecConfig
from adept.models.language_model.next_word import span
from adept.models.language_model.ngram_mixture import LanguageModel
from adept.models.language_model.ngrams import ONE
from adept.models.tokenizer import join_words

COUNT = 20_000


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return travel.texts(1200)


@pytest.fixture(scope="module")
def codec(texts: list[str]) -> Codec:
    return Codec.of(texts, public=True, listed=COUNT).with_list()


def bits_of(model: LanguageModel, words: Sequence[str]) -> float:
    """Return the cost of a text by the whole numbers of the code."""
    code = ArithmeticCode(model, 2)
    found = code.interval(words)
    assert found
    return code.precision - math.log2(found.probability)


def test_many_texts_are_foreseen_at_once_as_each_is_by_itself(codec: Codec) -> None:
    model = codec.model
    rows = [model.vocabulary.encode(words) for words in codec.utterances[:12]]
    length = min(map(len, rows)) - 1
    assert length > 2
    for place in range(length + 1):
        begun = torch.tensor([row[:place] for row in rows], dtype=torch.int64).reshape(len(rows), place)
        shares = next_shares(model, begun)
        for number, row in enumerate(rows):
            state_of = after(model, row[:place])
            shares_of = [span(model.tables, state_of, word) for word in range(shares.shape[1])]
            exact = torch.tensor([(high - low) / ONE for low, high in shares_of])
            assert float((shares[number] - exact).abs().sum()) < 0.02
    assert torch.allclose(shares.sum(dim=1), torch.ones(len(rows)), atol=1e-4)


def test_the_likely_texts_are_all_that_are_so_likely(codec: Codec) -> None:
    """Draw texts from the model: at least two of three that cost less than the dearest listed text are listed."""
    model, listed = codec.model, {*codec.utterances, *(codec.listed[place] for place in range(len(codec.listed)))}
    assert len(listed) == COUNT
    assert () not in listed
    costs = [bits_of(model, codec.listed[place]) for place in range(0, len(codec.listed), 150)]
    misplaced = [abs(cost - ordered) for cost, ordered in zip(costs, sorted(costs), strict=True)]
    assert fmean(misplaced) < 0.01  # bits: the list is made in floating point, the code in whole numbers
    assert costs[0] + 3 < costs[-1]
    code, rng = ArithmeticCode(model, 1 << 20), random.Random(0)
    drawn = [code.text_at(rng.getrandbits(code.precision)) for _ in range(1_000)]
    known = set(model.vocabulary.words)
    likely = {
        tuple(words) for words in drawn if words and known.issuperset(words) and bits_of(model, words) < costs[-1] - 0.1
    }
    assert len(likely) > 100
    assert len(likely & listed) > 0.67 * len(likely)  # with rests a quarter or two bits too dear: .62


def test_a_beginning_that_leaves_too_few_bits_for_the_rest_is_given_up(codec: Codec, texts: list[str]) -> None:
    """And most texts are kept: with rests that cost nothing, several times as many beginnings are read."""
    rows = [codec.model.vocabulary.encode(words_of(text)) for text in texts]
    read, found = {}, {}
    for name, factor in (("rests", 1.0), ("none", 0.0)):
        with pytest.MonkeyPatch.context() as patch:
            search = likely_texts._Search(codec.model, rows)
            search.after_word, search.after_pair = factor * search.after_word, factor * search.after_pair
            seen = [0]

            def counted(model: LanguageModel, words: torch.Tensor, seen: list[int] = seen) -> torch.Tensor:
                seen[0] += len(words)
                return next_shares(model, words)

            patch.setattr(likely_texts, "next_shares", counted)
            found[name] = sum(len(costs) for costs, _ in search.within(15.0))
            read[name] = seen[0]
    assert found["none"] >= found["rests"] > 0.45 * found["none"] > 0  # with rests a quarter too dear: .35
    assert read["none"] > 3 * read["rests"]


def test_likely_texts_have_the_first_numbers_behind_the_utterances(codec: Codec) -> None:
    said, size = len(codec.utterances), 4_000
    assert codec.write([said, said + 7], size=size) == [join_words(codec.listed[0]), join_words(codec.listed[7])]
    described = codec.describe([join_words(codec.listed[place]) for place in (0, 7, 2_000)], size=size)
    assert described == [said, said + 7, said + 2_000]
    assert all(codec.write(range(said + 3), size=said + 3))


def test_the_likely_texts_say_more_than_numbers_of_the_code(codec: Codec, texts: list[str]) -> None:
    records = [text for text in travel.texts(150, start=1200) if text not in texts]
    without = Codec(codec.model, codec.weigh, codec.utterances)
    exact = {}
    for name, used in (("with", codec), ("without", without)):
        written = used.write(used.describe(records, size=COUNT), size=COUNT)
        exact[name] = sum(text == join_words(words_of(own)) for text, own in zip(written, records, strict=True))
    assert exact["with"] > 1.15 * exact["without"] > 0


@pytest.mark.parametrize("size", [COUNT - 1, COUNT, 2**20, 2**24 - 1, 2**24])
def test_every_number_has_a_text_and_every_text_a_number_with_a_list_too(codec: Codec, size: int) -> None:
    rng = random.Random(0)
    drawn = [0, len(codec.utterances), COUNT - 2, size - 1, *(rng.randrange(size) for _ in range(10))]
    written = codec.write(drawn, size=size)
    assert len(written) == len(drawn)
    assert codec.write(codec.describe(written, size=size), size=size)
    assert all(0 <= number < size for number in codec.describe(["", "zyzzyva", "word " * 50], size=size))


@pytest.mark.parametrize("size", [COUNT // 2, COUNT, 2 * COUNT])
def test_where_most_numbers_are_texts_at_hand_nothing_is_searched_for(
    codec: Codec, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BeamSearch, "near", None)
    monkeypatch.setattr(ArithmeticCode, "number", None)
    assert codec.describe(["please book me a table at the zyzzyva"], size=size)


def test_words_keep_their_order_where_texts_of_the_same_words_have_numbers(codec: Codec) -> None:
    """Whatever stands first: a text with the same words is as near."""
    place, back = _turned(codec)
    there = join_words(codec.listed[place])
    for record in (there, join_words(back)):
        assert codec.write(codec.describe([record], size=COUNT), size=COUNT) == [record]


def _turned(codec: Codec) -> tuple[int, tuple[str, ...]]:
    """A likely text, and another one of the same words in another order."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for place in range(len(codec.listed)):
        words = codec.listed[place]
        if (other := seen.setdefault(tuple(sorted(words)), words)) != words:
            return place, other
    raise AssertionError("there is none")


def test_private_text_has_no_list(texts: list[str]) -> None:
    assert not len(Codec.of(texts, public=False, listed=5_000).with_list().listed)


def test_a_saved_list_is_the_same_list(codec: Codec, tmp_path: Path) -> None:
    save_codec(codec, tmp_path)
    loaded, records = load_codec(tmp_path), ["when does the last flight leave", "zyzzyva"]
    assert (loaded.listed.flat == codec.listed.flat).all()
    for size in (3_000, 2**15, 2**30):
        assert loaded.describe(records, size=size) == codec.describe(records, size=size)


@pytest.mark.parametrize("spoiled", [[30_000, 0], [1, 0], [-5, 0], [5, 0, 0], [0, 5, 0], [5, 6], [*([5] * 41), 0], []])
def test_a_list_that_no_codec_writes_is_refused(codec: Codec, tmp_path: Path, spoiled: list[int]) -> None:
    save_codec(codec, tmp_path)
    tables, stored = load_file(tmp_path / TABLES), json.loads((tmp_path / DESCRIPTION).read_text("utf-8"))
    save_file(tables | {"likely": torch.tensor(spoiled, dtype=torch.int16)}, tmp_path / TABLES)
    (tmp_path / DESCRIPTION).write_text(json.dumps(stored | {"likely": len(spoiled)}), "utf-8")
    with pytest.raises(ModelError, match="corrupt"):
        load_codec(tmp_path)


@pytest.mark.parametrize("value", [-1, 1 << 40, "many", 3.5, True])
def test_the_length_of_a_list_is_a_number(codec: Codec, tmp_path: Path, value: object) -> None:
    save_codec(codec, tmp_path)
    stored = json.loads((tmp_path / DESCRIPTION).read_text("utf-8"))
    (tmp_path / DESCRIPTION).write_text(json.dumps(stored | {"likely": value}), "utf-8")
    with pytest.raises(ModelError, match="corrupt"):
        load_codec(tmp_path)


def test_learning_asks_for_as_many_as_it_is_told(texts: list[str]) -> None:
    from adept.data.corpus import Corpus

    corpus, few = Corpus(texts, ["x"] * len(texts)), Corpus(texts[:300], ["x"] * 300)
    some = learn_codec(corpus, corpus, public=True, seed=0, config=CodecConfig(likely=2_000)).with_list()
    assert len(some.utterances) + len(some.listed) == 2_000
    for those, likely in ((corpus, 0), (few, 2_000)):
        codec = learn_codec(those, few, public=True, seed=0, config=CodecConfig(likely=likely)).with_list()
        assert codec.utterances
        assert not len(codec.listed)


def test_the_likeliest_texts_are_rows_of_word_numbers_without_an_end_or_unknown_words(codec: Codec) -> None:
    listed = list_likely(codec.model, [codec.utterances[0]], count=50)
    rows = np.split(listed.flat, listed.ends + 1)[:-1]
    assert len(rows) == 49
    assert all(0 < len(row) - 1 <= 40 and row[:-1].min() > 1 for row in rows)
