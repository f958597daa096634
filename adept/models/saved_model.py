"""A model directory: the autoencoder with labels, topics, codebooks and public sentences, its files and its card.

The card is the README of the directory: sizes, origin, measurements and guarantees.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import normalize

from adept.data.writing import check_path, make_directory
from adept.errors import MAX_NUMBER, ConfigurationError, ModelError, is_moderate, plain_name
from adept.mechanisms.policy import KNOWN_TEXTS, Lists
from adept.models import untrusted_files as names
from adept.models.config import LSTM_FORMAT, TOPICS, TOPICS_FORMAT, ModelConfig, TrainingData
from adept.models.lstm_autoencoder import Adept, pad
from adept.models.sentence_encoder import reads_as_english
from adept.models.tokenizer import UNKNOWN, Tokenizer, join_words
from adept.models.topics import TopicEncoder
from adept.models.untrusted_files import ModelFiles, build_model, is_packaged
from adept.torch_defaults import usual_torch

if TYPE_CHECKING:
    from adept.models.sentences.sentence_list import SentenceList

CARD = "README.md"
HIDDEN_LABELS = 0.3  # share of labels that training hides, to serve unlabelled text too
MAX_MEASURED_TEXTS, MIN_SHARE = 200, 0.25  # of a reconstruction
READERS = {"lstm": "LSTM encoder", "topics": "Encoder of topics, linear in the words"}
WRITERS = {"lstm": "LSTM decoder", "nearest": "decoder that answers with public texts"}
TAGS = ["differential-privacy", "local-differential-privacy", "text-rewriting"]
LISTED_CONTENT = {  # by the model's publicity
    True: "It was declared public:\n  `codec.json` and `codec.safetensors` hold its sentences as they are.",
    False: "No file holds a sentence of it.",
}
USAGE = """\
## Use

`adept rewrite model_dir=DIR input=FILE output=FILE epsilon=8`, or in Python `Rewriter.from_pretrained(DIR, mechanism=...)`.

Files: `config.json` (sizes, clip, training data), `model.safetensors` (weights), `codebooks.safetensors` (codewords, if there
are any), `tokenizer.json` (vocabulary), `synonyms.json` (for each unknown word the known word that is read instead),
`codec.json` and `codec.safetensors` (public sentences). None of them is code.
"""


class Autoencoder(Adept):
    """An encoder of token ids into a clipped latent, and a decoder that sees only this latent.

    If the number of ``labels`` is not 0, each row of token ids begins with a label's token, and the
    decoder writes a label before each text.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        vocabulary_size: int,
        clip: str,
        training_data: TrainingData | None = None,
        labels: int = 0,
    ) -> None:
        super().__init__(
            vocabulary_size=vocabulary_size, clip=clip, encoder=config.encoder != TOPICS, **config.network_sizes
        )
        self.config, self.vocabulary_size, self.labels = config, vocabulary_size, labels
        self.training_data = training_data or TrainingData()
        self.directory: Path | None = None  # from which the model was loaded
        self.codebooks: dict[int, Tensor] = {}  # codewords (k, n) by their number k
        self.files: dict[str, str] = {}  # digests by names
        self.sentences: SentenceList | None = None  # that description releases; None for a model of private text
        self.label_examples: dict[str, list[str]] = {}  # public examples of labels, from an adaptation
        self.held_out: list[str] = []  # public texts that nothing was learned from, if there is no list of sentences
        if config.encoder == TOPICS:
            self.topics = TopicEncoder(vocabulary_size, config.latent_dim)
        self.float()  # whatever torch.set_default_dtype says

    def read(self, tokens: Tensor) -> Tensor:
        if self.training and self.labels:
            hidden = torch.rand(len(tokens), device=tokens.device) < HIDDEN_LABELS
            tokens = torch.cat([tokens[:, :1].masked_fill(hidden[:, None], UNKNOWN), tokens[:, 1:]], dim=1)
        latents: Tensor = self.topics(tokens) if self.config.encoder == TOPICS else super().read(tokens)
        return latents

    def read_rows(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return latents (ROWS, n) before the clip. A topic encoder pads all rows to one length."""
        if self.config.encoder != TOPICS:
            return super().read_rows(rows)
        tokens = pad(rows, length=self.config.max_length + 2).to(self.topics.offset.device)
        latents: Tensor = self.topics(tokens)
        return latents

    @usual_torch()
    def reconstruct(self, texts: Sequence[str], tokenizer: Tokenizer | None = None) -> list[str]:
        """Write each text from its own latent, without noise. This is no release: it hides nothing.

        A model whose ``decoder`` is nearest writes the nearest of its public texts. The tokenizer is that
        of the directory from which the model was loaded, unless one is given.
        """
        if tokenizer is None and self.directory is None:
            raise ConfigurationError("tokenizer must be given for a model that was not loaded, got none")
        tokenizer = tokenizer or Tokenizer.from_pretrained(self.directory or "")
        self.check_tokenizer(tokenizer)
        latents = self.encode_records(tokenizer.encode(texts, max_length=self.config.max_length))
        if self.config.decoder == "nearest" and (public := self.public_texts):
            listed = self.encode_records(tokenizer.encode(public, max_length=self.config.max_length))
            near = [(part @ normalize(listed).T).argmax(dim=1) for part in torch.split(normalize(latents), 256)]
            return [public[place] for place in torch.cat(near).tolist()]
        return tokenizer.decode(self.write(latents, max_length=self.config.max_length + (self.labels > 0)).tolist())

    def check_tokenizer(self, tokenizer: Tokenizer, *, place: str = "") -> None:
        """Raise ModelError unless a tokenizer has as many words and labels as the model."""
        if (len(tokenizer), len(tokenizer.labels)) != (self.vocabulary_size, self.labels):
            raise ModelError(f"tokenizer.json{place} does not fit the model: restore the one it was trained with")

    @property
    def lists(self) -> Lists:
        """Return the public facts of this model, for the rules that choose a mechanism."""
        examples = self.training_data.examples
        return Lists(
            clip=self.clip,
            codebooks=tuple(self.codebooks),
            sentences=len(self.sentences) if self.sentences else 0,
            near=len(self.sentences.utterances) if self.sentences else 0,
            is_broad=bool(self.sentences and self.sentences.is_broad),
            examples=examples,
            foreign_examples=bool(examples) and not reads_as_english(self.public_texts[: min(examples, KNOWN_TEXTS)]),
            writes_labels=self.labels > 0,
        )

    @property
    def is_packaged(self) -> bool:
        """True if all files of this model are those of the packaged one."""
        return is_packaged(self.files)

    @property
    def public_texts(self) -> list[str]:
        return [join_words(words) for words in self.sentences.utterances] if self.sentences else []

    @property
    def held_out_texts(self) -> list[str]:
        return [join_words(words) for words in self.sentences.held_out] if self.sentences else self.held_out

    def save_pretrained(self, directory: str | Path) -> None:
        check_path(directory=directory)
        directory = Path(directory)
        make_directory(directory)
        description = {
            "format_version": TOPICS_FORMAT if self.config.encoder == TOPICS else LSTM_FORMAT,
            "model": self.config.described,
            "vocabulary_size": self.vocabulary_size,
            "clip": self.clip,
            "labels": self.labels,
            "training_data": asdict(self.training_data),
            "codebooks": sorted(self.codebooks),
            "codec": bool(self.sentences),
            **({"held_out": self.held_out} if self.held_out else {}),
            **({"label_examples": self.label_examples} if self.label_examples else {}),
        }
        precision, named = self.config.precision, {f"{size}": words for size, words in self.codebooks.items()}
        write_tensors(directory / names.WEIGHTS, self.state_dict(), precision=precision)
        for name in (names.CODEBOOKS, names.DESCRIPTION, names.TABLES):  # of another model
            (directory / name).unlink(missing_ok=True)
        if named:
            write_tensors(directory / names.CODEBOOKS, named, precision=precision)
        if self.sentences:
            from adept.models.sentences.sentence_list import save_sentences

            save_sentences(self.sentences, directory)
        (directory / names.CONFIG).write_text(json.dumps(description, indent=2) + "\n", "utf-8")
        (directory / CARD).write_text(model_card(self), "utf-8")

    @classmethod
    def from_pretrained(cls, directory: str | Path) -> "Autoencoder":
        """Load a model, from its directory or its run's; raise ModelError if files are missing, damaged or do not fit."""
        return cls.of(ModelFiles(directory, names.CONFIG, names.DESCRIPTION))

    @classmethod
    @usual_torch()
    def of(cls, files: ModelFiles) -> "Autoencoder":
        """Return the model of an open directory."""
        description, model = files.objects[names.CONFIG], build_model(cls, files)
        weights = {name: (model.config.precision, tuple(own.shape)) for name, own in model.state_dict().items()}
        model.load_state_dict(files.tensors(names.WEIGHTS, weights, described=names.CONFIG), assign=True)
        if sizes := description["codebooks"]:  # a lost file must not become another mechanism
            books = {f"{size}": (model.config.precision, (size, model.config.latent_dim)) for size in sizes}
            named = files.tensors(names.CODEBOOKS, books, described=names.CONFIG)
            model.codebooks = {int(size): codewords.clone() for size, codewords in named.items()}
            if not all(bool(codewords.any(dim=1).all()) for codewords in named.values()):
                raise files.corrupt(names.CODEBOOKS, "a codeword is zero")
        model.directory = files.directory
        model.held_out, model.label_examples = description.get("held_out", []), description.get("label_examples", {})
        if description["codec"]:
            from adept.models.sentences.sentence_list import load_sentences

            model.sentences = load_sentences(files) or None
        return model.float().eval()


def write_tensors(path: Path, tensors: dict[str, Tensor], *, precision: str = "float32") -> None:
    """Write tensors to a file; raise ModelError if ``ModelFiles.tensors`` would refuse a value."""
    held = {  # copies, as two codebooks may be one tensor
        name: tensor.to(getattr(torch, precision)).clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    if large := [name for name, tensor in held.items() if not is_moderate(tensor)]:
        raise ModelError(
            f"{large[0]} has values beyond {precision} or {MAX_NUMBER:,}: "
            "save the model with model.precision=float32, or train it again"
        )
    save_file(held, path)


def model_card(model: Autoencoder, *, metrics: Mapping[str, float] | None = None, adapted_from: str = "") -> str:
    """Return a model's card, and then ``adapted_from``, the card of the model it was made from."""
    data, config = model.training_data, model.config
    origin = "declared public" if data.public else "PRIVATE: do not share this directory"
    measured = "\n".join(f"- {name}: {value:.4g}" for name, value in (metrics or {}).items()) or "- none"
    mechanisms = "`mechanism=l1`" if model.clip == "l1" else "every mechanism for the l2 ball or the sphere"
    return f"""\
---
{_metadata(model)}
---
# An `adept` autoencoder

{READERS[config.encoder]} and {WRITERS[config.decoder]}, with a latent of {config.latent_dim} dimensions, clipped in {model.clip} to
{config.clip_norm}, for {mechanisms}. It reads and writes at most {config.max_length} tokens; its vocabulary has
{model.vocabulary_size}.

## Where it comes from

Trained on {data.records} records of `{plain_name(data.name)}` ({origin}).

## Measured on validation text

{measured}

## What is guaranteed, and what is not

- A rewrite made with this model and a mechanism of `adept` is locally differentially private *for the record that is rewritten*;
  whoever rewrites chooses the budget, and every output states it.
- The weights and the vocabulary were fitted to the training text: no local guarantee covers that text, and a rewrite can contain
  its sentences.
- A rewrite of a latent uses the words of the training text, whatever the record says. A rewrite of a description
  (`mechanism=description`) is a public sentence, and equals its record if the record is one of them.
- Codebooks and sentences come from the training text too. {LISTED_CONTENT[data.public]}
- A release does not hide who takes part, how many records there are, or their order.

{USAGE}{_source(adapted_from)}"""


def _source(card: str) -> str:
    text = re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL)
    deeper = re.sub("^#", "##", text, flags=re.MULTILINE).strip()
    return f"\n## The model that it was adapted from\n\n{deeper}\n" if text else ""


def _metadata(model: Autoencoder) -> str:
    """Return the card's metadata in YAML; values are written as JSON, so none can break a line."""
    name, bundled = model.training_data.name, "air_travel"
    terms = "mit" if name == bundled else "other"  # text of others has a licence of its own
    fields: dict[str, object] = {"library_name": "adept", "tags": TAGS, "license": terms, "datasets": [name]}
    fields |= {"license_name": "as-the-training-text"} if terms == "other" else {}
    fields |= {"language": ["en"]} if name in (bundled, "atis", "snips") else {}
    return "\n".join(f"{field}: {json.dumps(value)}" for field, value in fields.items())


@dataclass(frozen=True)
class Reconstruction:
    """Mean word F1 of records with their own noiseless rewrites, and with those of others."""

    own: float
    other: float

    @property
    def share(self) -> float:
        """``own`` on a scale from 0, if it is at most ``other``, to 1, if it is 1."""
        return max(0.0, (self.own - self.other) / (1 - self.other)) if self.other < 1 else 1.0

    @property
    def warning(self) -> str | None:
        if self.share >= MIN_SHARE:
            return None
        return (
            f"this model writes back {self.own:.2f} of the words of held-out text without any noise ({self.other:.2f} are in "
            "another record's text too), and a larger epsilon cannot change that: train on more public text of the same kind"
        )


def reconstruction(model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str]) -> Reconstruction | None:
    """Compare up to 200 texts with their noiseless rewrites; return None for a single text."""
    chosen = texts[:: max(1, len(texts) // MAX_MEASURED_TEXTS)][:MAX_MEASURED_TEXTS]
    if len(chosen) < 2:
        return None
    written = model.reconstruct(chosen, tokenizer)
    return Reconstruction(mean_word_f1(chosen, written), mean_word_f1(chosen, [*written[1:], written[0]]))


def mean_word_f1(records: Sequence[str], rewrites: Sequence[str]) -> float:
    """Return the mean word F1 of records with their rewrites; a pair without words counts as 1."""
    bags = [[Counter(text.lower().split()) for text in pair] for pair in zip(records, rewrites, strict=True)]
    sizes = [record.total() + rewrite.total() for record, rewrite in bags]
    return fmean(2 * (a & b).total() / words if words else 1.0 for (a, b), words in zip(bags, sizes, strict=True))
