"""diffpriv-pure 0.1.0: Laplace, geometric and Gaussian noise for counts, sums and means."""

PACKAGE, VERSION = "diffpriv-pure", "0.1.0"
INSTALLS = (("diffpriv-pure==0.1.0",),)


class Count:
    """One of 42 or 43 people counted."""

    says = ("Shifted geometric for pure ε-DP integer counts.", "__init__.py, geometric_noise")
    claim, expected = {"epsilon": 1.0, "alphabet": 2}, "violated: distribution"

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor

    def privatize(self, values):
        from diffpriv_pure import private_count

        return [private_count(42 + v, self.eps) for v in values]


class Sum:
    says = ("Pure ε-DP: Laplace noise for a sum query", "README, Quick Start")
    claim, expected = {"epsilon": 1.0, "dim": 1}, "sound"

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor

    def privatize(self, values):
        from diffpriv_pure import private_sum

        return [[private_sum([0.2, -0.4, v], (-1.0, 1.0), self.eps)] for [v] in values]


class SumAdded(Sum):
    """Three or four records between 10 and 11: the sum moves by up to 11, the noise has the scale 1 / eps."""

    claim, expected = (
        {"epsilon": 1.0, "alphabet": 2},
        "violated: distribution (an added record moves the sum by more than the bounds' difference)",
    )

    def privatize(self, values):
        from diffpriv_pure import private_sum

        return [private_sum([10.5] * (3 + v), (10.0, 11.0), self.eps) for v in values]


class Mean(Sum):
    """Three records, of which one is replaced."""

    says = ("add noise calibrated for sensitivity (hi-lo)/n", "__init__.py, private_mean")
    claim = {"epsilon": 1.0, "alphabet": 2}

    def privatize(self, values):
        from diffpriv_pure import private_mean

        return [private_mean([0.0, 0.0, float(v)], (0.0, 1.0), self.eps) for v in values]


class MeanAdded(Mean):
    """The file [0] or [0, 1]. The noise has scale 1 / (n eps), so it shows the number n of records: no epsilon holds."""

    expected = "violated: distribution (the scale of the noise shows the number of records)"

    def privatize(self, values):
        from diffpriv_pure import private_mean

        return [private_mean([0.0] + [1.0] * v, (0.0, 1.0), self.eps) for v in values]


class GaussianMean:
    """The classical sigma, at a delta for which half of it can be found; one record is replaced."""

    says = ("Relaxed (ε, δ)-DP: Gaussian noise for a mean", "README, Quick Start")
    claim, expected, trials = {"epsilon": 1.0, "delta": 1e-3, "alphabet": 2}, "sound", 100_000

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor

    def privatize(self, values):
        from diffpriv_pure import private_mean

        return [private_mean([1.2, 3.4, 10.0 * v], (0.0, 10.0), self.eps, 1e-3) for v in values]
