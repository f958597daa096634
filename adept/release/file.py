"""The release of a file: records in, private records out, and the privacy statement beside them.

What of a record may reach the output is the rewritten text, the label as ``labels=`` says, and the columns that the user asked to
keep (``adept.release.columns``). Everything else is dropped. What is drawn goes into a journal before it is visible, so that a
run that is killed is continued and not repeated (``adept.release.journal``).
"""

from adept.errors import ConfigurationError
from adept.release.columns import ReleaseOptions
from adept.release.inputs import Inputs
from adept.release.journal import Journal
from adept.release.ledger import Ledger
from adept.release.plan import plan_release
from adept.release.publication import Publication
from adept.release.run import Progress, Run
from adept.release.secret import throwaway_key
from adept.release.shuffling import Groups
from adept.release.statement import PrivacyStatement
from adept.rewriting.rewriter import Rewriter


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
        progress: called with how many records are written.

    Raises:
        DataError: the input cannot be read as asked, a person has too many records, an output exists, or a run was interrupted.
        ConfigurationError: a label is outside the public label set, or the model writes no labels for labels=joint.
        ReleaseRefused: the rewriter was made for measurement, or rows are in the ledger.
    """
    if resume and key is None:
        raise ConfigurationError("key must be given for resume=true, got none: use secret_key()")
    inputs = Inputs.of(source, options.format)
    publication = Publication.of(target, statement_path, card=options.card)
    publication.check_free()
    plan, records = plan_release(rewriter, inputs, target, options)
    publication.make_directories()
    with Journal(publication.journal) as journal:
        if journal.begun and not resume:
            publication.refuse_to_restart(journal.records)
        journal.begin(plan.terms(publication))
        run = Run(plan, publication, journal, key or throwaway_key(), ledger, progress)
        return run.tidied() if run.complete else run.finish(records)


def preview_file(
    rewriter: Rewriter, source: str, target: str, *, options: ReleaseOptions, statement_path: str | None = None
) -> PrivacyStatement:
    """Return the statement of a release that is not made: options and all records are checked, and nothing is released or written.

    The ledger is not asked: whether it knows rows is told when they are to be released.
    """
    publication = Publication.of(target, statement_path, card=options.card)
    publication.check_names()
    plan, records = plan_release(rewriter, Inputs.of(source, options.format), target, options)
    groups = Groups(plan.label_column, options)
    count = sum(1 for _ in groups.counted(plan.checked(records)))
    return plan.statement(count, output_sha256=None, smallest=groups.smallest)
