"""Denoising recovers what was released, from nothing but releases, and finds nothing in pure noise."""

import math

import pytest
import torch
from torch import Tensor

from adept.errors import ConfigurationError
from adept.mechanisms import JointResponse, LearnedCodebook, RandomizedResponse
from adept.rewriting import denoising

SIZE, DIM, LABELS = 32, 24, ("flight", "fare", "meal")
SHARES = torch.tensor([0.8, 0.15, 0.05])


def mechanism(epsilon: float, *, top: int = 1) -> LearnedCodebook:
    words = torch.nn.functional.normalize(torch.randn(SIZE, DIM, generator=torch.Generator().manual_seed(5)), dim=1)
    return LearnedCodebook(epsilon=epsilon, codewords=words, top=top)


def planted(kind: LearnedCodebook, records: int) -> tuple[Tensor, Tensor]:
    """Labels and own codewords (N,) of records whose rarer labels live on two codewords each."""
    generator = torch.Generator().manual_seed(1)
    labels = SHARES.multinomial(records, replacement=True, generator=generator)
    common = torch.randint(4, kind.count, (records,), generator=generator)
    rare = 2 * (labels - 1) + torch.randint(0, 2, (records,), generator=generator)
    return labels, torch.where(labels == 0, common, rare)


def released(kind: LearnedCodebook, codewords: Tensor) -> Tensor:
    latents = kind.simulate(kind.codewords[codewords], torch.Generator().manual_seed(2))
    return denoising.nearest_codewords(latents, kind.codewords)


def names(labels: Tensor) -> list[str]:
    return [LABELS[place] for place in labels.tolist()]


def shares(labels: Tensor, codewords: Tensor) -> Tensor:
    """Shares (3, SIZE) of pairs of label and codeword."""
    return torch.bincount(labels * SIZE + codewords, minlength=3 * SIZE).reshape(3, SIZE) / len(labels)


def total_variation(first: Tensor, second: Tensor) -> float:
    return float((first - second).abs().sum() / 2)


@pytest.mark.parametrize("top", [1, 3])
def test_the_channel_is_the_law_of_the_mechanism(top: int) -> None:
    kind = mechanism(2.0, top=top)
    forward = denoising.channel(kind)
    assert torch.allclose(forward.sum(dim=1), torch.ones(SIZE, dtype=torch.float64))
    assert float(forward.max() / forward.min()) == pytest.approx(math.exp(2.0), rel=1e-9)
    draws = released(kind, torch.full((40_000,), 7))
    met = torch.bincount(draws, minlength=SIZE) / 40_000
    assert total_variation(met, forward[7]) < 0.02
    assert total_variation(met, forward[8]) > 0.1


def test_the_response_is_the_law_of_randomised_response() -> None:
    answer = denoising.response(RandomizedResponse(epsilon=1.0, labels=LABELS), 3)
    assert answer[0].tolist() == pytest.approx([math.e / (math.e + 2), 1 / (math.e + 2), 1 / (math.e + 2)])
    assert torch.equal(denoising.response(None, 3), torch.eye(3, dtype=torch.float64))


def test_expected_pairs_are_the_sum_of_the_records_posteriors() -> None:
    """Bayes' rule, record by record: P(c, u | c', v) is joint[c, u] Q(v|u) R(c'|c) over its sum."""
    generator = torch.Generator().manual_seed(8)
    joint, forward, answer = (torch.rand(shape, generator=generator) for shape in ((3, 4), (4, 4), (3, 3)))
    joint, forward, answer = joint / joint.sum(), forward / forward.sum(1, True), answer / answer.sum(1, True)
    counts = torch.randint(0, 5, (3, 4), generator=generator).float()
    brute = torch.zeros(3, 4)
    for label in range(3):
        for codeword in range(4):
            weights = joint * forward[:, codeword] * answer[:, label, None]
            brute += counts[label, codeword] * weights / weights.sum()
    assert torch.allclose(denoising._expected(counts, joint, [(answer, forward)]), brute, atol=1e-5)


@pytest.mark.parametrize("label_epsilon", [None, 1.5])
def test_the_joint_weights_are_recovered_where_the_releases_themselves_mislead(label_epsilon: float | None) -> None:
    kind = mechanism(3.0)
    labels, own = planted(kind, 20_000)
    truth = shares(labels, own)
    response = RandomizedResponse(epsilon=label_epsilon, labels=LABELS) if label_epsilon else None
    noisy = response.simulate(names(labels), torch.Generator().manual_seed(3)) if response else names(labels)
    noisy_codewords = released(kind, own)
    places = torch.tensor([LABELS.index(label) for label in noisy])
    naive = shares(places, noisy_codewords)
    posterior = denoising.fit(noisy_codewords, noisy, mechanism=kind, known=LABELS, label_mechanism=response)
    assert total_variation(posterior.joint, truth) < total_variation(naive, truth) / 2


def test_the_joint_channel_is_the_law_of_the_pair() -> None:
    kind = mechanism(2.0, top=3)
    law = JointResponse(mechanism=kind, labels=LABELS)
    factors = denoising.joint_channel(kind, law)
    for codeword, label in ((0, 0), (7, 2)):
        pairs = sum(answer[label][:, None] * forward[codeword] for answer, forward in factors)  # (c', v)
        for (released, beside), p in law._law((codeword, LABELS[label])).items():
            assert float(pairs[LABELS.index(beside), released]) == pytest.approx(float(p), rel=1e-9)


def test_the_joint_weights_are_recovered_from_pairs_that_are_one_symbol() -> None:
    kind = mechanism(5.0)
    law = JointResponse(mechanism=kind, labels=LABELS)
    labels, own = planted(kind, 20_000)
    pairs = law.privatize(list(zip(own.tolist(), names(labels), strict=True)))
    codewords, noisy = torch.tensor([place for place, _ in pairs]), [label for _, label in pairs]
    naive = shares(torch.tensor([LABELS.index(label) for label in noisy]), codewords)
    truth = shares(labels, own)
    posterior = denoising.fit(codewords, noisy, mechanism=kind, known=LABELS, label_mechanism=law)
    assert total_variation(posterior.joint, truth) < total_variation(naive, truth) / 2


def test_what_is_not_linear_in_the_latent_is_found_too() -> None:
    """A label lives on codewords and on their opposites: a linear map that is high on one is low on the other."""
    words = mechanism(6.0).codewords
    kind = LearnedCodebook(epsilon=6.0, codewords=torch.cat([words[:16], -words[:16]]), top=1)
    own = torch.randint(0, SIZE, (20_000,), generator=torch.Generator().manual_seed(1))
    labels = (own % 16 < 8).long()
    codewords = released(kind, own)
    counts = shares(labels, codewords).double() * 20_000
    linear = denoising._linear_estimate(
        counts, kind.codewords, [(denoising.response(None, 3), denoising.channel(kind))]
    )
    free = denoising.fit(codewords, names(labels), mechanism=kind, known=LABELS).joint
    truth = shares(labels, own).double()
    assert total_variation(free, truth) < 0.6 * total_variation(linear, truth)


def test_drawn_pairs_follow_the_truth_more_often_than_the_releases_do() -> None:
    kind, response = mechanism(3.0), RandomizedResponse(epsilon=1.5, labels=LABELS)
    labels, own = planted(kind, 20_000)
    noisy = response.simulate(names(labels), torch.Generator().manual_seed(3))
    places = torch.tensor([LABELS.index(label) for label in noisy])
    codewords = released(kind, own)
    posterior = denoising.fit(codewords, noisy, mechanism=kind, known=LABELS, label_mechanism=response)
    drawn, meant = posterior.draw(codewords, places, samples=3, generator=torch.Generator().manual_seed(4))
    assert drawn.shape == meant.shape == (20_000, 3)
    assert float((meant == labels[:, None]).double().mean()) > float((places == labels).double().mean()) + 0.05
    truth = shares(labels, own)
    assert (
        total_variation(shares(meant[:, 0], drawn[:, 0]), truth) < total_variation(shares(places, codewords), truth) / 2
    )


@pytest.mark.parametrize("label_epsilon", [None, 1.5])
def test_beside_copied_labels_half_of_the_codewords_are_the_released_ones(label_epsilon: float | None) -> None:
    kind = mechanism(3.0)
    labels, own = planted(kind, 20_000)
    codewords, law, given = released(kind, own), None, names(labels)
    if label_epsilon:
        law = RandomizedResponse(epsilon=label_epsilon, labels=LABELS)
        given = law.simulate(given, torch.Generator().manual_seed(3))
    posterior = denoising.fit(codewords, given, mechanism=kind, known=LABELS, label_mechanism=law)
    places = torch.tensor([LABELS.index(label) for label in given])
    alone, _ = posterior.draw(codewords, places, samples=2, generator=torch.Generator().manual_seed(0))
    drawn, _ = denoising.drawn_pairs(codewords, given, kind, LABELS, law, samples=2)
    same, expected = (float((rows == codewords[:, None]).double().mean()) for rows in (drawn, alone))
    assert expected < 0.8
    assert abs(same - (expected if law else (1 + expected) / 2)) < 0.02  # 8 standard errors


def test_copied_labels_stay() -> None:
    kind = mechanism(3.0)
    labels, own = planted(kind, 500)
    posterior = denoising.fit(released(kind, own), names(labels), mechanism=kind, known=LABELS)
    _, meant = posterior.draw(released(kind, own), labels, samples=2, generator=torch.Generator().manual_seed(0))
    assert torch.equal(meant, labels[:, None].expand(-1, 2))


def test_without_noise_nothing_changes() -> None:
    kind = mechanism(60.0)
    labels, own = planted(kind, 2000)
    posterior = denoising.fit(own, names(labels), mechanism=kind, known=LABELS)
    drawn, _ = posterior.draw(own, labels, samples=1, generator=torch.Generator().manual_seed(0))
    assert torch.equal(drawn[:, 0], own)


def test_pure_noise_says_nothing_about_labels() -> None:
    """Codewords that do not depend on the record: whatever a label is, about the same codewords are drawn."""
    kind = mechanism(3.0)
    labels, _ = planted(kind, 20_000)
    noise = torch.randint(0, SIZE, (20_000,), generator=torch.Generator().manual_seed(6))
    posterior = denoising.fit(noise, names(labels), mechanism=kind, known=LABELS)
    means = posterior.joint / posterior.joint.sum(dim=1, keepdim=True)
    assert total_variation(means[0], means[1]) < 0.15
    _, own = planted(kind, 20_000)
    informed = denoising.fit(released(kind, own), names(labels), mechanism=kind, known=LABELS).joint
    informed = informed / informed.sum(dim=1, keepdim=True)
    assert total_variation(informed[0], informed[1]) > 0.8


def test_a_label_outside_the_set_and_a_codebook_without_codewords_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="public label set, got 1"):
        denoising.fit(torch.tensor([0, 1]), ["fare", "secret"], mechanism=mechanism(3.0), known=LABELS)
    with pytest.raises(ConfigurationError, match="at least one record"):
        denoising.fit(torch.tensor([]), [], mechanism=mechanism(3.0), known=LABELS)
    with pytest.raises(ConfigurationError, match="every label of the public label set once"):
        denoising.fit(torch.tensor([0]), ["fare"], mechanism=mechanism(3.0), known=("fare", "fare"))
    response = RandomizedResponse(epsilon=1.0, labels=LABELS[:2])
    with pytest.raises(ConfigurationError, match="every label of the public label set once"):
        denoising.fit(torch.tensor([0]), ["fare"], mechanism=mechanism(3.0), known=LABELS, label_mechanism=response)
    with pytest.raises(ConfigurationError, match="needs a codebook"):
        denoising.channel(LearnedCodebook(epsilon=3.0))


def test_releases_of_another_mechanism_are_refused() -> None:
    kind = mechanism(3.0)
    assert denoising.codeword_indices(kind.codewords[[3, 1]], kind).tolist() == [3, 1]
    with pytest.raises(ConfigurationError, match="denoise with what released them"):
        denoising.codeword_indices(kind.codewords[:2] * 1.01, kind)
