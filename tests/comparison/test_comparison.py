"""A comparison holds its references, spends nothing twice, and lets the rewriter see only what the protocol says."""

import csv
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import mean
from types import SimpleNamespace

import forked
import numpy as np
import pytest
from comparing import compared, unaudited
from forked import Forked
from tiny import TINY_MODEL, TINY_SIZES, Run
from torch import Tensor

from adept.comparison import comparison as comparison_run
from adept.comparison.comparison import Comparison
from adept.comparison.config import REFERENCES, CompareConfig
from adept.comparison.results import ResultRow, pack_hits, unpack_hits
from adept.data import writing
from adept.data.corpus import Corpus, DataConfig, load
from adept.errors import ConfigurationError, DataError
from adept.evaluation import classifiers, metrics
from adept.evaluation.classifiers import Evaluation
from adept.models import training as model_training
from adept.models.config import DecodingConfig, ModelConfig, TrainerConfig, TrainingConfig
from adept.models.label_names import label_by_names
from adept.report.page import write
from adept.report.table import MEASURES
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

COLUMNS = (
    "data protocol mechanism claimed_epsilon epsilon delta dim seed classifier labels samples accuracy macro_f1 "
    "records_per_second"
)


SIZES = [180, 30, 40]  # halves below a hundred, where a classifier's strength is not tuned


def config(directory: Path, **changes: object) -> CompareConfig:
    options: dict[str, object] = {
        "data": DataConfig(sizes=SIZES),
        "mechanisms": ["original", "l1"],
        "epsilons": [64.0],
        "seeds": [0],
        "model": ModelConfig(**TINY_MODEL),  # type: ignore[arg-type]
        "training": TrainingConfig(batch_size=24),  # as many steps as a decoder takes to write something
        "trainer": TrainerConfig(max_epochs=1),
        "output_dir": str(directory),
        **changes,
    }
    return CompareConfig(**options)  # type: ignore[arg-type]


def kept_texts(directory: Path, name: str) -> dict[str, list[str]]:
    """Return the stored texts of a decoder."""
    return dict(json.loads((directory / "rewrites" / f"{name}-seed0.json").read_text()))


@pytest.fixture(scope="module", autouse=True)
def _few_resamples() -> Iterator[None]:
    """Intervals are not looked at here, and their thousand resamples would take a tenth of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classifiers, "bootstrap", partial(metrics.bootstrap, resamples=40))
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ResultRow]]:
    directory = tmp_path_factory.mktemp("comparison") / "run"
    return directory, compared(config(directory))


def test_every_comparison_holds_the_text_itself_and_the_references_of_each_model(
    finished: tuple[Path, list[ResultRow]],
) -> None:
    _, rows = finished
    assert [(row.mechanism, row.clip) for row in rows] == [
        ("none", None),
        ("names", None),
        ("names_directly", None),
        ("identity", "l2"),
        ("random", "l2"),
        ("original", "l2"),
        ("identity", "l1"),
        ("random", "l1"),
        ("l1", "l1"),
    ]
    original = rows[5]
    assert (original.claimed_epsilon, original.epsilon) == (64.0, pytest.approx(64 * 8**0.5))
    assert (rows[4].claimed_epsilon, rows[4].epsilon, rows[3].epsilon) == (None, 0.0, float("inf"))
    speeds = {row.mechanism: row.records_per_second or 0 for row in rows if row.clip == "l1"}
    assert speeds["identity"] > speeds["random"] / 10  # training, which its first row asks for, is not timed
    assert [row.holds for row in rows] == [None, None, None, True, True, False, True, True, True]


def test_results_have_the_columns_of_the_design_and_the_numbers_of_the_rows(
    finished: tuple[Path, list[ResultRow]],
) -> None:
    directory, rows = finished
    table = list(csv.DictReader((directory / "results.csv").read_text().splitlines()))
    assert set(table[0]) >= set(COLUMNS.split(" "))
    assert [float(line["accuracy"]) for line in table] == [row.accuracy for row in rows]
    assert table[3]["epsilon"] == "inf"


def test_a_second_run_does_only_what_is_new(
    finished: tuple[Path, list[ResultRow]], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, rows = finished
    released: list[tuple[str, float]] = []
    draw = Rewriter.draw

    def counted(rewriter: Rewriter, encoded: Tensor, labels: list[str] | None) -> object:
        released.append((rewriter.mechanism.name, rewriter.mechanism.epsilon))
        return draw(rewriter, encoded, labels)

    monkeypatch.setattr(Rewriter, "draw", counted)
    monkeypatch.setattr(model_training, "train_model", lambda *_, **__: pytest.fail("a model was trained again"))
    assert compared(config(directory)) == rows
    assert released == []
    grown = compared(config(directory, epsilons=[64.0, 128.0], mechanisms=["original", "l1", "gaussian"]))
    assert released == [("original", 128.0), ("gaussian", 64.0), ("gaussian", 128.0), ("l1", 128.0)]
    assert all(row in grown for row in rows)


def test_a_model_that_exists_is_scored_and_nothing_is_trained(
    topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_training, "train_model", lambda *_, **__: pytest.fail("a model was trained"))
    data = DataConfig(sizes=[400, 60, 300])
    options = {"mechanisms": ["learned_codebook"], "epsilons": [64.0], "model_dir": str(topic_run), "data": data}
    rows = compared(config(tmp_path / "run", decoding=DecodingConfig(strategy="nearest"), **options))
    macro_f1 = {row.mechanism: row.macro_f1 for row in rows}
    assert macro_f1["learned_codebook"] > macro_f1["random"]
    assert not list((tmp_path / "run").rglob("*.ckpt"))


def test_progress_is_told_row_by_row(finished: tuple[Path, list[ResultRow]]) -> None:
    directory, rows = finished
    with unaudited():
        comparison = Comparison(config(directory))
        told = list(comparison.run())
    assert told == list(range(1, len(comparison.schedule.recipes) + 1)) == list(range(1, len(rows) + 1))


def test_an_interrupted_comparison_leaves_no_half_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = comparison_run.evaluate

    def interrupted(train: Corpus, test: Corpus, **options: object) -> object:
        if len(list((tmp_path / "run" / "rows").glob("*"))) == 4:
            raise KeyboardInterrupt
        return evaluate(train, test, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(comparison_run, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compared(config(tmp_path / "run", mechanisms=["original"]))
    kept = {path.name: path.read_text() for path in (tmp_path / "run" / "rewrites").iterdir()}
    monkeypatch.setattr(comparison_run, "evaluate", evaluate)
    assert len(compared(config(tmp_path / "run", mechanisms=["original"]))) == 6
    assert all((tmp_path / "run" / "rewrites" / name).read_text() == text for name, text in kept.items())
    assert not list((tmp_path / "run").rglob("*.partial"))


def test_a_comparison_that_is_killed_goes_on_and_releases_nothing_again(tmp_path: Path) -> None:
    """A forked process dies at a step that puts something on the disk, three times at ever later ones."""

    def die(steps: int) -> object:
        left, publish = [steps], writing.publish

        def dying(partial: Path, final: Path, **options: bool) -> None:
            left[0] -= final.suffix == ".json"
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            publish(partial, final, **options)

        writing.publish = dying
        return compared(config(tmp_path / "run", mechanisms=["original"]))

    kept: dict[Path, bytes] = {}
    for steps in (2, 4, 5):
        killed = Forked(program=partial(die, steps), stderr=forked.PIPE)
        killed.communicate()
        assert killed.returncode == -signal.SIGKILL
        assert all(path.read_bytes() == content for path, content in kept.items())
        written = [*tmp_path.glob("run/rewrites/*"), *tmp_path.glob("run/rows/*")]
        kept = {path: path.read_bytes() for path in written if path.suffix != ".partial"}
    assert len(compared(config(tmp_path / "run", mechanisms=["original"]))) == 6
    assert len(kept) > 3
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert not list((tmp_path / "run").rglob("*.partial"))


def test_another_comparison_is_not_mixed_in(finished: tuple[Path, list[ResultRow]], tmp_path: Path) -> None:
    directory, _ = finished
    with pytest.raises(DataError, match="another protocol"):
        compared(config(directory, protocol="paper"))
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="holds no comparison"):
        compared(config(tmp_path))


@pytest.mark.parametrize("protocol", ["disjoint", "paper"])
def test_the_rewriter_sees_what_the_protocol_says_and_never_a_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    seen: list[Corpus] = []
    train_model, rewrite = model_training.train_model, Rewriter.rewrite_pairs
    private: list[str] = []
    monkeypatch.setattr(
        model_training, "train_model", lambda t, v, s, **k: (seen.extend([t, v]), train_model(t, v, s, **k))[1]
    )

    def seen_by(rewriter: Rewriter, texts: list[str], labels: object = None, **options: int) -> object:
        private.extend(texts)
        return rewrite(rewriter, texts, **options)

    monkeypatch.setattr(Rewriter, "rewrite_pairs", seen_by)
    data, training = DataConfig(sizes=TINY_SIZES), TrainingConfig()
    rows = compared(config(tmp_path / "run", mechanisms=["original"], protocol=protocol, data=data, training=training))
    assert next(row.holds for row in rows if row.mechanism == "random") is (protocol == "disjoint")
    whole = load(data)["train"].texts
    assert all(corpus.labels is None for corpus in seen)
    rewritten = private[: len(private) // 3]  # identity, random and the original each release every record once
    assert private == rewritten * 3
    if protocol == "paper":
        assert seen[0].texts == rewritten == whole
    else:
        assert sorted(seen[0].texts + rewritten) == sorted(whole)
        assert len(seen[0]) == len(rewritten)


@pytest.mark.slow
def test_several_processes_give_the_rows_of_one(finished: tuple[Path, list[ResultRow]], tmp_path: Path) -> None:
    with unaudited():
        comparison = Comparison(config(tmp_path / "run", processes=2))
        told = list(comparison.run())
        rows = comparison.collect().rows
    assert [(row.mechanism, row.clip) for row in rows] == [(row.mechanism, row.clip) for row in finished[1]]
    same = [place for place, row in enumerate(rows) if row.mechanism in ("none", "identity")]
    assert [rows[i].accuracy for i in same] == [finished[1][i].accuracy for i in same]
    assert told == sorted(told)
    assert told[-1] == len(rows)


def test_labels_are_drawn_once_before_several_processes_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were they drawn where they are first read, two processes would draw two releases of each."""
    asked = config(tmp_path / "run", processes=2, labels="randomized_response", label_epsilon=8.0)

    def called(jobs: object, *, processes: int) -> object:
        assert (tmp_path / "run" / "labels" / "8.0-seed0.json").exists()
        raise InterruptedError

    monkeypatch.setattr(comparison_run, "in_processes", called)
    with pytest.raises(InterruptedError):
        compared(asked)


def test_labelled_examples_of_an_adapted_model_train_a_row_without_a_record(
    topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No record has these labels, so a row that learned from a record would be accurate sometimes."""
    model, tokenizer = load_model(topic_run)
    monkeypatch.setattr(comparison_run, "load_model", lambda *name: (model, tokenizer) if name else load_model())
    changes = {"mechanisms": ["learned_codebook"], "model_dir": str(topic_run)}
    plain = [row.mechanism for row in compared(config(tmp_path / "plain", **changes))]
    model.label_examples = {"Taxis": ["what does a taxi cost", "is there a limousine"], "Meals": ["is lunch served"]}
    rows = {row.mechanism: row for row in compared(config(tmp_path / "run", **changes))}
    assert (rows["examples"].epsilon, rows["examples"].train_records, rows["examples"].accuracy) == (0.0, 3, 0.0)
    assert [name for name in rows if name != "examples"] == plain
    with unaudited():
        results = Comparison(config(tmp_path / "run", **changes)).collect()
    page = write(results).path.read_text()
    assert page.count("labelled public examples alone") == 3  # figure, table and glossary


def test_copies_of_a_record_keep_its_label(tmp_path: Path) -> None:
    rows = compared(config(tmp_path / "run", mechanisms=["original"], samples=4))
    assert {row.mechanism: row.train_records for row in rows} == {
        "none": 90,
        "names": 90,
        "names_directly": 0,
        "identity": 180,
        "random": 360,
        "original": 360,
    }
    assert [row.samples for row in rows] == [1, 1, 1, 2, 4, 4]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"mechanisms": ["magic"]}, "mechanisms"),
        ({"mechanisms": []}, "mechanisms"),
        ({"epsilons": [0.0]}, "epsilon"),
        ({"seeds": []}, "seeds"),
        ({"protocol": "easy"}, "protocol"),
        ({"classifiers": ["bert"]}, "classifiers"),
        ({"samples": 0}, "samples"),
        ({"processes": 0}, "processes"),
    ],
)
def test_impossible_comparisons_are_refused(tmp_path: Path, changes: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigurationError, match=field):
        config(tmp_path, **changes)


def test_the_command_writes_a_table_and_a_page(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(violated=False, certified_epsilon=0.125, checks=[])
    monkeypatch.setattr("adept.audit.run", lambda *_, **__: found)  # audits take longer than all else here
    done = adept_here(
        "compare", f"output_dir={tmp_path}/run", "data.sizes=[180,20,40]", "epsilons=[8,64]", "seeds=[0]", "trainer.max_epochs=1",
        *(f"model.{name}={value}" for name, value in TINY_MODEL.items()),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = list(csv.DictReader((tmp_path / "run" / "results.csv").read_text().splitlines()))
    shown = f"{mean(float(line['accuracy']) for line in table if line['mechanism'] == 'none'):.3f}"
    page = (tmp_path / "run" / "report.html").read_text()
    assert shown in done.stdout
    assert f"<td>{shown}</td>" in page
    assert "certified epsilon at least 0.125" in page
    assert json.loads((tmp_path / "run" / "comparison.json").read_text())["protocol"] == "disjoint"
    assert (tmp_path / "run" / "figures" / "comparison.svg").read_text().lstrip().startswith("<?xml")


@pytest.fixture(scope="module")
def with_baselines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ResultRow]]:
    directory = tmp_path_factory.mktemp("baselines") / "run"
    changes = {"mechanisms": ["learned_codebook", "sqrt_n"], "samples": 2, "baselines": True}
    return directory, compared(config(directory, **changes))


def test_baselines_stand_beside_every_mechanism(with_baselines: tuple[Path, list[ResultRow]]) -> None:
    _, rows = with_baselines
    assert {(row.mechanism, row.decoder, row.content) for row in rows} == {
        ("none", None, None),
        ("names", None, None),
        ("names_directly", None, None),
        ("public_only", None, None),
        *((name, "lstm", kind) for name in REFERENCES for kind in ("none", "topics")),
        ("sqrt_n", "lstm", "none"),
        ("learned_codebook", "lstm", "topics"),
    }


def test_the_quality_of_rewrites_is_measured(with_baselines: tuple[Path, list[ResultRow]]) -> None:
    _, rows = with_baselines
    assert all(0 <= (row.words or 0) <= 1 and (row.perplexity or 2) > 1 for row in rows)
    assert next(row for row in rows if row.mechanism == "none").words is None


def test_rows_that_were_kept_without_quality_get_it_when_it_is_asked_for(tmp_path: Path) -> None:
    options: dict[str, object] = {"mechanisms": ["sqrt_n"], "data": DataConfig(sizes=[120, 20, 40])}
    before = compared(config(tmp_path / "run", **options))
    rows = compared(config(tmp_path / "run", baselines=True, **options))
    assert all(row.words is None for row in before)
    written = {row.mechanism: row for row in rows if row.decoder == "lstm"}
    for row in before[3:]:
        kept = {name: getattr(row, name) for name in asdict(row) if getattr(row, name) is not None}
        assert kept.items() <= asdict(written[row.mechanism]).items()
        measured = {name for name in MEASURES if getattr(written[row.mechanism], name) is not None}
        assert measured == set(MEASURES) - {"slots", "slots_other"}  # the bundled data have none


def test_randomised_labels_take_their_share_of_the_budget_and_are_drawn_once(tmp_path: Path) -> None:
    changes = {"mechanisms": ["sqrt_n"], "labels": "randomized_response", "label_epsilon": 24.0}
    rows = compared(config(tmp_path / "run", **changes))
    ours = next(row for row in rows if row.mechanism == "sqrt_n")
    assert (ours.claimed_epsilon, ours.epsilon, ours.label_epsilon, ours.labels) == (
        64.0,
        64.0,
        24.0,
        "randomized_response",
    )
    assert next(row.epsilon for row in rows if row.mechanism == "random") == 24.0
    assert len(list((tmp_path / "run" / "labels").iterdir())) == 1


def test_labels_of_one_symbol_come_with_their_release_whatever_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy: list[bool] = []

    def noted(evaluate: Callable[..., Evaluation]) -> Callable[..., Evaluation]:
        def evaluated(*args: object, noisy_labels: bool = False, **options: object) -> Evaluation:
            noisy.append(noisy_labels)
            return evaluate(*args, noisy_labels=noisy_labels, **options)

        return evaluated

    monkeypatch.setattr(comparison_run, "evaluate", noted(comparison_run.evaluate))
    changes = {"mechanisms": ["learned_codebook", "description"], "labels": "joint_response", "epsilons": [3.0]}
    rows = compared(config(tmp_path / "run", baselines=True, samples=2, data=DataConfig(sizes=[80, 20, 40]), **changes))
    ours = [row for row in rows if row.mechanism in ("learned_codebook", "description")]
    assert {row.decoder for row in ours} == {"lstm", "codec"}
    trained = [row for row in rows if row.mechanism != "names_directly"]
    assert noisy == [row.labels == "joint_response" for row in trained]
    assert {(row.claimed_epsilon, row.epsilon, row.label_epsilon, row.labels) for row in ours} == {
        (3.0, 3.0, None, "joint_response")
    }
    assert {row.labels for row in rows if row not in ours} == {"copy"}
    own = load(DataConfig(sizes=[80, 20, 40]))["train"].labels or []
    texts = kept_texts(tmp_path / "run", "learned_codebook-3.0-sphere-topics-lstm")
    assert texts["labels"][::2] == texts["labels"][1::2]
    reference = kept_texts(tmp_path / "run", "random-sphere-topics-lstm")["labels"]
    assert texts["labels"] != reference
    assert set(texts["labels"]) <= set(own)


def test_names_of_private_labels_are_equally_frequent(tmp_path: Path) -> None:
    """The label set is public, but not how often each label occurs."""
    changes = {"mechanisms": ["sqrt_n"], "labels": "randomized_response", "label_epsilon": 24.0}
    private, copied = (
        next(Comparison(config(tmp_path / name, **own)).trials()) for name, own in (("a", changes), ("b", {}))
    )
    assert comparison_run._copy_or_cycle_labels(copied) == copied.private.labels
    counts = Counter(comparison_run._copy_or_cycle_labels(private))
    assert set(counts) == set(private.label_set)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_model_is_trained_without_the_public_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Corpus] = []

    def stopped(train: Corpus, *_: object, **__: object) -> None:
        seen.append(train)
        raise KeyboardInterrupt

    monkeypatch.setattr(model_training, "train_model", stopped)
    with pytest.raises(KeyboardInterrupt):
        compared(config(tmp_path / "run", mechanisms=["learned_codebook"]))
    assert [corpus.labels is None for corpus in seen] == [True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": "randomized_response"}, "label_epsilon must be given"),
        ({"label_epsilon": 2.0}, "label_epsilon must be given"),
        (
            {"labels": "joint_response"},
            "mechanism must be learned_codebook or description for labels=joint_response, got orig",
        ),
        ({"labels": "randomized_response", "label_epsilon": 64.0}, "below every epsilon"),
        ({"labels": "drop"}, "labels must be one of"),
    ],
)
def test_impossible_label_budgets_are_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        config(tmp_path, **changes)


SPLIT = "text,intent\nplay a song,music\nwake me,alarm\n"


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("text,intent\nrain,weather\n", "the train split and the test split have no label in common"),
        ("text,category\nrain,music\n", "the test split must have labels: rename its column of labels"),
        ("utterance,intent\nrain,music\n", "in test, but in train: rename its column 'utterance'"),
        (None, "labelled test split"),
    ],
)
def test_splits_that_do_not_fit_are_refused_before_a_directory_is_made(
    tmp_path: Path, test: str | None, message: str
) -> None:
    for name, content in (("train", SPLIT), ("validation", SPLIT), ("test", test)):
        if content:
            (tmp_path / f"{name}.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        Comparison(config(tmp_path / "run", data=DataConfig(name="files", path=str(tmp_path))))
    assert not (tmp_path / "run").exists()


def test_a_comparison_counts_labels_that_training_lacks_and_texts_that_it_holds(tmp_path: Path) -> None:
    test = "text,intent\nrain,weather\nWake  me,alarm\nsing,music\n"
    for name, content in (("train", SPLIT), ("validation", SPLIT), ("test", test)):
        (tmp_path / f"{name}.csv").write_text(content)
    assert Comparison(config(tmp_path / "run", data=DataConfig(name="files", path=str(tmp_path)))).notes == [
        "1 of 3 records of the test split have labels that the train split lacks ('weather')",
        "1 of 3 texts of the test split also occur in the train split, apart from case and spaces",
    ]


def test_names_are_compared_by_the_sentence_encoder_and_hits_are_kept(finished: tuple[Path, list[ResultRow]]) -> None:
    directory, rows = finished
    splits = Comparison(config(directory)).splits
    named = label_by_names(sorted(set(splits["train"].labels or [])), splits["test"].texts)
    right = [a == b for a, b in zip(named or [], splits["test"].labels or [], strict=True)]
    by_name = {row.mechanism: row for row in rows}
    direct = by_name["names_directly"]
    assert (direct.accuracy, direct.hits) == (sum(right) / len(right), pack_hits(np.array(right)))
    for row in rows:
        assert unpack_hits(row.hits, row.test_records).mean() == row.accuracy
    original = by_name["none"]
    assert unpack_hits(original.majority_hits, original.test_records).mean() == original.majority_accuracy
    assert "hits" not in (directory / "results.csv").read_text().splitlines()[0]
