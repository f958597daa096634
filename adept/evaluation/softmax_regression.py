"""Logistic regression with one row for each distinct text, however many records have this text.

Each row has one count for each label: the number of records with this text and this label. The
weights W minimise |W|^2 / 2 - strength * (sum of log p(label | text) over all records), as in
scikit-learn's ``LogisticRegression``. |W| leaves out the intercept.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy
import torch
from torch import Tensor

from adept.mechanisms.policy import COMMONNESS, NOISY_COMMONNESS


@dataclass(frozen=True)
class Features:
    """A float32 matrix (m, d) of features, in dense or sparse blocks of columns.

    Each block is stored with its transpose. ``known`` holds fixed logits (m, L) or (1, L); `scores` adds them to the
    logits that it computes from the weights.
    """

    blocks: tuple[tuple[Tensor, Tensor], ...]
    known: Tensor | None = None

    @classmethod
    def of(cls, *matrices: "Tensor | scipy.sparse.csr_matrix", known: Tensor | None = None) -> "Features":
        """Build features from matrices with m rows each; each matrix is a block of columns."""
        return cls(tuple(map(_with_transpose, matrices)), known)

    @property
    def width(self) -> int:
        """Number d of columns of all blocks together."""
        return sum(rows.shape[1] for rows, _ in self.blocks)

    def scores(self, weights: Tensor) -> Tensor:
        """Return the logits (m, L) for weights (d + 1, L), whose last row is the intercept."""
        scores = weights[-1] if self.known is None else weights[-1] + self.known
        for (rows, _), slopes in zip(self.blocks, self._split(weights), strict=True):
            scores = torch.addmm(scores, rows, slopes)
        return scores

    def gradient(self, errors: Tensor, weights: Tensor, *, ridge: float) -> Tensor:
        """Return the gradient (d + 1, L) of the loss, given the errors (m, L) of the predictions.

        The gradient of the penalty is ``ridge`` times the weights, except for the intercept.
        """
        pairs = zip(self.blocks, self._split(weights), strict=True)
        slopes = [torch.addmm(slopes * ridge, columns, errors) for (_, columns), slopes in pairs]
        return torch.cat([*slopes, errors.sum(dim=0)[None]])

    def _split(self, weights: Tensor) -> tuple[Tensor, ...]:
        return torch.split(weights[:-1], [rows.shape[1] for rows, _ in self.blocks])


def _with_transpose(matrix: "Tensor | scipy.sparse.csr_matrix") -> tuple[Tensor, Tensor]:
    if isinstance(matrix, Tensor):
        return matrix.float(), matrix.float().T.contiguous()
    return _sparse(matrix), _sparse(matrix.T.tocsr())


def _sparse(matrix: "scipy.sparse.csr_matrix") -> Tensor:
    ends, columns = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
    values = torch.from_numpy(matrix.data.astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch warns that sparse CSR tensors are in beta
        return torch.sparse_csr_tensor(ends, columns, values, size=matrix.shape)


def softmax_regression(
    features: Features, counts: Tensor, *, strength: float, start: Tensor | None = None, steps: int = 100
) -> Tensor:
    """Fit the regression by L-BFGS; return weights (d + 1, L), whose last row is the intercept.

    The search ends after ``steps`` steps, or if one decreases the loss by less than 1e-6 nats per record.

    Args:
        counts: float32 (m, L); entry (i, l) is the number of records with the features of row i and label l.
        strength: scikit-learn's C; a smaller number gives a simpler classifier.
        start: weights from which the search starts; by default zeros.
    """
    weights = torch.zeros(features.width + 1, counts.shape[1], dtype=torch.float32) if start is None else start.clone()
    weights.requires_grad_()
    optimiser = torch.optim.LBFGS(
        [weights], max_iter=steps, history_size=5, tolerance_change=1e-6, line_search_fn="strong_wolfe"
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
    """Return numbers (L,) to subtract from the logits, so that common labels are not preferred.

    Without this subtraction, a classifier that was trained on noisy texts gives every text the commonest label. Each
    number is the logarithm of a label's frequency, times a factor that is the same for all labels. The factor is
    chosen from COMMONNESS so that each label is predicted about as often as it occurs in the training records. For
    randomised labels, the factor is NOISY_COMMONNESS.
    Source: Menon et al. 2021, section 4; ``docs/decisions.md``, "Common labels".

    Args:
        counts: the counts (m, L) to which ``weights`` were fitted, with at least one record of each label.
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
    """Subtract ``common`` from the logits; return the index (m,) of each row's largest logit."""
    return (features.scores(weights) - common).argmax(dim=1)
