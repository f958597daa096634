"""Claims about the codec: total, one record at a time, the same everywhere, and more words for more numbers."""

import copy
import itertools
import json
import math
import pickle
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import travel
from distributions import after
from remembered import entries, grown
from safetensors.torch import load_file, save_file

from adept.errors import ConfigurationError, DataError, ModelError
from adept.models.codec import arithmetic_code as text_code
from adept.models.codec import codec as codec_module
from adept.models.codec.arithmetic_code import ArithmeticCode, Band
from adept.models.codec.beam_search import ANYWHERE, UNIT, BeamSearch, Found
from adept.models.codec.codec import SEAM_COST, Codec, words_of
from adept.models.codec.codec_files import DESCRIPTION, TABLES, load_codec, save_codec
from adept.models.codec.word_weights_and_meanings import MISSING_COST
from adept.models.language_model.next_word import find, span
from adept.models.language_model.ngram_mixture import LanguageModel, UnknownWords
from adept.models.language_model.vocabulary import END_WORD, UNKNOWN_WORD
from adept.models.tokenizer import join_words

SIZES = [2, 37, 5_000, 600_000, 2**41, 2**120]
STRANGE = [
    "",
    "   ",
    "zzyzx",
    "ünïcödé ☃",
    "\ud800",
    "a" * 5000,
    "word " * 300,
    "[END] [UNK]",
    "\x00",
    "st. louis, mo.",
]


@pytest.fixture(autouse=True, scope="module")
def small_pool() -> Iterator[None]:
    """A pool of thousands of texts for each size would take most of the tests' time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec_module, "POOL_SIZE", 200)
        yield


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return travel.texts(600)


@pytest.fixture(scope="module")
def others() -> list[str]:
    return travel.texts(40, start=600)


@pytest.fixture(scope="module")
def codec(texts: list[str]) -> Codec:
    return Codec.of(texts, public=True)


@pytest.mark.parametrize(
    "size", [pytest.param(5000, marks=pytest.mark.slow) if size == 5000 else size for size in SIZES]
)
def test_every_text_has_a_description_and_every_description_a_text(codec: Codec, size: int) -> None:
    described = codec.describe(STRANGE, size=size)
    assert all(0 <= number < size for number in described)
    rng = random.Random(0)
    drawn = [0, size - 1, *(rng.randrange(size) for _ in range(30))]
    written = codec.write(drawn, size=size)
    assert len(written) == len(drawn)
    assert all(isinstance(text, str) and "\n" not in text and "\x00" not in text for text in written)


@pytest.mark.parametrize("value", [None, 7, b"bytes"])
def test_a_value_that_is_no_text_has_no_description(value: object, codec: Codec) -> None:
    with pytest.raises(DataError, match="at position 2"):
        codec.describe(["a flight", value], size=5_000)  # type: ignore[list-item]


@pytest.mark.parametrize("size", [37, 5_000, 2**41])
def test_a_description_depends_on_its_own_record_alone(codec: Codec, others: list[str], size: int) -> None:
    """Batches of one, another order and other neighbours change nothing."""
    together = codec.describe(others, size=size)
    assert [codec.describe([text], size=size)[0] for text in others] == together
    assert codec.describe(others[::-1], size=size)[::-1] == together


def test_a_saved_codec_is_the_same_codec(codec: Codec, others: list[str], tmp_path: Path) -> None:
    save_codec(codec, tmp_path)
    loaded = load_codec(tmp_path)
    for size in (37, 2**30):
        described = codec.describe(others, size=size)
        assert loaded.describe(others, size=size) == described
        assert loaded.write(described, size=size) == codec.write(described, size=size)


def test_learning_twice_gives_the_same_codec(codec: Codec, texts: list[str], others: list[str]) -> None:
    again = Codec.of(texts, public=True)
    assert again.describe(others, size=2**30) == codec.describe(others, size=2**30)


def test_more_numbers_say_more_and_at_last_everything(codec: Codec, others: list[str]) -> None:
    """The share of records that come back word for word grows with K, up to all of them."""
    exact = []
    for size in (37, 2**19, 2**41, 2**120):
        written = codec.write(codec.describe(others, size=size), size=size)
        exact.append(sum(text == join_words(words_of(own)) for text, own in zip(written, others, strict=True)))
    assert exact == sorted(exact)
    assert exact[0] < exact[-2]
    assert exact[-1] > 0.9 * len(others)


@pytest.mark.parametrize(
    "rows", [[], [("a",)], [("a", "b")] * 3 + [("c",) * 40]], ids=["no text", "a word", "40 words"]
)
@pytest.mark.parametrize("size", [1, 2, 4_096, 4_097, 2**30, 2**120])
def test_a_code_of_next_to_no_text_goes_both_ways(rows: list[tuple[str, ...]], size: int) -> None:
    model = LanguageModel.of(rows)
    numbered = 0
    for code in (ArithmeticCode(model, size), ArithmeticCode(replace(model, spells=False), size)):
        texts = [code.write(number) for number in {0, size // 2, size - 1}]
        for words in (*texts, [], ["a"], ["zz"], ["a"] * 40, ["a"] * 60, ["\u00e9"]):
            number = code.number(words)
            assert number is None or (0 <= number < size and code.write(number) == words[:40])
            numbered += number is not None
    assert numbered


@pytest.mark.parametrize("words", [[""], ["show", "me", ""], ["", "show"]])
def test_an_end_is_no_word_of_a_text(codec: Codec, words: list[str]) -> None:
    assert ArithmeticCode(codec.model, 2**41).number(words) is None


def test_a_codec_that_spells_nothing_describes_every_record() -> None:
    """Private texts that share no word leave no letters; what is made before the first record must not need any."""
    codec, size = Codec.of(["hello world you", "people are different", "nothing shared here"], public=False), 748_196
    assert codec.model.spelling.alphabet == ""
    assert all(0 <= number < size for number in codec.describe(["hello there", "", "zz"], size=size))


def test_whatever_a_word_to_spell_needs_is_made_before_the_first_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the letters that are tried are a word of the vocabulary: else the first unknown word would take longer."""
    codec, spelled = Codec.of(["ab cd", "ab cd", "ba dc ab", "ab dc"], public=True), []
    letters, spans = codec.model.spelling.alphabet[:2], UnknownWords.spans
    monkeypatch.setattr(UnknownWords, "spans", lambda self, word: spelled.append(word) or spans(self, word))
    codec._sized(2**41)
    assert letters in codec.model.vocabulary.numbers
    assert letters in spelled


def test_unknown_names_are_spelled(codec: Codec) -> None:
    text = "show me flights from boston to kyzburg"
    assert codec.write(codec.describe([text], size=2**120), size=2**120) == [text]


@pytest.mark.parametrize("size", [1_000, 2**41])
def test_texts_and_numbers_of_the_code_go_both_ways(codec: Codec, size: int) -> None:
    """The text of a number has a number that writes it, unless it was cut, or spelled a word that needs no spelling."""
    code, rng, found = ArithmeticCode(codec.model, size), random.Random(1), 0
    for number in (rng.randrange(size) for _ in range(40)):
        words = code.write(number)
        back = code.number(words)
        assert back is None or code.write(back) == words
        found += back is not None
    assert found > 30


@pytest.mark.parametrize("bits", [17, 25])
def test_texts_of_some_more_bits_than_the_numbers_have_one(codec: Codec, texts: list[str], bits: int) -> None:
    """Each attempt is a chance: with one alone, which is the planted defect, fewer texts have a number, and plain points fewer."""
    rows = [words_of(text) for text in travel.texts(600, start=1000) if text not in texts]
    found = {}
    for name, attribute, value in (
        ("bands", "BAND_RATIO", 64),
        ("one attempt", "MAX_ATTEMPTS", 1),
        ("points", "PLAIN_SIZE", 1 << 200),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text_code, attribute, value)
            code = ArithmeticCode(codec.model, 1 << bits)
            numbers = [code.number(row) for row in rows]
            written = [
                (tuple(code.write(number)), row)
                for number, row in zip(numbers, rows, strict=True)
                if number is not None
            ]
        assert all(text == row for text, row in written)
        found[name] = len(written)
    assert found["bands"] > 1.1 * found["points"] > 0, found
    assert found["bands"] > found["one attempt"]


@pytest.mark.parametrize("size", [4_097, 2**19, 2**41])
def test_bands_hold_every_number_once_and_write_what_they_say(codec: Codec, size: int) -> None:
    code = ArithmeticCode(codec.model, size)
    assert [band.first for band in code.bands] == [
        sum(band.size for band in code.bands[:i]) for i in range(len(code.bands))
    ]
    assert sum(band.size for band in code.bands) == size
    assert all(wider.narrow == band.wide for band, wider in itertools.pairwise(code.bands))
    assert code.bands[-1].wide > code.line
    band, inside = code.bands[0], 0
    for place in range(0, band.size, band.size // 50):
        found = code.interval(code.write(band.first + place))
        inside += found is not None and found.band == band
    assert inside > 40  # of 51


def test_a_text_with_a_part_of_two_cells_always_has_a_number(codec: Codec) -> None:
    words = words_of("show me flights from boston to denver")
    wide = _just_wide_enough(codec, words)
    number = wide.number(words)
    assert number is not None
    assert tuple(wide.write(number)) == words


@pytest.mark.parametrize(
    "record",
    [
        "flights to boston " * 13 + "please",
        "from denver to " * 20,
        "show " + "boston" * 5,
        "show " + "boston" * 6,
        "a " * 39,
    ],
    ids=["40 words", "60 words", "30 letters", "36 letters", "39 words"],
)
def test_the_longest_texts_and_words_are_written_as_they_were_described_or_have_no_number(
    codec: Codec, record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading ends after so many words or letters, without an end: were one looked for, no point would do, and all be tried."""
    words, found, reads, first_inside = words_of(record), 0, [0], ArithmeticCode._first_inside

    def counted(self: ArithmeticCode, band: Band, place: int, attempts: int) -> tuple[int, list[str]]:
        reads[0] += 1
        return first_inside(self, band, place, attempts)

    for bits in (60, 120, 200, 400):
        code = ArithmeticCode(codec.model, 1 << bits)
        with monkeypatch.context() as patch:
            patch.setattr(ArithmeticCode, "_first_inside", counted)
            number = code.number(words)
        assert number is None or tuple(code.write(number)) == words
        found += number is not None
    assert (found, reads[0]) == (0, 0) if "boston" * 6 in record else found


def test_a_record_with_a_number_is_not_searched_for(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is most of the time that describing takes."""
    record = "show me flights from boston to denver on friday please"
    assert words_of(record) not in codec.utterances
    described = codec.describe([record], size=2**100)
    monkeypatch.setattr(BeamSearch, "near", None)
    assert codec.describe([record], size=2**100) == described
    assert codec.write(described, size=2**100) == [record]


def test_a_search_keeps_what_is_near_and_within_its_bits(codec: Codec) -> None:
    """And it says how far each text is: what it leaves out and puts in, each time."""
    record, search = words_of("show me flights from boston to denver on friday please"), codec._sized(2**41).search
    anywhere = [*search.near(record, bits=24)]
    limit = anywhere[len(anywhere) // 2].distance
    nearer = [*search.near(record, bits=24, within=limit)]
    assert anywhere[-1].distance >= limit > nearer[-1].distance
    assert nearer[0].distance <= anywhere[0].distance
    for found in (*anywhere, *nearer):
        assert found.cost <= 24 * 256
        assert found.distance >= codec.weigh.distance(record, found.words)


def test_behind_a_gap_or_an_inserted_word_counts_what_the_next_one_costs_more_than_in_the_record(codec: Codec) -> None:
    """By definition; an inserted word counts as a part of what follows it. Texts are in another order than without seams."""
    record, sized = words_of("show flights from boston denver on friday"), codec._sized(2**41)
    model, weigh = sized.model, sized.search.weigh

    def added(word: str) -> int:
        return ANYWHERE if word in record else 7  # so that a text shows which of its words were inserted

    def weighed(words: Sequence[str]) -> tuple[int, int, int]:
        """Return the weight of left-out, added and seam words, and the number of words added dearly with none left out."""
        usual, place, seams, before, between = costs(model, record), 0, 0, 0, 0
        for word, cost in zip([*words, END_WORD], costs(model, words), strict=True):
            if word not in (*record, END_WORD):
                before += cost
                continue
            own = len(record) if word == END_WORD else record.index(word)
            if own > place or before:
                seams += SEAM_COST * max(before + cost - usual[own], 0) // UNIT
            between += own == place and before > 0 and before + cost > usual[own]
            place, before = own + 1, 0
        put_in = len([word for word in words if word not in record])
        left_out = sum(weigh(word) for word in record if word not in words)
        return MISSING_COST * left_out + 7 * put_in, seams, between

    def near(seam: int) -> list[Found]:
        search = BeamSearch(model, weigh=weigh, seam=seam)
        search._added = np.array([*map(added, model.vocabulary.words)])
        return [*search.near(record, bits=40)]

    with_seams, without = near(SEAM_COST), near(0)
    assert [found.distance for found in with_seams] == [sum(weighed(found.words)[:2]) for found in with_seams]
    assert [found.seams for found in with_seams] == [weighed(found.words)[1] for found in with_seams]
    assert [found.distance for found in without] == [weighed(found.words)[0] for found in without]
    assert sum(weighed(found.words)[2] > 0 for found in with_seams) > 0
    assert sum(a.words != b.words for a, b in zip(with_seams, without, strict=False)) > 5


def costs(model: LanguageModel, words: Sequence[str]) -> list[int]:
    """Return the cost of each of a text's words, and of its end."""
    numbers = model.vocabulary.encode(words)
    shares = [span(model.tables, after(model, numbers[:place]), number) for place, number in enumerate(numbers)]
    return [round(UNIT * (30 - math.log2(high - low))) for low, high in shares]


def test_nothing_is_remembered_from_one_record_or_number_to_the_next(codec: Codec, others: list[str]) -> None:
    """Time would tell what was described before."""
    size = 2**41
    codec.write(codec.describe(others[:1], size=size), size=size)
    before = entries(codec)
    codec.write(codec.describe(others, size=size), size=size)
    assert grown(before, entries(codec)) == {}


def test_machine_code_holds_no_table_afterwards(codec: Codec, others: list[str]) -> None:
    """Most of it counts no references: what it took and did not give back would stay in memory for ever."""
    size = 2**41
    codec.write(codec.describe(others[:1], size=size), size=size)
    sized = codec._sized(size)
    tables = [*sized.model.tables.words, *sized.model.tables.classes]
    before = [*map(sys.getrefcount, tables)]
    codec.write(codec.describe(others, size=size), size=size)
    assert [*map(sys.getrefcount, tables)] == before


def test_threads_share_nothing_that_a_record_changes(codec: Codec, others: list[str]) -> None:
    """A page answers several people at once: the arrays of code and search stay as they are, so that no answer sees another's."""
    sized = codec._sized(2**41)

    def held() -> bytes:
        parts = (vars(sized.code), vars(sized.search))
        return pickle.dumps([[value for name, value in part.items() if name != "model"] for part in parts])

    codec.write(codec.describe(others[:1], size=2**41), size=2**41)
    before = held()
    codec.write(codec.describe(others, size=2**41), size=2**41)
    assert held() == before


def test_a_shifted_point_is_noticed(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted defect: writing reads a point two cells further than describing does."""
    words = words_of("show me flights from boston to denver")
    code = _just_wide_enough(codec, words)
    number = code.number(words)
    assert number is not None
    right = ArithmeticCode._point
    monkeypatch.setattr(
        ArithmeticCode, "_point", lambda self, band, place, n: right(self, band, (place + 2) % band.size, n)
    )
    assert tuple(code.write(number)) != words


def _just_wide_enough(codec: Codec, words: tuple[str, ...]) -> ArithmeticCode:
    """The code with the fewest numbers, in bits, in which a text's part is two cells wide."""
    for bits in range(13, 200):
        code = ArithmeticCode(codec.model, 1 << bits)
        found = code.interval(words)
        if found and found.width * found.band.size >= 2 * code.line:
            return code
    raise AssertionError


def test_a_codec_of_private_text_keeps_no_utterance(texts: list[str], tmp_path: Path) -> None:
    private = Codec.of([*texts, "my secret qwzzk is a sentence that nobuddy else said"], public=False)
    save_codec(private, tmp_path)
    stored = json.loads((tmp_path / DESCRIPTION).read_text("utf-8"))
    assert stored["utterances"] == []
    assert not {"secret", "qwzzk", "nobuddy"} & {*stored["words"], *stored["holders"]}
    assert min(private.model.words.counts) >= 2
    assert private.write(private.describe(["a flight to boston"], size=300), size=300)


def test_a_codec_of_private_text_keeps_nothing_of_a_sentence_that_one_text_alone_holds_however_often(
    texts: list[str],
) -> None:
    private = Codec.of([*texts, *["please call qwzzk about boston boston boston boston"] * 20], public=False)
    assert not {"qwzzk"} & {*private.model.vocabulary.words, *private.weigh.holders}
    numbers = private.model.vocabulary.numbers
    grams = {tuple(row) for row in private.model.words.rows.tolist()}
    assert (numbers["boston"],) * 4 not in grams
    assert grams


def test_a_codec_of_private_text_does_not_spell_words_that_were_seen_once(texts: list[str]) -> None:
    """The letters' table is read like a stranger would: a name that stands in one record must not be in it."""
    private = Codec.of([*texts, "call wojciechøwski"], public=False)
    letters = (
        "\n" + private.model.spelling.alphabet + " "
    )  # by number: a word's end, the letters, what is before the start
    grams = {"".join(letters[number] for number in row) for row in private.model.spelling.letters.rows.tolist()}
    assert "ø" not in private.model.spelling.alphabet
    assert "   bos" in grams  # of a word that many say
    assert not {gram for gram in grams if "wojc" in gram or "echow" in gram}


def test_a_codec_from_files_describes_as_the_one_that_was_saved(texts: list[str], tmp_path: Path) -> None:
    """Words of a single text included: one digest must not stand for two codecs."""
    once = ["zebra", "quokka", "wombat", "numbat", "dingo"]
    saved = Codec.of([*texts, *(f"flights to {word} please" for word in once)], public=True)
    save_codec(saved, tmp_path)
    loaded = load_codec(tmp_path)
    assert [loaded.weigh(word) for word in (*once, "boston")] == [saved.weigh(word) for word in (*once, "boston")]
    records = [f"{word} flights to boston from {word}" for word in once]
    assert loaded.describe(records, size=2**41) == saved.describe(records, size=2**41)


def test_copies_and_pickles_hold_nothing_of_records_that_were_described(texts: list[str]) -> None:
    codec = Codec.of(texts, public=True)
    before = pickle.dumps(codec)
    record = ["call wojciechowski about flights to boston"]
    described = codec.describe(record, size=2**41)
    for copied in (pickle.loads(pickle.dumps(codec)), copy.deepcopy(codec)):
        assert copied.describe(record, size=2**41) == described
    after = pickle.dumps(codec)
    assert b"wojciechowski" not in after
    assert len(after) == len(before)


def damage(codec: Codec, directory: Path, field: str, value: object) -> None:
    save_codec(codec, directory)
    stored = json.loads((directory / DESCRIPTION).read_text("utf-8"))
    (directory / DESCRIPTION).write_text(json.dumps({**stored, field: value}), "utf-8")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format_version", 2),
        ("words", ["", "\x00", "a", "a"]),
        ("words", ["", "\x00", "a\nb"]),
        ("classes", [0, 1, 7]),
        ("counts", [0, -1]),
        ("alphabet", "aa"),
        ("texts", "many"),
        ("holders", {"a": 1 << 40}),
        ("utterances", ["two  spaces"]),
        ("utterances", ["a " * 100]),
    ],
)
def test_what_no_codec_writes_is_a_model_error(codec: Codec, tmp_path: Path, field: str, value: object) -> None:
    damage(codec, tmp_path, field, value)
    with pytest.raises(ModelError, match="corrupt"):
        load_codec(tmp_path)


def test_tables_are_checked(codec: Codec, tmp_path: Path) -> None:
    save_codec(codec, tmp_path)
    tables = load_file(tmp_path / TABLES)
    narrow = {**tables, "words": tables["words"][:, 1:]}
    for spoiled, said in (
        ({**tables, "words": tables["words"] + 10_000}, "corrupt"),
        (narrow, "do not fit"),
        ({}, "do not fit"),
    ):
        save_file({name: table.contiguous() for name, table in spoiled.items()}, tmp_path / TABLES)
        with pytest.raises(ModelError, match=said):
            load_codec(tmp_path)
    (tmp_path / TABLES).unlink()
    with pytest.raises(ModelError, match=TABLES):
        load_codec(tmp_path)


@pytest.mark.parametrize("value", [-1, 37, True, "0"])
def test_a_number_out_of_range_is_refused(codec: Codec, value: object) -> None:
    with pytest.raises(ConfigurationError, match="descriptions must be integers from 0 to 36"):
        codec.write([0, value], size=37)  # type: ignore[list-item]


def test_sizes_and_texts_are_checked(codec: Codec) -> None:
    with pytest.raises(ConfigurationError, match="size must be at least 2"):
        codec.describe(["a"], size=1)
    with pytest.raises(DataError, match="list of strings"):
        codec.describe("a flight", size=8)


def test_no_text_holds_the_marks_of_the_model() -> None:
    assert END_WORD not in words_of("a  b")
    assert UNKNOWN_WORD not in words_of("a \x00 b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('say "Fare (q)," a.m.', ("say", '"', "fare", "(", "q", ")", ",", '"', "a.m", ".")),
        ("a\tb\x7fc\nd", ("a", "b", "c", "d")),
        ("CAFE\u0301 zwei\u200bteile", ("caf\xe9", "zwei", "teile")),
    ],
)
def test_words_are_what_stands_between_spaces_control_characters_and_marks(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words


def test_a_model_that_does_not_spell_shares_all_among_known_words(codec: Codec) -> None:
    plain = replace(codec.model, spells=False)
    first = after(plain, [])
    shares = [span(plain.tables, first, number) for number in range(len(plain.vocabulary.words))]
    assert [low for low, _ in shares] == [0, *(high for _, high in shares[:-1])]
    assert shares[-1][1] == 2**30
    unknown = plain.vocabulary.numbers[UNKNOWN_WORD]
    assert shares[unknown][1] - shares[unknown][0] == 1
    assert shares[0][1] > span(codec.model.tables, after(codec.model, []), 0)[1]
    for point in range(0, 2**30, 2**30 // 97):
        symbol, low, high = find(plain.tables, first, point)
        assert (low, high) == shares[symbol]
        assert low <= point < high
