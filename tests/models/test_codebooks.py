"""Learned codebooks are near to the latents that they were learned from, and not too large for them."""

import os
import subprocess
import sys

import pytest
import torch

from adept.mechanisms import Codebook, LearnedCodebook
from adept.models.codebooks import learn_codebooks


def unit_rows(count: int, dim: int) -> torch.Tensor:
    gaussian = torch.randn(count, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return gaussian / gaussian.norm(dim=1, keepdim=True)


def test_learned_codewords_are_nearer_to_clustered_latents_than_random_ones() -> None:
    centres = unit_rows(40, 16)
    latents = centres.repeat(50, 1) + 0.05 * unit_rows(2000, 16)
    books = learn_codebooks(latents, seed=0)
    assert sorted(books) == [32, 64, 128, 256, 512]
    assert all(
        words.shape == (size, 16) and words.norm(dim=1).allclose(torch.ones(size)) for size, words in books.items()
    )
    learned = LearnedCodebook(epsilon=6.0, codewords=books[64]).privatize(latents)
    random = Codebook(epsilon=6.0).privatize(latents)
    cosine = torch.nn.functional.cosine_similarity
    assert cosine(learned, latents).mean() > cosine(random, latents).mean() + 0.2
    again = learn_codebooks(latents, seed=0)
    assert all(torch.equal(words, again[size]) for size, words in books.items())


@pytest.mark.parametrize(
    ("records", "sizes"), [(0, []), (3, []), (4, [2]), (63, [16]), (64, [32]), (300, [32, 64, 128])]
)
def test_no_codebook_is_larger_than_half_of_the_latents(records: int, sizes: list[int]) -> None:
    assert sorted(learn_codebooks(unit_rows(max(1, records), 8)[:records])) == sizes


def test_equal_latents_give_no_codebook_and_do_not_fail() -> None:
    assert learn_codebooks(torch.ones(100, 4)) == {}


def test_the_first_clusters_of_a_process_take_no_random_number_of_the_caller() -> None:
    """Importing scikit-learn imports rich, which names its styles by a number of ``random``."""
    code = (
        "import random, sys, numpy; from adept.models.codebooks import k_means; random.seed(1); before = random.getstate()\n"
        "assert 'rich.style' not in sys.modules; k_means(numpy.eye(4), 2, n_init=1); assert random.getstate() == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
