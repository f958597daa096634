"""The pipeline behind a tokenizer: how it is put together, and the check that a saved one is put together so.

A tokenizer file can name any of dozens of parts, and some of them fail on some texts or take very long. A record's text would then
show in an exit status. So a file is accepted only if all its parts are ours and it differs from ours in its words alone.

Subwords are of bytes: each word is a space and its UTF-8 bytes, every one of which is a token, and the commonest neighbours are
merged. So any text has tokens, and they write it again; only white space, and space before punctuation, is not kept.
"""

import json
import unicodedata
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from adept.models.config import MAX_VOCABULARY, TokenizerConfig
from adept.models.untrusted_files import corrupt, read_json

PAD, UNKNOWN, START, END = range(4)
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[START]", "[END]"]
FIRST_LABEL = len(SPECIAL_TOKENS)  # label tokens, where there are any, come right after the special ones
LABEL_TOKEN = "[LABEL={}]"
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())  # a printable character for each
CONTROL = normalizers.Replace(Regex(r"\p{C}"), " ")
PUNCTUATION = r"""[,;:!?()\[\]"]|\.$"""  # tokens of their own; points inside a word ("a.m") stay
MOST_LABELS, LONGEST_TOKEN = 10_000, 4_000
UNWRITABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, format, halves of characters, line and paragraph separators


def build(config: TokenizerConfig) -> tokenizers.Tokenizer:
    """Put together normalisation (control and format characters are white space), splitting and the empty model."""
    backend = tokenizers.Tokenizer(models.WordLevel(unk_token=SPECIAL_TOKENS[UNKNOWN]))
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(PUNCTUATION), behavior="isolated")]
    if config.kind == "bpe":
        backend.model = models.BPE()
        split.append(pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False))
        backend.decoder = decoders.ByteLevel()
    backend.pre_tokenizer = pre_tokenizers.Sequence(split)
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFC(), CONTROL, *([normalizers.Lowercase()] if config.lowercase else [])]
    )
    return backend


def load(path: Path) -> tokenizers.Tokenizer:
    """Load a tokenizer file that differs from ours in its words alone.

    Raises:
        ModelError: the file is missing, damaged, or another kind of tokenizer.
    """
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
    """Return the vocabulary of a tokenizer file; ValueError if any part of it is not as ``build`` makes it."""
    words = content["model"]["vocab"]
    special = [token["content"] for token in content["added_tokens"]]
    for lowercase in (True, False):
        kinds = [build(TokenizerConfig(kind=kind, lowercase=lowercase)) for kind in ("word", "bpe")]
        for ours in kinds:
            ours.add_special_tokens(special[: FIRST_LABEL + MOST_LABELS])
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
    """Raise ValueError unless the ids are 0, 1, 2, ..., special tokens first, and every token can be written in a line."""
    if not FIRST_LABEL <= len(words) <= MAX_VOCABULARY + MOST_LABELS:
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
    check_writable(words)


def check_writable(words: Any) -> None:
    """Raise ValueError for a token or label that would write more than a part of a line."""
    if not all(map(is_writable, words)):
        raise ValueError("a token that holds control characters or is too long")


def is_writable(word: str) -> bool:
    """May a token be written: part of a line, and not endless."""
    if len(word) > LONGEST_TOKEN:
        return False
    if word.isascii():  # most are: of these only control characters are not printable
        return word.isprintable()
    return not any(unicodedata.category(character) in UNWRITABLE for character in word)
