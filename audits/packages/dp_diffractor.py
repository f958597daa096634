"""dp-diffractor 0.2.1: Word replacement in lists ordered by meaning."""

PACKAGE, VERSION = "dp-diffractor", "0.2.1"
INSTALLS = (
    ("dp-diffractor==0.2.1", "numpy==2.4.6", "scipy==1.17.1", "gensim==4.4.0", "nltk==3.10.4", "faiss-cpu==1.15.1"),
)


def write_stop_words():
    """Write six stop words where NLTK looks for its list, instead of a download."""
    from pathlib import Path

    directory = Path.home() / "nltk_data" / "corpora" / "stopwords"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "english").write_text("the\na\nof\nand\nis\nin\n", "utf-8")


def write_lists():
    """Write a list of forty words and the stop words, where the package looks for what it would download."""
    from pathlib import Path

    words = ["cat", "dog", *(f"w{i}" for i in range(38))]
    file = Path.home() / ".cache" / "diffractor" / "glove-twitter-200.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("40 4\n" + "".join(f"{word} {i} 0 0 0\n" for i, word in enumerate(words)), "utf-8")
    write_stop_words()


class Geometric:
    """Two words next to each other in the list; one object for all releases."""

    says = ("library for word-level text perturbation leveraging Metric Differential Privacy", "README")
    claim, expected = {"epsilon": 1.0, "alphabet": ["cat", "dog"]}, "sound (with a secret seed)"
    method, eps, trials = "geometric", 1.0, 1000

    def __init__(self, factor):
        import nltk

        write_lists()
        nltk.word_tokenize = lambda text: text.split()
        self.factor = factor
        self.m = None

    def make(self, seed):
        import itertools
        import multiprocessing.process as process

        from diffractor import Diffractor, DiffractorConfig

        process._process_counter = itertools.count(1)  # as in a new process: a second object in one process hangs
        return Diffractor(
            DiffractorConfig(epsilon=self.eps * self.factor, method=self.method, verbose=False, seed=seed),
            ["glove-twitter-200"],
        )

    def privatize(self, values):
        import secrets

        if self.m is None:
            self.m = self.make(secrets.randbits(64))
        return self.m.rewrite(list(values))


class TEM(Geometric):
    method = "TEM"


class Unknown(Geometric):
    """A word that the list does not hold, such as a name; the README says that stop words are kept, and nothing of these."""

    budget = "ours"
    claim, expected, trials = (
        {"epsilon": 1.0, "alphabet": ["cat", "alice"]},
        "violated: distribution (unknown words are kept)",
        400,
    )
