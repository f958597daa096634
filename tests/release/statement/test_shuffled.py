"""Shuffled records: the order is forgotten, the statement says what that adds and on what conditions, and the rest is refused."""

import base64
import json
import pickle
import random
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from exact_shuffling import subset

from adept.cli.help import options
from adept.data.formats import Record
from adept.errors import ConfigurationError, DataError
from adept.mechanisms import Description, JointResponse, LearnedCodebook, RandomizedResponse, SqrtNLaplace, random_draws
from adept.mechanisms.shuffling import central_epsilon
from adept.models.config import DecodingConfig
from adept.release.flow import local as local_release
from adept.release.flow.journal import Entry
from adept.release.flow.local import LocalPlan, prepare_file, release_file
from adept.release.flow.steps import preview
from adept.release.records import ReleaseOptions
from adept.release.statement.statement import find_shuffled, restate
from adept.release.statement.verify import SHUFFLED, check
from adept.rewriting.rewriter import Rewriter

MECHANISM = Description(epsilon=6.0, size=64)
LABELS = ["flight"] * 40 + ["fare"] * 20


@pytest.fixture(scope="module")
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=MECHANISM, accept_private_model=True)


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    rows = [{"text": f"flights to city {i}", "intent": label, "place": i} for i, label in enumerate(LABELS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_shuffled_rows_are_the_same_rows_in_another_order(rewriter: Rewriter, numbered: Path, tmp_path: Path) -> None:
    """60 records keep their labels' order by chance with probability 1 in 4e15; rows of one record stay together."""
    output = tmp_path / "out.jsonl"
    statement = release_file(rewriter, str(numbered), str(output), options=ReleaseOptions(shuffle=True, samples=2))
    labels = [row["intent"] for row in rows(output)]
    assert Counter(labels) == Counter(LABELS * 2)
    assert labels[::2] != LABELS
    assert labels[::2] == labels[1::2]
    assert [row["sample"] for row in rows(output)] == [0, 1] * 60
    assert not list(tmp_path.glob("*.journal"))
    described = json.loads((tmp_path / "out.jsonl.privacy.json").read_text())
    assert "their order" not in described["not_hidden"]
    assert (described["shuffled_here"], described["shuffled_records"], described["shuffled_smallest"]) == (True, 60, 20)
    assert described["central_epsilon"] == central_epsilon([subset(6.0, 64)], records=20, delta=1e-6)
    assert "This run shuffled the records" in statement.text
    assert ", 1e-6)-DP for replacing one record by another" in statement.text


def test_a_declared_shuffle_leaves_the_order_and_says_whose_word_it_is(
    rewriter: Rewriter, numbered: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    statement = release_file(rewriter, str(numbered), str(output), options=ReleaseOptions(shuffled_records=60))
    assert [row["intent"] for row in rows(output)] == LABELS
    assert "their order" in statement.to_json()["not_hidden"]
    assert "The user declares that a trusted party shuffles" in statement.text
    assert "nobody contributed more than one record" in statement.text


def test_shuffling_counts_records_however_many_rewrites_each_has(
    rewriter: Rewriter, numbered: Path, tmp_path: Path
) -> None:
    """30 of 60 records, with 3 rewrites each: not 90 rows, and not the 10 records that have 30 rows."""
    options = ReleaseOptions(shuffled_records=30, samples=3, labels="drop")
    statement = release_file(rewriter, str(numbered), str(tmp_path / "out.jsonl"), options=options)
    described = statement.to_json()
    assert (described["records"], described["shuffled_records"], described["shuffled_smallest"]) == (60, 30, 30)
    assert described["central_epsilon"] == central_epsilon([subset(6.0, 64)], records=30, delta=1e-6)
    assert "shuffles the records in groups of at least 30, each with all its 3 rewrites." in statement.text
    assert "each record is hidden among 30 records." in statement.text
    alone = replace(options, samples=1)
    other = release_file(rewriter, str(numbered), str(tmp_path / "alone.jsonl"), options=alone).to_json()
    assert {name: other[name] for name in SHUFFLED} == {name: described[name] for name in SHUFFLED}


@pytest.mark.parametrize(("size", "hidden"), [(1, 1), (59, 59), (60, 60), (61, 60), (10**9, 60)])
def test_a_group_counts_no_more_records_than_the_file_has(size: int, hidden: int) -> None:
    options = ReleaseOptions(shuffled_records=size, samples=3, labels="drop")
    found = find_shuffled(MECHANISM, options, None, dim=8, records=60, smallest=60)
    assert found is not None
    assert (found.records, found.smallest) == (hidden, hidden)
    assert found.epsilon == central_epsilon([subset(6.0, 64)], records=hidden, delta=1e-6)


@pytest.mark.parametrize("option", ["shuffle", "shuffled_records", "central_delta"])
def test_the_help_counts_records_wherever_it_speaks_of_shuffling(option: str) -> None:
    [text] = [about.sentence for about in options("rewrite") if about.name == option]
    assert "record" in text
    assert " rows" not in text


def test_a_run_that_shuffles_all_records_takes_no_number_of_them(
    rewriter: Rewriter, numbered: Path, tmp_path: Path
) -> None:
    options = ReleaseOptions(shuffle=True, shuffled_records=30)
    with pytest.raises(ConfigurationError, match="shuffled_records must be left out for shuffle=true"):
        release_file(rewriter, str(numbered), str(tmp_path / "out.jsonl"), options=options)


@pytest.mark.parametrize("options", [ReleaseOptions(shuffle=True), ReleaseOptions(shuffled_records=60)])
def test_a_complete_release_is_stated_again_as_it_was(
    rewriter: Rewriter, numbered: Path, tmp_path: Path, options: ReleaseOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a later day; 120 records, 60 of which are shuffled together."""
    numbered.write_text(numbered.read_text() * 2)
    place = {"options": options, "key": b"k" * 32}
    release_file(rewriter, str(numbered), str(tmp_path / "out.jsonl"), **place)  # type: ignore[arg-type]
    described = json.loads((tmp_path / "out.jsonl.privacy.json").read_text())
    monkeypatch.setattr("adept.release.statement.statement.now", lambda: "2100-01-01T00:00:00+00:00")
    again = release_file(rewriter, str(numbered), str(tmp_path / "out.jsonl"), resume=True, **place)  # type: ignore[arg-type]
    assert json.loads(json.dumps(again.to_json())) == described


@pytest.mark.parametrize("declared", [None, 15, 60, 10**6])
@pytest.mark.parametrize("delta", [None, 1e-9])
def test_a_resumed_complete_release_has_the_numbers_of_its_statement(
    rewriter: Rewriter, numbered: Path, tmp_path: Path, declared: int | None, delta: float | None
) -> None:
    """Whatever number of records, or delta, the second command declares; a dry run says the same."""
    options, files = ReleaseOptions(shuffled_records=30, labels="drop"), (str(numbered), str(tmp_path / "out.jsonl"))
    released = release_file(rewriter, *files, options=options, key=b"k" * 32)
    asked = replace(options, shuffled_records=declared, central_delta=delta)
    again = release_file(rewriter, *files, options=asked, key=b"k" * 32, resume=True)
    assert again.to_json() == released.to_json()
    assert preview(*prepare_file(rewriter, *files, options=asked), resume=True).to_json() == released.to_json()


CHANGES: list[tuple[dict[str, object], str]] = [
    ({"shuffle": True, "shuffled_records": None}, "shuffled_here"),
    ({"samples": 2}, "samples"),
    ({"labels": "copy"}, "labels"),
    ({"person_column": "place", "max_records_per_person": 1}, "max_records_per_person"),
    ({"person_column": "place", "max_records_per_person": 1, "excess": "drop"}, "excess"),
    ({"text_column": "intent"}, "text_column"),
]


@pytest.mark.parametrize(("changes", "name"), CHANGES)
def test_a_complete_release_is_not_resumed_with_other_facts(
    rewriter: Rewriter, numbered: Path, tmp_path: Path, changes: dict[str, object], name: str
) -> None:
    """Each of these would print a number or a relation that the statement does not hold."""
    options, files = ReleaseOptions(shuffled_records=30, labels="drop"), (str(numbered), str(tmp_path / "out.jsonl"))
    if "excess" in changes:
        options = replace(options, person_column="place", max_records_per_person=1)
    release_file(rewriter, *files, options=options, key=b"k" * 32)
    asked = replace(options, **changes)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=rf"is a complete release with other options, .*\({name} was "):
        release_file(rewriter, *files, options=asked, key=b"k" * 32, resume=True)


def test_without_shuffling_nothing_central_is_said(rewriter: Rewriter, numbered: Path, tmp_path: Path) -> None:
    statement = preview(*prepare_file(rewriter, str(numbered), str(tmp_path / "o.jsonl"), options=ReleaseOptions()))
    assert statement.to_json()["central_epsilon"] is None
    assert "shuffle" not in statement.text


def test_the_smallest_copied_label_decides_and_both_budgets_of_random_ones() -> None:
    copied, dropped = ReleaseOptions(shuffled_records=9_000), ReleaseOptions(shuffled_records=9_000, labels="drop")
    response = RandomizedResponse(epsilon=1.0, labels=("fare", "flight"))
    randomised = replace(dropped, labels="randomized_response", label_response=response)

    def epsilon(options: ReleaseOptions, smallest: int, records: int = 9_000) -> float:
        found = find_shuffled(MECHANISM, options, options.response, dim=8, records=records, smallest=smallest)
        assert found is not None
        assert found.delta == 1e-6
        return found.epsilon

    assert epsilon(dropped, 9_000) < epsilon(copied, 900) < epsilon(copied, 1) == 6.0
    assert epsilon(dropped, 9_000) < epsilon(randomised, 9_000) < 7.0
    # Of a part of the file nobody knows how many have one label; and no more are shuffled than there are.
    assert epsilon(replace(copied, shuffled_records=5_000), 900) == 6.0
    assert epsilon(dropped, 800, records=800) == epsilon(replace(dropped, shuffled_records=800), 9_000)


@pytest.mark.parametrize("shuffle", [True, False])
def test_labels_that_a_txt_output_lacks_are_in_no_number_of_it(
    rewriter: Rewriter, numbered: Path, tmp_path: Path, shuffle: bool
) -> None:
    """The shuffled epsilon of text and label would be above the local one of the text, and verify would refuse it."""
    response = RandomizedResponse(epsilon=1.0, labels=tuple(dict.fromkeys(LABELS)))
    options = ReleaseOptions(shuffle=shuffle, shuffled_records=None if shuffle else 2, labels="randomized_response",
                             label_response=response)  # fmt: skip
    output = str(tmp_path / "out.txt")
    described = release_file(rewriter, str(numbered), output, options=options).to_json()
    assert (described["epsilon"], described["label_epsilon"], described["labels"]) == (6.0, None, None)
    hidden = described["shuffled_smallest"]
    assert described["central_epsilon"] == central_epsilon([subset(6.0, 64)], records=hidden, delta=1e-6) <= 6.0
    assert check(output + ".privacy.json", restate=restate)


def test_labels_of_one_symbol_hide_among_all_records_as_one_symbol() -> None:
    joint = JointResponse(mechanism=LearnedCodebook(epsilon=6.0, size=64, top=3), labels=("fare", "flight"))
    options = ReleaseOptions(shuffled_records=9_000, labels="joint_response", label_response=joint)
    found = find_shuffled(joint.text, options, joint, dim=8, records=9_000, smallest=9_000)
    assert found is not None
    assert found.epsilon == central_epsilon([subset(6.0, 128, 3)], records=9_000, delta=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keep_columns": ["place"]}, "keep_columns must be empty for shuffled records"),
        ({"person_column": "place", "max_records_per_person": 2}, "max_records_per_person must be 1"),
    ],
)
def test_what_the_proof_does_not_cover_is_refused(
    rewriter: Rewriter, numbered: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    options = replace(ReleaseOptions(shuffled_records=60), **changes)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=message):
        release_file(rewriter, str(numbered), str(tmp_path / "out.jsonl"), options=options)


def test_additive_noise_and_streams_are_refused(
    tiny_run: Path, rewriter: Rewriter, numbered: Path, tmp_path: Path
) -> None:
    additive = Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))
    with pytest.raises(ConfigurationError, match="must be description, learned_codebook or codebook with blocks=1"):
        release_file(additive, str(numbered), str(tmp_path / "o.jsonl"), options=ReleaseOptions(shuffled_records=60))
    streamed = ReleaseOptions(shuffle=True, format="jsonl", statement=str(tmp_path / "s.json"))
    with pytest.raises(ConfigurationError, match="output must be a file for shuffle=true"):
        release_file(rewriter, str(numbered), "-", options=streamed)


def test_a_shuffled_release_that_was_interrupted_is_continued(
    rewriter: Rewriter, numbered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is visible of the first run; the second one draws for the rest alone, and shuffles all of it."""
    rewriter.batch_size, drawn = 10, []
    release = rewriter.release

    def dying(texts: list[str], labels: object = None) -> object:
        drawn.append(len(texts))
        if len(drawn) == 4:
            raise KeyboardInterrupt
        return release(texts)

    monkeypatch.setattr(rewriter, "release", dying)
    options, output = ReleaseOptions(shuffle=True), tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        release_file(rewriter, str(numbered), str(output), options=options, key=b"k" * 32)
    assert not output.exists()
    statement = release_file(rewriter, str(numbered), str(output), options=options, key=b"k" * 32, resume=True)
    assert sum(drawn) == 60 + 10
    assert Counter(row["intent"] for row in rows(output)) == Counter(LABELS)
    assert (statement.records, statement.to_json()["shuffled_smallest"]) == (60, 20)


def test_a_run_that_dies_while_texts_are_written_is_continued_without_another_draw(
    rewriter: Rewriter, numbered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal holds releases and no text; what was written of them was never visible."""
    rewriter.batch_size, write, calls = 10, rewriter.write, []

    def dying(released: torch.Tensor, *, samples: int) -> object:
        calls.append(len(released))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return write(released, samples=samples)

    options, output = ReleaseOptions(shuffle=True), tmp_path / "out.jsonl"
    monkeypatch.setattr(rewriter, "write", dying)
    with pytest.raises(KeyboardInterrupt):
        release_file(rewriter, str(numbered), str(output), options=options, key=b"k" * 32)
    assert not output.exists()
    (journal,) = tmp_path.glob("*.journal")
    assert journal.stat().st_mode & 0o077 == 0
    assert b'"releases":' in journal.read_bytes()
    assert b"texts" not in journal.read_bytes()
    monkeypatch.setattr(rewriter, "release", None)
    release_file(rewriter, str(numbered), str(output), options=options, key=b"k" * 32, resume=True)
    assert calls == [10] * 9
    assert Counter(row["intent"] for row in rows(output)) == Counter(LABELS)
    assert not list(tmp_path.glob("*.journal"))


def written_from(
    rewriter: Rewriter, releases: torch.Tensor, source: Path, output: Path, options: ReleaseOptions
) -> list[str]:
    """The lines of a file whose records are released as given, in that order."""
    rest = iter(torch.split(releases, rewriter.batch_size))
    rewriter.__dict__["release"] = lambda *_: next(rest)
    try:
        release_file(rewriter, str(source), str(output), options=options)
    finally:
        del rewriter.__dict__["release"]
    return output.read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    "options",
    [ReleaseOptions(shuffle=True, labels="drop", samples=2), ReleaseOptions(shuffled_records=60, labels="drop")],
)
def test_files_of_equal_unordered_releases_are_equal_but_for_their_order(
    rewriter: Rewriter, numbered: Path, tmp_path: Path, options: ReleaseOptions
) -> None:
    rewriter.batch_size = 7
    releases = torch.tensor([[number % 23] for number in range(60)])
    files = [
        written_from(rewriter, releases[order], numbered, tmp_path / f"{place}.jsonl", options)
        for place, order in enumerate((torch.arange(60), torch.arange(60).flip(0)))
    ]
    assert sorted(files[0]) == sorted(files[1])
    assert len(set(files[0])) > 10


class Known(torch.Generator):
    """A generator whose seed a reader has found."""

    def seed(self) -> int:
        self.manual_seed(7)
        return 7


def sampled(topic_run: Path, pool: int) -> Rewriter:
    decoding = DecodingConfig(strategy="sample", pool=pool, temperature=2.0)
    return Rewriter.from_pretrained(topic_run, mechanism=LearnedCodebook(epsilon=6.0), decoding=decoding)


def placed(topic_run: Path, pool: int, numbered: Path, tmp_path: Path, options: ReleaseOptions) -> int:
    """Return the number of 60 rows put back by a reader who knows every release and the seed of every generator.

    All releases are the same codeword, so that rows differ by what was drawn after it. The reader writes them from the seed in the
    old order, and looks for the text that each row ought to have; copied labels, one a record, tell whether it is the right one.
    """
    files = []
    for place, asked in enumerate((options, replace(options, shuffle=False, shuffled_records=60))):
        rewriter = sampled(topic_run, pool)
        releases = torch.zeros(60, 1, dtype=torch.int64)
        random.seed(7)
        torch.manual_seed(7)
        files.append(written_from(rewriter, releases, numbered, tmp_path / f"{pool} {place}.jsonl", asked))
    assert len(set(files[0])) == 60
    return len(set(files[0]) & set(files[1]))


@pytest.fixture
def told_apart(tmp_path: Path) -> Path:
    path = tmp_path / "apart.jsonl"
    path.write_text("".join(json.dumps({"text": "fare", "intent": f"{i}"}) + "\n" for i in range(60)), "utf-8")
    return path


@pytest.mark.parametrize("pool", [0, 40])
@pytest.mark.parametrize("options", [ReleaseOptions(shuffle=True), ReleaseOptions(shuffled_records=60)])
def test_whoever_knows_every_seed_puts_no_row_back(
    topic_run: Path,
    told_apart: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: ReleaseOptions,
    pool: int,
) -> None:
    """Texts of two runs are drawn apart, so that hardly one is the same; with the seeds of generators all 60 were."""
    monkeypatch.setattr(torch, "Generator", Known)
    assert placed(topic_run, pool, told_apart, tmp_path, options) < 12


def seeded(count: int) -> torch.Tensor:
    return torch.rand(count, dtype=torch.float64)


def written_before(
    plan: LocalPlan, entries: Iterator[tuple[Sequence[Record], Entry]]
) -> Iterator[tuple[int, list[Record]]]:
    """Texts are written in the old order, and moved afterwards."""
    moved: list[Record] = []
    for batch, entry in entries:
        released = torch.frombuffer(bytearray(base64.b64decode(entry["releases"])), dtype=torch.int64)
        moved += plan.rows(batch, plan.write(released.reshape(len(batch), -1), None))
        yield len(batch), []
    secrets.SystemRandom().shuffle(moved)
    yield 0, moved


@pytest.mark.parametrize("before", [True, False])
def test_draws_from_a_seed_are_noticed_before_the_permutation_and_harmless_after_it(
    topic_run: Path, told_apart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """After it a row is found where the permutation leaves it in its place: 12 of 60 with a probability below 1 / 12!."""
    monkeypatch.setattr(random_draws, "fresh_uniform", seeded)
    monkeypatch.setattr(local_release, "shuffled_rows", written_before if before else local_release.shuffled_rows)
    found = placed(topic_run, 0, told_apart, tmp_path, ReleaseOptions(shuffle=True))
    assert found == 60 if before else found < 12


def test_candidates_are_refused_where_somebody_else_shuffles(topic_run: Path, numbered: Path, tmp_path: Path) -> None:
    decoding = DecodingConfig(strategy="sample", candidates=3)
    rewriter = Rewriter.from_pretrained(topic_run, mechanism=LearnedCodebook(epsilon=6.0), decoding=decoding)
    with pytest.raises(ConfigurationError, match=r"decoding\.candidates must be 1 for shuffled_records, got 3"):
        release_file(rewriter, str(numbered), str(tmp_path / "o.jsonl"), options=ReleaseOptions(shuffled_records=60))


def test_a_worker_of_a_cluster_gets_no_record_of_another_batch(rewriter: Rewriter, numbered: Path) -> None:
    options = ReleaseOptions(shuffle=True, labels="drop")
    _, planned = prepare_file(rewriter, str(numbered), str(numbered.with_name("o.jsonl")), options=options)
    plan = planned()
    worker = pickle.loads(pickle.dumps(plan.draw)).__self__
    batch: list[Record] = [{"text": f"fare {number}"} for number in range(5)]
    assert (list(worker.begun), len(list(plan.begun))) == ([], 60)
    (count, none), (last, rows) = worker.ordered_rows(iter([(batch, worker.draw(batch))]))
    assert (count, none, last, len(rows)) == (5, [], 0, 5)
