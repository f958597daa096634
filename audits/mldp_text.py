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

        v = vectors(*self.second)
        self.words = set(v.key_to_index)
        self.m = mldp_text.get_mechanism(
            self.name, epsilon=self.eps * factor, embedding_matrix=v, dim=2, vocab=self.words, use_faiss=False
        )

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
    """An exponential mechanism: the control has a quarter of the noise."""

    name, control_factor = "tem", 4.0


class TruncatedGumbel(Base):
    name = "truncated_gumbel"
    expected = "sound"


class Unknown(Multivariate):
    """A word that the vocabulary does not hold is returned as it is."""

    claim, expected, trials = (
        {"epsilon": 2.0, "alphabet": ["alice", "cat"]},
        "violated: distribution (words outside the vocabulary are kept)",
        2000,
    )
