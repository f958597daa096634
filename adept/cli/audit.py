"""``adept audit``: test the privacy claim of a mechanism, a rewriter or a synthesizer."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from adept import audit
from adept.audit import AuditResult, Claim, JointReports, NotJudged, Verdict
from adept.audit.result import KIND_OUTCOMES
from adept.cli.config import AuditConfig
from adept.cli.console import progress, show_lines, show_table, write_json
from adept.data.writing import new_directory
from adept.errors import ConfigurationError
from adept.foreign import import_foreign
from adept.mechanisms import Description
from adept.release.flow.replay import replay
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.synthesizer import NeighbouringFiles

Audited = Callable[[], AuditResult]
Advance = Callable[[int, int], None]


def main(config: AuditConfig) -> int:
    """Run the audits, print and write the verdict, and return 1 for a violation; raise NotJudged if none could judge."""
    directory = new_directory(config.output_dir) if config.output_dir else None
    named = config.target if config.target == "synthesizer" else config.foreign or config.mechanism.kind.name
    results, failures = list[AuditResult](), list[NotJudged]()
    with progress(f"auditing {named}") as advance:
        for audited in _audits(config, advance):
            try:
                results.append(audited())
            except NotJudged as failure:
                failures.append(failure)
                results.append(failure.result)
    judged = not failures or any(result.judged for result in results)
    if judged:  # first, as a disk may be full
        show(results, verbose=config.verbose)
    if directory:
        write_json(_summary(results), directory / "result.json")
    if not judged:
        raise failures[0]
    return int(any(result.violated for result in results))


def _audits(config: AuditConfig, advance: Advance) -> list[Audited]:
    if config.target == "synthesizer":
        return _audits_of_synthesizer(config, advance)
    if config.target == "rewriter" and config.foreign is None:
        return _audits_of_rewriter(config, advance)
    own = config.mechanism
    mechanism: Any = load_foreign(config) if config.foreign else own.build(epsilon=config.epsilon, clip_norm=1.0)
    return [lambda: _audit_mechanism(mechanism, config, advance)]


def load_foreign(config: AuditConfig) -> Claim:
    """Import the mechanism MODULE:ATTRIBUTE that ``foreign`` names, and declare its claim.

    A class is called with the option ``epsilon``, if it is given. The claimed epsilon is this option
    or, without it, the attribute ``epsilon`` of the mechanism.
    """
    name = config.foreign or ""
    found = import_foreign("mechanism", name)
    if isinstance(found, type):
        try:
            found = found() if config.epsilon is None else found(epsilon=config.epsilon)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code
            raise ConfigurationError(
                f"mechanism {name} must take epsilon, and nothing else that is required ({type(error).__name__}: {error})"
            ) from None
    if config.target == "rewriter" and not hasattr(found, "privatize") and hasattr(found, "rewrite"):
        found = Claim(found.rewrite, epsilon=getattr(found, "epsilon", None))
    declared = {name: getattr(config, name) for name in ("epsilon", "alphabet", "randomness")}
    return Claim(found, **declared, memoised=config.memoised or None)


def _audit_mechanism(mechanism: Any, config: AuditConfig, advance: Advance, *, dim: int | None = None) -> AuditResult:
    if config.reports != 1:
        mechanism = JointReports(mechanism, reports=config.reports)
    pairs = _pairs(config.texts) if config.target == "rewriter" and config.foreign is not None else None
    return _judge(mechanism, config, advance, dim=dim or config.dim, pairs=pairs)


def _judge(target: Any, config: AuditConfig, advance: Advance, **options: Any) -> AuditResult:
    return audit.run(target, trials=config.trials, confidence=config.confidence, progress=advance, **options)


def _pairs(texts: list[str]) -> list[tuple[str, str]]:
    longest = max(texts, key=len)
    return [(longest, text) for text in sorted(set(texts) - {longest}, key=len)]


def _audits_of_rewriter(config: AuditConfig, advance: Advance) -> list[Audited]:
    model, tokenizer = load_model(config.model_dir or "")
    sizes = model.config
    mechanism = config.mechanism.build(epsilon=config.epsilon, clip_norm=sizes.clip_norm)
    rewriter = Rewriter.for_measurement(model, tokenizer, mechanism=mechanism, label=config.label)
    # with the model's descriptions, of which a record may have several; several reports are those
    # of one number
    fitted = rewriter.mechanism if isinstance(mechanism, Description) and config.reports == 1 else mechanism
    return [
        lambda: _audit_mechanism(fitted, config, advance, dim=sizes.latent_dim),
        lambda: _judge(rewriter, config, advance, pairs=_pairs(config.texts)),
    ]


def _audits_of_synthesizer(config: AuditConfig, advance: Advance) -> list[Audited]:
    """Return an audit of the noisy counts, and one of all else, with fixed numbers for the counts."""
    if config.epsilon is None:
        raise ConfigurationError("epsilon must be given for target=synthesizer, got none: add epsilon=1")
    files = NeighbouringFiles.from_pretrained(
        config.model_dir, epsilon=config.epsilon, neighbours=config.neighbours,
        max_records_per_person=config.max_records_per_person,
    )  # fmt: skip
    return [lambda: _judge(files, config, advance, pairs=files.pairs), lambda: replay(files)]


def _summary(results: list[AuditResult]) -> dict[str, Any]:
    order = list(KIND_OUTCOMES.values())  # the most serious first
    return {
        **results[0].to_dict(),
        "sentence": _sentence(results),
        "violated": any(result.violated for result in results),
        "kinds": {kind: min((one.kinds[kind] for one in results), key=order.index) for kind in results[0].kinds},
        "certified_epsilon": max(result.certified_epsilon for result in results),
        "checks": [check for result in results for check in result.to_dict()["checks"]],
    }


def _sentence(results: list[AuditResult]) -> str:
    return max(results, key=lambda one: (one.violated, one.outcome == "could not tell", one.certified_epsilon)).sentence


def show(results: list[AuditResult], *, verbose: bool) -> None:
    """Print the verdict, and either the number of checks or a table of all checks."""
    show_lines([_sentence(results)])
    checks = [check for result in results for check in result.checks]
    count = Counter(check.verdict for check in checks)
    # They stand in the table already
    unjudged = {f"{check.name}: {check.evidence}" for check in checks if check.verdict is Verdict.UNJUDGED}
    unseen = dict.fromkeys(line for result in results for line in result.not_looked_at if line not in unjudged)
    if verbose:
        rows = [row for result in results for row in result.rows()]
        show_table("", list(rows[0]), [list(row.values()) for row in rows])
        show_lines(f"Not looked at: {line}" for line in unseen)
    else:
        told = f"{count[Verdict.FAILED]} failed and {count[Verdict.UNJUDGED]} could not be judged"
        show_lines([f"Of {len(checks)} checks {told}; verbose=true shows them, and what was not looked at."])
