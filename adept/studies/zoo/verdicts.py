"""The zoo's verdicts: every reading of every claim, put to `adept.audit`."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from adept import audit
from adept.audit import Claim, NotJudged, Verdict
from adept.errors import ConfigurationError
from adept.studies.zoo import sentence_exhibits, word_exhibits
from adept.studies.zoo.exhibit import Exhibit, Reading

TRIALS = 20_000
NAMES = (
    *("ADePT", "DPText", "DP-BART", "DP-Rewrite, program", "DP-Prompt", "DP-Prompt, length of the record"),
    *("SanText", "CMP", "Mahalanobis", "Vickrey", "TEM", "SanText+", "CusText", "RANTEXT"),
)
CONFIDENCE = 0.999


@dataclass(frozen=True, kw_only=True)
class ZooRow:
    """One reading of one claim, and what the audit says of it."""

    mechanism: str
    source: str
    claim: str
    unit: str
    claimed: bool  # is this the paper's claim, or only what its number would mean per record
    epsilon: float  # of this reading, for this pair
    true_epsilon: str
    per_record: str
    expected: str  # "holds" or "false", stated before the audit
    why: str
    verdict: str  # "violated", "not refuted" or "not judged"
    certified_epsilon: float
    failed: str  # the checks that find a violation
    first: str
    second: str
    seconds: float

    @property
    def as_expected(self) -> bool:
        return self.verdict == ("not refuted" if self.expected == "holds" else "violated")


def exhibits() -> tuple[Exhibit, ...]:
    """Return all exhibits."""
    return sentence_exhibits.exhibits() + word_exhibits.exhibits()


def run(*, mechanisms: tuple[str, ...] = NAMES, trials: int = TRIALS) -> Iterator[ZooRow]:
    """Audit every reading at confidence 0.999.

    Args:
        mechanisms: names of exhibits; all of them by default.
        trials: releases of each of two records.

    Raises:
        ConfigurationError: there is no exhibit of that name.
    """
    known = {exhibit.name: exhibit for exhibit in exhibits()}
    if unknown := set(mechanisms) - known.keys():
        raise ConfigurationError(f"mechanisms must be of {', '.join(known)}, got {', '.join(sorted(unknown))}")
    for exhibit in (known[name] for name in mechanisms):
        for reading in exhibit.readings:
            yield _row(exhibit, reading, trials)


def _row(exhibit: Exhibit, reading: Reading, trials: int) -> ZooRow:
    started, mechanism = time.monotonic(), exhibit.make()
    try:
        claim = Claim(mechanism, epsilon=reading.epsilon)
        result = audit.run(claim, pairs=[reading.pair], trials=trials, confidence=CONFIDENCE)
    except NotJudged as failure:
        result = failure.result
    return ZooRow(
        mechanism=exhibit.name,
        source=exhibit.source,
        claim=exhibit.claim,
        unit=reading.unit,
        claimed=reading.claimed,
        epsilon=reading.epsilon,
        true_epsilon=reading.true_epsilon,
        per_record=exhibit.per_record,
        expected="holds" if reading.holds else "false",
        why=reading.why,
        verdict=result.outcome,
        certified_epsilon=result.certified_epsilon,
        failed=" ".join(check.name for check in result.checks if check.verdict is Verdict.FAILED),
        first=reading.pair[0],
        second=reading.pair[1],
        seconds=time.monotonic() - started,
    )
