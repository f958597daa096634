"""python-dp 1.1.5: Google's differential privacy library from Python."""

PACKAGE, VERSION = "python-dp", "1.1.5"
INSTALLS = (("python-dp==1.1.5",),)


class Laplace:
    says = ("Python API for Google's Differential Privacy library", "README; LaplaceMechanism(epsilon, sensitivity)")
    claim, expected = {"epsilon": 2.0, "dim": 1}, "sound"

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor
        self.m = self.make()

    def make(self):
        from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

        return LaplaceMechanism(self.eps, 2.0)

    def privatize(self, rows):
        return [[self.m.add_noise(min(1.0, max(-1.0, 0.0 if v != v else float(v))))] for [v] in rows]


class Gaussian(Laplace):
    claim, trials = {"epsilon": 1.0, "delta": 1e-5, "alphabet": [0.0, 1.0]}, 100_000

    def make(self):
        from pydp.algorithms.numerical_mechanisms import GaussianMechanism

        return GaussianMechanism(self.eps, 1e-5, 1.0)

    def privatize(self, values):
        return [self.m.add_noise(v) for v in values]


class Count(Laplace):
    """A count of 20 or 21 entries."""

    claim = {"epsilon": 1.0, "alphabet": 2}

    def make(self):
        return None

    def privatize(self, values):
        from pydp.algorithms.laplacian import Count

        return [Count(epsilon=self.eps, dtype="int").quick_result([1] * (20 + v)) for v in values]


class BoundedSum(Count):
    """A record is added."""

    def privatize(self, values):
        from pydp.algorithms.laplacian import BoundedSum

        return [
            BoundedSum(epsilon=self.eps, lower_bound=0, upper_bound=1, dtype="float").quick_result(
                [0.5] * 10 + [1.0] * v
            )
            for v in values
        ]


class BoundedMean(Count):
    """A record is added. Sum and count share the budget."""

    trials = 10_000

    def privatize(self, values):
        from pydp.algorithms.laplacian import BoundedMean

        return [
            BoundedMean(epsilon=self.eps, lower_bound=0, upper_bound=1, dtype="float").quick_result(
                [0.5] * 3 + [1.0] * v
            )
            for v in values
        ]


class Median(Count):
    def privatize(self, values):
        from pydp.algorithms.laplacian import Median

        return [
            Median(epsilon=self.eps, lower_bound=0, upper_bound=100, dtype="float").quick_result(
                [10.0] * 4 + [90.0] * 4 + [90.0] * v
            )
            for v in values
        ]


class Max(Count):
    def privatize(self, values):
        from pydp.algorithms.laplacian import Max

        return [
            Max(epsilon=self.eps, lower_bound=0, upper_bound=100, dtype="float").quick_result([10.0] * 8 + [90.0] * v)
            for v in values
        ]


class Min(Count):
    """A record is added; the search over the bounds spends little on it, so more trials are needed."""

    trials = 20_000

    def privatize(self, values):
        from pydp.algorithms.laplacian import Min

        return [
            Min(epsilon=self.eps, lower_bound=0, upper_bound=100, dtype="float").quick_result([90.0] * 8 + [10.0] * v)
            for v in values
        ]


class Percentile(Count):
    """The ninth decile; a record is added."""

    def privatize(self, values):
        from pydp.algorithms.laplacian import Percentile

        return [
            Percentile(epsilon=self.eps, percentile=0.9, lower_bound=0, upper_bound=100, dtype="float").quick_result(
                [10.0] * 8 + [90.0] * v
            )
            for v in values
        ]
