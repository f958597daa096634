"""The record reaches the output through its released latent alone, and the statement says what that guarantees."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from adept.errors import ConfigurationError, DataError, ModelError, ReleaseRefused
from adept.mechanisms import Identity, L1Laplace, OriginalLaplace, Random, SqrtNLaplace
from adept.model import DecodingConfig
from adept.rewriting import FileOptions, Rewriter, check_release, load_model, rewrite_file

TEXTS = ["show me flights to boston", "", "what is the cheapest fare", "zebra 😀", "flights " * 10_000]
OTHERS = ["a completely different and much longer record that says nothing of the kind", "x", "", "fare", "y"]


@pytest.fixture
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))


def test_every_record_gets_one_rewrite_whatever_it_says(rewriter: Rewriter) -> None:
    texts = [*TEXTS, "\x00\x07 control", "word\u2028word", "[END] [PAD]"]
    rewrites = rewriter.rewrite(texts)
    assert len(rewrites) == len(texts)
    assert all("\n" not in text and "[UNK]" not in text for text in rewrites)


def test_replaying_a_frozen_release_gives_the_same_text_whatever_the_record_was(
    rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = rewriter.release(TEXTS)
    monkeypatch.setattr(SqrtNLaplace, "privatize", lambda self, latents: frozen)
    assert rewriter.rewrite(TEXTS) == rewriter.rewrite(OTHERS)


def test_a_decoder_that_peeks_at_the_length_would_be_caught(
    rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = rewriter.release(TEXTS)
    monkeypatch.setattr(SqrtNLaplace, "privatize", lambda self, latents: frozen)

    def leaky(texts: list[str]) -> list[str]:
        return [text[: len(raw)] for raw, text in zip(texts, rewriter.rewrite(texts), strict=True)]

    assert leaky(TEXTS) != leaky(OTHERS)


def test_a_latent_is_the_same_whatever_else_is_in_the_batch(rewriter: Rewriter) -> None:
    together = rewriter.encode(["fare to boston", *OTHERS[1:]])
    assert torch.equal(together[0], rewriter.encode(["fare to boston", *TEXTS[1:]])[0])


def test_two_releases_differ_whatever_the_seed(rewriter: Rewriter) -> None:
    # 40 coordinates with a noise scale of millions of grid steps: they coincide with probability below 1e-200.
    def release() -> torch.Tensor:
        torch.manual_seed(7)
        np.random.seed(7)
        random.seed(7)
        return rewriter.release(TEXTS)

    assert not torch.equal(release(), release())


def test_sampling_is_not_seeded_by_accident(tiny_run: Path) -> None:
    sampler = Rewriter.from_pretrained(
        tiny_run, mechanism=Identity(), decoding=DecodingConfig(strategy="sample", temperature=3.0)
    )
    torch.manual_seed(7)
    first = sampler.rewrite(TEXTS * 4)
    torch.manual_seed(7)
    assert sampler.rewrite(TEXTS * 4) != first


def test_samples_of_a_record_are_consecutive_and_come_from_one_release(tiny_run: Path) -> None:
    greedy = Rewriter.from_pretrained(tiny_run, mechanism=Random(), batch_size=2)
    rewrites = greedy.rewrite(TEXTS, samples=3)
    assert len(rewrites) == 3 * len(TEXTS)
    assert all(len(set(rewrites[3 * i : 3 * i + 3])) == 1 for i in range(len(TEXTS)))


def test_random_knows_nothing_of_the_record_and_identity_everything(tiny_run: Path) -> None:
    identity = Rewriter.from_pretrained(tiny_run, mechanism=Identity())
    assert identity.rewrite(TEXTS) == identity.rewrite(TEXTS)
    chance = Rewriter.from_pretrained(tiny_run, mechanism=Random())
    latents = chance.release(["fare"] * 500)
    assert latents.norm(dim=1).allclose(torch.ones(500))
    assert latents.mean(dim=0).abs().max() < 0.25  # 8 coordinates of variance 1/8: beyond 15 standard errors
    assert chance.guarantee.epsilon == 0


def test_the_guarantee_is_that_of_the_mechanism_at_the_models_dimension(rewriter: Rewriter) -> None:
    assert rewriter.guarantee == SqrtNLaplace(epsilon=8.0).guarantee(8)


def test_a_model_serves_only_mechanisms_of_its_clip_and_radius(tiny_run: Path, tiny_l1_run: Path) -> None:
    with pytest.raises(ModelError, match="trained for clip l2"):
        Rewriter.from_pretrained(tiny_run, mechanism=L1Laplace(epsilon=8.0))
    with pytest.raises(ModelError, match="trained for clip l1"):
        Rewriter.from_pretrained(tiny_l1_run, mechanism=SqrtNLaplace(epsilon=8.0))
    with pytest.raises(ConfigurationError, match=r"clip_norm must be 1\.0"):
        Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0, clip_norm=2.0))
    Rewriter.from_pretrained(tiny_l1_run, mechanism=Identity())


def test_a_tokenizer_that_is_not_the_models_is_refused(tiny_run: Path, tmp_path: Path) -> None:
    from adept.tokenizer import Tokenizer

    for file in (tiny_run / "model").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    Tokenizer.train(["another text", "another text"]).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="does not fit"):
        load_model(tmp_path)


def test_words_of_the_rewritten_file_never_enter_the_output(rewriter: Rewriter) -> None:
    texts = ["xylophone quagga", "xylophone xylophone"] * 50
    assert not {"xylophone", "quagga"} & set(" ".join(rewriter.rewrite(texts)).split())
    assert "xylophone" not in rewriter.tokenizer.vocabulary


# --- files -------------------------------------------------------------------------------------------------------------------


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_only_text_and_label_reach_the_output_unasked(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    rewrite_file(rewriter, str(labelled_file), str(output), options=FileOptions())
    assert [set(row) for row in rows(output)] == [{"text", "intent"}] * 5
    assert "SECRET" not in output.read_text()
    assert [row["intent"] for row in rows(output)] == [f"intent_{i % 2}" for i in range(5)]


def test_kept_columns_are_copied_and_named_as_not_private(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    statement = rewrite_file(
        rewriter, str(labelled_file), str(output), options=FileOptions(keep_columns=["slots"], labels="drop")
    )
    assert [set(row) for row in rows(output)] == [{"text", "slots"}] * 5
    assert "slots are copied as they are: they are not private" in statement.text
    assert statement.to_json()["kept_columns"] == ["slots"]


def test_dropped_labels_leave_no_trace_and_the_guarantee_is_for_any_two_records(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    statement = rewrite_file(rewriter, str(labelled_file), str(output), options=FileOptions(labels="drop"))
    assert "intent" not in output.read_text()
    assert statement.to_json()["neighbours"] == "any two records"
    assert statement.to_json()["label_epsilon"] is None


def test_copied_labels_are_said_not_to_be_private(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    statement = rewrite_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=FileOptions())
    described = statement.to_json()
    assert "labels are copied: they are not private" in described["statement"]
    assert described["neighbours"] == "any two records with the same label"
    assert described["label_epsilon"] == "inf"


def test_the_statement_beside_the_output_has_every_field_of_the_design(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    rewrite_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=FileOptions())
    statement = json.loads((tmp_path / "out.jsonl.privacy.json").read_text())
    fields = (
        "mechanism claimed_epsilon epsilon text_epsilon label_epsilon delta holds exact sensitivity scale dim clip clip_norm "
        "unit neighbours records labels kept_columns composition training_data simulated versions statement"
    )
    assert set(statement) >= {*fields.split(" ")}
    assert (statement["epsilon"], statement["claimed_epsilon"], statement["records"]) == (8.0, 8.0, 5)
    assert (statement["mechanism"], statement["dim"], statement["holds"], statement["exact"]) == (
        "sqrt_n",
        8,
        True,
        True,
    )


def test_the_originals_statement_gives_the_true_epsilon_beside_the_claimed_one(
    tiny_run: Path, labelled_file: Path, tmp_path: Path
) -> None:
    original = Rewriter.from_pretrained(tiny_run, mechanism=OriginalLaplace(epsilon=8.0))
    rewrite_file(original, str(labelled_file), str(tmp_path / "out.jsonl"), options=FileOptions())
    statement = json.loads((tmp_path / "out.jsonl.privacy.json").read_text())
    assert statement["epsilon"] == pytest.approx(8 * 8**0.5)
    assert statement["holds"] is False
    assert "false" in statement["statement"]


def test_no_privacy_is_stated_as_inf(tiny_run: Path, labelled_file: Path, tmp_path: Path) -> None:
    identity = Rewriter.from_pretrained(tiny_run, mechanism=Identity())
    rewrite_file(identity, str(labelled_file), str(tmp_path / "out.jsonl"), options=FileOptions())
    assert json.loads((tmp_path / "out.jsonl.privacy.json").read_text())["epsilon"] == "inf"


@pytest.mark.parametrize("target", ["out.txt", "out.csv", "out.jsonl", "out.parquet", "out.jsonl.gz"])
def test_samples_are_numbered_rows_of_their_record(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path, target: str
) -> None:
    from adept.files import read_records

    output = str(tmp_path / target)
    rewrite_file(rewriter, str(labelled_file), output, options=FileOptions(samples=2))
    written = list(read_records(output))
    assert len(written) == 10
    if not target.endswith(".txt"):
        assert [int(row["sample"]) for row in written] == [0, 1] * 5


def test_a_failure_half_way_leaves_nothing_behind(rewriter: Rewriter, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "fine"}\n' * 300 + '{"utterance": "secret"}\n')
    with pytest.raises(DataError, match="record 301"):
        rewrite_file(rewriter, str(bad), str(tmp_path / "out.jsonl"), options=FileOptions())
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


def test_an_existing_output_or_statement_is_refused_and_kept(
    rewriter: Rewriter, labelled_file: Path, tmp_path: Path
) -> None:
    for existing in ("out.jsonl", "out.jsonl.privacy.json"):
        (tmp_path / existing).write_text("mine")
        with pytest.raises(DataError, match="not overwritten"):
            rewrite_file(rewriter, str(labelled_file), str(tmp_path / "out.jsonl"), options=FileOptions())
        assert (tmp_path / existing).read_text() == "mine"
        (tmp_path / existing).unlink()


def test_missing_columns_are_named(rewriter: Rewriter, labelled_file: Path, tmp_path: Path) -> None:
    output = str(tmp_path / "out.jsonl")
    for options, column in (
        (FileOptions(text_column="utterance"), "utterance"),
        (FileOptions(label_column="topic"), "topic"),
        (FileOptions(keep_columns=["time"]), "time"),
    ):
        with pytest.raises(DataError, match=f"'{column}' is missing in record 1"):
            rewrite_file(rewriter, str(labelled_file), output, options=options)


def test_standard_output_needs_a_place_for_the_statement(rewriter: Rewriter, labelled_file: Path) -> None:
    with pytest.raises(DataError, match="statement="):
        rewrite_file(rewriter, str(labelled_file), "-", options=FileOptions(format="jsonl"))


def test_broken_claims_and_inexact_noise_are_refused_unless_accepted() -> None:
    broken = OriginalLaplace(epsilon=1.0).guarantee(16)
    with pytest.raises(ReleaseRefused, match="accept_broken_claim=true"):
        check_release(broken, accept_broken_claim=False, accept_inexact=True)
    check_release(broken, accept_broken_claim=True, accept_inexact=False)
    from dataclasses import replace

    inexact = replace(SqrtNLaplace(epsilon=1.0).guarantee(16), exact=False)
    with pytest.raises(ReleaseRefused, match="accept_inexact=true"):
        check_release(inexact, accept_broken_claim=True, accept_inexact=False)
    check_release(inexact, accept_broken_claim=False, accept_inexact=True)


@pytest.mark.parametrize("options", [{"labels": "publish"}, {"samples": 0}])
def test_impossible_file_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        FileOptions(**options)  # type: ignore[arg-type]
