"""DP-SGD of `benchmarks/dp_sgd.py`: no example moves a step by more than its clip, and noise is added once a step."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("opacus", reason="the extra dp-sgd is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook")  # Opacus has one where words need no gradient
CLIP, DENOMINATOR = 0.02, 4
LENGTHS = (2, 5, 9, 3, 7)


@pytest.fixture
def dp_sgd(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent.parent / "benchmarks"), *sys.path])
    import dp_sgd

    return dp_sgd


@pytest.fixture
def game(dp_sgd: ModuleType) -> tuple[Any, list[tuple[Tensor, Tensor]]]:
    """A model of five labels whose vectors alone learn, and five examples in three parts."""
    torch.manual_seed(1)
    model = dp_sgd.Labelled(dp_sgd.Decoder(50), 5)
    nn.init.normal_(model.vectors.weight)
    for weights in model.decoder.parameters():
        weights.requires_grad = False
    rows = [[*torch.randint(4, 50, (length,)).tolist(), dp_sgd.END] for length in LENGTHS]
    labels = torch.tensor([0, 1, 2, 1, 0])
    parts = [[0, 1], [2, 3], [4]]
    return model, [(dp_sgd.pad([rows[number] for number in part]), labels[part]) for part in parts]


def moved(dp_sgd: ModuleType, model: Any, parts: list[tuple[Tensor, Tensor]], *, noise: float) -> Tensor:
    """Return the distance of one step of size one."""
    weights = model.vectors.weight
    before = weights.detach().clone()
    sgd = torch.optim.SGD([weights], lr=1.0)
    dp_sgd.private_step(*dp_sgd.made_private(model, sgd, noise=noise, clip=CLIP, denominator=DENOMINATOR), parts)
    return before - weights.detach()


def test_a_step_is_the_sum_of_gradients_that_were_clipped_one_by_one(
    dp_sgd: ModuleType, game: tuple[Any, list[tuple[Tensor, Tensor]]]
) -> None:
    """Were the batch's mean clipped, one example could be all of it."""
    model, parts = game
    examples = [
        (tokens[place : place + 1], own[place : place + 1]) for tokens, own in parts for place in range(len(own))
    ]
    summed = torch.zeros_like(model.vectors.weight)
    for example in examples:
        (gradient,) = torch.autograd.grad(model(*example).sum(), [model.vectors.weight])
        assert gradient.norm() > CLIP
        summed += gradient * (CLIP / gradient.norm())
    step = moved(dp_sgd, model, parts, noise=0.0)
    assert torch.allclose(step, summed / DENOMINATOR, atol=1e-6)


def test_noise_of_the_stated_size_is_added_once(
    dp_sgd: ModuleType, game: tuple[Any, list[tuple[Tensor, Tensor]]]
) -> None:
    """320 numbers, seeded: nothing here is random."""
    noise = moved(dp_sgd, *game, noise=30.0).std()
    assert float(noise) == pytest.approx(30.0 * CLIP / DENOMINATOR, rel=0.15)


def test_more_steps_need_more_noise(dp_sgd: ModuleType) -> None:
    pytest.importorskip("dp_accounting")
    assert 1 < dp_sgd.noise(1.0, 0.1, 10) < dp_sgd.noise(1.0, 0.1, 50) < dp_sgd.noise(0.5, 0.1, 50)
