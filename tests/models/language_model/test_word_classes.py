"""Word classes keep what is asked and leave out the names and polite words around it."""

from adept.models.language_model.word_classes import _pairs, class_spelling

CITIES = [
    "boston",
    "dallas",
    "denver",
    "omaha",
    "tampa",
    "tulsa",
    "reno",
    "boise",
    "akron",
    "macon",
    "provo",
    "salem",
    "ogden",
]
FLIGHTS = [f"{polite}fly from {a} to {b}" for a in CITIES for b in CITIES for polite in ("", "please ")]


def test_words_that_fill_the_same_slot_are_left_out_and_what_is_asked_stays() -> None:
    spell = class_spelling([*FLIGHTS, *["show the price"] * 100], seed=0)
    first, second, other = spell(["please fly from boston to denver", "fly from omaha to reno", "show the price"])
    assert first == second != other
    assert len(first.split()) == len(other.split()) == 1  # "fly" and "price": the rest are cities and function words


def test_names_of_several_words_are_one_word() -> None:
    """Without phrases "salt", "lake" and "city" are three small classes, which spell the name."""
    cities = [*CITIES, "salt lake city"]
    texts = [f"fly from {a} to {b}" for a in cities for b in cities]
    spell = class_spelling(texts, seed=0)
    assert spell(["fly from salt lake city to boston"]) == spell(["fly from tulsa to boston"])


def test_words_are_joined_where_they_stand_together_and_nowhere_else() -> None:
    rows = [
        text.split()
        for text in ["new york fare", "new york meal", "fare new york", "meal new york", "of the", "of the"] * 2
    ]
    assert _pairs(rows) == {("new", "york")}
    assert _pairs([[*row, *row[::-1]] for row in rows if "of" not in row] + [["new"]] * 90) == set()


def test_the_same_text_gives_the_same_spelling_and_unknown_words_are_nothing() -> None:
    assert class_spelling(FLIGHTS, seed=3)(FLIGHTS) == class_spelling(FLIGHTS, seed=3)(FLIGHTS)
    assert class_spelling(FLIGHTS, seed=3)(["zebra", ""]) == ["", ""]
