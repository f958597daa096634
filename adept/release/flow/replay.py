"""Replay a central release with fixed counts, to find what else depends on the records.

Everything that a central release shows must follow from its noisy number of votes and its noisy counts. This audit
releases several files, which differ in the rows of some persons, and replaces the noisy numbers by the same fixed
numbers in each release. Then the statement, the output and the error must be the same for all files, byte by byte.
"""

import tempfile
import time
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from adept.audit.result import AuditResult, Check, Kind, MechanismFailure, Verdict, judge, judged
from adept.data.formats import STATEMENT, Record
from adept.data.writing import record_writer
from adept.mechanisms.central_counts import Counts, Votes
from adept.release.flow.central import synthesize_file
from adept.release.options import CentralOptions
from adept.synthesis.synthesizer import NeighbouringFiles, Synthesizer

SEES = (
    "Sees statements, outputs and errors that depend on a record other than by the released counts. Blind to the noise, and to how "
    "long a run takes."
)


@dataclass(frozen=True, kw_only=True)
class _Frozen(Votes):
    def privatize_number(self, number: int) -> int:
        return 5

    def privatize(self, counts: Counts) -> Counts:
        return (np.arange(counts.size, dtype=np.int64) % 5 * 7).reshape(counts.shape)


def replay(files: NeighbouringFiles) -> AuditResult:
    """Release all files with fixed numbers instead of noisy ones; compare what the releases show.

    Raise NotJudged if no file can be released.
    """
    started = time.monotonic()
    check = judge("replay", lambda: _compare_answers(files), sees=SEES, kind=Kind.METADATA)
    result = AuditResult(
        mechanism=files.name,
        claimed_epsilon=files.epsilon,
        delta=files.delta,
        dim=None,
        trials=len(files.files),
        confidence=1.0,
        source="rewriter",
        seconds=time.monotonic() - started,
        releases_judged=check.verdict is not Verdict.UNJUDGED,
        checks=(check,),
    )
    return judged(result)


def _compare_answers(files: NeighbouringFiles) -> Check:
    frozen = copy(files.synthesizer)
    object.__setattr__(frozen, "votes", _Frozen(**asdict(files.synthesizer.votes)))
    first, *others = [_answer(frozen, rows) for rows in files.files.values()]
    different = sum(other != first for other in others)
    if isinstance(first, str) and not different:
        raise MechanismFailure(f"no file was released ({first})")
    return Check.of(
        failed=different > 0,
        evidence=f"with the same released counts {different} of {len(others)} files were answered otherwise than the first",
        statistic=different / len(others),
    )


def _answer(synthesizer: Synthesizer, rows: list[Record]) -> tuple[bytes, bytes] | str:
    options = CentralOptions(person_column="user", max_records_per_person=synthesizer.votes.votes_per_person)
    with tempfile.TemporaryDirectory() as directory:
        given, out = f"{directory}/in.jsonl", f"{directory}/out.jsonl"
        with record_writer(given, format="jsonl", columns=["text", "intent", "user"]) as write:
            write(rows)
        try:
            synthesize_file(synthesizer, given, out, options=options)
        except Exception as error:  # noqa: BLE001 - whatever a release raises can be seen
            return f"{type(error).__name__}: {str(error).replace(directory, '')}"
        return Path(out).read_bytes(), Path(out + STATEMENT).read_bytes()
