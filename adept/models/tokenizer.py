"""A tokenizer, which converts texts to token ids and back by means of `tokenizers.Tokenizer`.

The vocabulary comes from the training text alone. A word outside the vocabulary becomes UNKNOWN or,
if the tokenizer has synonyms, the word of the vocabulary that is nearest in meaning.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from adept.data.corpus import Corpus
from adept.data.texts import UNSPACED, plain_text, separate_characters, text_list
from adept.errors import ConfigurationError, refuse
from adept.models.config import FIRST_LABEL, MAX_LABELS, MAX_VOCABULARY, SPECIAL_TOKENS, TokenizerConfig
from adept.models.sentence_encoder import synonyms_of
from adept.models.untrusted_files import SYNONYMS, TOKENIZER, ModelFiles

PAD, UNKNOWN, START, END = range(4)
LABEL_TOKEN = "[LABEL={}]"
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())  # a printable character for each byte
CONTROL = normalizers.Replace(Regex(r"\p{C}"), " ")
PUNCTUATION = r"""[,;:!?()\[\]"]|\.$"""  # tokens of their own; points inside a word ("a.m") stay
MAX_TOKEN_LENGTH = 4_000


class Tokenizer:
    """An encoder of texts into token ids, and a decoder of ids into texts of one line."""

    def __init__(self, backend: tokenizers.Tokenizer, synonyms: Mapping[str, str] | None = None):
        """Wrap a backend that ``build`` made; ``synonyms`` maps unknown words to known words."""
        self._backend, self.synonyms, numbers = backend, dict(synonyms or {}), backend.get_vocab()
        self._read_as = {word: numbers[known] for word, known in self.synonyms.items()}
        self._backend.encode_special_tokens = True  # a text that says "[END]" is text
        self._backend.no_padding()  # a row's ids must not depend on the other rows
        self._backend.no_truncation()
        self._is_bpe = isinstance(backend.model, models.BPE)
        if self._is_bpe:
            backend.model._resize_cache(0)  # else the time of one record would tell of earlier ones

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self._backend, self.synonyms)

    @classmethod
    def train(
        cls, texts: Iterable[str], config: TokenizerConfig | None = None, *, labels: Sequence[str] = ()
    ) -> "Tokenizer":
        """Build a tokenizer from texts; each of the public ``labels`` becomes a token, too."""
        config = config or TokenizerConfig()
        refuse(
            (not all(map(is_writable, labels)), "labels must hold no control characters, got one that does: rename it")
        )
        backend = build(config)
        options: dict[str, Any] = {
            "vocab_size": config.vocabulary_size + len(labels),
            "min_frequency": config.min_frequency,
            "special_tokens": [*SPECIAL_TOKENS, *(LABEL_TOKEN.format(label) for label in labels)],
            "show_progress": False,
        }
        if config.kind == "word":
            backend.train_from_iterator(map(separate_characters, texts), trainers.WordLevelTrainer(**options))
        else:
            backend.train_from_iterator(texts, trainers.BpeTrainer(**options, initial_alphabet=BYTES))
        return cls(backend)

    @classmethod
    def from_pretrained(cls, directory: str | Path) -> "Tokenizer":
        """Load a tokenizer with its synonyms, if any; raise ModelError if a file is damaged."""
        return cls.of(ModelFiles(directory, TOKENIZER, SYNONYMS))

    @classmethod
    def of(cls, files: ModelFiles) -> "Tokenizer":
        """Return the tokenizer of an open model directory."""
        backend = _load_backend(files)
        return cls(backend, _load_synonyms(files, backend))

    def save_pretrained(self, directory: str | Path) -> None:
        (Path(directory) / TOKENIZER).write_text(self._backend.to_str(pretty=False), "utf-8")
        (Path(directory) / SYNONYMS).unlink(missing_ok=True)
        if self.synonyms:
            (Path(directory) / SYNONYMS).write_text(json.dumps(self.synonyms, ensure_ascii=False), "utf-8")

    def with_synonyms(self) -> "Tokenizer":
        """Return a copy that reads an unknown word of English as the known word nearest in meaning."""
        return Tokenizer(self._backend, synonyms_of(self.words[FIRST_LABEL + len(self.labels) :]))

    def with_words(self, texts: Iterable[str]) -> "Tokenizer":
        """Return a copy without synonyms, whose vocabulary also holds the words of public texts."""
        backend, content = self._backend, json.loads(self._backend.to_str())
        words: dict[str, int] = content["model"]["vocab"]
        # Subwords spell all words already
        for text in texts if isinstance(backend.model, models.WordLevel) else ():
            clean = backend.normalizer.normalize_str(
                separate_characters(text.encode("utf-8", "replace").decode("utf-8"))
            )
            for word, _ in backend.pre_tokenizer.pre_tokenize_str(clean):
                if len(words) < MAX_VOCABULARY and is_writable(word):
                    words.setdefault(word, len(words))
        return Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(content)))

    def __len__(self) -> int:
        return int(self._backend.get_vocab_size())

    @property
    def vocabulary(self) -> dict[str, int]:
        return dict(self._backend.get_vocab())

    @property
    def words(self) -> list[str]:
        return [word for _, word in sorted((number, word) for word, number in self.vocabulary.items())]

    @cached_property
    def labels(self) -> list[str]:
        """Labels of the public label set, if the model writes labels; otherwise an empty list."""
        prefix, suffix = LABEL_TOKEN.split("{}")
        special = [token.content for _, token in sorted(self._backend.get_added_tokens_decoder().items())]
        named = (token.removeprefix(prefix).removesuffix(suffix) for token in special[FIRST_LABEL:])
        return [plain_text(label) or label for label in named]

    def encode(
        self, texts: Sequence[str], *, max_length: int, labels: Sequence[str | None] | None = None
    ) -> list[list[int]]:
        """Return the ids of each text: those of its first ``max_length`` tokens, and END.

        If the model writes labels, a row begins with the id of the text's label (UNKNOWN without a label). Raises
        ConfigurationError if a label is not in the model's label set.
        """
        # A line of megabytes must not cost seconds. Lone surrogates become question marks.
        clean = [text[: 100 * max_length].encode("utf-8", "replace").decode("utf-8") for text in text_list(texts)]
        clean = clean if self._is_bpe else [*map(separate_characters, clean)]
        rows = [[*ids[:max_length], END] for ids in self._ids(clean)]
        if not self.labels:
            return rows
        heads = [UNKNOWN] * len(rows) if labels is None else self.label_ids(labels)
        return [[head, *row] for head, row in zip(heads, rows, strict=True)]

    def encode_corpus(self, corpus: Corpus, *, max_length: int) -> list[list[int]]:
        return self.encode(corpus.texts, max_length=max_length, labels=corpus.labels if self.labels else None)

    def _ids(self, texts: list[str]) -> list[list[int]]:
        """Return the ids of each text; a text at which the backend fails gets no ids."""
        try:
            encoded = self._backend.encode_batch(texts, add_special_tokens=False)
        except Exception:  # noqa: BLE001 - the Rust side raises bare Exception; none is known for a pipeline that was checked
            return [[]] if len(texts) == 1 else [ids for text in texts for ids in self._ids([text])]
        return [self._replace_unknown(encoding, text) for encoding, text in zip(encoded, texts, strict=True)]

    def _replace_unknown(self, encoding: tokenizers.Encoding, text: str) -> list[int]:
        ids: list[int] = encoding.ids
        if not self.synonyms or UNKNOWN not in ids:
            return ids
        return [
            self._read_as.get(text[begin:end].lower(), UNKNOWN) if number == UNKNOWN else number
            for number, (begin, end) in zip(ids, encoding.offsets, strict=True)
        ]

    def label_ids(self, labels: Sequence[str | None]) -> list[int]:
        if unknown := [i for i, label in enumerate(labels) if label is not None and label not in self.labels]:
            raise ConfigurationError(
                f"labels must be in the model's label set, got another one in record {unknown[0] + 1}"
            )
        return [UNKNOWN if label is None else FIRST_LABEL + self.labels.index(label) for label in labels]

    def decode(self, rows: list[list[int]]) -> list[str]:
        """Return the text of each row of ids, up to the first END in the row."""
        kept = [row[: row.index(END)] if END in row else row for row in rows]
        written = self._backend.decode_batch(kept, skip_special_tokens=True)
        # Bytes of harmless tokens can spell a line break: so lines are checked when written.
        lines = [CONTROL.normalize_str(text).split() for text in written]
        return [join_marks(words) if self._is_bpe else join_words(words) for words in lines]

    def decode_labels(self, rows: list[list[int]]) -> list[str]:
        return [self.labels[row[0] - FIRST_LABEL] for row in rows]


def join_words(words: Sequence[str]) -> str:
    """Join words and punctuation marks as ``join_marks``, and undo ``separate_characters``."""
    text = join_marks(words)
    return text if text.isascii() else re.sub(f"(?<={UNSPACED}) (?={UNSPACED})", "", text)


def join_marks(words: Sequence[str]) -> str:
    """Join words and punctuation marks into a text, without spaces before the marks."""
    return re.sub(r" ([.,;:!?)\]])", r"\1", " ".join(words))


def build(config: TokenizerConfig) -> tokenizers.Tokenizer:
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


def is_writable(word: str) -> bool:
    """Return True if a token or label is printable and has at most MAX_TOKEN_LENGTH characters."""
    if len(word) > MAX_TOKEN_LENGTH:
        return False
    if word.isascii():  # most are: of these only control characters are not printable
        return word.isprintable()
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, format, halves of characters, line and paragraph separators
    return kinds.isdisjoint(map(unicodedata.category, word))


def _load_backend(files: ModelFiles) -> tokenizers.Tokenizer:
    """Load a tokenizer's backend, which may differ from one made by ``build`` only in its words.

    The failures or the speed of any other backend could reveal something about a record.
    """
    content = files.objects[TOKENIZER]
    try:
        special = [token["content"] for token in content["added_tokens"]]
        _check_words(_words(content, special), special)
        return tokenizers.Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # noqa: BLE001 - the Rust side raises bare Exception for every kind of damage
        raise files.corrupt(TOKENIZER, str(error) if type(error) is ValueError else "not a tokenizer") from None


def _words(content: dict[str, Any], special: list[str]) -> dict[str, int]:
    """Return a backend's vocabulary; raise ValueError if ``build`` cannot have made the backend."""
    words = content["model"]["vocab"]
    for kind, lowercase in product(("word", "bpe"), (True, False)):
        ours = build(TokenizerConfig(kind=kind, lowercase=lowercase))
        ours.add_special_tokens(special[: FIRST_LABEL + MAX_LABELS])
        expected = json.loads(ours.to_str())
        parts = [name for name in ("vocab", "merges") if name in expected["model"]]
        expected["model"] |= {name: content["model"].get(name) for name in parts}
        if expected == content:
            if kind == "bpe" and not words.keys() >= set(BYTES):
                raise ValueError("a byte without a token")
            return dict(words)
    raise ValueError("not a tokenizer that adept train makes")


def _check_words(words: dict[str, int], special: list[str]) -> None:
    if not FIRST_LABEL <= len(words) <= MAX_VOCABULARY + MAX_LABELS:
        raise ValueError("too few or too many tokens")
    if any(type(number) is not int for number in words.values()) or sorted(words.values()) != list(range(len(words))):
        raise ValueError("ids with gaps")
    prefix, suffix = LABEL_TOKEN.split("{}")
    named = all(label.startswith(prefix) and label.endswith(suffix) for label in special[FIRST_LABEL:])
    if special[:FIRST_LABEL] != SPECIAL_TOKENS or len(set(special)) < len(special) or not named:
        raise ValueError("other special tokens")
    if any(words.get(token) != number for number, token in enumerate(special)):
        raise ValueError("special tokens without their ids")
    if not all(map(is_writable, words)):
        raise ValueError("a token that holds control characters or is too long")


def _load_synonyms(files: ModelFiles, backend: tokenizers.Tokenizer) -> dict[str, str]:
    synonyms = files.objects.get(SYNONYMS, {})
    words = backend.get_vocab(with_added_tokens=False)
    special = {token.content for token in backend.get_added_tokens_decoder().values()}
    if len(synonyms) > MAX_VOCABULARY or not all(
        isinstance(known, str) and known in words and known not in special for known in synonyms.values()
    ):
        raise files.corrupt(SYNONYMS, "not words of the vocabulary")
    return synonyms
