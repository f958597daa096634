"""diffprivlib 0.6.6: IBM's mechanisms."""

PACKAGE, VERSION = "diffprivlib", "0.6.6"
INSTALLS = (("diffprivlib==0.6.6", "numpy==2.1.3", "scikit-learn==1.5.2", "scipy==1.17.1"),)


class Binary:
    says = ("Privacy parameter :math:`\\epsilon` for the mechanism", "docstring of each mechanism")
    claim, expected = {"epsilon": 1.0, "alphabet": ["no", "yes"]}, "sound"

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor
        self.m = self.make()

    def make(self):
        from diffprivlib.mechanisms import Binary

        return Binary(epsilon=self.eps, value0="no", value1="yes")

    def privatize(self, values):
        return [self.m.randomise(v) for v in values]


class Laplace(Binary):
    claim = {"epsilon": 2.0, "dim": 1}

    def make(self):
        from diffprivlib.mechanisms import Laplace

        return Laplace(epsilon=self.eps, sensitivity=2.0)

    def privatize(self, rows):
        return [[self.m.randomise(min(1.0, max(-1.0, 0.0 if v != v else v)))] for [v] in rows]


class LaplaceBoundedDomain(Binary):
    claim = {"epsilon": 1.0, "alphabet": [0.0, 1.0]}

    def make(self):
        from diffprivlib.mechanisms import LaplaceBoundedDomain

        return LaplaceBoundedDomain(epsilon=self.eps, sensitivity=1.0, lower=0.0, upper=1.0)


class Staircase(LaplaceBoundedDomain):
    def make(self):
        from diffprivlib.mechanisms import Staircase

        return Staircase(epsilon=self.eps, sensitivity=1.0)


class Geometric(Binary):
    claim = {"epsilon": 1.0, "alphabet": [0, 1]}

    def make(self):
        from diffprivlib.mechanisms import Geometric

        return Geometric(epsilon=self.eps, sensitivity=1)


class GaussianDiscrete(Binary):
    claim, trials = {"epsilon": 1.0, "delta": 1e-3, "alphabet": [0, 1]}, 20_000

    def make(self):
        from diffprivlib.mechanisms import GaussianDiscrete

        return GaussianDiscrete(epsilon=self.eps, delta=1e-3, sensitivity=1)


class ExponentialCategorical(Binary):
    claim = {"epsilon": 2.0, "alphabet": ["a", "b", "c"]}

    def make(self):
        from diffprivlib.mechanisms import ExponentialCategorical

        return ExponentialCategorical(epsilon=self.eps, utility_list=[["a", "b", 1], ["b", "c", 1], ["a", "c", 1]])


class PermuteAndFlip(Binary):
    """Utilities of three candidates, each of which one record changes by at most one."""

    claim = {"epsilon": 1.0, "alphabet": [0, 1]}

    def privatize(self, values):
        return [[self.one, self.two][v].randomise() for v in values]

    def make(self):
        from diffprivlib.mechanisms import PermuteAndFlip

        self.one, self.two = (
            PermuteAndFlip(epsilon=self.eps, sensitivity=1, utility=u) for u in ([3.0, 2.0, 0.0], [2.0, 3.0, 1.0])
        )


class Exponential(PermuteAndFlip):
    def make(self):
        from diffprivlib.mechanisms import Exponential

        self.one, self.two = (
            Exponential(epsilon=self.eps, sensitivity=1, utility=u) for u in ([3.0, 2.0, 0.0], [2.0, 3.0, 1.0])
        )


class ExponentialHierarchical(Binary):
    """Three values, two of which are siblings."""

    claim = {"epsilon": 2.0, "alphabet": ["a", "b", "c"]}

    def make(self):
        from diffprivlib.mechanisms import ExponentialHierarchical

        return ExponentialHierarchical(epsilon=self.eps, hierarchy=[["a", "b"], ["c"]])


class GeometricTruncated(Binary):
    """Two neighbouring numbers well inside bounds that are public."""

    claim, name, bounds = {"epsilon": 1.0, "alphabet": [4, 5]}, "GeometricTruncated", {"lower": 0, "upper": 10}

    def make(self):
        import diffprivlib.mechanisms

        return getattr(diffprivlib.mechanisms, self.name)(epsilon=self.eps, sensitivity=1, **self.bounds)


class GeometricFolded(GeometricTruncated):
    name = "GeometricFolded"


class LaplaceTruncated(GeometricTruncated):
    name = "LaplaceTruncated"


class LaplaceFolded(GeometricTruncated):
    name = "LaplaceFolded"


class Snapping(GeometricTruncated):
    """The two ends of its bounds."""

    claim, name, bounds = {"epsilon": 1.0, "alphabet": [0.0, 1.0]}, "Snapping", {"lower": 0.0, "upper": 1.0}


class LaplaceBoundedNoise(GeometricTruncated):
    claim, name, bounds = {"epsilon": 1.0, "delta": 0.01, "alphabet": [4, 5]}, "LaplaceBoundedNoise", {"delta": 0.01}


class GaussianAnalytic(GeometricTruncated):
    claim, name, bounds = {"epsilon": 1.0, "delta": 1e-3, "alphabet": [4, 5]}, "GaussianAnalytic", {"delta": 1e-3}
    trials = 20_000


class Gaussian(GaussianAnalytic):
    """Its epsilon is at most 1, so a control has a smaller sensitivity."""

    def make(self):
        from diffprivlib.mechanisms import Gaussian

        return Gaussian(epsilon=1.0, delta=1e-3, sensitivity=1.0 / self.eps)


class Seeded(Binary):
    """With random_state=0, as the docstring offers for reproducibility."""

    claim, expected, trials = (
        {"epsilon": 1.0, "alphabet": ["no", "yes"]},
        "violated: randomness (asked for by the caller)",
        2000,
    )

    def make(self):
        from diffprivlib.mechanisms import Binary

        return Binary(epsilon=self.eps, value0="no", value1="yes", random_state=0)
