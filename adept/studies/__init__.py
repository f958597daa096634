"""Studies: the papers' figures and the limits, recomputed; each returns rows of numbers beside the published ones."""
