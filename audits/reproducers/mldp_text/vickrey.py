"""mldp-text 0.1.2: VickreyMechanism leaves the word itself out, so its rule depends on the word."""

from math import log

import mldp_text
import numpy as np
from gensim.models import KeyedVectors

v = KeyedVectors(2)
v.add_vectors(
    ["cat", "dog", "sun", "sea", "sky"], np.array([[0, 0], [0.01, 0], [9, 0], [0, 9], [-9, 0]], dtype=np.float32)
)
m = mldp_text.get_mechanism("vickrey", epsilon=10.0, embedding_matrix=v, dim=2, use_faiss=False)
n = 20_000
cat, dog = ([m.replace_word(w) for _ in range(n)].count("cat") / n for w in ("cat", "dog"))
print(f"P(cat | cat) = {cat:.3f}, P(cat | dog) = {dog:.3f}: ln {log(dog / cat):.2f}; eps times distance {10 * 0.01}")
assert abs(log(dog / cat)) > 0.2
