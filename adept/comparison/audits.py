"""An audit of every mechanism in a comparison: the verdict that stands beside its curve."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from adept import audit
from adept.audit import Verdict
from adept.comparison.run import CompareConfig
from adept.data.files import write_once
from adept.mechanisms import BY_NAME

AUDIT_TRIALS = 4000


@dataclass(frozen=True)
class AuditVerdict:
    """What an audit says of a mechanism's claim at the comparison's smallest budget."""

    mechanism: str
    epsilon: float
    violated: bool
    certified_epsilon: float
    evidence: str  # of the first failed check


def verdicts(config: CompareConfig) -> list[AuditVerdict]:
    """Audit each mechanism's claim, or find the verdict of an earlier run."""
    found = []
    for name in config.mechanisms:
        epsilon = config.text_epsilon(min(config.epsilons))
        path = Path(config.output_dir) / "audits" / f"{name}-{epsilon:g}.json"
        if not path.exists():
            mechanism = BY_NAME[name](epsilon=epsilon, clip_norm=config.model.clip_norm)
            result = audit.run(mechanism, dim=config.model.latent_dim, trials=AUDIT_TRIALS)
            evidence = next((check.evidence for check in result.checks if check.verdict is Verdict.FAILED), "")
            verdict = AuditVerdict(name, epsilon, result.violated, result.certified_epsilon, evidence)
            write_once(path, json.dumps(asdict(verdict)))
        found.append(AuditVerdict(**json.loads(path.read_text("utf-8"))))
    return found


def describe(audited: AuditVerdict) -> str:
    """Return an audit's verdict in words."""
    certified = f"certified epsilon at least {audited.certified_epsilon:.3g}"
    if audited.violated:
        return f"convicted: {audited.evidence}; {certified}"
    return f"not refuted, which is no proof; {certified}"
