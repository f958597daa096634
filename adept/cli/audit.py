"""``adept audit``: put a mechanism's claim, or a whole rewriter, to the test."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING
from rich.progress import Progress

from adept import audit
from adept.audit import AuditResult
from adept.cli.app import execute
from adept.cli.console import show_table, write_dict
from adept.data.files import new_directory
from adept.errors import ConfigurationError, DataError
from adept.mechanisms import Description
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

TARGETS = ("mechanism", "rewriter")
TEXTS = [
    "fares",
    "",
    "i would like to fly from boston to denver on the first monday of june and be back before noon on friday please",
]


@dataclass
class AuditConfig:
    """Configuration of ``adept audit``."""

    target: str = "mechanism"  # mechanism | rewriter: the latents alone, or text to text through model_dir
    mechanism: Any = MISSING  # a MechanismChoice
    epsilon: float | None = None  # the claim; the random and identity ends need none
    dim: int = 64  # of the latents; target=rewriter takes the model's
    trials: int = 10_000  # releases of each input
    confidence: float = 0.999  # of all verdicts together
    source: str = "release"  # release | simulate: what the program does, or its formula, which is faster
    seed: int | None = None  # of a simulation
    model_dir: str | None = None  # for target=rewriter
    texts: list[str] = field(default_factory=lambda: list(TEXTS))  # for target=rewriter: hard to hide from each other
    output_dir: str | None = None  # null: the result is only shown

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise ConfigurationError(f"target must be one of {', '.join(TARGETS)}, got {self.target}")
        if self.target == "rewriter" and self.model_dir is None:
            raise ConfigurationError("model_dir must be given for target=rewriter, got none")
        if len(self.texts) < 2:
            raise ConfigurationError(f"texts must be at least two, got {len(self.texts)}")


def run(config: AuditConfig) -> list[AuditResult]:
    """Audit; raises AdeptError for what the user can mend, and when nothing could be judged."""
    directory = new_directory(config.output_dir) if config.output_dir else None
    with Progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(f"auditing {config.mechanism.kind.name}")

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        results = (
            _audit_rewriter(config, progress) if config.target == "rewriter" else [_audit_mechanism(config, progress)]
        )
    if directory:
        write_dict(_summary(results), directory / "result.json")
    if not any(result.judged for result in results):
        reasons = {check.evidence for result in results for check in result.checks}
        raise DataError(f"nothing could be judged ({'; '.join(sorted(reasons))}): mend the mechanism and audit again")
    return results


def _audit_mechanism(
    config: AuditConfig, progress: Callable[[int, int], None], *, dim: int | None = None, clip_norm: float = 1.0
) -> AuditResult:
    mechanism = config.mechanism.build(epsilon=config.epsilon, clip_norm=clip_norm)
    if isinstance(mechanism, Description):
        return audit.run_description(mechanism, trials=config.trials, confidence=config.confidence)
    return audit.run(
        mechanism,
        dim=dim or config.dim,
        trials=config.trials,
        confidence=config.confidence,
        source=config.source,
        seed=config.seed,
        progress=progress,
    )


def _audit_rewriter(config: AuditConfig, progress: Callable[[int, int], None]) -> list[AuditResult]:
    """Three audits of one pipeline: of its mechanism, of text to text by guessing, and of the path past the latent by replay."""
    model, tokenizer = load_model(config.model_dir or "")
    sizes = model.config
    mechanism = config.mechanism.build(epsilon=config.epsilon, clip_norm=sizes.clip_norm)
    rewriter = Rewriter.for_measurement(model, tokenizer, mechanism=mechanism)
    first, second = max(config.texts, key=len), min(config.texts, key=len)
    return [
        _audit_mechanism(config, progress, dim=sizes.latent_dim, clip_norm=sizes.clip_norm),
        audit.guessing_game(rewriter, first, second, trials=config.trials, confidence=config.confidence),
        audit.replay(rewriter, config.texts),
    ]


def _summary(results: list[AuditResult]) -> dict[str, Any]:
    """The first audit's fields, with the checks and the verdict of all."""
    return {
        **results[0].to_dict(),
        "violated": any(result.violated for result in results),
        "certified_epsilon": max(result.certified_epsilon for result in results),
        "checks": [check for result in results for check in result.to_dict()["checks"]],
    }


def status(results: list[AuditResult]) -> int:
    """Exit status 1 says that a violation is certified."""
    return int(any(result.violated for result in results))


def main() -> int:
    """Run ``adept audit`` from ``sys.argv``."""

    def command(config: AuditConfig) -> list[AuditResult]:
        results = run(config)
        rows = [row for result in results for row in result.rows()]
        first = results[0]
        show_table(
            f"{first.mechanism}, claimed epsilon {first.claimed_epsilon:g}",
            list(rows[0]),
            [list(row.values()) for row in rows],
        )
        violated, certified = status(results), max(result.certified_epsilon for result in results)
        verdict = "VIOLATED: the claim is refuted" if violated else "not refuted, which is no proof"
        sys.stdout.write(f"{verdict}; certified epsilon at least {certified:.3g}, confidence {config.confidence:g}\n")
        return results

    return execute("audit", AuditConfig, command, status=status)
