"""pypantera 1.0.2: TEM returns the word itself where a far word is to be drawn (pip install pypantera==1.0.2)."""

import random
import tempfile
from pathlib import Path

from src.SamplingPerturbationMechanism.tem import TEM

name = tempfile.mktemp()
with Path(name).open("w") as file:  # 300 words of 50 numbers
    for i in range(300):
        file.write(f"w{i} " + " ".join(f"{random.gauss(0, 0.4):.4f}" for _ in range(50)) + "\n")


def kept(epsilon):
    tem = TEM({"embPath": name, "epsilon": epsilon, "beta": 0.001})
    return [tem.processText(["alice"]) for _ in range(60)].count("alice")


counts = {epsilon: kept(epsilon) for epsilon in (0.5, 1.0, 2.0, 5.0, 10.0)}
print("'alice', which the vocabulary does not hold, of 60 releases:", counts)
assert min(counts[5.0], counts[10.0]) > 50
assert max(counts[0.5], counts[1.0]) < 10  # no word is farther away than the threshold, 2 / epsilon ln(V (1 - b) / b)
# np.random.choice(L_hat_w, 1) is asked for one of a list of vectors and raises; `except: selectedWord = word`.
