"""The zoo: rebuilt mechanisms do what their papers say, and verdicts are as stated beforehand.

Sound claims are audited 3 times at confidence .999, their true loss far below the claim or tight at most: with trials so few the
chance of a false alarm is below 1e-6 in all.
"""

import numpy as np
import pytest
from audit.asking import make_cheap
from zoo import claims, mechanisms
from zoo.claims import exhibits
from zoo.mechanisms import public_words

from adept.errors import ConfigurationError


def test_the_exhibits_are_those_that_are_named_and_all_say_what_they_claim() -> None:
    found = exhibits()
    assert tuple(dict.fromkeys(exhibit.mechanism for exhibit in found)) == claims.NAMES
    assert all(exhibit.source for exhibit in found)
    assert {exhibit.mechanism for exhibit in found if exhibit.claimed} == set(claims.NAMES)


@pytest.mark.parametrize("kind", [mechanisms.SanText, mechanisms.TEM, mechanisms.CusText])
def test_the_distribution_of_a_word_is_a_distribution(kind: type[mechanisms.SanText]) -> None:
    distribution = kind(epsilon=2.0).probabilities
    assert distribution.shape == (len(public_words().names),) * 2
    assert distribution.sum(axis=1) == pytest.approx(np.ones(len(distribution)))


@pytest.mark.parametrize("kind", [mechanisms.SanText, mechanisms.TEM])
def test_metric_privacy_holds_between_all_words_exactly(kind: type[mechanisms.SanText]) -> None:
    mechanism = kind(epsilon=2.0)
    logs, distances = np.log(mechanism.probabilities), public_words().distances()
    loss = np.abs(logs[:, None] - logs).max(axis=2)
    assert (loss <= 2.0 * distances + 1e-9).all()


def test_custext_keeps_its_claim_within_an_output_set_and_no_other() -> None:
    mechanism = mechanisms.CusText(epsilon=2.0)
    distribution, groups = mechanism.probabilities, mechanism.groups
    inside = np.flatnonzero(groups == 0)
    logs = np.log(distribution[np.ix_(inside, inside)])
    assert np.abs(logs[:, None] - logs).max() <= 2.0 + 1e-9
    assert (distribution[groups == 0][:, groups != 0] == 0).all()


def test_a_word_by_word_mechanism_keeps_the_number_of_words() -> None:
    texts = ["show me flights", "flights", ""]
    released = mechanisms.CMP(epsilon=1.0).privatize(texts)
    assert [len(text.split()) for text in released] == [3, 1, 0]


@pytest.mark.parametrize(
    "name", ["DPText", "DP-Rewrite, program", "DP-Prompt, length of the record", "CusText", "RANTEXT"]
)
def test_verdicts_are_as_stated_beforehand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)
    rows = list(claims.run(mechanisms=(name,), trials=4_000))
    assert all(row.as_expected for row in rows), rows


@pytest.mark.slow
def test_a_violation_is_found_in_every_false_claim_and_in_no_sound_one() -> None:
    rows = list(claims.run())
    for row in rows:
        print(
            f"\n{row.mechanism}, {row.unit}: {row.verdict}, {row.certified_epsilon:.2f}, {row.seconds:.0f} s",
            flush=True,
        )
    assert all(row.as_expected for row in rows)


def test_the_table_and_the_figure_hold_every_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)
    rows = list(claims.run(mechanisms=("SanText",), trials=400))
    assert [line[0] for _, _, lines in claims.tables(rows) for line in lines] == ["SanText", "SanText"]
    assert claims.draw(rows).count("SanText (") == 2


def test_an_unknown_exhibit_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="only must be one of"):
        next(claims.run(mechanisms=("Unicorn",)))
