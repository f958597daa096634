"""The model that comes with the package: small, public, complete, and without a word of the development corpora."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from audit.asking import make_cheap, shorten_games
from hanging import PATIENCE_SECONDS
from tiny import Run

from adept import Rewriter, audit
from adept.audit import AuditResult
from adept.cli.audit import AuditConfig, _audits_of_rewriter
from adept.comparison.comparison import _audit
from adept.comparison.config import CompareConfig, Recipe
from adept.data.corpus import DataConfig, load
from adept.errors import ConfigurationError
from adept.mechanisms import Description, JointResponse, LearnedCodebook, policy
from adept.mechanisms.base import MechanismChoice
from adept.models import adapt as examples
from adept.models.codebooks import encode_public
from adept.models.label_names import sentences_about
from adept.models.saved_model import Autoencoder, mean_word_f1
from adept.models.sentences.meanings import words_of
from adept.models.tokenizer import Tokenizer, join_words
from adept.models.untrusted_files import packaged_directory
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import best_exact

MEBIBYTE = 1 << 20
FORKED_AFTER_THREADS = """
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

from adept import Rewriter
from adept.mechanisms import LearnedCodebook

texts = ["play a song", "set an alarm", "rain in rome?"] * 4
rewriter = Rewriter.from_pretrained("utterances", mechanism=LearnedCodebook(epsilon=8.0))
rewriter.rewrite(texts)
with ThreadPoolExecutor(8) as threads:
    list(threads.map(rewriter.rewrite, [texts] * 8))
with multiprocessing.get_context("fork").Pool(2) as processes:
    print(len(processes.map(rewriter.rewrite, [texts] * 4)))
"""
# Of a release of few records by label, beside PyTorch: its import takes 230 MB on one disk, and 275 on another
MAX_MEMORY = 285 * 1000**2
RELEASED = """
import re, sys
from pathlib import Path

import torch


def peak():
    found = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())  # ru_maxrss counts the parent, too
    return 1024 * int(found[1])


before = peak()
from adept.__main__ import main

try:
    main()
finally:
    print(peak() - before, sorted({"opendp", "scipy.sparse"} & set(sys.modules)))
"""
DEVELOPMENT = Path(__file__).parents[2] / "shared" / "data"
COMMONPLACE = 7  # words: people say "what year did this song come out" everywhere


@pytest.fixture(scope="module")
def packaged() -> tuple[Autoencoder, Tokenizer]:
    return load_model()


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_process_that_was_forked_after_threads_had_rewritten_rewrites_too() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED_AFTER_THREADS],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("4", 0), done.stderr


def test_it_is_small_and_complete() -> None:
    files = {path.name: path.stat().st_size for path in packaged_directory().iterdir()}
    assert {"config.json", "model.safetensors", "codebooks.safetensors", "tokenizer.json", "README.md"} <= files.keys()
    assert {"codec.json", "codec.safetensors"} <= files.keys()
    assert sum(files.values()) < 50 * MEBIBYTE


def test_it_is_public_and_its_card_names_sources_and_licences(packaged: tuple[Autoencoder, Tokenizer]) -> None:
    model, _ = packaged
    assert (model.training_data.name, model.training_data.public) == ("utterances", True)
    assert (model.config.precision, sorted(model.codebooks)) == ("float16", [1 << n for n in range(5, 14)])
    card = (packaged_directory() / "README.md").read_text("utf-8")
    for said in (
        "Schema-Guided Dialogue",
        "Taskmaster",
        "restaurant8k",
        "RasaHQ/STAR",
        "CDLA-Sharing-1.0",
        "CC BY-SA 4.0",
        "Intended use",
        "Measured",
    ):
        assert said in card


def test_its_codewords_are_texts_and_the_budget_says_how_many_are_heavy(
    packaged: tuple[Autoencoder, Tokenizer],
) -> None:
    """All of them at every budget, unless their number was set; the first texts, each nearest to itself."""
    model, tokenizer = packaged
    asked = [LearnedCodebook(epsilon=epsilon) for epsilon in (0.5, 2.0, 4.0, 6.0, 8.0, 64.0)]
    asked += [LearnedCodebook(epsilon=4.0, top=3), LearnedCodebook(epsilon=4.0, size=1024)]
    used = [Rewriter(model, tokenizer, mechanism=mechanism).mechanism for mechanism in asked]
    sizes = [
        (mechanism.count, mechanism.selection.heavy_count)
        for mechanism in used
        if isinstance(mechanism, LearnedCodebook)
    ]
    assert sizes == [(8192, 3663), (8192, 1252), (8192, 289), (8192, 80), (8192, 16), (8192, 1), (8192, 3), (1024, 15)]
    assert model.sentences is not None
    own = encode_public(model, tokenizer, [join_words(words) for words in model.sentences.utterances[:64]])
    assert ((own * model.codebooks[8192][:64]).sum(dim=1) > 0.999).all()


@pytest.mark.skipif(not DEVELOPMENT.is_dir(), reason="the development corpora are not beside this checkout")
@pytest.mark.parametrize("corpus", ["atis", "snips", "hwu64"])
def test_it_holds_no_utterance_of_the_development_corpora(packaged: tuple[Autoencoder, Tokenizer], corpus: str) -> None:
    """But for a few commonplaces, which stand in its public sources too."""
    sentences = packaged[0].sentences
    assert sentences is not None
    listed = (sentences.listed[place] for place in range(len(sentences.listed)))
    held = {
        join_words(words) for words in [*sentences.utterances, *sentences.held_out, *listed] if len(words) > COMMONPLACE
    }
    lines = [line for path in (DEVELOPMENT / corpus).glob("*.jsonl") for line in path.read_text("utf-8").splitlines()]
    rows = [json.loads(line)["text"] for line in lines]
    assert not held & {join_words(words_of(text)) for text in rows}


def test_a_local_directory_of_its_name_wins(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rewriter = Rewriter.from_pretrained("utterances", mechanism=LearnedCodebook(epsilon=8.0))
    assert rewriter.model.training_data.name == "utterances"
    (tmp_path / "utterances").symlink_to(tiny_run)
    assert load_model("utterances")[0].training_data.name == "air_travel"
    assert load_model()[0].training_data.name == "utterances"


def test_a_strangers_file_is_rewritten_by_one_command(tmp_path: Path, adept_here: Run) -> None:
    (tmp_path / "in.txt").write_text("Could you find me a cheap hotel, in Paris?\n" * 3)
    done = adept_here("rewrite", f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'out.txt'}", "epsilon=8")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("adept: at epsilon 8 a rewrite keeps its record's topic in ")
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 3
    stated = json.loads((tmp_path / "out.txt.privacy.json").read_text())
    assert stated["training_data"]["packaged"] is True
    assert "The model is the one that comes with adept." in stated["statement"]


def test_few_records_are_released_by_label_in_little_memory(tmp_path: Path) -> None:
    """Without codewords, sparse arrays and noise, which such a release does not need."""
    rows = [{"text": f"play the song number {row}", "intent": f"music {row % 8}"} for row in range(40)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["input=in.jsonl", "output=out.jsonl", "epsilon=8", "label_column=intent", "ledger=a.db"]
    done = subprocess.run(
        [sys.executable, "-c", RELEASED, "rewrite", *options],
        cwd=tmp_path, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        check=True,
    )  # fmt: skip
    assert "rewritten by description" in done.stdout
    peak, imported = done.stdout.splitlines()[-1].split(" ", 1)
    assert (int(peak) < MAX_MEMORY, imported) == (True, "[]"), (peak, imported)


@pytest.mark.slow
def test_few_examples_and_names_bring_sentences_about_them_and_all_codebooks(
    packaged: tuple[Autoencoder, Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codewords are the examples, what the model holds about them, and what is near; many examples are enough by themselves."""
    monkeypatch.setattr(policy, "MANY_EXAMPLES", 25)
    monkeypatch.setattr(policy, "FEW_PLACING", (1, 2000, 0.5))  # in a fraction of the time
    model, tokenizer = packaged
    own = model.public_texts
    said = own[5000:5020] + own[:10]
    few, words = examples.adapt(model, tokenizer, said[:12], source="a test")
    names, its_words = examples.adapt(model, tokenizer, said, source="a test", said=False)
    many, _ = examples.adapt(model, tokenizer, said, source="a test")
    assert few.training_data.examples == 12
    for adapted, tokens, given in ((few, words, said[:12]), (names, its_words, said)):
        assert adapted.sentences
        assert set(policy.TEXT_CODEWORDS) <= adapted.codebooks.keys()
        assert len(torch.unique(adapted.codebooks[8192], dim=0)) == 8192  # none twice
        first = [text for text in map(join_words, adapted.sentences.utterances[:64]) if text in given]
        assert len(first) >= len(given) - 2  # but for those held out
        likeness = encode_public(adapted, tokens, first).cpu() @ adapted.codebooks[8192].T
        assert likeness.max(dim=1).values.min() > 0.999
        assert adapted.config.latent_dim > model.config.latent_dim  # topics of their own
        assert not np.array_equal(adapted.sentences.listed.flat[:1000], model.sentences.listed.flat[:1000])
    about = sentences_about(model.sentences, said[:12])
    held = {join_words(row) for row in few.sentences.utterances[: len(about)]} if few.sentences else set()
    assert len(held & set(about)) > 0.9 * len(about)
    assert max(many.codebooks) == policy.ADAPTED_CODEWORDS[1]


@pytest.mark.slow
@pytest.mark.parametrize("many", [0, 48, 256])
def test_no_larger_budget_keeps_fewer_words(packaged: tuple[Autoencoder, Tokenizer], many: int) -> None:
    """Also after an adaptation, and for private labels; ``benchmarks/budgets.py`` measures accuracy and content too."""
    model, tokenizer = packaged
    rows = load(DataConfig(sizes=[many + 200, 1, 0]))["train"]
    given, records = rows.take(range(many)), rows.take(range(many, many + 200))
    if many:
        model, tokenizer = examples.adapt(model, tokenizer, given.texts, source="a test")
        for label, text in zip(given.labels or [], given.texts, strict=True):
            model.label_examples.setdefault(label, []).append(text)
    labels = records.labels or []
    for treatment in ("off", "auto", "joint_response"):
        kept = []
        for epsilon in (4.0, 8.0, 10.0, 12.0, 14.0, 16.0):
            mechanism = best_exact(model, epsilon=epsilon)(epsilon=epsilon)
            joint = JointResponse.of(mechanism, sorted(set(labels))) if treatment == "joint_response" else None
            rewriter = Rewriter.for_measurement(model, tokenizer, mechanism=joint or mechanism)
            writer = rewriter.by_label() if treatment == "auto" else rewriter
            pairs = writer.rewrite_pairs(records.texts, None if treatment == "off" else labels)
            kept.append(
                np.array([mean_word_f1([one], [text]) for one, (text, _) in zip(records.texts, pairs, strict=True)])
            )
        for less, more in pairwise(kept):
            assert more.mean() > less.mean() - 2 * (more - less).std() / len(less) ** 0.5, (
                treatment,
                [*map(np.mean, kept)],
            )


def test_how_many_descriptions_are_used_at_a_budget(packaged: tuple[Autoencoder, Tokenizer]) -> None:
    """All sentences, several of them heavy, from epsilon 8.3 on: above 16 the same ones as at 16."""
    model, tokenizer = packaged
    assert model.sentences
    whole = len(model.sentences)
    budgets = ((4.0, None), (10.0, 86), (12.0, 15), (14.0, 3), (15.0, 1), (16.0, 1), (17.0, 1), (24.0, 1))
    for epsilon, heavy in budgets:
        rewriter = Rewriter(model, tokenizer, mechanism=Description(epsilon=epsilon))
        expected = (whole, heavy) if heavy else (Description(epsilon=epsilon).count, 1)
        assert (rewriter.mechanism.count, rewriter.mechanism.heavy) == expected
        assert rewriter.encode(["wake me at seven", ""]).shape == (2, heavy or 1)
        assert len(rewriter.rewrite(["wake me at seven", ""])) == 2
    for epsilon, fewer in ((11.5, None), (16.5, whole), (24.0, whole)):
        joint = JointResponse(mechanism=Description(epsilon=epsilon), labels=("a", "b"))
        used = Rewriter(model, tokenizer, mechanism=joint).mechanism.count
        assert used == (fewer or joint.text.count)
    assert [best_exact(model, epsilon=epsilon) for epsilon in (8.9, 9.0)] == [LearnedCodebook, Description]
    set_by_hand = Description(epsilon=16.0, size=100_000)
    assert Rewriter(model, tokenizer, mechanism=set_by_hand).mechanism.count == 100_000
    with pytest.raises(
        ConfigurationError, match="size must be at most 314402, the number of the model's public sentences"
    ):
        Rewriter(model, tokenizer, mechanism=Description(epsilon=16.0, size=500_000))


def test_audits_of_the_model_and_of_a_comparison_judge_the_released_descriptions(
    packaged: tuple[Autoencoder, Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At this budget 86 of all sentences are a record's own, where the mechanism alone has one of 2,447 numbers."""
    model, tokenizer = packaged
    released = Rewriter(model, tokenizer, mechanism=Description(epsilon=10.0)).mechanism
    judged: list[Description] = []

    def run(mechanism: Description, **options: object) -> AuditResult:
        judged.append(mechanism)
        return found

    make_cheap(monkeypatch)
    shorten_games(monkeypatch)
    found = audit.run(released, trials=400)
    assert not found.violated
    monkeypatch.setattr(audit, "run", run)
    config = AuditConfig(
        mechanism=MechanismChoice(Description), target="rewriter", model_dir="utterances", epsilon=10.0
    )
    _audits_of_rewriter(config, lambda done, of: None)[0]()
    trial = SimpleNamespace(config=CompareConfig(), rewriter=lambda asked: SimpleNamespace(mechanism=released))
    _audit(trial, Recipe("description", 10.0, "codec", "tfidf"))  # type: ignore[arg-type]
    assert judged == [released, released]
    assert released.heavy == 86


def test_what_survives_of_subjects_that_it_has_not_read_is_said_before_a_release(
    tmp_path: Path, adept_here: Run
) -> None:
    """Of the packaged model alone, and not where public texts of the user's own say more; it stands in no statement."""
    (tmp_path / "in.txt").write_text("book a table for two\n")
    (tmp_path / "public.txt").write_text("".join(f"book a table at {hour}\n" for hour in range(1, 10)))
    for place, more in enumerate(((), (f"expect={tmp_path}/public.txt", "public=true"))):
        output = tmp_path / f"out{place}.txt"
        done = adept_here("rewrite", f"input={tmp_path}/in.txt", f"output={output}", "epsilon=8", *more)
        assert done.returncode == 0, done.stderr
        assert ("subjects that such a model had not read" in done.stderr) == (not more)
        assert "had not read" not in Path(f"{output}.privacy.json").read_text()
