"""Logistic regression on counts of labels, so that many equal rows cost as much as one row.

The objective is that of scikit-learn's ``LogisticRegression``, strength * sum over records of -log
p(label | features) + |W|^2 / 2, with a free intercept. L-BFGS minimises it from a given start.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

MAX_STEPS, HISTORY_STEPS = 100, 5  # of L-BFGS; after so many no test figure moves any more
MIN_GAIN = 1e-6  # nats a record that a step must gain
COMMONNESS = 0.5, 0.55, 0.6, 0.65, 0.7, 0.75  # shares of log p(label) that predictions may be free of
NOISY_COMMONNESS = 0.4  # where labels were randomised


@dataclass(frozen=True)
class Features:
    """Features (m, d), float32: blocks of columns, dense or sparse, each with its transpose.

    ``known`` are fixed logits (m, L) or (1, L), which are added to the logits of the weights.
    """

    blocks: tuple[tuple[Tensor, Tensor], ...]
    known: Tensor | None = None

    @classmethod
    def of(cls, *matrices: Tensor | csr_matrix, known: Tensor | None = None) -> "Features":
        """Return features that hold matrices (m, d) side by side."""
        return cls(tuple(map(_with_transpose, matrices)), known)

    @property
    def width(self) -> int:
        """Number d of columns."""
        return sum(rows.shape[1] for rows, _ in self.blocks)

    def scores(self, weights: Tensor) -> Tensor:
        """Return the logits (m, L) of weights (d + 1, L), the intercept last."""
        scores = weights[-1] if self.known is None else weights[-1] + self.known
        for (rows, _), slopes in zip(self.blocks, self._split(weights), strict=True):
            scores = torch.addmm(scores, rows, slopes)
        return scores

    def gradient(self, errors: Tensor, weights: Tensor, *, ridge: float) -> Tensor:
        """Return the gradient (d + 1, L) from errors (m, L), and from weights times ``ridge``."""
        pairs = zip(self.blocks, self._split(weights), strict=True)
        slopes = [torch.addmm(slopes * ridge, columns, errors) for (_, columns), slopes in pairs]
        return torch.cat([*slopes, errors.sum(dim=0)[None]])

    def _split(self, weights: Tensor) -> tuple[Tensor, ...]:
        return torch.split(weights[:-1], [rows.shape[1] for rows, _ in self.blocks])


def _with_transpose(matrix: Tensor | csr_matrix) -> tuple[Tensor, Tensor]:
    if isinstance(matrix, Tensor):
        return matrix.float(), matrix.float().T.contiguous()
    return _sparse(matrix), _sparse(matrix.T.tocsr())


def _sparse(matrix: csr_matrix) -> Tensor:
    ends, columns = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
    values = torch.from_numpy(matrix.data.astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the layout is young
        return torch.sparse_csr_tensor(ends, columns, values, size=matrix.shape)


def softmax_regression(
    features: Features, counts: Tensor, *, strength: float, start: Tensor | None = None, steps: int = MAX_STEPS
) -> Tensor:
    """Return weights (d + 1, L), the intercept last.

    Args:
        features: (m, d).
        counts: number of records of each label that have these features, float32 (m, L).
        strength: scikit-learn's C; a smaller one gives a simpler classifier.
        start: weights to start from.
    """
    size = (features.width + 1, counts.shape[1])
    weights = torch.zeros(size) if start is None else start.clone()
    weights.requires_grad_()
    optimiser = torch.optim.LBFGS(
        [weights], max_iter=steps, history_size=HISTORY_STEPS, tolerance_change=MIN_GAIN, line_search_fn="strong_wolfe"
    )
    times = counts.sum(dim=1, keepdim=True)
    records = float(times.sum())
    ridge = 1 / (strength * records)

    @torch.no_grad()
    def loss() -> Tensor:
        logs = features.scores(weights).log_softmax(dim=1)
        value = ridge / 2 * weights[:-1].square().sum() - (counts * logs).sum() / records
        wrong = logs.exp_().mul_(times).sub_(counts).div_(records)
        weights.grad = features.gradient(wrong, weights, ridge=ridge)
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach()


def commonness(features: Features, weights: Tensor, counts: Tensor, *, noisy_labels: bool = False) -> Tensor:
    """Return each label's score offset (L,): a share of log p(label), between 1/2 and 3/4.

    Without the offset, a classifier of noise gives every text the commonest label. The share is
    chosen so that, on the records to which the weights were fitted, each label is predicted about
    as often as it occurs. For randomised labels the share is fixed. (Menon et al. 2021, section 4;
    ``docs/decisions.md``, "Common labels".)

    Args:
        features: (m, d).
        weights: (d + 1, L) of :func:`softmax_regression`.
        counts: the label counts to which the weights were fitted (m, L), at least one per label.
        noisy_labels: True if the labels were randomised.
    """
    times, labels = counts.sum(dim=1), counts.sum(dim=0)
    if noisy_labels:
        return NOISY_COMMONNESS * labels.log()
    scores = features.scores(weights)

    def misnamed(share: float) -> float:
        called = (scores - share * labels.log()).argmax(dim=1)
        return float((torch.zeros_like(labels).index_add_(0, called, times) - labels).abs().sum())

    return min(COMMONNESS, key=misnamed) * labels.log()


def best_labels(features: Features, weights: Tensor, common: Tensor) -> Tensor:
    """Return the index (m,) of each row's best label, with the offset of :func:`commonness`."""
    return (features.scores(weights) - common).argmax(dim=1)
