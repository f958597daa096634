"""Every use of a file's records, whatever it holds: a release with the options of a number, and what is evaluated and trained on.

Statuses are those of the command line: none may be 70.
"""

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from adept.cli.process import INTERNAL_ERROR, _verdict
from adept.data.corpus import read_corpus
from adept.data.formats import FORMATS
from adept.mechanisms import JointResponse, LearnedCodebook, RandomizedResponse, SqrtNLaplace
from adept.release.flow.local import prepare_file, release_file
from adept.release.flow.steps import preview
from adept.release.ledger.claims import Ledger
from adept.release.records import ReleaseOptions
from adept.rewriting.rewriter import Rewriter

KEY = b"k" * 32
LABELS = ("a", "b")
COLUMNS = ("text", "intent", "n", "deep", "slots", "who", "pair", "words", "time", "bytes", "none")


class Uses:
    """Releases through a tiny model.

    Args:
        model_dir: of a model that writes labels.
    """

    def __init__(self, model_dir: Path) -> None:
        self._plain = Rewriter.from_pretrained(model_dir, mechanism=SqrtNLaplace(epsilon=8.0), batch_size=64)
        joint = JointResponse(mechanism=LearnedCodebook(epsilon=2.0), labels=LABELS)
        self._joint = Rewriter.from_pretrained(model_dir, mechanism=joint, batch_size=64)

    def attempt(self, path: Path, directory: Path, number: int) -> int:
        """Use a file in every way; returns how many of them were refused.

        Raises:
            AssertionError: one ended with a status of our own fault, or told what the file says.
        """
        uses = (self._released, self._previewed, self._corpus)
        return sum(bool(_said(lambda use=use: use(path, directory, number), path)) for use in uses)

    def _options(self, number: int) -> tuple[Rewriter, ReleaseOptions]:
        rng = random.Random(f"options {number}")
        labels = rng.choice(["copy", "copy", "drop", "joint", "joint_response", "randomized_response"])
        person = rng.choice([None, None, rng.choice(COLUMNS)])
        options = ReleaseOptions(
            labels=labels,
            label_response=RandomizedResponse(epsilon=1.0, labels=LABELS) if labels == "randomized_response" else None,
            text_column=rng.choice(["text", "text", "text", rng.choice(COLUMNS)]),
            label_column=rng.choice([None, None, rng.choice(COLUMNS)]),
            keep_columns=rng.sample(COLUMNS, rng.choice([0, 0, 1, 3])),
            person_column=person,
            max_records_per_person=person and rng.choice([1, 100]),
            shuffle=rng.random() < 0.2,
        )
        return (self._joint if labels == "joint_response" else self._plain), options

    def _released(self, path: Path, directory: Path, number: int) -> None:
        rewriter, options = self._options(number)
        target = directory / f"released.{FORMATS[number % len(FORMATS)]}"
        try:
            with closing(Ledger(str(directory / "ledger.db"), key=KEY)) as ledger:
                release_file(rewriter, str(path), str(target), options=options, key=KEY, ledger=ledger)
        finally:
            for left in directory.iterdir():
                if left != path:
                    left.unlink()

    def _previewed(self, path: Path, directory: Path, number: int) -> None:
        rewriter, options = self._options(number + 1)
        preview(*prepare_file(rewriter, str(path), str(directory / "previewed.jsonl"), options=options))

    def _corpus(self, path: Path, directory: Path, number: int) -> None:
        read_corpus(str(path))


def _said(use: Callable[[], None], path: Path) -> str:
    """The line with which a use is refused; nothing where it is not."""
    try:
        use()
    except Exception as error:
        line, status = _verdict(error)
        if status == INTERNAL_ERROR:
            raise
        if "\n" in line or "secret" in line.replace(str(path), ""):
            raise AssertionError(f"not one line without what the file says: {line!r}") from None
        return line
    return ""
