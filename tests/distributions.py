"""The next word's distribution, word by word: what quicker ways to read a text are compared with."""

from collections.abc import Sequence

from adept.models.language_model.next_word import NextWord, read, start
from adept.models.language_model.ngram_mixture import LanguageModel


def after(model: LanguageModel, numbers: Sequence[int]) -> NextWord:
    """Return the distribution after some words."""
    found = start(model.tables)
    for number in numbers:
        read(model.tables, found, number)
    return found
