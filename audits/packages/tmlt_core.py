"""tmlt-core 0.20.0: Tumult's measurements."""

PACKAGE, VERSION = "tmlt-core", "0.20.0"
INSTALLS = (("tmlt-core==0.20.0", "numpy==1.26.4", "pandas==1.5.3"),)


class Geometric:
    says = (
        "Returns the smallest d_out satisfied by the measurement.",
        "measurements/noise_mechanisms.py, privacy_function: d_in / alpha",
    )
    claim, expected, trials = {"epsilon": 1.0, "alphabet": [0, 1]}, "sound", 3000

    def __init__(self, factor):

        from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise, AddLaplaceNoise
        from tmlt.core.utils.exact_number import ExactNumber

        self.eps = self.claim["epsilon"] * factor
        self.m = self.make(ExactNumber(1) / ExactNumber.from_float(self.eps, False), AddGeometricNoise, AddLaplaceNoise)

    def make(self, scale, geometric, laplace):
        return geometric(scale)

    def privatize(self, values):
        return [self.m(v) for v in values]


class Laplace(Geometric):
    claim = {"epsilon": 1.0, "alphabet": [0.0, 1.0]}

    def make(self, scale, geometric, laplace):
        from tmlt.core.domains.numpy_domains import NumpyFloatDomain

        return laplace(NumpyFloatDomain(), scale)

    def privatize(self, values):
        import numpy as np

        return [float(self.m(np.float64(v))) for v in values]
