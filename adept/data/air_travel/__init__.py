"""Public corpora that are generated, not downloaded."""

from adept.data.air_travel.generator import INTENTS, Utterance, generate

__all__ = ["INTENTS", "Utterance", "generate"]
