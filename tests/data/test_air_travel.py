"""The bundled corpus is deterministic, leak-free, varied, skewed as declared, and hard enough for a test."""

import hashlib
import os
import random
import re
import subprocess
import sys
import tomllib
from collections import Counter
from itertools import chain, combinations, pairwise

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from adept.data.air_travel import INTENTS, Utterance, generate
from adept.data.air_travel.generator import GRAMMAR_FILE, MAX_TOKENS, SHARES, split_of
from adept.data.air_travel.grammar import Grammar
from adept.errors import ConfigurationError

SPLITS = ("train", "validation", "test")

FINGERPRINT = """
import hashlib
from adept.data.air_travel import generate
print(hashlib.sha256(repr(generate(seed=3, train=300, validation=30, test=50)).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[Utterance]]:
    return generate()


def texts(utterances: list[Utterance]) -> set[str]:
    return {utterance.text for utterance in utterances}


# Determinism.


def test_the_same_seed_gives_the_same_corpus(corpus):
    assert generate(seed=0) == corpus


def test_another_seed_gives_another_corpus(corpus):
    assert generate(seed=1)["train"] != corpus["train"]


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_corpus_does_not_depend_on_the_process(hash_seed):
    here = repr(generate(seed=3, train=300, validation=30, test=50))
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    there = subprocess.run(
        [sys.executable, "-c", FINGERPRINT], env=environment, capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


def test_the_grammar_says_what_it_said_when_tables_were_measured():
    """Changing the grammar changes every figure that was measured on its text: measure again, then change this digest."""
    said = generate(seed=3, train=300, validation=30, test=50)
    assert hashlib.sha256(repr(said).encode()).hexdigest()[:16] == "0e9e92786ad7cca8"


# Splits and labels.


def test_the_splits_have_the_default_sizes(corpus):
    assert {split: len(utterances) for split, utterances in corpus.items()} == {
        "train": 6000,
        "validation": 600,
        "test": 1000,
    }


def test_no_text_is_in_two_splits(corpus):
    for one, other in combinations(SPLITS, 2):
        assert not texts(corpus[one]) & texts(corpus[other])


def test_no_evaluation_text_is_a_training_text_of_another_seed_size_or_balance(corpus):
    other = generate(seed=1, train=4000, validation=0, test=0, balanced=True)
    assert not texts(other["train"]) & texts(corpus["validation"] + corpus["test"])


def test_the_hash_gives_each_split_its_share_of_the_texts():
    splits = Counter(split_of(f"text {number}") for number in range(20_000))
    for split, share in {"train": 0.75, "validation": 0.10, "test": 0.15}.items():
        # Four standard deviations; the texts are fixed, so that this passes or fails for good.
        assert splits[split] / 20_000 == pytest.approx(share, abs=4 * (share * (1 - share) / 20_000) ** 0.5)


def test_no_text_has_two_labels():
    everything = chain(*(chain(*generate(seed=seed).values()) for seed in range(3)))
    assert max(Counter(text for text, _ in set(everything)).values()) == 1


# Variety.


def test_the_training_split_has_at_least_600_words(corpus):
    assert len({word for utterance in corpus["train"] for word in utterance.text.split()}) >= 600


def test_words_are_lower_case_letters_and_apostrophes_between_single_spaces(corpus):
    for utterance in chain(*corpus.values()):
        assert re.fullmatch(r"[a-z']+( [a-z']+)*", utterance.text)


def test_lengths_reach_from_one_token_to_at_least_thirty_but_not_beyond_the_limit(corpus):
    lengths = [len(utterance.text.split()) for utterance in corpus["train"]]
    assert min(lengths) == 1
    assert 30 <= max(lengths) <= MAX_TOKENS
    assert 10 <= sum(lengths) / len(lengths) <= 12.5


def test_nearly_all_training_texts_are_distinct_but_some_repeat(corpus):
    assert 0.9 < len(texts(corpus["train"])) / len(corpus["train"]) < 1


def test_every_intent_has_many_texts_for_every_split():
    sizes = {"train": 300, "validation": 40, "test": 60}
    balanced = generate(**{split: size * len(INTENTS) for split, size in sizes.items()}, balanced=True)
    for split, size in sizes.items():
        distinct = Counter(intent for _, intent in set(balanced[split]))
        assert min(distinct[intent] for intent in INTENTS) >= 0.7 * size


def test_nobody_flies_from_a_city_to_itself(corpus):
    for text, _ in corpus["train"]:
        if route := re.search(r"\bfrom (\w+) to (\w+)$", text):
            assert route[1] != route[2]


# Shares.


def test_there_are_at_least_14_intents_in_order_of_falling_share():
    assert len(INTENTS) >= 14
    assert list(SHARES.values()) == sorted(SHARES.values(), reverse=True)
    assert sum(SHARES.values()) == pytest.approx(1)


@pytest.mark.parametrize("split", SPLITS)
def test_the_counts_of_a_default_split_follow_the_declared_shares_but_for_rounding(corpus, split):
    counts = Counter(utterance.intent for utterance in corpus[split])
    for intent in INTENTS:
        assert counts[intent] >= 1
        assert abs(counts[intent] - SHARES[intent] * len(corpus[split])) < 1


def test_a_balanced_corpus_has_equal_shares_but_for_rounding():
    balanced = generate(train=1000, validation=0, test=0, balanced=True)["train"]
    counts = Counter(utterance.intent for utterance in balanced)
    assert set(counts) == set(INTENTS)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_split_is_not_sorted_by_intent(corpus):
    changes = sum(one.intent != other.intent for one, other in pairwise(corpus["test"]))
    assert changes > 2 * len(INTENTS)


# Sizes.


@pytest.mark.parametrize("sizes", [(0, 0, 0), (1, 0, 0), (0, 0, 7), (17, 500, 3)])
@pytest.mark.parametrize("balanced", [False, True])
def test_any_sizes_can_be_had(sizes, balanced):
    corpus = generate(**dict(zip(SPLITS, sizes, strict=True)), balanced=balanced)
    assert tuple(len(corpus[split]) for split in SPLITS) == sizes


@pytest.mark.parametrize("name", ["seed", "train", "validation", "test"])
@pytest.mark.parametrize("value", [-1, 1.5, True, None])
def test_a_size_or_seed_that_is_not_a_non_negative_integer_is_refused(name, value):
    with pytest.raises(ConfigurationError, match=f"^{name} must be a non-negative integer, got {value}$"):
        generate(**{name: value})


# Difficulty.


def test_a_linear_classifier_is_far_better_than_the_majority_but_not_perfect(corpus):
    vectorizer = TfidfVectorizer(token_pattern=r"\S+")
    classifier = LogisticRegression(C=10, max_iter=1000)
    train_texts, train_intents = zip(*corpus["train"], strict=True)
    test_texts, actual = zip(*corpus["test"], strict=True)
    classifier.fit(vectorizer.fit_transform(train_texts), train_intents)
    predicted = classifier.predict(vectorizer.transform(test_texts))
    accuracy = sum(one == other for one, other in zip(actual, predicted, strict=True)) / len(actual)
    assert 0.93 < accuracy < 0.985
    assert 0.75 < f1_score(actual, predicted, average="macro") < accuracy - 0.02


# Grammar and word lists.


FILE = tomllib.loads(GRAMMAR_FILE.read_text("utf-8"))


@pytest.mark.parametrize("name", FILE["word_lists"])
def test_a_word_list_is_lower_case_and_free_of_duplicates(name):
    entries = FILE["word_lists"][name].split(",")
    ways = [" ".join(way.split()) for entry in entries for way in re.sub(r"/[\d.]+/", "", entry).split("|")]
    assert len(ways) == len(set(ways)) > 1
    for way in ways:
        assert re.fullmatch(r"[a-z']+( [a-z']+)*", way)


def test_every_rule_and_word_list_is_named_once_and_used():
    rules, word_lists = FILE["rules"], FILE["word_lists"]  # a TOML table refuses the same name twice
    used = set(re.findall(r"<(\w+)>", " ".join(rules.values())))
    assert not rules.keys() & word_lists.keys()
    assert (rules.keys() | word_lists.keys()) - used == {"opening", "closing"} | {f"ask_{intent}" for intent in INTENTS}


def test_alternatives_are_drawn_in_proportion_to_their_weights():
    grammar = Grammar({"answer": "yes | /3/ no [/4/ thanks]"}, {})
    rng = random.Random(0)
    answers = Counter(grammar.say("answer", rng) for _ in range(10_000))
    for answer, share in {"yes": 0.25, "no": 0.15, "no thanks": 0.6}.items():
        # Four standard deviations; the seed is fixed, so that this passes or fails for good.
        assert answers[answer] / 10_000 == pytest.approx(share, abs=4 * (share * (1 - share) / 10_000) ** 0.5)


def test_a_word_list_is_used_up_before_it_repeats_itself():
    grammar = Grammar({"trip": "<city> <city> <city>"}, {"city": ("rome | roma", "oslo", "lima")})
    trips = [grammar.say("trip", random.Random(seed)).replace("roma", "rome") for seed in range(50)]
    assert {tuple(sorted(trip.split())) for trip in trips} == {("lima", "oslo", "rome")}


@pytest.mark.parametrize("rule", ["(yes | no", "yes | no)", "[yes)", "<nobody>", "<both>"])
def test_a_malformed_rule_or_an_unknown_or_ambiguous_name_is_refused(rule):
    with pytest.raises(ConfigurationError):
        Grammar({"rule": rule, "both": "a"} if rule == "<both>" else {"rule": rule}, {"both": ("a", "b")})
