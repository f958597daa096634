"""Counting equal rows changes the cost of logistic regression and not its answer."""

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from adept.evaluation.softmax_regression import Features, best_labels, commonness, softmax_regression


def test_counted_rows_have_the_weights_of_repeated_ones_by_another_hand() -> None:
    rng = np.random.default_rng(0)
    rows, counts = rng.normal(size=(12, 3)).astype(np.float32), rng.integers(0, 6, size=(12, 3)).astype(np.float32)
    places, labels = np.nonzero(np.ones_like(counts))
    theirs = LogisticRegression(C=0.5, tol=1e-8).fit(rows[places], labels, sample_weight=counts[places, labels])
    features = Features.of(torch.from_numpy(rows))
    ours = softmax_regression(features, torch.from_numpy(counts), strength=0.5)
    np.testing.assert_allclose(ours[:-1].numpy(), theirs.coef_.T, atol=0.01)
    assert features.scores(ours).argmax(dim=1).tolist() == theirs.predict(rows).tolist()
    simple = softmax_regression(features, torch.from_numpy(counts), strength=0.001)
    assert simple[:-1].abs().max() < ours[:-1].abs().max() / 5


def test_sparse_and_dense_features_agree() -> None:
    rows = torch.eye(4).repeat(2, 1)
    counts = torch.tensor([[3.0, 1.0], [0.0, 2.0], [5.0, 0.0], [1.0, 1.0]]).repeat(2, 1)
    dense = softmax_regression(Features.of(rows), counts, strength=1.0)
    sparse = softmax_regression(Features.of(csr_matrix(rows.numpy())), counts, strength=1.0)
    torch.testing.assert_close(dense, sparse, atol=1e-4, rtol=0)


def test_blocks_side_by_side_have_the_weights_of_one_matrix() -> None:
    """By another hand: scikit-learn on the joined matrix, whose columns of 3 and of 2 no other split or order would fit."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 5)).astype(np.float32)
    labels = (rows @ rng.normal(size=(5, 3))).argmax(axis=1)
    features = Features.of(csr_matrix(rows[:, :3]), torch.from_numpy(rows[:, 3:]))
    ours = softmax_regression(features, torch.eye(3)[labels], strength=2.0)
    theirs = LogisticRegression(C=2.0, tol=1e-8).fit(rows, labels)
    assert features.width == 5
    np.testing.assert_allclose(ours[:-1].numpy(), theirs.coef_.T, atol=0.01)
    assert features.scores(ours).argmax(dim=1).tolist() == theirs.predict(rows).tolist()


def test_a_label_is_recognised_though_its_word_is_commoner_with_a_commoner_label() -> None:
    """One record in ten says b, and .4 of the words are drawn again: b is said twice as often by the nine in ten who say a."""
    counts = torch.tensor([[0.9 * 0.8, 0.1 * 0.2], [0.9 * 0.2, 0.1 * 0.8], [0.9, 0.1]]) * 1000
    features = Features.of(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    weights = softmax_regression(features, counts, strength=100.0)
    assert features.scores(weights).argmax(dim=1).tolist() == [0, 0, 0]
    for times in (1, 50):  # however many records there are
        common = commonness(features, weights, counts * times)
        assert best_labels(features, weights, common).tolist() == [0, 1, 0]  # what says nothing has the commonest label


def test_labels_are_called_as_often_as_they_occur_if_a_share_of_the_prior_does_that() -> None:
    """Ten rows whose evidence for the label of one record in ten grows: the last one must have it, and at 3/4 no other has."""
    rows = torch.arange(10.0)[:, None]
    counts = torch.tensor([[0.9, 0.1]]).repeat(10, 1) * 100
    for last, share in ((1.09, 0.55), (0.60, 0.75), (5.0, 0.5), (0.1, 0.5)):  # log(9) / 2 = 1.10, log(9) / 4 = 0.55
        weights = torch.tensor([[0.0, last / 9], [0.0, -float(torch.tensor(9.0).log())]])
        torch.testing.assert_close(
            commonness(Features.of(rows), weights, counts), share * torch.tensor([900.0, 100.0]).log()
        )
