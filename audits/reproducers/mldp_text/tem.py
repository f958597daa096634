"""mldp-text 0.1.2: TEM weighs all words beyond its threshold as V / L words, not as V - L (two words .02 apart)."""

import mldp_text
import numpy as np
from gensim.models import KeyedVectors

eps, n = 10.0, 160_000
names = ["cat", "cab", *(f"near{i}" for i in range(28)), *(f"edge{i}" for i in range(29)), "far"]
places = np.array([0.0, 0.02, *[-2.1] * 28, *[2.21] * 29, 50.0])
threshold = round(2 / eps * np.log(0.999 * len(names) / 0.001), 1)  # as TEM has it: 2.2
edge = [name.startswith("edge") for name in names]


def probability(word):  # exact: the largest Gumbel-noised score is a draw by exp(eps / 2 score)
    distances = np.abs(places - places[names.index(word)])
    near = distances <= threshold
    rest = np.exp(-eps * threshold / 2) * len(names) / near.sum()
    weights = np.where(near, np.exp(-eps * distances / 2), rest / (~near).sum())
    return weights[edge].sum() / weights.sum()


vectors = KeyedVectors(2)
vectors.add_vectors(names, np.array([[x, 0] for x in places], dtype=np.float32))
tem = mldp_text.get_mechanism("tem", epsilon=eps, embedding_matrix=vectors, dim=2, vocab=set(names), use_faiss=False)
cat, cab = (sum(tem.replace_word(word).startswith("edge") for _ in range(n)) for word in ("cat", "cab"))
print(f"an edge word of {n}: {cat} times for cat, {cab} for cab; claim {eps * 0.02:.1f}")
print(f"exact: ln {np.log(probability('cab') / probability('cat')):.2f}")
assert cab > 15 > 14 > cat
