"""Plans: verdicts follow the curves, what is free decides what is worth it, and a foreign text gets no numbers."""

import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from adept.data.corpus import Corpus
from adept.evaluation.record_free import NEAREST_NAME, FreeRow, PublicTexts
from adept.mechanisms import curves
from adept.mechanisms.curves import REHEARSED, REWRITE, WORTH, Known, Range, Rehearsal
from adept.mechanisms.policy import WORTH_MARGIN
from adept.report import plan as plans
from adept.report.plan import Offer, Plan, make_plan, rehearse
from adept.rewriting.loading import load_model

LABELS = ["late_fee", "opening_hours"]
EXAMPLES = Corpus(
    ["why do i owe four euros", "are you open on saturday", "the fine is too high", "when do you close",
     "can i pay the fee by card", "opening times please"],
    LABELS * 3,
)  # fmt: skip


@pytest.fixture
def expected(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Curves whose expected accuracy is 1 - 10 / rows for one command, and .1 for the other; no rehearsal."""
    settings = {"factor": 10.0}

    def expect(command: str, known: Known, *, epsilon: float, rows: float) -> Range:
        share = max(0.0, 1 - settings["factor"] / rows) if command == REWRITE else 0.1
        return Range(share - 0.05, share, share + 0.05, 0.001)

    for module in (plans, curves):
        monkeypatch.setattr(module, "expect_accuracy", expect)
    monkeypatch.setattr(plans, "rehearse", lambda *_: Rehearsal({8.0: 0.5}, 3, 6))
    return settings


def planned(rows: int, **options: Any) -> Plan:
    return make_plan(LABELS, (None, None), rows=rows, **options)  # type: ignore[arg-type]


def test_rows_that_would_change_a_verdict_are_named(
    expected: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "expected_names", lambda _: 0.5)
    found = planned(11)
    assert (
        found.advice[0]
        == "Do not release: no budget is expected to be better than what is free, the label with the nearest name (0.50)."
    )
    assert "Rewrite at epsilon 8 is expected to be worth it from about 22 rows on." in found.advice
    assert "No number of rows up to 1,000,000 is expected to make synthesize at epsilon 2 worth it." in found.advice
    worth = planned(100)
    assert worth.advice[0].startswith(
        "If each row is needed on its own, use the next command. Its guessed accuracy is "
    )
    assert worth.advice[0].endswith(
        "an attacker picks the right one of 1,000 equally likely candidates in at most 6 of 100 cases:"
    )
    assert worth.advice[1] == "adept rewrite input=FILE output=NEWFILE epsilon=4"
    assert not any("Rewrite at epsilon" in line for line in worth.advice)
    assert any("guesses, and one in four such recommendations is wrong" in line for line in worth.advice)
    assert any("so these accuracies are guesses: give" in line for line in found.advice)
    assert not any("are guesses" in line for line in planned(100, examples=EXAMPLES).advice)
    shared = planned(100, most=3, shared={"rewrite": " max_records_per_person=3"})
    assert shared.advice[1].endswith(" epsilon=4 max_records_per_person=3")
    assert "at most 3 of a person" in shared.title


@pytest.mark.parametrize("added", [0.03, 0.05, 0.2])
def test_a_guess_that_is_worth_it_says_how_many_such_files_gain(added: float) -> None:
    offer = Offer(REWRITE, 8.0, 8.0, "rarely", Range(0.5, 0.7, 0.8, 0.05), added, WORTH)
    line, _ = plans._recommend([offer], {}, guessed=True)
    [gaining] = re.findall(
        r" is 0\.70 \(0\.50 to 0\.80\), by which (\d+) of 100 such files gain 0\.03 or more over what is free, and ",
        line,
    )
    chance = 1 - NormalDist(added, 0.05).cdf(WORTH_MARGIN)
    assert chance - 0.01 < int(gaining) / 100 <= chance  # rounded down
    assert "such files" not in plans._recommend([offer], {}, guessed=False)[0]


def test_a_release_that_may_be_better_is_not_said_to_be_worth_less(
    expected: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an expected gain that is too uncertain, the first sentence says this and no more."""
    monkeypatch.setattr(plans, "expected_names", lambda _: 0.5)
    monkeypatch.setattr(plans, "expect_accuracy", lambda *_, **__: Range(0.3, 0.52, 0.8, 0.1))
    [first, *_] = planned(100).advice
    assert first == (
        "Do not release: no budget is likely enough to be better than what is free, the label with the nearest name (0.50)."
    )


def test_labels_that_public_texts_do_not_tell_are_said_first(
    expected: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = Corpus(
        [f"word{row} thing" for row in range(40)], [["17", "18"][row * row * 13 % 7 % 2] for row in range(40)]
    )
    for released, doubted in ((0.5, True), (0.9, False)):
        monkeypatch.setattr(plans, "rehearse", lambda *_, r=released: Rehearsal({8.0: r}, 3, 40))
        first = make_plan(["17", "18"], (None, None), rows=100, examples=noise).advice[0]  # type: ignore[arg-type]
        assert first.startswith("The public texts do not show that texts tell their labels") == doubted


def test_public_examples_that_are_best_are_named_with_their_number(expected: dict[str, float]) -> None:
    found = planned(11, examples=EXAMPLES, test=Corpus(["the fine is too high", "do you close late"], LABELS))
    assert (
        found.advice[0]
        == "Do not release: no budget is expected to be better than what is free, your 6 public examples (1.00)."
    )


def test_the_same_texts_make_the_same_ranges_and_verdicts_as_examples_and_as_a_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lucky texts raise the free row and the rehearsal alike, so the free row makes no gain less certain."""
    monkeypatch.setattr(plans, "rehearse", lambda *_: Rehearsal(dict.fromkeys(REHEARSED, 0.7), 3, 24))
    monkeypatch.setattr(plans, "measure_free_rows", lambda *_, **__: [FreeRow(NEAREST_NAME, 0.6, 24)])
    one, other = planned(100, examples=EXAMPLES).offers, planned(100, test=EXAMPLES).offers
    assert [(offer.expected, offer.verdict) for offer in one] == [(offer.expected, offer.verdict) for offer in other]


def test_accuracies_that_fall_by_chance_are_pooled(topic_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = dict(zip(REHEARSED, (0.75, 0.25, 0.75, 0.5), strict=True))
    monkeypatch.setattr(plans, "find_hits", lambda *_, epsilon, **__: [row < 4 * shares[epsilon] for row in range(4)])
    public = PublicTexts.of(EXAMPLES, None, labels=2)
    assert public is not None
    found = rehearse(load_model(topic_run), LABELS, public, {}, 6)
    assert found is not None
    assert [*found.released.values()] == pytest.approx([0.5, 0.5, 0.625, 0.625])  # sorted: .25, .5, .75 and .75


def test_what_the_rows_add_is_the_difference_of_what_is_shown() -> None:
    offer = Offer("rewrite", 8.0, 8.0, "", Range(0.5, 0.6249, 0.7, 0.05), 0.6249 - 0.6351, "")
    assert offer.cells[4] == "0.62"
    assert offer.cells[6] == "-0.02"  # beside 0.64


def test_a_rehearsal_learns_from_as_many_texts_as_the_file_has_rows(
    topic_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[int] = []
    monkeypatch.setattr(plans, "find_hits", lambda *_, most, **__: learned.append(most) or [True])
    public = PublicTexts.of(EXAMPLES, None, labels=2)
    assert public is not None
    found = rehearse(load_model(topic_run), LABELS, public, {}, 3)
    assert found is not None
    assert set(learned) == {3}
    assert found.rows == 1.5


def test_texts_in_another_language_get_what_is_free_and_no_estimate(expected: dict[str, float]) -> None:
    texts = ["wann schließen sie heute abend", "warum schulde ich ihnen gebühren", "öffnungszeiten samstags bitte"] * 2
    found = planned(500, examples=Corpus(texts, LABELS * 3))
    assert found.offers == []
    assert found.free
    assert found.advice[0].startswith("No estimate")


@pytest.mark.parametrize(
    ("names", "english"),
    [
        ("refund order invoice", True), ("PlayMusic BookRestaurant", True), ("password_reset vpn printer", True),
        ("17 18", True),  # codes are of no language
        ("vuelo cuenta pedido", False), ("cancelar_tarjeta consultar_saldo", False), ("conto ordine carta", False),
        ("bestelling klacht levering", False),
    ],
)  # fmt: skip
def test_names_without_letters_of_their_own_are_known_for_another_language(
    expected: dict[str, float], names: str, english: bool
) -> None:
    found = make_plan(names.split(), (None, None), rows=500)  # type: ignore[arg-type]
    assert bool(found.offers) == english


def test_a_rehearsal_measures_rewrites_of_the_public_texts(topic_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewrites that equal their texts teach as much as the texts; rewrites of a constant teach next to nothing."""
    loaded = load_model(topic_run)
    codes = ["q1", "q2"]  # names that teach nothing
    asked = [f"{text} please" for text in EXAMPLES.texts] * 2
    public = PublicTexts.of(Corpus(asked, codes * 6), Corpus(EXAMPLES.texts, codes * 3), labels=2)
    assert public is not None
    for written, released in ((lambda texts: texts, 1.0), (lambda texts: ["x"] * len(texts), 0.5)):
        monkeypatch.setattr(
            plans.Rewriter,
            "rewrite_pairs",
            lambda _, texts, labels, w=written: list(zip(w(texts), labels, strict=True)),
        )
        found = rehearse(loaded, codes, public, {}, 14)
        assert found is not None
        assert (found.rows, found.texts) == (7, 6)
        assert [*found.released] == [*REHEARSED]
        assert [*found.released.values()] == pytest.approx([released] * 4, abs=0.35 if released < 1 else 0)
        assert sorted(found.released.values()) == [*found.released.values()]
    assert rehearse(loaded, LABELS, PublicTexts(Corpus(["a", "b"], LABELS), None), {}, 8) is None
