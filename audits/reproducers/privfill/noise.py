"""privfill 0.1.0: DPBart.noise draws one vector for all tokens, and covers 2/3 of the range that clip leaves."""

import privfill.mechanisms as p
import torch

for name in ("BartTokenizer", "BartModel", "BartForConditionalGeneration"):  # instead of a download
    setattr(p, name, type(name, (), {"from_pretrained": classmethod(lambda k, m: k()), "to": lambda s, d: s}))
bart = p.DPBart("none")
states = torch.randn(1, 5, 16, dtype=torch.float64)  # a text of five tokens
clipped = bart.clip(states)
noisy = bart.noise(clipped, epsilon=1.0)
gap = (noisy[0, 1] - noisy[0, 0]) - (clipped[0, 1] - clipped[0, 0])
print("noise left in the difference of two tokens:", gap.abs().max().item())
assert gap.abs().max() < 1e-9 < noisy.std()
print("range of a number:", bart.c_max - bart.c_min, "noise is scaled for", 2 * bart.sigma * bart.num_sigmas)
assert bart.c_max - bart.c_min > 1.4 * 2 * bart.sigma * bart.num_sigmas
# Source: noise(): k = vector.shape[-1] numbers are drawn and broadcast; __init__: c_min = -sigma, c_max = num_sigmas * sigma.
