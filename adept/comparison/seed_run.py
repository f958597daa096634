"""One seed of a comparison: every row of it, each from text that a mechanism released once.

Rows differ in the mechanism and in the *decoder*, what reads its releases: ``lstm`` (the model's decoder), ``denoised`` (the same,
after all releases were read together: ``adept.rewriting.denoising``), ``nearest`` (the public utterances with the nearest
latents: ``adept.evaluation.nearest``) or ``latents`` (none: the classifier is trained on the released latents themselves, which
shows what decoding loses). Everything slow is kept in the comparison's directory, by name, and never done twice: models,
releases, rewrites and rows.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from adept.comparison.config import CompareConfig
from adept.comparison.families import Family, family_of, trained
from adept.comparison.results import DENOISED, ENDS, LATENTS, LSTM, NEAREST, Row
from adept.data.corpus import Corpus, hold_out
from adept.data.files import write_once
from adept.evaluation.classifiers import Evaluation, evaluate, evaluate_latents
from adept.evaluation.metrics import BigramModel, bleu, distinct_ratio, token_overlap, verbatim
from adept.evaluation.nearest import LINEAR_DIM, PublicTexts, linear_latents
from adept.mechanisms import BY_NAME, Codebook, LearnedCodebook, Mechanism, RandomizedResponse
from adept.models.topics import Encoder
from adept.rewriting.denoising import nearest_codewords
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter, denoisable

Pairs = Sequence[tuple[str, str | None]]  # text, and its label where that is another than the record's released one


class SeedTrial:
    """All rows of one seed, in order: the text itself, the baselines, then model by model its ends and its mechanisms."""

    def __init__(self, config: CompareConfig, splits: dict[str, Corpus], directory: Path, seed: int) -> None:
        self.config, self.directory, self.seed = config, directory, seed
        self.validation, self.test = splits["validation"], splits["test"]
        train = splits["train"]
        if config.protocol == "paper":
            self.public = self.private = train
        else:
            self.public, self.private = hold_out(train, share=0.5, seed=seed)
        self.known = sorted(set(train.labels or []))

    def rows(self) -> list[Row]:
        """Every row, computed or found."""
        rows = self._text_rows("none", lambda: self.private)
        if self.config.baselines:
            if self.config.protocol == "disjoint":
                rows += self._text_rows("public_only", lambda: self.public)
            rows += [row for epsilon in self.config.epsilons for row in self._lookup_rows(epsilon)]
        families = {family_of(name, self.config.training): None for name in self.config.mechanisms}
        for family in sorted(families, key=lambda family: (family.content, family.clip != "l2")):
            model_dir = self._model(family)
            for name, epsilon in self._releases(family):
                rows += self._release_rows(family, model_dir, name, epsilon)
        return rows

    def rewrites(self, row: Row) -> list[str]:
        """The first rewrite of each private record behind a row of text that was written, as it was kept."""
        key = f"{row.mechanism}-{row.claimed_epsilon:g}" if row.clip is None else self._row_key(row)
        texts, *_ = json.loads((self.directory / "rewrites" / f"{key}-seed{self.seed}.json").read_text("utf-8"))
        return [str(text) for text in texts[:: row.samples]]

    @staticmethod
    def _row_key(row: Row) -> str:
        key = Family(row.clip or "", row.content or "none").release_key(row.mechanism, row.claimed_epsilon)
        return f"{key}-{row.decoder}" if row.decoder in (DENOISED, NEAREST) else key

    def _releases(self, family: Family) -> list[tuple[str, float]]:
        """The two ends, and every mechanism and budget that a model serves."""
        served = [name for name in self.config.mechanisms if family_of(name, self.config.training) == family]
        return [(name, math.inf) for name in ENDS] + [(name, e) for name in served for e in self.config.epsilons]

    def _model(self, family: Family) -> Path:
        run = self.directory / "models" / f"{family.key}-seed{self.seed}"
        corpora = {"public": self.public, "validation": self.validation}
        return trained(family, self.config, **corpora, run=run, seed=self.seed)

    def _text_rows(self, name: str, corpus: Callable[[], Corpus]) -> list[Row]:
        """Rows of a classifier on text as it is."""

        def judged(classifier: str) -> Row:
            return self._row(name, evaluate(corpus(), self.test, classifier=classifier, seed=self.seed), classifier)

        return self._cached_rows(name, judged, self.config.classifiers)

    def _lookup_rows(self, epsilon: float) -> list[Row]:
        """Rows of the look-up baseline: linear latents, a random codebook, nearest public utterances."""
        mechanism = Codebook(epsilon=self.config.text_epsilon(epsilon))
        key = f"lookup-{epsilon:g}"

        def release() -> Tensor:
            return mechanism.privatize(torch.from_numpy(self._linear(self.private.texts)))

        def write(released: Tensor) -> Pairs:
            public = PublicTexts(self.public.texts, torch.from_numpy(self._linear(self.public.texts)))
            return _unlabelled(public.write(released, samples=self.config.samples))

        fields = {"claimed_epsilon": epsilon, "epsilon": epsilon, "dim": LINEAR_DIM, "decoder": NEAREST}
        return self._written_rows("lookup", key, key, release, write, fields)

    @cached_property
    def _linear(self) -> Encoder:
        return linear_latents(self.public, seed=self.seed)

    def _release_rows(self, family: Family, model_dir: Path, name: str, epsilon: float) -> list[Row]:
        """Rows of one mechanism at one budget, one for each decoder and classifier."""
        rewriter = self._rewriter(family, model_dir, name, epsilon)
        key = family.release_key(name, None if name in ENDS else epsilon)
        spent = rewriter.guarantee.epsilon + (self.config.label_epsilon or 0.0)
        fields = {
            "claimed_epsilon": None if name in ENDS else epsilon,
            "epsilon": spent,
            "delta": rewriter.guarantee.delta,
            "clip": family.clip,
            "content": family.content,
        }

        def release() -> Tensor:
            return torch.cat([rewriter.release(part) for part in _parts(self.private.texts, rewriter.batch_size)])

        def write(released: Tensor) -> Pairs:
            parts = torch.split(released, rewriter.batch_size)
            return [pair for part in parts for pair in rewriter.write(part, samples=self.config.samples)]

        def nearest(released: Tensor) -> Pairs:
            return _unlabelled(self._nearest(rewriter).write(released, samples=self.config.samples))

        def denoised(released: Tensor) -> Pairs:
            reader = self._reader(family, model_dir, epsilon)
            known, response = self.known, self._label_mechanism
            if name == "random":
                codewords = denoisable(reader.mechanism).codewords
                released = codewords[nearest_codewords(released, codewords)] * reader.mechanism.clip_norm
            return reader.write_denoised(
                released, self._labels, known=known, label_mechanism=response, samples=self.config.samples
            )

        def judged(classifier: str) -> Row:
            return self._latent_row(name, rewriter, self._released(key, release), {**fields, "decoder": LATENTS})

        rows = self._written_rows(name, key, key, release, write, {**fields, "decoder": LSTM})
        if name in (LearnedCodebook.name, "random") and self._denoises(family):
            rows += self._written_rows(
                name, key, f"{key}-{DENOISED}", release, denoised, {**fields, "decoder": DENOISED}
            )
        if self.config.baselines and isinstance(rewriter.mechanism, LearnedCodebook):
            rows += self._written_rows(name, key, f"{key}-{NEAREST}", release, nearest, {**fields, "decoder": NEAREST})
        if self.config.baselines:
            rows += self._cached_rows(f"{key}-{LATENTS}", judged, ["logistic"])
        return rows

    def _rewriter(self, family: Family, model_dir: Path, name: str, epsilon: float) -> Rewriter:
        """The rewriter of a row; the ends decode as the mechanisms of their family do."""
        budget = epsilon if name in ENDS else self.config.text_epsilon(epsilon)
        mechanism: Mechanism = BY_NAME[name](epsilon=budget, clip_norm=self.config.model.clip_norm)
        decoding = self.config.decoding
        if decoding.strategy == "auto" and family.content != "none":
            decoding = replace(decoding, strategy="sample")
        return Rewriter.for_measurement(*load_model(model_dir), mechanism=mechanism, decoding=decoding)

    def _denoises(self, family: Family) -> bool:
        name = LearnedCodebook.name
        return (
            self.config.denoise and name in self.config.mechanisms and family == family_of(name, self.config.training)
        )

    def _reader(self, family: Family, model_dir: Path, epsilon: float) -> Rewriter:
        """What denoises a release; what knows nothing is read as if it had the least budget, where chance is enlarged most."""
        budget = epsilon if math.isfinite(epsilon) else min(self.config.epsilons)
        return self._rewriter(family, model_dir, LearnedCodebook.name, budget)

    def _nearest(self, rewriter: Rewriter) -> PublicTexts:
        parts = _parts(self.public.texts, rewriter.batch_size)
        return PublicTexts(self.public.texts, torch.cat([rewriter.encode(part) for part in parts]))

    def _released(self, key: str, release: Callable[[], Tensor]) -> Tensor:
        """The released latents of the private records: each record is released once, whatever reads the release."""
        path = self.directory / "releases" / f"{key}-seed{self.seed}.safetensors"
        if not path.exists():
            write_once(path, save({"released": release().contiguous()}))
        return load_file(path)["released"]

    @property
    def _label_mechanism(self) -> RandomizedResponse | None:
        """What releases the labels; None where they are copied."""
        budget = self.config.label_epsilon
        return None if budget is None else RandomizedResponse(epsilon=budget, labels=tuple(self.known))

    @cached_property
    def _labels(self) -> list[str]:
        """The labels that stand beside the text: as they are, or each randomised once."""
        if self._label_mechanism is None:
            return self.private.labels or []
        path = self.directory / "releases" / f"labels-seed{self.seed}.json"
        if not path.exists():
            write_once(path, json.dumps(self._label_mechanism.privatize(self.private.labels or [])))
        return [str(label) for label in json.loads(path.read_text("utf-8"))]

    def _written_rows(
        self,
        name: str,
        released: str,
        key: str,
        release: Callable[[], Tensor],
        write: Callable[[Tensor], Pairs],
        fields: dict[str, Any],
    ) -> list[Row]:
        """Rows of classifiers on written text; ``released`` and ``key`` name the cached release and text."""
        samples = self.config.samples

        def judged(classifier: str) -> Row:
            corpus, speed = self._written(released, key, release, write)
            evaluation = evaluate(corpus, self.test, classifier=classifier, seed=self.seed, samples=samples)
            quality = self._quality(corpus.texts[::samples]) if self.config.baselines else {}
            return self._row(name, evaluation, classifier, records_per_second=speed, **fields, **quality)

        return self._cached_rows(key, judged, self.config.classifiers)

    def _written(
        self, released: str, key: str, release: Callable[[], Tensor], write: Callable[[Tensor], Pairs]
    ) -> tuple[Corpus, float]:
        """Text with its labels, and the records written a second, with the release where it was made in the same go."""
        path = self.directory / "rewrites" / f"{key}-seed{self.seed}.json"
        if not path.exists():
            begin = time.monotonic()
            pairs = write(self._released(released, release))
            speed = len(self.private) / (time.monotonic() - begin)
            beside = [label for label in self._labels for _ in range(self.config.samples)]
            labels = [given if own is None else own for (_, own), given in zip(pairs, beside, strict=True)]
            write_once(path, json.dumps(([text for text, _ in pairs], speed, labels)))
        texts, speed, labels = json.loads(path.read_text("utf-8"))
        return Corpus(texts, labels), speed

    def _quality(self, texts: list[str]) -> dict[str, float]:
        """Figures of merit of the first rewrite of each record."""
        repeated = verbatim(self.private.texts, texts, set(self.public.texts))
        return {
            "overlap": token_overlap(self.private.texts, texts),
            "bleu": bleu(self.private.texts, texts),
            "distinct": distinct_ratio(texts),
            "perplexity": self._language.perplexity(texts),
            "verbatim_own": repeated.own,
            "verbatim_chance": repeated.chance,
            "verbatim_public": repeated.public,
        }

    @cached_property
    def _language(self) -> BigramModel:
        return BigramModel(self.private.texts)

    def _latent_row(self, name: str, rewriter: Rewriter, released: Tensor, fields: dict[str, Any]) -> Row:
        test = torch.cat([rewriter.encode(part) for part in _parts(self.test.texts, rewriter.batch_size)])
        evaluation = evaluate_latents(released, self._labels, test, self.test.labels or [])
        return self._row(name, evaluation, "logistic", **fields)

    def _cached_rows(self, key: str, judged: Callable[[str], Row], classifiers: list[str]) -> list[Row]:
        rows = []
        for classifier in classifiers:
            path = self.directory / "rows" / f"{key}-seed{self.seed}-{classifier}.json"
            if not path.exists():
                write_once(path, json.dumps(judged(classifier).plain()))
            rows.append(Row.from_plain(json.loads(path.read_text("utf-8"))))
        return rows

    def _row(self, name: str, evaluation: Evaluation, classifier: str, **fields: Any) -> Row:
        text = name in ("none", "public_only")
        values: dict[str, Any] = {
            "claimed_epsilon": None,
            "epsilon": math.inf if name == "none" else 0.0,
            "delta": 0.0,
            "dim": self.config.model.latent_dim,
            "records_per_second": None,
            "clip": None,
            **fields,
        }
        return Row(
            data=self.config.data.name,
            protocol=self.config.protocol,
            mechanism=name,
            label_epsilon=None if text else self.config.label_epsilon,
            seed=self.seed,
            classifier=classifier,
            labels="copy" if text else self.config.labels,
            samples=1 if text else self.config.samples,
            accuracy=evaluation.accuracy.value,
            macro_f1=evaluation.macro_f1.value,
            majority_accuracy=evaluation.majority_accuracy,
            train_records=evaluation.train_records,
            test_records=evaluation.test_records,
            **values,
        )


def _unlabelled(texts: list[str]) -> Pairs:
    """Texts whose labels are the released ones."""
    return [(text, None) for text in texts]


def _parts(texts: list[str], size: int) -> list[list[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]
