"""An audit of a synthesizer finds no violation in a sound one, and finds what is planted.

The game has a confidence of .9999999: a sound synthesizer is blamed, here in two tests, with a probability below 2e-7.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit.asking import asked, finds, make_cheap
from tiny import Run

from adept import audit
from adept.audit import AuditResult, NotJudged, auditor
from adept.audit.distinguisher import guessing_game
from adept.errors import ConfigurationError
from adept.mechanisms import Votes
from adept.mechanisms.central_counts import Counts
from adept.release.flow import central as central_release
from adept.release.flow.replay import replay
from adept.release.statement.statement import CentralStatement
from adept.rewriting.loading import load_model
from adept.synthesis import votes as tallies
from adept.synthesis.synthesizer import NeighbouringFiles, Synthesizer
from adept.synthesis.votes import OUTSIDE, Tally

TRIALS, FEW, CONFIDENCE = 1200, 400, 1 - 1e-7  # few are enough for what is certain to be seen


@pytest.fixture(autouse=True)
def _few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases in calls of their own are what takes time; the game has all its trials, and no longer game follows it."""
    make_cheap(monkeypatch)
    monkeypatch.setattr(guessing_game, "LONGER", 0)
    monkeypatch.setattr(auditor, "not_looked_at", lambda *_, **__: ())  # which divides by its length


@pytest.fixture(scope="module")
def loaded(topic_run: Path) -> tuple[Any, Any]:
    return load_model(topic_run)


def made(loaded: tuple[Any, Any], kind: type[Synthesizer] = Synthesizer, **votes: Any) -> NeighbouringFiles:
    budget = Votes(**{"epsilon": 1.0, "votes_per_person": 2} | votes)
    return NeighbouringFiles(kind(*loaded, votes=budget, label_set=["one", "other"], cells=4))


def played(files: NeighbouringFiles) -> AuditResult:
    return audit.run(files, pairs=files.pairs, trials=TRIALS, confidence=CONFIDENCE)


def guessed(files: NeighbouringFiles, *, trials: int = TRIALS) -> AuditResult:
    """Audit by the guessing game alone."""
    return asked({"event"}, files, pairs=files.pairs, trials=trials, confidence=CONFIDENCE)


@pytest.mark.parametrize("neighbours", ["add_or_remove", pytest.param("replace", marks=pytest.mark.slow)])
def test_no_violation_is_found_in_a_sound_synthesizer(loaded: tuple[Any, Any], neighbours: str) -> None:
    files = made(loaded, neighbours=neighbours)
    result = played(files)
    assert not result.violated, result.sentence
    assert result.certified_epsilon > 0.05  # .4 to .8, or .15 to .3 from another pair: no formality
    assert not replay(files).violated


def two_rounds(loaded: tuple[Any, Any], kind: type[Synthesizer] = Synthesizer, **votes: Any) -> NeighbouringFiles:
    """A synthesizer of two rounds, with so few codewords that both their number and their counts show a difference."""
    made = kind(*loaded, votes=Votes(**{"epsilon": 4.0, "votes_per_person": 2} | votes), label_set=["one", "other"])
    made.largest_size = 8
    return NeighbouringFiles(made)


@pytest.mark.parametrize("neighbours", ["add_or_remove", pytest.param("replace", marks=pytest.mark.slow)])
def test_no_violation_is_found_in_two_sound_rounds(loaded: tuple[Any, Any], neighbours: str) -> None:
    files = two_rounds(loaded, neighbours=neighbours)
    sizes = {len(np.flatnonzero(row)) for row in files.privatize(["others"] * 100)}
    assert len(sizes) > 2  # the first round decides
    result = played(files)
    assert not result.violated, result.sentence
    assert result.certified_epsilon > 0.3
    assert not replay(files).violated


class ExactFirstRound(Synthesizer):
    """No noise in the first round."""

    def release_number(self, tally: Tally) -> int:
        return int(tally.counts.sum())


class ExactSize(Synthesizer):
    """The number of codewords follows from the exact number of votes, and the noisy one is only shown."""

    def release_number(self, tally: Tally) -> int:
        ExactSize.exact = int(tally.counts.sum())
        return super().release_number(tally)

    exact = 0

    def choose_codewords(self, number: int) -> Synthesizer:
        return super().choose_codewords(ExactSize.exact)


def test_a_first_round_without_noise_is_found(loaded: tuple[Any, Any]) -> None:
    assert guessed(two_rounds(loaded, ExactFirstRound, epsilon=1.0), trials=FEW).violated


def test_codewords_chosen_by_the_exact_number_are_found(loaded: tuple[Any, Any]) -> None:
    assert replay(two_rounds(loaded, ExactSize)).violated


def test_a_first_round_that_costs_more_is_found(loaded: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The number alone spends four times the budget; the counts keep to their part of it."""
    monkeypatch.setattr(Votes, "number_scale", property(lambda self: self.sensitivity / (4 * self.epsilon)))
    files = two_rounds(loaded, epsilon=1.0)
    assert finds("event", files, pairs=files.pairs, trials=FEW, confidence=CONFIDENCE)


def test_two_rounds_that_both_spend_the_whole_budget_are_found(
    loaded: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("number_scale", "scale"):
        monkeypatch.setattr(Votes, name, property(lambda self: self.sensitivity / self.epsilon))
    assert guessed(two_rounds(loaded, epsilon=1.0)).violated


class Erasing(Synthesizer):
    """Counts are erased when they have been released."""

    def release(self, tally: Tally) -> Counts:
        released = super().release(tally)
        tally.counts[:] = 0
        return released


def test_a_release_that_changes_its_counts_changes_no_later_one(loaded: tuple[Any, Any]) -> None:
    """At this epsilon, noise is seen once in 10^86 numbers."""
    released = made(loaded, Erasing, epsilon=600.0).privatize(["others"] * 5)
    assert released[0].any()
    assert (released == released[0]).all()


# --- Planted in the noise: found by the game


def halved(self: Votes, counts: Counts) -> Counts:
    return Votes(epsilon=2 * self.epsilon, votes_per_person=self.votes_per_person).privatize(counts)


def skipped(self: Votes, counts: Counts) -> Counts:
    noisy = Votes(epsilon=self.epsilon, votes_per_person=self.votes_per_person).privatize(counts)
    return np.where(counts > 0, noisy, 0)


@pytest.mark.parametrize("planted", [halved, pytest.param(skipped, marks=pytest.mark.slow)])
def test_too_little_noise_and_cells_without_it_are_found(
    loaded: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, planted: Any
) -> None:
    files = made(loaded)
    real = Votes.privatize

    def privatize(self: Votes, counts: Counts) -> Counts:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Votes, "privatize", real)
            return planted(self, counts)  # type: ignore[no-any-return]

    monkeypatch.setattr(Votes, "privatize", privatize)
    result = guessed(files)
    assert result.violated
    assert result.certified_epsilon > 1.0


@pytest.mark.slow
def test_all_rows_of_a_person_are_found(loaded: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies.Tally, "_vote_of", lambda self, person, vote: vote)
    assert guessed(made(loaded), trials=FEW).violated


class Shares(Synthesizer):
    """Each vote of a person counts one over all of them, and noise is whole: fractions tell how many there were."""

    def release(self, tally: Tally) -> Counts:
        noisy = super().release(tally)
        shares = np.unique(tally.counts[tally.counts > 0]).sum() / 7
        return noisy + shares % 1  # type: ignore[arg-type]


@pytest.mark.slow
def test_shares_that_are_no_whole_multiples_are_found(loaded: tuple[Any, Any]) -> None:
    assert guessed(made(loaded, Shares)).violated


# --- Planted beside the noise: found by the replay


class ClassShares(Synthesizer):
    """Labels as common as they are, without noise."""

    shares: Any = None

    def release(self, tally: Tally) -> Counts:
        ClassShares.shares = tally.counts.reshape(self.cells.size, -1).sum(axis=0)
        return super().release(tally)

    def write(self, released: Counts, *, rows: int | None = None) -> Any:
        written = list(super().write(released, rows=rows))
        most = int(ClassShares.shares.argmax()) if ClassShares.shares.sum() != 3 else 0
        return iter([(text, self.labels[most]) for text, _ in written])


class ExactRows(Synthesizer):
    """A target that writes as many rows as there were."""

    def release(self, tally: Tally) -> Counts:
        ExactRows.count = tally.rows
        return super().release(tally)

    count = 0

    def write(self, released: Counts, *, rows: int | None = None) -> Any:
        return super().write(released, rows=ExactRows.count)


class Refusing(Synthesizer):
    """A label outside the set is an error."""

    def vote(self, texts: Sequence[object], labels: Sequence[object] | None = None) -> list[int]:
        votes = super().vote(texts, labels)
        if OUTSIDE in votes:
            raise ConfigurationError("labels must be in label_set")
        return votes


class Broken(Synthesizer):
    """No file is released."""

    def release(self, tally: Tally) -> Counts:
        raise RuntimeError("out of order")


def test_a_synthesizer_that_releases_nothing_does_not_pass(loaded: tuple[Any, Any]) -> None:
    files = made(loaded)
    files.synthesizer = made_only(loaded, Broken)
    with pytest.raises(NotJudged, match="no file was released"):
        replay(files)


@pytest.mark.parametrize("kind", [ClassShares, ExactRows, Refusing])
def test_what_is_seen_beside_the_released_counts_is_found(loaded: tuple[Any, Any], kind: type[Synthesizer]) -> None:
    files = made(loaded)
    files.synthesizer = made_only(loaded, kind)
    assert replay(files).violated


def made_only(loaded: tuple[Any, Any], kind: type[Synthesizer]) -> Synthesizer:
    return kind(*loaded, votes=Votes(epsilon=1.0, votes_per_person=2), label_set=["one", "other"], cells=4)


def test_a_statement_that_tells_the_number_of_rows_is_found(
    loaded: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, real = [0], central_release.CentralPlan.count

    def count(self: Any, *arguments: Any) -> Tally:
        tally = real(self, *arguments)
        counted[0] = tally.rows
        return tally

    fields = CentralStatement.to_json
    monkeypatch.setattr(central_release.CentralPlan, "count", count)
    monkeypatch.setattr(CentralStatement, "to_json", lambda self: fields(self) | {"rows_read": counted[0]})
    assert replay(made(loaded)).violated


@pytest.mark.slow
def test_the_command_plays_files(adept_here: Run, topic_run: Path) -> None:
    done = adept_here(
        "audit", "target=synthesizer", f"model_dir={topic_run}", "epsilon=1", "trials=500", "confidence=.9999999"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No violation found, which is no proof of the claim of synthesizer, epsilon 1")
