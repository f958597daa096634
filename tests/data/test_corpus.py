"""Data sets load by name or path; columns are found or missed loudly; batches cover every record once."""

import hashlib
import json
from pathlib import Path

import datasets
import pytest

from adept.data.corpus import Corpus, DataConfig, find_slots, hold_out, load, read_corpus, samples_of
from adept.errors import ConfigurationError, DataError
from adept.models.training import length_batches


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
        ('{"text": 7}', "must hold strings"),
        ('{"text": null}', "must hold strings"),
    ],
)
def test_a_missing_or_odd_text_column_is_named_with_the_record(tmp_path: Path, row: str, message: str) -> None:
    write(tmp_path / "a.jsonl", '{"text": "fine"}', row)
    with pytest.raises(DataError, match=message) as caught:
        read_corpus(str(tmp_path / "a.jsonl"))
    assert "record 2" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_label_column_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"text": "fine", "label": "a"}')
    assert read_corpus(str(tmp_path / "a.jsonl")).labels is None
    assert read_corpus(str(tmp_path / "a.jsonl"), label_column="label").labels == ["a"]
    with pytest.raises(
        DataError, match="no column named 'topic' in record 1; the columns are 'text', 'label': add label_column=label"
    ):
        read_corpus(str(tmp_path / "a.jsonl"), label_column="topic")


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


@pytest.mark.parametrize(
    ("rows", "samples"),
    [([{}] * 3, 1), ([{"sample": i % 4} for i in range(8)], 4), ([{"sample": "0"}] * 3, 1), ([{"sample": None}], 1)],
)
def test_rows_of_one_record_are_known_by_their_sample_column(
    tmp_path: Path, rows: list[dict[str, object]], samples: int
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": "a", **row}) + "\n" for row in rows))
    assert samples_of(str(path)) == samples


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


@pytest.mark.parametrize("first", ['{"text": "a"}', '{"text": "a", "other": {"intent": "x"}}'])
def test_labels_of_a_file_whose_first_record_lacks_one_are_refused_and_never_lost(tmp_path: Path, first: str) -> None:
    write(tmp_path / "train.jsonl", first, '{"text": "b", "intent": "y"}')
    with pytest.raises(DataError, match="record 2 has a label in column 'intent', which record 1 lacks: give each"):
        read_corpus(str(tmp_path / "train.jsonl"))
    with pytest.raises(DataError, match="which record 1 lacks"):
        load(DataConfig(path=str(tmp_path)))
    assert read_corpus(str(tmp_path / "train.jsonl"), labelled=False).labels is None


def test_a_label_that_a_later_record_lacks_is_named_by_its_number(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"text": "b", "intent": "y"}', '{"text": "a"}')
    with pytest.raises(DataError, match="record 2 has no label in column 'intent': give such records one"):
        read_corpus(str(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("numbers", [[None, 0, 1], [0, 1, 1, 0], [0, 1, 0, None], [1, 0]])
def test_a_sample_column_that_does_not_number_all_rows_is_not_believed(
    tmp_path: Path, numbers: list[int | None]
) -> None:
    rows = ({"text": "a"} | ({} if number is None else {"sample": number}) for number in numbers)
    write(tmp_path / "a.jsonl", *map(json.dumps, rows))
    assert samples_of(str(tmp_path / "a.jsonl")) == 1
