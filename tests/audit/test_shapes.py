"""Mechanisms in the shapes of real code. Sound ones: 15 audits at confidence 1 - 1e-9, a share of false alarms of 1.5e-8."""

import re
from typing import Any

import pytest
from audit.asking import finds
from audit.broken import shapes
from audit.sound import Foreign
from audit.sound_shapes import SHAPES

from adept import audit
from adept.audit import Claim

ELSEWHERE = {"two_halves": "event, dimension 2"}
DIMENSIONS = {"one_number_in_a_thousand_is_bare": 64, "place_and_value": 8, "sign_of_the_sum_and_largest": 8}
SLOW = {"one_number_in_a_thousand_is_bare", "norm_and_direction", "two_halves"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SHAPES)
def test_no_violation_is_found_in_a_sound_mechanism_of_any_shape(name: str, few_calls: None, short_games: None) -> None:
    make, options = SHAPES[name]
    result = audit.run(make(), trials=1_000, confidence=1 - 1e-9, **options)
    assert result.outcome == "not refuted", result.rows()


@pytest.mark.parametrize(
    "release",
    [
        pytest.param(each, id=each.__name__, marks=[pytest.mark.slow] * (each.__name__ in SLOW))
        for each in shapes.BROKEN
    ],
)
def test_a_broken_mechanism_on_vectors_is_found(release: Any) -> None:
    """Splits that spend 1.25 times their claim, too: 80 of 80 audits found the two weakest."""
    check = ELSEWHERE.get(release.__name__, "event")
    dim = DIMENSIONS.get(release.__name__, 4)
    assert finds(check, Foreign(release), dim=dim, trials=10_000)


@pytest.mark.parametrize("release", shapes.OF_VALUES, ids=lambda release: release.__name__)
def test_a_broken_mechanism_on_values_is_found(release: Any) -> None:
    declared = dict(shapes.OF_VALUES[release])
    pairs = declared.pop("pairs", None)
    assert finds("event", Claim(release, epsilon=4.0, **declared), trials=2_000, pairs=pairs)


def test_the_sentence_shows_both_records_a_release_and_every_kind_that_failed() -> None:
    def shout(values: list[str]) -> list[Any]:
        return [value if value == "a bank" else value.encode() for value in values]

    result = audit.run(Claim(shout, epsilon=1.0, alphabet=["a bank", "a river"]), trials=400)
    kinds = [kind for kind, outcome in result.kinds.items() if outcome == "violated"]
    assert len(kinds) > 1
    assert result.sentence.startswith(f"Violation found ({', '.join(kinds)})")
    shown = re.search(r"the records are '(.+?)' and '(.+?)'", result.sentence)
    assert shown is not None
    assert set(shown.groups()) == {"a bank", "a river"}
    seen = re.search(r"such as (.+), (\d+) came from the first and (\d+) from the second", result.sentence)
    assert seen is not None
    counts = int(seen[2]), int(seen[3])
    assert "of the releases that score " in result.sentence
    assert (min(counts), seen[1]) == (0, "'a bank'" if (counts[0] > 0) == (shown[1] == "a bank") else "b'a river'")
