"""Classes for a Lightning ``Trainer`` of your own, under a short name: ``from adept.lightning import AdeptModule``."""

from adept.models.lightning import AdeptModule, UtteranceDataModule

__all__ = ["AdeptModule", "UtteranceDataModule"]
