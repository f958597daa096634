"""pypantera 1.0.2: TEM returns the word itself where a far word is to be drawn (pip install pypantera==1.0.2)."""

import random
import tempfile
from pathlib import Path

from src.SamplingPerturbationMechanism.tem import TEM

name = tempfile.mktemp()
with Path(name).open("w") as file:  # 300 words of 50 numbers
    for i in range(300):
        file.write(f"w{i} " + " ".join(f"{random.gauss(0, 0.4):.4f}" for _ in range(50)) + "\n")
tem = TEM({"embPath": name, "epsilon": 10.0, "beta": 0.001})
released = [tem.processText(["alice"]) for _ in range(200)]
print("'alice', which the vocabulary does not hold:", {w: released.count(w) for w in set(released)})
assert released.count("alice") > 190
# np.random.choice(L_hat_w, 1) is asked for one of a list of vectors and raises; `except: selectedWord = word`.
