"""Words with the same neighbours share a class."""

import numpy as np

from adept.models.language_model.vocabulary import word_classes

CITIES = ["boston", "dallas", "denver", "omaha", "tampa", "tulsa"]
FLIGHTS = [["fly", "from", a, "to", b] for a in CITIES for b in CITIES]


def test_words_with_the_same_neighbours_share_a_class() -> None:
    rows = [*FLIGHTS, *[["show", "the", "price"]] * 30]
    words = list(dict.fromkeys(word for row in rows for word in row))
    found = word_classes(rows, words, weights=np.ones(len(words)), count=6, seed=0)
    assert len({found[city] for city in CITIES}) == 1
    assert len({found[word] for word in ("fly", "from", "price", "boston")}) == 4


def test_there_are_no_more_classes_than_kinds_of_words() -> None:
    words = ["fly", "from", "to", *CITIES]
    found = word_classes(FLIGHTS, words, weights=np.ones(len(words)), count=9, seed=0)
    assert len(set(found.values())) == 4
