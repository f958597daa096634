"""Names of labels as public knowledge: a name as a text, and the label whose name is nearest to a text."""

from collections.abc import Mapping, Sequence

import numpy as np

from adept.models.names import words_of_name
from adept.models.sentence_encoder import SentenceEncoder


def spell_names(labels: Sequence[str]) -> list[str]:
    """Return each label's name as a text: "card payment" for "card_payment", "" for a name without a meaning."""
    return [" ".join(words_of_name(label)) for label in labels]


def label_by_names(
    labels: Sequence[str], texts: Sequence[str], about: Mapping[str, Sequence[str]] | None = None
) -> list[str] | None:
    """Return for each text the label whose name, and sentences ``about`` it, are nearest by the sentence encoder.

    The result is None if no label has a name or a sentence with a meaning.
    """
    beside, encoder = about or {}, SentenceEncoder.load()
    spelled = zip(labels, spell_names(labels), strict=True)
    said = [" ".join([name, *beside.get(label, ())]).strip() for label, name in spelled]
    named = [place for place, text in enumerate(said) if text]
    if not named:
        return None
    names = encoder.encode([said[place] for place in named]).astype(np.float32)
    nearest = (encoder.encode(texts).astype(np.float32) @ names.T).argmax(axis=1)
    return [labels[named[place]] for place in nearest.tolist()]
