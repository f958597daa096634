"""The games end to end on a tiny model: no bound is exceeded, what is copied is found, and words say the figures."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from adept.attacks import membership, reconstruction
from adept.attacks.attack_game import AttackGame, AttackRow, Rate, draw_rates, per_hundred
from adept.attacks.membership import TextReader
from adept.data.corpus import Corpus, DataConfig, load
from adept.errors import DataError
from adept.mechanisms import (
    Description,
    Gaussian,
    Identity,
    L1Laplace,
    Mechanism,
    OriginalLaplace,
    Random,
    SqrtNLaplace,
)
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

RECORDS, CONFIDENCE = 60, 1 - 1e-9


def game(rewriter: Rewriter, private: Corpus, public: Corpus, *, records: int = RECORDS) -> AttackGame:
    return AttackGame(rewriter=rewriter, private=private, public=public, records=records, confidence=CONFIDENCE)


@pytest.fixture(scope="module")
def splits() -> dict[str, Corpus]:
    return load(DataConfig(sizes=[120, 20, 80]))


@pytest.fixture(scope="module")
def opened(tiny_run: Path) -> dict[str, Rewriter]:
    model, tokenizer = load_model(tiny_run)
    kinds: list[Mechanism | Description] = [
        OriginalLaplace(epsilon=40.0),
        SqrtNLaplace(epsilon=4.0),
        Description(epsilon=6.0, size=64),
        Identity(),
        Random(),
    ]
    return {kind.name: Rewriter.for_measurement(model, tokenizer, mechanism=kind) for kind in kinds}


@pytest.mark.parametrize("name", ["original", "sqrt_n", "description", "identity", "random"])
def test_no_attack_is_beyond_the_bound_at_the_true_epsilon(
    name: str, opened: dict[str, Rewriter], splits: dict[str, Corpus]
) -> None:
    """False alarms: at most six intervals a mechanism, 1e-9 each."""
    rows, given_away = reconstruction.play(game(opened[name], splits["test"], splits["train"]), candidates=150)
    assert not any(row.beyond_bound for row in rows)
    by_name = {(row.knows, row.success): row for row in rows}
    assert {"pool", "crowd", "text"} <= {knows for knows, _ in by_name}
    pool = by_name["pool", "exact"]
    if name == "identity":
        assert pool.rate.value > 0.9
        assert [away.certainty for away in given_away] == [pytest.approx(1.0)] * 3
        assert {away.text for away in given_away} <= set(splits["test"].texts)
    if name == "description":
        assert pool.optimum is not None
        assert pool.rate.low <= pool.optimum <= pool.rate.high
        assert pool.optimum <= pool.bound
    if name in ("sqrt_n", "random"):
        assert pool.detail["beyond_claim"] == 0
    assert "<svg" in draw_rates(rows, opened[name].guarantee)


def test_odds_refute_no_claim_that_has_a_delta(tiny_run: Path, splits: dict[str, Corpus]) -> None:
    """Gaussian noise moves the odds of many candidates further than e^epsilon, rarely enough for its delta."""
    found, loaded = {}, load_model(tiny_run)
    for mechanism in (Gaussian(epsilon=0.01, delta=0.4), SqrtNLaplace(epsilon=0.01)):
        rewriter = Rewriter.for_measurement(*loaded, mechanism=mechanism)
        attacked = game(rewriter, splits["test"], splits["train"])
        found[mechanism.name], given_away = reconstruction.play(attacked, candidates=150, read_text=False)
        assert given_away
        assert not any(away.beyond_claim for away in given_away)
    for row in found["gaussian"]:
        assert row.detail["largest_odds"] > 0.01
        assert "beyond_claim" not in row.detail
    assert [row.detail["beyond_claim"] for row in found["sqrt_n"]] == [0, 0]


def test_slot_values_say_what_is_good_enough(opened: dict[str, Rewriter]) -> None:
    texts = [f"{verb} flights to {city}" for verb in ("show", "list", "find") for city in ("boston", "denver")]
    slots = [[("city", text.split()[-1])] for text in texts]
    private = Corpus(texts, None, slots)
    rows, _ = reconstruction.play(game(opened["identity"], private, private), candidates=6)
    enough = next(row for row in rows if row.success == "good enough")
    exact = next(row for row in rows if (row.knows, row.success) == ("pool", "exact"))
    assert (enough.without_release, exact.without_release) == (0.5, pytest.approx(1 / 6))
    assert enough.rate.value >= exact.rate.value


def test_a_bound_that_is_told_too_small_an_epsilon_is_refuted() -> None:
    """The judge can fail: the same rate beside a claim of 1 and a truth of 8."""
    row = AttackRow(
        attack="reconstruction",
        knows="pool",
        success="exact",
        rate=Rate.of(80, 100, confidence=0.99),
        without_release=0.01,
        bound=0.97,
        claimed_bound=0.03,
        optimum=None,
        detail={},
    )
    assert (row.refutes_claim, row.beyond_bound) == (True, False)
    assert not replace(row, claimed_bound=0.75).refutes_claim  # the interval has to lie above it as a whole
    assert "<svg" in draw_rates([row, replace(row, without_release=0.0)], Random().guarantee(8))
    assert row.words == (
        "Of 100 guesses 80 are right; 1.0 without any release, at most 97 are possible at the true epsilon, at most 3.0 at the "
        "claimed one: the claim is refuted."
    )
    assert row.to_dict()["rate"]["trials"] == 100
    assert (
        "at most 98 are possible at the true epsilon, at most 3.1 at the claimed"
        in replace(row, bound=0.9701, claimed_bound=0.0301).words
    )


@pytest.mark.parametrize(
    ("share", "up", "down"),
    [
        (0.754, "76", "75"),
        (0.0301, "3.1", "3.0"),
        (0.0001, "0.1", "0.0"),
        (0.9999, "100", "99"),
        (0.57, "57", "57"),
        (0.07, "7.0", "7.0"),
    ],
)
def test_a_bound_in_percent_is_rounded_outward(share: float, up: str, down: str) -> None:
    assert (per_hundred(share, lower=False), per_hundred(share, lower=True)) == (up, down)


def test_feasible_texts_are_new_and_made_of_what_public_text_says() -> None:
    public = ["show flights to boston", "list flights to denver", "show fares to denver"]
    written = reconstruction.write_feasible(public, 5, random.Random(0))
    assert written
    assert not set(written) & set(public)
    assert set(" ".join(written).split()) <= set(" ".join(public).split())
    pool = reconstruction.gather_candidates(["show flights to boston", "x"])
    texts = reconstruction.crowd_texts(pool, Corpus(public), 6, random.Random(0))
    assert len(texts) == len(set(texts))
    assert texts[:2] == pool.texts


def test_membership_is_seen_without_noise_and_not_without_a_record(
    opened: dict[str, Rewriter], splits: dict[str, Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rewriter that copies is found out, one that never looks is not; intervals of confidence 1 - 1e-9."""
    blind = membership.play(game(opened["random"], splits["test"], splits["train"]), models=8)
    assert blind[0].rate.low <= 0.5 <= blind[0].rate.high
    assert not any(row.beyond_bound for row in blind)
    monkeypatch.setattr(opened["identity"], "rewrite", lambda texts, **_: list(texts))
    seen = membership.play(game(opened["identity"], splits["test"], splits["train"]), models=8)
    assert seen[0].rate.value > 0.7
    assert [row.success for row in seen] == ["which of the two"]
    with pytest.raises(DataError, match="must have labels"):
        membership.play(game(opened["random"], Corpus(["a"]), splits["train"]), models=4)


def test_pairs_share_a_label_and_no_record() -> None:
    labels = ["a"] * 5 + ["b"] * 4
    pairs = membership.pair_records(labels, random.Random(0))
    assert len(pairs) == 4
    assert all(labels[first] == labels[second] for first, second in pairs)
    assert len({place for pair in pairs for place in pair}) == 8


def test_the_area_counts_ties_half() -> None:
    assert membership.area(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 1.0
    assert membership.area(np.array([1.0, 1.0]), np.array([1.0])) == 0.5


def test_an_attribute_is_read_off_what_is_copied_and_not_off_noise(
    opened: dict[str, Rewriter], splits: dict[str, Corpus]
) -> None:
    rows = {
        name: reconstruction.play_attribute(game(opened[name], splits["test"], splits["train"]), attribute="label")
        for name in ("identity", "random", "description")
    }
    assert [row.knows for row in rows["random"]] == ["static", "adaptive", "release"]
    assert not any(row.beyond_bound for found in rows.values() for row in found)
    assert rows["identity"][2].rate.value > 0.9
    assert rows["description"][2].optimum is not None
    assert rows["description"][2].rate.low <= rows["description"][2].optimum <= rows["description"][2].rate.high


def test_an_attribute_is_guessed_by_meaning_where_no_word_is_shared(
    opened: dict[str, Rewriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    meals, trips = ["order a pizza", "cook some soup"], ["fly to boston", "book a plane", "catch my flight"]
    public = Corpus([*meals, *trips] * 4, [*["meal"] * 2, *["trip"] * 3] * 4)
    private, rewriter = Corpus(["fares to denver", "show flights"], ["meal", "trip"]), opened["identity"]
    own, said = rewriter.encode(private.texts), ["spaghetti with cheese", "airline tickets"]

    def write(rows: torch.Tensor, samples: int = 1) -> list[tuple[str, None]]:
        return [(said[place], None) for place in torch.cdist(rows, own).argmin(dim=1).tolist()]

    monkeypatch.setattr(rewriter, "write", write)
    [static, *_] = reconstruction.play_attribute(game(rewriter, private, public), attribute="label")
    assert static.rate.value == 1


def test_a_slot_is_an_attribute_by_its_name() -> None:
    corpus = Corpus(["to boston", "hello"], None, [[("toloc", "boston")], []])
    assert reconstruction.read_attribute(corpus, "toloc") == ["boston", "none"]
    with pytest.raises(DataError, match="the slots are toloc"):
        reconstruction.read_attribute(corpus, "fromloc")
    with pytest.raises(DataError, match="must have labels"):
        reconstruction.read_attribute(corpus, "label")


def test_a_reader_of_one_class_needs_no_training() -> None:
    reader = TextReader(["a", "b"], ["x", "x"])
    assert reader.confidence(["c"], ["x"])[0] < 0


def test_l1_models_are_attacked_too(tiny_l1_run: Path, splits: dict[str, Corpus]) -> None:
    rewriter = Rewriter.for_measurement(*load_model(tiny_l1_run), mechanism=L1Laplace(epsilon=2.0))
    rows, _ = reconstruction.play(game(rewriter, splits["test"], splits["train"], records=30), candidates=100)
    assert rows[0].detail["beyond_claim"] == 0
