"""The values of slots: what of a record a task would look up, such as a city or a date, as its tags say.

Data have slots where every record has a column ``slots`` of tags in the IOB scheme, one for each word of its text (Ramshaw and
Marcus 1995): ``B-name`` begins a value, ``I-name`` goes on with one, ``O`` stands outside. They are measured with and nothing else:
no rewriter, and no output, sees them.
"""

from collections.abc import Sequence

SLOTS_COLUMN = "slots"


def slot_values(texts: Sequence[str], tags: Sequence[object]) -> list[list[str]] | None:
    """Return each text's slot values; None where there are none, or where the tags are no tags of these texts.

    Args:
        texts: of every record.
        tags: what stands in the column of each: a string of tags, or anything else.
    """
    found = _found(texts, tags)
    return None if found is None else [[value for _, value in slots] for slots in found]


def slot_names(texts: Sequence[str], tags: Sequence[object]) -> list[list[str]] | None:
    """Return the names of each text's slots, one for each of its values."""
    found = _found(texts, tags)
    return None if found is None else [[name for name, _ in slots] for slots in found]


def _found(texts: Sequence[str], tags: Sequence[object]) -> list[list[tuple[str, str]]] | None:
    found = [_slots(text.split(), tagged) for text, tagged in zip(texts, tags, strict=True)]
    known = [values for values in found if values is not None]
    return known if len(known) == len(found) and any(known) else None


def _slots(words: Sequence[str], tagged: object) -> list[tuple[str, str]] | None:
    tags = tagged.split() if isinstance(tagged, str) else []
    if len(tags) != len(words) or any(tag != "O" and tag[:2] not in ("B-", "I-") for tag in tags):
        return None
    values: list[tuple[str, list[str]]] = []
    for word, tag, before in zip(words, tags, ["O", *tags], strict=False):
        if tag.startswith("B-") or (tag != "O" and tag[2:] != before[2:]):
            values.append((tag[2:], [word]))
        elif tag != "O":
            values[-1][1].append(word)
    return [(name, " ".join(value)) for name, value in values]
