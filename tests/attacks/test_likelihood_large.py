"""A thousand secrets among ten thousand candidates fit into two gigabytes."""

import subprocess
import sys

import pytest

GAME = """
import resource
import torch
from adept.attacks.likelihood import guess, read_candidates
from adept.mechanisms import LearnedCodebook, SqrtNLaplace

latents = torch.nn.functional.normalize(torch.randn(10_000, 64, dtype=torch.float64), dim=1)
prior = torch.full((10_000,), 1e-4, dtype=torch.float64)
secrets = torch.arange(1_000) * 10
for mechanism in (SqrtNLaplace(epsilon=8.0), LearnedCodebook(epsilon=8.0, codewords=latents[::40])):
    found = guess(read_candidates(mechanism, latents), mechanism.privatize(latents[secrets]), prior=prior)
    assert found.best.shape == (1_000,)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.slow
def test_a_thousand_secrets_among_ten_thousand_candidates_take_two_gigabytes_at_most() -> None:
    """In a process of its own, whose peak is that of these attacks and of the imports; on Linux ru_maxrss is in KiB."""
    ran = subprocess.run([sys.executable, "-c", GAME], capture_output=True, text=True, check=True)
    gigabytes = float(ran.stdout)
    print(f"\n{gigabytes:.2f} GiB", flush=True)
    assert gigabytes <= 2
