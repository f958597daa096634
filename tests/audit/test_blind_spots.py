"""Defects that audits did not see, each planted once; sound mechanisms are audited at confidence 1 - 1e-9 (share 4e-9)."""

import re
from typing import Any

import numpy as np
import pytest
from audit.asking import asked, failed, failed_of, finds, shorten_games
from audit.protocols import KRR
from audit.test_violation_kinds import Half, NaNAlone, Own, ball, judged

from adept.audit import Claim, JointReports, Verdict, auditor, stats
from adept.audit.checks import declarations
from adept.audit.checks.declarations import find_tails
from adept.audit.distinguisher.input_pairs import value_pairs
from adept.audit.result import Check
from adept.audit.stats import GameCounts

EPSILON, CONFIDENCE = 4.0, 1 - 1e-9


class Gaussian(Own):
    """Gaussian noise under a pure claim."""

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma

    def privatize(self, x: Any) -> Any:
        return ball(x) + np.random.default_rng().normal(0, self.sigma, np.shape(x))


def test_noise_that_looks_gaussian_stands_in_the_verdict_of_a_pure_claim() -> None:
    """The textbook's sigma for delta 1e-5: no test of so few releases can refute it.

    Gaussian noise does not look Gaussian in up to one of fifty audits (`looks_gaussian`), so up to six audits are made.
    """
    assert any(
        "the shape of a Gaussian" in first and "trials would certify" in first
        for first in (verdict_of_a_pure_claim() for _ in range(6))
    )


def verdict_of_a_pure_claim() -> str:
    result = judged(Gaussian(2.42), "event", "Gaussian noise", dim=8, trials=3_000)
    assert not result.violated
    return result.sentence.partition("strongest evidence")[0]


def test_gaussian_noise_under_a_pure_claim_is_refuted_in_its_tails() -> None:
    """It does not look Gaussian in up to one of fifty audits; a game has the rounds that suffice with much bad luck."""
    options = {"dim": 8, "trials": 6_000}
    assert finds("Gaussian noise", Gaussian(1.0), **options)
    assert failed_of({"Gaussian noise"}, Own(), **options, confidence=CONFIDENCE) == set()


def test_the_game_in_the_tails_is_planned_and_certified_at_the_error_of_its_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rounds come at a threshold that is stood in for, so what is seen is what certifies them.

    Up to six audits are made, because Gaussian noise does not look Gaussian in up to one of fifty.
    """
    planned, certifying = [], []

    def plan(ratio: float, *, epsilon: float, alpha: float) -> tuple[float, int]:
        planned.append((epsilon, alpha))
        return 0.5, 1_001

    def record(counts: GameCounts, evidence: str, **options: float) -> Check:
        certifying.append((counts, options))
        return Check.of(failed=False, evidence=evidence)

    monkeypatch.setattr(declarations, "find_tails", plan)
    monkeypatch.setattr(stats, "certified", record)
    [question] = [row for row in auditor.OF_VECTORS if row.name == "Gaussian noise"]
    for _ in range(6):
        if not planned:
            judged(Gaussian(1.0), "Gaussian noise", dim=8, trials=3_000, confidence=0.98)
    alpha = pytest.approx(0.02 * question.share)
    assert planned == [(EPSILON, alpha)]
    [(counts, options)] = certifying
    assert options == {"epsilon": EPSILON, "delta": 0.0, "alpha": alpha}
    assert counts.rounds == 1_001
    assert counts.right > 3 * counts.wrong > 0  # half a deviation beyond the middle of records at distance 2


def test_the_rule_in_the_tails_needs_more_rounds_for_more_noise() -> None:
    few, many = (find_tails(2 / sigma, epsilon=EPSILON, alpha=1e-5)[1] for sigma in (0.5, 1.5))
    assert few < 2_000 < 100_000 < many < find_tails(0.5, epsilon=EPSILON, alpha=1e-5)[1]


class NaNAndHalf(NaNAlone, Half):
    """Passes NaN on, and has half of the noise."""


def test_nan_does_not_hide_what_else_is_wrong() -> None:
    result = judged(NaNAndHalf(), "event, dimension 1", "finiteness", trials=8_000)
    assert failed(result) == {"event, dimension 1", "finiteness"}
    assert result.kinds["distribution"] == result.kinds["floating point"] == "violated"
    assert "Also violated: finiteness (floating point): outputs NaN for NaN, " in result.sentence
    assert "outputs NaN for NaN" in judged(NaNAlone(), "event", "finiteness").sentence


class MemoisedUnderRounding(Own):
    """Keeps its noise for a cell of the record, and releases the record itself with it."""

    memoised, digits = True, 1

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}

    def privatize(self, x: Any) -> Any:
        return np.stack([self.answer(row) for row in ball(x)])

    def answer(self, row: Any) -> Any:
        noise = Own.privatize(self, np.zeros((1, len(row))))[0]
        return row + self.kept.setdefault(tuple(np.round(row, self.digits)), noise)


class Finer(MemoisedUnderRounding):
    digits = 3


class MemoisedCells(MemoisedUnderRounding):
    """Sound: the cell is released, whatever the record in it."""

    def answer(self, row: Any) -> Any:
        return super().answer(np.round(row, 1))


@pytest.mark.parametrize("kind", [MemoisedUnderRounding, Finer])
def test_noise_kept_for_a_cell_of_records_is_found(kind: type[Own]) -> None:
    result = judged(kind(), "one cell", dim=8, trials=1_000)
    assert failed(result) == {"one cell"}
    assert result.kinds["state"] == "violated"


def test_a_memory_of_cells_that_releases_nothing_but_the_cell_passes() -> None:
    assert failed_of({"one cell"}, MemoisedCells(), dim=8, trials=1_000, confidence=CONFIDENCE) == set()


class Stratified(Own):
    """Each coordinate's uniforms are one per stratum of the batch, in random order."""

    def privatize(self, x: Any) -> Any:
        random, (rows, dim) = np.random.default_rng(), np.shape(x)
        u = np.stack([(random.permutation(rows) + random.random(rows)) / rows for _ in range(dim)], axis=1) - 0.5
        return ball(x) - 2 * np.sqrt(dim) / EPSILON * np.sign(u) * np.log1p(-2 * np.abs(u))


@pytest.mark.parametrize("dim", [8, 16])
def test_noise_that_is_stratified_over_a_batch_is_found(dim: int) -> None:
    assert finds("rest of the batch", Stratified(), dim=dim, trials=500)


def test_independent_rows_say_nothing_of_each_other() -> None:
    assert failed_of({"rest of the batch"}, Own(), dim=8, trials=500, confidence=CONFIDENCE) == set()


def test_one_report_of_a_mechanism_with_a_memory_is_said_to_be_one() -> None:
    mechanism = Claim(KRR(EPSILON, 4), memoised=True)
    verdicts = [asked({"event"}, each, trials=200) for each in (mechanism, JointReports(mechanism, reports=3))]
    said = [result.sentence.partition("strongest evidence")[0] for result in verdicts]
    assert "one report was judged" in said[0]
    assert "add reports=3" in said[0]
    assert "one report was judged" not in said[1]


class Bare(Own):
    """Releases the record, under a claim that few trials cannot refute."""

    epsilon = 8.0

    def privatize(self, x: Any) -> Any:
        return ball(x)


def test_a_claim_too_large_for_the_trials_is_named_with_the_number_that_refutes_it() -> None:
    result = judged(Bare(), "event", trials=1_000)
    assert not result.violated
    said = re.search("; every guess was right, and about ([0-9,]+) trials would refute the claim", result.sentence)
    assert said
    assert "; no claim above 5." in result.sentence
    assert result.sentence.count("certif") == 1
    refuted = judged(Bare(), "event", trials=int(1.1 * int(said[1].replace(",", ""))))
    assert refuted.violated
    assert "every guess" not in refuted.sentence


class SeededKRR(KRR):
    """k-ary randomised response by a generator with a seed, made with the object."""

    def __init__(self, epsilon: float, alphabet: int) -> None:
        super().__init__(epsilon, alphabet)
        self.held = np.random.default_rng(0)

    @property
    def random(self) -> np.random.Generator:
        return self.held


@pytest.mark.parametrize("size", [2, 50])
def test_a_seed_of_the_objects_own_is_found_for_values_too(size: int) -> None:
    names = {"fresh copy", "fork"}
    result = judged(SeededKRR(1.0, size), *names)
    assert failed(result) == names
    assert result.kinds["randomness"] == "violated"
    assert failed_of(names, KRR(1.0, size), confidence=CONFIDENCE) == set()
    caller = judged(Claim(SeededKRR(1.0, size), randomness="caller"), *names)
    assert [each.verdict for each in caller.checks] == [Verdict.NOTED] * 2


def test_a_value_that_comes_back_as_another_type_is_metadata() -> None:
    def answer(values: list[int]) -> list[Any]:
        drawn = KRR(EPSILON, 8).privatize(values)
        return [[number] if value else {number} for number, value in zip(drawn, values, strict=True)]

    result = judged(Claim(answer, epsilon=EPSILON, alphabet=2), "event")
    assert result.kinds["metadata"] == "violated"
    assert result.kinds["distribution"] == "not judged"


def spend_twice(record: tuple[str, str]) -> tuple[str, str]:
    """Text and label at epsilon 4 each, four words of a text at 1 each: 8 together."""
    words = KRR(1.0, 13).privatize([TEXTS.index(word) for word in record[0].split()])
    [label] = KRR(4.0, 2).privatize([int(record[1])])
    return " ".join(TEXTS[word] for word in words), str(label)


TEXTS = ["show", "me", "the", "flights", "to", "a", "cheap", "fare", "on", "friday", "morning", "please", "now"]
RECORDS = ("show me the flights", "0"), ("cheap fare on friday", "1")


@pytest.mark.parametrize("form", [tuple, list, lambda report: dict(zip(("text", "label"), report, strict=True))])
def test_words_inside_the_members_of_an_outcome_are_counted(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = Claim(lambda records: [form(spend_twice(record)) for record in records], epsilon=EPSILON)
    assert judged(claim, "event", trials=4_000, pairs=[RECORDS]).violated
    split = Claim(claim, epsilon=8.0)
    shorten_games(monkeypatch)
    assert failed_of({"event"}, split, trials=1_000, pairs=[RECORDS], confidence=CONFIDENCE) == set()


def test_a_record_of_the_callers_that_is_refused_is_metadata() -> None:
    def answer(texts: list[str]) -> list[str]:
        if any(len(text) > 9 for text in texts):
            raise ValueError("too long")
        return KRR(EPSILON, 2).privatize([0] * len(texts))

    result = judged(Claim(answer, epsilon=EPSILON), "metadata", pairs=[("short", "tiny"), ("short", "far too long")])
    assert result.kinds["metadata"] == "violated"


class RefusesAFifth(KRR):
    """Refuses a fifth of the records of one value."""

    def privatize(self, values: list[int]) -> list[int]:
        return super().privatize([value for value in values if value < 3 or np.random.default_rng().random() < 0.8])


def test_a_refusal_now_and_then_is_found_at_a_claim_that_takes_more_rounds() -> None:
    """A tenth of the rounds are refusals: 1,200 rounds certify no more than 2.3."""
    assert finds("metadata", RefusesAFifth(EPSILON, 4))


def test_a_large_claim_that_a_few_wrong_guesses_refute_is_of_the_distribution() -> None:
    """True epsilon 8.7: no release of the first few varies, but some do in the game.

    One audit in eight finds nothing: it saw three wrong guesses early, and no longer game follows. Ten audits: 1e-9.
    """
    results = (judged(Claim(KRR(8.7, 2), epsilon=8.0), "event", trials=10_000) for _ in range(10))
    result = next(result for result in results if result.violated)
    assert failed(result) == {"event"}
    assert result.kinds["randomness"] == "not judged"


@pytest.mark.parametrize(
    ("values", "first"),
    [
        ([0, 1, 2, 3], (0, 3)),
        ([("a", 0), ("a", 1), ("b", 0), ("b", 1)], (("a", 1), ("b", 0))),
        (["a", "b", "c"], ("a", "b")),
    ],
)
def test_values_that_lie_far_apart_are_tried_first(values: list[Any], first: tuple[Any, Any]) -> None:
    pair = value_pairs(values)[0]
    assert (pair.first, pair.second) == first


class SharedInACall(KRR):
    """Equal values of a call have equal answers: two forks share nothing."""

    def privatize(self, values: list[int]) -> list[int]:
        answers = super().privatize([*range(self.alphabet)])
        return [answers[value] for value in values]


def test_noise_that_a_call_shares_is_not_said_to_come_from_a_seed_or_a_fork() -> None:
    names = {"shared noise", "fork", "seed", "fresh copy"}
    assert failed(judged(SharedInACall(0.1, 50), *names)) == {"shared noise"}


def test_a_seed_is_found_at_a_large_claim_where_outcomes_hardly_vary() -> None:
    """About nine of 3,000 answers are no records: 768 equal ones show nothing."""
    assert failed(judged(SeededKRR(8.0, 10), "fork", "fresh copy")) == {"fork", "fresh copy"}
