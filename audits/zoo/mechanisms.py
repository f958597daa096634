"""Published mechanisms, reimplemented; ``audits/zoo/claims.py`` lists their claims.

A mechanism on latents adds noise to the latent that the public encoder computes for a sentence, and
releases the noisy latent. A word-level mechanism replaces each word of a sentence separately, so
everybody can see the number of words. Words and their vectors come from the public corpus.

In the docstrings of word-level mechanisms, x is a word of the record, y is a word that may be
released in its place, d is the distance between two word vectors, and ~ means "is proportional to".
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch

from adept.data.corpus import DataConfig, load
from adept.mechanisms import ClampedGaussian
from adept.mechanisms.selection import exponential_choice
from adept.models.sentence_encoder import Floats
from adept.rewriting.alternatives import Indices, WordVectors, learn_word_vectors

WORDS, WORD_DIM = 160, 16  # most frequent words of the corpus, and coordinates of a word's vector
SET_SIZE = 8  # words in an output set of CusText
LAMBDA = 0.5  # Mahalanobis: the share of the covariance in the metric
BALANCE = 0.5  # Vickrey: the paper's t; a smaller t releases the nearest word more often
BETA = 0.001  # TEM: largest probability that a word farther away than gamma is released
CLIP_VALUE = 0.1  # DP-BART: C; each coordinate of the encoder's output is clipped to [-C, C]
LOGITS = (-4.0, 0.0)  # DP-Prompt: b1 and b2
TOKENS = 12  # DP-Prompt: n
COPYING = 3.0  # added to the logits of the record's words, as a paraphrasing model would raise them


@cache
def public_words() -> WordVectors:
    """Return the most frequent words of the bundled corpus, with their vectors."""
    return learn_word_vectors(load(DataConfig())["train"].texts, size=WORDS, dim=WORD_DIM)


def encode_sentence(text: str) -> Floats:
    """Return the latent (n,) of a text: the sum of its words' vectors, scaled to norm 1."""
    total = public_words().vectors[public_words().indices(text)].sum(axis=0)
    return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12))


@cache
def public_bigrams() -> Floats:
    """Return log frequencies (V + 1, V + 1): how often the column's word follows the row's word.

    Row V stands for the start of a sentence, and column V stands for the end of a sentence.
    """
    words = public_words()
    counts = np.full((len(words.names) + 1, len(words.names) + 1), 0.05)
    for text in load(DataConfig())["train"].texts:
        places = [len(words.names), *words.indices(text), len(words.names)]
        np.add.at(counts, (places[:-1], places[1:]), 1.0)
    return np.asarray(np.log(counts / counts.sum(axis=1, keepdims=True)))


@dataclass
class SentenceLatents:
    """A mechanism on latents (B, n), applied to sentences through the public encoder."""

    mechanism: Any

    def privatize(self, texts: list[str]) -> Any:
        codes = {text: encode_sentence(text) for text in dict.fromkeys(texts)}
        return self.mechanism.privatize(torch.from_numpy(np.stack([codes[text] for text in texts]))).numpy()

    def supports(self, outcome: tuple[float, ...], text: str) -> float:
        """Return a score of the text, given a release: minus the l1 distance of the two latents."""
        return -float(np.abs(np.array(outcome) - encode_sentence(text)).sum())


@dataclass
class SeededLaplace:
    """ADePT with the right noise scale, 2C sqrt(n) / eps, as in the program DP-Rewrite.

    Source: `get_sensitivity_for_clip_by_norm` and `settings.py` of the program (Igamberdiev et al.
    2022). The noise comes from torch, which `main.py` seeds with 12345 unless the user sets another
    seed.
    """

    epsilon: float

    def privatize(self, latents: torch.Tensor) -> torch.Tensor:
        scale = 2 * latents.shape[1] ** 0.5 / self.epsilon
        uniform = torch.rand(latents.shape, dtype=latents.dtype) - 0.5
        noisy: torch.Tensor = latents - scale * uniform.sign() * torch.log1p(-2 * uniform.abs())
        return noisy


class DPBart(SentenceLatents):
    """DP-BART: Gaussian noise on coordinates clipped to [-C, C] (Igamberdiev and Habernal 2023)."""

    delta = 1e-5

    def __init__(self, epsilon: float) -> None:
        radius = CLIP_VALUE * public_words().vectors.shape[1] ** 0.5  # of the corners of the cube
        super().__init__(ClampedGaussian(epsilon=epsilon, delta=self.delta, clip_norm=radius))

    def supports(self, outcome: tuple[float, ...], text: str) -> float:
        """Return a score of the text, given a release: minus half their squared l2 distance."""
        centre = np.clip(encode_sentence(text), -CLIP_VALUE, CLIP_VALUE)
        return -0.5 * float(np.square(np.array(outcome) - centre).sum())


@dataclass
class DPPrompt:
    """DP-Prompt: n words, sampled at temperature T from word logits clipped to [b1, b2].

    Each word has the epsilon 2 (b2 - b1) / T (Utpala, Hooker and Chen 2023). The language model is
    the public bigram model, in which the words of the record get higher logits, as a model that
    paraphrases would give them. Words after a sampled end of sentence are not released.
    """

    epsilon: float  # per record, n times that of a word; T = 2 (b2 - b1) n / eps
    length_of_record: bool = False  # write as many words as the record has, instead of n

    def privatize(self, texts: list[str]) -> list[str]:
        end, (low, high) = len(public_words().names), LOGITS
        bonus = np.zeros((len(texts), end + 1))
        for row, text in enumerate(texts):
            bonus[row, public_words().indices(text)] = COPYING
        last, written = np.full(len(texts), end), []
        for _ in range(TOKENS):
            scores = torch.from_numpy((public_bigrams()[last] + bonus - low) / (high - low))
            last = exponential_choice(scores, epsilon=self.epsilon / TOKENS).numpy()
            written.append(last)
        return [self._text(row, text) for row, text in zip(np.stack(written, axis=1), texts, strict=True)]

    def _text(self, places: Any, text: str) -> str:
        end = len(public_words().names)
        if self.length_of_record:
            return public_words().text(np.minimum(places[: len(text.split())], end - 1))
        stop = np.flatnonzero(places == end)
        return public_words().text(places[: stop[0]] if len(stop) else places)


def _normalise(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass
class WordByWord:
    """A mechanism that replaces words one by one.

    A subclass defines ``release``, which replaces each of m words.
    """

    epsilon: float

    @property
    def random(self) -> np.random.Generator:
        return np.random.default_rng()

    def release(self, words: Indices) -> Indices:
        raise NotImplementedError

    def privatize(self, texts: list[str]) -> list[str]:
        rows = [public_words().indices(text) for text in texts]
        released = self.release(np.concatenate(rows))
        ends = np.cumsum([len(row) for row in rows])[:-1]
        return [public_words().text(row) for row in np.split(released, ends)]

    def _sample(self, weights: Floats) -> Indices:
        cumulative = np.cumsum(weights, axis=1)
        draws = self.random.random(len(weights)) * cumulative[:, -1]
        return np.asarray((cumulative < draws[:, None]).sum(axis=1))

    def distance(self, first: str, second: str) -> float:
        """Return the distance between two words, in the metric of the mechanism's claim."""
        a, b = public_words().vectors[public_words().indices(f"{first} {second}")]
        return float(np.linalg.norm(self.undistort(a - b)))

    def undistort(self, difference: Floats) -> Floats:
        return difference

    def _nearest(self, vectors: Floats, count: int = 1) -> tuple[Indices, Floats]:
        """Return the ``count`` words nearest to each of m vectors, and their distances."""
        words = public_words().vectors
        squares = np.square(vectors).sum(axis=1)[:, None] + np.square(words).sum(axis=1) - 2 * vectors @ words.T
        nearest = np.argsort(squares, axis=1)[:, :count]
        return nearest, np.sqrt(np.maximum(np.take_along_axis(squares, nearest, axis=1), 0.0))


class SanText(WordByWord):
    """SanText: P(y | x) ~ exp(-eps d(x, y) / 2) over all words y (Yue et al. 2021)."""

    @cached_property
    def probabilities(self) -> Floats:
        return _normalise(np.exp(-self.epsilon * public_words().distances() / 2))

    def release(self, words: Indices) -> Indices:
        return self._sample(self.probabilities[words])


class CusText(SanText):
    """CusText: P(y | x) ~ exp(eps u / 2) for words y in the output set of x (Chen et al. 2023).

    The score u is 1 for the nearest word of the output set and 0 for the farthest.
    """

    @cached_property
    def groups(self) -> Indices:
        """Number of each word's output set, which holds a frequent word and words near to it."""
        distances, group = public_words().distances(), np.full(len(public_words().names), -1)
        for number in range(-(-len(group) // SET_SIZE)):
            free = np.flatnonzero(group < 0)
            group[free[np.argsort(distances[free[0], free])[:SET_SIZE]]] = number
        return group

    @cached_property
    def probabilities(self) -> Floats:
        distances = public_words().distances()
        same = self.groups[:, None] == self.groups
        inside = np.where(same, distances, np.nan)
        spread = np.nanmax(inside, axis=1, keepdims=True) - np.nanmin(inside, axis=1, keepdims=True)
        score = (np.nanmax(inside, axis=1, keepdims=True) - inside) / np.maximum(spread, 1e-12)
        return _normalise(np.where(same, np.exp(self.epsilon * np.nan_to_num(score) / 2), 0.0))


class CMP(WordByWord):
    """CMP releases the word nearest to the vector of x plus noise z (Feyisetan et al. 2020).

    The density of z is proportional to exp(-eps |z|), where |z| is the l2 norm.
    """

    def noise(self, rows: int) -> Floats:
        dim = public_words().vectors.shape[1]
        directions = self.random.normal(size=(rows, dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return directions * self.random.gamma(dim, 1 / self.epsilon, (rows, 1))

    def release(self, words: Indices) -> Indices:
        return self._nearest(public_words().vectors[words] + self.noise(len(words)))[0][:, 0]


class Mahalanobis(CMP):
    """CMP with elliptical noise, whose shape follows the covariance of the words (Xu et al. 2020).

    The density of the noise z is proportional to exp(-eps |M z|), where M is the inverse of `shape`
    and |.| is the l2 norm.
    """

    @cached_property
    def shape(self) -> Floats:
        """Square root of lambda Sigma + (1 - lambda) I; Sigma is the word vectors' covariance."""
        covariance = np.cov(public_words().vectors.T)
        covariance *= len(covariance) / np.trace(covariance)
        values, vectors = np.linalg.eigh(LAMBDA * covariance + (1 - LAMBDA) * np.eye(len(covariance)))
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)

    def noise(self, rows: int) -> Floats:
        return super().noise(rows) @ self.shape

    def undistort(self, difference: Floats) -> Floats:
        return np.asarray(np.linalg.solve(self.shape, difference))


class Vickrey(CMP):
    """A variant of CMP that releases one of the two nearest words, at random (Xu et al. 2021)."""

    def release(self, words: Indices) -> Indices:
        nearest, far = self._nearest(public_words().vectors[words] + self.noise(len(words)), 2)
        first = (1 - BALANCE) * far[:, 1] / (BALANCE * far[:, 0] + (1 - BALANCE) * far[:, 1])
        return np.where(self.random.random(len(words)) < first, nearest[:, 0], nearest[:, 1])


class TEM(SanText):
    """TEM: P(y | x) ~ exp(-eps min(d(x, y), gamma) / 2) over all words y (Carvalho et al. 2023).
    Here gamma is a distance; all words y that lie farther from x than gamma are equally likely.
    """

    @property
    def gamma(self) -> float:
        return float(2 / self.epsilon * np.log((1 - BETA) * (len(public_words().names) - 1) / BETA))

    @cached_property
    def probabilities(self) -> Floats:
        # All words beyond gamma together have the score -gamma + 2 ln(their number) / eps, so each of
        # them has the weight of a word at the distance gamma.
        return _normalise(np.exp(-self.epsilon * np.minimum(public_words().distances(), self.gamma) / 2))


class RanText(WordByWord):
    """RANTEXT: P(y | x) ~ exp(eps u / 2) among words y that are nearer to x than a random radius.

    The radius is the l2 norm of a random noise vector, and u = 1 - d(x, y) / radius (Tong et al.
    2023, InferDPT). Source of the noise's scale: `perturb_sentence` and
    `add_laplace_noise_to_vector` of the authors' code.
    """

    @property
    def scales(self) -> Floats:
        slope, offset = 19.064721649556482, 38.1294334077209
        divisor = self.epsilon
        if self.epsilon > 2:
            divisor = 0.01658160142016071 * math.log(slope * self.epsilon - offset) + 9.311083811697406
        return np.asarray((public_words().vectors.max(axis=0) - public_words().vectors.min(axis=0)) / divisor)

    def release(self, words: Indices) -> Indices:
        noise = self.random.laplace(size=(len(words), len(self.scales))) * self.scales
        radius = np.linalg.norm(noise, axis=1)[:, None]
        distances = public_words().distances()[words]
        return self._sample(np.where(distances < radius, np.exp(self.epsilon / 2 * (radius - distances) / radius), 0.0))
