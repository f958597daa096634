"""Names of labels as public knowledge: a name as a text, and the label whose name is nearest to a text."""

from collections.abc import Sequence

import numpy as np

from adept.models.names import MIN_LETTERS, spell_out
from adept.models.sentence_encoder import SentenceEncoder


def spell_names(labels: Sequence[str]) -> list[str]:
    """Return each label's name as a text: "card payment" for "card_payment", "" for a name without a word.

    A name has a word if it holds MIN_LETTERS letters in a row; codes such as "17" or "a" say nothing.
    """
    spelled = [spell_out(label) for label in labels]
    return [" ".join(words) if any(map(_is_word, words)) else "" for words in spelled]


def _is_word(word: str) -> bool:
    return len(word) >= MIN_LETTERS and word.isalpha()


def label_by_names(labels: Sequence[str], texts: Sequence[str]) -> list[str] | None:
    """Return for each text the label with the nearest name by the sentence encoder; None if no name has a word."""
    spelled, encoder = spell_names(labels), SentenceEncoder.load()
    named = [place for place, name in enumerate(spelled) if name]
    if not named:
        return None
    names = encoder.encode([spelled[place] for place in named]).astype(np.float32)
    nearest = (encoder.encode(texts).astype(np.float32) @ names.T).argmax(axis=1)
    return [labels[named[place]] for place in nearest.tolist()]
