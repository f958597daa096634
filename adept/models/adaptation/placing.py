"""A model of many domains, placed where one collection lies: topics and codewords by weights of the model's own public texts.

``adept.models.adaptation.examples`` does the same by public examples that a user brings. Here nobody brings any: what is known of
the collection are weights of public texts, estimated from releases (``adept.rewriting.rounds``). They play the examples' part:

- *topics* are fitted on texts drawn by those weights, beside some of all kinds;
- *codewords* are texts drawn by them too, each of which is answered with itself;
- vocabulary, texts and codec stay, and the *decoder* reads the new topics by the map from them to the old ones.

Everything is a function of the model, the weights and the seed. No record is read.
"""

import torch
from torch import Tensor

from adept.models.adaptation.examples import own_texts, translate, wider
from adept.models.network.autoencoder import Autoencoder
from adept.models.network.public_texts import encode_public
from adept.models.tokenizer.tokenizer import Tokenizer
from adept.models.topics.encoder import MEANT

DRAWN, BESIDE = 3000, 1500  # texts that topics are fitted on: by weight, and of all kinds
EVERYWHERE = 0.2  # of the weight is spread over all texts, because an estimate misses some


def place(model: Autoencoder, tokenizer: Tokenizer, weights: Tensor, *, size: int, seed: int = 0) -> Autoencoder:
    """Return a model of the same words whose topics and codewords lie where the weights (N,) of its N public texts do.

    Args:
        model: of public text, with topics; it stays as it is.
        tokenizer: the one that was saved with it.
        weights: not negative, and not all zero.
        size: codewords k; fewer where there are fewer texts.
        seed: of what is drawn, and of the topics.

    Raises:
        ModelError: the model has no topics, writes labels, or holds no public texts.
    """
    texts = own_texts(model)
    mixed = (1 - EVERYWHERE) * weights.double() / weights.sum() + EVERYWHERE / len(texts)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.multinomial(mixed, DRAWN, replacement=True, generator=generator).tolist()
    beside = torch.randperm(len(texts), generator=generator)[:BESIDE].tolist()
    met = [texts[number] for number in [*drawn, *beside]]
    placed = wider(model, model.vocabulary_size, topics=model.config.latent_dim, training_data=model.training_data)
    rows, meaning = tokenizer.encode(met, max_length=model.config.max_length), MEANT if tokenizer.synonyms else 0.0
    placed.topics.fit(rows, seed=seed, words=tokenizer.words, meaning=meaning)
    translate(placed, encode_public(placed, tokenizer, met), encode_public(model, tokenizer, met), source=model)
    chosen = torch.multinomial(mixed, min(size, len(texts)), generator=generator).tolist()
    codewords = encode_public(placed, tokenizer, [texts[number] for number in chosen])
    placed.codebooks = {len(chosen): torch.nn.functional.normalize(codewords.cpu(), dim=1)}
    placed.codec = model.codec
    return placed.eval()
