"""Learn codebooks: codewords are centres of clusters of latents, or the latents of public texts.

A *codeword* is a public vector that a mechanism can release instead of a record's latent.
"""

import random
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from adept.data.corpus import Corpus
from adept.mechanisms.codebook import SIZES, unit_codewords
from adept.mechanisms.policy import CODEWORD_POWERS, MEANING, TEXT_CODEWORDS
from adept.models.config import MAX_HELD_OUT, TrainSpec
from adept.models.lstm_autoencoder import pad
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer

ENCODED_BATCH_TEXTS = 1024
KMEANS_BATCH_ROWS = 20_000  # latents that k-means reads in each step
KMEANS_RESTARTS = (3, 1)  # runs of k-means for up to 256 codewords, and for more
MAX_NEIGHBOURS = 8  # codewords near a latent, from one of which training may write its text


def learn_codebooks(latents: Tensor, *, seed: int = 0, also: int = 0) -> dict[int, Tensor]:
    """Learn codebooks of 32, 64, ... 1024 unit codewords (k, n) from public latents (N, n), by k-means on the sphere.

    A codebook has at most N / 2 codewords, and at most as many as there are distinct latents. If 32 are too
    many, the function learns one smaller codebook or none. It also learns one of ``also`` codewords, if that
    is within the limits.
    """
    points = unit_codewords(latents).to(torch.float64) if len(latents) else latents
    largest = min(len(latents) // 2, len(torch.unique(points, dim=0)) if len(latents) else 0)
    sizes = [1 << power for power in range(CODEWORD_POWERS[0], CODEWORD_POWERS[1] + 1) if 1 << power <= largest]
    if not sizes and largest >= SIZES[0]:
        sizes = [1 << (largest.bit_length() - 1)]
    if SIZES[0] <= also <= min(largest, 1 << CODEWORD_POWERS[1]):
        sizes.append(also)
    return {size: _find_centres(points, size, seed=seed) for size in sorted(set(sizes))}


def _find_centres(points: Tensor, size: int, *, seed: int) -> Tensor:
    restarts, in_batches = KMEANS_RESTARTS[size > 256], len(points) > KMEANS_BATCH_ROWS
    found = k_means(points.numpy(), size, in_batches=in_batches, n_init=restarts, random_state=seed)
    centres = torch.from_numpy(found.cluster_centers_)
    centres[(centres == 0).all(dim=1), 0] = 1.0  # opposite points have a mean without direction
    return unit_codewords(centres)


def k_means(
    rows: NDArray[Any], size: int, *, weights: NDArray[Any] | None = None, in_batches: bool = False, **options: Any
) -> Any:
    """Return scikit-learn's k-means, fitted to rows (N, n); equal rows may have fewer centres than ``size``."""
    state = random.getstate()
    from sklearn.cluster import KMeans, MiniBatchKMeans  # slow to import, and takes one of the caller's random numbers

    random.setstate(state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about equal rows
        return (MiniBatchKMeans if in_batches else KMeans)(size, **options).fit(rows, sample_weight=weights)


def learn_codebooks_of(model: Autoencoder, tokenizer: Tokenizer, corpus: Corpus, *, seed: int) -> dict[int, Tensor]:
    rows = tokenizer.encode_corpus(corpus, max_length=model.config.max_length)
    return learn_codebooks(model.encode_records(rows).cpu(), seed=seed)


def fit_topics(model: Autoencoder, tokenizer: Tokenizer, corpus: Corpus, spec: TrainSpec) -> None:
    rows = tokenizer.encode_corpus(corpus, max_length=model.config.max_length)
    meaning = MEANING if spec.training.content.english else 0.0
    model.topics.fit(rows, seed=spec.seed, words=tokenizer.words, meaning=meaning)
    model.codebooks = learn_codebooks_of(model, tokenizer, corpus, seed=spec.seed)


def learn_codes(model: Autoencoder, tokenizer: Tokenizer, train: Corpus, validation: Corpus, spec: TrainSpec) -> None:
    from adept.models.sentences.sentence_list import SentenceList  # a model for l1 needs no sentences

    if not model.codebooks:
        read = train.take(range(min(len(train), spec.training.most or len(train))))
        model.codebooks = learn_codebooks_of(model, tokenizer, read, seed=spec.seed)
    if spec.training_data.public:
        learn = SentenceList.of_broad_text if spec.training.codec.sentences else SentenceList.of
        model.sentences = learn(train.texts, held_out=validation.texts[:MAX_HELD_OUT], seed=spec.seed)
    if model.config.decoder == "nearest":  # the first k public texts are codewords, and answer themselves
        texts = model.public_texts[: max(TEXT_CODEWORDS)]
        directions = torch.nn.functional.normalize(encode_public(model, tokenizer, texts).cpu(), dim=1)
        model.codebooks |= {size: directions[:size] for size in TEXT_CODEWORDS if size <= len(texts)}


@torch.inference_mode()
def encode_public(model: Autoencoder, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Return the clipped latents (N, n) of public texts."""
    rows = tokenizer.encode(texts, max_length=model.config.max_length)
    device = next(model.parameters()).device
    latents = torch.zeros((len(rows), model.config.latent_dim), dtype=torch.float32, device=device)
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    for start in range(0, len(order), ENCODED_BATCH_TEXTS):
        places = order[start : start + ENCODED_BATCH_TEXTS]
        latents[places] = model.encode(pad([rows[place] for place in places]).to(device))
    return latents


def draw_codewords(latents: Tensor, *, books: dict[int, Tensor], clip_norm: float) -> Tensor:
    """Replace each latent by a near codeword of one of m codebooks, each with probability 1 / (m + 1), or keep it."""
    drawn = torch.randint(len(books) + 1, (len(latents),), device=latents.device)
    place = torch.empty(len(latents), 1, device=latents.device).geometric_(0.5).long() - 1
    chosen = latents
    for number, book in enumerate(books.values()):
        words = book.to(latents)
        near = (latents @ words.T).topk(min(MAX_NEIGHBOURS, len(words)), dim=1).indices
        own = near.gather(1, place.clamp(max=near.shape[1] - 1))
        chosen = torch.where((drawn == number)[:, None], words[own[:, 0]] * clip_norm, chosen)
    return chosen
