"""mldp-text 0.1.2: Word replacement under metric privacy."""

PACKAGE, VERSION = "mldp-text", "0.1.2"
INSTALLS = (
    ("--no-deps", "mldp-text==0.1.2"),
    (
        "numpy==1.26.4",
        "scipy==1.12.0",
        "pandas==2.3.3",
        "gensim==4.4.0",
        "nltk==3.10.4",
        "scikit-learn==1.9.1",
        "numba==0.68.1",
        "faiss-cpu==1.15.1",
    ),
)


def vectors(second, distance):
    """Return word vectors in a plane: "cat" at zero, the second word at a distance, others about them."""
    import numpy as np
    from gensim.models import KeyedVectors

    others = np.random.default_rng(1).normal(scale=1.5, size=(58, 2))
    words = KeyedVectors(2)
    places = np.vstack([[0, 0], [distance, 0], others]).astype(np.float32)
    words.add_vectors(["cat", second, *(f"w{i}" for i in range(58))], places)
    return words


class Base:
    """Words in a plane; "cat" and "dog" lie a tenth apart, so eps times their distance is 1."""

    eps, second = 10.0, ("dog", 0.1)
    says = (
        "implementations for six word-level Metric Local Differential Privacy (MLDP) mechanisms",
        "README; each mechanism's paper: epsilon times the distance",
    )
    claim, expected = {"epsilon": 1.0, "alphabet": ["cat", "dog"]}, "sound"

    def __init__(self, factor):
        import nltk

        nltk.download = lambda *a, **k: True  # WordNet, which these mechanisms do not use
        import mldp_text

        v = self.words()
        self.m = mldp_text.get_mechanism(
            self.name, epsilon=self.eps * factor, embedding_matrix=v, dim=2, vocab=set(v.key_to_index), use_faiss=False
        )

    def words(self):
        return vectors(*self.second)

    def privatize(self, values):
        return [str(self.m.replace_word(v)) for v in values]


class Multivariate(Base):
    name = "multivariate_calibrated"


class Vickrey(Base):
    """Two words that lie a hundredth apart."""

    claim, second = {"epsilon": 0.1, "alphabet": ["cat", "cab"]}, ("cab", 0.01)
    name, expected = (
        "vickrey",
        "violated: distribution (the word itself is left out, so its neighbours' rule depends on it)",
    )


class TEM(Base):
    """An exponential mechanism."""

    name = "tem"


class TEMEdge(Base):
    """Two words .02 apart; 149 words lie beyond the threshold of "cat" (2.4), and within that of "cab".

    With V words, of which L are within the threshold, TEM gives all others together the weight V / L, not V - L. So a word
    beyond it is L (V - L) / V times too rare: here 50 * 150 / 200 = 37.5 times for "cat". A release is read as: one of the 149?
    """

    name, trials = "tem", 160_000
    claim, expected = (
        {"epsilon": 0.2, "alphabet": ["cat", "cab"]},
        "violated: distribution (words beyond the threshold weigh V / L together, not V - L)",
    )

    def words(self):
        """Return 2 words .02 apart, 48 within 2.3 of both, 149 at 2.41 from "cat" and 2.39 from "cab", and one far away."""
        import numpy as np
        from gensim.models import KeyedVectors

        names = ["cat", "cab", *(f"near{i}" for i in range(48)), *(f"edge{i}" for i in range(149)), "far"]
        words = KeyedVectors(2)
        places = [0.0, 0.02, *[-2.28] * 48, *[2.41] * 149, 50.0]
        words.add_vectors(names, np.array([[x, 0.0] for x in places], dtype=np.float32))
        return words

    def privatize(self, values):
        return [self.m.replace_word(v).startswith("edge") for v in values]


class Mahalanobis(Base):
    """Words that lie a tenth apart in the Mahalanobis norm of its noise, which is scaled along the axis of both words."""

    name = "mahalanobis"

    def words(self):
        """Return the same words with "dog" at the distance that has the norm .1."""
        import numpy as np

        places = vectors("dog", 0.1).vectors
        covariance = 0.2 * np.cov(places, rowvar=False) / np.var(places) + 0.8 * np.eye(2)
        return vectors("dog", 0.1 / float(np.sqrt(np.linalg.inv(covariance)[0, 0])))


class TruncatedGumbel(Base):
    name = "truncated_gumbel"
    expected = "sound"


class Unknown(Multivariate):
    """A word that the vocabulary does not hold is returned as it is. It has no distance, so no epsilon is stated."""

    budget = "ours"

    claim, expected, trials = (
        {"epsilon": 2.0, "alphabet": ["alice", "cat"]},
        "violated: distribution (words outside the vocabulary are kept)",
        2000,
    )
