"""Training learns, stops, resumes where it was, and ends with its best weights."""

import csv
import json
import math
import random
import shutil
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest
import torch
from lightning_fabric.utilities.rank_zero import rank_zero_only
from pytorch_lightning.callbacks import Callback
from tiny import TINY_MODEL, Run, tiny_config
from torch import Tensor

from adept.cli import train
from adept.cli.overrides import MechanismChoice
from adept.data.corpus import Corpus
from adept.errors import AdeptError, ConfigurationError, DataError, Interrupted, ModelError
from adept.evaluation.classifiers import predict
from adept.mechanisms import BY_NAME, Description, L1Laplace, LearnedCodebook, Mechanism, SqrtNLaplace
from adept.models import training
from adept.models.codebooks import draw_codewords
from adept.models.config import (
    ContentConfig,
    FitResult,
    ModelConfig,
    Parts,
    TokenizerConfig,
    TrainerConfig,
    TrainingConfig,
    TrainSpec,
)
from adept.models.lightning import AdeptModule, LengthBatchSampler, token_loader
from adept.models.lstm_autoencoder import pad
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import Tokenizer
from adept.models.training import fit
from adept.rewriting.expectation import expectation
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

TEXTS = [f"{verb} {noun} {place}" for verb in ("show", "list") for noun in ("flights", "fares") for place in "abcdefgh"]


def small_fit(
    tmp_path: Path, *, epochs: int = 3, resume: Path | None = None, **options: object
) -> tuple[Autoencoder, FitResult]:
    tokenizer = Tokenizer.train(TEXTS)
    torch.manual_seed(0)
    model = Autoencoder(
        ModelConfig(embedding_dim=8, hidden_dim=16, latent_dim=4, word_dropout=0.0, dropout=0.0),
        vocabulary_size=len(tokenizer),
        clip="l2",
    )
    trainer = TrainerConfig(max_epochs=epochs, accelerator="cpu")
    mechanism, parts = options.pop("mechanism", None), cast(Parts, options.pop("parts", Parts()))
    training = TrainingConfig(**{"batch_size": 4, **options})  # type: ignore[arg-type]
    spec = TrainSpec(clip="l2", training=training, trainer=trainer, mechanism=mechanism, parts=parts)  # type: ignore[arg-type]
    corpora = Corpus(TEXTS), Corpus(TEXTS[::4])
    return model, fit(model, tokenizer, *corpora, spec, output_dir=tmp_path, resume=resume)


def test_a_vocabulary_without_a_word_is_refused(tmp_path: Path) -> None:
    """Its loss would be the best of all runs, for it writes and reads one token."""
    with pytest.raises(ConfigurationError, match="min_frequency must leave a word, got 100000: lower it"):
        train.run(tiny_config(tmp_path / "run", tokenizer=TokenizerConfig(min_frequency=100_000)))


def test_reconstruction_improves_and_the_log_says_so(tmp_path: Path) -> None:
    _, result = small_fit(tmp_path, epochs=20)
    rows = list(csv.DictReader((tmp_path / "metrics.csv").read_text().splitlines()))
    losses = [float(row["validation_loss"]) for row in rows if row["validation_loss"]]
    assert losses[-1] < 0.8 * losses[0]
    assert result.validation_loss == pytest.approx(min(losses))
    assert result.records_per_second > 0


def test_early_stopping_ends_a_run_that_no_longer_improves(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(TEXTS)
    model = Autoencoder(
        ModelConfig(embedding_dim=8, hidden_dim=8, latent_dim=2), vocabulary_size=len(tokenizer), clip="l2"
    )
    unseen = Corpus(["h fares show", "list list list list"])
    spec = TrainSpec(
        clip="l2",
        training=TrainingConfig(learning_rate=0.1, patience=1, batch_size=4),
        trainer=TrainerConfig(max_epochs=60, accelerator="cpu"),
    )
    result = fit(model, tokenizer, Corpus(TEXTS), unseen, spec, output_dir=tmp_path)
    assert result.epochs < 60


def test_the_weights_left_behind_are_those_of_the_best_epoch(tmp_path: Path) -> None:
    model, _ = small_fit(tmp_path)
    best = torch.load(tmp_path / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    assert all(torch.equal(tensor, best[f"model.{name}"]) for name, tensor in model.state_dict().items())


def test_a_resumed_run_goes_on_to_what_an_uninterrupted_one_reaches(tmp_path: Path) -> None:
    config = tiny_config(tmp_path / "whole", epochs=2)
    config.model.dropout = config.model.word_dropout = 0.0  # no randomness but the order of the batches
    whole = train.run(config)
    config.output_dir, config.trainer.max_epochs = str(tmp_path / "parts"), 1
    train.run(config)
    config.resume_from, config.trainer.max_epochs = config.output_dir, 2
    resumed = train.run(config)
    assert resumed.fit.epochs == whole.fit.epochs == 2
    # The learning rate falls with the share of epochs done, and the first epoch has the full rate whatever the length.
    assert resumed.fit.validation_loss == pytest.approx(whole.fit.validation_loss, rel=1e-4)


def test_the_last_epoch_is_kept_though_it_was_not_the_best(tmp_path: Path) -> None:
    """Weights that hardly move: the first epoch is the best, and a run goes on after the fourth all the same."""
    small_fit(tmp_path, epochs=4, learning_rate=1e-30)
    epochs = [
        torch.load(tmp_path / "checkpoints" / name, weights_only=True)["epoch"] for name in ("best.ckpt", "last.ckpt")
    ]
    assert epochs == [0, 3]


def test_resuming_from_nothing_or_from_damage_is_a_user_error(tmp_path: Path) -> None:
    config = tiny_config(tmp_path / "run")
    config.resume_from, config.output_dir = str(tmp_path), None
    with pytest.raises(DataError, match="resume_from"):
        train.run(config)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").write_bytes(b"damage")
    with pytest.raises(DataError, match="cannot resume"):
        small_fit(tmp_path, resume=tmp_path / "checkpoints" / "last.ckpt")


def resumed(config: train.TrainConfig, *, epochs: int = 3) -> train.TrainConfig:
    config.resume_from, config.trainer.max_epochs = config.output_dir, epochs
    return config


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("text", lambda c: setattr(c.data, "sizes", [300, 60, 60])),
        ("sizes", lambda c: setattr(c.model, "hidden_dim", 33)),
        ("clip", lambda c: setattr(c, "mechanism", MechanismChoice(BY_NAME["l1"]))),
        ("labels", lambda c: setattr(c, "labels", "joint")),
    ],
)
def test_a_run_goes_on_only_with_what_it_began_with(
    tmp_path: Path, tiny_run: Path, part: str, change: Callable[[train.TrainConfig], None]
) -> None:
    shutil.copytree(tiny_run, tmp_path / "run")
    config = resumed(tiny_config(tmp_path / "run"))
    change(config)
    with pytest.raises(DataError, match=f"difference in {part}|text, clip, labels and sizes"):
        train.run(config)


def test_a_private_run_stays_private_whatever_is_declared_later(tmp_path: Path) -> None:
    config = tiny_config(tmp_path / "run", epochs=1)
    config.training_data.public = False
    train.run(config)
    config.training_data.public = True
    train.run(resumed(config, epochs=2))
    model, _ = load_model(tmp_path / "run")
    assert model.training_data.public is False
    assert "PRIVATE" in (tmp_path / "run" / "model" / "README.md").read_text()
    train.run(resumed(config, epochs=3))
    assert load_model(tmp_path / "run")[0].training_data.public is False


def test_fewer_epochs_than_are_done_are_refused(tmp_path: Path, tiny_run: Path) -> None:
    shutil.copytree(tiny_run, tmp_path / "run")
    with pytest.raises(ConfigurationError, match="more than the 2 epochs"):
        train.run(resumed(tiny_config(tmp_path / "run"), epochs=2))


@pytest.mark.parametrize("name", ["last.ckpt", "best.ckpt", "tokenizer.json"])
def test_damaged_checkpoints_are_refused_in_one_line(tmp_path: Path, tiny_run: Path, name: str) -> None:
    for number in range(12):
        run = tmp_path / f"run{number}"
        shutil.copytree(tiny_run, run)
        content = bytearray((run / "checkpoints" / name).read_bytes())
        rng = random.Random(number)
        match number % 3:
            case 0:
                del content[rng.randrange(len(content)) :]
            case 1:
                place = rng.randrange(len(content) * 3 // 4)
                content[place : place + 200] = rng.randbytes(200)
            case 2:
                content = bytearray(rng.choice([b"", b"PK", b"\x80\x02}q\x00.", b"[1]"]))
        (run / "checkpoints" / name).write_bytes(bytes(content))
        with pytest.raises(AdeptError) as caught:
            train.run(resumed(tiny_config(run)))
        assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "change", [lambda bias: 1, lambda bias: None, lambda bias: bias * torch.nan, lambda bias: bias + 1e38]
)
@pytest.mark.parametrize("name", ["last.ckpt", "best.ckpt"])
def test_a_checkpoint_without_weights_is_refused_in_one_line(
    tmp_path: Path, tiny_run: Path, name: str, change: Callable[[torch.Tensor], object]
) -> None:
    shutil.copytree(tiny_run, tmp_path / "run")
    path = tmp_path / "run" / "checkpoints" / name
    content = torch.load(path, weights_only=True)
    content["state_dict"]["model.to_words.bias"] = change(content["state_dict"]["model.to_words.bias"])
    torch.save(content, path)
    with pytest.raises(DataError, match="cannot resume from"):
        train.run(resumed(tiny_config(tmp_path / "run")))


def test_resume_from_alone_continues_the_command_that_began_the_run(adept_here: Run, tmp_path: Path) -> None:
    run, model = tmp_path / "run", [f"model.{name}={value}" for name, value in TINY_MODEL.items()]
    begun = adept_here(
        "train", "mechanism=sqrt_n", "data.sizes=[200,40,40]", *model, "trainer.max_epochs=1", f"output_dir={run}"
    )
    assert begun.returncode == 0, begun.stderr
    nothing_left = adept_here("train", f"resume_from={run}")
    assert (nothing_left.returncode, "trainer.max_epochs" in nothing_left.stderr) == (2, True)
    done = adept_here("train", f"resume_from={run}", "trainer.max_epochs=2")
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "result.json").read_text())["fit"]["epochs"] == 2
    elsewhere = adept_here("train", f"resume_from={run}", "trainer.max_epochs=3", f"output_dir={tmp_path / 'new'}")
    assert (elsewhere.returncode, "output_dir must be left out" in elsewhere.stderr) == (2, True)
    other = adept_here("train", f"resume_from={run}", "trainer.max_epochs=3", "data.sizes=[190,40,40]")
    assert (other.returncode, "data.sizes must be [200,40,40], as in" in other.stderr) == (2, True)
    assert adept_here("train", f"resume_from={run}", "trainer.max_epochs=3").returncode == 0, (
        "a refusal leaves no trace"
    )


def test_a_run_is_continued_from_another_directory_with_the_data_that_began_it(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other directory has data under the same relative name, which are not those of the run."""
    texts = [f"play song {i % 9}" for i in range(80)]
    for place, said in (("data", texts), ("elsewhere/data", texts[::-1] * 2)):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "train.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in said))
    monkeypatch.chdir(tmp_path)
    model = [f"model.{name}={value}" for name, value in TINY_MODEL.items()]
    given = ["mechanism=sqrt_n", "data=files", "data.path=data", *model]
    begun = adept_here("train", *given, "trainer.max_epochs=1", "output_dir=run")
    assert begun.returncode == 0, begun.stderr
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = adept_here("train", "resume_from=../run", "trainer.max_epochs=2")
    assert done.returncode == 0, done.stderr
    (tmp_path / "data").rename(tmp_path / "moved")
    lost = adept_here("train", "resume_from=../run", "trainer.max_epochs=3")
    assert (lost.returncode, f"got {tmp_path}/data: name one with train" in lost.stderr) == (2, True)
    found = adept_here("train", "resume_from=../run", "trainer.max_epochs=3", "data.path=../moved")
    assert found.returncode == 0, found.stderr


PLACES = {
    "SLURM": "SLURM_JOB_ID=7 SLURM_JOB_NAME=mine SLURM_NTASKS=4 SLURM_PROCID=2 SLURM_NNODES=2",
    "torchrun": "TORCHELASTIC_RUN_ID=1 RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 MASTER_ADDR=10.0.0.9",
    "LSF": "LSB_JOBID=1 LSB_DJOB_RANKFILE=/none JSM_NAMESPACE_SIZE=4 JSM_NAMESPACE_LOCAL_RANK=3",
    "MPI": "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2 PMI_RANK=2 PMI_SIZE=4",
    "PBS": "PBS_JOBID=1 PBS_NODEFILE=/none PBS_NP=8 NODE_RANK=1",
    "Kubeflow": "KUBERNETES_PORT=tcp://x MASTER_ADDR=x MASTER_PORT=1 WORLD_SIZE=2 RANK=1",
}


@pytest.mark.parametrize("place", PLACES)
def test_training_in_a_batch_job_is_training_outside_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The rank stands for what Lightning reads from such variables when it is imported."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    _, plain = small_fit(tmp_path / "plain", epochs=1)
    for name, value in (variable.split("=") for variable in PLACES[place].split()):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    _, inside = small_fit(tmp_path / "inside", epochs=1)
    assert inside.validation_loss == plain.validation_loss
    logs = [(tmp_path / run / "metrics.csv").read_text() for run in ("plain", "inside")]
    assert logs[0] == logs[1]
    assert predict(Corpus(TEXTS, [*"ab"] * 16), TEXTS[:2], classifier="lstm")
    assert not list((tmp_path / "here").iterdir())


def interrupt(config: train.TrainConfig, monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> str:
    """Run a training until it calls a function, and return the message of its interrupt."""

    def stop(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    given = [f"trainer.max_epochs={config.trainer.max_epochs}"]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, stop)
        with pytest.raises(Interrupted) as error:
            train.run(config, overrides=given)
    return str(error.value)


@pytest.mark.parametrize(
    ("owner", "name", "epochs"),
    [
        (training, "learn_codes", 3),
        (Autoencoder, "save_pretrained", 1),
        (train, "reconstruction", 1),
        (train, "write_json", 1),
    ],
)
def test_a_run_stopped_after_its_last_epoch_is_finished_without_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, epochs: int
) -> None:
    """With a tiny learning rate, the second of three epochs is the last, for patience ends there."""
    config = tiny_config(tmp_path / "run", epochs=epochs)
    config.training.patience, config.training.learning_rate = 1, 1e-30
    assert "goes on after the last whole epoch" in interrupt(config, monkeypatch, owner, name)
    last = (tmp_path / "run" / "checkpoints" / "last.ckpt").read_bytes()
    finished = train.run(resumed(config, epochs=epochs), overrides=[])
    assert finished.fit.epochs == min(2, epochs)
    assert finished.fit.validation_loss > 0
    assert (tmp_path / "run" / "checkpoints" / "last.ckpt").read_bytes() == last
    load_model(tmp_path / "run")


@pytest.mark.parametrize("name", ["_tokenizer", "make_trainer", "AdeptModule"])
def test_a_run_stopped_before_its_first_epoch_ended_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    config = tiny_config(tmp_path / "run", epochs=1)
    assert "run begins again" in interrupt(config, monkeypatch, training, name)
    assert train.run(resumed(config, epochs=1), overrides=[]).fit.epochs == 1


def test_a_resumed_run_that_is_interrupted_keeps_its_new_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(tmp_path / "run", epochs=1)
    train.run(config, overrides=["trainer.max_epochs=1"])
    interrupt(resumed(config, epochs=2), monkeypatch, training, "learn_codes")
    assert "trainer.max_epochs=2" in train.complete([f"resume_from={tmp_path}/run"])
    assert "max_epochs: 2" in (tmp_path / "run" / "config.yaml").read_text()
    assert train.run(config).fit.epochs == 2


def test_a_larger_patience_counts_when_a_run_is_resumed(tmp_path: Path) -> None:
    stopped = small_fit(tmp_path, epochs=9, patience=1, learning_rate=1e-30)[1]
    checkpoint = tmp_path / "checkpoints" / "last.ckpt"
    again = small_fit(tmp_path, epochs=9, patience=4, learning_rate=1e-30, resume=checkpoint)[1]
    assert (stopped.epochs, again.epochs) == (2, 5)


def test_a_tilde_names_the_home_directory_in_resume_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "overrides.json").write_text('["seed=3"]')
    assert train.complete(["resume_from=~/run"]) == ["seed=3", "resume_from=~/run"]
    assert train.complete(["resume_from=~run"]) == ["resume_from=~run"]


def test_a_new_run_needs_a_directory(adept_here: Run) -> None:
    done = adept_here("train")
    assert (done.returncode, "output_dir must be given" in done.stderr) == (2, True)


def test_noise_aware_training_asks_for_noise_at_every_budget_in_the_range(tmp_path: Path) -> None:
    asked: list[float] = []

    def build(epsilon: float) -> Mechanism:
        asked.append(epsilon)
        return SqrtNLaplace(epsilon=epsilon)

    _, noisy = small_fit(tmp_path / "noisy", epsilon=[2.0, 50.0], mechanism=build)
    assert 2.0 <= min(asked) < 5 < 20 < max(asked) <= 50.0
    _, plain = small_fit(tmp_path / "plain", mechanism=build)
    assert plain.validation_loss < noisy.validation_loss


def books() -> dict[int, Tensor]:
    torch.manual_seed(0)
    return {size: torch.nn.functional.normalize(torch.randn(size, 4)) for size in (2, 6)}


def test_a_validation_loss_is_the_same_whenever_it_is_asked_and_takes_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Autoencoder(ModelConfig(embedding_dim=8, hidden_dim=16, latent_dim=4), vocabulary_size=30, clip="l2")
    task = AdeptModule(
        vocabulary_size=30, network=model, randomise=partial(draw_codewords, books=books(), clip_norm=1.0)
    )
    losses: list[float] = []
    monkeypatch.setattr(task, "log", lambda name, loss, **_: losses.append(loss.item()))
    task.eval()
    tokens = torch.randint(5, 30, (8, 6))
    before = torch.get_rng_state()
    for _ in range(5):
        task.validation_step(tokens, 0)
    assert torch.equal(torch.get_rng_state(), before)
    assert len(set(losses)) == 1
    for _ in range(5):
        task.training_step(tokens)  # these do draw
    assert len(set(losses)) == 6


def test_every_record_of_a_batch_has_a_codeword_of_a_codebook_of_its_own() -> None:
    latents, held = torch.nn.functional.normalize(torch.randn(1, 4)).repeat(3000, 1), books()
    chosen = draw_codewords(latents, books=held, clip_norm=1.0)
    kinds = [latents[:1], *held.values()]
    shares = [float((chosen[:, None] == kind[None]).all(dim=2).any(dim=1).float().mean()) for kind in kinds]
    assert sum(shares) == pytest.approx(1)
    assert shares == pytest.approx([1 / 3] * 3, abs=0.05)  # six standard deviations
    nearest = int((held[6] @ latents[0]).argmax())
    own = (chosen == held[6][nearest]).all(dim=1).float().mean()
    assert float(own) == pytest.approx(1 / 6, abs=0.05)  # every other one is beside it


def test_a_model_directory_is_complete_and_tells_where_it_comes_from(tiny_run: Path) -> None:
    assert {p.name for p in (tiny_run / "model").iterdir()} == {
        "config.json",
        "model.safetensors",
        "codebooks.safetensors",
        "codec.json",
        "codec.safetensors",
        "tokenizer.json",
        "README.md",
    }
    model, _ = load_model(tiny_run)
    assert (model.training_data.name, model.training_data.public, model.training_data.records) == (
        "air_travel",
        True,
        400,
    )
    assert not [p for p in tiny_run.rglob("*") if "=" in p.name]


def test_users_files_count_as_private_unless_declared_public(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("\n".join(TEXTS * 3))
    for declared, public in ((None, False), (True, True)):
        config = tiny_config(tmp_path / f"run-{declared}", epochs=1)
        config.data.name, config.data.path, config.data.public = "files", str(tmp_path), False
        config.training_data.public = declared
        train.run(config)
        model, _ = load_model(config.output_dir)
        assert model.training_data.public is public
        card = (Path(config.output_dir) / "model" / "README.md").read_text()
        assert ("PRIVATE" in card) is not public


def test_no_private_utterance_is_left_in_a_run_directory(tmp_path: Path) -> None:
    sentence = "the quick brown zebra phones nobody"
    (tmp_path / "train.txt").write_text("\n".join([sentence] * 20 + TEXTS))
    config = tiny_config(tmp_path / "run", epochs=1)
    config.data.name, config.data.path, config.data.public = "files", str(tmp_path), False
    train.run(config)
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or b"zebra phones" not in path.read_bytes()
    model, tokenizer = load_model(tmp_path / "run")
    with pytest.raises(ModelError, match="lists no public sentences, one of which mechanism=description would release"):
        Rewriter(model, tokenizer, mechanism=Description(epsilon=12.0), accept_private_model=True)


def test_a_model_of_private_text_holds_no_two_neighbouring_words_of_it(tmp_path: Path) -> None:
    """All bytes of its directory are searched, also of tables that number the words; a public model has the sentences."""
    for public in (False, True):
        config = tiny_config(tmp_path / f"run-{public}", epochs=1)
        config.data.name, config.data.path, config.data.public = "files", str(tmp_path), public
        config.training_data.public = public
        (tmp_path / "train.txt").write_text("\n".join(TEXTS * 5))
        train.run(config)
        held = b"".join(path.read_bytes() for path in (Path(config.output_dir) / "model").iterdir())
        found = [pair for text in TEXTS for pair in pairwise(text.lower().split()) if " ".join(pair).encode() in held]
        assert bool(found) is public
        assert (Path(config.output_dir) / "model" / "codec.json").exists() is public


def test_batches_are_reshuffled_by_epoch_and_padded_to_their_own_length() -> None:
    rows = [[4 + i] * (i % 9 + 1) for i in range(100)]
    loader = token_loader(rows, batch_size=10, seed=0)
    sampler = cast(LengthBatchSampler, loader.sampler)
    orders = {}
    for name, epoch in (("first", 0), ("second", 1), ("first again", 0)):
        sampler.set_epoch(epoch)
        batches = [cast(Tensor, batch).tolist() for batch in loader]
        assert sorted(max(row) - 4 for batch in batches for row in batch) == list(range(100))
        orders[name] = batches
    assert orders["first"] == orders["first again"] != orders["second"]
    assert len(loader) == 10
    assert pad([[4], [5, 6]]).tolist() == [[4, 0], [5, 6]]


def test_lightning_asks_for_a_new_order_each_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    set_epoch = LengthBatchSampler.set_epoch
    monkeypatch.setattr(
        LengthBatchSampler,
        "set_epoch",
        lambda self, epoch: (seen.append(epoch) if self.order is not None else None, set_epoch(self, epoch))[1],
    )
    small_fit(tmp_path, epochs=3)
    assert sorted(set(seen)) == [0, 1, 2]


def test_the_learning_rate_falls_linearly_also_if_a_run_resumes_with_more_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    step = torch.optim.AdamW.step

    def watched(self: torch.optim.AdamW, *args: Any, **options: Any) -> Any:
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    small_fit(tmp_path, epochs=2, learning_rate=0.01, batch_size=len(TEXTS))
    small_fit(
        tmp_path,
        epochs=5,
        learning_rate=0.01,
        batch_size=len(TEXTS),
        resume=tmp_path / "checkpoints" / "last.ckpt",
    )
    assert rates == pytest.approx([0.01, 0.005, 0.006, 0.004, 0.002])


@pytest.mark.parametrize("validated", [True, False])
def test_a_training_that_diverges_is_an_error_of_the_learning_rate(tmp_path: Path, validated: bool) -> None:
    parts = Parts(trainer={} if validated else {"limit_val_batches": 0})
    with pytest.raises(ConfigurationError, match=r"training diverged.*lower training\.learning_rate=1e\+30"):
        small_fit(tmp_path, learning_rate=1e30, parts=parts)


def test_only_records_that_were_read_count_and_those_of_a_resumed_run_too(tmp_path: Path) -> None:
    """Three batches of four records in each epoch, and a run that has nothing left to train."""
    few = Parts(trainer={"limit_train_batches": 3})
    first = small_fit(tmp_path, epochs=2, parts=few)[1]
    last = tmp_path / "checkpoints" / "last.ckpt"
    more = small_fit(tmp_path, epochs=3, parts=few, resume=last)[1]
    idle = small_fit(tmp_path, epochs=3, parts=few, resume=last)[1]
    read = [round(result.records_per_second * result.seconds) for result in (first, more, idle)]
    assert read == [24, 36, 36]
    assert first.seconds < more.seconds == idle.seconds
    assert 12 < idle.tokens_per_second * idle.seconds / 3 < 12 * 8


def test_an_epoch_that_is_cut_by_steps_is_validated_and_resumed(tmp_path: Path) -> None:
    result = small_fit(tmp_path, epochs=9, parts=Parts(trainer={"max_steps": 12}))[1]  # an epoch and a half
    saved = [torch.load(tmp_path / "checkpoints" / name, weights_only=True) for name in ("best.ckpt", "last.ckpt")]
    assert [content["global_step"] for content in saved] == [12, 12]
    assert result.epochs == 2
    small_fit(tmp_path, epochs=9, parts=Parts(trainer={"max_steps": 24}), resume=tmp_path / "checkpoints" / "last.ckpt")
    rows = list(csv.DictReader((tmp_path / "metrics.csv").read_text().splitlines()))
    assert [int(row["step"]) for row in rows] == [8, 12, 20, 24]
    rates = [1, 1 / 2, 1 / 3, 1 / 4]  # of the first run's two epochs, and then of three and one more, as one was cut
    assert [float(row["learning_rate"]) / 2e-3 for row in rows] == pytest.approx(rates)
    assert all(row["validation_loss"] for row in rows)


class Killed(Callback):
    """A callback that ends a run as a crash does, in one step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if trainer.global_step == self.step:
            raise EOFError


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_steps": 30},
        {"max_steps": 100},
        {"accumulate_grad_batches": 3, "max_steps": 13},
        {"val_check_interval": 0.5},
        {"val_check_interval": 5},
        {"check_val_every_n_epoch": 2},
        {"check_val_every_n_epoch": 2, "max_steps": 30},
        {"limit_val_batches": 0},
    ],
)
def test_a_run_that_was_killed_goes_on_as_the_run_that_was_not(tmp_path: Path, options: dict[str, Any]) -> None:
    """Epochs, steps, learning rates and what was validated; the order of random numbers is not restored."""

    def table(name: str) -> list[Any]:
        rows = csv.DictReader((tmp_path / name / "metrics.csv").read_text().splitlines())
        return [
            (row["epoch"], row["step"], float(row["learning_rate"]), bool(row.get("validation_loss"))) for row in rows
        ]

    whole = small_fit(tmp_path / "whole", epochs=4, parts=Parts(trainer=options))[1]
    step = 7 if "accumulate_grad_batches" in options else 21  # in the third epoch
    with pytest.raises(EOFError):
        small_fit(tmp_path / "cut", epochs=4, parts=Parts(trainer=options, callbacks=(Killed(step),)))
    last = tmp_path / "cut" / "checkpoints" / "last.ckpt"
    resumed = small_fit(tmp_path / "cut", epochs=4, parts=Parts(trainer=options), resume=last)[1]
    assert table("cut") == table("whole")
    assert (resumed.epochs, math.isnan(resumed.validation_loss)) == (whole.epochs, math.isnan(whole.validation_loss))
    read = [result.records_per_second * result.seconds for result in (whole, resumed)]
    assert read[0] == pytest.approx(read[1])


@pytest.mark.parametrize("epsilon", [0, -1.0, [4, 2], [1], "x", [1, float("inf")]])
def test_impossible_budgets_for_training_are_refused(epsilon: object) -> None:
    with pytest.raises(ConfigurationError, match=r"training\.epsilon"):
        TrainingConfig(epsilon=epsilon)


@pytest.mark.parametrize("options", [{"learning_rate": 0.0}, {"batch_size": 0}, {"patience": -1}])
def test_impossible_training_settings_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=f"training.{next(iter(options))}"):
        TrainingConfig(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"kind": "subjects"}, {"topics": 1}])
def test_impossible_content_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=r"training\.content"):
        ContentConfig(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "expected"), [(LearnedCodebook, "topics"), (SqrtNLaplace, "none")])
def test_auto_content_is_for_learned_codebooks(kind: type[Mechanism], expected: str) -> None:
    assert TrainingConfig().for_mechanism(kind).content.kind == expected
    asked = TrainingConfig(content=ContentConfig(kind="topics"))
    assert asked.for_mechanism(kind).content.kind == "topics"


@pytest.mark.parametrize("public", [True, False])
def test_a_model_for_l1_has_no_codec_or_codebooks_and_estimates_from_public_text(tmp_path: Path, public: bool) -> None:
    config = tiny_config(tmp_path / "run", clip="l1", epochs=1)
    config.training_data.public = public
    train.run(config)
    files = {path.name for path in (tmp_path / "run" / "model").iterdir()}
    assert files == {"config.json", "model.safetensors", "tokenizer.json", "README.md"}
    rewriter = Rewriter.from_pretrained(tmp_path / "run", mechanism=L1Laplace(epsilon=8.0), accept_private_model=True)
    assert rewriter.model.sentences is None
    assert (expectation(rewriter) is not None) is public
    assert expectation(rewriter, Corpus(TEXTS)) is not None
