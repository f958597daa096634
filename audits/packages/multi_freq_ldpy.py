"""multi-freq-ldpy 0.2.5: Frequency oracles under local privacy."""

PACKAGE, VERSION = "multi-freq-ldpy", "0.2.5"
INSTALLS = (("multi-freq-ldpy==0.2.5", "numpy==2.4.6", "numba==0.68.1", "scipy==1.17.1", "xxhash==3.8.2"),)
K, EPS = 8, 2.0


class Base:
    says, claim, expected = (
        ("epsilon: privacy guarantee", "docstring of each client"),
        {"epsilon": EPS, "alphabet": K},
        "sound",
    )

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor

    def privatize(self, values):
        return [self.one(v) for v in values]


class GRR(Base):
    def one(self, v):
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client as c

        return int(c(v, K, self.eps))


class SS(Base):
    """The subset as a set: at epsilon 2 it would hold one value."""

    claim = {"epsilon": 1.0, "alphabet": K}

    def one(self, v):
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client as c

        return frozenset(c(v, K, self.eps).tolist())


class SSOrdered(SS):
    """The subset in the order in which it is returned."""

    expected = "violated: distribution (the true value comes first)"

    def one(self, v):
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client as c

        return tuple(c(v, K, self.eps).tolist())


class SUE(Base):
    def one(self, v):
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client as c

        return c(v, K, self.eps, False).tolist()


class OUE(Base):
    def one(self, v):
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client as c

        return c(v, K, self.eps, True).tolist()


class SHE(Base):
    def one(self, v):
        from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client as c

        return c(v, K, self.eps).tolist()


class THE(Base):
    def one(self, v):
        from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client as c

        return [int(x > 0.67) for x in c(v, K, self.eps)]


class OLH(Base):
    optimal = True

    @staticmethod
    def supports(outcome, value):
        h, y = outcome
        return float(h[value] == y)

    def one(self, v):
        import math

        import xxhash
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client as c

        y, seed = c(v, K, self.eps, self.optimal)
        g = round(math.exp(self.eps)) + 1 if self.optimal else 2
        return (tuple(xxhash.xxh32(str(u), seed=int(seed)).intdigest() % g for u in range(K)), int(y))


class BLH(OLH):
    optimal = False


class Tuples(Base):
    """A record is a tuple of four attributes; the amplified budget is e' = ln(d (e^eps - 1) + 1)."""

    expected = "violated: distribution (e' for tuples that differ everywhere)"
    claim = {"epsilon": 1.0, "alphabet": [(0, 0, 0, 0), (1, 1, 1, 1)]}
    trials = 20_000

    def one(self, v):
        from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client as c

        return tuple(int(x) for x in c(list(v), [8] * 4, 4, self.eps))


class OneAttribute(Tuples):
    """Tuples that differ in one attribute alone, all attributes of one size."""

    expected, trials = "sound", 60_000
    claim = {"epsilon": 1.0, "alphabet": [(0, 0, 0, 0), (1, 0, 0, 0)]}


class LongGRR(Base):
    """One report of a longitudinal protocol: a permanent response at eps_perm, and a response of it at eps_1, the claim."""

    name = "L_GRR"
    says = ("lower bound of privacy guarantee (a single report)", "docstring of each longitudinal client")
    claim = {"epsilon": 1.0, "alphabet": K}

    def one(self, v):
        from importlib import import_module

        client = getattr(import_module(f"multi_freq_ldpy.long_freq_est.{self.name}"), f"{self.name}_Client")
        report = client(v, K, 3 * self.eps, self.eps)
        return report.tolist() if hasattr(report, "tolist") else int(report)


class LongSUE(LongGRR):
    name = "L_SUE"


class LongOUE(LongGRR):
    name = "L_OUE"


class LongOSUE(LongGRR):
    name = "L_OSUE"


class LongSOUE(LongGRR):
    name = "L_SOUE"


class BitFlip(Base):
    """Four of eight bits, drawn by chance; the others are -1."""

    says = ("upper bound of privacy guarantee", "docstring of dBitFlipPM_Client")

    def one(self, v):
        from multi_freq_ldpy.long_freq_est.dBitFlipPM import dBitFlipPM_Client as c

        return c(v, K, K, 4, self.eps).tolist()
