"""opendp 0.16.0: OpenDP's measurements."""

PACKAGE, VERSION = "opendp", "0.16.0"
INSTALLS = (("opendp==0.16.0",),)


class Response:
    says = (
        "Make a Measurement that implements randomized response on a boolean value.",
        "measurements.py; map(1) is epsilon",
    )
    claim, expected = {"epsilon": 1.0, "alphabet": [False, True]}, "sound"

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor
        self.m = self.make()

    def make(self):
        import math

        import opendp.prelude as dp

        dp.enable_features("contrib")
        e = math.exp(self.eps)
        m = dp.m.make_randomized_response_bool(e / (1 + e))
        self.map = m.map(1)
        return m

    def privatize(self, values):
        return [self.m(v) for v in values]


class Laplace(Response):
    """Vectors of one number, clamped to [-1, 1]."""

    says = (
        "Make a Measurement that adds noise from the Laplace(`scale`) distribution to the input.",
        "measurements.py; map(2.0) is epsilon",
    )
    claim = {"epsilon": 2.0, "dim": 1}

    def make(self):
        import opendp.prelude as dp

        dp.enable_features("contrib", "floating-point")
        s = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        return dp.m.make_laplace(*s, scale=2.0 / self.eps)

    def privatize(self, rows):
        return [[self.m(min(1.0, max(-1.0, 0.0 if v != v else v)))] for [v] in rows]


class DiscreteLaplace(Response):
    claim = {"epsilon": 1.0, "alphabet": [0, 1]}

    def make(self):
        import opendp.prelude as dp

        dp.enable_features("contrib")
        return dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0 / self.eps)


class Geometric(DiscreteLaplace):
    """Bounded: timing resistant."""

    def make(self):
        import opendp.prelude as dp

        dp.enable_features("contrib")
        return dp.m.make_geometric(
            dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0 / self.eps, bounds=(0, 10)
        )


class Gaussian(DiscreteLaplace):
    """The (eps, delta) of zCDP's conversion at delta .01, computed by the library."""

    claim, trials = {"epsilon": 1.0, "delta": 1e-2, "alphabet": [0.0, 1.0]}, 10_000

    def make(self):
        import opendp.prelude as dp

        dp.enable_features("contrib", "floating-point")
        s = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

        def build(scale):
            return dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*s, scale=scale))

        low, high = 0.1, 100.0
        while high - low > 1e-3:
            mid = (low + high) / 2
            if build(mid).map(1.0).epsilon(1e-2) <= self.eps:
                high = mid
            else:
                low = mid
        return build(high)
