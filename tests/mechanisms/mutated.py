"""Table of functions that have mutants, the fast tests of each, and mutants that equal their function.

The quickest tests first: a mutant is found by the first that fails.
"""


def tests(module: str, *names: str) -> tuple[str, ...]:
    """Tests of one module, "module.function"."""
    return tuple(f"{module}.{name}" for name in names)


CERTIFIED = tests(
    "test_verify",
    "test_randomised_labels_are_certified_beside_the_text_and_with_it",
    "test_every_exact_mechanism_is_certified_at_every_budget",
)
ODDS = tests("test_random_draws", "test_odds_never_exceed_exp_epsilon_and_come_within_two_to_the_minus_sixty")
K_ARY = tests("test_random_bits", "test_k_ary_response_has_its_distribution")
CODEBOOK = tests("test_random_bits", "test_a_codebook_has_its_distribution")
RANKING = tests(
    "test_codebook_blocks",
    "test_the_nearest_codewords_have_the_largest_dot_products",
    "test_ranking_in_chunks_changes_nothing",
    "test_every_product_has_as_many_rows",
    "test_a_ranking_returns_t_different_codewords_whatever_the_record",
)
LAYOUT = tests(
    "test_codebook_blocks",
    "test_block_budgets_sum_to_epsilon_exactly_and_every_odds_stay_below_them",
    "test_more_blocks_than_pairs_of_coordinates_are_refused",
)
SELECTION = (
    *tests(
        "test_selection",
        "test_every_index_has_exactly_one_rank_and_heavy_ones_come_first",
        "test_probabilities_of_two_records_differ_by_the_odds_at_most",
        "test_other_than_t_different_indices_are_refused_without_being_told",
        "test_a_tensor_of_other_indices_is_refused_without_being_told",
        "test_weights_above_the_budget_are_refused",
        "test_releases_have_the_distribution_of_the_proof",
    ),
    *K_ARY,
)
PAIRS = tests(
    "test_selection",
    "test_what_each_half_of_a_pair_tells_is_the_worst_ratio_of_its_marginal",
    "test_what_each_half_tells_is_never_too_small_at_the_ends",
)
SIZES = tests(
    "test_policy",
    "test_as_many_sentences_are_heavy_as_give_one_of_them_the_odds",
    "test_cells_grow_with_epsilon_and_fewer_of_their_sentences_are_heavy",
)
LECTURE = tests(
    "test_randomized_response",
    "test_the_lectures_theta_is_eps_plus_one_over_eps_plus_two_and_spends_the_logarithm",
    "test_the_lectures_stated_budget_covers_its_odds_in_sixty_digits",
    "test_the_probability_of_keeping_is_rounded_down_and_the_budget_holds_exactly",
)
NUMBER = tests("test_randomized_response", "test_a_number_is_clamped_into_its_range_before_its_noise")
JOINT = (
    *tests("test_random_bits", "test_a_joint_response_has_its_distribution"),
    *tests(
        "test_joint_response",
        "test_a_records_heavy_pairs_are_t_outcomes_with_its_own_label",
        "test_what_comes_out_right_has_the_probability_of_the_heavy_set",
    ),
    CERTIFIED[0],
)
DECAYS = tests(
    "test_random_bits",
    "test_a_decay_has_the_probability_of_its_exponential",
    "test_decays_of_several_numbers_are_independent_of_each_other",
)
SCALE = tests(
    "test_discrete_laplace",
    "test_the_smallest_scale_is_private_and_the_smallest_of_its_bits",
    "test_the_largest_scale_is_taken",
    "test_an_epsilon_too_small_for_the_noise_is_refused",
)
ENDS = (
    *tests(
        "test_discrete_laplace",
        "test_a_scale_of_too_many_bits_is_refused",
        "test_noise_that_does_not_fit_goes_to_the_end_of_the_range",
    ),
    *tests(
        "test_random_draws",
        "test_exact_samplers_saturate_instead_of_wrapping_around",
        "test_exact_samplers_keep_the_shape_and_add_to_the_values",
    ),
    *tests("test_discrete_laplace", "test_the_noise_has_the_discrete_laplace_distribution_and_no_other"),
)
VOTES = tests(
    "test_central_counts",
    "test_the_scale_spends_the_budget_and_no_more",
    "test_what_is_no_count_is_refused",
    "test_parts_are_joined_in_the_shape_that_was_given",
    "test_every_cell_has_the_noise_of_the_scale_voted_for_or_not",
    "test_the_sensitivity_is_the_distance_of_the_worst_neighbours",
)
ROUNDS = tests(
    "test_central_counts",
    "test_the_number_of_all_votes_has_the_noise_of_its_own_scale",
    "test_the_budgets_of_two_rounds_add_up_exactly",
    "test_two_rounds_lose_no_more_than_the_budget_and_defects_do",
)
TALLY = tests(
    "test_tally",
    "test_a_person_moves_the_counts_by_at_most_m_whatever_the_others_do",
    "test_what_has_no_vote_is_noted_and_changes_no_count",
    "test_a_person_has_one_name_however_it_is_written",
    "test_a_row_without_a_vote_uses_up_none_of_its_person",
    "test_without_persons_every_row_counts",
    "test_batches_change_nothing",
)
GRID = tests(
    "test_clip_to_grid",
    "test_a_clipped_row_has_its_direction_and_at_most_the_norm_of_the_clip",
    "test_the_grid_step_is_a_power_of_two_that_resolves_a_millionth_of_the_radius",
    "test_the_largest_norm_is_rounded_down_where_a_float_would_round_it_up",
    "test_the_zero_row_stands_for_the_first_axis_of_a_sphere_and_has_a_gradient",
    "test_rows_are_clipped_alike_in_a_tensor_of_any_shape",
    "test_a_row_on_the_border_stays_there",
    "test_what_lies_between_two_points_of_the_grid_goes_toward_zero",
    "test_a_row_is_projected_without_a_look_at_the_others",
    "test_projection_moves_a_point_of_the_set_by_at_most_a_few_steps",
    "test_rows_that_rounding_lifts_over_the_bound_lose_a_step",
)
CUBE = tests(
    "test_clamped_gaussian",
    "test_projected_numbers_are_equal_up_to_the_side_of_the_cube_and_its_corners_lie_in_the_ball",
    "test_a_row_is_clamped_without_a_look_at_the_others_and_toward_zero",
)
LAPLACE = (
    *tests("test_base", "test_the_guarantee_repeats_the_claim_and_only_false_claims_fail_to_hold"),
    *tests(
        "test_laplace",
        "test_originals_claim_holds_in_one_dimension",
        "test_originals_claim_is_false_and_the_diagonal_pair_shows_it",
        "test_the_budget_holds_in_exact_rationals",
        "test_the_originals_true_epsilon_is_never_below_the_exact_ratio",
        "test_released_noise_has_the_scale_of_the_closed_form",
    ),
    CERTIFIED[1],
)
GAUSSIAN = (
    *tests(
        "test_gaussian",
        "test_the_comparison_of_the_mean_squared_errors_at_epsilon_eight",
        "test_the_discrete_bound_is_that_of_the_docstring_where_its_slack_matters",
        "test_the_analytic_scale_is_private_and_tight_in_sixty_digits",
        "test_the_scale_that_is_released_meets_the_whole_bound_in_sixty_digits",
        "test_the_discrete_bound_lies_above_the_truth",
    ),
    CERTIFIED[1],
)

TARGETS = {
    "random_bits.below": tests("test_random_bits", "test_an_integer_below_a_bound_is_uniform"),
    "random_bits.below_each": tests(
        "test_random_bits", "test_each_of_several_integers_is_uniform_and_independent_of_the_others"
    ),
    "random_bits.shuffle": tests("test_random_bits", "test_every_order_is_equally_likely"),
    "random_draws.exact_ranks": tests("test_random_bits", "test_ranks_have_their_weights"),
    "random_draws.exact_bernoulli": tests("test_random_bits", "test_a_bernoulli_draw_has_its_probability"),
    "random_draws.exact_odds": ODDS,
    "random_draws.exponential_series": (*ODDS, *CERTIFIED),
    "selection.Selection.total": SELECTION,
    "selection.Selection.heavy_probability": SELECTION,
    "selection.Selection._within_budget": SELECTION,
    "selection.Selection.check": SELECTION,
    "selection.Selection.draw": SELECTION,
    "selection.Selection.place": SELECTION,
    "selection._integers": SELECTION,
    "selection.Selection.entry_epsilon": PAIRS,
    "selection.Selection.label_epsilon": PAIRS,
    "selection.Selection.label_weight": PAIRS,
    "selection.Selection._log": PAIRS,
    "policy._heavy": SIZES,
    "codebook.Block.nearest": RANKING,
    "codebook.cut": LAYOUT,
    "randomized_response.RandomizedResponse.selection": LECTURE,
    "randomized_response.RandomizedResponse.privatize": K_ARY,
    "randomized_response.label_places": (
        *K_ARY,
        *tests("test_randomized_response", "test_an_unknown_label_is_refused_without_repeating_it"),
    ),
    "randomized_response.RandomizedResponse.spent": (*LECTURE[:2], CERTIFIED[0]),
    "randomized_response.ScalarLaplace.scale": NUMBER,
    "randomized_response.ScalarLaplace.privatize": NUMBER,
    "joint_response.JointResponse.selection": JOINT,
    "joint_response.JointResponse._heavy": JOINT,
    "joint_response.JointResponse._pairs": JOINT,
    "guarantee.symbols_part": (
        *tests("test_verify", "test_the_bits_of_a_word_are_the_fewest_that_hold_the_weights"),
        *CERTIFIED,
    ),
    "discrete_laplace.smallest_scale": SCALE,
    "discrete_laplace.exact_laplace": ENDS,
    "discrete_laplace.laplace_noise": tests("test_random_bits", "test_a_sign_counts_zero_once"),
    "discrete_laplace._magnitudes": (
        *ENDS[:2],
        *tests("test_random_bits", "test_a_magnitude_is_a_part_and_wholes_rounded_down"),
    ),
    "discrete_laplace._wholes": tests("test_random_bits", "test_runs_of_successes_are_geometric"),
    "discrete_laplace._decays": DECAYS,
    "discrete_laplace._fraction": ENDS,
    "central_counts.Votes.sensitivity": VOTES[-1:],
    "central_counts.Votes.number_epsilon": ROUNDS,
    "central_counts.Votes.counts_epsilon": ROUNDS,
    "central_counts.Votes.privatize_number": ROUNDS,
    "central_counts._add_noise": VOTES,
    "central_counts._check": VOTES,
    "votes.Tally.add": TALLY,
    "votes.Tally._may_vote": TALLY,
    "votes.person_name": TALLY,
    "laplace._Laplace._true_diameter": LAPLACE,
    "laplace._Laplace._true_epsilon": LAPLACE,
    "laplace._Laplace.guarantee": LAPLACE,
    "laplace.OriginalLaplace._assumed_diameter": LAPLACE,
    "clip_to_grid.clip_latents": GRID,
    "clip_to_grid.grid_step": GRID,
    "clip_to_grid.grid_radius": (*GRID, *LAPLACE),
    "clip_to_grid.to_grid": GRID,
    "gaussian.ClampedGaussian.clip_to_units": CUBE,
    "gaussian.Gaussian._distance": GAUSSIAN,
    "gaussian.log_delta": GAUSSIAN,
    "gaussian.analytic_scale": GAUSSIAN,
    "gaussian.discrete_log_delta": GAUSSIAN,
    "gaussian.discrete_scale": GAUSSIAN,
}

SAME_AXIS = "the tensor has two axes, of which the last is number 1"
SIGN = "the noise is as likely with the other sign"
CUT = "a number that large is cut off to half of the range with the value that it is added to"
FIRST_CLAMP = "the first clamp keeps numbers convertible; the side is kept to in integers after it"
BRACKET = "an end of the interval in which a root is sought; the root is the same"
MET = "the scale moves by less than its margin of 2^-20; that it meets (**) with the tail of the docstring is tested in 60 digits"

# Mutants that do the same as the function, or the same for every caller.
EQUIVALENT = {
    "random_draws.exact_ranks: draw < border -> draw <= border": "at the border the other branch gives the same rank, `near`",
    "codebook.Block.nearest: max(1, MAX_SCORES // self.selection.size) -> max(2, MAX_SCORES // self.selection.size)": (
        "rows are ranked one by one, however many at a time"
    ),
    "codebook.Block.nearest: score.topk(self.selection.heavy_count, dim=-1, sorted=False) -> "
    "score.topk(self.selection.heavy_count, dim=1, sorted=False)": SAME_AXIS,
    "codebook.Block.nearest: torch.cat(near).sort(dim=-1) -> torch.cat(near).sort(dim=1)": SAME_AXIS,
    "codebook.cut: dim // 2 -> dim / 2": "a whole number is above a half if it is above the half rounded down",
    "discrete_laplace.exact_laplace: values.clamp(-limit, limit) + noise -> values.clamp(-limit, limit) - noise": SIGN,
    "discrete_laplace.laplace_noise: below_each(2, len(size)) == 1 -> below_each(2, len(size)) != 1": SIGN,
    "discrete_laplace.laplace_noise: np.where(minus, -size, size) -> np.where(minus, size, -size)": SIGN,
    "discrete_laplace._magnitudes: count - len(parts) -> count + len(parts)": (
        "more candidates are drawn than are needed; the first that are kept count"
    ),
    "discrete_laplace._magnitudes: wholes < -(-MAX_MAGNITUDE // t) -> wholes <= -(-MAX_MAGNITUDE // t)": CUT,
    "discrete_laplace._magnitudes: -MAX_MAGNITUDE // t -> -MAX_MAGNITUDE / t": CUT,
    "discrete_laplace._magnitudes: np.where(fits, wholes, 0) -> np.where(fits, wholes, 1)": "the other `where` leaves it out",
    "central_counts._add_noise: counts.reshape(-1) -> counts.reshape(-2)": "NumPy takes any negative number for the rest",
    "laplace._Laplace._true_epsilon: Fraction(ratio) * Fraction(self._scale(dim)) < self._true_diameter(dim) -> "
    "Fraction(ratio) * Fraction(self._scale(dim)) <= self._true_diameter(dim)": (
        "no smaller than D / b either: one float more where it was exact"
    ),
    "clip_to_grid.to_grid: values.isfinite().all(dim=-1, keepdim=True) -> values.isfinite().all(dim=1, keepdim=True)": SAME_AXIS,
    "clip_to_grid.to_grid: units.abs().pow(NORM_ORDER[clip]).sum(dim=-1, keepdim=True) -> "
    "units.abs().pow(NORM_ORDER[clip]).sum(dim=1, keepdim=True)": SAME_AXIS,
    "gaussian.ClampedGaussian.clip_to_units: values.isfinite().all(dim=-1, keepdim=True) -> "
    "values.isfinite().all(dim=1, keepdim=True)": SAME_AXIS,
    "gaussian.ClampedGaussian.clip_to_units: -(side + 1) * step -> -(side + 1) + step": FIRST_CLAMP,
    "gaussian.ClampedGaussian.clip_to_units: (side + 1) * step -> side + 1 + step": FIRST_CLAMP,
    "gaussian.ClampedGaussian.clip_to_units: side + 1 -> side + 2": FIRST_CLAMP,
    "gaussian.ClampedGaussian.clip_to_units: side + 1 -> side + 2 (2)": FIRST_CLAMP,
    "gaussian.log_delta: low < -30 -> low <= -30": "both formulas hold there",
    "gaussian.log_delta: low < -30 -> low < -31": "both formulas hold there",
    "gaussian.analytic_scale: max(1.0, math.sqrt(-2 * target)) / min(epsilon, 1.0) + 1 -> "
    "max(1.0, math.sqrt(-2 * target)) / min(epsilon, 1.0) + 2": BRACKET,
    "gaussian.analytic_scale: -2 * target -> -3 * target": BRACKET,
    "gaussian.analytic_scale: 1 / 80 -> 2 / 80": BRACKET,
    "gaussian.analytic_scale: 1 / 80 -> 1 / 81": BRACKET,
    "gaussian.discrete_scale: delta * DELTA_MARGIN / 2 -> delta * DELTA_MARGIN * 2": MET,
    "gaussian.discrete_scale: delta * DELTA_MARGIN -> delta + DELTA_MARGIN": MET,
    "gaussian.discrete_scale: delta * DELTA_MARGIN / 2 -> delta * DELTA_MARGIN / 3": MET,
}
