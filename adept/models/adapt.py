"""Adapt a model to another domain with a few hundred public texts, without training.

The public texts of the new domain are called *examples*. Words of the examples join the vocabulary, topics
(``adept.models.topics``) are fitted again, to the examples and to texts of the model, and the list of
sentences begins with the examples. Codewords are latents of the examples and of the model's texts nearest
to them, or means of such latents. The decoder reads the new topics through a linear map to the old ones.

A few examples do not show all subjects of a domain. So for a *broad* model, a model for text of many
domains, ``adapt`` adds those sentences of the model that are closest in meaning to a few examples, and
half of the other codewords are latents of sentences chosen without regard to the examples.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from adept.data.corpus import Corpus
from adept.errors import DataError, ModelError
from adept.mechanisms import policy
from adept.models.codebooks import encode_public, learn_codebooks
from adept.models.config import (
    TOPICS,
    FitResult,
    OptimiserConfig,
    TrainerConfig,
    TrainingConfig,
    TrainingData,
    TrainSpec,
)
from adept.models.label_names import largest_first, sentences_about
from adept.models.saved_model import Autoencoder
from adept.models.sentence_encoder import Codes
from adept.models.sentences.meanings import MAX_LISTED_WORDS, ListedTexts, Words, words_of
from adept.models.sentences.nearest_text import join_groups
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import UNKNOWN, Tokenizer, join_words
from adept.torch_defaults import usual_torch

MIN_EXAMPLES, MAX_TOPICS = 8, 400
# Nothing is learned from held-out examples: an estimate of utility rests on them
MAX_HELD_OUT_EXAMPLES, EXAMPLES_PER_HELD_OUT = 50, 12
READ_LATENTS = ("topics.rarity", "topics.directions", "topics.offset", "to_state.weight", "decoder.weight_ih_l0")


@usual_torch()
def adapt(
    model: Autoencoder, tokenizer: Tokenizer, examples: Sequence[str], *, source: str, said: bool = True, seed: int = 0
) -> tuple[Autoencoder, Tokenizer]:
    """Return copies of a public model and its tokenizer that are adapted to public examples.

    Args:
        examples: public texts of the domain; the adapted model holds them word for word.
        source: origin of the examples, which the model's card and every privacy statement name.
        said: True if people wrote the examples; False if ``sentences_about`` found all of them for a list of terms.
        seed: seed of all random choices, such as the choice of held-out examples.

    Raises:
        DataError: fewer than MIN_EXAMPLES of the distinct examples contain a word.
        ModelError: the model has no topics, writes labels, or holds no public texts.
    """
    examples = [text for text in dict.fromkeys(examples) if words_of(text)]
    if len(examples) < MIN_EXAMPLES:
        raise DataError(
            f"examples must hold at least {MIN_EXAMPLES} different texts, got {len(examples)}: write down more"
        )
    sentences, rng, origin = own_list(model), random.Random(seed), _origin(model.training_data, source, len(examples))
    own, broad = model.public_texts, sentences.is_broad
    few = broad and not (said and _show_a_domain(examples, tokenizer))
    weight, beside, chance = policy.FEW_PLACING if few else policy.MANY_PLACING
    others, listed = list[str](), ListedTexts()
    if broad:
        if few and said:
            examples = list(dict.fromkeys([*examples, *sentences_about(sentences, examples)]))
        by_chance = round(chance * len(own))
        near, far, listed = nearest_first(sentences, examples, most=len(own) - by_chance, besides=by_chance)
        own, others = ([join_words(words) for words in some] for some in (near, far))
    held_out = set(rng.sample(examples, min(MAX_HELD_OUT_EXAMPLES, len(examples) // EXAMPLES_PER_HELD_OUT)))
    given = set(examples)
    own, others = ([text for text in some if text not in given] for some in (own, others))
    examples = [text for text in examples if text not in held_out]
    texts = [*examples * weight, *rng.sample([*own, *others], min(beside, len(own) + len(others)))]
    adapted, new_tokenizer = _refit(model, tokenizer, texts, origin, examples=examples, seed=seed)
    latents = [encode_public(adapted, new_tokenizer, some) for some in (examples, own, others)]
    if few:
        adapted.codebooks = codebooks_about(*latents, seed=seed)
    else:
        adapted.codebooks = codebooks_at(*latents[:2], most=policy.ADAPTED_CODEWORDS[broad], seed=seed)
    adapted.sentences = _list_sentences(examples, [*own, *others], listed, held_out=held_out, seed=seed, broad=broad)
    return adapted.eval(), new_tokenizer


def _show_a_domain(examples: Sequence[str], tokenizer: Tokenizer) -> bool:
    known = set(tokenizer.words)
    words = [word for text in examples for word in words_of(text)]
    few_known = sum(word in known for word in words) < policy.MIN_KNOWN_WORD_SHARE * len(words)
    return few_known or len(examples) >= policy.MANY_EXAMPLES


def _refit(
    model: Autoencoder, tokenizer: Tokenizer, texts: list[str], origin: TrainingData, *, examples: list[str], seed: int
) -> tuple[Autoencoder, Tokenizer]:
    new_tokenizer, meaning = tokenizer.with_words(examples), 0.0
    if tokenizer.synonyms:
        new_tokenizer, meaning = new_tokenizer.with_synonyms(), policy.MEANING
    topics = max(model.config.latent_dim, min(MAX_TOPICS, model.config.latent_dim + len(examples)))
    adapted = wider(model, len(new_tokenizer), topics=topics, training_data=origin)
    rows = new_tokenizer.encode(texts, max_length=model.config.max_length)
    adapted.topics.fit(rows, seed=seed, words=new_tokenizer.words, cooccurrence=0.0, meaning=meaning)
    old, new = encode_public(model, tokenizer, texts), encode_public(adapted, new_tokenizer, texts)
    translate(adapted, new, old, source=model)
    return adapted, new_tokenizer


def own_list(model: Autoencoder) -> SentenceList:
    """Return the public sentences of a model that can be adapted; raise ModelError for any other model."""
    if model.config.encoder != TOPICS or model.labels:
        raise ModelError(
            "model_dir must hold a model with topics and without labels: train one with mechanism=learned_codebook"
        )
    if not (model.sentences and model.training_data.public):
        raise ModelError("model_dir must hold a model of public text: train one with training_data.public=true")
    return model.sentences


def _origin(data: TrainingData, source: str, examples: int) -> TrainingData:
    name = "".join(c for c in f"{data.name}, adapted to {examples} examples of {source}" if c.isprintable())[:200]
    return TrainingData(name, data.public, data.records + examples, data.examples + examples)


def wider(model: Autoencoder, vocabulary_size: int, *, topics: int, training_data: TrainingData) -> Autoencoder:
    """Return a copy of a model with a larger vocabulary. Its topics are not fitted yet."""
    config = replace(model.config, latent_dim=topics, decoder="nearest")
    wider = Autoencoder(config, vocabulary_size=vocabulary_size, clip=model.clip, training_data=training_data)
    kept = {name: tensor.cpu() for name, tensor in model.state_dict().items() if name not in READ_LATENTS}
    more = vocabulary_size - model.vocabulary_size
    bias = "word_bias" if model.tied else "to_words.bias"
    rows = {
        "embedding.weight": kept["embedding.weight"][UNKNOWN].expand(more, -1),
        bias: kept[bias].min().expand(more),
        **({} if model.tied else {"to_words.weight": torch.zeros(more, config.hidden_dim)}),
    }
    kept |= {name: torch.cat([kept[name], row]) for name, row in rows.items()}
    wider.load_state_dict({**wider.state_dict(), **kept})
    return wider


@torch.no_grad()
def translate(model: Autoencoder, new: Tensor, old: Tensor, *, source: Autoencoder) -> None:
    """Change the decoder of ``model`` so that it reads latents of new topics, not of the old ones.

    Row i of ``new`` (N, n') and of ``old`` (N, n) are the new latent z' and the old latent z of one text. Least
    squares find the matrix A with ``A z'`` nearest to z. ``W A`` replaces a matrix W that multiplies latents.
    """
    new, old = model.scale(new).double().cpu(), source.scale(old).double().cpu()  # as the weights meet them
    linear = torch.linalg.lstsq(new, old, driver="gelsd").solution.T.float()  # (n, n')
    inputs, size = source.decoder.get_parameter("weight_ih_l0").cpu(), model.config.embedding_dim
    model.decoder.get_parameter("weight_ih_l0").copy_(torch.cat([inputs[:, :size], inputs[:, size:] @ linear], dim=1))
    model.to_state.weight.copy_(source.to_state.weight.cpu() @ linear)


def codebooks_at(latents: Tensor, own: Tensor, *, most: int, seed: int) -> dict[int, Tensor]:
    """Return codebooks for the latents (N, n) of many examples, keyed by number of codewords.

    The smallest hold means of the examples' latents. If these have at most ``most`` distinct rows, a codebook
    holds these, and another one also the nearest rows of ``own`` (M, n), which are latents of the model's own
    public texts, up to ``most`` codewords.
    """
    distinct = torch.unique(latents.cpu(), dim=0)
    books = learn_codebooks(distinct, seed=seed, also=len(distinct) // 2)
    if len(distinct) <= most:
        examples, texts = (normalize(some, dim=1) for some in (distinct, own.cpu()))
        more = _near(examples, texts, count=most - len(distinct))
        books |= {len(distinct): examples, len(distinct) + len(more): torch.cat([examples, more])}
    return books


def codebooks_about(latents: Tensor, own: Tensor, others: Tensor, *, seed: int) -> dict[int, Tensor]:
    """Return codebooks for the latents (N, n) of a few examples, keyed by number of codewords.

    ``own`` (M, n) and ``others`` (L, n) are latents of the model's own texts, near to the examples and chosen
    without regard to them. The first latents of one list, in random order, are the codewords, and smaller
    codebooks hold means of its first latents. The list holds the examples, the nearest rows of ``own``, and
    about as many of ``others``.
    """
    distinct, own, others = (normalize(some.cpu(), dim=1) for some in (torch.unique(latents.cpu(), dim=0), own, others))
    most = max(len(distinct), max(policy.TEXT_CODEWORDS))
    left = most - len(distinct)
    parts = torch.cat([distinct, _near(distinct, own, count=left - left // 2), others])
    parts = parts[np.sort(np.unique(parts.numpy(), axis=0, return_index=True)[1])][:most]  # the first of equal latents
    mixed = parts[torch.randperm(len(parts), generator=torch.Generator().manual_seed(seed))]
    means = learn_codebooks(mixed[: 2 * policy.TEXT_CODEWORDS[0]], seed=seed)
    return {**means, **{size: mixed[:size] for size in policy.TEXT_CODEWORDS if size <= len(mixed)}}


def _near(directions: Tensor, own: Tensor, *, count: int) -> Tensor:
    """Return up to ``count`` rows of ``own``, the nearest to any of ``directions`` first, without redundant ones."""
    nearness = (own @ directions.T).max(dim=1).values
    likeness = torch.full_like(nearness, -1.0)
    chosen: list[int] = []
    for place in nearness.argsort(descending=True, stable=True).tolist():
        if len(chosen) == count:
            break
        if likeness[place] < policy.REDUNDANT_COSINE:
            chosen.append(place)
            likeness = torch.maximum(likeness, own @ own[place])
    return own[chosen]


def _list_sentences(
    examples: Sequence[str], own: Sequence[str], listed: ListedTexts, *, held_out: Iterable[str], seed: int, broad: bool
) -> SentenceList:
    said = SentenceList.of([*examples, *own], held_out=sorted(held_out), seed=seed)
    ranked = [*examples, *own] if broad else examples  # a broad model's own texts come with the nearest first
    places = {words_of(text): place for place, text in enumerate(ranked)}
    ordered = sorted(said.utterances, key=lambda words: places.get(words, len(places)))  # a stable order
    return replace(said, utterances=ordered, listed=listed, is_broad=broad)


@torch.inference_mode(mode=False)  # the caller may have switched gradients off
def fine_tune(
    model: Autoencoder,
    tokenizer: Tokenizer,
    examples: Corpus,
    *,
    optimiser: OptimiserConfig,
    trainer: TrainerConfig,
    output_dir: Path,
    seed: int = 0,
) -> FitResult:
    """Train an adapted model's decoder in place, on the examples and on the model's public texts."""
    held_out, own = set(own_list(model).held_out), model.public_texts
    examples = Corpus([text for text in examples.texts if tuple(words_of(text)) not in held_out])
    weight, beside, _ = policy.MANY_PLACING
    texts = Corpus([*examples.texts * weight, *random.Random(seed).sample(own, min(beside, len(own)))])
    spec = TrainSpec(
        clip=model.clip, training_data=model.training_data, model=model.config,
        training=TrainingConfig(**vars(optimiser)), trainer=trainer, seed=seed,
    )  # fmt: skip
    from adept.models.training import fit  # a trainer takes seconds to import

    return fit(model, tokenizer, texts, Corpus(examples.texts), spec, output_dir=output_dir)


def read_page(page: str) -> list[str]:
    """Return the headings and sentences of a Markdown page, without markup, links and code."""
    if re.search(r"^## *intent:", page, re.MULTILINE):
        raise DataError("the page is training data of Rasa, which names intents: write its texts into a csv")
    text = re.sub(r"```.*?```|<[^>]*>|!?\[([^\]]*)\]\([^)]*\)", r"\1", page, flags=re.DOTALL)
    lines = (re.sub(r"^[\s#>*+\-|]+|[*_`|]+", " ", line) for line in text.splitlines())
    parts = (part.strip() for line in lines for part in re.split(r"(?<=[.!?])\s+", line))
    return [part for part in parts if words_of(part)]


def nearest_first(
    sentences: SentenceList, texts: Sequence[str], *, most: int, besides: int = 0
) -> tuple[list[Words], list[Words], ListedTexts]:
    """Divide the sentences of a list into three parts, by nearness in meaning to ``texts``.

    The first part holds the ``most`` sentences nearest to any of the texts, the second the first ``besides``
    of the other utterances (``adept.models.sentences.sentence_list``), and the third all others.
    """
    table = sentences.table()
    nearness = reduce(np.maximum, sentences.compare(texts, table), np.full(len(table), -np.inf, dtype=np.float32))
    first = largest_first(nearness, most)
    second = np.setdiff1d(np.arange(len(sentences.utterances)), first)[:besides]
    near, others = ([sentences[place] for place in places.tolist()] for places in (first, second))
    return near, others, _list_without(sentences, table, np.concatenate([first, second]))


def _list_without(sentences: SentenceList, table: Codes, places: NDArray[np.int64]) -> ListedTexts:
    """Return, as listed texts, all sentences that are not at ``places``."""
    said, listed = sentences.utterances, sentences.listed
    kept = np.ones(len(table), dtype=bool)
    kept[places] = False
    stay = [row for row, stays in zip(said, kept, strict=False) if stays]
    words = list(dict.fromkeys(chain(listed.words, *stay)))
    if len(words) > MAX_LISTED_WORDS:
        raise ModelError(
            f"model_dir has over {MAX_LISTED_WORDS:,} different words: adapt the model that it was adapted from"
        )
    numbers = {word: number for number, word in enumerate(words)}
    left = [numbers[word] for row in stay for word in (*row, words[0])]
    lengths = np.diff(listed.ends, prepend=-1)
    flat = [np.array(left, dtype=np.int16), listed.flat[np.repeat(kept[len(said) :], lengths)]]
    return ListedTexts(words, np.concatenate(flat), join_groups(table, listed.groups)[kept])
