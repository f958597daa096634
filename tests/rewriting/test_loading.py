"""The packaged model is recognised by all files on which a release depends, not by its name or place."""

import json
from pathlib import Path

import pytest

from adept.mechanisms import LearnedCodebook, policy
from adept.models import untrusted_files
from adept.models.untrusted_files import MODEL_FILES, is_packaged, packaged_directory
from adept.release.statement.statement import model_facts
from adept.release.statement.wording import origin
from adept.rewriting.expectation import expected_lines, unseen_line
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

PACKAGED, _ = load_model()
CLAIM = "The model is the one that comes with adept."


def linked_copy(directory: Path, *, without: str = "") -> Path:
    """Return a directory with links to the packaged model's files, except for one of them."""
    directory.mkdir()
    for path in packaged_directory().iterdir():
        if path.name != without:
            (directory / path.name).symlink_to(path)
    return directory


def said_of(directory: Path) -> tuple[Rewriter, str]:
    """Return a rewriter with the model of a directory, and what a statement says of this model."""
    rewriter = Rewriter.from_pretrained(directory, mechanism=LearnedCodebook(epsilon=8.0))
    return rewriter, origin(model_facts(rewriter.model)["training_data"])


def test_a_model_with_other_codewords_is_not_the_one_that_comes_with_adept(tmp_path: Path) -> None:
    """Its weights are the packaged model's, and so is its name; statement and estimates leave the claim out."""
    same, said = said_of(linked_copy(tmp_path / "copy"))
    assert said.startswith(CLAIM)
    assert (line := unseen_line(same)) in expected_lines(same)
    other = linked_copy(tmp_path / "other", without="codec.json")
    codec = json.loads((packaged_directory() / "codec.json").read_text("utf-8"))
    codec["utterances"][0] = "call this number now"
    (other / "codec.json").write_text(json.dumps(codec), "utf-8")
    rewriter, said = said_of(other)
    assert rewriter.model.files["model.safetensors"] == same.model.files["model.safetensors"]
    assert CLAIM not in said
    assert line not in expected_lines(rewriter)


@pytest.mark.parametrize("name", MODEL_FILES)
def test_each_file_decides_whether_a_model_is_the_packaged_one(name: str) -> None:
    files = PACKAGED.files
    assert is_packaged(files)
    assert not is_packaged(files | {name: "0" * 64})
    assert not is_packaged({other: digest for other, digest in files.items() if other != name})
    assert not is_packaged(files | {"more.json": "0" * 64})


@pytest.mark.parametrize("files", [None, {}])
def test_a_model_without_files_is_not_the_packaged_one(files: dict[str, str] | None) -> None:
    assert not is_packaged(files)


def test_each_small_file_of_a_model_is_read_once(topic_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, names = untrusted_files.read_json, list[str]()

    def counted(path: Path) -> object:
        names.append(path.name)
        return read(path)

    monkeypatch.setattr(untrusted_files, "read_json", counted)
    load_model(topic_run)
    assert sorted(names) == [
        "codec.json",
        "config.json",
        *(["synonyms.json"] * ("synonyms.json" in names)),
        "tokenizer.json",
    ]


def test_the_policy_is_asked_once_for_a_rewriter_and_all_that_is_said_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    choose, asked = policy.choose, list[float | None]()

    def counted(lists: policy.Lists, *, epsilon: float | None) -> policy.Choice:
        asked.append(epsilon)
        return choose(lists, epsilon=epsilon)

    monkeypatch.setattr(policy, "choose", counted)
    rewriter = Rewriter(*load_model(), mechanism=LearnedCodebook(epsilon=8.0))
    assert expected_lines(rewriter)
    assert rewriter.by_label(label_set=["music", "weather"]) is not rewriter
    assert asked == [8.0]
