"""Table of functions that have mutants, and of mutants that equal their function.

A function is named as "module:qualname". The tests with the mark ``mutants("module")`` that call a
function must find its mutants.
"""

MUTATED = {  # functions by module
    "mechanisms.random_draws": ("below below_each shuffle exact_ranks exact_bernoulli exact_odds exponential_series"),
    "mechanisms.selection": (
        "Selection.total Selection.heavy_probability Selection._within_budget Selection.check Selection.draw "
        "Selection.place _integers"
    ),
    "mechanisms.policy": "_heavy",
    "mechanisms.codebook": "Block.nearest cut",
    "mechanisms.randomized_response": (
        "RandomizedResponse.selection RandomizedResponse.privatize label_places RandomizedResponse.spent "
        "JointResponse.selection JointResponse._heavy JointResponse._pairs JointResponse.text_epsilon "
        "JointResponse.label_epsilon JointResponse._label_weight JointResponse._log"
    ),
    "mechanisms.guarantee": "symbols_part",
    "mechanisms.discrete_laplace": "smallest_scale exact_laplace laplace_noise _magnitudes _wholes _decays _fraction",
    "mechanisms.central_counts": (
        "Votes.sensitivity Votes.number_epsilon Votes.counts_epsilon Votes.privatize_number _add_noise _check"
    ),
    "synthesis.votes": "Tally.add Tally._vote_of person_name",
    "mechanisms.laplace": (
        "ScalarLaplace.scale ScalarLaplace.privatize "
        "_Laplace._true_diameter _Laplace._true_epsilon _Laplace.guarantee OriginalLaplace._assumed_diameter"
    ),
    "mechanisms.clip_to_grid": "clip_latents grid_step grid_radius to_grid",
    "mechanisms.gaussian": (
        "ClampedGaussian.clip_to_units Gaussian._distance log_delta analytic_scale discrete_log_delta discrete_scale"
    ),
}

SAME_AXIS = "the tensor has two axes, of which the last is number 1"
SIGN = "the noise is as likely with the other sign"
CUT = "a number that large is cut off to half of the range with the value that it is added to"
FIRST_CLAMP = "the first clamp keeps numbers convertible; the side is kept to in integers after it"
BRACKET = "an end of the interval in which a root is sought; the root is the same"
MET = "the scale moves by less than its margin of 2^-20; that it meets (**) with the tail of the docstring is tested in 60 digits"

# Mutants that do the same as the function, or the same for every caller, by the function.
EQUIVALENT = {
    "mechanisms.random_draws:exact_ranks": {
        "draw < border -> draw <= border": "at the border the other branch gives the same rank, `near`",
    },
    "mechanisms.selection:_integers": {
        "max(row) >= selection.size -> max(row) > selection.size": "`check` refuses it as well, in the same words",
    },
    "mechanisms.codebook:Block.nearest": {
        "max(1, MAX_SCORES // self.selection.size) -> max(2, MAX_SCORES // self.selection.size)": (
            "rows are ranked one by one, however many at a time"
        ),
        "score.topk(self.selection.heavy_count, dim=-1, sorted=False) -> "
        "score.topk(self.selection.heavy_count, dim=1, sorted=False)": SAME_AXIS,
        "torch.cat(near).sort(dim=-1) -> torch.cat(near).sort(dim=1)": SAME_AXIS,
    },
    "mechanisms.codebook:cut": {
        "dim // 2 -> dim / 2": "a whole number is above a half if it is above the half rounded down",
    },
    "mechanisms.discrete_laplace:exact_laplace": {
        "values.clamp(-limit, limit) + noise -> values.clamp(-limit, limit) - noise": SIGN,
    },
    "mechanisms.discrete_laplace:laplace_noise": {
        "below_each(2, len(size)) == 1 -> below_each(2, len(size)) != 1": SIGN,
        "np.where(minus, -size, size) -> np.where(minus, size, -size)": SIGN,
    },
    "mechanisms.discrete_laplace:_magnitudes": {
        "count - len(parts) -> count + len(parts)": "more candidates are drawn than are needed; the first that are kept count",
        "wholes < -(-MAX_MAGNITUDE // t) -> wholes <= -(-MAX_MAGNITUDE // t)": CUT,
        "-MAX_MAGNITUDE // t -> -MAX_MAGNITUDE / t": CUT,
        "np.where(fits, wholes, 0) -> np.where(fits, wholes, 1)": "the other `where` leaves it out",
    },
    "mechanisms.central_counts:_add_noise": {
        "counts.reshape(-1) -> counts.reshape(-2)": "NumPy takes any negative number for the rest",
    },
    "mechanisms.clip_to_grid:to_grid": {
        "values.isfinite().all(dim=-1, keepdim=True) -> values.isfinite().all(dim=1, keepdim=True)": SAME_AXIS,
        "units.abs().pow(NORM_ORDER[clip]).sum(dim=-1, keepdim=True) -> "
        "units.abs().pow(NORM_ORDER[clip]).sum(dim=1, keepdim=True)": SAME_AXIS,
    },
    "mechanisms.gaussian:ClampedGaussian.clip_to_units": {
        "values.isfinite().all(dim=-1, keepdim=True) -> values.isfinite().all(dim=1, keepdim=True)": SAME_AXIS,
        "-(side + 1) * step -> -(side + 1) + step": FIRST_CLAMP,
        "(side + 1) * step -> side + 1 + step": FIRST_CLAMP,
        "side + 1 -> side + 2": FIRST_CLAMP,
        "side + 1 -> side + 2 (2)": FIRST_CLAMP,
    },
    "mechanisms.gaussian:log_delta": {
        "low < -30 -> low <= -30": "both formulas hold there",
        "low < -30 -> low < -31": "both formulas hold there",
    },
    "mechanisms.gaussian:analytic_scale": {
        "max(1.0, math.sqrt(-2 * target)) / min(epsilon, 1.0) + 1 -> "
        "max(1.0, math.sqrt(-2 * target)) / min(epsilon, 1.0) + 2": BRACKET,
        "-2 * target -> -3 * target": BRACKET,
        "1 / 80 -> 2 / 80": BRACKET,
        "1 / 80 -> 1 / 81": BRACKET,
    },
    "mechanisms.gaussian:discrete_scale": {
        "delta * DELTA_MARGIN / 2 -> delta * DELTA_MARGIN * 2": MET,
        "delta * DELTA_MARGIN -> delta + DELTA_MARGIN": MET,
        "delta * DELTA_MARGIN / 2 -> delta * DELTA_MARGIN / 3": MET,
    },
}
