"""Loading of saved tokenizers, if they are put together as ours are.

A tokenizer file can name any of dozens of parts, and some of them fail on some texts or take very long, which would tell of a
record. So a file is accepted only if it differs from ours in its words alone.
"""

import json
from pathlib import Path
from typing import Any

import tokenizers

from adept.models.config import MAX_VOCABULARY, TokenizerConfig
from adept.models.tokenizer import (
    BYTES,
    FIRST_LABEL,
    LABEL_TOKEN,
    MAX_LABELS,
    SPECIAL_TOKENS,
    build,
    is_writable,
)
from adept.models.untrusted_files import corrupt, read_json


def load_tokenizer(path: Path, synonyms_path: Path) -> tuple[tokenizers.Tokenizer, dict[str, str]]:
    """Load a tokenizer that differs from ours in its words alone, and its synonyms, if there are any.

    Raises:
        ModelError: the first file is missing, one is damaged, or it is another kind of tokenizer.
    """
    backend = _load_backend(path)
    if not synonyms_path.exists():
        return backend, {}
    _, synonyms = read_json(synonyms_path)
    words = backend.get_vocab(with_added_tokens=False)
    special = {token.content for token in backend.get_added_tokens_decoder().values()}
    if len(synonyms) > MAX_VOCABULARY or not all(
        isinstance(known, str) and known in words and known not in special for known in synonyms.values()
    ):
        raise corrupt(synonyms_path, "not words of the vocabulary")
    return backend, synonyms


def _load_backend(path: Path) -> tokenizers.Tokenizer:
    text, content = read_json(path)
    try:
        words = _words(content)
        _check_words(words, [token["content"] for token in content["added_tokens"]])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise corrupt(path, str(error) if type(error) is ValueError else type(error).__name__) from None
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception:  # noqa: BLE001 - the Rust side raises bare Exception for every kind of damage
        raise corrupt(path, "not a tokenizer") from None


def _words(content: dict[str, Any]) -> dict[str, int]:
    """Return the vocabulary of a file; raise ValueError if a part of it is not as ``build`` makes it."""
    words = content["model"]["vocab"]
    special = [token["content"] for token in content["added_tokens"]]
    for lowercase in (True, False):
        kinds = [build(TokenizerConfig(kind=kind, lowercase=lowercase)) for kind in ("word", "bpe")]
        for ours in kinds:
            ours.add_special_tokens(special[: FIRST_LABEL + MAX_LABELS])
            expected = json.loads(ours.to_str())
            expected["model"] |= {
                name: content["model"].get(name) for name in ("vocab", "merges") if name in expected["model"]
            }
            if expected == content:
                if ours.model.unk_token is None and not words.keys() >= set(BYTES):
                    raise ValueError("a byte without a token")
                return dict(words)
    raise ValueError("not a tokenizer that adept train makes")


def _check_words(words: dict[str, int], special: list[str]) -> None:
    """Raise ValueError unless ids are 0, 1, 2, ..., special tokens first, and tokens can be written."""
    if not FIRST_LABEL <= len(words) <= MAX_VOCABULARY + MAX_LABELS:
        raise ValueError("too few or too many tokens")
    if any(type(number) is not int for number in words.values()) or sorted(words.values()) != list(range(len(words))):
        raise ValueError("ids with gaps")
    prefix, suffix = LABEL_TOKEN.split("{}")
    if special[:FIRST_LABEL] != SPECIAL_TOKENS or len(set(special)) < len(special):
        raise ValueError("other special tokens")
    if not all(label.startswith(prefix) and label.endswith(suffix) for label in special[FIRST_LABEL:]):
        raise ValueError("other special tokens")
    if any(words.get(token) != number for number, token in enumerate(special)):
        raise ValueError("special tokens without their ids")
    if not all(map(is_writable, words)):
        raise ValueError("a token that holds control characters or is too long")
