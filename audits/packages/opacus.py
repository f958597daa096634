"""opacus 1.6.0: Noise of DP-SGD."""

PACKAGE, VERSION = "opacus", "1.6.0"
INSTALLS = (("--no-deps", "opacus==1.6.0"), ("torch==2.13.0", "numpy==2.4.6", "scipy==1.17.1", "opt-einsum"))


class Noise:
    """One clipped gradient of one number, with the noise of DPOptimizer; sigma of (1, 1e-5)."""

    budget = "ours"
    says = (
        "Generates noise according to a Gaussian distribution with mean 0 ... Standard deviation of the noise",
        "optimizers/optimizer.py, _generate_noise",
    )
    claim, expected, trials = {"epsilon": 1.0, "delta": 1e-5, "alphabet": [0.0, 1.0]}, "sound", 100_000
    secure = False

    def __init__(self, factor):
        self.sigma = 3.7304 / factor

    def privatize(self, values):
        import torch
        from opacus.optimizers.optimizer import _generate_noise

        x = torch.tensor(values).reshape(-1, 1)
        return (x + _generate_noise(self.sigma, x, secure_mode=self.secure, generator=None)).flatten().tolist()
