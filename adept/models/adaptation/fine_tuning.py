"""Trains an adapted model's decoder further; a module of its own because a trainer takes seconds to import."""

import random
from pathlib import Path

from adept.data.corpus import Corpus
from adept.models.adaptation.examples import MANY, own_texts
from adept.models.codec.codec import words_of
from adept.models.config import TOPICS, ContentConfig, OptimiserConfig, TrainerConfig, TrainingConfig
from adept.models.network.autoencoder import Autoencoder
from adept.models.tokenizer.tokenizer import Tokenizer
from adept.models.training.resuming import FitResult, TrainSpec
from adept.models.training.run import fit


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
    """Train an adapted model's decoder in place, on the examples beside as many of its own texts as ``adapt`` takes.

    The examples that ``adapt`` held out are not used, so that estimates from them hold for texts that the model has not seen.
    """
    own, held_out = own_texts(model), set(model.codec.held_out if model.codec else ())
    examples = Corpus([text for text in examples.texts if tuple(words_of(text)) not in held_out])
    beside = random.Random(seed).sample(own, min(MANY.beside, len(own)))
    spec = TrainSpec(
        clip=model.clip,
        training_data=model.training_data,
        model=model.config,
        training=TrainingConfig(**vars(optimiser), content=ContentConfig(kind=TOPICS)),
        trainer=trainer,
        seed=seed,
    )
    texts = Corpus([*examples.texts * MANY.weight, *beside])
    return fit(model, tokenizer, texts, Corpus(examples.texts), spec, output_dir=output_dir)
