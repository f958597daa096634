"""Training's own arithmetic is that of the modules it stands for, in value and gradient, dropout's distribution included."""

import pytest
import torch
from torch import Tensor, nn

from adept.models.network import recurrence
from adept.models.network.recurrence import Dropout, read

STEPS, ROWS, WORDS, BESIDE, UNITS = 7, 5, 12, 6, 10


@pytest.fixture
def parts() -> tuple[nn.LSTM, list[Tensor]]:
    torch.manual_seed(0)
    shapes = (STEPS, ROWS, WORDS), (ROWS, BESIDE), (ROWS, UNITS), (ROWS, UNITS)
    return nn.LSTM(WORDS + BESIDE, UNITS, batch_first=True), [torch.randn(s, requires_grad=True) for s in shapes]


def gradients(outputs: Tensor, lstm: nn.LSTM, given: list[Tensor]) -> list[Tensor]:
    """The gradients of a weighted sum of outputs (T, B, H) with regard to weights and inputs."""
    weights = torch.linspace(-1, 1, outputs.numel()).view(outputs.shape)
    return list(torch.autograd.grad((outputs * weights).sum(), [*lstm.parameters(), *given]))


def expected(lstm: nn.LSTM, given: list[Tensor]) -> Tensor:
    words, beside, hidden, cell = given
    inputs = torch.cat([words, beside.expand(STEPS, -1, -1)], dim=2)
    outputs: Tensor = lstm(inputs.transpose(0, 1), (hidden[None], cell[None]))[0].transpose(0, 1)
    return outputs


def test_outputs_and_every_gradient_are_those_of_the_module(parts: tuple[nn.LSTM, list[Tensor]]) -> None:
    lstm, given = parts
    lstm.eval()  # float32
    words, beside, *state = given
    ours, theirs = read(lstm, words, beside, (state[0], state[1])), expected(lstm, given)
    assert torch.allclose(ours, theirs, atol=1e-6)
    for one, other in zip(gradients(ours, lstm, given), gradients(theirs, lstm, given), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_bfloat16_is_for_training_alone_and_near_enough(
    parts: tuple[nn.LSTM, list[Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recurrence, "has_bfloat16_units", lambda: True)
    lstm, given = parts
    words, beside, *state = given
    exact = read(lstm.eval(), words, beside, (state[0], state[1]))
    ours, theirs = read(lstm.train(), words, beside, (state[0], state[1])), expected(lstm, given)
    assert torch.allclose(exact, theirs, atol=1e-6)
    assert 0 < (ours - theirs).abs().max() < 0.02
    for one, other in zip(gradients(ours, lstm, given), gradients(theirs, lstm, given), strict=True):
        assert (one - other).norm() < 0.02 * other.norm()
    monkeypatch.setattr(recurrence, "has_bfloat16_units", lambda: False)
    assert torch.allclose(read(lstm, words, beside, (state[0], state[1])), theirs, atol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_dropout_drops_its_share_independently_and_keeps_the_mean(share: float) -> None:
    # 900,001 numbers: shares have a standard deviation below 5.3e-4, so 6 of them fail once in 1e8.
    torch.manual_seed(0)
    dropout = Dropout(share).train()
    numbers = torch.ones(900_001, requires_grad=True)
    left = dropout(numbers)
    dropped = left == 0
    assert abs(dropped.float().mean() - share) < 3.2e-3
    for step in (1, 2, 3, 4):
        assert abs((dropped[step:] & dropped[:-step]).float().mean() - share**2) < 3.2e-3
        assert abs(dropped[step - 1 :: 4].float().mean() - share) < 6.4e-3
    assert torch.allclose(left[~dropped], torch.tensor(1 / (1 - share)), rtol=1e-4)
    assert torch.equal(torch.autograd.grad(left.sum(), numbers)[0], left.detach())
    assert not torch.equal(dropout(numbers), left)
    assert dropout.eval()(numbers) is numbers or torch.equal(dropout.eval()(numbers), numbers)
    assert torch.equal(Dropout(0.0).train()(numbers), numbers)
