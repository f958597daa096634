"""Values of slots are the runs of words that their tags say, and tags that are none are no slots."""

import json
from pathlib import Path

import datasets
import pytest

from adept.data.corpus import DataConfig, hold_out, load
from adept.data.slots import slot_values


def test_values_are_the_runs_that_tags_begin_and_go_on_with() -> None:
    texts = ["fly to new york  on may first", "from oslo rome", "yes"]
    tags = ["O O B-to I-to O B-month B-day", "O B-city B-city", "O"]
    assert slot_values(texts, tags) == [["new york", "may", "first"], ["oslo", "rome"], []]


def test_a_value_without_a_beginning_begins_where_its_name_does() -> None:
    assert slot_values(["a b c d e"], ["I-x I-x I-y O I-y"]) == [["a b", "c", "e"]]


@pytest.mark.parametrize("tags", ["O", "O B-x O", "O from", 7, None, ["O", "B-x"]])
def test_what_is_no_tag_for_each_word_is_no_slots_for_any_record(tags: object) -> None:
    assert slot_values(["a b", "c d"], ["O B-x", tags]) is None


def test_tags_without_a_value_are_no_slots() -> None:
    assert slot_values(["a b"], ["O O"]) is None
    assert slot_values([], []) is None


def test_slots_are_read_with_a_file_and_follow_their_records(tmp_path: Path) -> None:
    rows = [{"text": f"to city{i}", "intent": "x", "slots": "O B-to"} for i in range(20)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    splits = load(DataConfig(name="files", path=str(tmp_path)))
    for corpus in (*splits.values(), *hold_out(splits["train"], share=0.5, seed=0)):
        assert corpus.slots == [[text.split()[1]] for text in corpus.texts]
    assert hold_out(splits["train"], share=0.5, seed=0, labelled=False)[0].slots is None


def test_slots_of_the_hub_are_read_where_it_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"text": ["to oslo"] * 4, "intent": ["x"] * 4}
    for given, expected in (({**columns, "slots": ["O B-to"] * 4}, [["oslo"]] * 4), (columns, None)):
        rows = datasets.Dataset.from_dict(given)
        monkeypatch.setattr(datasets, "load_dataset", lambda _, rows=rows: {"train": rows, "validation": rows})
        assert load(DataConfig(name="atis", hub="some/where"))["train"].slots == expected
