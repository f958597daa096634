"""pypantera 1.0.2: CusText gives each word its own k candidates (pip install pypantera==1.0.2)."""

import tempfile
from pathlib import Path

from src.SamplingPerturbationMechanism.custext import CusText

name = tempfile.mktemp()
with Path(name).open("w") as file:
    file.writelines(f"w{i} {i / 10} 0\n" for i in range(40))
custext = CusText({"embPath": name, "epsilon": 1.0, "k": 10, "distance": "euclidean"})
sets = [{custext.processText([word]) for _ in range(2_000)} for word in ("w5", "w30")]
print(sorted(sets[0]), sorted(sets[1]))
assert not sets[0] & sets[1]  # the output tells which of the two it was, whatever epsilon
# Holds for two words with the same candidates; the paper's mapping gives a set of words one common output set.
