"""A zoo of published private text mechanisms, each rebuilt from its paper in a few lines, and put to the audit."""

from adept.studies.zoo.exhibit import Exhibit, Reading
from adept.studies.zoo.verdicts import ZooRow, exhibits, run

__all__ = ["Exhibit", "Reading", "ZooRow", "exhibits", "run"]
