"""pure-ldp 1.2.0: Frequency oracles under local privacy."""

PACKAGE, VERSION = "pure-ldp", "1.2.0"
INSTALLS = (
    ("pure-ldp==1.2.0", "numpy==2.4.6", "scikit-learn==1.9.1", "statsmodels==0.15.0", "scipy==1.17.1", "xxhash==3.8.2"),
)
K, EPS = 8, 2.0
SAYS = ("epsilon (float): Privacy budget", "docstring of each client")


class Base:
    says, claim, expected = SAYS, {"epsilon": EPS, "alphabet": K}, "sound"

    def __init__(self, factor):
        self.eps = EPS * factor
        self.client = self.make()

    def privatize(self, values):
        return [self.read(self.client.privatise(v)) for v in values]

    def read(self, x):
        return x


class GRR(Base):
    def make(self):
        from pure_ldp.frequency_oracles.direct_encoding import DEClient

        return DEClient(self.eps, K, index_mapper=lambda x: x)


class SUE(Base):
    def make(self):
        from pure_ldp.frequency_oracles.unary_encoding import UEClient

        return UEClient(self.eps, K, index_mapper=lambda x: x)


class OUE(Base):
    def make(self):
        from pure_ldp.frequency_oracles.unary_encoding import UEClient

        return UEClient(self.eps, K, use_oue=True, index_mapper=lambda x: x)


class SHE(Base):
    def make(self):
        from pure_ldp.frequency_oracles.histogram_encoding import HEClient

        return HEClient(self.eps, K, index_mapper=lambda x: x)


class OLH(Base):
    @staticmethod
    def supports(outcome, value):
        h, y = outcome
        return float(h[value] == y)

    def make(self):
        from pure_ldp.frequency_oracles.local_hashing import LHClient

        return LHClient(self.eps, K, use_olh=True, index_mapper=lambda x: x)

    def read(self, x):
        import xxhash

        y, seed = x
        return (tuple(xxhash.xxh32(str(v), seed=seed).intdigest() % self.client.g for v in range(K)), y)


class BLH(OLH):
    def make(self):
        from pure_ldp.frequency_oracles.local_hashing import LHClient

        return LHClient(self.eps, K, index_mapper=lambda x: x)


class FLH(OLH):
    def make(self):
        from pure_ldp.frequency_oracles.local_hashing import FastLHClient

        return FastLHClient(self.eps, K, k=100, use_olh=True, index_mapper=lambda x: x)


class HadamardResponse(Base):
    def make(self):
        from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

        s = HadamardResponseServer(self.eps, K, index_mapper=lambda x: x)
        return HadamardResponseClient(self.eps, K, s.get_hash_funcs(), index_mapper=lambda x: x)


class CMS(Base):
    def make(self):
        from pure_ldp.core import generate_hash_funcs
        from pure_ldp.frequency_oracles.apple_cms.cms_client import CMSClient

        return CMSClient(self.eps, generate_hash_funcs(4, 16), 16)

    def read(self, x):
        v, j = x
        return (*tuple(v.tolist()), j)


class HadamardCMS(CMS):
    def make(self):
        from pure_ldp.core import generate_hash_funcs
        from pure_ldp.frequency_oracles.apple_cms.cms_client import CMSClient

        return CMSClient(self.eps, generate_hash_funcs(4, 16), 16, is_hadamard=True)

    def read(self, x):
        return tuple(x)


class PCS(CMS):
    """One bit of a sketch of 16, and 15 fair coins."""

    def make(self):
        from pure_ldp.core import generate_hash_funcs
        from pure_ldp.frequency_oracles.priv_count_sketch.pcs_client import PCSClient

        pairs = list(zip(generate_hash_funcs(2, 16), generate_hash_funcs(2, 2), strict=True))
        return PCSClient(self.eps, 2, 16, pairs)


class SketchResponse(Base):
    """Fast local hashing of a sketch, as its constructor has it where no other protocol is given."""

    def make(self):
        from pure_ldp.core import generate_hash_funcs
        from pure_ldp.frequency_oracles.sketch_response.sketch_response_client import SketchResponseClient

        return SketchResponseClient(self.eps, 16, generate_hash_funcs(2, 16), lh_k=4, index_mapper=lambda x: str(x))

    def read(self, x):
        report, function = x
        return (*report, function)


class RAPPOR(Base):
    """One hash function a cohort, two cohorts, f of the server's own formula."""

    says, expected = (
        (
            "self.epsilon = 2 * self.k * math.log((1 - 0.5 * f) / (0.5 * f))",
            "rappor_server.py, RAPPORServer",
        ),
        "violated: distribution",
    )

    def make(self):
        import math

        from pure_ldp.core import generate_hash_funcs
        from pure_ldp.frequency_oracles.rappor.rappor_client import RAPPORClient

        self.f = 2 / (math.exp(self.eps / 2) + 1)
        return RAPPORClient(
            self.f, 16, [generate_hash_funcs(1, 16) for _ in range(2)], num_of_cohorts=2, index_mapper=lambda x: x
        )

    def read(self, x):
        bits, cohort = x
        return (*tuple(bits), cohort)


class HadamardMechanism(Base):
    """The numbers of the report. It is a list or a zip object, but no reader of numbers sees which."""

    def make(self):
        from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

        return HadamardMechClient(self.eps, K, 2, index_mapper=lambda x: x)

    def read(self, x):
        return tuple(n for pair in x for n in pair)
