"""ldp-toolbox 0.1.3: Frequency oracles under local privacy."""

PACKAGE, VERSION = "ldp-toolbox", "0.1.3"
INSTALLS = (("ldp-toolbox==0.1.3", "numpy==2.4.6", "numba==0.68.1", "scipy==1.17.1", "xxhash==3.8.2"),)
K, EPS = 8, 2.0


class Base:
    says, claim, expected = (
        ("The privacy budget for the LDP mechanism", "docstring of each protocol"),
        {"epsilon": EPS, "alphabet": K},
        "sound",
    )

    def __init__(self, factor):
        self.protocol = self.make(self.claim["epsilon"] * factor)

    def privatize(self, values):
        return [self.read(self.protocol.obfuscate(v)) for v in values]

    def read(self, x):
        return x.tolist() if hasattr(x, "tolist") else x


class GRR(Base):
    def make(self, e):
        from ldp_toolbox.protocols.frequency.grr import GeneralizedRandomizedResponse as P

        return P(K, e)


class SS(Base):
    """The subset in the order in which it is returned."""

    claim = {"epsilon": 1.0, "alphabet": K}

    def make(self, e):
        from ldp_toolbox.protocols.frequency.ss import SubsetSelection as P

        return P(K, e)

    def read(self, x):
        return tuple(x.tolist())


class SUE(Base):
    def make(self, e):
        from ldp_toolbox.protocols.frequency.ue import UnaryEncoding as P

        return P(K, e, False)


class OUE(Base):
    def make(self, e):
        from ldp_toolbox.protocols.frequency.ue import UnaryEncoding as P

        return P(K, e, True)


class SHE(Base):
    def make(self, e):
        from ldp_toolbox.protocols.frequency.he import HistogramEncoding as P

        return P(K, e, False)


class THE(Base):
    def make(self, e):
        from ldp_toolbox.protocols.frequency.he import HistogramEncoding as P

        return P(K, e, True)

    def read(self, x):
        return frozenset(x.tolist())


class OLH(Base):
    optimal = True

    @staticmethod
    def supports(outcome, value):
        h, y = outcome
        return float(h[value] == y)

    def make(self, e):
        from ldp_toolbox.protocols.frequency.lh import LocalHashing as P

        return P(K, e, self.optimal)

    def read(self, x):
        import xxhash

        y, seed = x
        return (tuple(xxhash.xxh32(str(u), seed=int(seed)).intdigest() % self.protocol.g for u in range(K)), int(y))


class BLH(OLH):
    optimal = False
