"""The release of a file: records in, private records out, and the privacy statement beside them.

What of a record may reach the output is the rewritten text, the label as ``labels=`` says, and the columns that the user asked to
keep (``adept.release.columns``). Everything else is dropped. What is drawn goes into a journal before it is visible, so that a
run that is killed is continued and not repeated (``adept.release.journal``).
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from adept.data.files import Record
from adept.errors import ConfigurationError, DataError
from adept.release.columns import ReleaseOptions
from adept.release.identity import throwaway_key
from adept.release.inputs import Inputs
from adept.release.journal import LEDGER, Journal
from adept.release.ledger import Ledger
from adept.release.plan import Plan, plan_release
from adept.release.publication import Publication
from adept.release.publishing import Progress, check_newest
from adept.release.run import Run
from adept.release.shuffling import Groups
from adept.release.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter

# What a release that is asked for must have in common with one that stands there complete, to be the same.
SAME = (
    "records", "samples", "labels", "kept_columns", "mechanism", "mechanism_options", "label_set", "epsilon", "label_epsilon",
    "delta", "max_records_per_person", "model_sha256", "codebook_sha256",
)  # fmt: skip


def release_file(
    rewriter: Rewriter,
    source: str,
    target: str,
    *,
    options: ReleaseOptions,
    statement_path: str | None = None,
    resume: bool = False,
    key: bytes | None = None,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> PrivacyStatement:
    """Rewrite the records of ``source`` into ``target``, a batch at a time, and write the privacy statement beside it.

    Nothing appears under the final names until everything is written; standard output is written as records are released.

    Args:
        rewriter: what releases.
        source: a file, a pattern of files, or ``-``.
        target: a file, or ``-``.
        options: what of a record reaches the output, and how.
        statement_path: None stands for ``TARGET.privacy.json``.
        resume: continue a release that was interrupted; where there is none, begin one.
        key: of the digests by which a resumed run knows its input; without one an interrupted release cannot be continued.
        ledger: where rows that were released are known from; None for none.
        progress: called with how many records are written. If it has a ``last_step``, that is the context of the step after
            which the release is public, and the answer is "done" whatever comes: an interrupt in it would say something else.

    Raises:
        DataError: the input cannot be read as asked, a person has too many records, an output exists, or a run was interrupted.
        ConfigurationError: a label is outside the public label set, or the model writes no labels for labels=joint.
        ReleaseRefused: the rewriter was made for measurement, or rows are in the ledger.
    """
    if resume and key is None:
        raise ConfigurationError("key must be given for resume=true, got none: use secret_key()")
    inputs = Inputs.of(source, options)
    if ledger:
        identity = ledger.identity(text_column=options.text_column, person_column=options.person_column)
        inputs = replace(inputs, also=tuple(column for _, column in identity.columns))
    others = (*inputs.files, *([ledger.path] if ledger else []))
    publication = Publication.of(target, statement_path, card=options.card, others=others)
    complete = publication.complete if resume else None
    if complete is None:
        publication.check_free(resume=resume)
    plan, records = plan_release(rewriter, inputs, target, options)
    if complete is not None:
        smallest = _check_same(plan, records, publication, complete)
        if not publication.journal.exists():
            publication.clear()
            return _stated(plan, complete, smallest)
    publication.make_directories()
    with Journal(publication.journal) as journal:
        run = Run(publication, journal, ledger, progress, plan=plan, key=key or throwaway_key())
        if complete is not None:
            run.tidy()
            return _stated(plan, complete, smallest)
        if journal.begun and not resume:
            publication.refuse_to_restart(f"released {journal.records} records")
        if ledger:
            check_newest(journal, ledger)
        required = ledger is not None and ledger.required
        if journal.has_ledger and not required:
            raise DataError(
                f"{publication.target} was begun with a ledger, which would not learn of the rest: add ledger=FILE"
            )
        noted = {LEDGER: True} if required and (journal.has_ledger or not journal.begun) else {}
        journal.begin(plan.terms(publication) | noted)
        return run.finish(records)


def _check_same(plan: Plan, records: Iterator[Record], publication: Publication, described: dict[str, Any]) -> int:
    """Refuse another release than the one that is complete; return how many records the smallest of its ``Groups`` has.

    Raises:
        DataError: naming the first difference.
    """
    groups = Groups(plan.label_column, plan.options)
    count = sum(1 for _ in groups.counted(plan.checked(records)))
    asked = json.loads(json.dumps(plan.statement(count, output_sha256=None).to_json()))
    for name in SAME:
        if asked.get(name) != described.get(name):
            raise DataError(
                f"{publication.target} is another release, complete, and is not overwritten ({name} was "
                f"{described.get(name)!r}, and is {asked.get(name)!r}): choose another name"
            )
    return groups.smallest


def _stated(plan: Plan, described: dict[str, Any], smallest: int) -> PrivacyStatement:
    """The statement of a release that was complete before."""
    stated = plan.statement(described["records"], output_sha256=described["output_sha256"], smallest=smallest)
    return replace(stated, date=described["date"])


def preview_file(
    rewriter: Rewriter,
    source: str,
    target: str,
    *,
    options: ReleaseOptions,
    statement_path: str | None = None,
) -> PrivacyStatement:
    """Return the statement of a release that is not made: options and all records are checked, and nothing is released or written.

    The ledger is not asked: whether it knows rows is told when they are to be released.
    """
    inputs = Inputs.of(source, options)
    publication = Publication.of(target, statement_path, card=options.card, others=inputs.files)
    publication.check_names()
    plan, records = plan_release(rewriter, inputs, target, options)
    groups = Groups(plan.label_column, options)
    count = sum(1 for _ in groups.counted(plan.checked(records)))
    return plan.statement(count, output_sha256=None, smallest=groups.smallest)
