"""Counting equal rows changes the cost of logistic regression and not its answer."""

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from adept.evaluation.softmax import Features, best_labels, softmax_regression


def test_counted_rows_have_the_weights_of_repeated_ones_by_another_hand() -> None:
    rng = np.random.default_rng(0)
    rows, counts = rng.normal(size=(12, 3)).astype(np.float32), rng.integers(0, 6, size=(12, 3)).astype(np.float32)
    places, labels = np.nonzero(np.ones_like(counts))
    theirs = LogisticRegression(C=0.5, tol=1e-8).fit(rows[places], labels, sample_weight=counts[places, labels])
    features = Features.dense(torch.from_numpy(rows))
    ours = softmax_regression(features, torch.from_numpy(counts), strength=0.5)
    np.testing.assert_allclose(ours[:-1].numpy(), theirs.coef_.T, atol=0.01)
    assert best_labels(features, ours).tolist() == theirs.predict(rows).tolist()
    simple = softmax_regression(features, torch.from_numpy(counts), strength=0.001)
    assert simple[:-1].abs().max() < ours[:-1].abs().max() / 5


def test_sparse_and_dense_features_agree() -> None:
    rows = torch.eye(4).repeat(2, 1)
    counts = torch.tensor([[3.0, 1.0], [0.0, 2.0], [5.0, 0.0], [1.0, 1.0]]).repeat(2, 1)
    dense = softmax_regression(Features.dense(rows), counts, strength=1.0)
    sparse = softmax_regression(Features.sparse(csr_matrix(rows.numpy())), counts, strength=1.0)
    torch.testing.assert_close(dense, sparse, atol=1e-4, rtol=0)


def test_blocks_side_by_side_have_the_weights_of_one_matrix() -> None:
    """By another hand: scikit-learn on the joined matrix, whose columns of 3 and of 2 no other split or order would fit."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 5)).astype(np.float32)
    labels = (rows @ rng.normal(size=(5, 3))).argmax(axis=1)
    left, right = Features.sparse(csr_matrix(rows[:, :3])), Features.dense(torch.from_numpy(rows[:, 3:]))
    features = left.beside(right)
    ours = softmax_regression(features, torch.eye(3)[labels], strength=2.0)
    theirs = LogisticRegression(C=2.0, tol=1e-8).fit(rows, labels)
    assert features.width == 5
    np.testing.assert_allclose(ours[:-1].numpy(), theirs.coef_.T, atol=0.01)
    assert best_labels(features, ours).tolist() == theirs.predict(rows).tolist()
