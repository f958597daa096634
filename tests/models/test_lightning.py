"""The core's classes work in a Trainer that somebody else wrote: checkpoints, precision, devices, steps."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor

import adept
from adept.errors import ConfigurationError, DataError
from adept.lightning import AdeptModule, UtteranceDataModule
from adept.models.lightning import LengthBatchSampler, token_loader
from adept.models.lstm_autoencoder import Adept
from adept.models.tokenizer import Tokenizer
from adept.models.training import quiet_lightning

TEXTS = [f"{verb} {noun} {place}" for verb in ("show", "list") for noun in ("flights", "fares") for place in "abcdefgh"]
SIZES = {"embedding_dim": 8, "hidden_dim": 16, "latent_dim": 4}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet_lightning():
        yield


def own_trainer(directory: Path, **options: Any) -> pl.Trainer:
    """A Trainer as a user writes it."""
    options = {"max_epochs": 2, "accelerator": "cpu", "logger": False, "enable_progress_bar": False} | options
    return pl.Trainer(default_root_dir=directory, enable_model_summary=False, **options)


def parts() -> tuple[AdeptModule, UtteranceDataModule]:
    """A small module, and a data module of texts."""
    tokenizer = Tokenizer.train(TEXTS)
    pl.seed_everything(0, verbose=False)
    module = AdeptModule(vocabulary_size=len(tokenizer), **SIZES, learning_rate=0.01)
    return module, UtteranceDataModule(TEXTS, TEXTS[::4], tokenizer=tokenizer, batch_size=4)


def test_the_module_trains_in_a_users_trainer_and_comes_back_from_its_checkpoint(tmp_path: Path) -> None:
    module, data = parts()
    trainer = own_trainer(tmp_path, max_epochs=20)
    trainer.fit(module, data)
    losses = trainer.callback_metrics
    assert float(losses["validation_loss"]) < 2.2
    (checkpoint,) = tmp_path.rglob("*.ckpt")
    again = AdeptModule.load_from_checkpoint(checkpoint)
    assert dict(again.hparams) == dict(module.hparams)
    assert all(isinstance(value, int | float | str) for value in again.hparams.values())
    weights = module.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in again.state_dict().items())


def test_a_trainer_tests_the_third_texts(tmp_path: Path) -> None:
    module, tokenizer = parts()[0], Tokenizer.train(TEXTS)
    data = UtteranceDataModule(TEXTS, TEXTS[:4], TEXTS[4:8], tokenizer=tokenizer)
    trainer = own_trainer(tmp_path)
    [measured] = trainer.test(module, data, verbose=False)
    swapped = UtteranceDataModule(TEXTS, TEXTS[4:8], tokenizer=tokenizer)
    [same] = trainer.validate(module, swapped, verbose=False)
    assert measured == {"test_loss": same["validation_loss"]}


def test_several_loaders_are_validated_and_tested(tmp_path: Path) -> None:
    module, data = parts()[0], UtteranceDataModule(TEXTS, TEXTS[:4], TEXTS[4:8], tokenizer=Tokenizer.train(TEXTS))
    loaders = [data.val_dataloader(), data.test_dataloader()]
    own_trainer(tmp_path).fit(module, data.train_dataloader(), loaders)
    for measure in (own_trainer(tmp_path).validate, own_trainer(tmp_path).test):
        [first], [second] = (measured.values() for measured in measure(module, loaders, verbose=False))
        assert first != second


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "bf16-mixed"},
        {"precision": "64-true"},
        {"precision": "bf16-true"},
        {"max_steps": 9, "max_epochs": None},
        {"fast_dev_run": True},
        {"overfit_batches": 2},
    ],
)
def test_options_of_the_trainer_are_the_users(tmp_path: Path, options: dict[str, Any]) -> None:
    module, data = parts()
    trainer = own_trainer(tmp_path, **options)
    trainer.fit(module, data)
    assert torch.isfinite(trainer.callback_metrics["validation_loss"])
    assert trainer.global_step == {"max_steps": 9, "fast_dev_run": 1, "overfit_batches": 4}.get(next(iter(options)), 16)


@pytest.mark.parametrize(
    ("options", "falls"),
    [({"max_epochs": 3}, True), ({"max_steps": 24, "max_epochs": -1}, True), ({"max_epochs": -1}, False)],
)
def test_the_learning_rate_falls_to_zero_by_the_end_if_the_end_is_known(
    tmp_path: Path, options: dict[str, int], falls: bool
) -> None:
    rates: list[float] = []

    class Watch(pl.Callback):
        def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
            rates.append(trainer.optimizers[0].param_groups[0]["lr"])
            trainer.should_stop = len(rates) == 3

    module, data = parts()
    own_trainer(tmp_path, callbacks=[Watch()], **options).fit(module, data)
    assert len(rates) == 3
    assert rates == pytest.approx([0.01, 0.01 * 2 / 3, 0.01 / 3] if falls else [0.01] * 3)


def test_a_subclass_has_options_and_a_precision_of_its_own(tmp_path: Path) -> None:
    class Weighted(AdeptModule):
        def __init__(self, weight: float, *, word: str = "x", **options: Any) -> None:
            super().__init__(**options)

    module, data = Weighted(0.5, vocabulary_size=len(Tokenizer.train(TEXTS)), **SIZES), parts()[1]
    trainer = own_trainer(tmp_path, max_epochs=1)
    trainer.fit(module, data)
    again = Weighted.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)  # type: ignore[union-attr]
    assert (again.hparams["weight"], again.hparams["word"], again.hparams["latent_dim"]) == (0.5, "x", 4)
    torch.set_default_dtype(torch.float64)
    try:
        own_trainer(tmp_path, max_epochs=1).fit(*parts())
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_trainer_that_overfits_reads_the_same_batches_in_each_epoch(tmp_path: Path) -> None:
    read: list[list[list[int]]] = []

    class Watch(pl.Callback):
        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Tensor, batch_idx: int) -> None:
            read.append(batch.tolist())

    own_trainer(tmp_path, callbacks=[Watch()], overfit_batches=2).fit(*parts())
    assert [len(batch) for batch in read] == [4] * 4
    assert read[:2] == read[2:]


@pytest.mark.slow
def test_several_devices_share_the_batches_of_an_epoch(tmp_path: Path) -> None:
    """In a process of its own, as two processes are forked from it."""
    code = f"""
import torch; torch.set_num_threads(1)
from test_lightning import own_trainer, parts, quiet_lightning
from pathlib import Path
module, data = parts()
with quiet_lightning():
    trainer = own_trainer(Path({str(tmp_path)!r}), devices=2, strategy="ddp_fork")
    trainer.fit(module, data)
trained = torch.load(next(Path({str(tmp_path)!r}).rglob("*.ckpt")), weights_only=True)
print(trained["global_step"], float(trainer.callback_metrics["validation_loss"]))
"""
    here = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", f"import sys; sys.path.insert(0, {here!r})\n{code}"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    steps, loss = done.stdout.split()[-2:]
    assert int(steps) == 8  # 8 batches an epoch, of which each device has 4
    assert float(loss) > 0


def test_each_device_has_batches_of_its_own_and_as_many_as_the_others() -> None:
    lengths = [i % 9 + 1 for i in range(130)]
    alone = list(LengthBatchSampler(lengths, batch_size=10, seed=0))
    shares = [list(LengthBatchSampler(lengths, batch_size=10, seed=0, rank=rank, devices=4)) for rank in range(4)]
    assert [len(share) for share in shares] == [4] * 4
    together = [batch for row in zip(*shares, strict=True) for batch in row]
    assert together[:13] == alone
    assert together[13:] == alone[:3]  # so that nobody waits


def test_one_string_is_no_list_of_texts_and_a_generator_loses_none() -> None:
    tokenizer = Tokenizer.train(TEXTS)
    with pytest.raises(DataError, match="texts must be a list of strings, got one string"):
        UtteranceDataModule("show flights", TEXTS, tokenizer=tokenizer)
    drawn = UtteranceDataModule((text for text in TEXTS), iter(TEXTS), tokenizer=tokenizer)  # type: ignore[arg-type]
    assert [len(drawn.rows), len(drawn.unseen[0])] == [len(TEXTS)] * 2


def test_token_ids_need_no_tokenizer_and_texts_do() -> None:
    rows = [[4 + i, 3] for i in range(5)]
    batches = list(UtteranceDataModule(rows, rows, batch_size=5).train_dataloader())
    assert sorted(batches[0].tolist()) == rows
    assert len(token_loader(rows, batch_size=2)) == 3
    with pytest.raises(ConfigurationError, match="tokenizer must be given with texts"):
        UtteranceDataModule(TEXTS, TEXTS)


def test_noise_in_training_reaches_the_decoder_and_no_checkpoint(tmp_path: Path) -> None:
    asked: list[tuple[int, ...]] = []

    def randomise(latents: Tensor) -> Tensor:
        asked.append(tuple(latents.shape))
        return latents

    tokenizer = Tokenizer.train(TEXTS)
    module = AdeptModule(vocabulary_size=len(tokenizer), **SIZES, randomise=randomise)
    own_trainer(tmp_path, max_epochs=1).fit(module, UtteranceDataModule(TEXTS, TEXTS[:8], tokenizer=tokenizer))
    assert asked[-2:] == [(32, 4), (8, 4)]  # after a first look at the validation texts
    assert "randomise" not in module.hparams


def test_a_network_with_an_encoder_of_its_own_is_no_checkpoint_of_this_class() -> None:
    with pytest.raises(ConfigurationError, match="load the model with adept"):
        AdeptModule(vocabulary_size=9, encoder=False)
    assert AdeptModule(vocabulary_size=9, encoder=False, network=Adept(vocabulary_size=9)).model


def test_a_checkpoint_of_adept_train_is_one_of_this_class(tiny_l1_run: Path, topic_run: Path) -> None:
    from adept.models.saved_model import Autoencoder

    module = AdeptModule.load_from_checkpoint(tiny_l1_run / "checkpoints" / "best.ckpt")
    model = Autoencoder.from_pretrained(tiny_l1_run / "model")
    assert module.model.clip == model.clip == "l1"
    own = module.model.state_dict()
    assert all(torch.equal(own[name], value) for name, value in model.state_dict().items())
    with pytest.raises(ConfigurationError, match=r"Autoencoder\.from_pretrained"):
        AdeptModule.load_from_checkpoint(topic_run / "checkpoints" / "best.ckpt")


def test_the_short_name_is_imported_when_it_is_used() -> None:
    code = "import adept, sys; assert 'torch' not in sys.modules; adept.lightning.AdeptModule; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lines_of_the_core_are_few() -> None:
    """The papers' ADePT knows nothing of alphabets, codebooks and cards."""
    from adept.models import lightning, lstm_autoencoder

    texts = [Path(str(module.__file__)).read_text("utf-8") for module in (lightning, lstm_autoencoder)]
    assert sum(len(text.splitlines()) for text in texts) <= 600
    assert not [word for text in texts for word in ("codebook", "alphabet", "model_card") if f"import {word}" in text]


def test_the_core_is_short_and_knows_nothing_of_lists_and_files() -> None:
    """Encoder, clip, decoder, loss, module and data module, with the tokenizer: at most 900 lines in six files."""
    package = Path(adept.__file__).parent
    core = [package / "models" / f"{name}.py" for name in ("lstm_autoencoder", "lightning", "tokenizer")]
    texts = [path.read_text("utf-8") for path in (*core, package / "mechanisms" / "clip_to_grid.py")]
    assert sum(len(text.splitlines()) for text in texts) <= 900
    others = ("codebooks", "sentences", "model_card", "saved_model", "alphabets", "cells", "policy", "training")
    imported = {
        part
        for text in texts
        for line in re.findall(r"^ *(?:from|import) (\S+)", text, re.M)
        for part in line.split(".")
    }
    assert {"corpus", "lstm_autoencoder"} <= imported  # or nothing would be looked at
    assert not imported & set(others)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("clip", value) for value in ("l3", None)),
        *(("clip_norm", value) for value in (0, -1.0, "x")),
        *((name, value) for name in ("dropout", "word_dropout") for value in (2, "x")),
        *((name, 0) for name in ("num_layers", "directions", "latent_dim", "hidden_dim", "embedding_dim")),
        *(("vocabulary_size", value) for value in (0, "x", 10**9)),
        *((name, value) for name in ("learning_rate", "weight_decay") for value in (-1.0, "x")),
        ("tied_embeddings", "x"),
        *((name, value) for name in ("encoder", "network") for value in ("x", 1)),
        *(("randomise", value) for value in (3, "x")),
        ("clip", ["l1"]),
    ],
)
def test_a_module_refuses_an_impossible_value_in_one_line(option: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=rf"^((model|training)\.)?{option} must be .*got [^\n]+$"):
        AdeptModule(**{"vocabulary_size": 9, **SIZES, option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("batch_size", value) for value in (0, -1, 1.5, "x")),
        ("max_length", 0),
        ("max_length", "x"),
        ("tokenizer", "x"),
        *(("seed", value) for value in ("x", 1.5, None)),
        ("train", []),
        *(("train", value) for value in (None, 3, [3], [[]], [[-1, 3]], [[1.5]], [["a"]], [[10**30]], [None])),
        *((name, None) for name in ("validation", "test")),
    ],
)
def test_a_data_module_refuses_an_impossible_value_in_one_line(option: str, value: object) -> None:
    given = {"train": TEXTS, "validation": TEXTS, "tokenizer": Tokenizer.train(TEXTS), option: value}
    with pytest.raises(ConfigurationError, match=rf"^{option} must (be|hold) .*got [^\n]+$"):
        UtteranceDataModule(**given)  # type: ignore[arg-type]
