"""diff-priv-laplace-python 1.0.5: Laplace noise for statistics of numbers."""

PACKAGE, VERSION = "diff-priv-laplace-python", "1.0.5"
INSTALLS = (("diff-priv-laplace-python==1.0.5", "numpy==2.4.6"),)


class Count:
    says = ("Anonymizes one or many count value(s) for a given privacy budget.", "laplace_mechanism.py")
    claim, expected = {"epsilon": 1.0, "alphabet": 2}, "sound"

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor

    def privatize(self, values):
        from diffpriv_laplace import DiffPrivStatistics as S

        return [float(S.count([1] * 20 + [v], self.eps)) for v in values]


class Sum(Count):
    """Values between 0 and 1."""

    claim = {"epsilon": 1.0, "alphabet": 2}

    def privatize(self, values):
        from diffpriv_laplace import DiffPrivLaplaceMechanism as M

        return [float(M.anonymize_sum_with_budget(3.0 + v, 0, 1, self.eps)) for v in values]


class SumReplaced(Count):
    """Values between -1 and 1, one of which is replaced: the sum moves by 2, and the sensitivity is taken for 1."""

    claim, expected = (
        {"epsilon": 1.0, "alphabet": [-1.0, 1.0]},
        "violated: distribution (the sensitivity is that of an added record)",
    )

    def privatize(self, values):
        from diffpriv_laplace import DiffPrivLaplaceMechanism as M

        return [float(M.anonymize_sum_with_budget(3.0 + v, -1, 1, self.eps)) for v in values]


class Max(Count):
    """Ages: the oldest is 40 or 90. The function takes no bounds."""

    says = (
        "Performs the max operation and anonymizes the value(s) using the provided privacy budget.",
        "statistics.py, DiffPrivStatistics.max",
    )
    claim, expected = (
        {"epsilon": 1.0, "alphabet": [40.0, 90.0]},
        "violated: distribution (sensitivity 1 whatever the range)",
    )

    def privatize(self, values):
        from diffpriv_laplace import DiffPrivStatistics as S

        return [float(S.max([20.0, 30.0, v], self.eps)) for v in values]


class Median(Max):
    says = ("Performs the median operation and anonymizes ...", "statistics.py, DiffPrivStatistics.median")
    claim = {"epsilon": 1.0, "alphabet": [20.0, 90.0]}

    def privatize(self, values):
        from diffpriv_laplace import DiffPrivStatistics as S

        return [float(S.median([20.0, v, 90.0], self.eps)) for v in values]


class Mean(Max):
    """Ten values, one of which is the record; the bounds are the smallest and largest of the data themselves."""

    says = (
        "Performs the mean operation and anonymizes the value(s) using the provided privacy budget.",
        "statistics.py, DiffPrivStatistics.mean",
    )
    claim, expected = (
        {"epsilon": 1.0, "alphabet": [0.0, 100.0]},
        "violated: distribution (the noise is scaled by the data's own range)",
    )

    def privatize(self, values):
        from diffpriv_laplace import DiffPrivStatistics as S

        return [float(S.mean([0.0] * 3 + [1.0] * 6 + [v], self.eps)) for v in values]
