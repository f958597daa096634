"""Learn a codec from training text, and list its likely texts when they are first needed.

The first process that needs the list of likely texts makes the list, and saves it in the model's
directory or, if this fails, in the user's cache directory. Later processes read the file: if they
made the list again, texts of almost equal probability might come in another order.
"""

import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError

from adept.data.corpus import Corpus
from adept.data.writing import cache_directory, publish
from adept.errors import DataError, ModelError
from adept.models.codec.codec import Codec, words_of
from adept.models.codec.codec_files import codec_sha256, load_list, save_list
from adept.models.codec.listed_texts import Words
from adept.models.config import CodecConfig
from adept.models.word_vectors import Lexicon

MIN_TEXTS_TO_LIST = 1_000  # least number of training texts for a list of likely texts
MAX_HELD_OUT = 200


def learn_codec(train: Corpus, validation: Corpus, *, public: bool, seed: int, config: CodecConfig) -> Codec:
    """Learn the codec of a model from its training text.

    If the text is public, the codec also stores validation texts, from which utility is estimated.
    """
    texts = train.texts
    if config.texts is not None and config.texts < len(texts):
        texts = random.Random(seed).sample(texts, config.texts)
    if config.sentences and public:
        codec = Codec.of_sentences(texts, lexicon=Lexicon.load(), seed=seed)
    else:
        listed = config.likely if len(texts) >= MIN_TEXTS_TO_LIST else 0
        codec = Codec.of(texts, public=public, listed=listed, seed=seed)
    codec.held_out = drop_known(codec, validation.texts[:MAX_HELD_OUT]) if public else []
    return codec


def drop_known(codec: Codec, texts: Sequence[str]) -> list[Words]:
    held = set(codec.utterances)
    return [words for words in dict.fromkeys(map(words_of, texts)) if words and words not in held]


def complete(codec: Codec) -> Codec:
    """Load or make a codec's list of likely texts; return the codec with the list."""
    if not codec.unlisted:
        return codec
    name = f"codec-{codec_sha256(codec)[:32]}.safetensors"
    paths = [place / name for place in (codec.directory, cache_directory()) if place]
    if kept := next(filter(os.path.exists, paths), None):
        return _load(codec, kept)
    from adept.models.language_model.machine_code import telling  # machine code, slow to import

    with telling("listing the codec's likely texts, once for this model: about a minute"):
        listed = codec.with_list()
    kept = next((path for path in paths if _keep(listed, path)), None)
    return _load(codec, kept) if kept else listed


def _load(codec: Codec, path: Path) -> Codec:
    try:
        return load_list(codec, path)
    except ModelError:
        raise ModelError(f"{path} is damaged: remove it, and it will be learned again") from None


def _keep(listed: Codec, path: Path) -> bool:
    """Save a codec's list; return True if this process or another one has written the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".codec-") as directory:
            partial = Path(directory) / path.name
            save_list(listed, partial)
            publish(partial, path)
    except (OSError, DataError, SafetensorError):
        return os.path.exists(path)  # noqa: PTH110 - False in a directory that may not be searched
    return True
