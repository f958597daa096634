"""Rewriting by description: through the released number alone, for any text, from the files of a model directory."""

import json
from pathlib import Path

import pytest
import torch
from tiny import Run

from adept import audit
from adept.errors import ConfigurationError, ModelError
from adept.mechanisms import Description
from adept.mechanisms.policy import heavy_sentences
from adept.models.untrusted_files import DESCRIPTION, TABLES
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

TEXTS = ["show me flights to boston", "", "what is the cheapest fare", "zebra 😀", "flights " * 10_000]


@pytest.fixture
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=Description(epsilon=12.0))


def test_every_record_gets_one_rewrite_whatever_it_says(rewriter: Rewriter) -> None:
    texts = [*TEXTS, "\x00\x07 control", "word\u2028word", "\ud800"]
    rewrites = rewriter.rewrite(texts, samples=2)
    assert len(rewrites) == 2 * len(texts)
    assert rewrites[::2] == rewrites[1::2]
    assert all("\n" not in text and "\x00" not in text for text in rewrites)


@pytest.mark.slow
def test_what_is_written_depends_on_the_released_number_alone(rewriter: Rewriter) -> None:
    pairs = [(TEXTS[0], text) for text in TEXTS[1:]]
    result = audit.run(rewriter, pairs=pairs, trials=200, confidence=1 - 1e-9)
    assert {check.name: check.verdict for check in result.checks}["replay"] is audit.Verdict.PASSED


def test_a_large_budget_writes_a_public_sentence_again(tiny_run: Path) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=Description(epsilon=120.0))
    said = rewriter.model.public_texts[:20]
    assert rewriter.rewrite(said) == said
    assert rewriter.rewrite(["show me flights to kyzburg"])[0] in rewriter.model.public_texts


@pytest.mark.parametrize("epsilon", [4.0, 8.0, 10.0, 24.0, 600.0])
def test_all_public_sentences_are_used_and_the_budget_decides_how_many_are_heavy(
    tiny_run: Path, epsilon: float
) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=Description(epsilon=epsilon))
    count = len(rewriter.model.public_texts)
    assert (rewriter.mechanism.count, rewriter.mechanism.heavy) == (count, heavy_sentences(epsilon, count))
    encoded, released = rewriter.encode(TEXTS), rewriter.release(TEXTS)
    assert (encoded.dtype, encoded.shape) == (torch.int64, (len(TEXTS), heavy_sentences(epsilon, count)))
    assert (released.dtype, released.shape) == (torch.int64, (len(TEXTS), 1))


def test_more_sentences_than_there_are_cannot_be_asked_for(tiny_run: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"size must be at most \d+, the number of the model's public sentences"
    ):
        Rewriter.from_pretrained(tiny_run, mechanism=Description(epsilon=8.0, size=5_000))
    few = Rewriter.from_pretrained(tiny_run, mechanism=Description(epsilon=8.0, size=50, top=3))
    assert few.encode(TEXTS).max() < 50


def test_the_guarantee_is_the_mechanisms(rewriter: Rewriter) -> None:
    assert rewriter.guarantee == Description(epsilon=12.0, size=len(rewriter.model.public_texts)).guarantee()


@pytest.mark.parametrize("rows", [torch.zeros(3, 1), torch.zeros(3, 2, dtype=torch.int64)])
def test_what_is_no_release_is_refused(rewriter: Rewriter, rows: torch.Tensor) -> None:
    with pytest.raises(ConfigurationError, match="rows of one int64"):
        rewriter.write(rows)


def test_a_model_without_public_sentences_says_so(rewriter: Rewriter) -> None:
    rewriter.model.sentences = None
    with pytest.raises(ModelError, match="lists no public sentences"):
        Rewriter(rewriter.model, rewriter.tokenizer, mechanism=Description(epsilon=12.0))


def test_a_model_directory_holds_the_sentences(tiny_run: Path) -> None:
    assert (tiny_run / "model" / TABLES).exists()
    stored = json.loads((tiny_run / "model" / DESCRIPTION).read_text("utf-8"))
    assert len(stored["utterances"]) > 300  # public: the utterances


def test_the_command_releases_a_file_and_states_how_often_the_truth_is_told(
    adept_here: Run, tiny_run: Path, labelled_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    done = adept_here(
        "rewrite",
        "mechanism=description",
        "epsilon=16",
        f"model_dir={tiny_run}",
        f"input={labelled_file}",
        f"output={output}",
    )
    assert done.returncode == 0, done.stderr
    assert len(output.read_text("utf-8").splitlines()) == 5
    statement = json.loads(Path(f"{output}.privacy.json").read_text("utf-8"))
    assert (statement["mechanism"], statement["epsilon"], statement["exact"]) == ("description", 16.0, True)
    assert statement["dim"] is statement["clip"] is statement["clip_norm"] is None
    assert statement["size"] == len(load_model(tiny_run)[0].public_texts)
    assert "999,955 of 1,000,000 cases" in statement["statement"]
