"""Data sets load by name or path; columns are found or missed loudly; batches cover every record once."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pytest
from pyarrow import parquet

from adept.data.corpus import Corpus, DataConfig, find_slots, hold_out, load, read_corpora, read_corpus
from adept.data.reading import ReadingOptions, number_records, read_records
from adept.errors import ConfigurationError, DataError
from adept.models.lightning import length_batches
from adept.release.records import CheckedRecords, Inputs, ReleaseOptions


def write(path: Path, *rows: str) -> None:
    path.write_text("\n".join(rows) + "\n", "utf-8")


def test_the_default_is_the_bundled_corpus_with_labels() -> None:
    splits = load(DataConfig(sizes=[50, 20, 30]))
    assert {name: len(corpus) for name, corpus in splits.items()} == {"train": 50, "validation": 20, "test": 30}
    assert splits["train"].labels is not None


def test_the_bundled_corpus_is_the_one_that_tables_were_measured_on() -> None:
    """Another file changes every figure that was measured on its text: measure again, then change this digest."""
    splits = load(DataConfig())
    assert [len(corpus) for corpus in splits.values()] == [6000, 600, 1000]
    assert len({label for corpus in splits.values() for label in corpus.labels or []}) == 18
    texts = [set(corpus.texts) for corpus in splits.values()]
    assert sum(map(len, texts)) == len(set().union(*texts))
    content = repr([(corpus.texts, corpus.labels) for corpus in splits.values()])
    assert hashlib.sha256(content.encode()).hexdigest()[:16] == "c65c0ff32126ff11"


@pytest.mark.parametrize("sizes", [[6001, 1, 1], [1, 1], [1, -1, 1]])
def test_the_bundled_corpus_is_cut_and_never_stretched(sizes: list[int]) -> None:
    with pytest.raises(ConfigurationError, match="at most"):
        load(DataConfig(sizes=sizes))


def test_a_directory_of_jsonl_files_stands_in_for_the_hub(tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        write(tmp_path / f"{split}.jsonl", f'{{"text": "{split} text", "intent": "a", "slots": "O O"}}')
    splits = load(DataConfig(name="atis", hub="some/where", path=str(tmp_path)))
    assert splits["test"] == Corpus(["test text"], ["a"])


def test_a_missing_validation_split_is_held_out_of_the_training_split(tmp_path: Path) -> None:
    write(tmp_path / "train.txt", *(f"line {i}" for i in range(50)))
    splits = load(DataConfig(name="files", path=str(tmp_path)))
    assert len(splits["validation"]) == 5
    assert sorted(splits["train"].texts + splits["validation"].texts) == sorted(f"line {i}" for i in range(50))
    assert splits["train"].labels is None


def test_an_unreachable_hub_is_one_clear_line_that_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataError, match=r"data\.path=DIR"):
        load(DataConfig(name="atis", hub="some/where"))


def test_hub_splits_and_columns_become_a_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = datasets.Dataset.from_dict({"text": [f"t{i}" for i in range(20)], "category": ["a"] * 20})
    monkeypatch.setattr(datasets, "load_dataset", lambda _: datasets.DatasetDict(train=rows, test=rows, other=rows))
    splits = load(DataConfig(name="snips", hub="some/where", hub_label_column="category"))
    assert set(splits) == {"train", "validation", "test"}
    assert splits["test"] == Corpus([f"t{i}" for i in range(20)], ["a"] * 20)
    assert len(splits["train"]) == 18


@pytest.mark.hub
@pytest.mark.usefixtures("reachable_hub")
@pytest.mark.parametrize(
    ("hub", "column", "label"),
    [("tuetschek/atis", "intent", "flight"), ("benayas/snips", "category", "PlayMusic")],  # conf/data
)
def test_data_sets_of_the_real_hub_become_three_labelled_splits(hub: str, column: str, label: str) -> None:
    splits = load(DataConfig(name=hub.split("/")[1], hub=hub, hub_label_column=column))
    assert set(splits) == {"train", "validation", "test"}
    assert all(corpus.labels is not None and label in corpus.labels for corpus in splits.values())
    assert all(isinstance(text, str) and text for corpus in splits.values() for text in corpus.texts)


@pytest.mark.parametrize(
    ("files", "message"),
    [({}, "no train"), ({"train.txt": "a", "train.csv": "text\na"}, "2 files"), ({"train.docx": "a"}, "no train")],
)
def test_a_directory_without_exactly_one_training_file_is_refused(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    for name, content in files.items():
        write(tmp_path / name, content)
    with pytest.raises(DataError, match=message):
        load(DataConfig(name="files", path=str(tmp_path)))


def test_files_without_a_path_and_a_path_that_is_no_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"data\.path"):
        load(DataConfig(name="files"))
    for name in ("nowhere", "a" * 300):
        with pytest.raises(DataError, match=r"data\.path"):
            load(DataConfig(name="files", path=str(tmp_path / name)))


def test_one_record_cannot_be_split(tmp_path: Path) -> None:
    write(tmp_path / "train.txt", "alone")
    with pytest.raises(DataError, match="at least 2 records"):
        load(DataConfig(name="files", path=str(tmp_path)))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"utterance": "secret"}', "no column named 'text'"),
        ('{"text": [7]}', "must hold strings"),
        ('{"text": null}', "must hold strings, got a missing value in record 2"),
        ('{"text": NaN}', "must hold strings, got a missing value in record 2"),
        ('{"text": {"0": "secret"}}', "got dict in record 2: give each text a record of its own"),
    ],
)
def test_a_missing_or_odd_text_column_is_named_with_the_record(tmp_path: Path, row: str, message: str) -> None:
    write(tmp_path / "a.jsonl", '{"text": "fine"}', row)
    with pytest.raises(DataError, match=message) as caught:
        read_corpus(str(tmp_path / "a.jsonl"))
    assert "record 2" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            '{"messages": [{"role": "user", "content": "secret"}]}',
            "'messages': correct text_column=, or write an object for each text if",
        ),
        (
            '{"version": 1, "nlu": {"examples": [{"text": "secret"}]}}',
            "'version', 'nlu': correct text_column=, or write an object for each text",
        ),
        ('{"id": [1], "query": "secret", "data": {"a": 1}}', "add text_column=query$"),
        (
            '{"text": "a"}\n{"files": [{"a": "secret"}]}',
            "in record 2; the column is 'files': correct text_column=, or write",
        ),
    ],
)
def test_texts_that_lie_deeper_in_a_record_are_answered_with_what_to_write(
    tmp_path: Path, row: str, message: str
) -> None:
    write(tmp_path / "a.jsonl", row)
    with pytest.raises(DataError, match=message) as caught:
        read_corpus(str(tmp_path / "a.jsonl"))
    assert "secret" not in str(caught.value)


def test_a_label_column_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"text": "fine", "label": "a"}')
    assert read_corpus(str(tmp_path / "a.jsonl")).labels is None
    assert read_corpus(str(tmp_path / "a.jsonl"), label_column="label").labels == ["a"]
    with pytest.raises(
        DataError, match="no column named 'topic' in record 1; the columns are 'text', 'label': add label_column=label"
    ):
        read_corpus(str(tmp_path / "a.jsonl"), label_column="topic")


def test_labels_that_are_not_as_many_as_the_texts_are_refused() -> None:
    with pytest.raises(DataError, match="labels must be as many as the texts, got 1 for 2: give each one"):
        Corpus(["a", "b"], ["x"])


def test_holding_out_parts_the_records_with_their_labels() -> None:
    corpus = Corpus([str(i) for i in range(100)], [str(i % 3) for i in range(100)])
    kept, held = hold_out(corpus, share=0.5, seed=1)
    assert sorted(kept.texts + held.texts) == sorted(corpus.texts)
    assert held.labels == [str(int(text) % 3) for text in held.texts]
    assert hold_out(corpus, share=0.5, seed=2)[1].texts != held.texts


def test_batches_hold_every_record_once_and_little_padding() -> None:
    lengths = [i % 37 + 1 for i in range(1000)]
    batches = length_batches(lengths, batch_size=16, seed=3)
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    padding = sum(max(lengths[i] for i in batch) * len(batch) - sum(lengths[i] for i in batch) for batch in batches)
    assert padding < 0.05 * sum(lengths)
    assert batches != length_batches(lengths, batch_size=16, seed=4)


def test_values_are_the_runs_that_tags_begin_and_go_on_with() -> None:
    texts = ["fly to new york  on may first", "from oslo rome", "yes"]
    tags = ["O O B-to I-to O B-month B-day", "O B-city B-city", "O"]
    assert find_slots(texts, tags) == [
        [("to", "new york"), ("month", "may"), ("day", "first")],
        [("city", "oslo"), ("city", "rome")],
        [],
    ]


def test_a_value_without_a_beginning_begins_where_its_name_does() -> None:
    assert find_slots(["a b c d e"], ["I-x I-x I-y O I-y"]) == [[("x", "a b"), ("y", "c"), ("y", "e")]]


@pytest.mark.parametrize("tags", ["O", "O B-x O", "O from", 7, None, ["O", "B-x"]])
def test_what_is_no_tag_for_each_word_is_no_slots_for_any_record(tags: object) -> None:
    assert find_slots(["a b", "c d"], ["O B-x", tags]) is None


def test_tags_without_a_value_are_no_slots() -> None:
    assert find_slots(["a b"], ["O O"]) is None
    assert find_slots([], []) is None


def test_classes_of_the_hub_are_their_names_and_a_line_says_where_they_stay_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    features = datasets.Features(text=datasets.Value("string"), intent=datasets.ClassLabel(names=["play", "stop"]))
    rows = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "intent": [1, 0, 1]}, features=features)
    monkeypatch.setattr(datasets, "load_dataset", lambda _: {"train": rows, "validation": rows})
    assert load(DataConfig(name="atis", hub="some/where"))["train"].labels == ["stop", "play", "stop"]
    cards = {
        "README.md": "dataset_info:\n  dtype:\n    class_label:\n",
        "dataset_infos.json": '{"_type": "ClassLabel"}',
    }
    for name, content in cards.items():
        (tmp_path / name / "data").mkdir(parents=True)
        (tmp_path / name / name).write_text(content)
        rows.to_csv(str(tmp_path / name / "data" / "train.csv"))
        assert load(DataConfig(path=str(tmp_path / name)))["validation"].labels in (["0"], ["1"])
        line = f"adept: {tmp_path / name / name} names classes, which is not read: if"
        assert [record.getMessage().startswith(line) for record in caplog.records] == [True]
        caplog.clear()


def test_slots_are_read_with_a_file_and_follow_their_records(tmp_path: Path) -> None:
    rows = [{"text": f"to city{i}", "intent": "x", "slots": "O B-to"} for i in range(20)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    splits = load(DataConfig(name="files", path=str(tmp_path)))
    for corpus in (*splits.values(), *hold_out(splits["train"], share=0.5, seed=0)):
        assert corpus.slots == [[("to", text.split()[1])] for text in corpus.texts]


def test_slots_of_the_hub_are_read_where_it_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"text": ["to oslo"] * 4, "intent": ["x"] * 4}
    for given, expected in (({**columns, "slots": ["O B-to"] * 4}, [[("to", "oslo")]] * 4), (columns, None)):
        rows = datasets.Dataset.from_dict(given)
        monkeypatch.setattr(datasets, "load_dataset", lambda _, rows=rows: {"train": rows, "validation": rows})
        assert load(DataConfig(name="atis", hub="some/where"))["train"].slots == expected


@pytest.mark.parametrize("name", ["intent", "Intent", " INTENT"])
@pytest.mark.parametrize("first", ['{"text": "a"}', '{"text": "a", "other": {"intent": "x"}}'])
def test_labels_of_a_file_whose_first_record_lacks_one_are_refused_and_never_lost(
    tmp_path: Path, first: str, name: str
) -> None:
    write(tmp_path / "train.jsonl", first, f'{{"text": "b", "{name}": "y"}}')
    with pytest.raises(DataError, match=f"record 2 has a label in column '{name}', which record 1 lacks: give each"):
        read_corpus(str(tmp_path / "train.jsonl"))
    with pytest.raises(DataError, match="which record 1 lacks"):
        load(DataConfig(path=str(tmp_path)))
    assert read_corpus(str(tmp_path / "train.jsonl"), labelled=False).labels is None


def test_a_label_that_a_later_record_lacks_is_named_by_its_number(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"text": "b", "intent": "y"}', '{"text": "a"}')
    with pytest.raises(DataError, match="record 2 has no label in column 'intent': give such records one"):
        read_corpus(str(tmp_path / "a.jsonl"))


def lay_out(directory: Path, *names: str) -> dict[str, int]:
    """Write 10, 20, ... records into files with such names, and return the sizes of the loaded splits."""
    for number, name in enumerate(names, start=1):
        place = directory / name
        place.parent.mkdir(parents=True, exist_ok=True)
        texts = [f"{name} {i}" for i in range(10 * number)]
        if name.endswith("parquet"):
            parquet.write_table(pyarrow.table({"text": texts}), place)
        else:
            write(place, *(["text", *texts] if name.endswith("csv") else texts))
    return {split: len(corpus) for split, corpus in load(DataConfig(name="files", path=str(directory))).items()}


LAYOUTS: list[tuple[tuple[str, ...], dict[str, int]]] = [
    *((("train.csv", f"{name}.csv"), {"train": 10, "validation": 20}) for name in ("dev", "val", "valid", "Validation")),
    (("training.txt", "dev.csv", "evaluation.txt"), {"train": 10, "validation": 20, "test": 30}),
    (("train-00000-of-00002.parquet", "train-00001-of-00002.parquet", "dev.csv"), {"train": 30, "validation": 30}),
    (("train.csv", "validation-00000-of-00001.parquet"), {"train": 10, "validation": 20}),
    (("train-00000-of-00001-a09b74b3ef9c3b56.parquet", "dev.csv"), {"train": 10, "validation": 20}),
    (("train_1.csv", "train_2.csv", "dev.part0.csv"), {"train": 30, "validation": 30}),
    (("train/part-0.csv", "train/part-1.csv", "valid/a.csv", "train/_SUCCESS"), {"train": 30, "validation": 30}),
    (("train.txt/part-0", "train.txt/part-1", "dev.csv"), {"train": 30, "validation": 30}),
    (("data/train.csv", "data/dev.csv", "README.md"), {"train": 10, "validation": 20}),
    (("snips_train.csv", "snips_dev.csv", "README_test.md"), {"train": 10, "validation": 20}),
    (("en.train.txt", "en.test.txt", "de.txt", "dev.csv"), {"train": 10, "test": 20, "validation": 40}),
    (("my-train-00000-of-00002.csv", "my-train-00001-of-00002.csv", "val.csv"), {"train": 30, "validation": 30}),
    (("split=train/0.csv", "split=validation/0.csv"), {"train": 10, "validation": 20}),
    (("train-part/a.csv", "train-part/b.csv", "eval 2.csv", "dev.csv"), {"train": 30, "test": 30, "validation": 40}),
    (("train.csv", "dev.csv", "my_train.csv", "eval_results/a.txt"), {"train": 10, "validation": 20}),
    (("my-train-data/train.csv", "my-train-data/valid.csv"), {"train": 10, "validation": 20}),
    (("train.csv", "train.csv.privacy.json", "train.csv.card.md", "dev.csv"), {"train": 10, "validation": 40}),
    (("my_train.csv", "my_train.csv.privacy.json", "my_dev.csv"), {"train": 10, "validation": 30}),
]  # fmt: skip


@pytest.mark.parametrize(("names", "sizes"), LAYOUTS)
def test_splits_are_found_as_the_hub_and_colleagues_lay_them_out(
    tmp_path: Path, names: tuple[str, ...], sizes: dict[str, int]
) -> None:
    assert lay_out(tmp_path, *names) == sizes


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("train.csv", "dev.csv", "val.txt"), "for the split 'validation', dev.csv and val.txt: keep one"),
        (("train.csv", "train.txt"), "for the split 'train', train.csv and train.txt: keep one"),
        (("train.csv", "train/a.csv"), "train/ and train.csv: keep one"),
        (("train-1.csv", "train.csv"), r"train-\*.csv and train.csv: keep one"),
        (("train-00000-of-00001.csv", "train-00000-of-00002.csv"), "-of-00001.csv and .*-of-00002.csv: keep one"),
        (
            ("train-00001-of-00003.csv",),
            "1 of the 3 parts of train.csv, without train-00000-of-00003.csv, train-00002-of",
        ),
        (("train/data-1-of-2.csv",), "1 of the 2 parts of data.csv, without data-0-of-2.csv: add what is missing"),
        (("my_train.csv", "your_train.csv"), "my_train.csv and your_train.csv: keep one"),
        (
            ("train_dev.csv", "untrained.csv", "retrain.csv"),
            "no train.*; it holds retrain.csv, train_dev.csv, untrained",
        ),
        (("my_train-0-of-2.csv",), "1 of the 2 parts of my_train.csv, without my_train-1-of-2.csv"),
        (("train/a/b.csv",), r"holds directories \('a'\)"),
    ],
)
def test_two_files_for_a_split_and_missing_parts_are_named(
    tmp_path: Path, names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        lay_out(tmp_path, *names)


def test_files_that_are_no_split_are_named_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert lay_out(tmp_path, "train.csv", "unlabelled.csv", "dev.docx", "README.md") == {"train": 9, "validation": 1}
    assert [record.getMessage() for record in caplog.records] == [
        f"adept: in {tmp_path}, these are not read: dev.docx, unlabelled.csv"
    ]


def test_a_split_whose_name_stands_apart_is_named_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert lay_out(tmp_path, "csv-train.csv", "csv-validation.csv") == {"train": 10, "validation": 20}
    assert [record.getMessage() for record in caplog.records] == [
        f"adept: in {tmp_path}, these are read: csv-train.csv as train; csv-validation.csv as validation"
    ]


@pytest.mark.parametrize("shards", [1, 3])
def test_data_sets_that_were_saved_to_disk_are_loaded(tmp_path: Path, shards: int) -> None:
    datasets.disable_progress_bars()
    rows = datasets.Dataset.from_dict({"text": [str(i) for i in range(30)], "intent": [i % 2 for i in range(30)]})
    rows.save_to_disk(str(tmp_path / "one"), num_shards=shards)
    datasets.DatasetDict(train=rows, validation=rows, test=rows).save_to_disk(str(tmp_path / "splits"))
    alone = load(DataConfig(name="files", path=str(tmp_path / "one")))
    assert {split: len(corpus) for split, corpus in alone.items()} == {"train": 27, "validation": 3}
    splits = load(DataConfig(name="files", path=str(tmp_path / "splits")))
    assert splits["test"] == Corpus(rows["text"], [str(i % 2) for i in range(30)])
    assert len(splits["train"]) == len(splits["validation"]) == 30


CLASSES = datasets.ClassLabel(names=["music", "alarm"])


def class_labels(numbers: list[Any]) -> datasets.Dataset:
    datasets.disable_progress_bars()
    features = datasets.Features(text=datasets.Value("string"), intent=CLASSES)
    return datasets.Dataset.from_dict({"text": ["play"] * len(numbers), "intent": numbers}, features=features)


def write_classes(place: Path, kind: str, rows: datasets.Dataset) -> str:
    """Write a data set as ``datasets`` writes it, or as Arrow with the same schema."""
    location = str(place / f"a.{kind}")
    if kind == "parquet":
        rows.to_parquet(location)
    elif kind == "saved":
        rows.save_to_disk(location)
    else:
        with (pyarrow.ipc.new_file if kind == "ipc" else pyarrow.ipc.new_stream)(location, rows.data.schema) as writer:
            writer.write_table(rows.data.table)
    return location


@pytest.mark.parametrize("kind", ["parquet", "saved", "ipc", "arrow"])
@pytest.mark.parametrize("tolerant", [False, True])
def test_class_labels_in_files_of_the_hub_are_the_names_of_their_classes(
    tmp_path: Path, kind: str, *, tolerant: bool
) -> None:
    location = write_classes(tmp_path, kind, class_labels([0, 1, -1, None]))
    read = list(read_records(location, tolerant=tolerant, columns=["text", "intent"]))
    assert [record["intent"] for record in read] == ["music", "alarm", None, None]
    with pytest.raises(DataError, match="record 3 has no label"):
        read_corpus(location)


@pytest.mark.parametrize(
    "described", [b"[", b"[]", b'{"info": {"features": {"intent": {"_type": "ClassLabel", "names": [1]}}}}', b"\xff"]
)
def test_numbers_of_a_schema_that_describes_no_classes_stay_numbers(tmp_path: Path, described: bytes) -> None:
    table = pyarrow.table({"text": ["a", "b"], "intent": pyarrow.array([0, 2**64 - 1], "uint64")})
    parquet.write_table(table.replace_schema_metadata({b"huggingface": described}), tmp_path / "a.parquet")
    assert read_corpus(str(tmp_path / "a.parquet")).labels == ["0", str(2**64 - 1)]
    good = b'{"info": {"features": {"intent": {"_type": "ClassLabel", "names": ["x"]}}}}'
    parquet.write_table(table.replace_schema_metadata({b"huggingface": good}), tmp_path / "a.parquet")
    read = list(read_records(str(tmp_path / "a.parquet"), tolerant=True))
    assert [record["intent"] for record in read] == ["x", None]  # no number damages another record


@pytest.mark.parametrize("rows", ['{"text": "stop"}', '{"text": null, "intent": "a"}'])
def test_a_record_of_several_files_is_named_by_its_own_file(tmp_path: Path, rows: str) -> None:
    for name, lines in (("a", ['{"text": "play", "intent": "a"}'] * 3), ("b", [rows])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    place = r"record 1 of .*b\.jsonl"
    with pytest.raises(DataError, match=place):
        read_corpus(str(tmp_path))
    files = {str(tmp_path / f"{name}.jsonl"): {"label_column": "intent"} for name in "ab"}
    with pytest.raises(DataError, match=r"b\.jsonl"):
        read_corpora(files, ReadingOptions())
    release = Inputs.of(str(tmp_path), ReadingOptions())
    checked = CheckedRecords(release.records(), "intent", ReleaseOptions(), inputs=release)
    with pytest.raises(DataError, match=place):
        list(checked)


def test_what_map_wrote_beside_a_saved_data_set_is_not_read(tmp_path: Path) -> None:
    class_labels([0, 1]).save_to_disk(str(tmp_path / "one"))
    datasets.load_from_disk(str(tmp_path / "one")).map(lambda row: {"text": row["text"] * 2})
    assert len(list((tmp_path / "one").glob("cache-*.arrow"))) == 1
    assert read_corpus(str(tmp_path / "one")) == Corpus(["play", "play"], ["music", "alarm"])


def test_folders_of_which_none_is_chosen_are_advised(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"it holds de, en: put one there, or give data\.path=.*/de"):
        lay_out(tmp_path, "en/train.csv", "de/train.csv")
    (tmp_path / "more" / "a").mkdir(parents=True)
    (tmp_path / "more" / "b.csv").touch()
    with pytest.raises(DataError, match=r"it holds a, b\.csv: put one there$"):  # a has no train.<ext> either
        load(DataConfig(name="files", path=str(tmp_path / "more")))


@pytest.mark.parametrize("content", ['{"text": ["a", "b"]}', '{"text": {"0": "a", "1": "b"}}'])
def test_a_json_file_of_columns_is_answered_with_records(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DataError, match="in record 1: write an object for each record"):
        read_corpus(str(tmp_path / "a.json"))


def test_the_number_of_a_record_reads_no_pipe_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    [(number, _)] = number_records([{}], [str(tmp_path / "a.jsonl"), "b.jsonl"], ReadingOptions())
    assert f"record {number}" == "record 1"
    [(number, _)] = number_records([{}], [str(tmp_path / "a.jsonl")], ReadingOptions(), named=True)
    assert f"record {number}" == f"record 1 of {tmp_path / 'a.jsonl'}"
