"""privfill 0.1.0: Rewriting of texts with noise in a language model."""

PACKAGE, VERSION = "privfill", "0.1.0"
INSTALLS = (("torch==2.13.0", "transformers==4.57.6", "privfill==0.1.0", "numpy==2.4.6"),)


class BartLatent:
    """Encoder states of a text of four tokens of two numbers, clipped and noised by DPBart's own methods."""

    says = (
        "local Differential Privacy (DP) mechanisms for text privatization ... self.delta = 1e-5",
        "README; mechanisms.py, DPBart",
    )
    claim, expected = (
        {"epsilon": 2.0, "delta": 1e-5, "dim": 8, "clip_norm": 1.0},
        "violated: distribution (one noise for all tokens; range .3, sensitivity .2)",
    )
    trials = 2000
    method = "analytic_gaussian"

    def __init__(self, factor):
        import privfill.mechanisms as p

        for c in ("BartTokenizer", "BartModel", "BartForConditionalGeneration"):  # stand-ins for the download
            setattr(p, c, type(c, (), {"from_pretrained": classmethod(lambda k, m: k()), "to": lambda s, d: s}))
        self.m = p.DPBart("stand-in")
        self.eps = self.claim["epsilon"] * factor
        import functools

        calibrate = functools.cache(self.m.calibrateAnalyticGaussianMechanism_precision)  # slow, and the same each time
        self.m.calibrateAnalyticGaussianMechanism_precision = lambda e, d, s: calibrate(e, d, float(s))

    def privatize(self, rows):
        import torch

        out = []
        for r in rows:
            x = torch.tensor(r, dtype=torch.float64).nan_to_num().reshape(1, 4, 2)
            out.append(self.m.noise(self.m.clip(x), self.eps, method=self.method).reshape(-1).tolist())
        return out


class OneToken(BartLatent):
    """A text of one token, where the noise is not shared: only the range is left."""

    claim, expected, trials = (
        {"epsilon": 2.0, "alphabet": [0, 1], "delta": 1e-5},
        "violated: distribution (range .3, sensitivity .2)",
        4000,
    )

    def privatize(self, values):
        import torch

        return [
            self.m.noise(
                self.m.clip(torch.full((1, 1, 2), [-9.0, 9.0][v], dtype=torch.float64)), self.eps, method=self.method
            )
            .reshape(-1)
            .tolist()
            for v in values
        ]


class OneTokenLaplace(OneToken):
    method = "laplace"
    claim = {"epsilon": 2.0, "alphabet": [0, 1]}
