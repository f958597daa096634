"""Learns a codec from the training text, and holds some text out to estimate what of such text survives."""

import random
from collections.abc import Sequence

from adept.data.corpus import Corpus
from adept.models.codec.codec import Codec, words_of
from adept.models.codec.nearest_text import Words
from adept.models.config import CodecConfig
from adept.models.lexicon import Lexicon

FEWEST = 1_000  # training texts from which on more than n-grams is learned
HELD_OUT = 200


def learn_codec(train: Corpus, validation: Corpus, *, public: bool, seed: int, config: CodecConfig) -> Codec:
    """Return the codec of a model; the same text, sizes and seed give the same codec.

    Args:
        train: what it is learned from.
        validation: some of it is held out, so that an estimate of utility has text that nothing was learned from.
        public: whether that text is: only then does a codec hold utterances and likely texts.
        seed: of the sample, of the order of utterances and of the network.
        config: the sizes.
    """
    texts = train.texts
    if config.sentences and public:
        read = (config.texts or len(texts)) if config.network else 0
        codec = Codec.of_sentences(texts, lexicon=Lexicon.load(), read=read, seed=seed)
        codec.held_out = unseen(codec, validation.texts[:HELD_OUT])
        return codec
    if config.texts is not None and config.texts < len(texts):
        texts = random.Random(seed).sample(texts, config.texts)
    enough = len(texts) >= FEWEST
    codec = Codec.of(texts, public=public, listed=config.likely * enough, network=config.network and enough, seed=seed)
    codec.held_out = unseen(codec, validation.texts[:HELD_OUT]) if public else []
    return codec.learned() if config.learn == "now" else codec


def unseen(codec: Codec, texts: Sequence[str]) -> list[Words]:
    """Return those of some texts, as words, that a codec does not hold as they stand."""
    held = set(codec.utterances)
    return [words for words in dict.fromkeys(map(words_of, texts)) if words and words not in held]
