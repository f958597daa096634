"""nprr 0.1.4: Non-parametric randomised response."""

PACKAGE, VERSION = "nprr", "0.1.4"
INSTALLS = (("--no-deps", "nprr==0.1.4"), ("numpy==1.26.4", "scipy==1.13.1"))


class Base:
    """confseq, which only the confidence sets need, is left out: it is built from C++ with Boost."""

    says = ("r value in NPRR to achieve a given epsilon given G", "mechanisms.py, r_from_G_eps")
    claim, expected, G = {"epsilon": 1.0, "alphabet": [0.0, 1.0]}, "sound", 1

    def __init__(self, factor):
        import sys
        from unittest.mock import MagicMock

        missing = ("", ".betting_strategies", ".betting", ".boundaries", ".conjmix_bounded")
        sys.modules.update({f"confseq{name}": MagicMock() for name in missing})

        self.eps = self.claim["epsilon"] * factor
        self.G = type(self).G

    def privatize(self, values):
        import numpy as np
        from nprr.mechanisms import nprr, r_from_G_eps

        return nprr(np.array(values), r_from_G_eps(self.G, self.eps), self.G).tolist()


class OneBin(Base):
    pass


class TenBins(Base):
    expected, G = "violated: distribution (the ends get half the probability)", 10


class Laplace(Base):
    says = ("Laplace mechanism ... Privacy parameter", "mechanisms.py, laplace")

    def privatize(self, values):
        import numpy as np
        from nprr.mechanisms import laplace

        return laplace(np.array(values), self.eps).tolist()


class Multinomial(Base):
    """K = 3; a batch of records is randomised in one call. No epsilon is stated: it is that of r, if values are drawn well."""

    budget = "ours"
    says = ("Multivariate generalization of Warner's randomized response", "mechanisms.py, multinomial_rr")
    claim, expected = {"epsilon": 2.0, "alphabet": 3}, "violated: state (one random value for all rows of a call)"

    def privatize(self, values):
        import math
        import warnings

        import numpy as np

        warnings.simplefilter("ignore")
        from nprr.mechanisms import multinomial_rr

        r = (math.exp(self.eps) - 1) / (math.exp(self.eps) + 3)  # of K + 1 values, so that the ratio is e^eps
        return multinomial_rr(np.array(values), 3, r).tolist()


class MultinomialColumn(Multinomial):
    """A column of 30 rows: the released value of the last, and one that another row did not have."""

    expected = "violated: distribution (the others show the random value)"
    claim = {"epsilon": 2.0, "alphabet": [0, 1]}

    def privatize(self, values):
        import math
        import warnings

        import numpy as np

        warnings.simplefilter("ignore")
        from nprr.mechanisms import multinomial_rr

        r = (math.exp(self.eps) - 1) / (math.exp(self.eps) + 3)
        out = []
        for v in values:
            z = multinomial_rr(np.array([2] * 29 + [v]), 3, r).tolist()
            out.append((z[-1], next((x for x in z[:-1] if x != 2), 2)))
        return out
