"""An audit of every mechanism in a comparison: the verdict that stands beside its curve.

What releases text at once is audited on two public texts, the shortest and the longest of those whose words all have a position.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from adept import audit
from adept.audit import Verdict
from adept.comparison.alternatives import alternative
from adept.comparison.cells import Cell, cells
from adept.comparison.config import CompareConfig
from adept.comparison.results import ALTERNATIVES, JOINT_RESPONSE
from adept.comparison.store import Store
from adept.comparison.trial import Trial
from adept.data.corpus import load
from adept.mechanisms import BY_NAME, Description, JointResponse
from adept.mechanisms.choice import MechanismChoice

AUDIT_TRIALS = 4000
STAND_INS = ("a", "b", "c", "d")  # labels: an audit sees no data


@dataclass(frozen=True)
class AuditVerdict:
    """What an audit says of a mechanism's claim at the comparison's smallest budget."""

    mechanism: str
    epsilon: float
    violated: bool
    certified_epsilon: float
    evidence: str  # of the first failed check
    guarantee: str = ""  # in words, where only who has the public text can say it

    @property
    def of_text(self) -> bool:
        """Does it release text at once, so that the command line has no name for it."""
        return self.mechanism in ALTERNATIVES


def verdicts(config: CompareConfig) -> list[AuditVerdict]:
    """Audit each mechanism's claim, or find the verdict of an earlier run."""
    least, epsilon = min(config.epsilons), config.text_epsilon(min(config.epsilons))
    asked = [cell for cell in reversed(cells(config)) if cell.mechanism in ALTERNATIVES and cell.budget == least]
    text_wise = {cell.mechanism: cell for cell in asked}  # of several models or classifiers the first
    return [verdict(name, config) for name in config.mechanisms] + [
        Store(Path(config.output_dir)).verdict(
            name, epsilon, partial(_text_verdict, cell, epsilon, config), AuditVerdict
        )
        for name, cell in reversed(text_wise.items())
    ]


def verdict(name: str, config: CompareConfig) -> AuditVerdict:
    """Audit the claim of a mechanism on latents or descriptions, or find the verdict of an earlier run."""
    epsilon = config.text_epsilon(min(config.epsilons))
    return Store(Path(config.output_dir)).verdict(name, epsilon, partial(_verdict, name, epsilon, config), AuditVerdict)


def _verdict(name: str, epsilon: float, config: CompareConfig) -> AuditVerdict:
    mechanism = MechanismChoice(BY_NAME[name]).build(epsilon=epsilon, clip_norm=config.model.clip_norm)
    if config.labels == JOINT_RESPONSE:
        result = audit.run(JointResponse.of(mechanism, STAND_INS), trials=AUDIT_TRIALS)
    elif isinstance(mechanism, Description):
        result = audit.run_description(mechanism, trials=AUDIT_TRIALS)
    else:
        result = audit.run(mechanism, dim=config.model.latent_dim, trials=AUDIT_TRIALS)
    return _found(name, epsilon, result)


def _text_verdict(cell: Cell, epsilon: float, config: CompareConfig) -> AuditVerdict:
    trial = Trial(config, load(config.data), config.seeds[0])
    mechanism = alternative(trial, cell)
    lengths = {text: len(text.split()) for text in trial.public.texts}
    whole = [text for text in lengths if lengths[text] <= getattr(mechanism, "length", 0)] or list(lengths)
    pair = min(whole, key=lengths.__getitem__), max(whole, key=lengths.__getitem__)
    result = audit.run(mechanism, pairs=[pair], trials=AUDIT_TRIALS)
    return replace(_found(cell.mechanism, epsilon, result), guarantee=mechanism.guarantee().text)


def _found(name: str, epsilon: float, result: audit.AuditResult) -> AuditVerdict:
    evidence = next((check.evidence for check in result.checks if check.verdict is Verdict.FAILED), "")
    return AuditVerdict(name, epsilon, result.violated, result.certified_epsilon, evidence)


def describe(audited: AuditVerdict) -> str:
    """Return an audit's verdict in words."""
    certified = f"certified epsilon at least {audited.certified_epsilon:.3g}"
    if audited.violated:
        return f"convicted: {audited.evidence}; {certified}"
    return f"not refuted, which is no proof; {certified}"
