"""The models of a comparison: which mechanisms share one, and how it is trained."""

from dataclasses import dataclass, replace
from pathlib import Path

from adept.comparison.config import CompareConfig
from adept.data.corpus import Corpus
from adept.mechanisms import BY_NAME, Codebook, L1Laplace
from adept.models.network.autoencoder import TrainingData
from adept.models.training.config import MODEL, TrainingConfig, for_mechanism
from adept.models.training.resuming import TrainSpec


@dataclass(frozen=True)
class Family:
    """One model of a comparison: the set its latents lie in, and what they were trained to say."""

    clip: str
    content: str

    @property
    def key(self) -> str:
        """The model's name in a comparison's directory."""
        return self.clip if self.content == "none" else f"{self.clip}-{self.content}"


def family_of(name: str, training: TrainingConfig) -> Family:
    """The model that serves a mechanism: one trained for the l2 ball or the sphere serves every mechanism of either."""
    kind = BY_NAME[name]
    content = for_mechanism(training, kind).content.kind
    if kind.serves == {"l1"}:
        return Family("l1", content)
    return Family("l2" if content == "none" else "sphere", content)


def trained(family: Family, config: CompareConfig, *, public: Corpus, validation: Corpus, run: Path, seed: int) -> Path:
    """Train a family's model in ``run``, or find it there, without the public labels.

    Where there is a model already, it serves every family that its clip allows, and the public half is left unread.
    """
    if config.model_dir is not None:
        return Path(config.model_dir)
    if not (run / "done").exists():
        noise = L1Laplace if family.clip == "l1" else Codebook
        spec = TrainSpec(
            clip=family.clip,
            training_data=TrainingData(config.data.name, config.data.public, len(public)),
            model=config.model,
            tokenizer=config.tokenizer,
            training=replace(config.training, content=replace(config.training.content, kind=family.content)),
            trainer=config.trainer,
            mechanism=lambda epsilon: noise(epsilon=epsilon, clip_norm=config.model.clip_norm),
            seed=seed,
        )
        from adept.models.training.run import train_model  # a trainer takes seconds to import

        train_model(Corpus(public.texts), Corpus(validation.texts), spec, output_dir=run)
        (run / "done").touch()
    return run / MODEL
