"""The next word's distribution, word by word: what quicker ways to read a text are compared with."""

from collections.abc import Sequence

from adept.models.language_model.mixture import LanguageModel
from adept.models.language_model.next_word import Next, at, read, start, unread


def after(model: LanguageModel, numbers: Sequence[int]) -> Next:
    """The distribution after some words."""
    found = at(unread(model.tables, 1), 0)
    start(model.tables, found)
    for number in numbers:
        read(model.tables, found, number)
    return found
