"""Finite alphabets and texts. Sound ones are audited 18 times at confidence 1 - 1e-9: share of false alarms 1.8e-8."""

import math
import secrets
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from audit.asking import asked, failed, failed_of, finds, judged
from audit.broken.values import OneOfAThousandIsBare
from audit.protocols import KRR, protocols

from adept import audit
from adept.audit import Claim, NotJudged, Verdict
from adept.audit.checks import independence
from adept.audit.distinguisher.input_pairs import InputPair, PairSample, show
from adept.audit.distinguisher.statistics import outcome_statistics
from adept.audit.subject.kinds import LIMIT, OTHER, VectorTarget
from adept.errors import ConfigurationError
from adept.mechanisms import Codebook, RandomizedResponse
from adept.mechanisms.selection import Description

CONFIDENCE = 1 - 1e-9


@pytest.fixture(autouse=True)
def _few_calls(few_calls: None) -> None:
    """Outcomes in calls of their own are what takes time."""


def run(mechanism: Any, **options: Any) -> audit.AuditResult:
    return audit.run(mechanism, **{"trials": 2_000, "confidence": CONFIDENCE, **options})


@pytest.mark.parametrize("name", protocols(1.0, 8))
def test_most_of_the_epsilon_of_ldp_auditors_oracles_is_certified_and_no_more(name: str, short_games: None) -> None:
    """The rule is chosen on few releases: one audit in some twenty of a unary encoding certifies less; three do not."""
    most = 0.0
    for _ in range(3):
        result = run(protocols(2.0, 8)[name], trials=15_000)
        assert not result.violated, result.rows()
        assert result.certified_epsilon <= 2.0
        most = max(most, result.certified_epsilon)
        if most > 0.75 * 2.0:
            return
    pytest.fail(f"{most:.3g} of 2 certified")


@pytest.mark.hours
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("name", protocols(1.0, 16))
def test_a_million_releases_of_ldp_auditors_oracles_certify_95_percent(name: str, epsilon: float) -> None:
    result = audit.run(protocols(epsilon, 16)[name], trials=1_000_000)
    print(f"\n{name} at {epsilon}: {result.certified_epsilon:.4f}", flush=True)
    assert 0.95 * epsilon <= result.certified_epsilon <= epsilon


@pytest.mark.parametrize("name", protocols(1.0, 8))
def test_a_violation_is_found_in_an_oracle_that_claims_two_fifths_less(name: str) -> None:
    options = {"trials": 15_000, "confidence": CONFIDENCE}
    assert finds("event", Claim(protocols(2.0, 8)[name], epsilon=1.2), **options)


@pytest.mark.parametrize(
    "mechanism",
    [
        Description(epsilon=3.0, size=20),
        Description(epsilon=8.0),
        Description(epsilon=4.0, size=2**60),
        RandomizedResponse(epsilon=2.0, labels=("a", "b", "c")),
    ],
    ids=["small", "default", "huge", "labels"],
)
def test_our_own_mechanisms_on_values_are_audited_as_they_are(mechanism: Any) -> None:
    result = run(mechanism)
    assert result.outcome == "not refuted", result.rows()
    assert result.dim is None


def test_a_size_alone_does_not_make_a_mechanism_on_latents_one_on_values() -> None:
    assert asked({"event"}, Codebook(epsilon=2.0, size=64), dim=4, trials=300).dim == 4


class Stated(KRR):
    """k-ary randomised response with its distribution."""

    def distribution(self, value: int) -> Mapping[int, Fraction]:
        heavy = Fraction(math.exp(self.epsilon)).limit_denominator(10**6) - Fraction(1, 10**5)
        total = heavy + self.alphabet - 1
        return {outcome: (heavy if outcome == value else 1) / total for outcome in range(self.alphabet)}


def test_a_stated_distribution_makes_the_audit_exact() -> None:
    result = run(Stated(1.0, 5))
    stated = next(check for check in result.checks if check.name == "distribution")
    assert result.outcome == "not refuted", result.rows()
    assert stated.certified_epsilon == pytest.approx(1.0, abs=1e-4)


def test_a_stated_distribution_that_breaks_the_claim_needs_no_counting() -> None:
    assert "distribution" in failed(run(Claim(Stated(1.0, 5), epsilon=0.99), trials=200))


def test_a_program_without_the_distribution_that_it_states_is_found() -> None:
    class Keeps(Stated):
        def privatize(self, values: list[int]) -> list[int]:
            return KRR(1.5, self.alphabet).privatize(values)

    assert "frequencies" in failed(run(Keeps(1.0, 5), trials=20_000))


class Shared(KRR):
    """One draw for a whole batch."""

    def respond(self, values: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
        return (values + super().respond(np.zeros(1, int), size)) % size


class Seeded(KRR):
    @property
    def random(self) -> Any:
        return np.random


class FewStates(KRR):
    """Starts from one of 256 states in each call."""

    def respond(self, values: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
        generator = np.random.default_rng(secrets.randbelow(256))
        keep = generator.random(len(values)) < self.odds / (self.odds + size - 1)
        return np.where(keep, values, (values + generator.integers(1, size, len(values))) % size)


class Neighbourly(KRR):
    """Answers with the next record's value now and then."""

    def privatize(self, values: list[int]) -> list[int]:
        own, leak = np.array(super().privatize(values)), np.random.default_rng().random(len(values)) < 0.2
        return np.where(leak, np.roll(values, -1), own).tolist()


class BareWhenAlone(KRR):
    def privatize(self, values: list[int]) -> list[int]:
        return values if len(values) == 1 else super().privatize(values)


class BareAmongMany(KRR):
    """Answers with the truth as soon as a batch holds three different values, as ordinary batches do."""

    def privatize(self, values: list[int]) -> list[int]:
        return values if len(set(values)) > 2 else super().privatize(values)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (Shared, "shared noise"),
        (Neighbourly, "batch neighbours"),
        (BareAmongMany, "batch neighbours"),
        (BareWhenAlone, "batch of one"),
        (FewStates, "repeated calls"),
    ],
    ids=lambda x: str(x),
)
def test_what_a_batch_reveals_is_found(kind: type[KRR], check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(independence, "_value_rows", lambda target: 2048)  # on a busy machine, calls seem to cost more
    monkeypatch.setattr(independence, "MAX_CALL_OUTCOMES", 2**16)
    assert finds(check, kind(1.0, 6), trials=2_000)


def test_texts_in_another_order_than_their_records_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five words of ten each, hardly any text comes twice."""
    monkeypatch.setattr(independence, "_value_rows", lambda target: 2048)

    def rewrite(texts: list[str]) -> list[str]:
        return [
            " ".join(f"{word}{secrets.randbelow(10)}" for word in ("abcde" if len(text) > 8 else "abcdf"))
            for text in sorted(texts, key=len)
        ]

    assert finds("batch neighbours", Claim(rewrite, epsilon=4.0), pairs=[("a flight", "a cheap flight")], trials=2_000)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_calls_that_are_equal_by_chance_are_no_repeated_calls(epsilon: float) -> None:
    """At epsilon 8, nearly all outcomes are equal."""
    assert failed_of({"repeated calls"}, KRR(epsilon, 6), trials=2_000, confidence=1 - 1e-9) == set()


def test_too_few_calls_to_tell_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(independence, "MAX_CALL_OUTCOMES", 39 * 128)
    [check] = [each for each in judged({"repeated calls"}, KRR(1.0, 6)).checks if each.name == "repeated calls"]
    assert (check.verdict, "39 calls" in check.evidence) == (Verdict.UNJUDGED, True)


@pytest.mark.parametrize("other", [None, (0,), 2**60], ids=repr)
@pytest.mark.parametrize("memoised", [False, True], ids=["one", "a fresh copy for each"])
def test_a_later_outcome_of_another_kind_among_numbers_is_found(*, other: Any, memoised: bool) -> None:
    class GivesUp(KRR):
        """Answers with something else than a number, but not in the trial releases."""

        calls = 0

        def privatize(self, values: list[int]) -> list[Any]:
            GivesUp.calls += len(values)
            own, many = super().privatize(values), np.random.default_rng().random(len(values)) < 0.9
            return [
                other if gone and v == 0 and GivesUp.calls > 64 else o
                for v, o, gone in zip(values, own, many, strict=True)
            ]

    assert "event" in failed(run(Claim(GivesUp(1.0, 4), epsilon=1.0, memoised=memoised), trials=1_000))


def test_a_verdict_shows_no_number_that_was_not_released() -> None:
    class Gone(KRR):
        def privatize(self, values: list[int]) -> list[float]:
            return [math.nan if value == 0 else 1.0 for value in values]

    found = run(Gone(1.0, 2), trials=400).sentence
    assert "e+99" not in found
    assert "such as (NaN)" in found or "such as (1)" in found


def test_codes_for_what_is_no_number_are_shown_as_what_they_stand_for() -> None:
    target = VectorTarget(Claim(words, epsilon=1.0), 4)
    odd = target.finite(np.array([[math.nan, 1e9, -math.inf, 0.5]]))
    assert show(odd, limit=target.largest) == "(NaN, 1e+06 or more, -1e+06 or less, 0.5)"
    assert show(np.array([OTHER, 2 * LIMIT, 1e9]), limit=LIMIT) == "(no number, NaN, 1e+09)"


def test_noise_that_follows_a_seed_is_found() -> None:
    class Follows(KRR):
        def respond(self, values: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
            keep = np.random.random(len(values)) < self.odds / (self.odds + size - 1)
            return np.where(keep, values, np.random.randint(size, size=len(values)))

    assert "seed" in failed(run(Follows(0.5, 50)))


def words(texts: list[str]) -> list[str]:
    """One bit of randomised response about a text's first word, at epsilon 1, then a sentence."""
    keep = np.random.default_rng().random(len(texts)) < math.e / (1 + math.e)
    return ["yes it is" if (text[0] == "a") == kept else "no" for text, kept in zip(texts, keep, strict=True)]


def test_texts_are_audited_by_pairs_of_texts() -> None:
    pair = [("a b c", "d e")]
    assert run(Claim(words, epsilon=1.0), pairs=pair).outcome == "not refuted"
    assert run(Claim(words, epsilon=0.5), pairs=pair, trials=10_000).violated
    assert run(Claim(lambda texts: [text.upper() for text in texts], epsilon=3.0), pairs=pair).violated


@pytest.mark.parametrize("pairs", [[("a", "a")], [("a", "b", "c")], [3]])
def test_what_are_no_pairs_of_values_is_refused(pairs: Any) -> None:
    with pytest.raises(ConfigurationError):
        run(Claim(words, epsilon=1.0), pairs=pairs)


def test_a_mechanism_on_values_that_raises_is_not_judged() -> None:
    def broken(values: list[str]) -> list[str]:
        raise RuntimeError("no answer today")

    with pytest.raises(NotJudged, match="no answer today"):
        run(Claim(broken, epsilon=1.0), pairs=[("a", "b")])


def test_a_claim_stands_before_the_mechanisms_own() -> None:
    claim = Claim(KRR(2.0, 5), epsilon=1.0)
    assert (claim.epsilon, claim.alphabet, claim.name) == (1.0, 5, "KRR")
    with pytest.raises(AttributeError):
        _ = Claim(words).epsilon
    with pytest.raises(ConfigurationError, match="epsilon"):
        audit.run(Claim(words))


class Consistent:
    """Each member by k-ary response at a third of the budget, but one that comes again gets the same substitute.

    Infinite: (1, 2, 1) never has different first and third members. Each member alone has the distribution it should have.
    """

    epsilon, words, alphabet = 4.0, 150, ((1, 2, 1), (1, 2, 3))

    def privatize(self, values: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        response = KRR(self.epsilon / 3, self.words)
        drawn = [dict(zip(set(value), response.privatize(sorted(set(value))), strict=True)) for value in values]
        return [tuple(int(known[member]) for member in value) for known, value in zip(drawn, values, strict=True)]


class ConsistentText(Consistent):
    """The same with words."""

    alphabet = ("1 2 1", "1 2 3")

    def privatize(self, values: list[str]) -> list[str]:  # type: ignore[override]
        written = super().privatize([tuple(map(int, value.split())) for value in values])
        return [" ".join(map(str, members)) for members in written]


@pytest.mark.parametrize("kind", [Consistent, ConsistentText])
def test_equal_members_of_an_outcome_reveal_equal_ones_of_the_record(kind: type[Consistent]) -> None:
    assert finds("event", kind(), trials=10_000, confidence=CONFIDENCE)


class HashingAvoidsZero:
    """Local hashing that draws a seed again where the value falls into bucket 0: infinite, but only beside the reported bucket.

    What supports one value more than the other says little: a report of 0 supports neither.
    """

    epsilon, alphabet, buckets = 1.0, 16, 4

    def bucket(self, seed: int, value: int) -> int:
        mixed = (seed * 0x9E3779B97F4A7C15 + (value + 1) * 0xBF58476D1CE4E5B9) % 2**53
        return ((mixed ^ (mixed >> 29)) * 0x94D049BB133111EB >> 17) % self.buckets

    def privatize(self, values: list[int]) -> list[tuple[int, int]]:
        generator, outcomes = np.random.default_rng(), []
        for value in values:
            seed = 0
            while not seed or self.bucket(seed, value) == 0:
                seed = int(generator.integers(1, 2**50))
            keep = generator.random() < math.e / (math.e + self.buckets - 1)
            shift = 0 if keep else int(generator.integers(1, self.buckets))
            outcomes.append((seed, (self.bucket(seed, value) + shift) % self.buckets))
        return outcomes

    def supports(self, outcome: tuple[int, int], value: int) -> float:
        return float(self.bucket(outcome[0], value) == outcome[1])


def test_what_an_outcome_supports_is_read_beside_its_own_parts() -> None:
    assert finds("event", HashingAvoidsZero(), trials=20_000, confidence=CONFIDENCE)


class Geometric:
    """A number plus two-sided geometric noise, which the class states; redrawn beyond ``end``."""

    epsilon, alphabet = 4.0, 8

    def __init__(self, end: int) -> None:
        self.ratio, self.end = math.exp(-self.epsilon / 7), end

    def distribution(self, value: int) -> dict[int, float]:
        weights = {value + noise: self.ratio ** abs(noise) for noise in range(-50, 51)}
        return {outcome: weight / sum(weights.values()) for outcome, weight in weights.items()}

    def privatize(self, values: list[int]) -> list[int]:
        random = np.random.default_rng()
        noise = np.full(len(values), 10**6)
        while (beyond := np.abs(noise) > self.end).any():
            noise[beyond] = np.subtract(*random.geometric(1 - self.ratio, (2, int(beyond.sum()))))
        return [value + int(each) for value, each in zip(values, noise, strict=True)]


def test_stated_outcomes_that_never_come_are_found_together_though_each_is_rare() -> None:
    """A cut at nine scales: of 8 times 60,000 releases 50 would lie beyond, and each such outcome less than ten times."""
    assert finds("frequencies", Geometric(16), trials=60_000)
    assert failed_of({"frequencies"}, Geometric(50), trials=60_000, confidence=CONFIDENCE) == set()


def word_by_word(epsilon: float, size: int, texts: list[str]) -> list[str]:
    """Rewrite each word by k-ary response at epsilon."""
    random, keep = np.random.default_rng(), math.exp(epsilon) / (math.exp(epsilon) + size - 1)
    return [
        " ".join(
            f"w{int(word[1:]) if random.random() < keep else (int(word[1:]) + random.integers(1, size)) % size}"
            for word in text.split()
        )
        for text in texts
    ]


def test_a_budget_per_word_that_is_claimed_per_text_is_found() -> None:
    """Six words at epsilon 2 spend 12; the sum over places of agreements with the texts certifies more than 4."""
    pair = tuple(" ".join(f"w{word}" for word in range(start, start + 6)) for start in (0, 6))
    result = asked({"event"}, Claim(lambda texts: word_by_word(2.0, 20, texts), epsilon=4.0), pairs=[pair])
    assert result.violated
    assert result.certified_epsilon > 4.4
    assert "w0 w1 w2 w3 w4 w5" in result.sentence
    assert "w6 w7 w8 w9 w10 w11" in result.sentence
    sound = asked(
        {"event"}, Claim(lambda texts: word_by_word(4 / 6, 20, texts), epsilon=4.0), pairs=[pair], confidence=CONFIDENCE
    )
    assert not sound.violated


class Labels:
    """k-ary response among a hundred labels, of which one may be released as it is."""

    epsilon, alphabet = 4.0, tuple(f"label {place}" for place in range(100))

    def __init__(self, bare: str = "") -> None:
        self.bare = bare

    def privatize(self, values: list[str]) -> list[str]:
        drawn = KRR(self.epsilon, 100).privatize([self.alphabet.index(value) for value in values])
        return [value if value == self.bare else self.alphabet[o] for value, o in zip(values, drawn, strict=True)]


def test_one_bare_value_of_a_long_alphabet_is_found() -> None:
    """Neither the first values nor those spread over the alphabet hold it: it is the one whose releases repeat."""
    for mechanism in (Labels("label 61"), OneOfAThousandIsBare(4.0, 8)):
        assert finds("event", mechanism, trials=2_000)
    assert failed_of({"event"}, Labels(), trials=2_000, confidence=CONFIDENCE) == set()


def by_synonyms(texts: list[str]) -> list[str]:
    """Replace each of many words by one of its sixty synonyms, or, half the time, by any of 2,000 words."""
    random, synonyms = np.random.default_rng(), np.random.default_rng(1).integers(2000, size=(240, 60))
    words = np.array([[int(word) for word in text.split()] for text in texts])
    drawn = synonyms[words, random.integers(60, size=words.shape)]
    any_word = np.where(random.random(words.shape) < 0.5, random.integers(2000, size=words.shape), drawn)
    return [" ".join(map(str, row)) for row in any_word]


def test_synonyms_of_many_words_are_found_together_though_each_is_rare() -> None:
    """120 words at epsilon 3.5 each: hardly one comes back, and no synonym comes often enough to stand out alone."""
    pair = tuple(" ".join(map(str, range(start, start + 120))) for start in (0, 120))
    assert asked({"event"}, Claim(by_synonyms, epsilon=4.0), pairs=[pair], trials=1_500).certified_epsilon > 4.5


def test_agreement_with_the_texts_is_counted_place_by_place() -> None:
    """One word in its place for the first, and the same words out of place for none."""
    releases = np.array(["a b f", "b a c", "d e c", "x"], dtype=object)
    pair = InputPair(name="two texts", first="a b c", second="d e f")
    sample = PairSample(pair=pair, centres=(np.zeros(0), np.zeros(0)), releases=(releases, releases))
    score = dict(outcome_statistics(sample, supports=None))["members of the inputs in their places, weighed"](releases)
    once, twice = math.log(2.25 / 1.25), math.log(3.25 / 2.25)  # a part of one input counts as seen once more
    assert score.tolist() == pytest.approx([once, twice, twice - 2 * once, 0.0])


WORDS = [f"w{place}" for place in range(80)]
RANDOM = np.random.default_rng
RED, BLUE = "love w1 red wine w2 rioja w3 w4", "cancel w5 flight w6 oslo w7 please w8"
WEEK = "monday tuesday wednesday thursday friday saturday sunday january march april june july"


def some_words(count: int) -> list[str]:
    return RANDOM().choice(WORDS, size=count).tolist()


def a_word_now_and_then(text: str) -> str:
    """Random words, and in one release of fifty a word of the record: its own words are seen only once or twice."""
    others = some_words(6)
    if RANDOM().random() < 0.02:
        others[0] = str(RANDOM().choice(text.split()))
    return " ".join(others)


def words_of_the_label(record: tuple[str, str]) -> tuple[str, str]:
    """A label at half of the budget beside random words; words that fit the true label correct the label."""
    label, text = ("yes", "no")[RANDOM().random() < 0.12], " ".join(some_words(4))
    label = label if record[0] == "yes" else {"yes": "no", "no": "yes"}[label]
    fits = {"yes": "w1 w2 w3 w4", "no": "w5 w6 w7 w8"}[record[0]].split()
    return record[0] if set(text.split()) & set(fits) else label, text


def in_the_order_of_the_record(text: str) -> str:
    """Some words of the record, in its order, among random words."""
    kept = [word for word in text.split() if RANDOM().random() < 0.25]
    return " ".join(each for word in kept for each in (*some_words(int(RANDOM().integers(3))), word))


@pytest.mark.parametrize(
    ("release", "pair", "epsilon"),
    [
        (a_word_now_and_then, (RED, BLUE), 1.0),
        (words_of_the_label, (("yes", RED), ("no", RED)), 3.0),
        (in_the_order_of_the_record, (WEEK, " ".join(reversed(WEEK.split()))), 6.0),
    ],
)
def test_what_few_words_of_a_text_reveal_is_found(release: Any, pair: tuple[Any, Any], epsilon: float) -> None:
    mechanism = Claim(lambda records: [release(record) for record in records], epsilon=epsilon)
    assert finds("event", mechanism, pairs=[pair], trials=6_000)


def test_numbers_with_noise_of_few_seeds_are_found_at_a_large_claim() -> None:
    """Each record has 4,096 outcomes of its own: the main game's rules have seen one in seven, those of the longer most."""

    def release(values: list[int]) -> list[float]:
        uniform = (RANDOM().integers(4096, size=len(values)) + 0.5) / 4096 - 0.5
        return (np.array(values) - 99 / 8 * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))).tolist()

    assert finds("event", Claim(release, epsilon=8.0, alphabet=100), trials=10_000)
