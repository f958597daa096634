"""Privacy statements: the fields of ``OUTPUT.privacy.json``, computed from a release.

A *certificate* is a list of public numbers from which anybody can compute the guarantee again. In a *local* release,
each record is randomised on its own. In a *central* release, noise is added to counts of records, and synthetic records
are written from the noisy counts.
"""

import hashlib
import importlib.metadata
import json
import math
import platform
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, fields
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any

import torch

from adept.data.formats import STANDARD_STREAM
from adept.errors import AdeptError, plain_name, refuse
from adept.mechanisms import BY_NAME, Codebook, JointResponse, LocalRandomizer, RandomizedResponse
from adept.mechanisms.central_counts import COUNTS_MOVED, Votes
from adept.mechanisms.guarantee import ANY_TWO_RECORDS, Guarantee, Part, json_number, laplace_part, total
from adept.mechanisms.shuffling import central_epsilon, draws_of
from adept.models.saved_model import Autoencoder
from adept.models.sentences.sentence_list import SentenceList, sentences_sha256
from adept.models.tokenizer import Tokenizer
from adept.models.untrusted_files import KINDS, WEIGHTS, is_packaged
from adept.release.records import ReleaseOptions, split_response
from adept.release.statement import verify, wording
from adept.release.statement.verify import Json
from adept.rewriting.rewriter import Rewriter

MAX_DELTA, MAX_DELTA_SHARE = 1e-6, 0.1  # the usual central delta: at most this, and at most this share of 1 / n


@dataclass(frozen=True)
class Shuffled:
    """The guarantee of a shuffled file for readers who see its records only in their new order.

    A *release* is the randomised value from which the texts of a record are written. A file may be shuffled by this run
    or by somebody else. A shuffled file hides from which record each row comes. So the guarantee for the file as a whole
    (the *central* guarantee) is at least as strong as that of a single release. ``adept.mechanisms.shuffling`` proves it
    for every function of the *unordered* releases and of coins (random choices) that nobody can guess.

    *Claim*: a shuffled file is a function of the unordered releases and of coins that nobody can
    guess. If labels are copied, the file is a function of the pairs (release, label), without their
    order, and of coins that nobody can guess.

    *Reason* (the proof is in ``docs/proofs.md``): ``shuffle=true`` permutes the releases, each with its label, before
    any text is written. With ``shuffled_records=N``, somebody else permutes the rows, and each row is a function of its
    record's release, of coins used for no other row, and of pools that are the same for all rows; releases with several
    candidates, the only exception, are refused.

    *Unit*: every number of shuffling counts records, and never rows. With ``samples=k``, the k rows of a record are
    written from one release, so N records of k rows each are N unordered releases, and the guarantee is that of N
    records. ``shuffled_records=N`` declares *groups* of at least N records, each record with all its rows. A record is
    hidden in its own group, and more records never weaken the guarantee. A shorter last group would break the
    declaration: its records must join another group.

    Apart from its text and its label, a row must not hold anything about its record, so kept columns are refused. The
    journal, with which an interrupted run can continue, holds the releases in the order of the input. The journal is
    removed when the output is complete, but its blocks may stay on the disk. Against somebody who reads the journal,
    each record has only its local guarantee.

    If labels are copied, a record is hidden only among the records with the same label. So the label with the fewest
    records determines the guarantee. If the user declares beside that only some of the file's records are shuffled
    together, a record may be the only one with its label among them, so no record counts as hidden.

    The attributes are, in order, the fields ``verify.SHUFFLED`` of a statement.

    Attributes:
        here: True if this run shuffled the file; False if somebody else shuffles it.
        records: least number of records that are shuffled together.
        smallest: smallest number of records among which a record is hidden.
        epsilon, delta: the central guarantee for replacing one record.
    """

    here: bool
    records: int
    smallest: int
    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class Statement(ABC):
    """The privacy statement of one release.

    Attributes:
        records: number of written records; None while this number is unknown.
        date: the end of a local release (UTC), or the day on which a central release began.
    """

    records: int | None
    training_data: dict[str, Any]
    versions: dict[str, str]
    model_sha256: str | None = None
    model_files: dict[str, str] | None = None
    output_sha256: str | None = None
    date: str | None = None
    text_column: str | None = None
    label_column: str | None = None

    @property
    def text(self) -> str:
        """The statement in English sentences."""
        text: str = self.values()["statement"]
        return text

    @abstractmethod
    def values(self) -> dict[str, Any]:
        """Return a dict with the JSON values of those fields that are not attributes."""

    @property
    @abstractmethod
    def certificate(self) -> list[Part] | None:
        """Public numbers that imply the guarantee; None if the mechanism has no certificate."""

    def fields(self) -> dict[str, Any]:
        """Return the statement's fields as JSON values, without a certificate."""
        values = self.values()
        _, *names, _ = verify.own_fields(values["trust"] == "central")  # without version and certificate
        found = {name: values[name] if name in values else getattr(self, name, None) for name in names}
        return {name: json_number(value) if isinstance(value, float) else value for name, value in found.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, and a certificate with a digest of these fields."""
        described: dict[str, Any] = {
            "statement_version": verify.STATEMENT_VERSION,
            **self.fields(),
            "certificate": None,
        }
        if parts := self.certificate:
            described["certificate"] = {"parts": parts}
            described["certificate"]["statement_sha256"] = verify.statement_sha256(described)
        return described

    def _common(self, guarantee: Guarantee) -> dict[str, Any]:
        return {
            **{name: getattr(guarantee, name) for name in ("holds", "exact", "sensitivity", "scale", "delta", "unit")},
            "private_model": self.training_data.get("public") is not True,
            "simulated": False,  # no release is one
        }


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement(Statement):
    """The privacy statement of a local release.

    Attributes:
        latent_dim: number of dimensions of the model's latents, the vectors that represent texts.
        labels: treatment of labels; None if the input has no labels.
        label_response: the mechanism that randomises labels, alone or together with the text.
    """

    mechanism: LocalRandomizer
    latent_dim: int
    samples: int
    labels: str | None
    label_response: RandomizedResponse | JointResponse | None
    kept_columns: list[str]
    codebook: dict[str, Any] = field(default_factory=dict)
    max_records_per_person: int | None = None
    excess: str = "refuse"
    over_limit: str = "refuse"
    shuffled: Shuffled | None = None

    @cached_property
    def responses(self) -> tuple[JointResponse | None, RandomizedResponse | None]:
        """The mechanism of text and label together, and the mechanism of the label alone."""
        return split_response(self.label_response)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Guarantee for the text or, if text and label are randomised together, for both."""
        return (self.responses[0] or self.mechanism).guarantee(self.latent_dim)

    @property
    def certificate(self) -> list[Part] | None:
        joint, response = self.responses
        text = joint.certificate() if joint else self.mechanism.certificate(self.latent_dim)
        return text and [*text, *(response.certificate() if response else [])]

    @property
    def label_epsilon(self) -> float | None:
        """Actual epsilon of the released label alone; None if labels are not randomised."""
        joint, _ = self.responses
        return joint.label_epsilon if joint else self.label_budget or None

    @property
    def label_budget(self) -> float:
        """Epsilon that labels spend in addition to ``guarantee.epsilon``; 0 if they spend none."""
        _, response = self.responses
        return response.guarantee().epsilon if response else 0.0

    @property
    def epsilon(self) -> float:
        """Actual total epsilon of a record, for the pairs of records in ``neighbours``."""
        return total(self.guarantee.epsilon, self.label_budget)

    @property
    def claimed_epsilon(self) -> float:
        """Total epsilon of each record if the claim of the mechanism's authors were true."""
        return total(self.guarantee.claimed_epsilon, self.label_budget)

    @property
    def by_label(self) -> bool:
        """True if a record's label selects the sentences that can replace the record's text."""
        return getattr(self.mechanism, "by_label", False) is True

    @property
    def text_epsilon(self) -> float | None:
        """Actual epsilon of the text alone, for any two records; None if ``by_label``.

        With ``by_label``, the text alone has no finite epsilon for records with different labels.
        """
        joint, _ = self.responses
        return None if self.by_label else joint.text_epsilon if joint else self.guarantee.epsilon

    @property
    def person_epsilon(self) -> float | None:
        """Actual epsilon of all records of a person together; None if no column names persons."""
        people = self.max_records_per_person
        return total(self.guarantee.epsilon, self.label_budget, times=people) if people else None

    @property
    def person_delta(self) -> float | None:
        """Delta of all records of a person together; None if no column names persons."""
        people = self.max_records_per_person
        return total(self.guarantee.delta, times=people) if people else None

    @property
    def copied(self) -> list[str]:
        """Names of what the output copies: the kept columns and, if labels are copied, "label"."""
        return [*(["label"] if self.labels == "copy" else []), *self.kept_columns]

    @property
    def neighbours(self) -> str:
        """Description of the pairs of records that the guarantee compares.

        The two records of a pair agree in everything that is copied. With ``excess=drop`` or ``over_limit=drop``, a
        person's records beyond the allowed number, or beyond the person's budget, are left out. If a record came from
        another person instead, this could decide which other records of the two persons are left out. So with these
        options, only two records of the same person are compared.
        """
        whose = f"{ANY_TWO_RECORDS} of the same person" if "drop" in (self.excess, self.over_limit) else ANY_TWO_RECORDS
        return f"{whose} with the same {' and '.join(self.copied)}" if self.copied else whose

    def values(self) -> dict[str, Any]:
        shuffled, radius = astuple(self.shuffled) if self.shuffled else (None,) * 5, self.mechanism.radius
        return {
            **self._common(self.guarantee),
            **label_facts(self.label_response),
            **{name: self.codebook.get(name) for name in ("size", "top", "codebook_sha256")},
            **dict(zip(verify.SHUFFLED, shuffled, strict=True)),
            "mechanism": self.mechanism.name,
            "unproved": self.mechanism.unproved,
            "mechanism_options": mechanism_options(self.mechanism),
            "dim": None if radius is None else self.latent_dim,
            "clip": None if radius is None else self.mechanism.clip,
            "clip_norm": radius,
            "label_epsilon": "inf" if self.labels == "copy" else self.label_epsilon,
            "excess": self.excess if self.max_records_per_person else None,
            "over_limit": self.over_limit if self.max_records_per_person else None,
            "not_hidden": wording.facts_not_hidden(self),
            "trust": "shuffled" if self.shuffled else "local",
            "composition": wording.local_composition(self),
            "statement": wording.local_text(self),
        }


@dataclass(frozen=True, kw_only=True)
class CentralStatement(Statement):
    """The privacy statement of a central release.

    Every field is a public option, or is computed from public data and released noisy numbers.

    Attributes:
        label_set: public labels; None if labels were left out.
        size: number of cells (pairs of a codeword and a label); None before codewords are chosen.
        codebook_sha256: digest of the codewords and the public texts; None before codewords are chosen.
        stands_out: True if noise alone would hardly ever reach the largest noisy count.
    """

    votes: Votes
    label_set: tuple[str, ...] | None
    persons: bool
    size: int | None
    codebook_sha256: str | None
    stands_out: bool = True

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee for a person or, if no column names persons, for a record."""
        return self.votes.guarantee(persons=self.persons)

    @property
    def epsilon(self) -> float:
        return self.votes.epsilon

    @property
    def times_counted(self) -> int:
        """Number by which this release's epsilon is multiplied in the total epsilon of one record.

        The total of a record is the epsilon for replacing this record. Suppose that a column names
        persons. If a record is removed, another record of the same person may be counted in its
        place, so two counts change by one. Replacing a record means removing one and adding one, so
        the counts change by up to 4 in l1 norm. A change by ``sensitivity`` costs the release's
        epsilon once. The number also suffices for replacing all records of one person.
        """
        person = 2 // COUNTS_MOVED[self.votes.neighbours]
        return max(person, -(-4 // self.votes.sensitivity)) if self.persons else person

    @property
    def certificate(self) -> list[Part]:
        """Sensitivity, noise scale and epsilon of each draw; they imply the release's epsilon."""
        votes = self.votes
        draws = [("counts", votes.counts_epsilon, votes.scale)]
        if votes.rounds == 2:
            draws.insert(0, ("number", votes.number_epsilon, votes.number_scale))
        return [laplace_part(of, epsilon=e, sensitivity=votes.sensitivity, scale=b) for of, e, b in draws]

    def values(self) -> dict[str, Any]:
        votes, epsilon = self.votes, self.epsilon
        return {
            **self._common(self.guarantee),
            "mechanism": votes.name,
            "mechanism_options": asdict(votes),
            "claimed_epsilon": self.guarantee.claimed_epsilon,
            "text_epsilon": epsilon,
            "label_epsilon": epsilon if self.label_set else None,
            "person_epsilon": epsilon if self.persons else None,
            "person_delta": 0.0 if self.persons else None,
            "max_records_per_person": votes.votes_per_person if self.persons else None,
            "neighbours": votes.neighbours,
            "not_hidden": list(wording.CENTRAL_NOT_HIDDEN),
            "trust": "central",
            "samples": 1,
            "labels": "vote" if self.label_set else "drop",
            "label_set": list(self.label_set) if self.label_set else None,
            "kept_columns": [],
            "composition": wording.central_composition(self),
            "statement": wording.central_text(self),
        }


def restate(said: Json) -> Json | None:
    """Write a statement again, and return its computed fields; None for a statement of another version.

    Raises:
        verify.Refused: no release can have the statement's fields.
    """
    if not verify.is_ours(said) or said["versions"].get("adept-dp") != importlib.metadata.version("adept-dp"):
        return None
    try:
        again = (_restate_central if said["trust"] == "central" else _restate_local)(said).to_json()
    except (AdeptError, *verify.DAMAGED):
        raise verify.Refused("no release has the mechanism, options and facts of this statement") from None
    if said["training_data"].get("packaged", False) is not is_packaged(said["model_files"]):
        raise verify.Refused("packaged is not what adept writes of a model with these files")
    for name, value in again.items():  # as JSON: 1 is neither 1.0 nor true
        if json.dumps(said[name], sort_keys=True) != json.dumps(value, sort_keys=True):
            raise verify.Refused(f"{name} is not what adept writes of such a release")
    return {name: again[name] for name in (*verify.SENTENCES, "claimed_epsilon")}


def _restate_central(said: Json) -> CentralStatement:
    labels = said["label_set"]
    computed = {
        "votes": Votes(**said["mechanism_options"]),
        "label_set": tuple(labels) if labels else None,
        "persons": said["unit"] == "person",
    }
    return CentralStatement(**_attributes(CentralStatement, said) | computed)


def _restate_local(said: Json) -> PrivacyStatement:
    options = {name: math.inf if value == "inf" else value for name, value in said["mechanism_options"].items()}
    mechanism: LocalRandomizer = BY_NAME[said["mechanism"]](**options)
    response: RandomizedResponse | JointResponse | None = None
    if said["labels"] == "joint_response":
        response = JointResponse.of(mechanism, tuple(said["label_set"]))
    elif said["label_set"] is not None:
        response = RandomizedResponse(epsilon=said["label_epsilon"], labels=tuple(said["label_set"]))
    computed = {
        "mechanism": mechanism,
        "latent_dim": said["dim"],
        "label_response": response,
        "codebook": said,
        "excess": said["excess"] or "refuse",
        "over_limit": said["over_limit"] or "refuse",
        "shuffled": shuffling_of(said),
    }
    return PrivacyStatement(**_attributes(PrivacyStatement, said) | computed)


def _attributes(kind: type[Statement], said: Json) -> dict[str, Any]:
    """Return those fields of a statement that are attributes of the class with the same name."""
    return {field.name: said[field.name] for field in fields(kind) if field.name in verify.FIELDS}


# --- Shuffling


def check_shuffling(rewriter: Rewriter, target: str, options: ReleaseOptions) -> None:
    """Raise ConfigurationError for a shuffled release that this module's proof does not cover."""
    if not options.shuffled:
        return
    draws_of(rewriter.mechanism, dim=rewriter.model.config.latent_dim, labels=options.response)
    here, most, candidates = options.shuffle, options.max_records_per_person or 1, rewriter.decoding.candidates
    refuse(
        (
            here and options.shuffled_records is not None,
            "shuffled_records must be left out for shuffle=true, which shuffles all records together: give one of the two",
        ),
        (options.keep_columns, "keep_columns must be empty for shuffled records: a kept column can reveal the order"),
        (
            most > 1,
            f"max_records_per_person must be 1 for shuffled records, got {most}: set it to 1, with excess=drop, or do without "
            "shuffling",
        ),
        (
            not here and candidates > 1,
            f"decoding.candidates must be 1 for shuffled_records, got {candidates}: by rounding, the best one may depend on the "
            "old order",
        ),
        (
            here and target == STANDARD_STREAM,
            "output must be a file for shuffle=true: a stream is read at once, in the old order",
        ),
    )


def find_shuffled(
    mechanism: LocalRandomizer, options: ReleaseOptions, labels: Any, *, dim: int, records: int, smallest: int
) -> Shuffled | None:
    """Return the guarantee from shuffling; ``labels`` is the mechanism of those that the output holds, or None.

    The result is None if nobody shuffles or no record was released.
    """
    if not options.shuffled or not smallest:
        return None
    together = min(records, options.shuffled_records or records)
    if together < records and smallest < records:
        smallest = 1
    hidden = min(smallest, together)
    delta = options.central_delta or min(MAX_DELTA, MAX_DELTA_SHARE / hidden)
    central = central_epsilon(draws_of(mechanism, dim=dim, labels=labels), records=hidden, delta=delta)
    return Shuffled(here=options.shuffle, records=together, smallest=hidden, epsilon=central, delta=delta)


def shuffling_of(said: Json) -> Shuffled | None:
    """Return the guarantee from shuffling that a statement holds."""
    if said.get("trust") != "shuffled":
        return None
    found: list[Any] = [said.get(name) for name in verify.SHUFFLED]
    return Shuffled(*found)


# --- Mechanism, model, versions of programs


def mechanism_options(mechanism: LocalRandomizer) -> dict[str, Any]:
    """Return those options of a mechanism that are numbers, strings, True or None, as JSON values.

    Infinity becomes "inf".
    """
    values = {field.name: getattr(mechanism, field.name) for field in fields(mechanism) if field.repr}  # not codewords
    plain = {
        name: value
        for name, value in values.items()
        if value is None or (isinstance(value, int | float | str) and value is not False)
    }
    return {name: json_number(value) if isinstance(value, float) else value for name, value in plain.items()}


def codebook_facts(
    mechanism: LocalRandomizer,
    dim: int,
    sentences: SentenceList | None = None,
    *,
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the fields ``size``, ``top``, ``codebook_sha256``; all are None without codewords.

    Codewords are the ``size`` public texts or vectors among which the mechanism chooses. For each
    record, ``top`` codewords near the record have a larger probability than the others. If a
    release makes several draws for each record, ``size`` and ``top`` are lists with one number for
    each draw. The digest covers the codewords as little-endian float32 rows. If codewords are
    public sentences, the digest covers their list and ``about``, the sentences that explain labels.
    """
    if not (draws := mechanism.selections(dim)):
        return {"size": None, "top": None, "codebook_sha256": None}
    sizes, tops = [draw.size for draw in draws], [draw.heavy_count for draw in draws]
    several = len(draws) > 1
    sha256 = sentences and sentences_sha256(sentences)
    if isinstance(mechanism, Codebook):
        codewords = (block.codewords.contiguous().numpy().astype("<f4").tobytes() for block in mechanism.layout(dim))
        sha256 = hashlib.sha256(b"".join(codewords)).hexdigest()
    if about:
        sha256 = hashlib.sha256(json.dumps([sha256, about], sort_keys=True).encode("ascii")).hexdigest()
    return {"size": sizes if several else sizes[0], "top": tops if several else tops[0], "codebook_sha256": sha256}


def label_facts(response: RandomizedResponse | JointResponse | None) -> dict[str, Any]:
    if response is None:
        return {"label_set": None, "label_keep_probability": None}
    return {"label_set": list(response.labels), "label_keep_probability": float(response.keep_probability)}


def model_sha256(model: Autoencoder) -> str:
    """Return the digest of the model's weights that ``sha256sum model.safetensors`` gives; no file of them is in memory."""
    kind, weights = model.config.precision, sorted(model.state_dict().items())
    ends = accumulate((tensor.numel() * getattr(torch, kind).itemsize for _, tensor in weights), initial=0)
    header = {
        name: {"dtype": KINDS[kind], "shape": list(tensor.shape), "data_offsets": place}
        for (name, tensor), place in zip(weights, pairwise(ends), strict=True)
    }
    described = json.dumps(header, separators=(",", ":"))
    described += " " * (-len(described) % 8)  # the tensors begin at a multiple of 8
    digest = hashlib.sha256(len(described).to_bytes(8, "little") + described.encode())
    for part in chain.from_iterable(tensor.flatten().split(1 << 18) for _, tensor in weights):
        digest.update(part.cpu().to(getattr(torch, kind)).numpy())
    return digest.hexdigest()


def model_fingerprint(model: Autoencoder, tokenizer: Tokenizer, sha256: str) -> str:
    """Return one digest of a model's weights, sizes, clipping, labels, vocabulary and synonyms."""
    read = sorted(tokenizer.vocabulary.items()), sorted(tokenizer.synonyms.items())
    described = repr((sha256, model.config, model.clip, model.labels, *read))
    return hashlib.sha256(described.encode("utf-8", "surrogatepass")).hexdigest()


def model_facts(model: Autoencoder) -> dict[str, Any]:
    data, sha256 = model.training_data, model_sha256(model)
    return {
        "training_data": {
            "name": plain_name(data.name),
            "public": data.public is True,
            "records": data.records,
            "examples": data.examples,
            "packaged": is_packaged(model.files | {WEIGHTS: sha256}),
        },
        "model_sha256": sha256,
        "model_files": model.files or None,
        "versions": versions(),
    }


def drawing_versions() -> dict[str, str]:
    """Return the versions of the packages on which the random draws of a release depend."""
    return {name: importlib.metadata.version(name) for name in ("adept-dp", "torch", "opendp", "tokenizers")}


def now() -> str:
    """Return the time of day (UTC) to the second; its first ten characters are the date."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    return {**drawing_versions(), "python": platform.python_version()}
