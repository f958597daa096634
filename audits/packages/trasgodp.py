"""trasgodp 2.1.0: Laplace, Gaussian, k-ary response, exponential mechanism and metric privacy for columns."""

PACKAGE, VERSION = "trasgodp", "2.1.0"
INSTALLS = (("trasgoDP==2.1.0", "numpy==2.0.2", "pandas==2.3.3", "scipy==1.15.3"),)


class Laplace:
    """Numbers; NaN, of which nothing is promised, is released as NaN and left out here."""

    says = (
        "implements different mechanims for ε-differential privacy ... being used under a local approach",
        "README; numerical.dp_clip_laplace_array",
    )
    claim, expected = {"epsilon": 2.0, "dim": 1}, "sound"

    def __init__(self, factor):
        self.eps = self.claim["epsilon"] * factor

    def privatize(self, rows):
        from trasgodp.numerical import dp_clip_laplace_array

        return [
            [x]
            for x in dp_clip_laplace_array([0.0 if r[0] != r[0] else r[0] for r in rows], self.eps, -1.0, 1.0).tolist()
        ]


class Gaussian(Laplace):
    claim, expected = {"epsilon": 1.0, "delta": 1e-3, "alphabet": [0.0, 1.0]}, "sound"

    trials = 100_000

    def privatize(self, values):
        from trasgodp.numerical import dp_clip_gaussian_array

        if self.eps > 1:  # the package takes no more: the same sensitivity, half the noise
            return dp_clip_gaussian_array([v * self.eps for v in values], 1.0, 0.0, 1.0).tolist()
        return dp_clip_gaussian_array(values, self.eps, 0.0, 1.0).tolist()


class KaryResponse(Laplace):
    """Values that the rest of the column holds too."""

    says = ("k-ary randomized response", "README, Mechanisms implemented")
    claim, expected = {"epsilon": 2.0, "alphabet": ["a", "b", "c", "d"]}, "sound"

    def privatize(self, values):
        from trasgodp.categorical import dp_randomized_response_kary_array

        return dp_randomized_response_kary_array(list("abcd") * 2 + list(values), self.eps)[8:].tolist()


class Exponential(KaryResponse):
    """It spends half of the budget."""

    says, expected = ("Exponential mechanism", "README"), "sound"

    def privatize(self, values):
        from trasgodp.categorical import dp_exponential_array

        return dp_exponential_array(list("abcd") * 2 + list(values), self.eps)[8:].tolist()


class OwnCategory(KaryResponse):
    """One row of a column of forty; nobody else holds "d". The whole column is released."""

    claim, expected = (
        {"epsilon": 2.0, "alphabet": ["a", "d"]},
        "violated: distribution (the set of categories is taken from the rows)",
    )
    trials = 3000

    def privatize(self, values):
        from trasgodp.categorical import dp_randomized_response_kary_array

        return [
            (released := dp_randomized_response_kary_array(list("abc") * 13 + [v], self.eps).tolist())
            and (released[-1], released.count("d"))
            for v in values
        ]


class Place(Laplace):
    """Places a metre apart at epsilon 1 a metre: metric privacy claims e^1."""

    says = (
        "Apply geo-indistinguishability to the columns of a DataFrame with lat, lon pairs. ... privacy budget.",
        "geoindis.metric_privacy",
    )
    claim, expected = {"epsilon": 1.0, "alphabet": [0, 1]}, "violated: randomness (seed=42 by default)"
    trials = 200

    def privatize(self, values):
        import pandas as pd
        from trasgodp.geoindis import metric_privacy

        return [
            metric_privacy(pd.DataFrame({"lat": [43.0 + v * 8.983e-6], "lon": [-3.8]}), "lat", "lon", self.eps)[
                ["lat", "lon"]
            ]
            .values[0]
            .tolist()
            for v in values
        ]


class LaplaceAfterPlace(Laplace):
    """A number privatised after a call of metric_privacy."""

    claim, expected = (
        {"epsilon": 2.0, "alphabet": [40.0, 41.0]},
        "violated: randomness (metric_privacy seeds the generator of the whole process)",
    )
    trials = 200

    def privatize(self, values):
        import pandas as pd
        from trasgodp.geoindis import metric_privacy
        from trasgodp.numerical import dp_clip_laplace_array

        out = []
        for v in values:
            metric_privacy(pd.DataFrame({"lat": [43.0], "lon": [-3.8]}), "lat", "lon", 1.0)
            out.append(float(dp_clip_laplace_array([50.0, 50.0, v], self.eps, -100.0, 200.0)[2]))
        return out
