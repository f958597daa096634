"""An audit of every mechanism in a comparison: the verdict that stands beside its curve.

What releases text at once is audited on two public texts, the shortest and the longest of those whose words all have a position.
"""

from dataclasses import replace

from adept import audit
from adept.audit import AuditResult, Verdict
from adept.comparison.config import JOINT_RESPONSE
from adept.comparison.plan import Cell
from adept.comparison.results import ALTERNATIVES, AuditVerdict
from adept.comparison.writing import Writer
from adept.mechanisms import BY_NAME, JointResponse
from adept.mechanisms.choice import MechanismChoice

AUDIT_TRIALS = 4000
STAND_INS = ("a", "b", "c", "d")  # labels: an audit sees no data


def verdict_on(writer: Writer, cell: Cell) -> AuditVerdict:
    """Return the verdict on a cell's mechanism: that of an earlier run, or of an audit."""
    trial = writer.trial
    kept = trial.store.find(AuditVerdict, trial.seed, cell)
    if kept is not None:
        return kept
    epsilon = trial.config.text_epsilon(cell.budget or 0.0)
    judge = _text_verdict if cell.mechanism in ALTERNATIVES else _verdict
    return trial.store.keep(judge(writer, cell, epsilon), trial.seed, cell)


def _verdict(writer: Writer, cell: Cell, epsilon: float) -> AuditVerdict:
    config = writer.config
    mechanism = MechanismChoice(BY_NAME[cell.mechanism]).build(epsilon=epsilon, clip_norm=config.model.clip_norm)
    if config.labels == JOINT_RESPONSE:
        result = audit.run(JointResponse.of(mechanism, STAND_INS), trials=AUDIT_TRIALS)
    elif mechanism.randomises == "description":
        fitted = writer.trial.rewriter(cell).mechanism  # with the model's descriptions
        result = audit.run_description(fitted, trials=AUDIT_TRIALS)
    else:
        result = audit.run(mechanism, dim=config.model.latent_dim, trials=AUDIT_TRIALS)
    return _found(cell.mechanism, epsilon, result)


def _text_verdict(writer: Writer, cell: Cell, epsilon: float) -> AuditVerdict:
    mechanism = writer.alternative(cell)
    lengths = {text: len(text.split()) for text in writer.trial.public.texts}
    whole = [text for text in lengths if lengths[text] <= getattr(mechanism, "length", 0)] or list(lengths)
    pair = min(whole, key=lengths.__getitem__), max(whole, key=lengths.__getitem__)
    result = audit.run(mechanism, pairs=[pair], trials=AUDIT_TRIALS)
    return replace(_found(cell.mechanism, epsilon, result), guarantee=mechanism.guarantee().text)


def _found(name: str, epsilon: float, result: AuditResult) -> AuditVerdict:
    evidence = next((check.evidence for check in result.checks if check.verdict is Verdict.FAILED), "")
    return AuditVerdict(name, epsilon, result.violated, result.certified_epsilon, evidence)
