"""eeprivacy 0.0.5: Laplace and Gaussian noise for energy data."""

PACKAGE, VERSION = "eeprivacy", "0.0.5"
INSTALLS = (("eeprivacy==0.0.5", "numpy==2.4.6", "pandas==3.1.1", "scipy==1.17.1"),)


class Laplace:
    says = (
        "adding noise to `value` to realize differential private at `epsilon` for the provided `sensitivity`",
        "mechanisms.py, LaplaceMechanism.execute",
    )
    claim, expected = {"epsilon": 1.0, "alphabet": 2}, "sound"

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor

    def privatize(self, values):
        from eeprivacy.mechanisms import LaplaceMechanism

        return [float(LaplaceMechanism.execute(value=v, epsilon=self.eps, sensitivity=1)) for v in values]


class ClampedSum(Laplace):
    """Numbers; NaN, of which nothing is promised, is released as NaN and left out here."""

    says = ("Compute a sum, bounding sensitivity with clamping", "operations.py, PrivateClampedSum")
    claim, expected = {"epsilon": 1.0, "dim": 1}, "sound"

    def privatize(self, rows):
        from eeprivacy.operations import PrivateClampedSum

        return [
            [
                float(
                    PrivateClampedSum(lower_bound=-1, upper_bound=1).execute(
                        values=[0.2, -0.4, 0.0 if v != v else v], epsilon=self.eps
                    )
                )
            ]
            for [v] in rows
        ]


class ClampedMean(Laplace):
    says = (
        "Compute a mean, bounding sensitivity with clamping. Employs the Laplace Mechanism.",
        "operations.py, PrivateClampedMean",
    )
    claim, expected = (
        {"epsilon": 1.0, "alphabet": [0.0, 1.0, 1000.0]},
        "violated: distribution (a value outside the bounds is not clamped)",
    )

    def privatize(self, values):
        from eeprivacy.operations import PrivateClampedMean

        return [
            float(PrivateClampedMean(lower_bound=0, upper_bound=1).execute(values=[0.2] * 9 + [v], epsilon=self.eps))
            for v in values
        ]


class ClampedMeanReplaced(ClampedMean):
    """Values within the bounds; one record is replaced."""

    claim, expected = {"epsilon": 1.0, "alphabet": [0.0, 1.0]}, "sound"


class ClampedMeanAdded(ClampedMean):
    """Values within the bounds; the file [0] or [0, 1]. The noise has scale 1 / (n eps), so it shows the number n of records.

    At the mean .5 of the second file, the densities have the ratio 2 e^(eps / 2): ln 2 + .1 = .79 for eps = .2. A release is
    read as: does it lie between the bounds? Its chances are .181 and .091, which differ by ln 2 = .69.
    """

    claim, expected, trials = (
        {"epsilon": 0.2, "alphabet": [0, 1]},
        "violated: distribution (the scale of the noise shows the number of records)",
        20_000,
    )

    def privatize(self, values):
        from eeprivacy.operations import PrivateClampedMean

        m = PrivateClampedMean(lower_bound=0, upper_bound=1)
        return [bool(0 < m.execute(values=[0.0] + [1.0] * v, epsilon=self.eps) < 1) for v in values]


class ClampedSumAdded(ClampedSum):
    """Three or four records between 10 and 11: the sum moves by up to 11, the noise has the scale 1 / eps."""

    claim, expected = (
        {"epsilon": 1.0, "alphabet": [0, 1]},
        "violated: distribution (an added record moves the sum by more than b - a)",
    )

    def privatize(self, values):
        from eeprivacy.operations import PrivateClampedSum

        m = PrivateClampedSum(lower_bound=10, upper_bound=11)
        return [float(m.execute(values=[10.5] * (3 + v), epsilon=self.eps)) for v in values]


class VectorMeanLaplace(Laplace):
    says = (
        "With the Laplace Mechanism, noise is scaled to the L1 norm of the dataset.",
        "operations.py, PrivateVectorClampedMeanLaplace",
    )
    claim, expected = (
        {"epsilon": 1.0, "alphabet": [0, 1]},
        "violated: distribution (one number of noise for all places)",
    )

    def privatize(self, values):
        from eeprivacy.operations import PrivateVectorClampedMeanLaplace

        m = PrivateVectorClampedMeanLaplace(lower_bound=0, upper_bound=1, k=4, N=4)
        return [
            m.execute(vectors=[[0.5, 0.25, 0.5, 0.25]] * 3 + [[float(v), 0, 0, 0]], epsilon=self.eps, delta=0).tolist()
            for v in values
        ]


class VectorMeanGaussian(Laplace):
    says = ("noise is scaled to the L2 norm of the dataset", "operations.py, PrivateVectorClampedMeanGaussian")
    claim, expected = {"epsilon": 1.0, "delta": 1e-3, "alphabet": [0, 1]}, "sound"
    trials = 60_000

    def privatize(self, values):
        from eeprivacy.operations import PrivateVectorClampedMeanGaussian

        m = PrivateVectorClampedMeanGaussian(lower_bound=0, upper_bound=1, k=4, N=4)
        return [
            m.execute(vectors=[[0.5, 0.25, 0.5, 0.25]] * 3 + [[float(v)] * 4], epsilon=self.eps, delta=1e-3).tolist()
            for v in values
        ]


class Quantile(Laplace):
    """The quantile .9 of 20 values; neighbours by one value more, above all options."""

    says = (
        "Implemented using Report Noisy Max (Claim 3.9) of [Dwork and Roth]",
        "operations.py, PrivateQuantile.execute",
    )
    expected = (
        "violated: distribution (2 max(q, 1 - q) eps where a record is added or removed, 2 eps where one is replaced)"
    )
    trials = 20_000

    def privatize(self, values):
        from eeprivacy.operations import PrivateQuantile

        m = PrivateQuantile(options=[10, 20])
        return [
            m.execute(
                values=__import__("numpy").array([0] * 14 + [15] * 5 + [30] * (1 + v)), epsilon=self.eps, quantile=0.9
            )
            for v in values
        ]


class Histogram(Laplace):
    """Counts of four bins; neighbours by one value more. A replaced value moves two counts and spends 2 eps."""

    says = ("Compute a private histogram with the Laplace Mechanism", "operations.py, PrivateHistogram")

    def privatize(self, values):
        from eeprivacy.operations import PrivateHistogram

        m = PrivateHistogram(bins=[0, 1, 2, 3, 4])
        return [m.execute(values=[0.5, 1.5, 1.5] + [2.5] * v, epsilon=self.eps).tolist() for v in values]
