"""Budgets add up exactly, and the statement says what they are."""

import ast
import hashlib
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from made_statements import statement

import adept
from adept.errors import ConfigurationError, plain_name
from adept.mechanisms import Codebook, Gaussian, L1Laplace, LearnedCodebook, PrivUnit, RandomizedResponse
from adept.mechanisms.guarantee import MAX_STATED_EPSILON, json_number, odds_change, share, total, words
from adept.models.config import TrainingData
from adept.release.statement import statement as statements
from adept.release.statement.wording import card, facts_not_hidden
from adept.rewriting.loading import load_model
from adept.rewriting.unproved import choice_of

PACKAGE = Path(adept.__file__).parent


@pytest.mark.parametrize("records", [1, 2, 3, 7, 10, 49, 1000, 999_983])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 1 / 3, 599.9])
def test_equal_shares_never_add_up_to_more_than_the_whole(epsilon: float, records: int) -> None:
    part = share(epsilon, records)
    assert Fraction(part) * records <= Fraction(epsilon)
    assert part == pytest.approx(epsilon / records)


def test_plain_division_would_overspend_somewhere() -> None:
    assert any(Fraction(0.1 / m) * m > Fraction(0.1) for m in range(1, 50))


def test_infinite_numbers_become_words() -> None:
    assert (json_number(float("inf")), json_number(2.0), json_number(None)) == ("inf", 2.0, None)
    assert words(float("inf")) == "infinite"


@pytest.mark.parametrize("epsilon", [1.00049, 0.123449, 8.0, 599.99999, 1e-7, 362.0386719675123, 2.0, 1234567.8])
def test_an_epsilon_in_words_is_never_smaller_than_it_is(epsilon: float) -> None:
    assert float(words(epsilon)) >= epsilon
    assert float(words(epsilon)) == pytest.approx(epsilon, rel=2e-3)


def test_short_budgets_stay_short_in_words() -> None:
    assert [words(epsilon) for epsilon in (8.0, 64.0, 0.5, 1000.0, 0.01)] == ["8", "64", "0.5", "1000", "0.01"]


def test_sums_of_budgets_are_rounded_up() -> None:
    for parts in ([0.1, 0.2], [0.1] * 10, [1e16, 1.0], [1 / 3] * 3):
        assert Fraction(total(*parts)) >= sum(map(Fraction, parts))
    assert total(1.0, float("inf")) == float("inf")


RESPONSE = RandomizedResponse(epsilon=1.5, labels=("fare", "flight"))


def test_private_training_text_is_named_as_such() -> None:
    assert "declared public by whoever trained it" in statement().text
    assert "declared PRIVATE" in statement(training_data={"name": "files", "public": False, "records": 9}).text


def test_total_epsilon_adds_text_and_randomised_label() -> None:
    both = statement(labels="randomized_response", label_response=RESPONSE)
    assert both.epsilon == 3.5
    assert "(3.5, 0)-LDP" in both.text
    assert both.to_json()["claimed_epsilon"] == 3.5


def test_samples_are_said_to_share_one_release() -> None:
    assert "share one released latent" in statement(samples=3).text


def test_a_card_of_descriptions_does_not_say_that_nobody_said_so() -> None:
    """At a large budget a description writes its record word for word, most of the time."""
    from adept.mechanisms import Description

    described = statement(mechanism=Description(epsilon=32.0), samples=2)
    assert "not what anyone said" not in card(described, "out.txt")
    assert "word for word" in card(described, "out.txt")
    assert "randomised description" in card(described, "out.txt")
    assert "latent" not in described.text


def test_a_card_shows_the_characters_of_any_name_on_one_line() -> None:
    made = card(statement(kept_columns=[name := "a|b`c`\n# <b>[x](y)\u202e"]), "out.txt")
    plain = card(statement(kept_columns=["time"]), "out.txt")
    assert len(made.splitlines()) == len(plain.splitlines())
    assert "\u202e" not in made
    assert "| neighbours | any two records with the same a\\|b\\`c\\`\\\\n# \\<b\\>\\[x\\](y)\\\\u202e |" in made
    assert name not in made


def test_what_is_copied_tells_neighbours_apart() -> None:
    assert statement().neighbours == "any two records"
    assert statement(kept_columns=["time"]).neighbours == "any two records with the same time"
    assert statement(labels="copy", kept_columns=["time"]).neighbours == "any two records with the same label and time"


def test_a_persons_total_is_beside_the_records_and_never_smaller_than_the_sum() -> None:
    described = statement(max_records_per_person=3).to_json()
    assert (described["unit"], described["epsilon"], described["person_epsilon"]) == ("record", 2.0, 6.0)


def test_no_privacy_promises_nothing_to_persons() -> None:
    from adept.mechanisms import Identity

    text = statement(mechanism=Identity()).text
    assert "Nobody is protected" in text
    assert "is protected with" not in text


def test_a_gaussian_with_randomised_labels_states_its_delta() -> None:
    from adept.mechanisms import Gaussian

    both = statement(
        mechanism=Gaussian(epsilon=2.0, delta=1e-5),
        labels="randomized_response",
        label_response=replace(RESPONSE, epsilon=1.0),
    )
    assert "(3, 1e-5)-LDP" in both.text


@pytest.mark.parametrize("people", [1, 2, 3, 7, 49])
@pytest.mark.parametrize(("text", "label", "said"), [(8.0, 2.0, "10"), (0.01, None, "0.01"), (0.5, 0.25, "0.75")])
def test_shares_of_a_persons_budget_add_up_to_what_was_given(
    people: int, text: float, label: float | None, said: str
) -> None:
    """8 and 2 are 10 however many records share them, not 10.01; the exact sum is never above what is stated."""
    response = replace(RESPONSE, epsilon=share(label, people)) if label else None
    shared = statement(
        mechanism=L1Laplace(epsilon=share(text, people)),
        label_response=response,
        max_records_per_person=people,
    )
    assert words(shared.person_epsilon) == said
    spent = people * (Fraction(share(text, people)) + Fraction(share(label, people) if label else 0))
    assert Fraction(shared.person_epsilon) >= spent
    assert f"is at most {said} and" in shared.text


HOSTILE = 'good.\n\n# Guarantee\n| epsilon | 0 |\u2028<b>all</b> private" \x1b[2J ' + "x" * 500


def test_a_strangers_model_can_put_neither_lines_nor_markup_into_statement_and_card() -> None:
    with pytest.raises(ConfigurationError, match=r"training_data\.public"):
        TrainingData("x", "false", 1)  # type: ignore[arg-type]
    printable = "".join(character for character in HOSTILE if character.isprintable())[:90]
    forged = statement(training_data={"name": HOSTILE, "public": "true", "records": 1})
    for told in (forged.text, plain_name(printable)):
        assert told.isprintable()
        assert not set("\n#|<>[") & set(told)
        assert len(told) < 2000
    assert "PRIVATE" in forged.text
    assert forged.to_json()["private_model"] is True
    plain = card(statement(), "title")
    assert card(forged, "title").count("\n") == plain.count("\n")
    assert "# Guarantee" not in card(forged, "title\n# Guarantee").replace("# title ? Guarantee", "")


def test_what_is_needed_to_check_and_to_debias_is_stated() -> None:
    described = statement(labels="randomized_response", label_response=RESPONSE).to_json()
    assert described["label_set"] == ["fare", "flight"]
    assert described["label_keep_probability"] == pytest.approx(math.exp(1.5) / (math.exp(1.5) + 1))
    assert any("took part" in line for line in described["not_hidden"])
    assert "how long a batch of records takes" in described["statement"]


def test_a_codebook_is_described_as_it_came_to_be() -> None:
    words_ = torch.eye(8)
    made = statements.codebook_facts(LearnedCodebook(epsilon=1.0, codewords=words_), 8)
    assert (made["size"], made["top"]) == (8, 2)
    assert made["codebook_sha256"] == hashlib.sha256(words_.numpy().tobytes()).hexdigest()
    several = statements.codebook_facts(Codebook(epsilon=8.0, size=64, blocks=2), 8)
    assert (several["size"], len(several["top"])) == ([64, 64], 2)
    assert statements.codebook_facts(L1Laplace(epsilon=1.0), 8) == dict.fromkeys(("size", "top", "codebook_sha256"))


def test_the_models_digest_is_that_of_its_weights_file(tiny_run: Path) -> None:
    model, _ = load_model(tiny_run)
    weights = (tiny_run / "model" / "model.safetensors").read_bytes()
    assert statements.model_sha256(model) == hashlib.sha256(weights).hexdigest()


def test_examples_are_public_by_the_word_of_whoever_adapted_the_model() -> None:
    adapted = statement(training_data={"name": "atis", "public": True, "records": 90, "examples": 12})
    assert "12 of its texts are examples, declared public by whoever adapted the model" in adapted.text
    assert "adapted" not in statement().text


def test_what_is_not_hidden_is_said_in_full() -> None:
    plain = facts_not_hidden(statement(labels="drop"))
    copied = facts_not_hidden(statement(labels="copy", kept_columns=["time"]))
    assert set(copied) - set(plain) == {"each record's label", "each record's time"}
    for fact in (
        "took part",
        "how many records",
        "their order",
        "how long a batch of records takes",
        "training text",
        "error",
    ):
        assert any(fact in said for said in plain), fact
    assert all(said in statement(labels="drop").text for said in plain)


@pytest.mark.parametrize(
    ("number", "said"),
    [(0.0, "0"), (1e-6, "1e-6"), (1.00049e-6, "1.001e-6"), (1e-4, "0.0001"), (9.9999e-5, "0.0001"), (3e-300, "3e-300")],
)
def test_a_delta_in_words_is_never_smaller_than_it_is(number: float, said: str) -> None:
    assert words(number) == said
    assert float(words(number)) >= number


def test_the_deltas_of_pairs_and_persons_are_rounded_up() -> None:
    gaussian = Gaussian(epsilon=2.0, delta=1.000049e-6)
    text = statement(mechanism=gaussian, labels="randomized_response", label_response=RESPONSE).text
    assert "(3.5, 1.001e-6)-LDP" in text
    assert "(2, 1.001e-6)-LDP" in text
    person = statement(mechanism=gaussian, max_records_per_person=3)
    assert Fraction(person.person_delta or 0.0) >= 3 * Fraction(1.000049e-6)
    assert "delta at most 3.001e-6" in person.text


STATED = [
    "release/statement/wording.py",
    "release/ledger/claims.py",
    "cli/rewrite.py",
    "cli/synthesize.py",
    "cli/ledger.py",
]


@pytest.mark.parametrize(
    "module", [*STATED, *sorted(f"mechanisms/{path.name}" for path in (PACKAGE / "mechanisms").glob("*.py"))]
)
def test_budgets_reach_a_statement_rounded_up_and_probabilities_as_counts(module: str) -> None:
    """No f-string of these modules, errors aside, formats either in another way than ``words`` and ``often``."""
    tree = ast.parse((PACKAGE / module).read_text("utf-8"))
    errors = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FormattedValue) or id(node) in errors:
            continue
        source, form = ast.unparse(node.value), ast.unparse(node.format_spec) if node.format_spec else ""
        read = {part.attr for part in ast.walk(node.value) if isinstance(part, ast.Attribute)}
        assert source.startswith("often(") or not any(name.endswith("probability") for name in read), (
            f"{module}: {source}"
        )
        if source.startswith(
            ("words(", "often(", "odds_change(", "judge(", "_", "rounded", "math.log2(size)")
        ):  # and what others of these return
            continue
        assert not any(name.endswith(("epsilon", "delta")) for name in read), f"{module}: {source}"
        assert not form.strip("f'\"").endswith(("g", "e", "%")), f"{module}: {source}:{form}"


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        (1.0, "2.719-fold"),
        (8.0, "2,981-fold"),
        (13.0, "442,500-fold"),
        (16.0, "8.9 million-fold"),
        (20.0, "490 million-fold"),
        (24.0, "27 billion-fold"),
        (40.0, "10^18-fold"),
        (60.0, "10^21-fold"),
    ],
)
def test_odds_are_never_stated_below_the_power_of_epsilon(epsilon: float, said: str) -> None:
    """A number that is shown bounds e^epsilon: its digits are rounded up, and a power of ten is the next one."""
    told = odds_change(epsilon)
    assert said in told
    if epsilon >= MAX_STATED_EPSILON:
        assert math.exp(epsilon) > 1e21
        return
    number, *unit = told.partition("at most ")[2].removesuffix("-fold").replace(",", "").split()
    power = 10.0 ** int(number[3:]) if number.startswith("10^") else float(number)
    assert power * {"": 1, "million": 1e6, "billion": 1e9}["".join(unit)] >= math.exp(epsilon)


class Mine:
    """A mechanism of somebody else."""

    epsilon = 2.0

    def privatize(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mechanism": PrivUnit(epsilon=8.0)}, "covers the formula, but not every rounding error."),
        ({"mechanism": choice_of(Mine()).build(clip_norm=1.0)}, "the code of the mechanism does with the records"),
        ({"samples": 3}, "The 3 rewrites of a record share one released latent"),
        (
            {"kept_columns": ["time"]},
            "they are not private, and the guarantee compares only records with the same time.",
        ),
        (
            {"labels": "copy", "kept_columns": ["a", "b"], "max_records_per_person": 2, "excess": "drop"},
            "the guarantee compares only records of the same person with the same label and a and b.",
        ),
        (
            {"max_records_per_person": 2, "excess": "drop"},
            "first 2 records were kept, and all later ones were left out. So",
        ),
        ({"max_records_per_person": 2, "excess": "drop"}, "how many records, up to 2, a person has"),
        (
            {"max_records_per_person": 2, "over_limit": "drop"},
            "records of persons without budget were left out. So the",
        ),
        (
            {"max_records_per_person": 2, "over_limit": "drop"},
            "the absence of a person tells that their budget was used",
        ),
    ],
)
def test_a_sentence_that_may_be_missing_stands_where_it_applies(changes: dict[str, Any], said: str) -> None:
    assert said in statement(**changes).text
    assert said not in statement(max_records_per_person=2).text
