"""Public corpora that are generated, not downloaded."""

from adept.corpora.air_travel import INTENTS, Utterance, generate

__all__ = ["INTENTS", "Utterance", "generate"]
