"""pypantera 1.0.2: Word replacement under metric privacy."""

PACKAGE, VERSION = "pypantera", "1.0.2"
INSTALLS = (
    ("--no-deps", "pypantera==1.0.2"),
    ("numpy==1.26.4", "pandas==2.2.3", "scikit-learn==1.5.2", "scipy==1.14.1"),
)


def write_words(dim, more=()):
    """Write word vectors of a plane and a few more, or 300 of 50 numbers; return the file's name."""
    import random
    import tempfile

    draw = random.Random(1)
    places = {"cat": [0, 0], "dog": [0.1, 0]} if dim == 2 else {}
    count, scale = (58, 1.5) if dim == 2 else (300, 0.4)
    places |= {f"w{i}": [round(draw.gauss(0, scale), 3) for _ in range(dim)] for i in range(count)}
    places |= {"far": [9, 9]} if dim == 2 else {}
    places |= dict(more)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.writelines(f"{word} {' '.join(map(str, place))}\n" for word, place in places.items())
    return file.name


class Base:
    """Words in a plane; "cat" and "dog" lie a tenth apart, so eps times their distance is 1."""

    dim, eps, options = 2, 10.0, {}
    says = (
        r"natural language obfuscation that implements $\varepsilon$ -Differential Privacy",
        "README; each mechanism's paper: epsilon times the distance",
    )
    claim, expected = {"epsilon": 1.0, "alphabet": ["cat", "dog"]}, "sound"

    def __init__(self, factor):
        self.m = self.make()({"embPath": write_words(self.dim), "epsilon": self.eps * factor, **self.options})

    def privatize(self, values):
        if hasattr(self.m, "noisyEmb"):
            return [self.m.processText(self.m.noisyEmb([v])) for v in values]
        return [self.m.processText([v]) for v in values]


class CMP(Base):
    def make(self):
        from src.EmbeddingPerturbationMechanism.cmp import CMP

        return CMP


class Record(CMP):
    """Texts of four words, each a fortieth from the other text's: by composition 4 times epsilon times the distance, 1."""

    places = [("sun", [0, 0]), ("moon", [0.025, 0])]
    claim = {"epsilon": 1.0, "alphabet": ["sun sun sun sun", "moon moon moon moon"]}

    def __init__(self, factor):
        self.m = self.make()({"embPath": write_words(2, self.places), "epsilon": self.eps * factor})

    def privatize(self, values):
        return [" ".join(self.m.processText(self.m.noisyEmb([word])) for word in v.split()) for v in values]


class Vickrey(Base):
    options = {"t": 0.75}

    def make(self):
        from src.EmbeddingPerturbationMechanism.vickrey import VickreyCMP

        return VickreyCMP


class SanText(Base):
    """An exponential mechanism."""

    def make(self):
        from src.SamplingPerturbationMechanism.santext import SanText

        return SanText


class CusText(Base):
    says = (r"it is designed to be $\varepsilon$-Differential Privacy compliant", "README, of all mechanisms")
    claim, expected, eps, options = (
        {"epsilon": 2.0, "alphabet": ["cat", "far"]},
        "violated: distribution (each word has k candidates of its own)",
        2.0,
        {"k": 10, "distance": "euclidean"},
    )

    def make(self):
        from src.SamplingPerturbationMechanism.custext import CusText

        return CusText


class TEM(Base):
    """Words of the vocabulary, by an exponential mechanism."""

    eps, options = 10.0, {"beta": 0.001}

    def make(self):
        from src.SamplingPerturbationMechanism.tem import TEM

        return TEM


class TEMUnknown(TEM):
    """Words that the vocabulary does not hold, such as names."""

    budget = "ours"
    eps = 4.0
    dim, claim, expected, trials = (
        50,
        {"epsilon": 4.0, "alphabet": ["alice", "bob"]},
        "violated: randomness (the word itself is returned where a far word is to be drawn)",
        3000,
    )
