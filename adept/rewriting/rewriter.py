"""Rewriting of texts: a draw from a public list (``alphabets``), or noise on a model's latents."""

import math
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from adept.data.texts import plain_text, say_once, text_list, value_list
from adept.errors import ConfigurationError, ModelError, ReleaseRefused, check_integer, refuse
from adept.mechanisms import BY_NAME, Description, JointResponse, LearnedCodebook, LocalRandomizer, policy
from adept.mechanisms.base import Kind
from adept.mechanisms.guarantee import Guarantee
from adept.models.config import BATCH_SIZE, DecodingConfig, TrainingData
from adept.models.decoding import Pair, pool_size
from adept.models.saved_model import Autoencoder
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer
from adept.rewriting.alphabets import Alphabet, Codewords, Latents, Noise, Pairs, Sentences
from adept.rewriting.cells import Cells
from adept.rewriting.loading import fetch, load_model, publish
from adept.torch_defaults import usual_torch

THREADS = Path("/proc/self/task")  # threads of this process, on Linux
# Parts that belong together
FIXED = ("model", "tokenizer", "mechanism", "joint", "choice", "decoding", "alphabet", "votes", "labels")
UNREAD = ("epsilon", "samples", "label_set", "max_records_per_person")  # options of other calls, which no object holds
HUB_OPTIONS = ("revision", "cache_dir", "force_download", "local_files_only", "token")


def _await_ended_threads() -> None:
    """Wait at most a second for threads that ended in Python but still run in the operating system.

    One that holds a lock of the library MKL would make a forked process wait for ever.
    """
    own, end = {thread.native_id for thread in threading.enumerate()}, time.monotonic() + 1
    others = [task for task in THREADS.iterdir() if int(task.name) not in own] if THREADS.is_dir() else []
    while any(map(_is_running, others)) and time.monotonic() < end:
        time.sleep(0.001)


def _is_running(task: Path) -> bool:
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:  # it has ended
        return False


# A forked process has none of its parent's worker threads: with more than one PyTorch would wait
# for them for ever.
os.register_at_fork(before=_await_ended_threads, after_in_child=lambda: torch.set_num_threads(1))


def set_unless_fixed(self: object, name: str, value: Any) -> None:
    """Set an attribute, but neither exchange a part, as another one draws then, nor set an option, as none reads it.

    A class derived from ours may read such an option.
    """
    ours = type(self).__module__.startswith("adept.")
    refuse(
        (
            (name in UNREAD and ours) or (name in FIXED and name in vars(self)),
            f"{name} of a {type(self).__name__} cannot be changed: make a new one",
        )
    )
    object.__setattr__(self, name, value)


class Rewriter:
    """A rewriter that turns texts into private texts, with one model and one mechanism.

    Args:
        model, tokenizer: a model and its tokenizer, saved together.
        mechanism: a mechanism for latents or for the model's public sentences, or an object of your own with
            ``epsilon`` and ``privatize`` (``adept.rewriting.unproved``). The label of every record is needed for a
            ``JointResponse``, which releases text and label together, and for ``Description(by_label=True)``, which
            releases a public sentence chosen for the label.
        decoding: options for writing texts from released latents. Sampled texts use new random numbers in every call.
        batch_size: number of records that go through the model at once.
        label: for a ``Description(by_label=True)``, the label of every record, if they all have one.
        accept_broken_claim, accept_inexact, accept_private_model, accept_unproved: as for
            ``check_release``.

    Raises:
        ModelError: the model clips latents in a way that the mechanism cannot use, or lacks the
            codewords or the public sentences that the mechanism needs.
        ConfigurationError: the mechanism and the model clip latents to different radiuses.
        ReleaseRefused: a release with this model and mechanism would not be safe (``check_release``).
    """

    @usual_torch()
    def __init__(
        self,
        model: Autoencoder,
        tokenizer: Tokenizer,
        *,
        mechanism: LocalRandomizer | JointResponse,
        decoding: DecodingConfig | None = None,
        batch_size: int = BATCH_SIZE,
        label: str | None = None,
        accept_broken_claim: bool = False,
        accept_inexact: bool = False,
        accept_private_model: bool = False,
        accept_unproved: bool = False,
    ) -> None:
        check_integer(1, 10**6, batch_size=batch_size)
        model.check_tokenizer(tokenizer)
        self.model, self.tokenizer, self.batch_size = model.eval(), tokenizer, batch_size
        pairs = mechanism if isinstance(mechanism, JointResponse) else None
        text = check_mechanism(pairs.mechanism if pairs else mechanism, model)
        self.choice = policy.choose(model.lists, epsilon=text.epsilon)
        text = self._fit(text, pairs)
        self.joint = JointResponse.of(text, pairs.labels) if pairs else None  # of text and label, released together
        self.mechanism = self.joint.text if self.joint else text
        self.decoding = resolve_decoding(decoding or DecodingConfig(), model, self.mechanism)
        self._by_label: tuple[Any, Rewriter] | None = None  # what ``by_label`` returned, and for which arguments
        self.measurement = False  # True for one whose texts are never handed out
        self.alphabet = self._open(label)
        check_release(
            self.guarantee,
            model.training_data,
            accept_broken_claim=accept_broken_claim,
            accept_inexact=accept_inexact,
            accept_private_model=accept_private_model,
            accept_unproved=accept_unproved,
        )

    __setattr__ = set_unless_fixed

    @classmethod
    def for_measurement(cls, model: Autoencoder, tokenizer: Tokenizer, **options: Any) -> "Rewriter":
        """Return a rewriter for measurements, which accepts any mechanism but releases no file."""
        options |= dict.fromkeys(
            ("accept_broken_claim", "accept_inexact", "accept_private_model", "accept_unproved"), True
        )
        rewriter = cls(model, tokenizer, **options)
        rewriter.measurement = True
        return rewriter

    @classmethod
    def from_pretrained(
        cls, directory: str | Path, *, mechanism: LocalRandomizer | JointResponse, **options: Any
    ) -> Self:
        """Return a rewriter with a saved model; raise ModelError if the model cannot be loaded.

        Args:
            directory: the directory of the model or of its training run; or "utterances" for the
                packaged model; or "owner/model" for a model on the Hub.
            options: options of the constructor and, for the Hub, revision, cache_dir,
                force_download, local_files_only and token.
        """
        hub = {name: options.pop(name) for name in HUB_OPTIONS if name in options}
        on_hub = re.fullmatch(r"[\w.-]+/[\w.-]+", str(directory)) and not Path(directory).exists()
        model, tokenizer = fetch(str(directory), **hub) if on_hub else load_model(directory)
        return cls(model, tokenizer, mechanism=mechanism, **options)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that each rewrite gives to the record from which it was written."""
        return (self.joint or self.mechanism).guarantee(self.model.config.latent_dim)

    def rewrite(self, texts: Any, *, samples: int = 1) -> list[str]:
        """Release every text once, and write ``samples`` texts from each release, in the order of releases.

        The texts are a list, array or column of strings (``adept.data.texts``), all checked first.
        """
        return [text for text, _ in self.rewrite_pairs(texts, samples=samples)]

    @usual_torch()
    def rewrite_pairs(self, texts: Any, labels: Any = None, *, samples: int = 1) -> list[Pair]:
        """Release each record once, and write ``samples`` pairs (text, label) from each release.

        ``labels`` must be None unless the mechanism reads labels or the model writes labels. If no
        labels are released or written, the label of each pair is None.

        Raises:
            DataError: texts or labels are not lists, a text is not a string, or the lengths differ.
            ConfigurationError: a label is outside the public label set.
        """
        check_integer(1, 10**6, samples=samples)
        texts, labels = self._check(texts, labels)
        batches = self._batches(texts, labels) if texts else ()
        return [pair for batch in batches for pair in self.write(self.release(*batch), samples=samples)]

    def _batches(
        self, texts: list[str], labels: list[str | None] | None
    ) -> Iterator[tuple[list[str], list[str | None] | None]]:
        for start in range(0, max(1, len(texts)), self.batch_size):
            batch = slice(start, start + self.batch_size)
            yield texts[batch], labels[batch] if labels is not None else None

    def _check(self, texts: Any, labels: Any) -> tuple[list[str], list[str | None] | None]:
        given = text_list(texts)
        if labels is None:
            return given, None
        beside = [plain_text(label) for label in value_list(labels, len(given), "labels")]
        self.alphabet.check_labels(beside)
        return given, beside

    def by_label(
        self, descriptions: Mapping[str, Sequence[str]] | None = None, *, label_set: Sequence[str] = ()
    ) -> "Rewriter":
        """Return a rewriter, with the same epsilon, that releases sentences chosen for labels.

        The method returns this rewriter itself if the model is not suitable (``policy.choose``),
        or if text and label are released together. A call with the same arguments as the last call
        returns the same rewriter, so the sentences for each label are chosen only once.

        Args:
            descriptions: public sentences that explain the labels, for all or some of the labels.
            label_set: labels that are public and were not read from the records.
        """
        asked, cell = (descriptions, label_set), self.choice.cell
        if cell is None or self.joint:
            return self
        if self._by_label is None or self._by_label[0] != asked:
            other = copy(self)
            own = Description(epsilon=self.mechanism.epsilon, by_label=True, size=cell.size, top=cell.heavy)
            vars(other).update(mechanism=own, alphabet=Cells(self.model, own, descriptions, label_set=label_set))
            self._by_label = asked, other
        return self._by_label[1]

    def _fit(self, mechanism: LocalRandomizer, pairs: JointResponse | None) -> LocalRandomizer:
        """Return a copy of a mechanism that draws from the model's lists; ``pairs``: together with labels."""
        match mechanism:
            case LearnedCodebook(codewords=None):
                return self._with_codewords(mechanism, pairs)
            case Description(by_label=True):
                refuse((pairs, "mechanism must not be a description by label if labels are private: use labels=copy"))
                size = mechanism.count
                return replace(mechanism, size=size, top=mechanism.top or policy.heavy_of_cell(mechanism.epsilon, size))
            case Description():
                return self._over_sentences(mechanism, pairs)
        return mechanism

    def _with_codewords(self, mechanism: LearnedCodebook, pairs: JointResponse | None) -> LearnedCodebook:
        books = self.model.codebooks
        if not books:
            raise ModelError(
                "the model has no codebooks: train one with mechanism=learned_codebook on at least 4 records"
            )
        if not pairs and mechanism.size is None and self.choice.codewords:
            size, top = self.choice.codewords
            return replace(mechanism, codewords=books[size], size=size, top=mechanism.top or top)
        most = pairs.text.count if pairs else mechanism.count
        if not (fitting := [size for size in books if size <= most]):
            raise ConfigurationError(f"size must be at least {min(books)}, the model's smallest codebook, got {most}")
        return replace(mechanism, codewords=books[max(fitting)], size=max(fitting))

    def _over_sentences(self, mechanism: Description, pairs: JointResponse | None) -> Description:
        most, size = len(_public_sentences(self.model)), mechanism.size
        refuse(
            (
                size is not None and size > most,
                f"size must be at most {most}, the number of the model's public sentences, got {size}: leave it out",
            )
        )
        if size is not None or pairs:
            return replace(mechanism, size=size or min(most, pairs.text.count if pairs else most))
        size, top = self.choice.sentences or (most, 1)
        return replace(mechanism, size=size, top=mechanism.top or top)

    def _open(self, label: str | None) -> Alphabet | Noise:
        """Return the public list of which the mechanism draws, or the latents to which it adds noise."""
        mechanism, parts = self.mechanism, (self.model, self.tokenizer, self.decoding, self.batch_size)
        if isinstance(mechanism, Description) and mechanism.by_label:
            cells = Cells(self.model, mechanism)
            return cells if label is None else cells.of(label)
        refuse(
            (label is not None, "label must be left out: the texts that can be written do not depend on it, got one")
        )
        match mechanism:
            case Description():
                entries: Alphabet = Sentences(_public_sentences(self.model), mechanism.selection)
            case LearnedCodebook():
                entries = Codewords(Latents(*parts, most=pool_size(mechanism.count)), mechanism)
            case _:
                return Noise(*parts, mechanism=mechanism)
        return Pairs(entries, self.joint) if self.joint else entries

    @property
    def reads_labels(self) -> bool:
        """True if a release depends on the record's label."""
        return self.alphabet.reads_labels

    @usual_torch()
    def encode(self, texts: Any, labels: Any = None) -> Tensor:
        """Return a secret row for each of B records: its latent, or the numbers of its heavy entries."""
        return torch.cat([self.alphabet.encode(*batch) for batch in self._batches(*self._check(texts, labels))])

    @usual_torch()
    def release(self, texts: Any, labels: Any = None) -> Tensor:
        """Return the released rows of B records: latents (B, n), or numbers (B, 1) of the alphabet."""
        batches = self._batches(*self._check(texts, labels))
        return torch.cat([self.draw(self.alphabet.encode(*batch), batch[1]) for batch in batches])

    def draw(self, encoded: Tensor, labels: list[str | None] | None = None) -> Tensor:
        """Release records that are given as rows of ``encode``."""
        return self.alphabet.draw(encoded, labels)

    @usual_torch()
    def write(self, released: Tensor, *, samples: int = 1) -> list[Pair]:
        """Write ``samples`` pairs (text, label) from each released row; read no record."""
        return self.alphabet.write_rows(released, samples=samples)

    def save_pretrained(self, directory: str | Path) -> None:
        """Write the model directory that ``from_pretrained`` loads, including the model card."""
        self.model.save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)

    def push_to_hub(self, name: str, *, accept_private_model: bool = False, **options: Any) -> str:
        """Publish the model on the Hub as "owner/model" (``loading.publish``)."""
        return publish(self.model, self.tokenizer, name, accept_private_model=accept_private_model, **options)


def best_exact(model: Autoencoder, *, epsilon: float | None = None) -> Kind:
    """Return the class of exact mechanisms with the best measured utility at this epsilon."""
    return BY_NAME[policy.choose(model.lists, epsilon=epsilon).mechanism]


def check_mechanism(mechanism: Any, model: Autoencoder) -> LocalRandomizer:
    """Return the mechanism, or an object of somebody else as one; raise AdeptError if it does not fit the model's clip."""
    own: LocalRandomizer = mechanism
    if type(mechanism) not in BY_NAME.values():
        from adept.rewriting.unproved import Unproved, choice_of  # slow to import, and rarely needed

        if not isinstance(mechanism, Unproved):
            own = choice_of(mechanism).build(clip_norm=model.config.clip_norm)
    if model.clip not in own.serves:
        raise ModelError(
            f"the model was trained for clip {model.clip}, which mechanism {own.name} cannot use: "
            f"train one with mechanism={own.name}"
        )
    if own.radius not in (None, model.config.clip_norm):
        raise ConfigurationError(
            f"clip_norm must be {model.config.clip_norm}, the radius that the model was trained for, got {own.radius}"
        )
    return own


def _public_sentences(model: Autoencoder) -> SentenceList:
    """Return a model's public sentences; raise ModelError if it lists fewer than two."""
    if model.sentences is None or len(model.sentences) < 2:
        raise ModelError(
            "the model lists no public sentences, one of which mechanism=description would release: use another mechanism, or "
            "a model of public text"
        )
    return model.sentences


def check_release(
    guarantee: Guarantee,
    training_data: TrainingData,
    *,
    accept_broken_claim: bool = False,
    accept_inexact: bool = False,
    accept_private_model: bool = False,
    accept_unproved: bool = False,
) -> None:
    """Raise ReleaseRefused if a release is not safe, unless an argument is True, and thus permits this release.

    Args:
        accept_broken_claim: if True, the privacy claim may be false or have an infinite epsilon.
        accept_inexact: if True, the noise may have rounding errors that no proof covers.
        accept_private_model: if True, the model may be able to write sentences of its private training text.
        accept_unproved: if True, the claim may be one that nobody checked (``adept.rewriting.unproved``).
    """
    if guarantee.holds is None:
        if accept_unproved is not True:  # "false" permits nothing
            raise ReleaseRefused(f"{guarantee.text} Choose a mechanism of adept, or add accept_unproved=true")
    elif not (guarantee.holds and math.isfinite(guarantee.epsilon)) and accept_broken_claim is not True:
        raise ReleaseRefused(f"{guarantee.text} Choose another mechanism, or add accept_broken_claim=true")
    if not (guarantee.exact or guarantee.holds is None or accept_inexact is True):
        raise ReleaseRefused(
            "this mechanism is research grade: floating-point noise has no proven guarantee: "
            "choose an exact one, or add accept_inexact=true"
        )
    if training_data.public is not True and accept_private_model is not True:
        raise ReleaseRefused(
            "the model was trained on text that was not declared public, and can write that text whatever the budget: "
            "train one on public text, or add accept_private_model=true"
        )


def resolve_decoding(decoding: DecodingConfig, model: Autoencoder, mechanism: LocalRandomizer) -> DecodingConfig:
    """Replace the strategy "auto" and the pool None by values for this model and mechanism; name an idle option once.

    The pool is the number of texts written for each codeword, which its records share. It is 0 unless texts
    are sampled and the releases are codewords of a learned codebook.
    """
    count = mechanism.count if isinstance(mechanism, LearnedCodebook) else 0  # of releases, if they repeat
    usual = "nearest" if model.config.decoder == "nearest" and not model.labels else "sample" if count else "greedy"
    strategy = usual if decoding.strategy == "auto" else decoding.strategy
    pool = decoding.pool if decoding.pool is not None else pool_size(count) if count else 0
    sampled = strategy == "sample" and not isinstance(mechanism, Description)
    changed = [each.name for each in fields(decoding)[1:] if getattr(decoding, each.name) != each.default]
    if idle := [name for name in changed if not sampled or (name == "pool" and not count)]:
        say_once(f"note: decoding.{idle[0]} has no effect for {mechanism.name} with decoding.strategy={strategy}")
    return replace(decoding, strategy=strategy, pool=pool if count and sampled else 0)
